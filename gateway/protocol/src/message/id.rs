//! The id that ties an answer to its request.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// What a request is answered under. Never null, never fractional: two peers would not agree whether `1.0` is `1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum Id {
    Number(Number),
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id must be a string or an integer")]
pub struct InvalidId;

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl TryFrom<Value> for Id {
    type Error = InvalidId;

    fn try_from(value: Value) -> Result<Self, InvalidId> {
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Number(number) if number.is_i64() || number.is_u64() => Ok(Self::Number(number)),
            _ => Err(InvalidId),
        }
    }
}

impl From<&Id> for Value {
    fn from(id: &Id) -> Self {
        match id {
            Id::Number(number) => Self::Number(number.clone()),
            Id::Text(text) => Self::String(text.clone()),
        }
    }
}

impl From<i32> for Id {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Id {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_strings_or_integers() {
        for (value, expected) in [
            (json!(1), Some("1")),
            (json!(-1), Some("-1")),
            (json!(u64::MAX), Some("18446744073709551615")),
            (json!(""), Some("")),
            (json!("1"), Some("1")),
            (json!(1.0), None),
            (json!(null), None),
            (json!(true), None),
            (json!([1]), None),
        ] {
            let id = serde_json::from_value::<Id>(value.clone()).ok();
            assert_eq!(id.as_ref().map(ToString::to_string).as_deref(), expected, "{value}");
            assert_eq!(id.map(|id| serde_json::to_value(id).unwrap()), expected.map(|_| value));
        }
        assert_ne!(Id::from(1), Id::from("1"), "a number and a string never answer each other");
    }
}
