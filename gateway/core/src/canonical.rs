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
