//! Redaction: nothing that is found survives it, documents stay documents, and the prefilter misses nothing.

use std::sync::LazyLock;

use bytes::Bytes;
use gateway_dlp::{
    Action, Actions, Boundary, Care, Check, ContextWords, Counts, Detectors, Paths, Redaction, Severity,
    WrittenDetector,
};
use serde_json::Value;
use smallvec::smallvec;

use super::{DEPTH, Outcome, ensure, taken};

/// One of each kind: by sign, by window of digits, by literal, by digits nearby with words, by run, by colons.
static DETECTORS: LazyLock<Option<Detectors>> = LazyLock::new(|| Detectors::compile(written()).ok());
static PATHS: LazyLock<Paths> = LazyLock::new(|| {
    Paths::new([("/id", Care::Opaque), ("/result/content/*/text", Care::Pieces), ("/result/blob", Care::Binary)])
});

fn written() -> Vec<WrittenDetector> {
    let one = |id: &str, pattern: &str, anchors: &[&str]| WrittenDetector {
        id: id.into(),
        pattern: (!pattern.is_empty()).then(|| pattern.into()),
        anchors: anchors.iter().map(|anchor| (*anchor).into()).collect(),
        ..WrittenDetector::default()
    };
    vec![
        one("email", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}", &["@"]),
        WrittenDetector {
            digits: Some((13, 19)),
            check: vec![Check::Luhn],
            label: "CARD".into(),
            ..one("card", "", &[])
        },
        WrittenDetector {
            boundary: Boundary::Token,
            severity: Severity::Critical,
            ..one("token", "gh[po]_[A-Za-z0-9]{8}", &["ghp_", "gho_"])
        },
        WrittenDetector {
            context: Some(ContextWords {
                words: vec!["passport".into()],
                within: 32,
                required: true,
                also_key: true,
                ..ContextWords::default()
            }),
            ..one("passport", "[A-Z][0-9]{7}", &["<digits:7>"])
        },
        one("mac", "[0-9a-f]{2}(?::[0-9a-f]{2}){5}", &["<colons:5>"]),
        one("run", "[A-F]{20}", &["<run:20>"]),
    ]
}

pub fn redact(input: &[u8]) -> Outcome {
    let Some(set) = DETECTORS.as_ref() else {
        return Err("the detectors of this target do not compile".into());
    };
    let actions = Actions::all(Action::Mask);
    let redaction = Redaction { sets: smallvec![set], actions: &actions, key: &[1; 32], paths: &PATHS };
    let text = String::from_utf8_lossy(input);
    let in_text = as_text(set, &redaction, &text)?;
    let in_document = as_document(&redaction, input)?;
    Ok(taken((in_text, in_document)))
}

fn as_text(set: &Detectors, redaction: &Redaction<'_>, text: &str) -> Result<Vec<u16>, String> {
    let mut hits = Vec::new();
    set.scan(text, None, &mut hits);
    ensure(hits.is_empty() || set.suspects(text.as_bytes()), || "found, but not suspected".into())?;
    let mut end = 0;
    for hit in &hits {
        let lies = hit.start >= end && hit.start < hit.end && text.get(hit.start as usize..hit.end as usize).is_some();
        ensure(lies, || format!("{hit:?} after {end}"))?;
        end = hit.end;
    }
    let mut counts = Counts::default();
    let edited = redaction.text(text, &mut counts).map_err(|blocked| format!("nothing blocks, but {blocked}"))?;
    ensure(edited.is_some() != counts.is_empty(), || format!("counted {counts:?}, edited {edited:?}"))?;
    in_pieces(redaction, text)?;
    let mut rules: Vec<u16> = hits.iter().map(|hit| hit.rule).collect();
    rules.dedup();
    rules.truncate(4);
    Ok(rules)
}

/// Cut in two and joined again, a text is redacted as it is whole.
fn in_pieces(redaction: &Redaction<'_>, text: &str) -> Result<(), String> {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (first, second) = text.split_at(middle);
    let seam = redaction.seam();
    if let Some(tail) = seam.tail(first) {
        ensure(tail <= first.len() && first.len() - tail <= gateway_dlp::LONGEST_TAIL, || {
            format!("holds from {tail}")
        })?;
    }
    let whole = redaction.text(text, &mut Counts::default());
    let joined = seam.join(&[first, second], &mut Counts::default()).map(|pieces| pieces.map(|pieces| pieces.concat()));
    ensure(whole == joined, || format!("{whole:?} is whole, {joined:?} in pieces"))
}

/// What was a document is one of the same shape; what was none is withheld or unchanged.
fn as_document(redaction: &Redaction<'_>, input: &[u8]) -> Result<(bool, bool), String> {
    let raw = Bytes::copy_from_slice(input);
    let readable = gateway_protocol::json::check(input, DEPTH).is_ok();
    let edited = redaction.json(&raw, &mut Counts::default());
    ensure(!readable || edited.is_ok(), || "a document could not be walked".into())?;
    let Ok(Some(edited)) = edited else {
        return Ok((readable, false));
    };
    if readable {
        let checked = gateway_protocol::json::check(&edited, DEPTH);
        ensure(checked.is_ok(), || format!("`{}` is no document: {checked:?}", String::from_utf8_lossy(&edited)))?;
        if let (Ok(before), Ok(after)) = (serde_json::from_slice(input), serde_json::from_slice(&edited)) {
            ensure(shape(&before) == shape(&after), || format!("{before} became {after}"))?;
        }
    }
    Ok((readable, true))
}

fn shape(value: &Value) -> String {
    match value {
        Value::Null => "n".into(),
        Value::Bool(_) => "b".into(),
        Value::Number(number) if number.is_f64() => "f".into(),
        Value::Number(_) => "i".into(),
        Value::String(_) => "s".into(),
        Value::Array(items) => format!("[{}]", items.iter().map(shape).collect::<String>()),
        Value::Object(members) => format!("{{{}}}", members.values().map(shape).collect::<String>()),
    }
}
