//! Each direction as a table: a message, and the same in the other era's words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25};
use serde_json::json;

use super::up_results::{Hints, Told};
use super::*;
use crate::error::RpcError;
use crate::message::{Outcome, Request};

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn request(method: &str, params: &Value) -> Request {
    Request { id: Id::from(1), method: method.into(), params: params.as_object().cloned() }
}

fn handshake(revision: Revision, capabilities: &Value) -> Handshake {
    Handshake { revision, capabilities: object(capabilities), client_info: json!({ "name": "c", "version": "1" }) }
}

fn server() -> Greeting {
    Greeting {
        revision: V2025_11_25,
        supported: vec![],
        capabilities: Map::new(),
        server_info: json!({ "name": "s", "version": "1" }),
        instructions: None,
    }
}

#[test]
fn a_modern_request_describes_its_client() {
    let meta = json!({
        meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: { "roots": {} }, meta::LOG_LEVEL: "info", "progressToken": 7,
    });
    let message = Message::request(1, "tools/list", Some(object(&json!({ "_meta": meta }))));
    let found = described(&message).unwrap();
    assert_eq!(Value::Object(found.capabilities.clone()), json!({ "roots": {} }));
    assert_eq!(
        (found.level, found.token.clone(), found.client_info.clone()),
        (Some(Level::Info), Some(Id::from(7)), None)
    );
    let params = Value::Object(found.handshake(V2025_06_18).to_params());
    assert_eq!((&params["protocolVersion"], &params["capabilities"]), (&json!("2025-06-18"), &json!({ "roots": {} })));
    let legacy = Message::request(1, "tools/list", Some(object(&json!({ "_meta": { "progressToken": 7 } }))));
    assert_eq!(described(&legacy), None);
}

#[test]
fn a_modern_request_loses_what_a_session_knows() {
    let described = json!({
        meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: {}, meta::CLIENT_INFO: {}, meta::LOG_LEVEL: "info",
        "progressToken": "theirs",
    });
    let mut vendor = described.clone();
    vendor["example.com/k"] = json!(1);
    vendor["traceparent"] = json!("00-0");
    let token = Id::from("ours");
    for (method, params, token, expected) in [
        ("tools/list", json!({ "_meta": described }), None, json!(null)),
        ("tools/list", json!({ "_meta": described, "cursor": "" }), None, json!({ "cursor": "" })),
        ("tools/list", json!({ "_meta": described }), Some(&token), json!({ "_meta": { "progressToken": "ours" } })),
        ("tools/list", json!({ "_meta": 5 }), None, json!(null)),
        (
            "tools/call",
            json!({ "name": "t", "arguments": { "requestState": 1 }, "requestState": "s", "inputResponses": {}, "task": {}, "_meta": vendor }),
            None,
            json!({ "name": "t", "arguments": { "requestState": 1 }, "_meta": { "example.com/k": 1, "traceparent": "00-0" } }),
        ),
        ("vendor/x", json!({ "a": 1, "_meta": described }), None, json!({ "a": 1 })),
    ] {
        let sent = down::request(&request(method, &params), Id::from("own"), token).unwrap();
        assert_eq!((sent.id, &*sent.method), (Id::from("own"), method));
        assert_eq!(sent.params.map_or(Value::Null, Value::Object), expected, "{params}");
    }
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/get",
        "server/discover",
        "subscriptions/listen",
    ] {
        let refused = down::request(&request(method, &json!({})), Id::from(2), None);
        assert_eq!(refused, Err(down::Gone::NotThere), "{method}");
    }
}

#[test]
fn a_legacy_request_describes_its_client_anew() {
    let declared = json!({
        "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": { "listChanged": true },
        "experimental": { "x": {} }, "tasks": {}, "extensions": {}, "odd": 1,
    });
    let kept = json!({
        "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {}, "experimental": { "x": {} },
    });
    let plain = json!({ "elicitation": {}, "sampling": {}, "roots": {}, "experimental": { "x": {} } });
    for (revision, capabilities) in [(V2025_11_25, &kept), (V2025_06_18, &plain)] {
        let handshake = handshake(revision, &declared);
        let params = json!({ "name": "t", "task": { "ttl": 1 }, "_meta": { "v": 1, "progressToken": 9 } });
        let sent = up::request(
            &request("tools/call", &params),
            Id::from("own"),
            Some(&Id::from("p")),
            &handshake,
            Some(Level::Error),
        );
        assert_eq!(sent.id, Id::from("own"));
        let meta = json!({
            "v": 1, meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: capabilities,
            meta::CLIENT_INFO: { "name": "c", "version": "1" }, meta::LOG_LEVEL: "error", "progressToken": "p",
        });
        assert_eq!(Value::Object(sent.params.unwrap()), json!({ "name": "t", "_meta": meta }));
    }
    let silent = json!({ "roots": {} });
    for (revision, declared) in [(V2025_06_18, &silent), (V2025_03_26, &json!({ "roots": {}, "elicitation": {} }))] {
        let capabilities = up::capabilities(&handshake(revision, &silent));
        assert_eq!(
            Value::Object(capabilities),
            *declared,
            "{revision}: before there were forms nobody could decline them"
        );
    }
    let nobody = Handshake::of_initialize(&Map::new());
    let sent = up::request(&request("tools/list", &json!(null)), Id::from(2), None, &nobody, None);
    let meta = json!({ meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: {} });
    assert_eq!(Value::Object(sent.params.unwrap()), json!({ "_meta": meta }));
}

#[test]
fn a_retry_is_the_call_with_answers() {
    let first = request("tools/call", &json!({ "name": "t", "requestState": "old", "inputResponses": { "x": {} } }));
    for (answers, state, expected) in [
        (
            json!({ "a": { "action": "accept" } }),
            Some("s"),
            json!({ "name": "t", "requestState": "s", "inputResponses": { "a": { "action": "accept" } } }),
        ),
        (json!({}), Some("s"), json!({ "name": "t", "requestState": "s" })),
        (json!({}), None, json!({ "name": "t" })),
    ] {
        let retry = up::retry(&first, Id::from(2), object(&answers), state.map(Into::into));
        assert_eq!((retry.id, Value::Object(retry.params.unwrap())), (Id::from(2), expected));
    }
}

#[test]
fn answers_cross_both_ways() {
    use InputKind::{Elicitation, Roots, Sampling};
    let failed = || Outcome::Error(RpcError::new(-1, "no"));
    let cancel = json!({ "action": "cancel" });
    let block = json!({ "type": "text", "text": "x" });
    let said = |content: &Value| json!({ "role": "assistant", "model": "m", "content": content });
    for (kind, outcome, expected) in [
        (Elicitation, Outcome::Result(json!({ "action": "decline" })), Ok(json!({ "action": "decline" }))),
        (
            Elicitation,
            Outcome::Result(json!({ "action": "decline", "content": null })),
            Ok(json!({ "action": "decline" })),
        ),
        (Elicitation, Outcome::Result(json!({})), Ok(cancel.clone())),
        (Elicitation, failed(), Ok(cancel.clone())),
        (Roots, Outcome::Result(json!({ "roots": [] })), Ok(json!({ "roots": [] }))),
        (Roots, Outcome::Result(json!({})), Err(-32602)),
        (Roots, failed(), Err(-1)),
        (Sampling, Outcome::Result(said(&json!([block]))), Ok(said(&block))),
        (Sampling, failed(), Err(-1)),
    ] {
        assert_eq!(up::answer(kind, &outcome).map_err(|error| error.code), expected, "{kind:?} {outcome:?}");
    }
    for (kind, response, expected) in [
        (
            Elicitation,
            json!({ "action": "accept", "content": { "a": 1 } }),
            json!({ "action": "accept", "content": { "a": 1 } }),
        ),
        (Elicitation, json!("yes"), cancel),
        (Roots, json!({ "roots": [], "resultType": "complete" }), json!({ "roots": [] })),
        (Sampling, said(&json!([block, block])), said(&json!([block, block]))),
        (Sampling, said(&json!([block])), said(&block)),
        (Roots, json!(7), json!(7)),
    ] {
        assert_eq!(down::answer(kind, &response), expected, "{kind:?} {response}");
    }
}

#[test]
fn a_legacy_result_becomes_a_complete_one() {
    let signed = json!({ meta::SERVER_INFO: { "name": "s", "version": "1" } });
    for (method, result, expected) in [
        ("tools/call", json!({ "content": [] }), json!({ "content": [], "resultType": "complete", "_meta": signed })),
        (
            "tools/call",
            json!({ "content": [], "resultType": "input_required" }),
            json!({ "content": [], "resultType": "complete", "_meta": signed }),
        ),
        (
            "tools/list",
            json!({ "tools": [{ "name": "t", "execution": {} }], "nextCursor": "" }),
            json!({ "tools": [{ "name": "t" }], "nextCursor": "", "resultType": "complete", "ttlMs": 5, "cacheScope": "private", "_meta": signed }),
        ),
        ("vendor/x", json!([1]), json!([1])),
    ] {
        assert_eq!(up_results::result(method, result, &server(), Hints { ttl_ms: 5 }), expected, "{method}");
    }
    let many = json!({ "completion": { "values": vec!["v"; 101] } });
    let many = up_results::result("completion/complete", many, &server(), Hints::default());
    assert_eq!(
        (many["completion"]["values"].as_array().unwrap().len(), &many["completion"]["hasMore"]),
        (100, &json!(true))
    );
}

#[test]
fn legacy_errors_are_told_in_modern_codes() {
    for (code, expected, status) in [
        (-32601, -32601, 404),
        (-32002, -32602, 200),
        (-32042, -32603, 200),
        (-32020, -32020, 400),
        (-32000, -32000, 200),
        (7, 7, 200),
    ] {
        let error = RpcError::new(code, "no").with_data(json!({ "uri": "a:b" }));
        let told = up_results::error("resources/read", &error);
        assert_eq!(told, Told::Error { error: RpcError { code: expected, ..error }, status }, "{code}");
    }
    let urls = RpcError::new(-32042, "first visit").with_data(
        json!({ "elicitations": [{ "mode": "url", "elicitationId": "e", "message": "go", "url": "https://a.example/" }] }),
    );
    let Told::Ask(inputs) = up_results::error("tools/call", &urls) else { panic!("a question") };
    let result = asking(inputs, None, &server());
    let asked = json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "go", "url": "https://a.example/" } });
    assert_eq!(result["inputRequests"], json!({ "elicitation-1": asked }));
    assert!(matches!(up_results::error("tools/list", &urls), Told::Error { .. }), "a list may not ask");
    assert_eq!(down_results::error(RpcError::new(-32022, "no")).code, -32603);
    assert_eq!(down_results::error(RpcError::new(-32602, "no")).code, -32602);
}

#[test]
fn a_modern_result_is_said_in_older_words() {
    let text = |said: &str| json!({ "type": "text", "text": said });
    let link = json!({ "type": "resource_link", "name": "n", "uri": "a:b", "title": "T", "icons": [] });
    let audio = json!({ "type": "audio", "data": "", "mimeType": "audio/wav" });
    let no_audio = text("[audio/wav left out: the protocol version of this session has no audio]");
    let tool = json!({
        "name": "t", "title": "T", "icons": [], "_meta": { "v": 1 }, "annotations": { "title": "A" }, "vendor": 1,
        "inputSchema": { "type": "object", "properties": { "a": true, "b": false } },
        "outputSchema": { "type": "object" },
    });
    let plain = json!({ "type": "object", "properties": { "a": {}, "b": { "not": {} } } });
    for (method, to, result, expected) in [
        ("tools/call", V2025_11_25, json!({ "content": [link] }), json!({ "content": [link] })),
        (
            "tools/call",
            V2025_06_18,
            json!({ "content": [link] }),
            json!({ "content": [{ "type": "resource_link", "name": "n", "uri": "a:b", "title": "T" }] }),
        ),
        ("tools/call", V2025_03_26, json!({ "content": [link, audio] }), json!({ "content": [text("n: a:b"), audio] })),
        ("tools/call", V2024_11_05, json!({ "content": [audio] }), json!({ "content": [no_audio] })),
        (
            "tools/call",
            V2025_06_18,
            json!({ "content": [], "structuredContent": { "a": 1 } }),
            json!({ "content": [], "structuredContent": { "a": 1 } }),
        ),
        (
            "tools/call",
            V2025_11_25,
            json!({ "content": [], "structuredContent": [1] }),
            json!({ "content": [text("[1]")] }),
        ),
        (
            "tools/call",
            V2025_03_26,
            json!({ "content": [text("x")], "structuredContent": { "a": 1 } }),
            json!({ "content": [text("x")] }),
        ),
        (
            "tools/list",
            V2024_11_05,
            json!({ "tools": [tool] }),
            json!({ "tools": [{ "name": "t", "vendor": 1, "inputSchema": plain }] }),
        ),
        (
            "tools/list",
            V2025_06_18,
            json!({ "tools": [{ "name": "t", "icons": [], "title": "T", "outputSchema": { "type": "array" } }] }),
            json!({ "tools": [{ "name": "t", "title": "T" }] }),
        ),
        (
            "prompts/list",
            V2025_03_26,
            json!({ "prompts": [{ "name": "p", "title": "P", "arguments": [{ "name": "a", "title": "A" }] }] }),
            json!({ "prompts": [{ "name": "p", "arguments": [{ "name": "a" }] }] }),
        ),
        (
            "resources/list",
            V2025_03_26,
            json!({ "resources": [{ "name": "r", "uri": "a:b", "_meta": {}, "annotations": { "lastModified": "x", "priority": 1 } }] }),
            json!({ "resources": [{ "name": "r", "uri": "a:b", "annotations": { "priority": 1 } }] }),
        ),
        (
            "resources/read",
            V2025_03_26,
            json!({ "contents": [{ "uri": "a:b", "text": "", "_meta": {} }], "_meta": { "v": 1, meta::SERVER_INFO: {} } }),
            json!({ "contents": [{ "uri": "a:b", "text": "" }], "_meta": { "v": 1 } }),
        ),
        (
            "prompts/get",
            V2025_03_26,
            json!({ "messages": [{ "role": "user", "content": link }] }),
            json!({ "messages": [{ "role": "user", "content": text("n: a:b") }] }),
        ),
        ("vendor/x", V2024_11_05, json!([1]), json!([1])),
    ] {
        let mut modern = result;
        if let Value::Object(modern) = &mut modern {
            modern.extend(object(&json!({ "resultType": "complete", "ttlMs": 1, "cacheScope": "public" })));
        }
        assert_eq!(down_results::result(method, modern, to), expected, "{method} to {to}");
    }
}

#[test]
fn notifications_cross_or_stay_behind() {
    let news =
        |method: &str, params: &Value| Notification { method: method.into(), params: params.as_object().cloned() };
    let down = |method: &str, params: Value, to| {
        down_results::notification(news(method, &params), to).map(|told| told.params.map_or(Value::Null, Value::Object))
    };
    let progress = json!({ "progressToken": 1, "progress": 1, "message": "m" });
    for (method, params, to, expected) in [
        (
            "notifications/tools/list_changed",
            json!({ "_meta": { meta::SUBSCRIPTION_ID: 1 } }),
            V2025_11_25,
            Some(json!(null)),
        ),
        (
            "notifications/resources/updated",
            json!({ "uri": "a:b", "_meta": { meta::SUBSCRIPTION_ID: 1, "v": 1 } }),
            V2024_11_05,
            Some(json!({ "uri": "a:b", "_meta": { "v": 1 } })),
        ),
        ("notifications/progress", progress.clone(), V2025_03_26, Some(progress.clone())),
        ("notifications/progress", progress, V2024_11_05, Some(json!({ "progressToken": 1, "progress": 1 }))),
        ("notifications/subscriptions/acknowledged", json!({}), V2025_11_25, None),
        ("notifications/cancelled", json!({ "requestId": 1 }), V2025_11_25, None),
        ("notifications/tasks", json!({}), V2025_11_25, None),
        ("notifications/vendor", json!({ "a": 1 }), V2024_11_05, Some(json!({ "a": 1 }))),
    ] {
        assert_eq!(down(method, params, to), expected, "{method} to {to}");
    }
    for (method, told) in [
        ("notifications/progress", true),
        ("notifications/message", true),
        ("notifications/vendor", true),
        ("notifications/cancelled", false),
        ("notifications/elicitation/complete", false),
        ("notifications/tasks/status", false),
    ] {
        assert_eq!(up_results::notification(news(method, &json!({}))).is_some(), told, "{method}");
    }
    let report = under_token(news("notifications/progress", &json!({ "progressToken": "ours" })), &Id::from(7));
    assert_eq!(report.params.unwrap()["progressToken"], 7);
}
