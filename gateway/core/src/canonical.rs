//! Canonical JSON (RFC 8785) as text: what is hashed, and what is stored, so that both are the same.

use serde::{Deserialize, Serialize};
use serde_json::{Error, Value};

/// A JSON value in its canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Canonical(Box<str>);

impl Canonical {
    pub fn of(value: &impl Serialize) -> Result<Self, Error> {
        serde_json_canonicalizer::to_string(value).map(|text| Self(text.into()))
    }

    /// For our own types whose fields are declared in canonical order and hold no fractions: written as they stand they
    /// are canonical already, and every decision passes here. A test holds each such type against [`Canonical::of`].
    pub(crate) fn in_order(value: &impl Serialize) -> Result<Self, Error> {
        serde_json::to_string(value).map(|text| Self(text.into()))
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
        canonical.0.into()
    }
}

/// A text as a JSON string: the escapes of `serde_json` are those of the RFC.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) -> Result<(), Error> {
    // A dozen names and digests a trace, in which there is never anything to escape.
    // Looked through to the end, which the compiler does many bytes at a time.
    if text.bytes().fold(false, |escaped, byte| escaped | (byte < 0x20) | (byte == b'"') | (byte == b'\\')) {
        return serde_json::to_writer(out, text);
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_text_is_written_as_serde_json_writes_it() {
        let letters: Vec<String> = (0..0x180).filter_map(char::from_u32).map(String::from).collect();
        for text in letters.iter().map(String::as_str).chain(["", "plain", "a \"b\" \\ c", "é\u{2028}😀\u{7f}", "\n"])
        {
            let mut written = Vec::new();
            write_text(text, &mut written).unwrap();
            assert_eq!(written, serde_json::to_vec(text).unwrap(), "{text:?}");
        }
    }
}
