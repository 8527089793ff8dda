//! RFC 8785 in one pass: every trace is hashed over this form, so it is written without copying keys or values.
//!
//! Numbers that are not small integers are left to `serde_json_canonicalizer`, which all of this is tested against.

use std::cmp::Ordering;
use std::io::Write;

use serde_json::{Error, Map, Number, Value};

/// Up to here an integer and the double it stands for are written alike.
const EXACT: u64 = 1 << 53;

pub fn to_vec(value: &Value) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(256);
    write(value, &mut out)?;
    Ok(out)
}

pub fn write(value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out)?,
        Value::String(text) => write_text(text, out)?,
        Value::Array(items) => {
            out.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write(item, out)?;
            }
            out.push(b']');
        }
        Value::Object(fields) => write_object(fields, out)?,
    }
    Ok(())
}

/// The escapes of `serde_json` are those of the RFC.
pub fn write_text(text: &str, out: &mut Vec<u8>) -> Result<(), Error> {
    serde_json::to_writer(out, text)
}

fn write_object(fields: &Map<String, Value>, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_unstable_by(|(one, _), (other, _)| key_order(one, other));
    out.push(b'{');
    for (place, (key, value)) in sorted.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write_text(key, out)?;
        out.push(b':');
        write(value, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// By UTF-16 units, which for ASCII is by bytes.
fn key_order(one: &str, other: &str) -> Ordering {
    match one.is_ascii() && other.is_ascii() {
        true => one.cmp(other),
        false => one.encode_utf16().cmp(other.encode_utf16()),
    }
}

fn write_number(number: &Number, out: &mut Vec<u8>) -> Result<(), Error> {
    match (number.as_u64(), number.as_i64()) {
        (Some(whole), _) if whole <= EXACT => write!(out, "{whole}").map_err(Error::io),
        (_, Some(whole)) if whole.unsigned_abs() <= EXACT => write!(out, "{whole}").map_err(Error::io),
        _ => {
            out.extend_from_slice(&serde_json_canonicalizer::to_vec(number)?);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn it_writes_what_the_reference_writes() {
        let controls: String = (0..=0x20_u8).chain([b'"', b'\\', b'/', 0x7f]).map(char::from).collect();
        let keys = json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7, "a\"b": 8, "": 9});
        for value in [
            json!(null),
            json!([true, false, [], {}, "", [[]]]),
            json!(controls),
            json!("ü€😀\u{2028}\u{fffd}"),
            keys,
            json!({"b": {"z": 1, "a": [{"y": 2, "x": 1}]}, "a": {}}),
            json!([0, -0.0, 1.0, -1, 2.50, 1e21, 1e20, 1e-7, 1e-6, 5e-324, 1.7976931348623157e308, 0.1 + 0.2]),
            json!([
                9_007_199_254_740_991_i64,
                9_007_199_254_740_992_i64,
                9_007_199_254_740_993_i64,
                -9_007_199_254_740_993_i64
            ]),
            json!([u64::MAX, i64::MAX, i64::MIN, 12_345_678_901_234_567_890_u64]),
        ] {
            let reference = serde_json_canonicalizer::to_string(&value).unwrap();
            assert_eq!(String::from_utf8(to_vec(&value).unwrap()).unwrap(), reference);
        }
    }
}
