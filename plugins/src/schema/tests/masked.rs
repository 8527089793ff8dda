//! What a mask excuses, and what it does not hide; how much of a value is looked at.

use super::*;

fn held(output: Value, content: Value, masks: &[&str]) -> Option<String> {
    let mut found = Found::default();
    for place in masks {
        found.edit(format!("/result/structuredContent{place}"));
    }
    told(output, content, &found)
}

fn told(output: Value, content: Value, found: &Found) -> Option<String> {
    let definition = json!({ "name": "update", "inputSchema": {}, "outputSchema": output });
    let exchange = exchange(definition, json!({ "name": "update" }), Handling::default());
    let reply = Reply::from_message(&Message::result(Id::from(1), json!({ "structuredContent": content })));
    said(Schemas.on_reply(&exchange, &reply, found))
}

/// Twenty masked addresses come first, and the wrong type behind them is still found.
#[test]
fn masks_do_not_hide_what_is_wrong_elsewhere() {
    let schema = json!({ "properties": {
        "mails": { "items": { "type": "string", "pattern": "@" } },
        "total": { "type": "integer" },
    } });
    let content = json!({ "mails": vec!["[EMAIL]"; 20], "total": "SECRET" });
    let places: Vec<String> = (0..20).map(|number| format!("/mails/{number}")).collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    let expected = "output: the answer does not fit its schema: `/total`: expected integer, found string";
    assert_eq!(held(schema.clone(), content, &places).as_deref(), Some(expected));
    let content = json!({ "mails": vec!["[EMAIL]"; 20], "total": 20 });
    assert_eq!(held(schema.clone(), content.clone(), &places), None, "all that is wrong is a mask's doing");
    let told = held(schema, content, places.get(1..).unwrap()).unwrap();
    assert!(told.contains("`/mails/0`"), "one that is no mask is told: {told}");
}

#[test]
fn one_masked_value_does_not_excuse_every_alternative() {
    let card = json!({ "properties": { "kind": { "const": "card" }, "mail": { "pattern": "@" } }, "required": ["kind", "mail"] });
    let bank = json!({ "properties": { "kind": { "const": "bank" }, "iban": { "type": "string" } }, "required": ["kind", "iban"] });
    for keyword in ["oneOf", "anyOf"] {
        let schema = json!({ keyword: [card, bank] });
        let fits = json!({ "kind": "card", "mail": "[EMAIL]" });
        assert_eq!(held(schema.clone(), fits.clone(), &["/mail"]), None, "{keyword}: fits but for the mask");
        assert!(held(schema.clone(), fits, &[]).is_some(), "{keyword}: nothing was masked");
        let other = json!({ "kind": "gift", "mail": "[EMAIL]" });
        assert!(held(schema.clone(), other, &["/mail"]).is_some(), "{keyword}: `kind` fits neither");
        let missing = json!({ "kind": "bank", "mail": "[EMAIL]" });
        assert!(held(schema, missing, &["/mail"]).is_some(), "{keyword}: `iban` is missing");
    }
}

#[test]
fn what_a_mask_excuses() {
    let nested = json!({ "properties": { "who": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/who" }] } },
        "$defs": { "who": { "anyOf": [{ "properties": { "mail": { "maxLength": 3 } } }, { "type": "integer" }] } } });
    let cases: Vec<(Value, Value, &[&str], bool)> = vec![
        (json!({ "properties": { "a": { "enum": ["x"] } } }), json!({ "a": "[M]" }), &["/a"][..], true),
        (json!({ "properties": { "a": { "enum": ["x"] } } }), json!({ "a": "[M]" }), &["/ab"], false),
        (json!({ "properties": { "a": { "type": "integer" } } }), json!({ "a": "[M]" }), &["/a"], false),
        (nested.clone(), json!({ "who": { "mail": "[EMAIL]" } }), &["/who/mail"], true),
        (nested, json!({ "who": { "mail": "[EMAIL]" } }), &["/who/name"], false),
        // Two that differed may have got one mask; two that nobody touched did not.
        (json!({ "items": {}, "uniqueItems": true }), json!(["[M]", "[M]", "x"]), &["/0", "/1"], true),
        (json!({ "items": {}, "uniqueItems": true }), json!(["[M]", "[M]", "x", "x"]), &["/0", "/1"], false),
        // What an object must not be has nothing to do with a text in it.
        (json!({ "not": { "required": ["x"] } }), json!({ "x": "[M]" }), &["/x"], false),
        (json!({ "properties": { "x": { "not": { "const": "[M]" } } } }), json!({ "x": "[M]" }), &["/x"], true),
        // A member's name was masked, which its object cannot be excused with.
        (json!({ "properties": { "a": { "const": {} } } }), json!({ "a": { "[M]": 1 } }), &["/a"], false),
    ];
    for (schema, content, masks, passes) in cases {
        assert_eq!(held(schema.clone(), content.clone(), masks).is_none(), passes, "{schema} {content} {masks:?}");
    }
}

/// What could not be told apart any more is refused, and in words that say why.
#[test]
fn beyond_what_is_kept_nothing_is_excused_in_silence() {
    let schema = json!({ "items": { "pattern": "@" } });
    let mut found = Found::default();
    for number in 0..5_000 {
        found.edit(format!("/result/structuredContent/{number}"));
    }
    assert_eq!(told(schema.clone(), json!(vec!["[EMAIL]"; 3_000]), &found), None, "as far as they are kept apart");
    let told = told(schema, json!(vec!["[EMAIL]"; 5_000]), &found).unwrap();
    assert!(told.contains("`/4096`") && told.contains("more places of it were masked"), "{told}");
}

#[test]
fn a_name_written_with_escapes_is_the_same_name() {
    let definition = json!({ "name": "update", "inputSchema": {}, "outputSchema": { "required": ["n"] } });
    let exchange = exchange(definition, json!({ "name": "update" }), Handling::default());
    for name in ["structuredContent", "structuredConten\\u0074", "\\u0073tructuredContent", "structured\\u0043ontent"] {
        let raw = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"{name}":{{}}}}}}"#);
        let reply = Reply::scan(raw.into(), 64).unwrap();
        assert!(said(Schemas.on_reply(&exchange, &reply, &Found::default())).is_some(), "{name}");
    }
}

/// A million faults are not held to tell five of them.
#[test]
fn of_what_is_large_the_first_fault_is_told() {
    let many = json!(vec!["SECRET"; 300_000]);
    let told = held(json!({ "items": { "type": "integer" } }), many.clone(), &[]).unwrap();
    assert!(told.ends_with("schema: `/0`: expected integer, found string"), "{told}");
    let either = json!({ "anyOf": [{ "items": { "type": "integer" } }, { "type": "object" }] });
    let told = held(either, many.clone(), &[]).unwrap();
    assert!(told.ends_with("it does not fit, and is too large to say where"), "{told}");
    let told = held(json!({ "items": { "pattern": "@" } }), many, &["/0"]).unwrap();
    assert!(told.contains("too large to say where"), "what stands behind the first mask is not known: {told}");
}

#[test]
fn a_long_list_of_values_is_work() {
    let words: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    let schema = json!({ "items": { "enum": words } });
    assert_eq!(held(schema.clone(), json!(vec!["19999"; 100]), &[]), None);
    let told = held(schema, json!(vec!["19999"; 20_000]), &[]).unwrap();
    assert!(told.contains("could not be checked in reasonable time"), "{told}");
}
