//! The shipped detectors over documents: what a member means is often said by another one.

use gateway_dlp::{Action, Actions, Counts, Paths, Redaction};
use serde_json::{Value, json};

use super::shipped::ALL;
use super::template::expanded;

fn redacted(document: &Value) -> Value {
    let actions = Actions::all(Action::Mask);
    let redaction =
        Redaction { sets: [&*ALL].into_iter().collect(), actions: &actions, key: &[7; 32], paths: &Paths::none() };
    let raw = document.to_string();
    let edited = redaction.json(&raw.clone().into(), &mut Counts::default()).unwrap();
    serde_json::from_slice(&edited.unwrap_or_else(|| raw.into())).unwrap()
}

#[test]
fn a_value_is_masked_by_what_others_say_of_it() {
    let secret = expanded("{alnum:40}");
    let password = expanded("{alnum:16}");
    let scalar = expanded("{alnum:43}");
    for (document, value) in [
        (json!({ "SIN": "130692544" }), "130692544"),
        (json!({ "sin": { "number": "046454286" } }), "046454286"),
        (json!({ "passport": { "number": "C01X00T47" } }), "C01X00T47"),
        (json!({ "documentType": "passport", "documentNumber": "C01X00T47" }), "C01X00T47"),
        (json!({ "phones": [{ "type": "home", "number": "4155552671" }] }), "4155552671"),
        (json!({ "columns": ["id", "ssn"], "rows": [[1, "536228719"]] }), "536228719"),
        (json!({ "columns": ["id", "password"], "rows": [[1, password]] }), &password),
        (json!([{ "name": "AWS_SECRET_ACCESS_KEY", "value": secret }]), &secret),
        (json!({ "name": "DB_PASSWORD", "value": password }), &password),
        (json!([["password", password], ["user", "x"]]), &password),
        (json!({ "password": 73_920_184 }), "73920184"),
        (json!({ "mac": "001b.4411.3ab7" }), "001b.4411.3ab7"),
        (json!({ "bearer": secret }), &secret),
        (json!({ "kty": "EC", "crv": "P-256", "d": scalar }), &scalar),
        (json!({ "keys": [{ "kty": "RSA", "e": "AQAB", "d": scalar }] }), &scalar),
        (json!({ "keys": [{ "kty": "RSA", "e": "AQAB", "q": scalar }] }), &scalar),
        (json!({ "kty": "oct", "k": scalar }), &scalar),
    ] {
        let shown = redacted(&document);
        assert!(!shown.to_string().contains(value), "{shown}");
        let text = redacted(&json!({ "text": document.to_string(), "structured": document }));
        let twin: Value = serde_json::from_str(text["text"].as_str().unwrap()).unwrap();
        assert_eq!(twin, text["structured"], "in a text as in a structure");
    }
}

#[test]
fn what_is_counted_or_dated_stays() {
    for document in [
        json!({ "phones": [{ "id": 4_155_552_671_u64, "created_at": 1_731_763_199 }] }),
        json!({ "password_changed_at": 1_731_763_199, "max_tokens": 128_000, "token_count": 73_920_184 }),
        json!({ "type": "text", "text": "the passport office is open" }),
        json!({ "columns": ["passport_count", "city"], "rows": [[12_345_678, "Bern"]] }),
        json!({ "name": "retries", "value": 73_920_184 }),
        json!({ "kty": "EC", "crv": "P-256", "x": expanded("{alnum:43}") }),
    ] {
        assert_eq!(redacted(&document), document);
    }
}

/// A token that may have any length ends with its string: the member behind it is somebody else's.
#[test]
fn what_stands_behind_a_token_stays() {
    let (jwt, bearer, slack) =
        (expanded("{jwt}"), expanded("Bearer {hex:64}"), expanded("xoxb-{digits:12}-{alnum:24}"));
    for (token, next) in [
        (&jwt, "134537303520692"),
        (&bearer, "4.7.8+build.2533"),
        (&slack, "chunk-UE8BGM5I.mjs"),
        (&bearer, "sha256-TAM96VhvRoa82"),
    ] {
        let shown = redacted(&json!({ "authorization": token, "next": next }));
        assert_eq!(shown["next"], next, "{shown}");
        assert!(!shown.to_string().contains(token.as_str()), "{shown}");
    }
    let shown = redacted(&json!({ "rows": [[7, slack, "git@git.example.org:answer/pull.git"]] }));
    assert_eq!(shown["rows"][0][2], "git@git.example.org:answer/pull.git", "{shown}");
}

#[test]
fn a_token_is_found_however_long_it_is() {
    let jwt = expanded("{jwt}");
    let (head, rest) = jwt.split_once('.').unwrap();
    let (_, sign) = rest.split_once('.').unwrap();
    let body = expanded("{alnum:64}").repeat(400);
    let long = format!("{head}.eyJ{body}.{sign}");
    assert_eq!(redacted(&json!({ "a": format!("x {long} y") }))["a"], "x [JWT] y");
}
