//! Tools that stand in front of another server's tool of the same purpose.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gateway_core::definitions::Accepted;
use regex::Regex;
use serde_json::Value;

use super::fold::{at_a_glance, readable};
use super::places::{Kind, Place};
use super::sense::sentences::sentences;
use super::{Findings, IMPERSONATION, INSTRUCTIONS};

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

/// Stands for another's tool in a sentence, while it is looked at what is said of it.
const THEIRS: &str = "\u{1}";

/// Decides about another's tool: takes its place, is to be asked before or after it, says how it must be used or that it no longer
/// counts. That a tool is named for what it gives is no decision.
static DECIDES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let claims = r"official|verified|genuine|authentic|trusted|certified|hardened|secure|improved|fixed|drop-in|successor|replac\w+|overrid\w+|overrul\w+|supersed\w+|supplant\w*|substitut\w+|in place of|in favou?r of|on behalf of|take[sn]? over|intercept\w*|wraps?|(?:new|newer|better|real|true|right|correct|safe) (?:version|implementation|edition|form)";
    let moments =
        r"before|prior to|ahead of|after|instead of|rather than|when|whenever|each|every|do not|don't|never|avoid|stop";
    let orders = r"must|should|shall|has to|have to|may only|can only|cannot";
    let verdicts = r"(?:is|are|was|has been|have been) (?:now |hereby )?(?:deprecated|outdated|obsolete|insecure|unsafe|broken|compromised|retired|replaced|superseded|overridden|disabled|unavailable|removed|wrong|not to be)|no longer|from now on";
    let before = format!(r#"\b(?:{claims})\b[^.!?]{{0,30}}{THEIRS}|\b(?:{moments})(?: \w+){{0,3}} ["'`]?{THEIRS}"#);
    let after = format!(r#"{THEIRS}["'`]?(?: \w+){{0,4}} (?:{orders})\b|{THEIRS}[^.!?]{{0,40}}\b(?:{verdicts})\b"#);
    Regex::new(&format!("{before}|{after}")).ok()
});

/// A tool has no business with the tools of another server. That one is meant is no matter of sound.
pub fn listen(place: &Place<'_>, accepted: &[Accepted<'_>], server: &str, findings: &mut Findings<'_>) {
    if place.kind != Kind::Prose || place.is_formal() || accepted.is_empty() {
        return;
    }
    if strangers_tools(&readable(place.text), accepted, server).next().is_none() {
        return;
    }
    for sentence in sentences(place.text) {
        let text = readable(sentence);
        let decides = |name: &str| {
            let text = text.replace(&name.to_ascii_lowercase(), THEIRS);
            DECIDES.as_ref().is_some_and(|decides| decides.is_match(&text))
        };
        let found = strangers_tools(&text, accepted, server).find(|(_, name)| decides(name));
        if let Some((theirs, name)) = found {
            findings.certain = true;
            findings.say(INSTRUCTIONS, &place.path, format!("decides about `{name}` of {theirs}"));
            return;
        }
    }
}

/// The servers and names of tools that a readable text names and that are not of its own server.
pub fn strangers_tools<'k>(
    text: &'k str,
    accepted: &'k [Accepted<'_>],
    server: &'k str,
) -> impl Iterator<Item = (&'k str, &'k str)> {
    let own = move |name: &str| accepted.iter().any(|known| known.server == server && name_of(known) == name);
    let strangers = accepted.iter().filter(move |known| known.server != server);
    strangers.map(|known| (known.server, name_of(known))).filter(move |(_, name)| {
        // A single word may be just a word.
        name.len() >= 6
            && name.contains(['_', '-', '.'])
            && contains_name(text, &name.to_ascii_lowercase())
            && !own(name)
    })
}

fn name_of<'k>(known: &'k Accepted<'_>) -> &'k str {
    known.definition.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn contains_name(text: &str, name: &str) -> bool {
    let part =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'));
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !part(before) && !part(after)
    })
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
