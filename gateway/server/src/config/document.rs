//! From YAML text to a typed form, telling everything that is wrong on the way.
//!
//! The text becomes a tree first, so that every problem has a path. Serde stops at the first fault it meets; so the
//! faulty value is taken out of the tree and the rest is read again, until nothing is left to complain about.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

use super::problem::{Problems, join};

/// The tree of a YAML text. A key without a value counts as absent, and an empty text is an empty mapping.
pub fn parse(text: &str, problems: &mut Problems) -> Option<Value> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 64, max_nodes: 100_000, max_documents: 1 },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Value>(text, options) {
        Ok(Value::Null) => Some(Value::Object(Map::new())),
        Ok(mut tree) => {
            drop_nulls(&mut tree);
            Some(tree)
        }
        Err(error) => {
            let error = error.without_snippet();
            let place = error.location().map(|at| format!("line {}, column {}", at.line(), at.column()));
            // The parser repeats the place at the end of its message, advises whoever calls it, and goes on for several lines.
            let message = error.to_string();
            let first_line = message.lines().next().unwrap_or_default();
            let what = [" at line ", ", set DuplicateKeyPolicy"]
                .iter()
                .fold(first_line, |line, end| line.split(end).next().unwrap_or(line));
            problems.unreadable(place.unwrap_or_default(), what.trim_end_matches([':', ' ']));
            None
        }
    }
}

fn drop_nulls(tree: &mut Value) {
    match tree {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The typed form of a tree that stands at `at` in its file. What could not be read is told and left out; `None` when
/// nothing sensible remains.
pub fn read<T: DeserializeOwned>(mut tree: Value, at: &str, problems: &mut Problems) -> Option<T> {
    // Serde would take a list for a mapping, value by value in the order of the fields.
    if !tree.is_object() {
        problems.unreadable(at, "expected keys with values");
        return None;
    }
    loop {
        let error = match serde_path_to_error::deserialize::<_, T>(&tree) {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        let message = error.inner().to_string();
        let steps: Vec<Segment> = error.path().iter().cloned().collect();
        let fault = Fault::of(&message);
        let path = fault.path(&written_path(at, &steps));
        // Told already: a variable that is not set, or a value that is missing because it was taken out.
        if !problems.unreadable_at(&path) {
            problems.unreadable(path, fault.what(&message));
        }
        if !take_out(&mut tree, &steps) {
            return None;
        }
    }
}

/// What serde complained about, as far as it can be told better in our own words.
enum Fault {
    Unknown { known: Vec<String>, key: String },
    Missing(String),
    Other,
}

impl Fault {
    fn of(message: &str) -> Self {
        let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
        if message.starts_with("unknown field `") {
            let key = quoted.next().unwrap_or_default();
            return Self::Unknown { key, known: quoted.collect() };
        }
        match (message.starts_with("missing field `"), quoted.next()) {
            (true, Some(key)) => Self::Missing(key),
            _ => Self::Other,
        }
    }

    fn path(&self, path: &str) -> String {
        match self {
            Self::Missing(key) => join(path, key),
            _ => path.to_owned(),
        }
    }

    fn what(&self, message: &str) -> String {
        match self {
            Self::Unknown { key, known } => match nearest(key, known.iter().map(String::as_str)) {
                Some(likely) => format!("unknown key; did you mean `{likely}`?"),
                None if known.is_empty() => "unknown key".into(),
                None => format!("unknown key; known here: {}", known.join(", ")),
            },
            Self::Missing(_) => "is missing".into(),
            Self::Other => message.to_owned(),
        }
    }
}

/// The known word that somebody probably meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase());
    let (distance, candidate) = known.into_iter().map(|word| (distance(word), word)).min()?;
    (distance <= 1 + candidate.len() / 4).then_some(candidate)
}

fn written_path(at: &str, steps: &[Segment]) -> String {
    steps.iter().fold(at.to_owned(), |path, step| match step {
        Segment::Map { key } => join(&path, key),
        Segment::Seq { index } => format!("{path}[{index}]"),
        Segment::Enum { .. } | Segment::Unknown => path,
    })
}

/// Takes the value at a path out of the tree; of a list, the whole list, or the places of the others would shift.
fn take_out(tree: &mut Value, steps: &[Segment]) -> bool {
    let keys: Vec<&str> = steps
        .iter()
        .map_while(|step| if let Segment::Map { key } = step { Some(key.as_str()) } else { None })
        .collect();
    let Some((last, above)) = keys.split_last() else { return false };
    let holder = above.iter().try_fold(tree, |tree, key| tree.get_mut(*key));
    holder.and_then(Value::as_object_mut).is_some_and(|map| map.shift_remove(*last).is_some())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, Default, PartialEq)]
    #[serde(deny_unknown_fields, default)]
    struct Town {
        gate: Option<String>,
        tolls: Vec<u8>,
        reeve: Option<Reeve>,
        night: Option<Watch>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Reeve {
        name: String,
        years: u8,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Watch {
        Open,
        Shut,
    }

    fn problems_of(text: &str) -> Vec<String> {
        let mut problems = Problems::of("t.yaml");
        if let Some(tree) = parse(text, &mut problems) {
            let _: Option<Town> = read(tree, "", &mut problems);
        }
        problems.into_found().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        for (text, expected) in [
            ("", vec![]),
            ("gate:\ntolls: [1]", vec![]),
            (
                "gaet: a\ntolls: [1, x]\nreeve: { name: 3 }\nnight: later",
                vec![
                    "t.yaml: gaet: unknown key; did you mean `gate`?",
                    "t.yaml: tolls[1]: invalid type: string \"x\", expected u8",
                    "t.yaml: reeve.name: invalid type: integer `3`, expected a string",
                    "t.yaml: night: unknown variant `later`, expected `open` or `shut`",
                ],
            ),
            ("reeve: { name: a }", vec!["t.yaml: reeve.years: is missing"]),
            ("zzz: 1", vec!["t.yaml: zzz: unknown key; known here: gate, tolls, reeve, night"]),
        ] {
            assert_eq!(problems_of(text), expected, "{text}");
        }
    }

    #[test]
    fn broken_text_and_doubled_keys_are_told_with_their_line() {
        for (text, place) in
            [("gate: a\ngate: b", "t.yaml: line 2, column 1: duplicate mapping key: gate"), ("a: [1", "t.yaml: line ")]
        {
            let told = problems_of(text);
            assert!(told.len() == 1 && told.iter().all(|told| told.starts_with(place)), "{text}: {told:?}");
        }
    }

    #[test]
    fn an_alias_bomb_is_refused() {
        let bomb: String = (1..12).fold("a0: &a0 [x]\n".into(), |text, n| {
            let list = vec![format!("*a{}", n - 1); 10].join(", ");
            format!("{text}a{n}: &a{n} [{list}]\n")
        });
        assert_eq!(problems_of(&bomb).len(), 1);
    }
}
