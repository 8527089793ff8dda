//! The scanner's strings, numbers and words: everything in a document that does not nest.

use std::borrow::Cow;

use memchr::memchr2;

use super::scanner::{Numbers, Scan, Scanner};
use super::{Fault, JsonError};

impl<'a> Scanner<'a> {
    /// A string, unescaped; borrowed when there was nothing to unescape.
    pub(crate) fn string(&mut self) -> Scan<Cow<'a, str>> {
        if self.peek() != Some(b'"') {
            return Err(self.syntax("a string was expected"));
        }
        let opening = self.at;
        let escaped = self.quoted()?;
        if !escaped {
            return Ok(Cow::Borrowed(self.text.get(opening + 1..self.at - 1).unwrap_or_default()));
        }
        let quoted = self.text.get(opening..self.at).unwrap_or_default();
        serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| self.syntax("a string is not valid"))
    }

    /// Passes over a string, `at` being on its opening quote; says whether it holds escapes.
    pub(super) fn quoted(&mut self) -> Scan<bool> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain_length(self.rest());
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    self.at += 1;
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.syntax("a control character stands unescaped in a string")),
                None => return Err(self.syntax("a string does not end")),
            }
        }
    }

    /// A number as it is written.
    pub(crate) fn number(&mut self) -> Scan<&'a str> {
        self.peek();
        let start = self.at;
        let mut integer = true;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            integer = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            integer = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        let written = self.text.get(start..self.at).unwrap_or_default();
        if self.numbers == Numbers::Exact {
            let fault = match integer {
                true if written.parse::<i64>().is_err() && written.parse::<u64>().is_err() => {
                    Some(Fault::InexactInteger)
                }
                false if written.parse::<f64>().is_ok_and(f64::is_infinite) => Some(Fault::NumberRange),
                _ => None,
            };
            if let Some(fault) = fault {
                return Err(JsonError::new(fault, start));
            }
        }
        Ok(written)
    }

    /// One escape; `at` is just after the backslash.
    fn escape(&mut self) -> Scan<()> {
        let start = self.at - 1;
        let kind = self.byte();
        self.at += 1;
        match kind {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => return Ok(()),
            Some(b'u') => {}
            _ => {
                return Err(JsonError::new(Fault::Syntax("an escape is not valid"), start));
            }
        }
        match self.hex()? {
            0xd800..=0xdbff => {
                let paired = self.rest().starts_with(b"\\u");
                self.at += 2;
                if !paired || !matches!(self.hex(), Ok(0xdc00..=0xdfff)) {
                    return Err(JsonError::new(Fault::LoneSurrogate, start));
                }
                Ok(())
            }
            0xdc00..=0xdfff => Err(JsonError::new(Fault::LoneSurrogate, start)),
            _ => Ok(()),
        }
    }

    fn hex(&mut self) -> Scan<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.syntax("four hexadecimal digits were expected"));
            };
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) -> Scan<()> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.syntax("a digit was expected"));
        }
        self.at += count;
        Ok(())
    }

    pub(super) fn literal(&mut self, word: &'static str) -> Scan<()> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(self.syntax("a value was expected"));
        }
        self.at += word.len();
        Ok(())
    }
}

/// How many bytes of a string's text go by before a quote, an escape or a control character (or the end).
fn plain_length(text: &[u8]) -> usize {
    // Most strings end within a few bytes, and for them a search that first sets up its vectors is slower than looking.
    const NEAR: usize = 24;
    let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    if let Some(length) = text.iter().take(NEAR).position(stops) {
        return length;
    }
    let far = text.get(NEAR..).unwrap_or_default();
    let length = memchr2(b'"', b'\\', far).unwrap_or(far.len());
    let plain = far.get(..length).unwrap_or_default();
    // A fold without early exit, so that the compiler can look at many bytes at once.
    let control = plain.iter().fold(false, |found, byte| found | (*byte < 0x20));
    let length = if control { plain.iter().position(stops).unwrap_or(length) } else { length };
    text.len().min(NEAR) + length
}
