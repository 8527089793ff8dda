//! Values as their column understands them. A value that does not fit is refused, never converted.

use gateway_core::ports::ColumnInfo;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::super::cursor::whole;
use super::super::lexicon::{self, Holds};
use super::super::query::{Literal, Op, Test};
use super::super::words::{Kind, Token, day, instant};
use super::type_name;

pub(super) fn compare(column: &ColumnInfo, op: Op, value: &Token, now: Timestamp) -> Result<Vec<Test>, String> {
    let holds = lexicon::holds(column);
    let name = column.name.clone();
    let sorts = !matches!(op, Op::Equal | Op::Unequal);
    if sorts && !matches!(holds, Holds::Number | Holds::Instant | Holds::Day) {
        return Err(format!(
            "{name} is {}: over, under, before and after are for numbers and times",
            type_name(column)
        ));
    }
    let literal = literal(column, value, now)?;
    let Literal::Day(day) = literal else {
        return Ok(vec![Test::Compare(name, op, literal)]);
    };
    if holds == Holds::Day {
        return Ok(vec![Test::Compare(name, op, Literal::Day(day))]);
    }
    // On a column of instants a day is a stretch: after it means from the next one on.
    let next = || start(day.tomorrow().map_err(|_| "the time is outside of the calendar".to_owned())?);
    let at_least = |literal| Test::Compare(name.clone(), Op::AtLeast, literal);
    let less = |literal| Test::Compare(name.clone(), Op::Less, literal);
    match op {
        Op::AtLeast => Ok(vec![at_least(start(day)?)]),
        Op::More => Ok(vec![at_least(next()?)]),
        Op::Less => Ok(vec![less(start(day)?)]),
        Op::AtMost => Ok(vec![less(next()?)]),
        Op::Equal => Ok(vec![at_least(start(day)?), less(next()?)]),
        Op::Unequal => Err(format!("{name} is a time: `is not` a whole day is not in the grammar")),
    }
}

pub(super) fn between(column: &ColumnInfo, low: &Token, high: &Token, now: Timestamp) -> Result<Vec<Test>, String> {
    match lexicon::holds(column) {
        Holds::Number | Holds::Day => {
            let (low, high) = (literal(column, low, now)?, literal(column, high, now)?);
            Ok(vec![Test::Between(column.name.clone(), low, high)])
        }
        Holds::Instant => {
            let mut tests = compare(column, Op::AtLeast, low, now)?;
            tests.extend(compare(column, Op::AtMost, high, now)?);
            Ok(tests)
        }
        _ => Err(format!("{} is {}: between is for numbers and times", column.name, type_name(column))),
    }
}

/// One value for one column.
pub(super) fn literal(column: &ColumnInfo, value: &Token, now: Timestamp) -> Result<Literal, String> {
    let wrong = |what: &str| format!("{} is {}, and `{}` is {what}", column.name, type_name(column), value.text);
    match lexicon::holds(column) {
        Holds::Number if value.kind == Kind::Number => Ok(Literal::Number(value.text.clone())),
        Holds::Number => whole(value).map(|number| Literal::Number(number.to_string())).ok_or_else(|| wrong("none")),
        Holds::Boolean => match value.lower.as_str() {
            "true" | "yes" => Ok(Literal::Boolean(true)),
            "false" | "no" => Ok(Literal::Boolean(false)),
            _ => Err(wrong("neither")),
        },
        Holds::Instant => {
            moment(value, now).ok_or_else(|| wrong("none; write it as 2026-03-01 or 2026-03-01T08:30:00Z"))
        }
        Holds::Day => match moment(value, now) {
            Some(Literal::Day(day)) => Ok(Literal::Day(day)),
            _ => Err(wrong("none; write it as 2026-03-01")),
        },
        Holds::Text | Holds::Named => text(value).map(Literal::Text),
        Holds::Uuid if is_uuid(&value.text) => Ok(Literal::Text(value.lower.clone())),
        Holds::Uuid => Err(format!("{} is a uuid, and `{}` is none", column.name, value.text)),
        Holds::Opaque => Err(format!("{} is {}: only `is null` can be asked of it", column.name, column.data_type)),
    }
}

/// A text that is the same in every engine, however it reads backslashes.
pub(super) fn text(value: &Token) -> Result<String, String> {
    if value.text.contains('\\') {
        return Err(format!("the value `{}` has a backslash, which engines read differently", value.text));
    }
    if value.text.chars().any(char::is_control) {
        return Err("a value has a character that cannot be printed".into());
    }
    Ok(value.text.clone())
}

fn moment(value: &Token, now: Timestamp) -> Option<Literal> {
    let today = now.to_zoned(TimeZone::UTC).date();
    match value.lower.as_str() {
        "today" => Some(Literal::Day(today)),
        "yesterday" => today.yesterday().ok().map(Literal::Day),
        _ => day(&value.text).map(Literal::Day).or_else(|| instant(&value.text).map(Literal::Instant)),
    }
}

/// The first instant of a day.
pub(super) fn start(day: Date) -> Result<Literal, String> {
    let zoned = day.to_zoned(TimeZone::UTC).map_err(|_| "the time is outside of the calendar".to_owned())?;
    Ok(Literal::Instant(zoned.timestamp()))
}

fn is_uuid(text: &str) -> bool {
    let mut parts = text.split('-');
    let fits = |part: Option<&str>, long: usize| {
        part.is_some_and(|part| part.len() == long && part.chars().all(|c| c.is_ascii_hexdigit()))
    };
    [8, 4, 4, 4, 12].iter().all(|long| fits(parts.next(), *long)) && parts.next().is_none()
}
