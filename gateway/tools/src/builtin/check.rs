//! Whether arguments fit a tool's own input schema, and if not, which field is to blame.
//!
//! Knows the handful of keywords our own schemas use: `type`, `enum`, `required`, `properties`, `items`,
//! `additionalProperties: false`, `minLength`, `minimum` and `maximum`. Foreign schemas are the schema plugin's.

use serde_json::{Map, Value};

use super::ToolFailure;

pub(super) fn arguments(schema: &Value, arguments: &Map<String, Value>) -> Result<(), ToolFailure> {
    let mut missing = Vec::new();
    object(schema, arguments, "", &mut missing)?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(ToolFailure::new(format!("Missing required fields: {}", missing.join(", "))))
}

/// All missing fields are told at once; the first wrong one ends the check.
fn object(
    schema: &Value,
    fields: &Map<String, Value>,
    path: &str,
    missing: &mut Vec<String>,
) -> Result<(), ToolFailure> {
    for name in texts(schema, "required") {
        if fields.get(name).is_none_or(Value::is_null) && !may_be_null(schema, name) {
            missing.push(under(path, name));
        }
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in fields {
        let place = under(path, name);
        no_nul(name, &place)?;
        match schema.get("properties").and_then(|properties| properties.get(name)) {
            Some(_) if missing.contains(&place) => {}
            Some(property) => field(property, value, &place, missing)?,
            None if closed => return Err(ToolFailure::new(format!("Unknown field: {place}"))),
            None => free(value, &place)?,
        }
    }
    Ok(())
}

fn field(schema: &Value, value: &Value, path: &str, missing: &mut Vec<String>) -> Result<(), ToolFailure> {
    let wrong = |what: String| Err(ToolFailure::new(format!("Invalid {path}: {what}")));
    let kinds = kinds(schema);
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(value, kind)) {
        return wrong(format!("expected {}", kinds.join(" or ")));
    }
    let allowed = schema.get("enum").and_then(Value::as_array);
    if allowed.is_some_and(|allowed| !allowed.contains(value)) {
        let allowed: Vec<_> = allowed.into_iter().flatten().filter_map(Value::as_str).collect();
        return wrong(format!("{} is not one of {}", shown(value), allowed.join(", ")));
    }
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    match value {
        Value::String(text) => {
            no_nul(text, path)?;
            if schema.get("minLength").is_some() && text.trim().is_empty() {
                return wrong("must not be empty".into());
            }
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::INFINITY);
            if let Some(least) = bound("minimum").filter(|least| number < *least as f64) {
                return wrong(format!("must be at least {least}"));
            }
            if let Some(most) = bound("maximum").filter(|most| number > *most as f64) {
                return wrong(format!("must be at most {most}"));
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                let place = format!("{path}[{place}]");
                match schema.get("items") {
                    Some(schema) => field(schema, item, &place, missing)?,
                    None => free(item, &place)?,
                }
            }
        }
        Value::Object(fields) => object(schema, fields, path, missing)?,
        Value::Null | Value::Bool(_) => {}
    }
    Ok(())
}

/// A value no schema speaks about: anything, as long as it can be stored.
fn free(value: &Value, path: &str) -> Result<(), ToolFailure> {
    match value {
        Value::String(text) => no_nul(text, path),
        Value::Array(items) => {
            let mut places = items.iter().enumerate();
            places.try_for_each(|(place, item)| free(item, &format!("{path}[{place}]")))
        }
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            let place = under(path, name);
            no_nul(name, &place)?;
            free(value, &place)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Postgres cannot store NUL, and what cannot be stored cannot be hashed the same way again.
fn no_nul(text: &str, path: &str) -> Result<(), ToolFailure> {
    if text.contains('\0') {
        let path = path.replace('\0', "\\u0000");
        return Err(ToolFailure::new(format!("Invalid {path}: NUL characters are not allowed")));
    }
    Ok(())
}

fn kinds(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        _ => false,
    }
}

fn may_be_null(schema: &Value, name: &str) -> bool {
    let property = schema.get("properties").and_then(|properties| properties.get(name));
    property.is_some_and(|property| kinds(property).contains(&"null"))
}

fn texts<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

fn under(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_the_field_that_is_to_blame() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1 },
                "level": { "type": "string", "enum": ["A1", "A2"] },
                "kinds": { "type": "array", "items": { "type": "string", "enum": ["D1"] } },
                "limit": { "type": "integer", "minimum": 1, "maximum": 9 },
                "owner": { "type": "object", "properties": { "email": { "type": "string" } }, "required": ["email"] },
                "note": { "type": ["string", "null"] },
                "context": { "type": "object" },
            },
            "required": ["name", "level"],
            "additionalProperties": false,
        });
        for (given, expected) in [
            (json!({ "name": "n", "level": "A1" }), Ok(())),
            (json!({ "name": "n", "level": "A1", "note": null, "limit": 9, "context": { "a": [1] } }), Ok(())),
            (json!({}), Err("Missing required fields: name, level")),
            (json!({ "name": null, "level": "A1" }), Err("Missing required fields: name")),
            (json!({ "name": 7, "level": "A1" }), Err("Invalid name: expected string")),
            (json!({ "name": " ", "level": "A1" }), Err("Invalid name: must not be empty")),
            (json!({ "name": "n", "level": "A6" }), Err("Invalid level: A6 is not one of A1, A2")),
            (
                json!({ "name": "n", "level": "A1", "kinds": ["D1", "D7"] }),
                Err("Invalid kinds[1]: D7 is not one of D1"),
            ),
            (json!({ "name": "n", "level": "A1", "limit": 0 }), Err("Invalid limit: must be at least 1")),
            (json!({ "name": "n", "level": "A1", "limit": 10 }), Err("Invalid limit: must be at most 9")),
            (json!({ "name": "n", "level": "A1", "limit": 1.5 }), Err("Invalid limit: expected integer")),
            (json!({ "name": "n", "level": "A1", "owner": {} }), Err("Missing required fields: owner.email")),
            (json!({ "name": "n", "level": "A1", "owner": "me" }), Err("Invalid owner: expected object")),
            (json!({ "name": "n", "level": "A1", "note": 1 }), Err("Invalid note: expected string or null")),
            (json!({ "name": "n", "level": "A1", "more": 1 }), Err("Unknown field: more")),
            (json!({ "name": "a\u{0}b", "level": "A1" }), Err("Invalid name: NUL characters are not allowed")),
            (
                json!({ "name": "n", "level": "A1", "context": { "a": [{ "b": "\u{0}" }] } }),
                Err("Invalid context.a[0].b: NUL characters are not allowed"),
            ),
            (
                json!({ "name": "n", "level": "A1", "context": { "\u{0}": 1 } }),
                Err("Invalid context.\\u0000: NUL characters are not allowed"),
            ),
        ] {
            let fields = given.as_object().cloned().unwrap_or_default();
            assert_eq!(arguments(&schema, &fields), expected.map_err(ToolFailure::new), "{given}");
        }
    }
}
