//! How a value from the body is written into a header, and read back.
//!
//! What is not plain visible ASCII travels as `=?base64?…?=` (2026-07-28, "Value Encoding"). A plain value that merely looks like
//! that is encoded too, so decoding is never a guess.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("holds characters a header may not carry")]
    Characters,
    #[error("is not valid base64")]
    Base64,
    #[error("does not decode to UTF-8")]
    NotUtf8,
}

pub fn encode_value(value: &str) -> String {
    let padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    if is_plain(value) && !padded && sentinel(value).is_none() {
        return value.into();
    }
    format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(value))
}

pub fn decode_value(header: &str) -> Result<Cow<'_, str>, ValueError> {
    if !is_plain(header) {
        return Err(ValueError::Characters);
    }
    let Some(encoded) = sentinel(header) else {
        return Ok(Cow::Borrowed(header));
    };
    let bytes = STANDARD.decode(encoded).map_err(|_| ValueError::Base64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| ValueError::NotUtf8)
}

/// The markers are case-sensitive: `=?BASE64?` is an ordinary value.
fn sentinel(header: &str) -> Option<&str> {
    header.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn values_are_encoded_only_when_they_must_be() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("a b\tc", "a b\tc"),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?BASE64?x?=", "=?BASE64?x?="),
            ("=?base64?=", "=?base64?="),
        ] {
            assert_eq!(encode_value(value), header);
            assert_eq!(decode_value(header).unwrap(), value);
        }
    }

    #[test]
    fn nonsense_is_not_decoded() {
        for (header, expected) in [
            ("=?base64?SGVsbG8?=", ValueError::Base64),
            ("=?base64?SGVs!G8=?=", ValueError::Base64),
            ("=?base64?SGVsbG9=?=", ValueError::Base64),
            ("=?base64?/w==?=", ValueError::NotUtf8),
            ("wörld", ValueError::Characters),
            ("a\r\nb", ValueError::Characters),
            ("a\u{7f}", ValueError::Characters),
        ] {
            assert_eq!(decode_value(header), Err(expected), "{header:?}");
        }
    }
}
