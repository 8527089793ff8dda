//! Which members of a JSON Schema are words, and which are what a validator goes by.

use super::place::{Place, Step};

/// What people and models read, and the values that are filled in for them.
const WORDS: [&str; 8] =
    ["description", "title", "default", "examples", "example", "enumNames", "$comment", "markdownDescription"];
/// Members whose members are names of somebody's choice: a property may be called `title`.
const NAMES: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Whether a place lies in a word, or is one. A name that is none of a schema's keywords says nothing.
pub(super) fn is_word(place: &Place<'_>) -> bool {
    let mut at = Some(place);
    while let Some(place) = at {
        if matches!(place.step, Step::Member(name) if WORDS.contains(&name)) && !is_name(place) {
            return true;
        }
        at = place.parent;
    }
    false
}

/// Whether a member's own name is somebody's choice: `properties` of a schema is none, and what stands below it is. Below a
/// property that is itself called `properties` they are keywords again.
fn is_name(place: &Place<'_>) -> bool {
    let mut names = 0_u32;
    let mut at = place.parent;
    while let Some(place) = at.filter(|place| matches!(place.step, Step::Member(name) if NAMES.contains(&name))) {
        names += 1;
        at = place.parent;
    }
    names % 2 == 1
}
