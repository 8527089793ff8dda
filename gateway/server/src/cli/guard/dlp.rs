//! `guard dlp`: personal data and secrets in texts, and the texts without them.
//!
//! Every rule counts and masks here, whatever is done about it elsewhere; hashes have no key, because nothing here is kept.

use std::path::PathBuf;

use clap::Args;
use gateway_dlp::{Action, Actions, Counts, Detectors, Paths, Redaction, Taken};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Failure, Place, lines, question};
use crate::policy_files::load_detectors;

#[derive(Debug, Args)]
pub struct DlpArgs {
    #[command(flatten)]
    place: Place,
    /// A file of detectors, in place of all others
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Asked {
    text: String,
}

pub fn run(args: &DlpArgs) -> Result<(), Failure> {
    let detectors = load_detectors(args.place.config()?.policies.as_deref(), args.rules.as_deref())?;
    lines(|line| judged(&detectors, line))
}

/// One bad line is answered like any other, and the next one is read.
fn judged(detectors: &Detectors, line: &[u8]) -> Value {
    let unreadable = |id: Value, what: String| json!({"id": id, "text": null, "findings": [], "error": what});
    let (id, asked) = match question::<Asked>(line) {
        Ok(question) => question,
        Err((id, what)) => return unreadable(id, what),
    };
    let (actions, paths) = (Actions::all(Action::Mask), Paths::default());
    let redaction =
        Redaction { sets: [detectors].into_iter().collect(), actions: &actions, key: &[0; 32], paths: &paths };
    // The findings are what was taken out, so that the two never disagree.
    match redaction.told(&asked.text, &mut Counts::default()) {
        Ok((masked, taken)) => {
            let told = |one: &Taken| json!({"rule": &*one.rule, "start": one.range.start, "end": one.range.end});
            let findings: Vec<_> = taken.iter().map(told).collect();
            json!({"id": id, "text": masked.unwrap_or(asked.text), "findings": findings})
        }
        Err(blocked) => unreadable(id, blocked.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn a_line_is_masked_and_its_findings_are_bytes_of_the_input() {
        let detectors = load_detectors(None, None).unwrap();
        for (line, expected) in [
            (
                r#"{"id": 1, "text": "é: jane@example.org, card 4111 1111 1111 1111"}"#,
                json!({"id": 1, "text": "é: [EMAIL], card [CARD]", "findings": [
                    {"rule": "email", "start": 4, "end": 20}, {"rule": "payment_card", "start": 27, "end": 46}]}),
            ),
            (
                r#"{"id": "a", "text": "order 4111 1111 1111 1112"}"#,
                json!({"id": "a", "text": "order 4111 1111 1111 1112", "findings": []}),
            ),
            (
                // A document in a text is read as one: what is found is what is masked.
                r#"{"id": 3, "text": "{\"passport\":{\"number\":\"C01X00T47\"},\"n\":4111111111111111}"}"#,
                json!({"id": 3, "text": r#"{"passport":{"number":"[PASSPORT]"},"n":0}"#, "findings": [
                    {"rule": "passport", "start": 23, "end": 32}, {"rule": "payment_card", "start": 39, "end": 55}]}),
            ),
            (r#"{"text": ""}"#, json!({"id": null, "text": "", "findings": []})),
        ] {
            assert_eq!(judged(&detectors, line.as_bytes()), expected, "{line}");
        }
        for line in ["{", r#"{"id": 2}"#, r#"{"id": 2, "text": 7}"#, "[]"] {
            let answer = judged(&detectors, line.as_bytes());
            assert!(answer.get("error").is_some_and(Value::is_string), "{line}: {answer}");
        }
    }

    #[test]
    fn a_file_takes_the_place_of_the_shipped_detectors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.yaml");
        std::fs::write(&path, "detectors: [{ id: badge, pattern: 'AC-[0-9]{6}', anchors: ['ac-'] }]").unwrap();
        let detectors = load_detectors(None, Some(&path)).unwrap();
        let answer = judged(&detectors, br#"{"id": 1, "text": "AC-123456 of jane@example.org"}"#);
        assert_eq!(answer["text"], "[BADGE] of jane@example.org");

        std::fs::write(&path, "detectors: [{ id: badge, pattern: 'AC-[0-9', anchors: ['ac-'], colour: red }]").unwrap();
        let problems = load_detectors(None, Some(&path)).err().unwrap();
        assert!(problems.iter().any(|problem| problem.path == "detectors[0].colour"), "{problems:?}");

        std::fs::write(&path, "detectors: [{ id: badge, pattern: 'AC-[0-9', anchors: ['ac-'] }]").unwrap();
        let problems = load_detectors(None, Some(&path)).err().unwrap();
        let told = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(told.contains("own.yaml: detectors[0].pattern: "), "{told}");
    }
}
