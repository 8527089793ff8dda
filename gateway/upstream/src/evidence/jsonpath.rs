//! JSONPath (RFC 9535) over a document, within bounds: the parser recurses over what a stranger wrote, so what nests too
//! deep for it never reaches it.

use serde_json::Value;
use serde_json_path::JsonPath;

const LONGEST: usize = 1024;
const DEEPEST: usize = 16;
/// Each descends through all that the one before it found.
const DESCENTS: usize = 2;
const MOST_NODES: usize = 10_000;

#[derive(Debug, Clone)]
pub(super) struct Path(JsonPath);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missed {
    Nothing,
    TooMany,
}

impl Path {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("`jsonpath` must have at most {LONGEST} bytes"));
        }
        if nesting(text) > DEEPEST {
            return Err(format!("`jsonpath` must not nest more than {DEEPEST} brackets"));
        }
        if text.matches("..").count() > DESCENTS {
            return Err(format!("`jsonpath` must not hold `..` more than {DESCENTS} times"));
        }
        JsonPath::parse(text).map(Self).map_err(|error| format!("`jsonpath` cannot be read: {error}"))
    }

    /// The one that fits, or all of them as a list.
    pub(super) fn find(&self, document: &Value) -> Result<Value, Missed> {
        let found = self.0.query(document).all();
        match found.as_slice() {
            [] => Err(Missed::Nothing),
            [one] => Ok((*one).clone()),
            many if many.len() > MOST_NODES => Err(Missed::TooMany),
            many => Ok(Value::Array(many.iter().map(|one| (*one).clone()).collect())),
        }
    }
}

/// How deep brackets stand in each other. Those within quotes are counted too: it is a bound, not a reading. What only
/// opens is counted as well, and so are the signs of negation, which recurse alike.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest, mut row) = (0_usize, 0_usize, 0_usize);
    for letter in text.bytes() {
        match letter {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        row = if letter == b'!' { row + 1 } else { 0 };
        deepest = deepest.max(depth).max(row);
    }
    deepest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    // acceptance 119 e: one match is the value, several are a list.
    #[test]
    fn one_match_is_the_value_and_several_are_a_list() {
        let document = json!({ "tests": { "failed": 0 }, "jobs": [{ "ok": true, "n": 1 }, { "ok": false, "n": 2 }], "none": null });
        for (path, expected) in [
            ("$.tests.failed", Ok(json!(0))),
            ("$", Ok(document.clone())),
            ("$.jobs[*].n", Ok(json!([1, 2]))),
            ("$.jobs[?@.ok == true].n", Ok(json!(1))),
            ("$.jobs[?(@.n>1)].n", Ok(json!(2))),
            ("$..n", Ok(json!([1, 2]))),
            ("$.jobs[-1].n", Ok(json!(2))),
            ("$.none", Ok(Value::Null)),
            ("$.missing", Err(Missed::Nothing)),
        ] {
            assert_eq!(Path::read(path).unwrap().find(&document), expected, "{path}");
        }
        let many = json!(vec![0; MOST_NODES + 1]);
        assert_eq!(Path::read("$[*]").unwrap().find(&many), Err(Missed::TooMany));
    }

    // acceptance 119 e: what would exhaust the parser is refused before it is parsed.
    #[test]
    fn a_path_that_cannot_be_read_is_refused() {
        let deep = format!("$[?{}@.a{}]", "(".repeat(400), ")".repeat(400));
        let open = format!("$[?{}", "(".repeat(900));
        let negated = format!("$[?{}@.a]", "!".repeat(900));
        let long = format!("$.{}", "a".repeat(LONGEST));
        for path in ["", "tests.failed", "$.a[", "$.jobs[(@.length-1)]", "$..a..b..c", &deep, &open, &negated, &long] {
            assert!(Path::read(path).is_err(), "{path}");
        }
    }
}
