//! Where a call holds its SQL, as an operator writes it: `query`, `filter.sql`, or a list of such places.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Names of arguments, or paths of names joined by dots. At least one of several must be there in a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct SqlPlaces(Vec<String>);

const DEEPEST: usize = 16;

impl SqlPlaces {
    pub fn one(argument: &str) -> Self {
        Self(vec![argument.to_owned()])
    }

    pub fn each(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// What is wrong with how they are written.
    pub fn problem(&self) -> Option<String> {
        if self.0.iter().all(|place| place.trim().is_empty()) {
            return Some("must name the argument that holds the SQL".into());
        }
        for (number, place) in self.0.iter().enumerate() {
            let steps = place.split('.').count();
            if steps > DEEPEST || place.split('.').any(|step| step.trim().is_empty()) {
                return Some(format!(
                    "`{place}` must name an argument, as `query` or `filter.sql`, at most 16 steps deep"
                ));
            }
            if self.0.iter().take(number).any(|before| before == place) {
                return Some(format!("`{place}` is named twice"));
            }
        }
        None
    }
}

impl TryFrom<Value> for SqlPlaces {
    type Error = String;

    fn try_from(written: Value) -> Result<Self, String> {
        const FORM: &str = "must be the name of an argument, or a list of names";
        let named = |one: Value| match one {
            Value::String(name) => Ok(name),
            _ => Err(FORM.to_owned()),
        };
        match written {
            Value::Array(list) => Ok(Self(list.into_iter().map(named).collect::<Result<_, _>>()?)),
            one => Ok(Self(vec![named(one)?])),
        }
    }
}

/// One place as it always was, so that what names a tool's handling stays the same.
impl Serialize for SqlPlaces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => serializer.serialize_str(one),
            several => several.serialize(serializer),
        }
    }
}

impl fmt::Display for SqlPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_a_name_a_path_or_a_list_of_them() {
        for (written, expected) in [
            (json!("query"), Ok(json!("query"))),
            (json!(["query"]), Ok(json!("query"))),
            (json!(["a", "b.c"]), Ok(json!(["a", "b.c"]))),
            (json!([]), Err("must name the argument that holds the SQL")),
            (json!(" "), Err("must name the argument that holds the SQL")),
            (json!("a..b"), Err("`a..b` must name an argument, as `query` or `filter.sql`, at most 16 steps deep")),
            (json!(["a", "a"]), Err("`a` is named twice")),
            (json!(["a", 1]), Err("must be the name of an argument, or a list of names")),
            (json!(7), Err("must be the name of an argument, or a list of names")),
        ] {
            let read = serde_json::from_value::<SqlPlaces>(written.clone()).map_err(|error| error.to_string());
            let read = read.and_then(|places| places.problem().map_or(Ok(json!(places)), Err));
            assert_eq!(read, expected.map_err(String::from), "{written}");
        }
    }
}
