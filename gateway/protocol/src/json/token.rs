//! The scanner's strings, numbers and words: everything in a document that does not nest.

use std::borrow::Cow;

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
                return Err(JsonError::boxed(fault, start));
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
                return Err(JsonError::boxed(Fault::Syntax("an escape is not valid"), start));
            }
        }
        match self.hex()? {
            0xd800..=0xdbff => {
                let paired = self.rest().starts_with(b"\\u");
                self.at += 2;
                if !paired || !matches!(self.hex(), Ok(0xdc00..=0xdfff)) {
                    return Err(JsonError::boxed(Fault::LoneSurrogate, start));
                }
                Ok(())
            }
            0xdc00..=0xdfff => Err(JsonError::boxed(Fault::LoneSurrogate, start)),
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
    let mut length = 0;
    let mut rest = text;
    // Eight bytes at a time: long texts are most of what agents send, and short ones end in the first eight or two.
    while let Some((eight, others)) = rest.split_first_chunk::<8>() {
        let stops = stops_in(u64::from_le_bytes(*eight));
        if stops != 0 {
            return length + (stops.trailing_zeros() / 8) as usize;
        }
        length += 8;
        rest = others;
    }
    let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    length + rest.iter().position(stops).unwrap_or(rest.len())
}

/// The high bit of the first byte that a string cannot simply hold is the lowest bit set here.
fn stops_in(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | is(b'"') | is(b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_plain_up_to_the_first_byte_that_is_not() {
        for byte in 0..=255_u8 {
            let stops = matches!(byte, b'"' | b'\\' | 0..0x20);
            for place in 0..20 {
                for length in [place + 1, 20, 40] {
                    let mut text = vec![if place % 2 == 0 { b'a' } else { 0xff }; length];
                    if let Some(there) = text.get_mut(place) {
                        *there = byte;
                    }
                    assert_eq!(
                        plain_length(&text),
                        if stops { place } else { length },
                        "{byte} at {place} of {length}"
                    );
                }
            }
        }
    }
}
