//! One detector of each kind: by sign, by window of digits, by literal, by digits nearby with words, by run, by colons.

use gateway_dlp::{Boundary, Check, ContextWords, Severity, WrittenDetector};

pub fn written() -> Vec<WrittenDetector> {
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
