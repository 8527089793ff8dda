//! What names say of values, and what is said of names.

use gateway_dlp::{Action, Actions, Counts, Paths, Redaction};
use serde_json::{Value, json as tree};
use smallvec::smallvec;

use super::{detectors, json};

#[test]
fn a_value_is_known_by_names_that_stand_elsewhere() {
    for (before, after) in [
        (r#"{"passport":{"number":"X1234567"}}"#, r#"{"passport":{"number":"[PASSPORT]"}}"#),
        (r#"{"passports":[{"number":"X1234567"}]}"#, r#"{"passports":[{"number":"[PASSPORT]"}]}"#),
        (r#"{"type":"passport","number":"X1234567"}"#, r#"{"type":"passport","number":"[PASSPORT]"}"#),
        (
            r#"{"documentNumber":"X1234567","documentType":"passport"}"#,
            r#"{"documentNumber":"[PASSPORT]","documentType":"passport"}"#,
        ),
        (r#"{"name":"DB_PASSWORD","value":"hunter22x"}"#, r#"{"name":"DB_PASSWORD","value":"[GENERIC_PASSWORD]"}"#),
        (r#"{"value":"hunter22x","name":"DB_PASSWORD"}"#, r#"{"value":"[GENERIC_PASSWORD]","name":"DB_PASSWORD"}"#),
        (r#"{"password":{"value":"hunter22x"}}"#, r#"{"password":{"value":"[GENERIC_PASSWORD]"}}"#),
        (r#"{"password":["hunter22x"]}"#, r#"{"password":["[GENERIC_PASSWORD]"]}"#),
        (r#"{"password":73920184}"#, r#"{"password":0}"#),
        (
            r#"[["password","hunter22x"],["user","hunter22x"]]"#,
            r#"[["password","[GENERIC_PASSWORD]"],["user","hunter22x"]]"#,
        ),
        (
            r#"{"columns":["id","passport"],"rows":[["X7654321","X1234567"]]}"#,
            r#"{"columns":["id","passport"],"rows":[["X7654321","[PASSPORT]"]]}"#,
        ),
        (
            r#"{"rows":[[1,"hunter22x"]],"fields":[{"name":"id"},{"name":"password"}]}"#,
            r#"{"rows":[[1,"[GENERIC_PASSWORD]"]],"fields":[{"name":"id"},{"name":"password"}]}"#,
        ),
        (
            r#"[["id","password","city"],["a","hunter22x","hunter22x"]]"#,
            r#"[["id","password","city"],["a","[GENERIC_PASSWORD]","hunter22x"]]"#,
        ),
    ] {
        assert_eq!(json(before), after, "{before}");
        let nested = tree!({ "text": before }).to_string();
        assert_eq!(json(&nested), tree!({ "text": after }).to_string(), "{before} in a text");
    }
}

#[test]
fn other_values_are_nobodys() {
    for clean in [
        r#"{"passport":{"id":"X1234567","created_at":"X1234567"}}"#,
        r#"{"type":"order","number":"X1234567"}"#,
        r#"{"password":{"policy":"hunter22x"}}"#,
        r#"{"password_changed_at":1731763199}"#,
        r#"[["passport","X1234567","x"],[1]]"#,
        r#"{"columns":["passport","id"],"rows":[["a","X1234567"]]}"#,
        r#"{"columns":["passport"],"rows":["X1234567"]}"#,
    ] {
        assert_eq!(json(clean), clean);
    }
}

/// The places that are told when something is blocked: no name in them is a value.
fn blocked_at(actions: &Actions, raw: &str) -> (String, String) {
    let set = detectors();
    let redaction = Redaction { sets: smallvec![&set], actions, key: &[7; 32], paths: &Paths::none() };
    let blocked = redaction.json(&raw.to_owned().into(), &mut Counts::default()).unwrap_err();
    (blocked.rule.to_string(), blocked.path)
}

#[test]
fn a_blocked_place_is_told_without_values() {
    let all = Actions::all(Action::Block);
    for (raw, rule, path) in [
        (r#"{"a":{"jo.doe@example.org":1}}"#, "email", "/a/[EMAIL]"),
        (r#"{"a":{"4111111111111111":{"b":"jo.doe@example.org"}}}"#, "payment_card", "/a/[CARD]"),
        (r#"{"jo.doe\u0040example.org":1}"#, "email", "/[EMAIL]"),
    ] {
        assert_eq!(blocked_at(&all, raw), (rule.to_owned(), path.to_owned()), "{raw}");
    }
    // What is only observed stays in the document, and is not told either.
    let set = detectors();
    let only: Vec<Action> = set
        .rules()
        .iter()
        .map(|rule| if &*rule.id == "payment_card" { Action::Block } else { Action::Observe })
        .collect();
    let only = Actions::new([only.into()], Action::Block);
    let raw = r#"{"jo.doe@example.org":{"card":"4111 1111 1111 1111"}}"#;
    assert_eq!(blocked_at(&only, raw), ("payment_card".to_owned(), "/[EMAIL]/card".to_owned()));
    let long = format!(r#"{{"{}":"4111 1111 1111 1111"}}"#, "long".repeat(100));
    assert!(blocked_at(&only, &long).1.len() < 200);
}

#[test]
fn an_edited_place_is_named_as_it_is_now() {
    super::with(Action::Mask, &Paths::none(), |redaction, counts| {
        let raw = r#"{"jo@example.org":"4111 1111 1111 1111","\u0061b":"al@example.org"}"#;
        let edited = redaction.json(&raw.into(), counts).unwrap().unwrap();
        let now: Value = serde_json::from_slice(&edited).unwrap();
        assert_eq!(counts.edited(), ["", "/[EMAIL]", "/ab"]);
        assert!(counts.edited().iter().all(|place| now.pointer(place).is_some()), "{now}");
    });
}

#[test]
fn what_is_told_is_what_was_taken_out() {
    super::with(Action::Mask, &Paths::none(), |redaction, counts| {
        for text in [
            "jo@example.org pays with 4111 1111 1111 1111",
            r#"{"a":["4111 1111","1111 1111"],"password":"hunter\u0032\u0032x","n":4111111111111111}"#,
            r#"{"passport":{"number":"X1234567"},"jo@example.org":"{\"b\":\"al@example.org\"}"}"#,
            "nothing at all",
        ] {
            let (edited, taken) = redaction.told(text, counts).unwrap();
            let edited = edited.unwrap_or_else(|| text.to_owned());
            let mut kept = Vec::new();
            let mut at = 0;
            for one in &taken {
                assert!(one.range.start >= at && one.range.end > one.range.start, "{taken:?}");
                kept.push(&text[at..one.range.start]);
                at = one.range.end;
            }
            kept.push(&text[at..]);
            // Everything that was not told is still there, in its order.
            let mut rest = edited.as_str();
            for part in kept {
                let place = rest.find(part).unwrap_or_else(|| panic!("{part:?} is gone from {edited}"));
                rest = &rest[place + part.len()..];
            }
            assert_eq!(taken.is_empty(), edited == text, "{text}");
        }
    });
}
