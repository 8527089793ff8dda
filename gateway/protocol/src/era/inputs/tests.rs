//! What may be asked of whom, and how a question looks in each era.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25};

use super::*;

fn asked(kind: InputKind, params: &Value, to: Revision) -> Option<Value> {
    let request = question(kind, params.as_object(), Id::from("q-1"), to)?;
    assert_eq!(request.method, kind.method());
    Some(request.params.map_or(Value::Null, Value::Object))
}

#[test]
fn kinds_know_their_methods_capabilities_and_answers() {
    for kind in InputKind::ALL {
        assert_eq!(InputKind::of(kind.method()), Some(kind));
        let declared = Map::from_iter([(kind.capability().to_owned(), json!({}))]);
        assert!(kind.declared_in(&declared) && !kind.declared_in(&Map::new()));
    }
    assert_eq!(InputKind::of("tools/call"), None);
    for (kind, answer, fits) in [
        (InputKind::Elicitation, json!({ "action": "accept", "content": { "a": 1 } }), true),
        (InputKind::Elicitation, json!({ "action": "perhaps" }), false),
        (InputKind::Elicitation, json!({ "action": "accept", "content": "x" }), false),
        (InputKind::Elicitation, json!({ "roots": [] }), false),
        (InputKind::Sampling, json!({ "role": "assistant", "model": "m", "content": {} }), true),
        (InputKind::Sampling, json!({ "role": "assistant", "model": "m", "content": [{ "type": "text" }] }), true),
        (InputKind::Sampling, json!({ "role": "assistant", "model": "m", "content": ["text"] }), false),
        (InputKind::Sampling, json!({ "role": "assistant", "content": {} }), false),
        (InputKind::Roots, json!({ "roots": [] }), true),
        (InputKind::Roots, json!([]), false),
    ] {
        assert_eq!(kind.is_answered_by(&answer), fits, "{kind:?} {answer}");
    }
}

#[test]
fn only_what_was_declared_may_be_asked() {
    use InputKind::{Elicitation, Roots, Sampling};
    let (form, url) = (json!({ "message": "" }), json!({ "mode": "url" }));
    let tools = json!({ "tools": [{}] });
    for (kind, params, capabilities, allowed) in [
        (Elicitation, &form, json!({}), false),
        (Elicitation, &form, json!({ "elicitation": {} }), true),
        (Elicitation, &form, json!({ "elicitation": { "url": {} } }), false),
        (Elicitation, &form, json!({ "elicitation": { "url": {}, "form": {} } }), true),
        (Elicitation, &url, json!({ "elicitation": {} }), false),
        (Elicitation, &url, json!({ "elicitation": { "url": {} } }), true),
        (Sampling, &form, json!({ "sampling": {} }), true),
        (Sampling, &tools, json!({ "sampling": {} }), false),
        (Sampling, &tools, json!({ "sampling": { "tools": {} } }), true),
        (Roots, &form, json!({ "roots": {} }), true),
        (Roots, &form, json!({ "roots": true }), false),
    ] {
        let capabilities = capabilities.as_object().unwrap();
        assert_eq!(kind.may_ask(params.as_object(), capabilities), allowed, "{kind:?} {params} {capabilities:?}");
    }
}

#[test]
fn a_form_is_asked_where_the_revision_has_forms() {
    let form = json!({
        "mode": "form",
        "message": "who?",
        "requestedSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "name": { "type": "string", "default": "x" },
                "sure": { "type": "boolean", "default": true },
                "size": { "type": "string", "oneOf": [{ "const": "s", "title": "Small" }], "default": "s" },
                "tags": { "type": "array", "items": { "type": "string", "enum": ["a"] } },
            },
            "required": ["name"],
        },
    });
    assert_eq!(asked(InputKind::Elicitation, &form, V2024_11_05), None);
    assert_eq!(asked(InputKind::Elicitation, &form, V2025_03_26), None);
    let simple = json!({
        "message": "who?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "sure": { "type": "boolean", "default": true },
                "size": { "type": "string", "enum": ["s"], "enumNames": ["Small"] },
            },
            "required": ["name"],
        },
    });
    assert_eq!(asked(InputKind::Elicitation, &form, V2025_06_18), Some(simple));
    assert_eq!(asked(InputKind::Elicitation, &form, V2025_11_25), Some(form.clone()));
    let mut strict = form;
    strict["requestedSchema"]["required"] = json!(["tags"]);
    assert_eq!(asked(InputKind::Elicitation, &strict, V2025_06_18), None, "a list it cannot ask for");
}

#[test]
fn a_url_is_asked_under_an_id() {
    let url = json!({ "mode": "url", "message": "go", "url": "https://a.example/" });
    for revision in [V2024_11_05, V2025_03_26, V2025_06_18] {
        assert_eq!(asked(InputKind::Elicitation, &url, revision), None);
    }
    let expected = json!({ "mode": "url", "message": "go", "url": "https://a.example/", "elicitationId": "q-1" });
    assert_eq!(asked(InputKind::Elicitation, &url, V2025_11_25), Some(expected));
}

#[test]
fn nonsense_cannot_be_asked() {
    for params in [
        json!(null),
        json!({}),
        json!({ "message": "x" }),
        json!({ "message": "x", "mode": "voice", "requestedSchema": {} }),
        json!({ "message": "x", "mode": 1, "requestedSchema": {} }),
        json!({ "message": "x", "mode": "url" }),
    ] {
        assert_eq!(asked(InputKind::Elicitation, &params, V2025_11_25), None, "{params}");
    }
    assert_eq!(asked(InputKind::Roots, &json!({ "x": 1 }), V2024_11_05), Some(Value::Null));
    assert_eq!(
        asked(InputKind::Roots, &json!({ "_meta": { "v": 1 } }), V2024_11_05),
        Some(json!({ "_meta": { "v": 1 } }))
    );
}

#[test]
fn questions_survive_the_way_into_a_result_and_out() {
    let server = Greeting::of_initialize(&json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" },
    }))
    .unwrap();
    let legacy = json!({ "message": "go", "mode": "url", "url": "a:b", "elicitationId": "e", "task": {}, "_meta": { "progressToken": 1 } });
    let inputs = [
        ("elicitation-1".to_owned(), InputKind::Elicitation, legacy.as_object().cloned()),
        ("roots-1".to_owned(), InputKind::Roots, None),
    ];
    let result = asking(inputs, Some("s"), &server);
    assert_eq!(result["_meta"][meta::SERVER_INFO]["name"], "s");
    let read = input_required(&result).unwrap();
    assert_eq!(read.state.as_deref(), Some("s"));
    let modern = json!({ "message": "go", "mode": "url", "url": "a:b" });
    assert_eq!(
        read.inputs,
        [
            ("elicitation-1".to_owned(), InputKind::Elicitation, modern.as_object().cloned()),
            ("roots-1".to_owned(), InputKind::Roots, None),
        ]
    );
    let waiting = asking([], Some("s"), &server);
    assert_eq!(input_required(&waiting), Some(InputRequired { inputs: vec![], state: Some("s".into()) }));
    for result in [
        json!({}),
        json!({ "resultType": "complete", "inputRequests": {} }),
        json!({ "resultType": "input_required", "inputRequests": [] }),
        json!({ "resultType": "input_required", "inputRequests": { "a": { "method": "other" } } }),
        json!({ "resultType": "input_required", "inputRequests": { "a": { "method": "roots/list", "params": 1 } } }),
    ] {
        assert_eq!(input_required(&result), None, "{result}");
    }
}
