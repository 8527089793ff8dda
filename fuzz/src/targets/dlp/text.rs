//! What holds of a bare text.

use std::ops::Range;

use bytes::Bytes;
use gateway_dlp::{Counts, Hit, LONGEST_TAIL, Redaction, Taken};
use serde_json::{Value, json};

use super::super::{DEPTH, ensure};
use super::Set;

/// The rules that found something first, to tell one text from another.
pub fn holds(set: &Set, text: &str) -> Result<Vec<u16>, String> {
    let hits = in_order(set, text)?;
    let redaction = set.with(&set.mask, &set.nowhere);
    let mut counts = Counts::default();
    let (edited, out) = told(&redaction, text, &mut counts)?;
    ensure(edited.is_some() != counts.is_empty(), || format!("counted {counts:?}, edited {edited:?}"))?;
    let again = told(&redaction, text, &mut Counts::default())?;
    ensure(again == (edited.clone(), out.clone()), || format!("first {edited:?}, then {:?}", again.0))?;
    let plain = redaction.text(text, &mut Counts::default());
    ensure(plain.as_ref() == Ok(&edited), || format!("told as {edited:?}, but it is {plain:?}"))?;
    // What a document holds is taken out of its strings and numbers, and masks look otherwise there.
    let is_document = text.trim_start().starts_with(['{', '[']) && is_readable(text);
    if !is_document {
        if let Some(edited) = &edited {
            let masks = masks(set, text, edited, &out, |label| format!("[{label}]"))?;
            stays_masked(&redaction, edited, &masks)?;
        }
        hashed(set, text)?;
        as_element(set, text, edited.as_deref().unwrap_or(text))?;
    }
    in_pieces(&redaction, text)?;
    let mut rules: Vec<u16> = hits.iter().map(|hit| hit.rule).collect();
    rules.dedup();
    rules.truncate(4);
    Ok(rules)
}

fn is_readable(text: &str) -> bool {
    gateway_protocol::json::check(text.as_bytes(), DEPTH).is_ok()
}

/// Findings lie in the text, one behind the other, and the prefilter saw all of them, in quotes too.
fn in_order(set: &Set, text: &str) -> Result<Vec<Hit>, String> {
    let find = || {
        let mut hits = Vec::new();
        set.detectors.scan(text, None, &mut hits);
        hits
    };
    let hits = find();
    ensure(hits == find(), || format!("{hits:?} once, and then others"))?;
    ensure(hits.is_empty() || set.detectors.suspects(text.as_bytes()), || "found, but not suspected".into())?;
    let quoted = json!(text).to_string();
    ensure(hits.is_empty() || set.detectors.suspects(quoted.as_bytes()), || format!("not suspected in {quoted}"))?;
    let mut end = 0;
    for hit in &hits {
        let lies = hit.start >= end && hit.start < hit.end && text.get(hit.start as usize..hit.end as usize).is_some();
        ensure(lies, || format!("{hit:?} after {end}"))?;
        end = hit.end;
    }
    Ok(hits)
}

fn told(redaction: &Redaction<'_>, text: &str, counts: &mut Counts) -> Result<(Option<String>, Vec<Taken>), String> {
    redaction.told(text, counts).map_err(|blocked| format!("nothing blocks, but {blocked}"))
}

/// Where the masks are. They hold their rule's label and nothing of the value, and the rest of the text is as it was.
fn masks(
    set: &Set,
    text: &str,
    edited: &str,
    out: &[Taken],
    mask: impl Fn(&str) -> String,
) -> Result<Vec<Range<usize>>, String> {
    let mut masks = Vec::new();
    let (mut at, mut now) = (0, 0);
    for one in out {
        let rule = set.detectors.rules().iter().find(|rule| rule.id == one.rule);
        let mask = mask(rule.map_or("", |rule| &rule.label));
        let before = text.get(at..one.range.start).ok_or_else(|| format!("{one:?} lies before {at}"))?;
        let start = now + before.len();
        let stands = edited.get(now..start) == Some(before)
            && edited.get(start..).is_some_and(|rest| rest.len() >= mask.len() && same(rest, &mask));
        ensure(stands, || format!("`{mask}` does not stand for {one:?} in `{edited}`"))?;
        masks.push(start..start + mask.len());
        (at, now) = (one.range.end, start + mask.len());
    }
    ensure(edited.get(now..) == text.get(at..), || format!("`{edited}` does not end as the text"))?;
    Ok(masks)
}

/// Whether the text begins with the mask; `?` in it is any hexadecimal digit.
fn same(text: &str, mask: &str) -> bool {
    mask.bytes().zip(text.bytes()).all(|(mask, byte)| mask == byte || (mask == b'?' && byte.is_ascii_hexdigit()))
}

/// Redacted again, nothing is found inside of a mask. What stood beside a value may be found now that it is gone, and a mask with it.
fn stays_masked(redaction: &Redaction<'_>, edited: &str, masks: &[Range<usize>]) -> Result<(), String> {
    let (_, again) = told(redaction, edited, &mut Counts::default())?;
    for one in again {
        let touched = masks.iter().filter(|mask| mask.start < one.range.end && one.range.start < mask.end);
        let mut cut = touched.filter(|mask| mask.start < one.range.start || one.range.end < mask.end);
        ensure(cut.next().is_none(), || format!("{one:?} lies in a mask of `{edited}`"))?;
    }
    Ok(())
}

/// A hash stands where the mask would, and is the same each time.
fn hashed(set: &Set, text: &str) -> Result<(), String> {
    let redaction = set.with(&set.hash, &set.nowhere);
    let (edited, out) = told(&redaction, text, &mut Counts::default())?;
    let Some(edited) = edited else { return Ok(()) };
    masks(set, text, &edited, &out, |label| format!("[{label}:????????????]"))?;
    let again = told(&redaction, text, &mut Counts::default())?;
    ensure(again.0.as_ref() == Some(&edited), || format!("hashed as {edited:?}, and then as {:?}", again.0))
}

/// The only element of a list is read as the text is, whatever was not looked at because nothing pointed there.
fn as_element(set: &Set, text: &str, expected: &str) -> Result<(), String> {
    let redaction = set.with(&set.mask, &set.nowhere);
    let raw = Bytes::from(json!([text]).to_string());
    let edited = redaction.json(&raw, &mut Counts::default()).map_err(|blocked| format!("{blocked} as an element"))?;
    let shown = edited.unwrap_or(raw);
    let value: Value = serde_json::from_slice(&shown).map_err(|error| format!("{error} in {shown:?}"))?;
    let shown = value.pointer("/0").and_then(Value::as_str).unwrap_or_default();
    ensure(shown == expected, || format!("`{expected}` as a text is `{shown}` as an element"))
}

/// Cut in two and joined again, a text is redacted as it is whole.
fn in_pieces(redaction: &Redaction<'_>, text: &str) -> Result<(), String> {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (first, second) = text.split_at(middle);
    let seam = redaction.seam();
    if let Some(tail) = seam.tail(first) {
        let near = tail <= first.len() && first.len() - tail <= LONGEST_TAIL && first.is_char_boundary(tail);
        ensure(near, || format!("holds from {tail}"))?;
    }
    let whole = redaction.text(text, &mut Counts::default());
    let joined = seam.join(&[first, second], &mut Counts::default()).map(|pieces| pieces.map(|pieces| pieces.concat()));
    ensure(whole == joined, || format!("{whole:?} is whole, {joined:?} in pieces"))
}
