//! What is different between two definitions, place by place.

use serde::Serialize;
use serde_json::Value;

use super::canonical;

/// More than anybody would read; the hash still tells the rest.
const MOST: usize = 200;

/// One place where two definitions differ. `None`: not there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// A JSON pointer.
    pub path: String,
    pub old: Option<Value>,
    pub new: Option<Value>,
}

/// The places where the canonical forms differ, in the order of the new one; nothing if they are the same.
pub fn diff(old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(String::new(), Some(&canonical(old)), Some(&canonical(new)), &mut changes);
    changes
}

fn compare(path: String, old: Option<&Value>, new: Option<&Value>, changes: &mut Vec<Change>) {
    if changes.len() >= MOST || same(old, new) {
        return;
    }
    match (old, new) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            for (key, value) in after {
                compare(below(&path, key), before.get(key), Some(value), changes);
            }
            for (key, value) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
                compare(below(&path, key), Some(value), None, changes);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for place in 0..before.len().max(after.len()) {
                compare(format!("{path}/{place}"), before.get(place), after.get(place), changes);
            }
        }
        _ => {
            let there = |side: Option<&Value>| side.filter(|value| !value.is_null()).cloned();
            changes.push(Change { path, old: there(old), new: there(new) });
        }
    }
}

/// Equal as canonical JSON: `1` and `1.0` are one number.
fn same(old: Option<&Value>, new: Option<&Value>) -> bool {
    let canonical = |side: Option<&Value>| side.map(|value| serde_json_canonicalizer::to_string(value).ok());
    old == new || canonical(old) == canonical(new)
}

fn below(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}
