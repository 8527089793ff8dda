//! `Mcp-Param-*`: a tool's argument, mirrored because the tool's schema asks for it with `x-mcp-header`.
//!
//! Which argument has which header is in the tool's definition, as its server lists it: `mirrored` reads it from there, and the
//! others compare and write.

use serde_json::Value;

use super::{McpHeaders, decode_value, encode_value, mismatch};
use crate::error::Malformed;

/// An argument that a tool wants to see in a header too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrored {
    /// The way to it through nested objects, from `arguments` on.
    pub argument: Vec<String>,
    /// The part after `Mcp-Param-`.
    pub suffix: String,
}

/// What a tool's definition wants mirrored. Only properties reached through `properties` alone count, of a type that has one
/// spelling; what is no header name, or names a header a second time, is not enforced: clients must refuse such a tool.
pub fn mirrored(definition: &Value) -> Vec<Mirrored> {
    let mut found = Vec::new();
    if let Some(schema) = definition.get("inputSchema") {
        collect(schema, &mut Vec::new(), &mut found);
    }
    found
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Mirrored>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        if let Some(suffix) = property.get("x-mcp-header").and_then(Value::as_str)
            && is_token(suffix)
            && is_primitive(property)
            && !found.iter().any(|other| other.suffix.eq_ignore_ascii_case(suffix))
        {
            found.push(Mirrored { argument: path.clone(), suffix: suffix.to_owned() });
        }
        collect(property, path, found);
        path.pop();
    }
}

fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// The spec names strings, integers and booleans; its conformance suite also mirrors numbers.
fn is_primitive(property: &Value) -> bool {
    let primitive = |name: &Value| matches!(name.as_str(), Some("string" | "integer" | "number" | "boolean"));
    match property.get("type") {
        Some(Value::Array(types)) => types.iter().all(|name| primitive(name) || name == "null"),
        Some(name) => primitive(name),
        None => false,
    }
}

/// Whether every mirrored argument and its header say the same. Headers that mirror nothing here are left to others.
pub fn check_mirrored(headers: &McpHeaders, mirrored: &[Mirrored], arguments: Option<&Value>) -> Result<(), Malformed> {
    mirrored.iter().try_for_each(|one| {
        // What has no spelling has no header either; the tool will refuse it for its type.
        let argument = one.value(arguments).filter(|argument| param_value(argument).is_some());
        check_param(&one.suffix, headers.param(&one.suffix), argument)
    })
}

/// The `Mcp-Param-*` headers of a call, from the arguments that are really sent.
pub fn derive_mirrored(mirrored: &[Mirrored], arguments: Option<&Value>) -> Vec<(String, String)> {
    let header = |one: &Mirrored| Some((format!("Mcp-Param-{}", one.suffix), param_value(one.value(arguments)?)?));
    mirrored.iter().filter_map(header).collect()
}

impl Mirrored {
    fn value<'a>(&self, arguments: Option<&'a Value>) -> Option<&'a Value> {
        self.argument.iter().try_fold(arguments?, |inside, name| inside.get(name))
    }
}

/// Whether `Mcp-Param-{suffix}` says what the argument says; null and absent arguments have no header.
pub fn check_param(suffix: &str, header: Option<&str>, argument: Option<&Value>) -> Result<(), Malformed> {
    let argument = argument.filter(|argument| !argument.is_null());
    let (header, argument) = match (header, argument) {
        (None, None) => return Ok(()),
        (None, Some(_)) => return Err(mismatch(format!("header `Mcp-Param-{suffix}` is missing"))),
        (Some(_), None) => {
            return Err(mismatch(format!("header `Mcp-Param-{suffix}` mirrors an argument that is not there")));
        }
        (Some(header), Some(argument)) => (header, argument),
    };
    let header = decode_value(header).map_err(|error| mismatch(format!("header `Mcp-Param-{suffix}` {error}")))?;
    let agrees = match argument {
        Value::String(text) => *text == header,
        Value::Bool(truth) => header == if *truth { "true" } else { "false" },
        // `42.0` and `42` are the same integer.
        Value::Number(number) => header == number.to_string() || same_number(&header, number.as_f64()),
        _ => false,
    };
    if agrees { Ok(()) } else { Err(mismatch(format!("header `Mcp-Param-{suffix}` is not what the argument says"))) }
}

/// Doubles compare exactly only within the range MCP allows for mirrored integers.
fn same_number(header: &str, argument: Option<f64>) -> bool {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let written = header.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    match (header.parse::<f64>(), argument) {
        (Ok(header), Some(argument)) if written => header.abs() <= SAFE && header.total_cmp(&argument).is_eq(),
        _ => false,
    }
}

/// An argument as `Mcp-Param-*` carries it; none for what has no header (null, arrays, objects).
pub fn param_value(argument: &Value) -> Option<String> {
    match argument {
        Value::String(text) => Some(encode_value(text)),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    #[test]
    fn mirrored_arguments_are_compared_as_values() {
        for (header, argument, agrees) in [
            (Some("us-west1"), json!("us-west1"), true),
            (Some("=?base64?dXMtd2VzdDE=?="), json!("us-west1"), true),
            (Some("US-WEST1"), json!("us-west1"), false),
            (Some("42"), json!(42), true),
            (Some("42.0"), json!(42), true),
            (Some("42"), json!(42.0), true),
            (Some("43"), json!(42), false),
            (Some("inf"), json!(42), false),
            (Some("9007199254740993"), json!(9007199254740992u64), false),
            (Some("42"), json!("42"), true),
            (Some("true"), json!(true), true),
            (Some("True"), json!(true), false),
            (Some("x"), json!(null), false),
            (Some("[]"), json!([]), false),
            (None, json!(null), true),
            (None, json!("x"), false),
        ] {
            assert_eq!(check_param("Region", header, Some(&argument)).is_ok(), agrees, "{header:?} against {argument}");
            if let (Some(header), Some(written)) = (header, param_value(&argument)) {
                assert!(
                    check_param("Region", Some(&written), Some(&argument)).is_ok(),
                    "our own header agrees: {header}"
                );
            }
        }
        assert!(check_param("Region", None, None).is_ok());
        assert!(check_param("Region", Some("x"), None).is_err());
    }

    fn tool() -> Value {
        json!({ "name": "t", "inputSchema": { "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": ["integer", "null"], "x-mcp-header": "Count" },
            "where": { "type": "object", "properties": { "zone": { "type": "string", "x-mcp-header": "Zone" } } },
            "again": { "type": "string", "x-mcp-header": "REGION" },
            "spaced": { "type": "string", "x-mcp-header": "a b" },
            "empty": { "type": "string", "x-mcp-header": "" },
            "list": { "type": "array", "x-mcp-header": "List", "items": { "type": "string", "x-mcp-header": "Item" } },
            "untyped": { "x-mcp-header": "Untyped" },
            "odd": { "type": "string", "x-mcp-header": 1 },
            "plain": { "type": "string" },
        } } })
    }

    #[test]
    fn a_definition_says_what_is_mirrored() {
        let found: Vec<_> = mirrored(&tool()).into_iter().map(|one| (one.argument.join("."), one.suffix)).collect();
        let expected = [("region", "Region"), ("count", "Count"), ("where.zone", "Zone")];
        assert_eq!(found, expected.map(|(argument, suffix)| (argument.to_owned(), suffix.to_owned())));
        for definition in
            [json!(null), json!({}), json!({ "inputSchema": true }), json!({ "inputSchema": { "properties": [] } })]
        {
            assert_eq!(mirrored(&definition), [], "{definition}");
        }
    }

    #[test]
    fn every_mirrored_argument_is_compared() {
        let mirrored = mirrored(&tool());
        for (headers, arguments, agrees) in [
            (vec![], json!({}), true),
            (vec![], json!(null), true),
            (vec![("Region", "eu")], json!({ "region": "eu" }), true),
            (vec![("region", "eu"), ("zone", "z")], json!({ "region": "eu", "where": { "zone": "z" } }), true),
            (vec![("region", "eu")], json!({ "region": "eu", "where": { "zone": "z" } }), false),
            (vec![("region", "us")], json!({ "region": "eu" }), false),
            (vec![("region", "=?base64?!?=")], json!({ "region": "eu" }), false),
            (vec![("region", "eu")], json!({}), false),
            (vec![("count", "3.0")], json!({ "count": 3 }), true),
            (vec![], json!({ "count": null }), true),
            (vec![], json!({ "region": ["eu"] }), true),
            (vec![("region", "eu")], json!({ "region": ["eu"] }), false),
            (vec![("unknown", "x")], json!({}), true),
        ] {
            let given: Vec<_> = headers.iter().map(|(name, value)| (format!("Mcp-Param-{name}"), *value)).collect();
            let collected = McpHeaders::collect(given.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
            assert_eq!(
                check_mirrored(&collected, &mirrored, Some(&arguments)).is_ok(),
                agrees,
                "{headers:?} against {arguments}"
            );
            let own = derive_mirrored(&mirrored, Some(&arguments));
            let collected = McpHeaders::collect(own.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
            assert!(check_mirrored(&collected, &mirrored, Some(&arguments)).is_ok(), "our own agree: {own:?}");
        }
        assert_eq!(
            derive_mirrored(&mirrored, Some(&json!({ "region": "Köln", "count": 3 }))),
            [("Mcp-Param-Region".to_owned(), "=?base64?S8O2bG4=?=".to_owned()), ("Mcp-Param-Count".into(), "3".into())]
        );
        assert_eq!(derive_mirrored(&mirrored, None), []);
    }
}
