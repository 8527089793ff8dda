//! What a policy asks of a decision to which it applies, and how soon a human must have answered.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::{SignedDuration, Span};
use serde::Deserialize;
use serde_json::Value;

use super::condition::order;
use super::{Context, Path, RuleError};
use crate::gate::binding::{GateBinding, WrittenBinding};
use crate::gate::{Digest, Id};

const AT: &str = "rule.requirement";
/// Nobody waits longer for an answer.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 366);

#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    written: Value,
    asks: Asks,
}

#[derive(Debug, Clone, PartialEq)]
enum Asks {
    HumanApproval,
    Prohibited,
    /// Said, and nothing else.
    Log,
    Notify,
    Limits {
        max: Box<[(Path, Value)]>,
        require: Box<[Path]>,
    },
    Gate(Arc<GateBinding>),
}

/// How a decision stands to what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Met {
    Yes,
    /// Kept by saying so.
    Mention(&'static str),
    NeedsHuman,
    /// Why not.
    No(String),
    /// A limit that nobody can check: its field is not there, or is no number.
    Unknown(Vec<String>),
}

impl Requirement {
    pub fn compile(written: &Value) -> Result<Self, RuleError> {
        let asks = match written {
            Value::String(word) => match word.as_str() {
                "human_approval" => Asks::HumanApproval,
                "prohibited" => Asks::Prohibited,
                "log" => Asks::Log,
                "notify" => Asks::Notify,
                other => {
                    let known = "human_approval, prohibited, log, notify, {max: {field: number}}, {require: [field]}, \
                                 {gate: {scenario, spec_hash, run_from, stage}}";
                    return Err(RuleError::at(AT, format!("`{other}` is not known; it is one of {known}")));
                }
            },
            Value::Object(parts) if parts.contains_key("gate") && parts.len() == 1 => {
                Asks::Gate(Arc::new(gate(parts.get("gate").unwrap_or(&Value::Null))?))
            }
            Value::Object(parts) if !parts.is_empty() => {
                if let Some(key) = parts.keys().find(|key| !["max", "require"].contains(&key.as_str())) {
                    return Err(RuleError::at(
                        format!("{AT}.{key}"),
                        "is not known; it is `max` or `require`, or `gate` alone",
                    ));
                }
                Asks::Limits { max: limits(parts.get("max"))?, require: fields(parts.get("require"))? }
            }
            _ => return Err(RuleError::at(AT, "must be a word, or an object with `max`, `require` or `gate`")),
        };
        Ok(Self { written: written.clone(), asks })
    }

    pub fn written(&self) -> &Value {
        &self.written
    }

    pub fn needs_human(&self) -> bool {
        self.asks == Asks::HumanApproval
    }

    /// Nothing to refuse anybody for.
    pub fn only_mentions(&self) -> bool {
        matches!(self.asks, Asks::Log | Asks::Notify)
    }

    /// Reads fields of the decision.
    pub fn reads_fields(&self) -> bool {
        matches!(self.asks, Asks::Limits { .. })
    }

    /// The gate that a call must have been looked at for.
    pub fn gate(&self) -> Option<&Arc<GateBinding>> {
        match &self.asks {
            Asks::Gate(binding) => Some(binding),
            _ => None,
        }
    }

    pub(super) fn met(&self, context: &dyn Context) -> Met {
        let (max, require) = match &self.asks {
            Asks::HumanApproval => return Met::NeedsHuman,
            Asks::Prohibited => return Met::No("it is prohibited".into()),
            Asks::Log => return Met::Mention("log"),
            Asks::Notify => return Met::Mention("notify"),
            Asks::Gate(binding) => return context.closed(binding).map_or(Met::Yes, Met::No),
            Asks::Limits { max, require } => (max, require),
        };
        let is_there = |path: &Path| context.get(path).is_some_and(|found| !found.is_null());
        if let Some(path) = require.iter().find(|path| !is_there(path)) {
            return Met::No(format!("`{}` is required", path.as_str()));
        }
        let mut unknown = Vec::new();
        for (path, most) in max {
            match context.get(path).and_then(|found| order(found, most)) {
                Some(Ordering::Greater) => return Met::No(format!("`{}` may be at most {most}", path.as_str())),
                Some(_) => {}
                None => unknown.push(path.as_str().to_owned()),
            }
        }
        if unknown.is_empty() { Met::Yes } else { Met::Unknown(unknown) }
    }
}

/// A rule is read where no files are: it says which scenario it means by its hash.
fn gate(written: &Value) -> Result<GateBinding, RuleError> {
    let at = format!("{AT}.gate");
    let read = WrittenBinding::deserialize(written).map_err(|error| RuleError::at(at.as_str(), error.to_string()))?;
    let WrittenBinding { scenario, run_from, stage, spec_hash, anyone } = read;
    let stages: Vec<Id> = stage.into();
    if stages.is_empty() {
        return Err(RuleError::at(format!("{at}.stage"), "must name the stage at which calls may pass"));
    }
    if let Some(what) = run_from.fault() {
        return Err(RuleError::at(format!("{at}.run_from.argument"), what));
    }
    let hash = spec_hash.as_deref().and_then(Digest::from_hex);
    let wanted = "must be the hash of the scenario, 64 lower-case hex digits";
    let spec_hash = hash.ok_or_else(|| RuleError::at(format!("{at}.spec_hash"), wanted))?;
    Ok(GateBinding { scenario, spec_hash, run_from, stages, anyone })
}

fn limits(written: Option<&Value>) -> Result<Box<[(Path, Value)]>, RuleError> {
    let Some(written) = written else { return Ok(Box::default()) };
    let limits = written.as_object().filter(|limits| !limits.is_empty());
    let limits = limits.ok_or_else(|| RuleError::at(format!("{AT}.max"), "must be an object of fields and numbers"))?;
    let one = |(key, most): (&String, &Value)| {
        let at = format!("{AT}.max.{key}");
        if !most.is_number() {
            return Err(RuleError::at(at, "must be a number"));
        }
        Ok((Path::compile(key, &at)?, most.clone()))
    };
    limits.iter().map(one).collect()
}

fn fields(written: Option<&Value>) -> Result<Box<[Path]>, RuleError> {
    let at = format!("{AT}.require");
    let Some(written) = written else { return Ok(Box::default()) };
    let fields = written.as_array().filter(|fields| !fields.is_empty());
    let fields = fields.ok_or_else(|| RuleError::at(at.as_str(), "must be a list of at least one field"))?;
    let one = |field: &Value| match field.as_str() {
        Some(field) => Path::compile(field, &at),
        None => Err(RuleError::at(at.as_str(), "must be a list of texts")),
    };
    fields.iter().map(one).collect()
}

/// An ISO 8601 duration of fixed length: a day is 24 hours, and a month is no answer to "how long".
pub(super) fn time(text: &str) -> Result<SignedDuration, RuleError> {
    let wrong = |what: &str| RuleError::at("rule.max_response_time", format!("`{text}` {what}"));
    // The parser also reads English, which no other tool that shows this rule would.
    let iso = text.starts_with('P').then(|| text.parse::<Span>().ok()).flatten();
    let span = iso.ok_or_else(|| wrong("is not an ISO 8601 duration such as `PT1H` or `P1D`"))?;
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(wrong("has no fixed length; write days or hours"));
    }
    let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
    let rest = span.weeks(0).days(0);
    let rest = SignedDuration::try_from(rest).map_err(|_| wrong("is too long"))?;
    let whole = days.checked_mul(24).map(SignedDuration::from_hours).and_then(|days| days.checked_add(rest));
    match whole {
        Some(time) if time > SignedDuration::ZERO && time <= LONGEST => Ok(time),
        Some(time) if time > LONGEST => Err(wrong("is longer than a year")),
        _ => Err(wrong("must be longer than nothing")),
    }
}
