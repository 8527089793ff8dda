//! Walks JSON text once, checking every rule, building nothing.
//!
//! The caller may look into an object while it is walked (`object` hands each key to a closure that consumes the value), so
//! a reply's envelope is read in the same pass that checks it. Keys of all open objects lie on one stack, so a document with
//! short, unescaped keys is walked without allocating.

use std::borrow::Cow;
use std::collections::HashSet;

use smallvec::SmallVec;

use super::{DEEPEST, Fault, JsonError};

/// Up to this many keys a linear search beats hashing.
const FEW_KEYS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Integers must fit 64 bits, everything else a double.
    Exact,
    Any,
}

pub(crate) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    depth: usize,
    max_depth: usize,
    pub(super) numbers: Numbers,
    keys: SmallVec<[Cow<'a, str>; 24]>,
}

/// The fault is boxed because nearly every scan succeeds, and small results stay in registers.
pub(crate) type Scan<T> = Result<T, Box<JsonError>>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, max_depth: usize, numbers: Numbers) -> Self {
        Self { text, at: 0, depth: 0, max_depth: max_depth.min(DEEPEST), numbers, keys: SmallVec::new() }
    }

    /// The first byte of the next value, after white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Bytes consumed so far.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn value(&mut self) -> Scan<()> {
        match self.peek() {
            Some(b'"') => self.quoted().map(drop),
            Some(b'{') => self.object(|scanner, _| scanner.value()),
            Some(b'[') => self.array(|scanner, _| scanner.value()),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(self.syntax("a value was expected")),
        }
    }

    pub(crate) fn end(&mut self) -> Scan<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault(Fault::TrailingData)),
        }
    }

    /// Walks an object; `member` gets each key and must consume its value.
    pub(crate) fn object<E: From<Box<JsonError>> + Under>(
        &mut self,
        mut member: impl FnMut(&mut Self, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'{', "an object was expected")?;
        let first = self.keys.len();
        let mut many: Option<HashSet<Cow<'a, str>>> = None;
        if self.peek() == Some(b'}') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.syntax("a key in quotes was expected").into());
            }
            let start = self.at;
            let key = self.string()?;
            self.remember(key.clone(), first, &mut many, start)?;
            if self.peek() != Some(b':') {
                return Err(self.syntax("a colon was expected").into());
            }
            self.at += 1;
            member(self, &key).map_err(|error| error.under(&key))?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => {
                    return Err(self.syntax("a comma or the end of the object was expected").into());
                }
            }
        }
        self.keys.truncate(first);
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    /// Walks an array; `element` gets each position and must consume the value there.
    pub(crate) fn array<E: From<Box<JsonError>> + Under>(
        &mut self,
        mut element: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'[', "an array was expected")?;
        let mut index = 0;
        if self.peek() != Some(b']') {
            loop {
                element(self, index).map_err(|error| error.under(&index.to_string()))?;
                index += 1;
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => break,
                    _ => {
                        return Err(self.syntax("a comma or the end of the array was expected").into());
                    }
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn open(&mut self, bracket: u8, expected: &'static str) -> Scan<()> {
        if self.peek() != Some(bracket) {
            return Err(self.syntax(expected));
        }
        if self.depth >= self.max_depth {
            return Err(self.fault(Fault::TooDeep(self.max_depth)));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn remember(
        &mut self,
        key: Cow<'a, str>,
        first: usize,
        many: &mut Option<HashSet<Cow<'a, str>>>,
        start: usize,
    ) -> Scan<()> {
        let seen = match many {
            Some(set) => set.contains(&key),
            None => self.keys.get(first..).is_some_and(|own| own.contains(&key)),
        };
        if seen {
            return Err(JsonError::boxed(Fault::DuplicateKey(key.chars().take(100).collect()), start));
        }
        if let Some(set) = many {
            set.insert(key);
            return Ok(());
        }
        self.keys.push(key);
        if self.keys.len() - first > FEW_KEYS {
            *many = Some(self.keys.drain(first..).collect());
        }
        Ok(())
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    pub(super) fn syntax(&self, problem: &'static str) -> Box<JsonError> {
        self.fault(Fault::Syntax(problem))
    }

    fn fault(&self, fault: Fault) -> Box<JsonError> {
        JsonError::boxed(fault, self.at)
    }
}

/// An error that can be told where in the document it happened, from the inside out.
pub(crate) trait Under {
    #[must_use]
    fn under(self, segment: &str) -> Self;
}

impl Under for Box<JsonError> {
    fn under(mut self, segment: &str) -> Self {
        self.path.push(segment.chars().take(100).collect());
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn accepts_exactly_what_is_json() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "}",
            "]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{'a':1}",
            "{\"a\" 1}",
            "{\"a\":1 \"b\":2}",
            "\"",
            "\"a",
            "\"\\",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "\"\u{1}\"",
            "\"\u{7f}\"",
            "01",
            "-",
            "-01",
            "1.",
            ".5",
            "+1",
            "1e",
            "1e+",
            "1E5",
            "0",
            "-0",
            "0.0e-0",
            "1.5E+3",
            "tru",
            "true",
            "truex",
            "falsey",
            "nul",
            "null",
            "[true,false,null]",
            "[]",
            "{}",
            "[[]]",
            "{\"\":{}}",
            "/**/1",
            "1//",
            "[1]\u{0}",
            "\u{a0}1",
            "\u{c}1",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ud83d\\u\"",
            "\"\\ud83d\\n\"",
            "\"\\uD83D\\uDE00\"",
            "Infinity",
            "NaN",
        ] {
            let mut scanner = Scanner::new(text, 128, Numbers::Any);
            let ours = scanner.value().and_then(|()| scanner.end());
            let theirs = serde_json::from_str::<serde_json::Value>(text);
            assert_eq!(ours.is_ok(), theirs.is_ok(), "{text:?}: {ours:?} against {theirs:?}");
        }
    }
}
