//! What an upstream says of its own tools, held against what was accepted: canonical form, hash, differences.
//!
//! Pure: no store, no clock. Who remembers what was accepted, and what follows from a difference, is elsewhere.

mod defined;
mod diff;
mod pins;
mod visible;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::classification::scale;
use crate::digest;

pub use defined::{CheckJson, Compiled, Defined, Masked, Schema, SchemaCompiler, SchemaFault};
pub use diff::{Change, diff};
pub use pins::{Definitions, Form, PinRule, PinSet, Pinned, Standing};
pub use visible::{is_hidden_space, name_of, visible};

/// The members that are pinned. What a server may change from day to day (`_meta`, icons) is not among them.
pub const PINNED: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// Deeper than any schema anybody reads; below it a value is taken as it is.
const DEEPEST: usize = 64;

/// The part of a definition that is pinned, with everything taken out that changes nothing: the order of keys and of
/// lists whose order means nothing, and runs of blanks in texts that people read.
///
/// Only ASCII blanks count as blanks: what merely looks like one is a change.
pub fn canonical(tool: &Value) -> Value {
    let mut pinned = Map::new();
    for key in PINNED {
        let value = match (key, tool.get(key)) {
            (_, None | Some(Value::Null)) => Value::Null,
            ("annotations", Some(Value::Object(hints))) if hints.is_empty() => Value::Null,
            // A name is no prose: every character of it counts.
            ("name", Some(name)) => name.clone(),
            ("title" | "description", Some(Value::String(text))) => Value::String(one_space(text)),
            (_, Some(value)) => plain(value, 0),
        };
        pinned.insert(key.into(), value);
    }
    Value::Object(pinned)
}

/// `sha256:` and 64 hex digits over the canonical form.
pub fn hash(tool: &Value) -> String {
    hash_of(&canonical(tool))
}

fn hash_of(canonical: &Value) -> String {
    // Numbers that JSON cannot hold do not come out of a parser; were one to, its text still differs from all others.
    let bytes = serde_json_canonicalizer::to_vec(canonical).unwrap_or_else(|_| canonical.to_string().into_bytes());
    digest::named(&bytes)
}

/// What a definition says in an older revision, in which some members do not exist: those that are missing in `seen` and
/// that the spoken revision does not have are taken from `accepted`, so that an older client's list is no drift.
pub fn completed(seen: &Value, accepted: &Value, absent: &[&str]) -> Value {
    let mut whole = seen.clone();
    let Some(members) = whole.as_object_mut() else { return whole };
    for key in absent {
        if !members.contains_key(*key)
            && let Some(value) = accepted.get(*key)
        {
            members.insert((*key).into(), value.clone());
        }
    }
    whole
}

/// Runs of ASCII blanks are one space, and none stands at either end.
fn one_space(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_ascii_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

fn plain(value: &Value, depth: usize) -> Value {
    match value {
        _ if depth >= DEEPEST => value.clone(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, value)| !says_nothing(key, value));
            Value::Object(kept.map(|(key, value)| (key.clone(), member(key, value, depth + 1))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| plain(item, depth + 1)).collect()),
        other => other.clone(),
    }
}

/// A schema that requires nothing and one that lists no requirement are the same.
fn says_nothing(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("required", Value::Array(items)) => items.is_empty(),
        _ => false,
    }
}

fn member(key: &str, value: &Value, depth: usize) -> Value {
    match (key, value) {
        ("description" | "title" | "$comment", Value::String(text)) => Value::String(one_space(text)),
        ("required" | "enum" | "type", Value::Array(items)) => {
            let mut items: Vec<_> = items.iter().map(|item| plain(item, depth + 1)).collect();
            items.sort_by_cached_key(ToString::to_string);
            Value::Array(items)
        }
        _ => plain(value, depth),
    }
}

scale!(
    /// What a finding leads to.
    ScanAction, "allow, flag, block",
    { Allow = "allow", Flag = "flag", Block = "block", }
);

/// Something in a definition that a human should know before it is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: String,
    /// A JSON pointer into the definition.
    pub path: String,
    pub message: String,
    /// What policy says about findings of this rule.
    #[serde(default = "flagged")]
    pub action: ScanAction,
}

fn flagged() -> ScanAction {
    ScanAction::Flag
}

/// What each of the scanner's rules leads to, where an operator said so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScanRules {
    pub rules: BTreeMap<String, ScanAction>,
}

/// A definition that somebody accepted, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Accepted<'a> {
    pub server: &'a str,
    pub definition: &'a Value,
}

/// Looks for what is hidden in definitions. Implemented where the rules are.
pub trait Scanner: Send + Sync {
    /// Whatever is suspicious about `tool` of `server`, also in the light of everything accepted so far.
    fn scan(&self, server: &str, tool: &Value, accepted: &[Accepted<'_>]) -> Vec<Finding>;
}

/// Finds nothing.
pub struct NoScanner;

impl Scanner for NoScanner {
    fn scan(&self, _: &str, _: &Value, _: &[Accepted<'_>]) -> Vec<Finding> {
        Vec::new()
    }
}

/// The worst that any of the findings leads to.
pub fn verdict(findings: &[Finding]) -> ScanAction {
    findings.iter().map(|finding| finding.action).max().unwrap_or(ScanAction::Allow)
}

#[cfg(test)]
mod tests;
