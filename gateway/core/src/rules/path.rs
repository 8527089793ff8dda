//! Where a policy looks: names joined by dots, taken apart when it is loaded.

use std::borrow::Borrow;
use std::collections::HashMap;

use serde_json::Value;

use super::RuleError;

const MOST_STEPS: usize = 16;
/// More places than this are not remembered while a call is judged.
const MOST_SHARED: usize = 64;

#[derive(Debug, Clone)]
pub struct Path {
    written: Box<str>,
    steps: Box<[Box<str>]>,
    /// Where several policies of one set look at the same place: which of those it is. It means nothing in another set.
    shared: Option<usize>,
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Path {
    /// `at` is the place of the key, for the error.
    pub(super) fn compile(key: &str, at: &str) -> Result<Self, RuleError> {
        let steps: Box<[Box<str>]> = key.split('.').map(Box::from).collect();
        match steps.iter().any(|step| step.trim().is_empty()) || steps.len() > MOST_STEPS {
            true => Err(RuleError::at(at, "is not a path: names joined by dots, at most 16")),
            false => Ok(Self { written: key.into(), steps, shared: None }),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.written
    }

    pub fn steps(&self) -> &[Box<str>] {
        &self.steps
    }

    /// The one name it is, where it is no more.
    pub fn word(&self) -> Option<&str> {
        match self.steps.as_ref() {
            [only] => Some(only),
            _ => None,
        }
    }

    pub(super) fn shared(&self) -> Option<usize> {
        self.shared
    }
}

/// Numbers the places of one set that are looked at more than once, so that each is looked up once a call.
pub(super) fn share<'a>(paths: impl Iterator<Item = &'a mut Path>) {
    let paths: Vec<_> = paths.collect();
    let mut looks: HashMap<Box<str>, usize> = HashMap::new();
    for path in &paths {
        *looks.entry(path.written.clone()).or_default() += 1;
    }
    looks.retain(|_, times| *times > 1);
    let mut numbers: HashMap<Box<str>, usize> = HashMap::new();
    for path in paths {
        let next = numbers.len();
        let is_shared =
            looks.contains_key(&path.written) && (next < MOST_SHARED || numbers.contains_key(&path.written));
        path.shared = is_shared.then(|| *numbers.entry(path.written.clone()).or_insert(next));
    }
}

/// A key that holds dots itself is found before its parts are.
pub(super) fn walk<'a>(from: &'a Value, written: &str, steps: &[impl Borrow<str>]) -> Option<&'a Value> {
    if let [_, _, ..] = steps
        && let Some(found) = from.get(written)
    {
        return Some(found);
    }
    steps.iter().try_fold(from, |at, step| match at {
        Value::Array(list) => list.get(step.borrow().parse::<usize>().ok()?),
        _ => at.get(step.borrow()),
    })
}
