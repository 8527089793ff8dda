//! The engine, with a handful of detectors of its own: what is found, however it is written, and what becomes of it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod json;
mod keys;
mod names;
mod promises;
mod scan;
mod seam;
mod views;

use gateway_dlp::{
    Action, Actions, Blocked, Boundary, Check, ContextWords, Counts, Detectors, Dictionary, Hit, Keep, Paths,
    Redaction, Severity, WrittenDetector,
};
use smallvec::smallvec;

pub const CARD: &str = "4111111111111111";
pub const EMAIL: &str = "jo.doe@example.org";
/// As a vendor would write it, and nobody's.
pub const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
pub const IBAN: &str = "GB82WEST12345698765432";

pub fn written() -> Vec<WrittenDetector> {
    let one = |id: &str, severity| WrittenDetector { id: id.into(), severity, ..WrittenDetector::default() };
    let text = |text: &str| Some(text.to_owned());
    let all = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    vec![
        WrittenDetector {
            pattern: text(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"),
            anchors: all(&["@"]),
            keep: Keep { domain: true, ..Keep::default() },
            ..one("email", Severity::Medium)
        },
        WrittenDetector {
            digits: Some((13, 19)),
            check: vec![Check::Luhn],
            pattern: text(r"[2-6][0-9 .()/_-]*"),
            label: "CARD".into(),
            keep: Keep { last: 4, ..Keep::default() },
            ..one("payment_card", Severity::Critical)
        },
        WrittenDetector {
            pattern: text(r"gh[pousr]_[A-Za-z0-9]{36}"),
            anchors: all(&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]),
            boundary: Boundary::Token,
            keep: Keep { first: 4, ..Keep::default() },
            ..one("github_token", Severity::Critical)
        },
        WrittenDetector {
            pattern: text(r"[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?"),
            anchors: all(&["<digits:7>"]),
            check: vec![Check::Mod97],
            ..one("iban", Severity::High)
        },
        WrittenDetector {
            pattern: text(r"[A-Z][0-9]{7}"),
            anchors: all(&["<digits:7>"]),
            context: Some(ContextWords {
                words: all(&["passport", "pass no"]),
                within: 32,
                required: true,
                also_key: true,
                ..ContextWords::default()
            }),
            ..one("passport", Severity::Medium)
        },
        WrittenDetector {
            pattern: text(r#"(?i)password["']?\s*[:=]\s*["']?([^\s"']{6,})"#),
            anchors: all(&["password"]),
            ..one("generic_password", Severity::High)
        },
        WrittenDetector {
            pattern: text(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"),
            anchors: all(&["<dots:3>"]),
            ..one("ip_address", Severity::Low)
        },
        WrittenDetector {
            pattern: text(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}"),
            anchors: all(&["<colons:5>"]),
            ..one("mac_address", Severity::Low)
        },
        WrittenDetector {
            pattern: text(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
            until: text(r"-----END (?:[A-Z]+ )?PRIVATE KEY-----"),
            anchors: all(&["-----BEGIN"]),
            boundary: Boundary::None,
            ..one("private_key", Severity::Critical)
        },
        WrittenDetector {
            dictionary: Some(Dictionary { words: all(&["Project Falcon", "Blue Heron"]), case_sensitive: false }),
            ..one("project", Severity::High)
        },
    ]
}

pub fn detectors() -> Detectors {
    Detectors::compile(written()).unwrap()
}

/// What is found, as rule and the bytes it stands for.
pub fn found<'t>(set: &Detectors, text: &'t str, key: Option<&str>) -> Vec<(String, &'t str)> {
    let mut hits: Vec<Hit> = Vec::new();
    set.scan(text, key, &mut hits);
    assert!(hits.is_empty() || set.suspects(text.as_bytes()), "not suspected: {text}");
    hits.iter()
        .map(|hit| (set.rules()[usize::from(hit.rule)].id.to_string(), &text[hit.start as usize..hit.end as usize]))
        .collect()
}

pub fn with<T>(action: Action, paths: &Paths, act: impl FnOnce(&Redaction<'_>, &mut Counts) -> T) -> T {
    let set = detectors();
    let actions = Actions::all(action);
    let redaction = Redaction { sets: smallvec![&set], actions: &actions, key: &[7; 32], paths };
    act(&redaction, &mut Counts::default())
}

pub fn text(action: Action, text: &str) -> Result<Option<String>, Blocked> {
    with(action, &Paths::none(), |redaction, counts| redaction.text(text, counts))
}

/// The document after masking, or itself.
pub fn json(raw: &str) -> String {
    json_with(Action::Mask, &Paths::none(), raw)
}

pub fn json_with(action: Action, paths: &Paths, raw: &str) -> String {
    let edited = with(action, paths, |redaction, counts| redaction.json(&raw.to_owned().into(), counts)).unwrap();
    edited.map_or_else(|| raw.to_owned(), |bytes| String::from_utf8(bytes.to_vec()).unwrap())
}
