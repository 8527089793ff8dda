//! What must hold for a policy to apply: every key, each an equality, a choice or a set of comparisons.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{Context, Path, RuleError, Seen};
use crate::classification::{DecisionType, Risk};

/// A condition with more keys than this is a program.
const MAX_TESTS: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    written: Value,
    all: Box<[Test]>,
}

/// Whether a condition holds, as far as the context says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applies {
    Yes,
    No,
    /// Nothing speaks against it, but these keys are not there, or cannot be compared.
    Unknown(Vec<String>),
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    DecisionTypes(Box<[DecisionType]>),
    MinRisk(Risk),
    Risks(Box<[Risk]>),
    Agents(Box<[String]>),
    Field { path: Path, is: Is },
}

#[derive(Debug, Clone, PartialEq)]
enum Is {
    Eq(Value),
    OneOf(Vec<Value>),
    Ops(Box<[Op]>),
}

#[derive(Debug, Clone, PartialEq)]
enum Op {
    Eq(Value),
    Ne(Value),
    Order(Compare, Value),
    In(Vec<Value>),
    Contains(Value),
    Exists(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Gt,
    Gte,
    Lt,
    Lte,
}

impl Condition {
    /// `at` is the condition's own place, for the error.
    pub fn compile(written: &Value, at: &str) -> Result<Self, RuleError> {
        let Value::Object(tests) = written else {
            return Err(RuleError::at(at, "must be an object of what has to hold"));
        };
        if tests.is_empty() {
            return Err(RuleError::at(at, "must name at least one key, or it would hold for everything"));
        }
        if tests.len() > MAX_TESTS {
            return Err(RuleError::at(at, format!("must not have more than {MAX_TESTS} keys")));
        }
        let all = tests.iter().map(|(key, value)| Test::compile(key, value, &format!("{at}.{key}")));
        Ok(Self { written: written.clone(), all: all.collect::<Result<_, _>>()? })
    }

    pub fn written(&self) -> &Value {
        &self.written
    }

    /// One key that does not hold settles it, whatever else is not known.
    pub fn applies(&self, context: &dyn Context) -> Applies {
        match self.holds(context) {
            Some(true) => Applies::Yes,
            Some(false) => Applies::No,
            None => Applies::Unknown(self.unknown(context)),
        }
    }

    /// The same in one word, for whoever does not ask which keys are missing. `None`: nobody knows.
    pub(super) fn holds(&self, context: &dyn Context) -> Option<bool> {
        let mut known = true;
        for test in &self.all {
            match test.holds(context) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => known = false,
            }
        }
        known.then_some(true)
    }

    /// The keys that are not there, or cannot be compared.
    pub(super) fn unknown(&self, context: &dyn Context) -> Vec<String> {
        self.all.iter().filter(|test| test.holds(context).is_none()).map(Test::key).collect()
    }

    pub(super) fn paths_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.all.iter_mut().filter_map(|test| match test {
            Test::Field { path, .. } => Some(path),
            _ => None,
        })
    }

    /// The texts one of which `key` must be; `None` where the condition leaves that open. For an index.
    pub(super) fn needs(&self, key: &str) -> Option<Vec<&str>> {
        self.all.iter().find_map(|test| match test {
            Test::Field { path, is } if path.word() == Some(key) => match is {
                Is::Eq(Value::String(text)) => Some(vec![text.as_str()]),
                Is::OneOf(values) => values.iter().map(Value::as_str).collect(),
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether anything but the reserved words and `known` keys is looked at.
    pub(crate) fn looks_beyond(&self, known: &[&str]) -> bool {
        self.all.iter().any(|test| match test {
            Test::Field { path, .. } => path.word().is_none_or(|word| !known.contains(&word)),
            _ => false,
        })
    }
}

impl Test {
    fn compile(key: &str, value: &Value, at: &str) -> Result<Self, RuleError> {
        match key {
            "decision_type" | "decision_types" => Ok(Self::DecisionTypes(scale(value, at)?)),
            "risk_level" | "risk_levels" => Ok(Self::Risks(scale(value, at)?)),
            "min_risk_level" => match value.as_str().map(str::parse) {
                Some(Ok(risk)) => Ok(Self::MinRisk(risk)),
                _ => Err(RuleError::at(at, "must be one of R1, R2, R3, R4")),
            },
            "agent_id" | "agent_ids" => Ok(Self::Agents(scale(value, at)?)),
            _ => Ok(Self::Field { path: Path::compile(key, at)?, is: Is::compile(value, at)? }),
        }
    }

    fn key(&self) -> String {
        match self {
            Self::DecisionTypes(_) => "decision_type".into(),
            Self::MinRisk(_) | Self::Risks(_) => "risk_level".into(),
            Self::Agents(_) => "agent_id".into(),
            Self::Field { path, .. } => path.as_str().to_owned(),
        }
    }

    /// `None`: the context does not say.
    fn holds(&self, context: &dyn Context) -> Option<bool> {
        match self {
            Self::DecisionTypes(wanted) => context.decision().0.map(|found| wanted.contains(&found)),
            Self::Risks(wanted) => context.decision().1.map(|found| wanted.contains(&found)),
            Self::MinRisk(least) => context.decision().1.map(|found| found >= *least),
            Self::Agents(wanted) => Some(wanted.iter().any(|agent| agent == context.agent())),
            Self::Field { path, is } => is.holds(context.get(path)),
        }
    }
}

/// A word of a scale, or several.
fn scale<T: std::str::FromStr<Err: std::fmt::Display>>(value: &Value, at: &str) -> Result<Box<[T]>, RuleError> {
    let one = |value: &Value| match value.as_str() {
        Some(text) => text.parse().map_err(|error: T::Err| RuleError::at(at, error.to_string())),
        None => Err(RuleError::at(at, "must be a text or a list of texts")),
    };
    match value {
        Value::Array(list) if list.is_empty() => Err(RuleError::at(at, "must not be an empty list")),
        Value::Array(list) => list.iter().map(one).collect(),
        other => Ok(Box::from([one(other)?])),
    }
}

impl Is {
    fn compile(value: &Value, at: &str) -> Result<Self, RuleError> {
        match value {
            Value::Object(ops) if ops.is_empty() => Err(RuleError::at(at, format!("names no operator; {KNOWN}"))),
            Value::Object(ops) => Ok(Self::Ops(Op::compile_all(ops, at)?)),
            Value::Array(list) if list.is_empty() => Err(RuleError::at(at, "must not be an empty list")),
            Value::Array(list) => Ok(Self::OneOf(list.clone())),
            scalar => Ok(Self::Eq(scalar.clone())),
        }
    }

    fn holds(&self, found: Option<Seen<'_>>) -> Option<bool> {
        match self {
            Self::Eq(wanted) => Some(equal(found?, wanted)),
            Self::OneOf(wanted) => Some(one_of(found?, wanted)),
            Self::Ops(ops) => {
                let mut known = true;
                for op in ops {
                    match op.holds(found) {
                        Some(true) => {}
                        Some(false) => return Some(false),
                        None => known = false,
                    }
                }
                known.then_some(true)
            }
        }
    }
}

const KNOWN: &str = "the operators are eq, ne, gt, gte, lt, lte, in, contains, exists";

impl Op {
    fn compile_all(ops: &Map<String, Value>, at: &str) -> Result<Box<[Self]>, RuleError> {
        ops.iter().map(|(name, operand)| Self::compile(name, operand, &format!("{at}.{name}"))).collect()
    }

    fn compile(name: &str, operand: &Value, at: &str) -> Result<Self, RuleError> {
        let order = |compare| match operand {
            Value::Number(_) => Ok(Self::Order(compare, operand.clone())),
            Value::String(text) if time_of(text).is_some() => Ok(Self::Order(compare, operand.clone())),
            _ => Err(RuleError::at(at, "must be a number, a date or a time")),
        };
        match name {
            "eq" => Ok(Self::Eq(operand.clone())),
            "ne" => Ok(Self::Ne(operand.clone())),
            "gt" => order(Compare::Gt),
            "gte" => order(Compare::Gte),
            "lt" => order(Compare::Lt),
            "lte" => order(Compare::Lte),
            "in" => match operand.as_array() {
                Some(list) if !list.is_empty() => Ok(Self::In(list.clone())),
                _ => Err(RuleError::at(at, "must be a list of at least one value")),
            },
            "contains" if operand.is_object() || operand.is_array() => {
                Err(RuleError::at(at, "must be a single value to look for"))
            }
            "contains" => Ok(Self::Contains(operand.clone())),
            "exists" => match operand.as_bool() {
                Some(wanted) => Ok(Self::Exists(wanted)),
                None => Err(RuleError::at(at, "must be true or false")),
            },
            _ => Err(RuleError::at(at, format!("unknown operator `{name}`; {KNOWN}"))),
        }
    }

    fn holds(&self, found: Option<Seen<'_>>) -> Option<bool> {
        if let Self::Exists(wanted) = self {
            return Some(found.is_some() == *wanted);
        }
        let found = found?;
        match self {
            Self::Eq(wanted) => Some(equal(found, wanted)),
            Self::Ne(wanted) => Some(!equal(found, wanted)),
            Self::Order(compare, than) => {
                let order = order(found, than)?;
                Some(match compare {
                    Compare::Gt => order == Ordering::Greater,
                    Compare::Gte => order != Ordering::Less,
                    Compare::Lt => order == Ordering::Less,
                    Compare::Lte => order != Ordering::Greater,
                })
            }
            Self::In(wanted) => Some(one_of(found, wanted)),
            Self::Contains(wanted) => contains(found, wanted),
            Self::Exists(_) => None,
        }
    }
}

/// A list is one of the wanted when any of its elements is: a role, a tag.
fn one_of(found: Seen<'_>, wanted: &[Value]) -> bool {
    match found {
        Seen::Json(Value::Array(list)) => list.iter().any(|one| wanted.iter().any(|want| equal(Seen::Json(one), want))),
        Seen::Texts(texts) => texts.iter().any(|text| wanted.iter().any(|want| equal(Seen::Text(text), want))),
        single => wanted.iter().any(|want| equal(single, want)),
    }
}

fn equal(found: Seen<'_>, wanted: &Value) -> bool {
    match (found, wanted) {
        (Seen::Text(text), wanted) => wanted.as_str() == Some(text),
        (Seen::Number(number), Value::Number(wanted)) => {
            compare_numbers(&number.into(), wanted) == Some(Ordering::Equal)
        }
        (Seen::Json(Value::Number(found)), Value::Number(wanted)) => {
            compare_numbers(found, wanted) == Some(Ordering::Equal)
        }
        (Seen::Json(found), wanted) => found == wanted,
        (Seen::Texts(texts), Value::Array(wanted)) => {
            texts.len() == wanted.len() && texts.iter().zip(wanted).all(|(text, want)| want.as_str() == Some(text))
        }
        _ => false,
    }
}

/// `None`: what is there cannot contain anything.
fn contains(found: Seen<'_>, wanted: &Value) -> Option<bool> {
    let within = |text: &str| wanted.as_str().is_some_and(|part| text.contains(part));
    match found {
        Seen::Json(Value::Array(list)) => Some(list.iter().any(|one| equal(Seen::Json(one), wanted))),
        Seen::Texts(texts) => Some(texts.iter().any(|text| wanted.as_str() == Some(text))),
        Seen::Json(Value::String(text)) => Some(within(text)),
        Seen::Text(text) => Some(within(text)),
        Seen::Json(_) | Seen::Number(_) => None,
    }
}

/// `None`: the two cannot be put in an order. A number written as a text is a number: many servers read it as one, and a
/// limit must not be passed by writing `"50000"`.
pub(super) fn order(found: Seen<'_>, than: &Value) -> Option<Ordering> {
    match (found, than) {
        (Seen::Number(number), Value::Number(than)) => compare_numbers(&number.into(), than),
        (Seen::Json(Value::Number(found)), Value::Number(than)) => compare_numbers(found, than),
        (Seen::Json(Value::String(text)), Value::Number(than)) => compare_numbers(&text.trim().parse().ok()?, than),
        (Seen::Json(Value::String(text)), Value::String(than)) => Some(time_of(text)?.cmp(&time_of(than)?)),
        (Seen::Text(text), Value::String(than)) => Some(time_of(text)?.cmp(&time_of(than)?)),
        _ => None,
    }
}

/// Whole numbers exactly, however large; others as floating point.
fn compare_numbers(a: &Number, b: &Number) -> Option<Ordering> {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// `2026-11-02T08:00:00Z`, or the day alone as its beginning.
fn time_of(text: &str) -> Option<jiff::Timestamp> {
    let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    text.parse().ok().or_else(|| Some(day()?.timestamp()))
}
