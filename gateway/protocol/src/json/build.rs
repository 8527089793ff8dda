//! Builds the tree of an ordinary document in one pass over it.
//!
//! serde_json reads; this keeps the keys apart and counts the depth. It only ever gives up, without saying why: the scanner,
//! which knows the rules and the places, then walks the document and has the word.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{DEEPEST, Numbers};

/// Doubles from here on may have been integers that 64 bits do not hold.
const DOUBTFUL: f64 = 9.0e18;

pub(super) fn build(text: &str, max_depth: usize, numbers: Numbers) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    // Ours counts instead: 128 levels would trip it.
    reader.disable_recursion_limit();
    let value = Builder { left: max_depth.min(DEEPEST), numbers }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Builder {
    /// Levels that may still be opened.
    left: usize,
    numbers: Numbers,
}

impl Builder {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let left = self.left.checked_sub(1).ok_or_else(|| E::custom("too deep"))?;
        Ok(Self { left, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Builder {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Builder {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        match Number::from_f64(value) {
            Some(number) if self.numbers == Numbers::Any || value.abs() < DOUBTFUL => Ok(Value::Number(number)),
            _ => Err(E::custom("a doubtful number")),
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.insert(key, members.next_value_seed(inner)?).is_some() {
                return Err(A::Error::custom("a key came twice"));
            }
        }
        Ok(Value::Object(object))
    }
}
