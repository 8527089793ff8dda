#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "tables of cases read better by value"
)]
//! What passes, what does not, and in which words.

use std::sync::Arc;

use gateway_core::definitions::{SchemaCompiler, hash};
use gateway_core::exchange::ToolSubject;
use gateway_core::policies::{ClassifiedTool, Handling};
use gateway_core::{Ask, Principal, Route, Subject, ToolManifest, TraceId};
use gateway_protocol::Id;

use super::*;

mod masked;

fn exchange(definition: Value, params: Value, handling: Handling) -> Exchange {
    let manifest: ToolManifest = serde_json::from_value(json!({ "id": "crm/update", "domain": "crm",
        "risk_level": "READ_ONLY", "side_effects": false, "allowed_modes": ["FULL_AUTO"] }))
    .unwrap();
    let classified = Arc::new(ClassifiedTool::new(manifest, None).handled(handling));
    let tool = ToolSubject::new("crm/update".parse().unwrap(), Some(classified), false);
    let ask = Ask::Message(Message::request(1, "tools/call", params.as_object().cloned()));
    let (trace, principal) = (TraceId::from_stored("trc_1"), Arc::new(Principal::anonymous()));
    let mut exchange = Exchange::new(trace, principal, Route::All, ask, Subject::Tool(tool));
    exchange.definition = Some(Arc::new(Defined::new(hash(&definition).into(), Arc::new(definition))));
    exchange
}

fn asked(schema: Value, arguments: Value) -> Verdict {
    let definition = json!({ "name": "update", "inputSchema": schema });
    let params = json!({ "name": "update", "arguments": arguments });
    Schemas.on_request(&exchange(definition, params, Handling::default()))
}

fn said(verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Deny(objection) => Some(format!("{}: {}", objection.rule, objection.message)),
        _ => None,
    }
}

// acceptance 60: the error names the path and what was expected, and nothing of the value.
#[test]
fn a_fault_names_its_place_and_what_was_expected() {
    let schema = json!({
        "type": "object",
        "required": ["id"],
        "additionalProperties": false,
        "properties": {
            "id": { "type": "integer", "minimum": 1 },
            "amount": { "type": "number", "exclusiveMaximum": 10, "multipleOf": 0.5 },
            "state": { "enum": ["open", "closed"] },
            "kind": { "const": "lead" },
            "name": { "type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$" },
            "items": { "type": "array", "maxItems": 2, "uniqueItems": true, "items": { "$ref": "#/$defs/item" } },
            "either": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            "shape": { "oneOf": [
                { "type": "object", "properties": { "r": { "type": "number" } }, "required": ["r"] },
                { "type": "object", "properties": { "w": { "type": "number" }, "h": { "type": "number" } }, "required": ["w", "h"] },
            ] },
            "map": { "type": "object", "additionalProperties": { "type": "integer" } },
            "maybe": { "type": ["string", "null"] },
        },
        "$defs": { "item": { "type": "object", "properties": { "price": { "type": "number" } } } },
    });
    for (arguments, expected) in [
        (json!({ "id": 1 }), None),
        (json!({ "id": 1.0, "state": "open", "kind": "lead", "name": "abc", "maybe": null, "either": 3 }), None),
        (json!({}), Some("`/id`: expected a value, found nothing")),
        (Value::Null, Some("`/id`: expected a value, found nothing")),
        (json!([]), Some("`/`: expected object, found array")),
        (json!({ "id": "SECRET" }), Some("`/id`: expected integer, found string")),
        (json!({ "id": 0 }), Some("`/id`: expected at least 1")),
        (json!({ "id": 1, "amount": 77 }), Some("`/amount`: expected less than 10")),
        (json!({ "id": 1, "amount": 0.3 }), Some("`/amount`: expected a multiple of 0.5")),
        (json!({ "id": 1, "state": "SECRET" }), Some("`/state`: expected one of `open`, `closed`")),
        (json!({ "id": 1, "kind": "SECRET" }), Some("`/kind`: expected `lead`")),
        (
            json!({ "id": 1, "name": "S" }),
            Some("`/name`: expected at least 2 characters; `/name`: expected a text that matches `^[a-z]+$`"),
        ),
        (json!({ "id": 1, "name": "secret" }), Some("`/name`: expected at most 5 characters")),
        (
            json!({ "id": 1, "items": [{ "price": 1 }, { "price": "SECRET" }] }),
            Some("`/items/1/price`: expected number, found string"),
        ),
        (json!({ "id": 1, "items": [{}, {}] }), Some("`/items`: expected items that differ from one another")),
        (json!({ "id": 1, "either": ["SECRET"] }), Some("`/either`: expected string or integer, found array")),
        (json!({ "id": 1, "shape": { "r": "SECRET" } }), Some("`/shape/r`: expected number, found string")),
        (json!({ "id": 1, "maybe": true }), Some("`/maybe`: expected null or string, found boolean")),
        (
            json!({ "id": 1, "colour": "SECRET" }),
            Some("`/`: expected no other members than its schema lists, found `colour`"),
        ),
        (
            json!({ "id": 1, "4111111111111111": 1 }),
            Some("`/`: expected no other members than its schema lists, found 1 more"),
        ),
        (json!({ "id": 1, "map": { "4111111111111111": "SECRET" } }), Some("`/map/*`: expected integer, found string")),
    ] {
        let told = said(asked(schema.clone(), arguments.clone()));
        assert_eq!(told.as_deref(), expected.map(|text| format!("arguments: {text}")).as_deref(), "{arguments}");
        assert!(!told.unwrap_or_default().contains("SECRET"), "{arguments}");
    }
}

#[test]
fn each_schema_is_read_in_the_draft_that_it_names() {
    let exclusive =
        |draft: &str| json!({ "$schema": draft, "properties": { "a": { "maximum": 3, "exclusiveMaximum": true } } });
    let tuple = |draft: &str| json!({ "$schema": draft, "properties": { "a": { "items": [{ "type": "string" }] } } });
    let prefix =
        |draft: &str| json!({ "$schema": draft, "properties": { "a": { "prefixItems": [{ "type": "string" }] } } });
    let dependent = |draft: &str| json!({ "$schema": draft, "dependentRequired": { "a": ["b"] } });
    for (schema, arguments, fits) in [
        (exclusive("http://json-schema.org/draft-04/schema#"), json!({ "a": 3 }), Some(false)),
        (exclusive("http://json-schema.org/draft-07/schema#"), json!({ "a": 3 }), None),
        (tuple("http://json-schema.org/draft-06/schema#"), json!({ "a": [1] }), Some(false)),
        (tuple("http://json-schema.org/draft-07/schema"), json!({ "a": [1] }), Some(false)),
        (prefix("http://json-schema.org/draft-07/schema#"), json!({ "a": [1] }), Some(true)),
        (prefix("https://json-schema.org/draft/2020-12/schema"), json!({ "a": [1] }), Some(false)),
        (dependent("https://json-schema.org/draft/2019-09/schema"), json!({ "a": 1 }), Some(false)),
        (dependent("http://json-schema.org/draft-07/schema#"), json!({ "a": 1 }), Some(true)),
        // Named by nobody: the newest, and an older one only where it could not be that.
        (json!({ "properties": { "a": { "prefixItems": [{ "type": "string" }] } } }), json!({ "a": [1] }), Some(false)),
        (json!({ "properties": { "a": { "maximum": 3, "exclusiveMaximum": true } } }), json!({ "a": 3 }), Some(false)),
        (prefix("https://example.org/a-language-of-our-own"), json!({ "a": [1] }), Some(false)),
    ] {
        let told = said(asked(schema.clone(), arguments));
        let found = match &told {
            None => Some(true),
            Some(told) if told.starts_with("arguments: ") => Some(false),
            Some(_) => None,
        };
        assert_eq!(found, fits, "{schema}: {told:?}");
    }
}

#[test]
fn references_stay_inside() {
    let ok = [
        json!({ "properties": { "a": { "$ref": "#/$defs/x" } }, "$defs": { "x": { "type": "integer" } } }),
        json!({ "properties": { "a": { "$ref": "#here" } }, "$defs": { "x": { "$anchor": "here", "type": "integer" } } }),
        json!({ "$id": "https://example.org/tool.json", "properties": { "a": { "$ref": "https://example.org/tool.json#/$defs/x" } }, "$defs": { "x": { "type": "integer" } } }),
        json!({ "properties": { "a": { "$ref": "#/$defs/a%20b" } }, "$defs": { "a b": { "type": "integer" } } }),
        // A tree of itself is fine: each level of the value is one level of the schema.
        json!({ "properties": { "a": { "type": "integer" }, "child": { "$ref": "#" } } }),
        // Words that are data, and a member that is called like a keyword.
        json!({ "properties": { "a": { "type": "integer", "default": { "$ref": "http://x/y" } }, "$ref": { "type": "string" } } }),
    ];
    for schema in ok {
        assert_eq!(said(asked(schema.clone(), json!({ "a": 1 }))), None, "{schema}");
        assert!(said(asked(schema.clone(), json!({ "a": "1" }))).unwrap().starts_with("arguments: `/a`"), "{schema}");
    }
    for (schema, why) in [
        (json!({ "$ref": "http://127.0.0.1:1/schema.json" }), "`http://127.0.0.1:1/schema.json` is not followed"),
        (json!({ "properties": { "a": { "$ref": "file:///etc/passwd" } } }), "`file:///etc/passwd` is not followed"),
        (json!({ "properties": { "a": { "$ref": "other.json#/x" } } }), "is not followed"),
        (json!({ "properties": { "a": { "$ref": "#/$defs/missing" } } }), "is not followed"),
        (json!({ "allOf": [{ "$ref": "#" }] }), "leads back to itself"),
        (json!({ "type": "objekt" }), "`/type`"),
        (json!({ "properties": { "a": { "pattern": "(" } } }), "/pattern"),
        (json!({ "properties": 7 }), "`/properties`: expected object, found integer"),
        (json!("object"), "neither an object nor a boolean"),
    ] {
        let told = said(asked(schema.clone(), json!({}))).unwrap_or_default();
        assert!(told.starts_with("unreadable: the input schema of crm/update cannot be checked: "), "{schema}: {told}");
        assert!(told.contains(why) && told.contains("`schema: off`"), "{schema}: {told}");
    }
}

#[test]
fn what_is_too_large_is_not_compiled() {
    let mut deep = json!({});
    for _ in 0..80 {
        deep = json!({ "properties": { "a": deep } });
    }
    let wide: serde_json::Map<_, _> = (0..6_000).map(|n| (format!("p{n}"), json!({}))).collect();
    let long = json!({ "description": "x".repeat(300 << 10) });
    let chain: serde_json::Map<_, _> = (0..100)
        .map(|n| (format!("c{n}"), json!({ "$ref": format!("#/$defs/c{}", n + 1) })))
        .chain([("c100".to_owned(), json!({}))])
        .collect();
    for (schema, why) in [
        (deep, "nested more than"),
        (json!({ "properties": wide }), "more than 5000 schemas"),
        (long, "larger than 256 KiB"),
        (json!({ "$ref": "#/$defs/c0", "$defs": chain }), "lead to one another"),
    ] {
        let Schema::Unreadable(told) = Compiler.compile(&schema) else { panic!("{why}") };
        assert!(told.contains(why), "{told}");
    }
}

/// Two alternatives that both lead on: every level of a value doubles the work, and thirty levels would take a day.
#[test]
fn alternatives_that_multiply_are_not_followed() {
    let doubling = json!({ "anyOf": [
        { "type": "object", "properties": { "a": { "$ref": "#" }, "x": false }, "required": ["a"] },
        { "type": "object", "properties": { "a": { "$ref": "#" }, "y": false }, "required": ["a"] },
        { "type": "integer" },
    ] });
    let nested = |depth| (0..depth).fold(json!("no integer"), |inner, _| json!({ "a": inner }));
    let told = said(asked(doubling.clone(), nested(40))).unwrap();
    assert!(told.contains("could not be checked in reasonable time"), "{told}");
    assert!(said(asked(doubling, nested(4))).unwrap().contains("expected"), "what is shallow is checked");
    // The same within one place.
    let halls: serde_json::Map<_, _> = (0..40)
        .map(|n| {
            let next = json!({ "$ref": format!("#/$defs/h{}", n + 1) });
            (format!("h{n}"), json!({ "anyOf": [next, next] }))
        })
        .chain([("h40".to_owned(), json!({ "type": "integer" }))])
        .collect();
    let told =
        said(asked(json!({ "properties": { "a": { "$ref": "#/$defs/h0" } }, "$defs": halls }), json!({ "a": "x" })));
    assert!(told.is_some(), "refused one way or the other, and soon");
}

/// On a stack as the gateway's threads have it: a schema that goes on and on is compiled, used and dropped.
#[test]
fn a_long_chain_of_places_overflows_nothing() {
    let defs: serde_json::Map<_, _> = (0..2_400)
        .map(|n| (format!("d{n}"), json!({ "properties": { "a": { "$ref": format!("#/$defs/d{}", n + 1) } } })))
        .chain([("d2400".to_owned(), json!({ "type": "integer" }))])
        .collect();
    let schema = json!({ "$ref": "#/$defs/d0", "$defs": defs });
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            let Schema::Compiled(compiled) = Compiler.compile(&schema) else { panic!("not compiled") };
            let value = (0..60).fold(json!(1), |inner, _| json!({ "a": inner }));
            assert!(compiled.check(&value, &Masked::default()).is_ok());
            drop(compiled);
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn patterns_cannot_run_away() {
    let schema = json!({ "properties": { "a": { "pattern": "^(?=(a+)+$)b" }, "b": { "pattern": "^(?!x)\\w+$" } } });
    let told = said(asked(schema.clone(), json!({ "a": format!("{}!", "a".repeat(5_000)) })));
    assert!(told.unwrap().starts_with("arguments: `/a`: expected a text that"));
    assert_eq!(said(asked(schema.clone(), json!({ "b": "yes" }))), None);
    assert!(said(asked(schema, json!({ "b": "xes" }))).is_some());
}

fn answered(output: Value, result: Value, handling: Handling) -> Option<String> {
    let definition = json!({ "name": "update", "inputSchema": {}, "outputSchema": output });
    let exchange = exchange(definition, json!({ "name": "update" }), handling);
    let reply = Reply::from_message(&Message::result(Id::from(1), result));
    said(Schemas.on_reply(&exchange, &reply, &Found::default()))
}

#[test]
fn an_answer_is_held_against_what_the_tool_promised() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    for (result, expected) in [
        (json!({ "content": [], "structuredContent": { "n": 1 } }), None),
        (
            json!({ "content": [], "structuredContent": { "n": "SECRET" } }),
            Some("`/n`: expected integer, found string"),
        ),
        (json!({ "content": [], "structuredContent": {} }), Some("`/n`: expected a value, found nothing")),
        (json!({ "content": [{ "type": "text", "text": "only words" }] }), None),
        // An upstream's own error is its own, whatever it looks like.
        (json!({ "content": [], "isError": true, "structuredContent": { "n": "x" } }), None),
        (json!({ "resultType": "input_required", "structuredContent": {} }), None),
        // Words that look like the member are not it.
        (json!({ "content": [{ "type": "text", "text": "\"structuredContent\"" }] }), None),
    ] {
        let told = answered(schema.clone(), result.clone(), Handling::default());
        let expected = expected.map(|text| format!("output: the answer does not fit its schema: {text}"));
        assert_eq!(told, expected, "{result}");
    }
    let off = Handling { schema_off: true, ..Handling::default() };
    assert_eq!(answered(schema, json!({ "structuredContent": {} }), off), None);
}

#[test]
fn an_operator_may_switch_it_off_and_what_is_unknown_is_not_judged() {
    let broken = json!({ "name": "update", "inputSchema": { "type": "objekt" } });
    let params = json!({ "name": "update", "arguments": {} });
    let off = Handling { schema_off: true, ..Handling::default() };
    assert_eq!(said(Schemas.on_request(&exchange(broken.clone(), params.clone(), off))), None);
    let mut unknown = exchange(broken, params.clone(), Handling::default());
    unknown.definition = None;
    assert_eq!(said(Schemas.on_request(&unknown)), None);
    let output = json!({ "name": "update", "inputSchema": {}, "outputSchema": { "type": "objekt" } });
    let told = said(Schemas.on_request(&exchange(output, params, Handling::default()))).unwrap();
    assert!(told.starts_with("unreadable: the output schema of crm/update"), "before anything is carried out: {told}");
}
