//! Canonical JSON (RFC 8785) as text: what is hashed, and what is stored, so that both are the same.

use serde::{Deserialize, Serialize};
use serde_json::{Error, Value};

/// A JSON value in its canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Canonical(String);

impl Canonical {
    pub fn of(value: &impl Serialize) -> Result<Self, Error> {
        serde_json_canonicalizer::to_string(value).map(Self)
    }

    pub fn null() -> Self {
        Self("null".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Absent in a database, rather than JSON's null.
    pub fn as_column(&self) -> Option<&str> {
        (self.as_str() != "null").then_some(self.as_str())
    }
}

impl TryFrom<String> for Canonical {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::of(&serde_json::from_str::<Value>(&text)?)
    }
}

impl From<Canonical> for String {
    fn from(canonical: Canonical) -> String {
        canonical.0
    }
}

/// The canonical form as bytes. What callers send is canonical as it stands more often than not, and the library's sorting and
/// its numbers then cost several times what writing it costs.
pub(crate) fn to_vec(value: &Value) -> Result<Vec<u8>, Error> {
    if is_in_order(value) { serde_json::to_vec(value) } else { serde_json_canonicalizer::to_vec(value) }
}

/// Whether `serde_json` writes a value in its canonical form: keys of ASCII ascend, numbers are integers that no reader rounds.
fn is_in_order(value: &Value) -> bool {
    /// Beyond it the RFC writes numbers as floating point has them.
    const WHOLE: u64 = 1 << 53;
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number.as_i64().is_some_and(|number| number.unsigned_abs() < WHOLE),
        Value::Array(items) => items.iter().all(is_in_order),
        Value::Object(members) => {
            let ascending = members.keys().zip(members.keys().skip(1)).all(|(one, next)| one < next);
            ascending && members.iter().all(|(key, value)| key.is_ascii() && is_in_order(value))
        }
    }
}

/// An object written straight away, for our own records: every decision has some. Whoever writes gives the keys in
/// canonical order, without anything in them that needs an escape; a test holds each against [`Canonical::of`].
pub(crate) struct Object(String);

impl Object {
    pub fn with_capacity(bytes: usize) -> Self {
        Self(String::with_capacity(bytes))
    }

    /// The place of a member's value, which must be written next.
    pub fn member(&mut self, key: &'static str) -> &mut String {
        self.0.push_str(if self.0.is_empty() { "{\"" } else { ",\"" });
        self.0.push_str(key);
        self.0.push_str("\":");
        &mut self.0
    }

    pub fn text(&mut self, key: &'static str, value: Option<&str>) {
        let out = self.member(key);
        match value {
            Some(value) => write_text(value, out),
            None => out.push_str("null"),
        }
    }

    pub fn raw(&mut self, key: &'static str, json: &str) {
        self.member(key).push_str(json);
    }

    pub fn end(mut self) -> Canonical {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        Canonical(self.0)
    }
}

/// A text as a JSON string. The escapes of `serde_json` are those of the RFC, and most texts need none.
pub(crate) fn write_text(text: &str, out: &mut String) {
    // Looked through to the end, which the compiler does many bytes at a time.
    let escapes = text.bytes().fold(false, |any, byte| any | (byte < b' ') | (byte == b'"') | (byte == b'\\'));
    if !escapes {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // Writing a text to memory cannot fail.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_object_written_in_order_is_canonical() {
        let mut object = Object::with_capacity(64);
        object.raw("a", "[1,true]");
        object.text("b", Some("plain é \u{7f}"));
        object.text("c", Some("\"\\ \u{1} \n"));
        object.text("d", None);
        let written = object.end();
        let value = serde_json::from_str::<Value>(written.as_str()).unwrap();
        assert_eq!(value, serde_json::json!({"a": [1, true], "b": "plain é \u{7f}", "c": "\"\\ \u{1} \n", "d": null}));
        assert_eq!(written, Canonical::of(&value).unwrap());
        assert_eq!(Object::with_capacity(0).end().as_str(), "{}");
    }

    #[test]
    fn what_is_in_order_is_canonical_as_it_is_written() {
        for (text, expected) in [
            (r#"{}"#, true),
            (r#"{"a":1,"b":[true,null,-7],"c":{"a":"\u0001 é \u007f","b":"\ud83d\ude00 / \b\f"}}"#, true),
            (r#"{"A":1,"a":9007199254740991}"#, true),
            (r#"{"b":1,"a":2}"#, false),
            (r#"{"a":[{"b":1,"a":2}]}"#, false),
            // Code units order these otherwise than bytes do.
            (r#"{"\ue000":1,"\ud83d\ude00":2}"#, false),
            ("1.0", false),
            ("-0.0", false),
            ("9007199254740992", false),
            ("18446744073709551615", false),
            ("1e21", false),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(is_in_order(&value), expected, "{text}");
            assert_eq!(to_vec(&value).unwrap(), serde_json_canonicalizer::to_vec(&value).unwrap(), "{text}");
        }
    }

    #[test]
    fn a_text_is_written_as_serde_json_writes_it() {
        let letters: Vec<String> = (0..0x180).filter_map(char::from_u32).map(String::from).collect();
        for text in letters.iter().map(String::as_str).chain(["", "plain", "a \"b\" \\ c", "é\u{2028}😀\u{7f}", "\n"])
        {
            let mut written = String::new();
            write_text(text, &mut written);
            assert_eq!(written, serde_json::to_string(text).unwrap(), "{text:?}");
        }
    }
}
