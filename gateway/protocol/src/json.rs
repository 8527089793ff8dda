//! JSON read so that nobody downstream can read it differently.
//!
//! Parsers disagree about duplicate keys, huge integers, lone surrogates and deep nesting; a gateway that judges one reading
//! and forwards another has judged nothing. So a document first passes our own scanner, which knows the exact rules and the
//! place of a fault, and only then does serde_json build the tree: what is accepted was accepted by both.
//! The scanner alone (no tree, no allocation for ordinary documents) is what replies pay for; see `reply`.

mod scanner;

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

pub(crate) use scanner::{Numbers, Scanner, Under};

/// How deep a message may nest unless configured otherwise: 128 levels are accepted, 129 are refused.
pub const DEFAULT_MAX_DEPTH: usize = 128;
/// The scanner and serde_json both recurse, so a larger wish is cut to what a worker thread's stack surely holds.
pub const DEEPEST: usize = 512;

/// What is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    pub fault: Fault,
    /// Bytes before the fault.
    pub offset: usize,
    /// The members that lead to the fault, innermost first (it is filled while the scanner backs out).
    path: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the text starts with a byte order mark")]
    ByteOrderMark,
    #[error("the text is not valid UTF-8")]
    NotUtf8,
    #[error("{0}")]
    Syntax(&'static str),
    #[error("the text goes on after the end of the document")]
    TrailingData,
    #[error("a string holds half of a surrogate pair")]
    LoneSurrogate,
    #[error("duplicate key `{0}`")]
    DuplicateKey(String),
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    #[error("an integer beyond 64 bits is read differently by different parsers; send it as a string")]
    InexactInteger,
    #[error("a number is too large for a double; send it as a string")]
    NumberRange,
}

impl JsonError {
    fn new(fault: Fault, offset: usize) -> Self {
        Self { fault, offset, path: Vec::new() }
    }

    /// Whether the text is no JSON at all, as opposed to JSON we do not accept.
    pub fn is_syntax(&self) -> bool {
        !matches!(self.fault, Fault::DuplicateKey(_) | Fault::TooDeep(_) | Fault::InexactInteger | Fault::NumberRange)
    }

    /// The place as a reader would write it, `params.arguments.x`; empty at the top of the document.
    pub fn path(&self) -> String {
        // Keys are the sender's text: long ones are cut so that an error cannot become an amplifier.
        const LONGEST: usize = 200;
        let mut path = String::new();
        for segment in self.path.iter().rev() {
            if path.len() + segment.len() > LONGEST {
                path.push('…');
                break;
            }
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(segment);
        }
        path
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)?;
        match self.path() {
            path if path.is_empty() => write!(f, " (byte {})", self.offset),
            path => write!(f, " in `{path}` (byte {})", self.offset),
        }
    }
}

impl std::error::Error for JsonError {}

/// Reads a client's document: everything the scanner refuses, and numbers that a double or 64 bits cannot hold exactly.
pub fn parse_strict(bytes: &[u8], max_depth: usize) -> Result<Value, JsonError> {
    parse(bytes, max_depth, Numbers::Exact)
}

/// Reads an upstream's document: as strict, but a large integer becomes the nearest double instead of a refusal.
/// A number beyond the range of doubles still cannot become part of a tree and is refused here, though `check` accepts it.
pub fn parse_reply(bytes: &[u8], max_depth: usize) -> Result<Value, JsonError> {
    parse(bytes, max_depth, Numbers::Any)
}

/// Walks a document without building it; accepts numbers of any size. Returns it as the text it now certainly is.
pub fn check(bytes: &[u8], max_depth: usize) -> Result<&str, JsonError> {
    let text = as_text(bytes)?;
    let mut scanner = Scanner::new(text, max_depth, Numbers::Any);
    scanner.value()?;
    scanner.end()?;
    Ok(text)
}

pub(crate) fn as_text(bytes: &[u8]) -> Result<&str, JsonError> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(JsonError::new(Fault::ByteOrderMark, 0));
    }
    std::str::from_utf8(bytes).map_err(|error| JsonError::new(Fault::NotUtf8, error.valid_up_to()))
}

fn parse(bytes: &[u8], max_depth: usize, numbers: Numbers) -> Result<Value, JsonError> {
    let text = as_text(bytes)?;
    let mut scanner = Scanner::new(text, max_depth, numbers);
    scanner.value()?;
    scanner.end()?;
    tree(text)
}

/// Only for text the scanner has accepted: serde_json's own depth limit is off, because 128 levels would trip it.
fn tree(text: &str) -> Result<Value, JsonError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    Value::deserialize(&mut reader).map_err(|error| {
        // The one thing the tolerant scan lets through that a tree cannot hold.
        JsonError::new(Fault::NumberRange, error.column().saturating_sub(1))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn nested(levels: usize) -> Vec<u8> {
        let mut text = vec![b'['; levels];
        text.extend(vec![b']'; levels]);
        text
    }

    #[test]
    fn refuses_what_parsers_read_differently() {
        for (text, expected) in [
            (r#"{"a":1,"a":2}"#, "duplicate key `a` (byte 7)"),
            (r#"{"p":{"q":{"x":1,"x":2}}}"#, "duplicate key `x` in `p.q` (byte 17)"),
            (r#"{"p":[{"q":1},{"x":1,"\u0078":2}]}"#, "duplicate key `x` in `p.1` (byte 21)"),
            (r#"{"a":{"\/":1,"/":2}}"#, "duplicate key `/` in `a` (byte 13)"),
            (r#"{"":1,"":2}"#, "duplicate key `` (byte 6)"),
            (
                r#"{"n":18446744073709551616}"#,
                "an integer beyond 64 bits is read differently by different parsers; send it as a string in `n` (byte 5)",
            ),
            (
                r"[-9223372036854775809]",
                "an integer beyond 64 bits is read differently by different parsers; send it as a string in `0` (byte 1)",
            ),
            (r"[1e400]", "a number is too large for a double; send it as a string in `0` (byte 1)"),
            (r#"["\ud800"]"#, "a string holds half of a surrogate pair in `0` (byte 2)"),
            (r#"["\ud800\u0041"]"#, "a string holds half of a surrogate pair in `0` (byte 2)"),
            (r#"["\udc00"]"#, "a string holds half of a surrogate pair in `0` (byte 2)"),
            (r#"{"\ud800":1}"#, "a string holds half of a surrogate pair (byte 2)"),
            ("\u{feff}{}", "the text starts with a byte order mark (byte 0)"),
            ("{} {}", "the text goes on after the end of the document (byte 3)"),
            ("[NaN]", "a value was expected in `0` (byte 1)"),
            ("[-Infinity]", "a digit was expected in `0` (byte 2)"),
        ] {
            assert_eq!(parse_strict(text.as_bytes(), 128).unwrap_err().to_string(), expected, "{text}");
        }
        assert_eq!(parse_strict(b"[\"a\xff\"]", 128).unwrap_err().to_string(), "the text is not valid UTF-8 (byte 3)");
    }

    #[test]
    fn accepts_what_only_looks_strange() {
        for text in [
            r#"{"a":1,"A":2}"#,
            r#"[{"a":1},{"a":2}]"#,
            r#"{"a":{"a":{"a":1}}}"#,
            r#"{"n":[18446744073709551615,-9223372036854775808,0.1,-0,1e30,1E-7]}"#,
            r#"["\ud83d\ude00","😀","\u0000","\\\"\/\b\f\n\r\t"]"#,
            " [ ] ",
            "null",
            "\t{\r\n}\n",
        ] {
            assert_eq!(parse_strict(text.as_bytes(), 128).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn nests_to_the_limit_and_no_further() {
        for (levels, limit, accepted) in [
            (1, 1, true),
            (2, 1, false),
            (128, 128, true),
            (129, 128, false),
            (200, 200, true),
            (DEEPEST, usize::MAX, true),
            (DEEPEST + 1, usize::MAX, false),
            (1_000_000, usize::MAX, false),
        ] {
            let text = nested(levels);
            assert_eq!(parse_strict(&text, limit).is_ok(), accepted, "{levels} levels with a limit of {limit}");
            assert_eq!(check(&text, limit).is_ok(), accepted, "{levels} levels with a limit of {limit}");
        }
        assert_eq!(parse_strict(b"1", 0).unwrap(), 1);
        assert!(parse_strict(b"{}", 0).is_err());
    }

    #[test]
    fn a_reply_is_not_refused_for_a_number() {
        for text in ["[123456789012345678901234567890]", "[1e400]", "[-1e-999]"] {
            assert!(check(text.as_bytes(), 128).is_ok(), "{text}");
        }
        assert_eq!(parse_reply(b"[123456789012345678901234567890]", 128).unwrap()[0].as_f64(), Some(123456789012345678901234567890.0));
        assert_eq!(parse_reply(b"[1e400]", 128).unwrap_err().fault, Fault::NumberRange);
    }

    #[test]
    fn numbers_survive_to_the_last_digit() {
        // serde_json's fast float reader is off by one here.
        let text = "[0.1,1.7976931348623157e308,5e-324,31.245270191439438,121.48791951161945]";
        let Value::Array(numbers) = parse_strict(text.as_bytes(), 8).unwrap() else { panic!("an array") };
        assert_eq!(numbers[3].as_f64(), Some(31.245270191439438));
        assert_eq!(numbers[4].as_f64(), Some(121.48791951161945));
        assert_eq!(serde_json::to_string(&numbers[1]).unwrap(), "1.7976931348623157e308");
    }

    #[test]
    fn a_large_object_is_checked_too() {
        let mut members: Vec<String> = (0..5_000).map(|n| format!("\"k{n}\":{n}")).collect();
        assert!(parse_strict(format!("{{{}}}", members.join(",")).as_bytes(), 2).is_ok());
        members.push("\"k17\":0".into());
        let error = parse_strict(format!("{{{}}}", members.join(",")).as_bytes(), 2).unwrap_err();
        assert_eq!(error.fault, Fault::DuplicateKey("k17".into()));
    }
}
