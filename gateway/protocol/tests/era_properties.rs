//! What holds for every message that crosses between the eras: nothing panics, and what goes up comes down again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "properties/any.rs"]
mod any;

use any::{id, text, tree};
use gateway_protocol::era::{self, Filter, Greeting, Handshake, InputKind, Level};
use gateway_protocol::headers::{self, McpHeaders};
use gateway_protocol::{Message, Notification, Outcome, Request, Revision, RpcError};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

/// A key that the translation looks at, or any.
fn era_key() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        prop_oneof![Just("_meta"), Just("content"), Just("type"), Just("tools"), Just("messages"), Just("contents")],
        prop_oneof![Just("inputRequests"), Just("requestState"), Just("resultType"), Just("method"), Just("params")],
        prop_oneof![
            Just("inputSchema"),
            Just("outputSchema"),
            Just("properties"),
            Just("x-mcp-header"),
            Just("required")
        ],
        prop_oneof![
            Just("mode"),
            Just("message"),
            Just("requestedSchema"),
            Just("oneOf"),
            Just("url"),
            Just("maxTokens")
        ],
        prop_oneof![
            Just("annotations"),
            Just("structuredContent"),
            Just("completion"),
            Just("values"),
            Just("elicitations")
        ],
        prop_oneof![Just("capabilities"), Just("protocolVersion"), Just("supportedVersions"), Just("notifications")],
        prop_oneof![
            Just("resourceSubscriptions"),
            Just("progressToken"),
            Just("resources"),
            Just("roots"),
            Just("action")
        ],
    ];
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => text()]
}

fn era_leaf() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        prop_oneof![Just("text"), Just("audio"), Just("resource_link"), Just("resource"), Just("tool_result")],
        prop_oneof![Just("object"), Just("array"), Just("string"), Just("url"), Just("form"), Just("input_required")],
        prop_oneof![
            Just("2026-07-28"),
            Just("2025-06-18"),
            Just("elicitation/create"),
            Just("roots/list"),
            Just("accept")
        ],
    ];
    prop_oneof![
        word.prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::Null)
    ]
}

/// Trees that look like MCP's, with everything in the wrong place.
fn era_tree() -> impl Strategy<Value = Value> {
    era_leaf().prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((era_key(), inner), 0..6).prop_map(|members| Value::Object(members.into_iter().collect()))
        ]
    })
}

fn era_method() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        prop_oneof![
            Just("tools/call"),
            Just("tools/list"),
            Just("prompts/get"),
            Just("prompts/list"),
            Just("resources/read")
        ],
        prop_oneof![
            Just("resources/list"),
            Just("resources/templates/list"),
            Just("completion/complete"),
            Just("vendor/x")
        ],
        prop_oneof![
            Just("notifications/progress"),
            Just("notifications/message"),
            Just("notifications/resources/updated")
        ],
    ];
    known.prop_map(str::to_owned)
}

fn revision() -> impl Strategy<Value = Revision> {
    (0..Revision::ALL.len()).prop_map(|index| Revision::ALL[index])
}

fn object(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

/// A legacy request: no modern words in it, and a `_meta` that is one.
fn legacy_request() -> impl Strategy<Value = Request> {
    let meta = vec((text(), tree()), 0..3);
    (id(), era_method(), vec((text(), tree()), 0..4), meta).prop_map(|(id, method, params, meta)| {
        let mut params: Map<String, Value> = params.into_iter().collect();
        if !meta.is_empty() {
            params.insert("_meta".into(), Value::Object(meta.into_iter().collect()));
        }
        Request { id, method, params: Some(params).filter(|params| !params.is_empty()) }
    })
}

proptest! {
    #[test]
    fn a_legacy_request_comes_back_from_the_modern_era(request in legacy_request(), own in id(), token in proptest::option::of(id()), said in era_tree(), revision in revision()) {
        let handshake = Handshake { revision, capabilities: object(&said).unwrap_or_default(), client_info: said };
        let risen = era::up::request(&request, own.clone(), token.as_ref(), &handshake, Some(Level::Info));
        prop_assert!(headers::check_meta(&Message::Request(risen.clone())).is_ok());
        prop_assert_eq!(era::described(&Message::Request(risen.clone())).unwrap().token, token);
        let asked_again = era::up::retry(&risen, own, Map::from_iter([("k".to_owned(), Value::Null)]), Some("s".into()));
        for modern in [risen, asked_again] {
            prop_assert_eq!(era::down::request(&modern, request.id.clone(), None).unwrap(), request.clone());
        }
    }

    #[test]
    fn a_complete_legacy_result_comes_back_from_the_modern_era(members in vec((text(), tree()), 0..4), server in era_tree()) {
        let mut result: Map<String, Value> = members.into_iter().collect();
        result.shift_remove("resultType");
        let result = Value::Object(result);
        let greeting = Greeting { revision: Revision::LATEST_LEGACY, supported: vec![], capabilities: Map::new(), server_info: server, instructions: None };
        let risen = era::up_results::result("vendor/x", result.clone(), &greeting, Default::default());
        prop_assert_eq!(&risen["resultType"], "complete");
        prop_assert_eq!(era::down_results::result("vendor/x", risen, Revision::LATEST_LEGACY), result);
    }

    #[test]
    fn no_tree_makes_the_translation_panic(tree in era_tree(), other in era_tree(), method in era_method(), to in revision(), own in id()) {
        let handshake = Handshake::of_initialize(&object(&tree).unwrap_or_default());
        let _ = handshake.to_params();
        let greeting = Greeting::of_initialize(&tree).or_else(|| Greeting::of_discover(&tree)).unwrap_or(Greeting {
            revision: to, supported: vec![], capabilities: object(&tree).unwrap_or_default(), server_info: other.clone(), instructions: None,
        });
        let _ = (greeting.to_discover(), greeting.to_initialize(Some(to.as_str())));
        let request = Request { id: own.clone(), method: method.clone(), params: object(&tree) };
        let _ = era::described(&Message::Request(request.clone()));
        let _ = era::down::request(&request, own.clone(), Some(&own));
        let _ = era::up::request(&request, own.clone(), Some(&own), &handshake, None);
        let _ = era::down_results::result(&method, tree.clone(), to);
        let _ = era::up_results::result(&method, tree.clone(), &greeting, Default::default());
        let _ = era::up_results::error(&method, &RpcError { code: -32042, message: String::new(), data: Some(tree.clone()) });
        let notification = Notification { method, params: object(&tree) };
        let _ = (Level::of(&notification), era::down_results::notification(notification.clone(), to));
        let _ = era::tagged(era::under_token(notification.clone(), &own), &own);
        if let Some(filter) = Filter::of(&object(&tree).unwrap_or_default()) {
            let _ = (filter.wants(&notification), era::acknowledged(&filter.within(&greeting), &own));
        }
        if let Some(asked) = era::input_required(&tree) {
            let _ = era::asking(asked.inputs, asked.state.as_deref(), &greeting);
        }
        for kind in InputKind::ALL {
            let _ = era::question(kind, object(&tree).as_ref(), own.clone(), to);
            let _ = kind.may_ask(object(&tree).as_ref(), &object(&other).unwrap_or_default());
            let _ = (era::down::answer(kind, &tree), era::up::answer(kind, &Outcome::Result(tree.clone())));
        }
        let mirrored = headers::mirrored(&tree);
        let derived = headers::derive_mirrored(&mirrored, Some(&other));
        let headers = McpHeaders::collect(derived.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        prop_assert!(headers::check_mirrored(&headers, &mirrored, Some(&other)).is_ok());
    }
}
