//! What holds of a document.

use bytes::Bytes;
use gateway_dlp::{Counts, Redaction};
use serde_json::Value;

use super::super::{DEPTH, ensure};
use super::Set;
use crate::random::Random;

/// What was a document is one of the same shape; what was none is withheld or unchanged.
pub fn holds(set: &Set, input: &[u8]) -> Result<(bool, bool), String> {
    let redaction = set.with(&set.mask, &set.paths);
    let raw = Bytes::copy_from_slice(input);
    let readable = gateway_protocol::json::check(input, DEPTH).is_ok();
    let mut counts = Counts::default();
    let edited = redaction.json(&raw, &mut counts);
    let again = redaction.json(&raw, &mut Counts::default());
    ensure(edited == again, || format!("{edited:?} once, then {again:?}"))?;
    ensure(!readable || edited.is_ok(), || "a document could not be walked".into())?;
    if !readable {
        return Ok((false, matches!(edited, Ok(Some(_)))));
    }
    let edited = edited.ok().flatten();
    let looked_at = set.detectors.suspects(input) || set.paths.may_be_cut(input);
    ensure(looked_at || edited.is_none(), || "changed, but the gateway would not have looked".into())?;
    // Numbers beyond doubles are no tree's.
    let Ok(before) = serde_json::from_slice::<Value>(input) else { return Ok((true, edited.is_some())) };
    if let Some(edited) = &edited {
        let shown = || String::from_utf8_lossy(edited).into_owned();
        let checked = gateway_protocol::json::check(edited, DEPTH);
        ensure(checked.is_ok(), || format!("`{}` is no document: {checked:?}", shown()))?;
        let after: Value = serde_json::from_slice(edited).map_err(|error| format!("{error}: {}", shown()))?;
        ensure(alike(&before, &after), || format!("{before} became {after}"))?;
        ensure(before.get("id") == after.get("id"), || format!("what nobody reads was changed: {after}"))?;
        let twice = redaction.json(edited, &mut Counts::default()).map_err(|blocked| blocked.to_string())?;
        let twice: Value = serde_json::from_slice(&twice.unwrap_or_else(|| edited.clone()))
            .map_err(|error| format!("{error} once more"))?;
        stays_masked(set, &before, &after, &twice)?;
    }
    as_a_tree(set, &before)?;
    escaped(&redaction, input, &before)?;
    Ok((true, edited.is_some()))
}

/// Values of the same kinds in the same places, and names in the same number.
fn alike(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Null, Value::Null) | (Value::Bool(_), Value::Bool(_)) | (Value::String(_), Value::String(_)) => true,
        // An integer beyond 64 bits is one where it is written, and none in a tree.
        (Value::Number(one), Value::Number(other)) => {
            one.is_f64() == other.is_f64() || one.as_f64().is_some_and(|one| one.abs() > 9e18)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.values().zip(other.values()).all(|(one, other)| alike(one, other))
        }
        _ => false,
    }
}

/// What is a mask, or a number in the place of one, stays one.
fn stays_masked(set: &Set, before: &Value, once: &Value, twice: &Value) -> Result<(), String> {
    match (before, once, twice) {
        (Value::Object(before), Value::Object(once), Value::Object(twice)) => {
            let mut all = before.values().zip(once.values()).zip(twice.values());
            all.try_for_each(|((before, once), twice)| stays_masked(set, before, once, twice))
        }
        (Value::Array(before), Value::Array(once), Value::Array(twice)) => {
            let mut all = before.iter().zip(once).zip(twice);
            all.try_for_each(|((before, once), twice)| stays_masked(set, before, once, twice))
        }
        _ => {
            let is_mask = |value: &Value| value.is_number() || value.as_str().is_some_and(|text| set.is_mask(text));
            // Beside a name that says more, a mask may be taken for a value and get that name's.
            ensure(before == once || !is_mask(once) || is_mask(twice), || {
                format!("{before} is {once}, and then {twice}")
            })
        }
    }
}

/// Read as a tree or as it is written: the same is taken out.
fn as_a_tree(set: &Set, before: &Value) -> Result<(), String> {
    let redaction = set.with(&set.mask, &set.nowhere);
    let mut tree = before.clone();
    let changed = redaction.value(&mut tree, &mut Counts::default()).map_err(|blocked| blocked.to_string())?;
    let written = Bytes::from(before.to_string());
    let edited = redaction.json(&written, &mut Counts::default()).map_err(|blocked| blocked.to_string())?;
    let as_written: Option<Value> = edited.as_deref().and_then(|raw| serde_json::from_slice(raw).ok());
    ensure(changed == as_written.is_some(), || format!("a tree is {tree}, and as it is written {as_written:?}"))?;
    ensure(as_written.is_none_or(|value| value == tree), || format!("the tree is {tree}"))
}

/// However the letters of its texts are escaped, a document says the same, and no less is taken out.
fn escaped(redaction: &Redaction<'_>, input: &[u8], before: &Value) -> Result<(), String> {
    let mut random = Random::of(input);
    let mut written = String::new();
    write(before, &mut random, &mut written);
    let shown = |raw: Bytes| -> Result<Value, String> {
        let edited = redaction.json(&raw, &mut Counts::default()).map_err(|blocked| blocked.to_string())?;
        serde_json::from_slice(&edited.unwrap_or(raw)).map_err(|error| error.to_string())
    };
    let (plain, other) = (shown(Bytes::from(before.to_string()))?, shown(Bytes::from(written.clone()))?);
    ensure(keeps(before, &plain, &other), || format!("{plain} is another when it is written as {written}: {other}"))
}

/// Whether what was taken out once was taken out the other time, too.
fn keeps(before: &Value, once: &Value, other: &Value) -> bool {
    match (before, once, other) {
        (Value::Object(before), Value::Object(once), Value::Object(other)) => {
            let names = before.keys().zip(once.keys()).zip(other.keys());
            let mut values = before.values().zip(once.values()).zip(other.values());
            names.into_iter().all(|((before, once), other)| before == once || before != other)
                && values.all(|((before, once), other)| keeps(before, once, other))
        }
        (Value::Array(before), Value::Array(once), Value::Array(other)) => {
            before.iter().zip(once).zip(other).all(|((before, once), other)| keeps(before, once, other))
        }
        _ => before == once || before != other,
    }
}

fn may_be_name(text: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '#' | '/');
    text.len() <= 64 && text.chars().all(part) && text.contains(|c: char| c.is_ascii_alphabetic())
}

fn write(value: &Value, random: &mut Random, out: &mut String) {
    match value {
        // What may be a name of something beside it is told from how it is written.
        Value::String(text) if may_be_name(text) => out.push_str(&value.to_string()),
        Value::String(text) => {
            let every = 1 + random.below(4);
            out.push('"');
            for c in text.chars() {
                if random.one_in(every) {
                    let mut units = [0; 2];
                    c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
                } else {
                    let quoted = Value::from(c.to_string()).to_string();
                    out.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
                }
            }
            out.push('"');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, random, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(member, random, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}
