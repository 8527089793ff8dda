//! One server, asked in every revision: what comes back, with which status, and what is left out.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::exchange::ToolSubject;
use gateway_core::matrix::Matrix;
use gateway_core::ports::{Answered, Content, Upstream};
use gateway_core::{
    Ask, Chain, Exchange, Judge, Permit, Plugin, PluginMode, Policies, Principal, Route, Subject, ToolName, TraceId,
    Verdict,
};
use gateway_protocol::{Message, Revision};
use serde_json::{Map, Value, json};

use super::*;

struct Everything;

impl Judge for Everything {
    fn name(&self) -> &'static str {
        "everything"
    }

    fn on_request(&self, _: &Exchange) -> Verdict {
        Verdict::Grant
    }
}

fn permit(ask: Ask, revision: Option<Revision>, tool: Option<&str>) -> Permit {
    let subject = tool
        .map_or(Subject::Plain, |name| Subject::Tool(ToolSubject::new(name.parse::<ToolName>().unwrap(), None, false)));
    let (trace_id, route) = (TraceId::from_uuid(uuid::Uuid::nil()), Route::One("echo".parse().unwrap()));
    let plain = Exchange::new(trace_id, Arc::new(Principal::anonymous()), route, ask, subject);
    let exchange = Exchange { revision, ..plain };
    let policies = Policies::new(BTreeMap::new(), Matrix::standard());
    let chain = Chain::new(vec![(Plugin::Judge(Box::new(Everything)), PluginMode::Enforce)], Arc::new(policies));
    chain.admit(Box::new(exchange)).unwrap_or_else(|_| panic!("everything is granted")).0
}

struct Echo(ToolSpec);

#[async_trait]
impl BuiltinTool for Echo {
    fn definition(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        match arguments.get("say").and_then(Value::as_str) {
            Some("no") => Err(ToolFailure::new("I would rather not")),
            _ => Ok(Value::Object(arguments.clone())),
        }
    }
}

fn server(tools: usize) -> BuiltinServer {
    let tool = |n: usize| -> Box<dyn BuiltinTool> {
        Box::new(Echo(ToolSpec {
            name: format!("echo_{n}"),
            title: "Echo".into(),
            description: "Says what it is told.".into(),
            input_schema: json!({ "type": "object", "properties": { "say": { "type": "string" } }, "required": ["say"] }),
            output_schema: Some(json!({ "type": "object" })),
            annotations: annotations::reads(),
        }))
    };
    BuiltinServer::new("echo", "portreeve-echo", Some("Speak."), (0..tools).map(tool).collect()).unwrap()
}

async fn ask(server: &BuiltinServer, revision: Option<Revision>, method: &str, params: Value) -> (u16, Value) {
    let tool = (method == "tools/call").then(|| format!("echo/{}", params["name"].as_str().unwrap_or("none")));
    let message = Message::request(1, method, params.as_object().cloned());
    let answered = server.call(&permit(Ask::Message(message), revision, tool.as_deref())).await.unwrap();
    assert!(answered.session.is_none(), "a built-in keeps no session");
    let Content::One(reply) = answered.content else { panic!("one reply to {method}") };
    (answered.status, serde_json::from_slice(reply.raw()).unwrap())
}

#[tokio::test]
async fn a_legacy_handshake_keeps_the_clients_revision_when_it_is_known() {
    let server = server(1);
    for (wished, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let revision = wished.parse().ok();
        let (status, reply) = ask(&server, revision, "initialize", json!({ "protocolVersion": wished })).await;
        let expected = json!({
            "protocolVersion": agreed,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "portreeve-echo", "version": env!("CARGO_PKG_VERSION") },
            "instructions": "Speak.",
        });
        assert_eq!((status, &reply["result"]), (200, &expected), "{wished}");
    }
    let modern = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    let (status, reply) = ask(&server, Some(Revision::V2026_07_28), "initialize", modern).await;
    assert_eq!((status, reply["error"]["code"].as_i64()), (404, Some(-32601)));
}

#[tokio::test]
async fn a_modern_client_discovers() {
    let server = server(1);
    for revision in [None, Some(Revision::V2026_07_28)] {
        let (status, reply) = ask(&server, revision, "server/discover", json!({})).await;
        let info = json!({ "name": "portreeve-echo", "version": env!("CARGO_PKG_VERSION") });
        let expected = json!({
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": { "tools": {} },
            "instructions": "Speak.",
            "ttlMs": 0,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": { "io.modelcontextprotocol/serverInfo": info },
        });
        assert_eq!((status, &reply["result"]), (200, &expected));
    }
}

#[tokio::test]
async fn what_an_era_does_not_know_is_not_found_there() {
    let server = server(1);
    for (revision, method, status, code) in [
        (Some(Revision::V2025_11_25), "ping", 200, None),
        (None, "ping", 200, None),
        (Some(Revision::V2026_07_28), "ping", 404, Some(-32601)),
        (Some(Revision::V2025_11_25), "server/discover", 200, Some(-32601)),
        (Some(Revision::V2025_11_25), "prompts/list", 200, Some(-32601)),
        (Some(Revision::V2026_07_28), "prompts/list", 404, Some(-32601)),
    ] {
        let (got, reply) = ask(&server, revision, method, json!({})).await;
        assert_eq!((got, reply["error"]["code"].as_i64()), (status, code), "{method} in {revision:?}");
        if code.is_none() {
            assert_eq!(reply["result"], json!({}));
        }
    }
}

struct Shelf;

#[async_trait]
impl BuiltinResources for Shelf {
    fn list(&self) -> Vec<ResourceSpec> {
        let text = || "Book".to_owned();
        vec![ResourceSpec {
            uri: "echo://book".into(),
            name: text(),
            title: text(),
            description: text(),
            mime_type: "text/plain",
        }]
    }

    fn templates(&self) -> Vec<ResourceSpec> {
        self.list().into_iter().map(|spec| ResourceSpec { uri: "echo://{book}".into(), ..spec }).collect()
    }

    async fn read(&self, _: &Principal, uri: &str) -> Result<Contents, Unread> {
        match uri {
            "echo://book" => Ok(Contents { mime_type: "text/plain", text: "once".into() }),
            "echo://lost" => Err(Unread::Failed(ToolFailure::new("not today"))),
            _ => Err(Unread::NotThere),
        }
    }
}

// acceptance 28: lists and templates in every revision's shape.
#[tokio::test]
async fn what_can_be_read_is_listed_in_every_revision() {
    let server = server(1).with_resources(Shelf);
    for (revision, titled, modern) in [
        (None, false, false),
        (Some(Revision::V2024_11_05), false, false),
        (Some(Revision::V2025_03_26), false, false),
        (Some(Revision::V2025_06_18), true, false),
        (Some(Revision::V2025_11_25), true, false),
        (Some(Revision::V2026_07_28), true, true),
    ] {
        for (method, key, place, uri) in [
            ("resources/list", "resources", "uri", "echo://book"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate", "echo://{book}"),
        ] {
            let (status, reply) = ask(&server, revision, method, json!({})).await;
            let (result, entry) = (&reply["result"], &reply["result"][key][0]);
            assert_eq!(
                (status, &entry[place], &entry["mimeType"]),
                (200, &json!(uri), &json!("text/plain")),
                "{reply}"
            );
            assert_eq!(entry.get("title").is_some(), titled, "{revision:?}");
            assert_eq!((result.get("ttlMs").is_some(), result.get("resultType").is_some()), (modern, modern));
            let (_, reply) = ask(&server, revision, method, json!({ "cursor": "x" })).await;
            assert_eq!(reply["error"]["code"], -32602);
        }
        let (_, reply) = ask(&server, revision, "resources/read", json!({ "uri": "echo://book" })).await;
        let contents = json!([{ "uri": "echo://book", "mimeType": "text/plain", "text": "once" }]);
        assert_eq!(reply["result"]["contents"], contents);
        assert_eq!(reply["result"].get("cacheScope").is_some(), modern);
    }
    let (_, reply) = ask(&server, Some(Revision::V2025_11_25), "initialize", json!({})).await;
    assert_eq!(reply["result"]["capabilities"], json!({ "tools": {}, "resources": {} }));
}

// acceptance 30: what is not there has each era's own code, and says what was asked for.
#[tokio::test]
async fn what_cannot_be_read_says_so_in_the_words_of_its_era() {
    let shelf = server(1).with_resources(Shelf);
    for (revision, uri, code) in [
        (Some(Revision::V2025_11_25), "echo://none", -32002),
        (Some(Revision::V2024_11_05), "echo://none", -32002),
        (Some(Revision::V2026_07_28), "echo://none", -32602),
        (Some(Revision::V2025_11_25), "echo://lost", -32603),
    ] {
        let (status, reply) = ask(&shelf, revision, "resources/read", json!({ "uri": uri })).await;
        assert_eq!((status, &reply["error"]["code"]), (200, &json!(code)), "{reply}");
        assert_eq!(reply["error"]["data"], json!({ "uri": uri }));
    }
    let (_, reply) = ask(&shelf, None, "resources/read", json!({})).await;
    assert_eq!(reply["error"]["code"], -32602);
    let (_, reply) = ask(&server(1), None, "resources/list", json!({})).await;
    assert_eq!(reply["error"]["code"], -32601, "a server without resources has no such method");
}

#[tokio::test]
async fn a_call_is_answered_in_the_shape_of_its_revision() {
    let server = server(1);
    let params = json!({ "name": "echo_0", "arguments": { "say": "yes" } });
    for (revision, structured, modern) in [
        (None, false, false),
        (Some(Revision::V2024_11_05), false, false),
        (Some(Revision::V2025_03_26), false, false),
        (Some(Revision::V2025_06_18), true, false),
        (Some(Revision::V2025_11_25), true, false),
        (Some(Revision::V2026_07_28), true, true),
    ] {
        let (status, reply) = ask(&server, revision, "tools/call", params.clone()).await;
        let result = &reply["result"];
        assert_eq!(status, 200);
        assert_eq!(result["content"], json!([{ "type": "text", "text": "{\"say\":\"yes\"}" }]));
        assert_eq!(result.get("structuredContent").is_some(), structured, "{revision:?}");
        assert_eq!(result.get("resultType").is_some(), modern, "{revision:?}");
        assert_eq!(result.get("isError"), None);
    }
}

#[tokio::test]
async fn a_tool_that_cannot_says_so_to_the_model_and_a_tool_that_is_not_there_to_the_client() {
    let server = server(1);
    let revision = Some(Revision::V2025_11_25);
    for (params, text) in [
        (json!({ "name": "echo_0", "arguments": { "say": "no" } }), "I would rather not"),
        (json!({ "name": "echo_0" }), "Missing required fields: say"),
        (json!({ "name": "echo_0", "arguments": { "say": 1 } }), "Invalid say: expected string"),
    ] {
        let (status, reply) = ask(&server, revision, "tools/call", params).await;
        let expected = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
        assert_eq!((status, &reply["result"]), (200, &expected));
    }
    for (params, message) in [
        (json!({ "name": "echo_9" }), "Unknown tool: echo_9"),
        (json!({ "arguments": {} }), "`name` must be a string"),
        (json!({ "name": "echo_0", "arguments": [1] }), "`arguments` must be an object"),
    ] {
        let (status, reply) = ask(&server, revision, "tools/call", params).await;
        assert_eq!((status, &reply["error"]), (200, &json!({ "code": -32602, "message": message })));
    }
}

#[tokio::test]
async fn what_runs_is_what_was_judged() {
    let server = server(2);
    let call = |name: &str, judged: Option<&str>| {
        let params = json!({ "name": name, "arguments": { "say": "yes" } });
        permit(Ask::Message(Message::request(1, "tools/call", params.as_object().cloned())), None, judged)
    };
    for (name, judged, runs) in
        [("echo__echo_1", Some("echo/echo_1"), true), ("echo_1", Some("other/echo_1"), false), ("echo_1", None, false)]
    {
        let Answered { content: Content::One(reply), .. } = server.call(&call(name, judged)).await.unwrap() else {
            panic!("one reply")
        };
        let reply: Value = serde_json::from_slice(reply.raw()).unwrap();
        assert_eq!(reply.get("result").is_some(), runs, "{name} judged as {judged:?}");
    }
}

#[tokio::test]
async fn nothing_is_said_to_what_asks_nothing() {
    let server = server(1);
    for (ask, status) in [
        (Ask::Message(Message::notification("notifications/initialized", None)), 202),
        (Ask::Message(Message::result(1.into(), json!({}))), 202),
        (Ask::Listen { last_event_id: None }, 405),
        (Ask::EndSession, 405),
    ] {
        let answered = server.call(&permit(ask, None, None)).await.unwrap();
        assert!(matches!(answered.content, Content::Nothing));
        assert_eq!(answered.status, status);
    }
}

#[tokio::test]
async fn a_long_list_comes_in_pages_and_each_tool_once() {
    let server = server(1_203);
    let mut seen = Vec::new();
    let mut params = json!({});
    loop {
        let (_, reply) = ask(&server, Some(Revision::V2026_07_28), "tools/list", params).await;
        let result = &reply["result"];
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
        assert_eq!(result["resultType"], "complete");
        seen.extend(result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        let Some(next) = result.get("nextCursor") else { break };
        params = json!({ "cursor": next });
    }
    assert_eq!(seen, (0..1_203).map(|n| format!("echo_{n}")).collect::<Vec<_>>());
    for cursor in
        [json!(""), json!("from-0"), json!("from-1"), json!("from-0500"), json!("from-1500"), json!("x"), json!(500)]
    {
        let (status, reply) = ask(&server, None, "tools/list", json!({ "cursor": cursor })).await;
        assert_eq!((status, reply["error"]["code"].as_i64()), (200, Some(-32602)), "{cursor}");
    }
}
