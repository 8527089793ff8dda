//! What one column holds: its kind by its values, and the figures that kind has.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::numbers::{Decimal, Numbers};

/// Values that are shown of a column, the most frequent first.
const SHOWN: usize = 3;
/// Characters that are shown of a value.
const LONGEST: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub rows: usize,
    pub nulls: usize,
    pub holds: Holds,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// No value at all.
    Nothing,
    /// Names rows: counted, never added up.
    Identifiers {
        distinct: usize,
    },
    /// `None` where they are too far apart to be compared exactly.
    Numbers(Option<Numbers>),
    /// As written in the rows.
    Moments {
        first: String,
        last: String,
    },
    Words {
        kind: &'static str,
        distinct: usize,
        top: Vec<(String, usize)>,
    },
    Mixed,
}

impl Column {
    pub(super) fn of<'v>(name: &str, values: impl Iterator<Item = &'v Value>) -> Self {
        let all: Vec<&Value> = values.collect();
        let present: Vec<&Value> = all.iter().copied().filter(|value| !value.is_null()).collect();
        let holds = if present.is_empty() { Holds::Nothing } else { held(name, &present) };
        Self { name: name.to_owned(), rows: all.len(), nulls: all.len() - present.len(), holds }
    }

    pub(super) fn figures(&self) -> Value {
        let mut figures = Map::new();
        figures.insert("name".into(), self.name.as_str().into());
        figures.insert("kind".into(), self.holds.kind().into());
        figures.insert("nulls".into(), self.nulls.into());
        let share = Decimal::share(self.nulls, self.rows).map_or(Value::Null, Decimal::json);
        figures.insert("null_share".into(), share);
        match &self.holds {
            Holds::Nothing | Holds::Mixed => {}
            Holds::Identifiers { distinct } => {
                figures.insert("distinct".into(), (*distinct).into());
            }
            Holds::Numbers(numbers) => numeric(&mut figures, *numbers),
            Holds::Moments { first, last } => {
                figures.insert("first".into(), first.as_str().into());
                figures.insert("last".into(), last.as_str().into());
            }
            Holds::Words { distinct, top, .. } => {
                figures.insert("distinct".into(), (*distinct).into());
                let top: Vec<Value> =
                    top.iter().map(|(value, count)| json!({ "value": shortened(value), "count": count })).collect();
                figures.insert("top".into(), Value::Array(top));
            }
        }
        Value::Object(figures)
    }
}

impl Holds {
    fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "empty",
            Self::Identifiers { .. } => "identifier",
            Self::Numbers(_) => "number",
            Self::Moments { .. } => "date-time",
            Self::Words { kind, .. } => kind,
            Self::Mixed => "mixed",
        }
    }
}

fn numeric(figures: &mut Map<String, Value>, numbers: Option<Numbers>) {
    let Some(numbers) = numbers else {
        figures.insert("note".into(), "the numbers are too far apart to be compared exactly".into());
        return;
    };
    figures.insert("min".into(), numbers.min.json());
    figures.insert("max".into(), numbers.max.json());
    match (numbers.avg, numbers.sum) {
        (Some(avg), Some(sum)) => {
            figures.insert("avg".into(), avg.json());
            figures.insert("sum".into(), sum.json());
        }
        _ => {
            figures.insert("note".into(), "the numbers are too large to be added exactly".into());
        }
    }
}

fn held(name: &str, present: &[&Value]) -> Holds {
    if names_rows(name) {
        return counted(present).map_or(Holds::Mixed, |counts| Holds::Identifiers { distinct: counts.len() });
    }
    if present.iter().all(|value| value.is_number()) {
        let decimals = present.iter().map(|value| Decimal::parse(&value.to_string())).collect::<Option<Vec<_>>>();
        return Holds::Numbers(decimals.and_then(|decimals| Numbers::of(&decimals)));
    }
    if present.iter().all(|value| value.is_boolean()) {
        return words("boolean", present);
    }
    if !present.iter().all(|value| value.is_string()) {
        return Holds::Mixed;
    }
    moments(present).unwrap_or_else(|| words("text", present))
}

fn names_rows(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower == "id" || lower == "uuid" || lower.ends_with("_id") || lower.ends_with("_uuid")
}

/// How often each value is there; `None` where one is no plain value.
fn counted(present: &[&Value]) -> Option<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for value in present {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return None,
        };
        *counts.entry(text).or_insert(0) += 1;
    }
    Some(counts)
}

fn words(kind: &'static str, present: &[&Value]) -> Holds {
    let counts = counted(present).unwrap_or_default();
    let distinct = counts.len();
    let mut top: Vec<(String, usize)> = counts.into_iter().collect();
    // The map gives them by text, and sorting keeps that among equals.
    top.sort_by(|(_, one), (_, other)| other.cmp(one));
    top.truncate(SHOWN);
    Holds::Words { kind, distinct, top }
}

fn moments(present: &[&Value]) -> Option<Holds> {
    let mut first: Option<(Timestamp, &str)> = None;
    let mut last: Option<(Timestamp, &str)> = None;
    for text in present.iter().filter_map(|value| value.as_str()) {
        let at = moment(text)?;
        if first.is_none_or(|(earliest, _)| at < earliest) {
            first = Some((at, text));
        }
        if last.is_none_or(|(latest, _)| at > latest) {
            last = Some((at, text));
        }
    }
    let ((_, first), (_, last)) = (first?, last?);
    Some(Holds::Moments { first: first.to_owned(), last: last.to_owned() })
}

/// `2026-03-01`, with or without a time; without an offset it is UTC.
fn moment(text: &str) -> Option<Timestamp> {
    let shaped = text.len() <= 40
        && text.char_indices().take(10).all(|(place, character)| match place {
            4 | 7 => character == '-',
            _ => character.is_ascii_digit(),
        });
    let spaced = matches!(text.get(10..11), None | Some("T" | "t" | " "));
    if text.len() < 10 || !shaped || !spaced {
        return None;
    }
    let plain = || Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    text.parse::<Timestamp>().ok().or_else(plain)
}

/// For showing, never for counting.
fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
