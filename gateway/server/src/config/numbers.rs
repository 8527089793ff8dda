//! Sizes (`4MiB`) and counts as people write them: a number, or a text that holds one.
//!
//! Text is accepted for both because `${NAME}` always gives text.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Bytes: a plain number, or one with `B`, `KiB`, `MiB` or `GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// How many: a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub u64);

/// A part of the whole: 0 to 1, which whoever uses it checks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub f64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a size: write a number of bytes, or one with B, KiB, MiB or GiB such as `4MiB`")
        };
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let (digits, unit) = trimmed.split_at_checked(end).ok_or_else(wrong)?;
        let factor: u64 = match unit.trim_start() {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(wrong()),
        };
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        number.checked_mul(factor).map(Self).ok_or_else(wrong)
    }
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.trim().parse().map(Self).map_err(|_| format!("`{text}` is not a whole number"))
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.trim().parse().map(Self).map_err(|_| format!("`{text}` is not a number between 0 and 1"))
    }
}

struct NumberOrText<T>(&'static str, fn(u64) -> T);

impl<T: FromStr<Err = String>> Visitor<'_> for NumberOrText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Ok((self.1)(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText("a size such as 4MiB", Self))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText("a whole number", Self))
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl Visitor<'_> for Any {
            type Value = Share;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number between 0 and 1")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Share, E> {
                Ok(Share(number))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Share, E> {
                Ok(Share(number as f64))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Share, E> {
                Ok(Share(number as f64))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Share, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Bytes: a plain number, or one with B, KiB, MiB or GiB.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^\\s*([0-9]+\\s*(B|KiB|MiB|GiB)?|.*\\$\\{.*)\\s*$" },
            ],
        })
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A whole number.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^\\s*([0-9]+|.*\\$\\{.*)\\s*$" },
            ],
        })
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number between 0 and 1.",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": "^\\s*([01]|[01]?\\.[0-9]+|.*\\$\\{.*)\\s*$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_numbers_with_binary_units() {
        for (written, bytes) in [
            (json!(4096), Some(4096)),
            (json!("4096"), Some(4096)),
            (json!("7B"), Some(7)),
            (json!("10KiB"), Some(10 * 1024)),
            (json!("4MiB"), Some(4 * 1024 * 1024)),
            (json!("2 GiB"), Some(2 * 1024 * 1024 * 1024)),
            (json!("4MB"), None),
            (json!("4mib"), None),
            (json!("MiB"), None),
            (json!("-1"), None),
            (json!(-1), None),
            (json!(1.5), None),
            (json!("99999999999GiB"), None),
            (json!(true), None),
        ] {
            let read: Option<Size> = serde_json::from_value(written.clone()).ok();
            assert_eq!(read.map(|size| size.0), bytes, "{written}");
        }
    }

    #[test]
    fn counts_are_whole_numbers() {
        for (written, count) in [(json!(0), Some(0)), (json!("12"), Some(12)), (json!("x"), None), (json!(-3), None)] {
            let read: Option<Count> = serde_json::from_value(written.clone()).ok();
            assert_eq!(read.map(|count| count.0), count, "{written}");
        }
    }
}
