//! Protobuf as `ParserOptions::tree` writes it: numbers and pieces of text, each behind the number of its field.
//!
//! Nothing is copied: what is read points into the bytes. They come from the same process and nest no deeper than 100, which
//! bounds the recursion here; bytes that make no sense are an error all the same, and never a panic.

use std::str;

/// Bytes that are no tree.
#[derive(Debug)]
pub struct Malformed;

pub enum Value<'t> {
    Number(u64),
    Bytes(&'t [u8]),
}

/// What is left of a message.
pub struct Fields<'t>(pub &'t [u8]);

impl<'t> Fields<'t> {
    /// The next field's number and value.
    #[inline]
    pub fn next(&mut self) -> Result<Option<(u32, Value<'t>)>, Malformed> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).map_err(|_| Malformed)?;
        match key & 7 {
            0 => Ok(Some((number, Value::Number(self.varint()?)))),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                let (bytes, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
                self.0 = rest;
                Ok(Some((number, Value::Bytes(bytes))))
            }
            _ => Err(Malformed),
        }
    }

    /// Most are short: keys, lengths, places in the text.
    #[inline]
    fn varint(&mut self) -> Result<u64, Malformed> {
        match self.0 {
            [only, rest @ ..] if *only < 0x80 => {
                self.0 = rest;
                Ok(u64::from(*only))
            }
            [first, second, rest @ ..] if *second < 0x80 => {
                self.0 = rest;
                Ok(u64::from(*first & 0x7f) | u64::from(*second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for place in 0..10 {
            let (byte, rest) = self.0.split_first().ok_or(Malformed)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }
}

pub trait Message<'t>: Sized {
    fn read(bytes: &'t [u8]) -> Result<Self, Malformed>;
}

impl<'t, M: Message<'t>> Message<'t> for Box<M> {
    fn read(bytes: &'t [u8]) -> Result<Self, Malformed> {
        M::read(bytes).map(Self::new)
    }
}

/// A field of a message. Missing ones keep their default: the writer leaves out what is empty.
pub trait Field<'t> {
    fn put(&mut self, value: Value<'t>) -> Result<(), Malformed>;
}

impl Field<'_> for bool {
    fn put(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let Value::Number(number) = value else { return Err(Malformed) };
        *self = number != 0;
        Ok(())
    }
}

impl Field<'_> for i32 {
    fn put(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let Value::Number(number) = value else { return Err(Malformed) };
        // Negative ones were widened with their sign.
        *self = Self::try_from(number.cast_signed()).map_err(|_| Malformed)?;
        Ok(())
    }
}

impl<'t> Field<'t> for &'t str {
    fn put(&mut self, value: Value<'t>) -> Result<(), Malformed> {
        let Value::Bytes(bytes) = value else { return Err(Malformed) };
        *self = str::from_utf8(bytes).map_err(|_| Malformed)?;
        Ok(())
    }
}

impl<'t, M: Message<'t>> Field<'t> for Option<M> {
    fn put(&mut self, value: Value<'t>) -> Result<(), Malformed> {
        let Value::Bytes(bytes) = value else { return Err(Malformed) };
        *self = Some(M::read(bytes)?);
        Ok(())
    }
}

impl<'t, M: Message<'t>> Field<'t> for Vec<M> {
    fn put(&mut self, value: Value<'t>) -> Result<(), Malformed> {
        let Value::Bytes(bytes) = value else { return Err(Malformed) };
        self.push(M::read(bytes)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, Value};

    #[test]
    fn what_ends_too_early_is_an_error() {
        for bytes in
            [&[0x80][..], &[0x08], &[0x08, 0xff], &[0x12, 0x02, 0x00], &[0x09, 0, 0, 0, 0, 0, 0, 0, 0], &[0xff; 11]]
        {
            assert!(Fields(bytes).next().is_err(), "{bytes:?}");
        }
        let mut fields = Fields(&[0x08, 0x96, 0x01, 0x12, 0x01, b'a']);
        assert!(matches!(fields.next(), Ok(Some((1, Value::Number(150))))));
        assert!(matches!(fields.next(), Ok(Some((2, Value::Bytes(b"a"))))));
        assert!(matches!(fields.next(), Ok(None)));
    }
}
