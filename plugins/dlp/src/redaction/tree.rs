//! Whether a tree deserves a walk: the same question as `Detectors::suspects`, asked of every string in it.

use serde_json::Value;

use super::Redaction;
use super::pieces::cuts;
use crate::Care;

/// Smaller numbers have too few digits to be anything.
const SMALL: f64 = 1e6;

impl Redaction<'_> {
    pub(super) fn suspects_tree(&self, value: &Value) -> bool {
        self.paths.knows(Care::Pieces) || self.paths.knows(Care::Binary) || self.suspects_value(value)
    }

    fn suspects_value(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => number.as_f64().is_none_or(|number| number.abs() >= SMALL),
            Value::String(text) => self.suspects_text(text),
            Value::Array(items) => items.iter().any(|item| self.suspects_value(item)) || neighbours(items.iter()),
            Value::Object(members) => {
                members.iter().any(|(key, member)| self.suspects_text(key) || self.suspects_value(member))
                    || neighbours(members.values())
            }
        }
    }

    fn suspects_text(&self, text: &str) -> bool {
        self.sets.iter().any(|set| set.suspects(text.as_bytes()))
    }
}

fn neighbours<'v>(values: impl Iterator<Item = &'v Value>) -> bool {
    let mut before: Option<&str> = None;
    for text in values.filter_map(Value::as_str) {
        if before.is_some_and(|before| cuts(before.as_bytes(), text.as_bytes())) {
            return true;
        }
        before = Some(text);
    }
    false
}
