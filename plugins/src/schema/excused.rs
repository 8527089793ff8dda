//! Which faults may be there only because a mask took the place of a text or a number.
//!
//! A mask keeps the type of what it replaces, so what is wrong with a value's type, or with which members there are, is never
//! its doing. Of alternatives one must fit but for masks: that some value below was masked says nothing about the others.

use std::collections::HashSet;

use gateway_core::definitions::Masked;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

pub fn by(masked: &Masked<'_>, error: &ValidationError<'_>) -> bool {
    let place = error.instance_path().as_str();
    if !masked.reaches(place) {
        return false;
    }
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            context.iter().any(|branch| !branch.is_empty() && branch.iter().all(|error| by(masked, error)))
        }
        Kind::UniqueItems => differ_without(masked, place, error.instance()),
        Kind::Enum { .. }
        | Kind::Constant { .. }
        | Kind::Minimum { .. }
        | Kind::Maximum { .. }
        | Kind::ExclusiveMinimum { .. }
        | Kind::ExclusiveMaximum { .. }
        | Kind::MultipleOf { .. }
        | Kind::MinLength { .. }
        | Kind::MaxLength { .. }
        | Kind::Pattern { .. }
        | Kind::Format { .. }
        | Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::ContentEncoding { .. }
        | Kind::ContentMediaType { .. }
        | Kind::FromUtf8 { .. }
        | Kind::OneOfMultipleValid { .. }
        | Kind::Not { .. } => masked.holds(place) && is_plain(error.instance()),
        _ => false,
    }
}

/// A mask stands for a text or a number; at an object it was a member's name that was masked.
fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// Two different values may have got the same mask.
fn differ_without(masked: &Masked<'_>, place: &str, items: &Value) -> bool {
    let mut seen = HashSet::new();
    let own = items.as_array().into_iter().flatten().enumerate();
    let mut own = own.filter(|(number, _)| !masked.reaches(&format!("{place}/{number}")));
    own.all(|(_, item)| seen.insert(item.to_string()))
}
