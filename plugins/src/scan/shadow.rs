//! Tools that stand in front of another server's tool of the same purpose.

use std::collections::BTreeSet;

use gateway_core::definitions::Accepted;
use serde_json::Value;

use super::fold::{at_a_glance, readable};
use super::{Findings, IMPERSONATION};

/// Added to a name they say nothing about what the tool does, only that it is to be preferred.
const ADORNMENTS: [&str; 44] = [
    "v2", "v3", "v4", "2", "3", "new", "newer", "next", "latest", "updated", "update", "improved", "better", "best",
    "enhanced", "advanced", "fast", "faster", "quick", "secure", "secured", "safe", "safer", "verified", "trusted",
    "official", "original", "real", "true", "pro", "plus", "premium", "ultimate", "super", "x", "ex", "ext", "alt",
    "copy", "fixed", "proxy", "wrapper", "helper", "tool",
];

pub fn look_at(server: &str, name: &str, tool: &Value, accepted: &[Accepted<'_>], findings: &mut Findings<'_>) {
    for known in accepted.iter().filter(|known| known.server != server) {
        let Some(other) = known.definition.get("name").and_then(Value::as_str) else { continue };
        if other == name {
            if copies(tool, known.definition) {
                let what =
                    format!("{} has a tool of this name that takes the same parameters or says the same", known.server);
                findings.say(IMPERSONATION, "/name", what);
            }
        } else if adorns(name, other) {
            findings.say(
                IMPERSONATION,
                "/name",
                format!("the name is that of `{other}` of {} with an ornament", known.server),
            );
        }
    }
}

/// Two servers may well have tools of one name; a copy takes what the other takes, or says what the other says.
fn copies(tool: &Value, other: &Value) -> bool {
    let (mine, theirs) = (parameters(tool), parameters(other));
    let (fewer, shared) = (mine.len().min(theirs.len()), mine.intersection(&theirs).count());
    let (said, known) = (words(tool), words(other));
    let (all, both) = (said.union(&known).count(), said.intersection(&known).count());
    // Four of five.
    let takes_the_same = shared > 0 && shared * 5 >= fewer * 4;
    let says_the_same = all >= 3 && both * 10 >= all * 6;
    takes_the_same || says_the_same
}

fn parameters(tool: &Value) -> BTreeSet<String> {
    let properties = tool.pointer("/inputSchema/properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, _)| at_a_glance(name)).collect()
}

fn words(tool: &Value) -> BTreeSet<String> {
    let text = readable(tool.get("description").and_then(Value::as_str).unwrap_or_default());
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.len() > 2).map(str::to_owned).collect()
}

fn adorns(name: &str, other: &str) -> bool {
    let (name, other) = (parts(name), parts(other));
    if other.is_empty() || name.len() <= other.len() || other.concat().len() < 5 {
        return false;
    }
    let Some(at) = (0..=name.len() - other.len())
        .find(|at| name.iter().skip(*at).zip(&other).all(|(mine, theirs)| mine == theirs))
    else {
        return false;
    };
    let around = name.iter().take(at).chain(name.iter().skip(at + other.len()));
    around.clone().all(|part| ADORNMENTS.contains(&part.as_str()) || part.bytes().all(|digit| digit.is_ascii_digit()))
}

/// `readFile_v2` is `read`, `file`, `v2`.
fn parts(name: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            found.push(String::new());
        } else {
            if letter.is_uppercase() && small {
                found.push(String::new());
            }
            if let Some(last) = found.last_mut() {
                last.extend(letter.to_lowercase());
            }
        }
        small = letter.is_lowercase();
    }
    found.retain(|part| !part.is_empty());
    found
}
