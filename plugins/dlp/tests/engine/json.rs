//! Documents: what is edited keeps its type, and everything else stays byte for byte.

use gateway_dlp::{Action, Care, Counts, Paths, Redaction};
use serde_json::{Value, json as tree};

use super::{json, json_with, with};

#[test]
fn edits_values_keys_and_numbers_where_they_lie() {
    for (before, after) in [
        (r#"{ "a" : "jo.doe@example.org" , "n": 1.50 }"#, r#"{ "a" : "[EMAIL]" , "n": 1.50 }"#),
        (r#"{"a":"x \u00e9 jo.doe\u0040example.org \/ y"}"#, r#"{"a":"x \u00e9 [EMAIL] \/ y"}"#),
        (r#"{"a":4111111111111111}"#, r#"{"a":0}"#),
        (r#"{"a":4.111111111111111e15}"#, r#"{"a":0.0}"#),
        (r#"{"a":[1,4111111111111111.0,true,null]}"#, r#"{"a":[1,0.0,true,null]}"#),
        (r#"{"jo.doe@example.org":1}"#, r#"{"[EMAIL]":1}"#),
        (r#"{"jo@example.org":1,"al@example.org":2}"#, r#"{"[EMAIL]":1,"[EMAIL] (2)":2}"#),
        (r#"{"jo@example.org":1,"[EMAIL]":2,"[EMAIL] (2)":3}"#, r#"{"[EMAIL] (3)":1,"[EMAIL]":2,"[EMAIL] (2)":3}"#),
        (r#"{"passport":"X1234567","code":"X1234567"}"#, r#"{"passport":"[PASSPORT]","code":"X1234567"}"#),
        (r#"{"password":"hunter22x","n":"hunter22x"}"#, r#"{"password":"[GENERIC_PASSWORD]","n":"hunter22x"}"#),
        (r#"{"db_password":"a-hunter\u0032x"}"#, r#"{"db_password":"[GENERIC_PASSWORD]"}"#),
        (r#"{"passports":["X1234567"]}"#, r#"{"passports":["[PASSPORT]"]}"#),
        (r#"["4111 1111 1111 1112","2026-11-16T13:20:59Z"]"#, r#"["4111 1111 1111 1112","2026-11-16T13:20:59Z"]"#),
        (r#""jo.doe@example.org""#, r#""[EMAIL]""#),
        ("[]", "[]"),
        ("{}", "{}"),
    ] {
        assert_eq!(json(before), after, "{before}");
    }
}

#[test]
fn a_document_in_a_string_is_a_document() {
    for (before, after) in [
        (r#"{"text":"{\"card\": 4111111111111111, \"n\": 1}"}"#, r#"{"text":"{\"card\": 0, \"n\": 1}"}"#),
        (r#"{"text":"{\"a\":\"jo.doe\\u0040example.org\"}"}"#, r#"{"text":"{\"a\":\"[EMAIL]\"}"}"#),
        (
            r#"{"text":"[\"{\\\"a\\\":\\\"jo.doe@example.org\\\"}\"]"}"#,
            r#"{"text":"[\"{\\\"a\\\":\\\"[EMAIL]\\\"}\"]"}"#,
        ),
        (r#"{"text":"{\"passport\":\"X1234567\"}"}"#, r#"{"text":"{\"passport\":\"[PASSPORT]\"}"}"#),
        (r#"{"text":"{broken: jo.doe@example.org"}"#, r#"{"text":"{broken: [EMAIL]"}"#),
    ] {
        assert_eq!(json(before), after, "{before}");
    }
}

#[test]
fn the_serialised_twin_gets_the_same_masks() {
    let structured =
        tree!({ "card": 4_111_111_111_111_111_u64, "to": ["jo.doe@example.org"], "note": "4111-1111-1111-1111" });
    let raw =
        tree!({ "content": [{ "type": "text", "text": structured.to_string() }], "structuredContent": structured });
    for action in [Action::Mask, Action::Hash, Action::Partial] {
        let edited: Value = serde_json::from_str(&json_with(action, &Paths::none(), &raw.to_string())).unwrap();
        let twin: Value = serde_json::from_str(edited["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(twin, edited["structuredContent"], "{action}");
        assert_ne!(twin, structured);
        assert!(twin["card"].is_u64(), "{twin}");
    }
}

#[test]
fn what_is_cut_over_neighbours_is_found() {
    for (before, after) in [
        (r#"["4111 1111","1111 1111"]"#, r#"["[CARD]",""]"#),
        (r#"["4111","1111","1111","1111"]"#, r#"["[CARD]","","",""]"#),
        (r#"["pay with 4111 1111 ","1111 1111 please"]"#, r#"["pay with [CARD]"," please"]"#),
        (r#"["ghp_0123456789abcdef","ghijABCDEFGHIJ012345"]"#, r#"["[GITHUB_TOKEN]",""]"#),
        (r#"["jo.doe@exam","ple.org"]"#, r#"["[EMAIL]",""]"#),
        (r#"{"first":"41111111","second":"11111111"}"#, r#"{"first":"[CARD]","second":""}"#),
        (r#"{"a":"ghp_0123456789abcdef","b":"ghijABCDEFGHIJ012345"}"#, r#"{"a":"[GITHUB_TOKEN]","b":""}"#),
        (r#"["see","jo.doe@example.org"]"#, r#"["see","[EMAIL]"]"#),
        (r#"["a@example.org","b@example.org"]"#, r#"["[EMAIL]","[EMAIL]"]"#),
        (r#"["a@example.org","and"]"#, r#"["[EMAIL]","and"]"#),
        (r#"["12","34","56"]"#, r#"["12","34","56"]"#),
        // However JSON writes their letters.
        (r#"["4111 1111","\u00311\u0031\u0031 1111"]"#, r#"["[CARD]",""]"#),
        (r#"["jo.doe\u0040ex\u0061m","\u0070le.org"]"#, r#"["[EMAIL]",""]"#),
    ] {
        assert_eq!(json(before), after, "{before}");
    }
    let blocks = r#"{"content":[{"type":"text","text":"4111 11"},{"type":"text","text":"11 1111"},{"type":"text","text":" 1111"}]}"#;
    let paths = Paths::new([("/content/*/text", Care::Pieces)]);
    assert_eq!(
        json_with(Action::Mask, &paths, blocks),
        r#"{"content":[{"type":"text","text":"[CARD]"},{"type":"text","text":""},{"type":"text","text":""}]}"#
    );
    let escaped = r#"{"content":[{"type":"text","text":"jo.doe@ex\u0061m"},{"type":"text","text":"\u0070le.org"}]}"#;
    assert!(paths.may_be_cut(escaped.as_bytes()), "it is looked at, too");
    assert_eq!(
        json_with(Action::Mask, &paths, escaped),
        r#"{"content":[{"type":"text","text":"[EMAIL]"},{"type":"text","text":""}]}"#
    );
}

#[test]
fn paths_say_what_is_nobodys_to_read() {
    let paths = Paths::new([
        ("/id", Care::Opaque),
        ("/result/nextCursor", Care::Opaque),
        ("/result/uri", Care::Critical),
        ("/result/blob", Care::Binary),
        ("/result/_meta/**", Care::Opaque),
    ]);
    for (before, after) in [
        (r#"{"id":"jo@example.org"}"#, r#"{"id":"jo@example.org"}"#),
        (
            r#"{"result":{"nextCursor":"jo@example.org","x":{"nextCursor":"jo@example.org"}}}"#,
            r#"{"result":{"nextCursor":"jo@example.org","x":{"nextCursor":"[EMAIL]"}}}"#,
        ),
        (
            r#"{"result":{"uri":"mailto:jo@example.org?4111111111111111"}}"#,
            r#"{"result":{"uri":"mailto:jo@example.org?[CARD]"}}"#,
        ),
        (
            r#"{"result":{"_meta":{"a":[{"b":"jo@example.org"}]}}}"#,
            r#"{"result":{"_meta":{"a":[{"b":"jo@example.org"}]}}}"#,
        ),
        // "jo@example.org wrote", as text and as an image
        (
            r#"{"result":{"blob":"am9AZXhhbXBsZS5vcmcgd3JvdGU=","mimeType":"text/plain"}}"#,
            r#"{"result":{"blob":"W0VNQUlMXSB3cm90ZQ==","mimeType":"text/plain"}}"#,
        ),
        (
            r#"{"result":{"blob":"am9AZXhhbXBsZS5vcmcgd3JvdGU=","mimeType":"image/png"}}"#,
            r#"{"result":{"blob":"am9AZXhhbXBsZS5vcmcgd3JvdGU=","mimeType":"image/png"}}"#,
        ),
        // Whoever says nothing of it, or that it is bytes, has not said that it is no text.
        (r#"{"result":{"blob":"am9AZXhhbXBsZS5vcmcgd3JvdGU="}}"#, r#"{"result":{"blob":"W0VNQUlMXSB3cm90ZQ=="}}"#),
        (
            r#"{"result":{"mimeType":"application/octet-stream","blob":"am9AZXhhbXBsZS5vcmcgd3JvdGU"}}"#,
            r#"{"result":{"mimeType":"application/octet-stream","blob":"W0VNQUlMXSB3cm90ZQ=="}}"#,
        ),
        (r#"{"result":{"blob":"jo@example.org wrote"}}"#, r#"{"result":{"blob":"[EMAIL] wrote"}}"#),
        (r#"{"result":{"blob":"4111111111111111"}}"#, r#"{"result":{"blob":"[CARD]"}}"#),
        (r#"{"result":{"blob":"4111 1111 1111 1111 it is"}}"#, r#"{"result":{"blob":"[CARD] it is"}}"#),
        (
            r#"{"result":{"blob":"jo@example.org","mimeType":"image/png"}}"#,
            r#"{"result":{"blob":"jo@example.org","mimeType":"image/png"}}"#,
        ),
    ] {
        assert_eq!(json_with(Action::Mask, &paths, before), after, "{before}");
    }
}

#[test]
fn what_passes_because_of_its_place_is_counted() {
    let paths = Paths::new([("/uri", Care::Critical)]);
    with(Action::Mask, &paths, |redaction: &Redaction<'_>, counts: &mut Counts| {
        let raw = r#"{"uri":"mailto:jo@example.org?4111111111111111&al@example.org"}"#;
        let edited = redaction.json(&raw.into(), counts).unwrap().unwrap();
        assert_eq!(&edited[..], br#"{"uri":"mailto:jo@example.org?[CARD]&al@example.org"}"#);
        let all: Vec<_> = counts.iter().map(|one| (&*one.rule, one.count, one.action)).collect();
        assert_eq!(all, [("payment_card", 1, Action::Mask), ("email", 2, Action::Observe)]);
        assert_eq!(counts.edited(), ["/uri"]);
    });
}

#[test]
fn a_schema_is_read_where_it_speaks() {
    let paths = Paths::new([("/schema/**", Care::Schema)]);
    let (jo, card) = ("jo@example.org", "4111111111111111");
    for (before, after) in [
        (tree!({ "description": jo }), tree!({ "description": "[EMAIL]" })),
        (
            tree!({ "properties": { "to": { "title": jo, "default": { "a": [jo] }, "examples": [jo], "pattern": jo } } }),
            tree!({ "properties": { "to": { "title": "[EMAIL]", "default": { "a": ["[EMAIL]"] }, "examples": ["[EMAIL]"], "pattern": jo } } }),
        ),
        (tree!({ "enum": [jo, card] }), tree!({ "enum": [jo, "[CARD]"] })),
        // Properties of these names are none of a schema's words.
        (
            tree!({ "properties": { "title": { "const": jo }, "default": { "pattern": jo, "description": jo } } }),
            tree!({ "properties": { "title": { "const": jo }, "default": { "pattern": jo, "description": "[EMAIL]" } } }),
        ),
        (
            tree!({ "properties": { "properties": { "description": jo, "properties": { "title": { "const": jo } } } } }),
            tree!({ "properties": { "properties": { "description": "[EMAIL]", "properties": { "title": { "const": jo } } } } }),
        ),
    ] {
        let (before, after) = (tree!({ "schema": before }), tree!({ "schema": after }));
        assert_eq!(json_with(Action::Mask, &paths, &before.to_string()), after.to_string(), "{before}");
    }
}

#[test]
fn what_was_found_is_counted_and_what_was_edited_is_named() {
    with(Action::Mask, &Paths::none(), |redaction: &Redaction<'_>, counts: &mut Counts| {
        let raw = r#"{"a/b":["x","jo@example.org"],"n":4111111111111111,"c":"al@example.org"}"#;
        redaction.json(&raw.into(), counts).unwrap().unwrap();
        let all: Vec<_> = counts.iter().map(|one| (&*one.rule, one.count, one.action)).collect();
        assert_eq!(all, [("email", 2, Action::Mask), ("payment_card", 1, Action::Mask)]);
        assert_eq!(counts.edited(), ["/a~1b/1", "/n", "/c"]);
    });
    with(Action::Block, &Paths::none(), |redaction, counts| {
        let blocked = redaction.json(&r#"{"a":[{"b":"jo@example.org"}]}"#.into(), counts).unwrap_err();
        assert_eq!((&*blocked.rule, &*blocked.path), ("email", "/a/0/b"));
    });
}

#[test]
fn a_tree_is_changed_in_place() {
    with(Action::Mask, &Paths::none(), |redaction, counts| {
        let mut value =
            tree!({ "n": 4_111_111_111_111_111_u64, "k": { "a": "jo@example.org" }, "z": ["4111 1111", "1111 1111"] });
        assert_eq!(redaction.value(&mut value, counts), Ok(true));
        assert_eq!(value, tree!({ "n": 0, "k": { "a": "[EMAIL]" }, "z": ["[CARD]", ""] }));
        let mut clean = tree!({ "n": 12, "k": { "a": "nothing" } });
        assert_eq!(redaction.value(&mut clean, counts), Ok(false));
    });
}

#[test]
fn what_is_no_document_is_withheld() {
    with(Action::Mask, &Paths::none(), |redaction, counts| {
        for raw in ["", "{", r#"{"a":}"#, r#"{"a":1}x"#, r#"["a" "b"]"#, "\"", "{\"a\"", "[1,"] {
            assert!(redaction.json(&raw.to_owned().into(), counts).is_err(), "{raw}");
        }
    });
}

#[test]
fn what_was_changed_is_told_by_its_own_place_in_rows_that_are_alike() {
    with(Action::Mask, &Paths::none(), |redaction: &Redaction<'_>, counts: &mut Counts| {
        let raw = r#"{"rows":[{"a":"jo@example.org","b":["al@example.org",{"c":"x@example.org"}],"d":"y@example.org"},{"a":"jo@example.org"},["al@example.org","x@example.org"]]}"#;
        redaction.json(&raw.into(), counts).unwrap().unwrap();
        let expected =
            ["/rows/0/a", "/rows/0/b/0", "/rows/0/b/1/c", "/rows/0/d", "/rows/1/a", "/rows/2/0", "/rows/2/1"];
        assert_eq!(counts.edited(), expected);
    });
}
