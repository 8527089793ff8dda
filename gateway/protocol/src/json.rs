//! JSON read so that nobody downstream can read it differently.
//!
//! Parsers disagree about duplicate keys, huge integers, lone surrogates and deep nesting; a gateway that judges one reading
//! and forwards another has judged nothing. `build` makes the tree of an ordinary document in one pass and gives up on any
//! doubt; then our own scanner, which knows the exact rules and the place of a fault, decides.
//! The scanner alone (no tree, no allocation for ordinary documents) is what replies pay for; see `reply`.

mod build;
mod scanner;
mod token;

use std::fmt;

use serde_json::Value;

pub(crate) use scanner::{Numbers, Scan, Scanner, Under};

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
    #[error("duplicate key")]
    DuplicateKeyUnnamed,
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

    fn boxed(fault: Fault, offset: usize) -> Box<Self> {
        Box::new(Self::new(fault, offset))
    }

    /// The same without the sender's own words, for a document that neither its reader nor a log is to see parts of.
    #[must_use]
    pub fn without_names(self) -> Self {
        let fault = match self.fault {
            Fault::DuplicateKey(_) => Fault::DuplicateKeyUnnamed,
            fault => fault,
        };
        Self { fault, offset: self.offset, path: Vec::new() }
    }

    /// Whether the text is no JSON at all, as opposed to JSON we do not accept.
    pub fn is_syntax(&self) -> bool {
        !matches!(
            self.fault,
            Fault::DuplicateKey(_)
                | Fault::DuplicateKeyUnnamed
                | Fault::TooDeep(_)
                | Fault::InexactInteger
                | Fault::NumberRange
        )
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

impl From<Box<JsonError>> for JsonError {
    fn from(boxed: Box<JsonError>) -> Self {
        *boxed
    }
}

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
    if let Ok(value) = build::build(text, max_depth, numbers) {
        return Ok(value);
    }
    let mut scanner = Scanner::new(text, max_depth, numbers);
    scanner.value()?;
    scanner.end()?;
    build::build(text, max_depth, Numbers::Any).map_err(|error| {
        // The one thing the tolerant scan lets through that a tree cannot hold.
        JsonError::new(Fault::NumberRange, error.column().saturating_sub(1))
    })
}

#[cfg(test)]
mod tests;
