//! Reads what a check is asked with. What it does not know is refused: a misspelt name must not open a gate.

use serde_json::{Map, Value};

pub(super) struct Params<'a>(&'a Map<String, Value>);

impl<'a> Params<'a> {
    pub(super) fn of(params: &'a Value, known: &[&str]) -> Result<Self, String> {
        let Value::Object(map) = params else {
            return Err("must be an object".into());
        };
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) if known.is_empty() => Err(format!("`{key}` is unknown; nothing is known here")),
            Some(key) => Err(format!("`{key}` is unknown; known here are {}", known.join(", "))),
            None => Ok(Self(map)),
        }
    }

    /// Null counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str, String> {
        self.maybe_text(key)?.ok_or_else(|| format!("`{key}` is missing"))
    }

    pub(super) fn maybe_text(&self, key: &str) -> Result<Option<&'a str>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` must be a text")),
        }
    }
}
