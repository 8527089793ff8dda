//! What is wrong with a value, in words that never repeat the value: where it is, what was expected, what kind of thing
//! stands there.

use gateway_core::definitions::SchemaFault;
use gateway_core::keys;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::Location;
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// Alternatives that are named.
const MOST_NAMED: usize = 10;
/// Longer words of a schema are cut, and longer names of a value are not repeated.
const LONGEST_WORD: usize = 64;

pub fn fault(error: &ValidationError<'_>) -> SchemaFault {
    let error = closest(error);
    let expected = phrase(error);
    let mut shown = shown_path(error.instance_path());
    if let Kind::Required { property: Value::String(name) } = error.kind() {
        shown.push('/');
        shown.push_str(&name.replace('~', "~0").replace('/', "~1"));
    }
    SchemaFault { shown, expected }
}

/// Of several alternatives none of which fits, the one that came furthest; the fault itself where none did.
fn closest<'e, 'a>(error: &'e ValidationError<'a>) -> &'e ValidationError<'a> {
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return error };
    let depth = |error: &ValidationError<'_>| error.instance_path().segments().count();
    let here = depth(error);
    let deepest = context.iter().filter_map(|branch| branch.iter().map(closest).max_by_key(|fault| depth(fault)));
    deepest.filter(|fault| depth(fault) > here).max_by_key(|fault| depth(fault)).unwrap_or(error)
}

fn phrase(error: &ValidationError<'_>) -> String {
    if let Kind::Referencing(_) = error.kind() {
        return "a `$ref` leads nowhere in this document".into();
    }
    format!("expected {}", wanted(error))
}

fn wanted(error: &ValidationError<'_>) -> String {
    let found = kind_of(error.instance());
    match error.kind() {
        Kind::Type { kind } => format!("{}, found {found}", types(kind)),
        Kind::Required { .. } => "a value, found nothing".into(),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("no other members than its schema lists, found {}", names(unexpected))
        }
        Kind::AdditionalItems { limit } => format!("at most {limit} items"),
        Kind::UnevaluatedItems { .. } => "no more items".into(),
        Kind::MinItems { limit } => format!("at least {limit} items"),
        Kind::MaxItems { limit } => format!("at most {limit} items"),
        Kind::MinProperties { limit } => format!("at least {limit} members"),
        Kind::MaxProperties { limit } => format!("at most {limit} members"),
        Kind::UniqueItems => "items that differ from one another".into(),
        Kind::Contains => "an item of the kind that its schema asks for".into(),
        Kind::FalseSchema => format!("nothing, found {found}"),
        Kind::PropertyNames { error } => {
            format!("other names of its members: {}", phrase(error))
        }
        Kind::Enum { options } => one_of(options),
        Kind::Constant { expected_value } => word(expected_value),
        Kind::Minimum { limit } => format!("at least {}", word(limit)),
        Kind::Maximum { limit } => format!("at most {}", word(limit)),
        Kind::ExclusiveMinimum { limit } => format!("more than {}", word(limit)),
        Kind::ExclusiveMaximum { limit } => format!("less than {}", word(limit)),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {limit} characters"),
        Kind::MaxLength { limit } => format!("at most {limit} characters"),
        Kind::Pattern { pattern } => format!("a text that matches `{}`", cut(pattern)),
        Kind::Format { format } => format!("a text of the form `{}`", cut(format)),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "a text that its pattern can be tried on".into()
        }
        Kind::ContentEncoding { content_encoding } => format!("text in {}", cut(content_encoding)),
        Kind::ContentMediaType { content_media_type } => format!("text of type {}", cut(content_media_type)),
        Kind::FromUtf8 { .. } => "text in UTF-8".into(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context, found),
        Kind::OneOfMultipleValid { .. } => "something that fits exactly one of its alternatives".into(),
        Kind::Not { .. } => "something that its schema does not exclude".into(),
        Kind::Referencing(_) | Kind::Custom { .. } => "what its schema says".into(),
    }
}

/// Alternatives that differ in type say so; others only that there were several.
fn alternatives(context: &[Vec<ValidationError<'static>>], found: &str) -> String {
    let mut wanted = Vec::new();
    for branch in context {
        match branch.first().map(ValidationError::kind) {
            Some(Kind::Type { kind }) if !wanted.contains(&types(kind)) => wanted.push(types(kind)),
            Some(Kind::Type { .. }) => {}
            _ => return format!("one of {} alternatives, none of which this {found} fits", context.len()),
        }
    }
    format!("{}, found {found}", wanted.join(" or "))
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.as_str().into(),
        TypeKind::Multiple(kinds) => kinds.iter().map(JsonType::as_str).collect::<Vec<_>>().join(" or "),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The schema's own words, which the caller could read in the tool's definition.
fn one_of(options: &Value) -> String {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    let named: Vec<_> = options.iter().take(MOST_NAMED).map(word).collect();
    match options.len() {
        0 => "nothing".into(),
        1 => named.join(""),
        many if many > MOST_NAMED => format!("one of {} and {} more", named.join(", "), many - MOST_NAMED),
        _ => format!("one of {}", named.join(", ")),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", cut(text)),
        Value::Array(_) | Value::Object(_) => format!("a certain {}", kind_of(value)),
        plain => plain.to_string(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_WORD) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.into(),
    }
}

/// Names that the sender made up, as far as they read like names; a key or a number in their place is nobody's business.
fn names(unexpected: &[String]) -> String {
    let shown: Vec<_> = unexpected.iter().filter(|name| is_tellable(name)).take(MOST_NAMED).collect();
    let rest = unexpected.len() - shown.len();
    let mut told: Vec<_> = shown.iter().map(|name| format!("`{name}`")).collect();
    if rest > 0 {
        told.push(format!("{rest} more"));
    }
    told.join(", ")
}

fn is_tellable(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '$' | ' ');
    let digits = name.chars().filter(char::is_ascii_digit).count();
    name.len() <= LONGEST_WORD && digits <= 4 && name.chars().all(plain) && !keys::in_text(name)
}

fn shown_path(path: &Location) -> String {
    let mut shown = String::new();
    for step in path.as_str().split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        shown.push('/');
        // An index is a number of ours, whatever its length.
        let index = !step.is_empty() && step.len() <= 9 && step.bytes().all(|digit| digit.is_ascii_digit());
        shown.push_str(if index || is_tellable(&name) { step } else { "*" });
    }
    shown
}
