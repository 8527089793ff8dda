//! Holds a provider's value against what a scenario expects.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Tri;
use super::evidence::EvidenceValue;
use super::{decimal, moments};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparator {
    Equals,
    NotEquals,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
    LexGreaterThan,
    LexGreaterThanOrEqual,
    LexLessThan,
    LexLessThanOrEqual,
    Contains,
    InSet,
    DeepEquals,
    DeepNotEquals,
    Exists,
    NotExists,
}

impl Comparator {
    pub const ALL: [Self; 16] = [
        Self::Equals,
        Self::NotEquals,
        Self::GreaterThan,
        Self::GreaterThanOrEqual,
        Self::LessThan,
        Self::LessThanOrEqual,
        Self::LexGreaterThan,
        Self::LexGreaterThanOrEqual,
        Self::LexLessThan,
        Self::LexLessThanOrEqual,
        Self::Contains,
        Self::InSet,
        Self::DeepEquals,
        Self::DeepNotEquals,
        Self::Exists,
        Self::NotExists,
    ];

    pub fn is_presence(self) -> bool {
        matches!(self, Self::Exists | Self::NotExists)
    }

    pub fn is_lexicographic(self) -> bool {
        use Comparator::{LexGreaterThan, LexGreaterThanOrEqual, LexLessThan, LexLessThanOrEqual};
        matches!(self, LexGreaterThan | LexGreaterThanOrEqual | LexLessThan | LexLessThanOrEqual)
    }

    pub fn is_deep(self) -> bool {
        matches!(self, Self::DeepEquals | Self::DeepNotEquals)
    }

    /// Whether something in this order satisfies an ordering comparator.
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::GreaterThan | Self::LexGreaterThan => order.is_gt(),
            Self::GreaterThanOrEqual | Self::LexGreaterThanOrEqual => order.is_ge(),
            Self::LessThan | Self::LexLessThan => order.is_lt(),
            _ => order.is_le(),
        }
    }
}

/// Without an error, that is: a provider's error makes a predicate unknown before anything is compared.
pub fn compare(comparator: Comparator, expected: Option<&Value>, value: Option<&EvidenceValue>) -> Tri {
    match comparator {
        Comparator::Exists => return value.is_some().into(),
        Comparator::NotExists => return value.is_none().into(),
        _ => {}
    }
    let (Some(value), Some(expected)) = (value, expected) else {
        return Tri::Unknown;
    };
    let known = match value {
        EvidenceValue::Json(value) => of_json(comparator, expected, value),
        EvidenceValue::Bytes(value) => of_bytes(comparator, expected, value),
    };
    known.map_or(Tri::Unknown, Tri::from)
}

fn of_json(comparator: Comparator, expected: &Value, value: &Value) -> Option<bool> {
    match comparator {
        Comparator::Equals => Some(equal(value, expected)),
        Comparator::NotEquals => Some(!equal(value, expected)),
        Comparator::GreaterThan
        | Comparator::GreaterThanOrEqual
        | Comparator::LessThan
        | Comparator::LessThanOrEqual => Some(comparator.holds(ordered(value, expected)?)),
        Comparator::LexGreaterThan
        | Comparator::LexGreaterThanOrEqual
        | Comparator::LexLessThan
        | Comparator::LexLessThanOrEqual => Some(comparator.holds(value.as_str()?.cmp(expected.as_str()?))),
        Comparator::Contains => match (value, expected) {
            (Value::String(value), Value::String(part)) => Some(value.contains(part.as_str())),
            (Value::Array(value), Value::Array(parts)) => Some(parts.iter().all(|part| value.contains(part))),
            _ => None,
        },
        Comparator::InSet => {
            let scalar = !value.is_array() && !value.is_object();
            let set = expected.as_array()?;
            scalar.then(|| set.contains(value))
        }
        Comparator::DeepEquals => deep(value, expected),
        Comparator::DeepNotEquals => deep(value, expected).map(|equal| !equal),
        Comparator::Exists | Comparator::NotExists => None,
    }
}

/// Numbers by what they are worth; everything else, also numbers further inside, as it is written.
fn equal(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Number(value), Value::Number(expected)) => decimal::compared(value, expected).is_eq(),
        _ => value == expected,
    }
}

fn ordered(value: &Value, expected: &Value) -> Option<Ordering> {
    match (value, expected) {
        (Value::Number(value), Value::Number(expected)) => Some(decimal::compared(value, expected)),
        (Value::String(value), Value::String(expected)) => moments::compared(value, expected),
        _ => None,
    }
}

fn deep(value: &Value, expected: &Value) -> Option<bool> {
    let alike = (value.is_array() && expected.is_array()) || (value.is_object() && expected.is_object());
    alike.then(|| value == expected)
}

/// Bytes can only be equal, and only to a list of bytes.
fn of_bytes(comparator: Comparator, expected: &Value, value: &[u8]) -> Option<bool> {
    let byte = |number: &Value| number.as_u64().and_then(|number| u8::try_from(number).ok());
    let expected = expected.as_array()?.iter().map(byte).collect::<Option<Vec<u8>>>()?;
    match comparator {
        Comparator::Equals => Some(value == expected),
        Comparator::NotEquals => Some(value != expected),
        _ => None,
    }
}
