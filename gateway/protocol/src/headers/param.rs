//! `Mcp-Param-*`: a tool's argument, mirrored because the tool's schema asks for it with `x-mcp-header`.
//!
//! Which argument has which header is in the schema, so the caller brings both; here they are compared and written.

use serde_json::Value;

use super::{decode_value, encode_value, mismatch};
use crate::error::Malformed;

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
}
