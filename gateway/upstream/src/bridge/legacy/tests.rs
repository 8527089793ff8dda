#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod news;
mod rounds;

use gateway_core::session::Session;
use gateway_core::{Home, Subject, TraceId};
use uuid::Uuid;

use super::super::testing_modern::{FakeModern, Said, bridge, greeted, legacy_client};
use super::*;
use crate::bridge::Bridge;
use crate::stack::Protocol;
use crate::testing::{Client, admit, next, one, stream};

async fn ready(capabilities: &Value, revision: &str) -> (Arc<FakeModern>, Bridge, Client) {
    let upstream = FakeModern::only();
    let bridge = bridge(&upstream, Protocol::Auto);
    let client = greeted(&bridge, capabilities, revision).await;
    (upstream, bridge, client)
}

fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

#[tokio::test]
async fn the_gateway_shakes_hands_itself() {
    let upstream = FakeModern::only();
    let bridge = bridge(&upstream, Protocol::Modern);
    let client = legacy_client();
    let hello = super::super::testing_modern::hello(&json!({ "roots": {} }), "2025-06-18");
    let answered = bridge.call(&client.message(&hello)).await.unwrap();
    assert_eq!(
        one(&answered),
        json!({ "jsonrpc": "2.0", "id": "hello", "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true } },
            "serverInfo": { "name": "fake", "version": "1" },
        } })
    );
    let opened = answered.session.unwrap();
    assert!(opened.pinned, "its state is in this process");
    let client = Client { session: Some(opened.id), ..client };
    let said = bridge.call(&client.message(&notification("notifications/initialized", &json!({})))).await.unwrap();
    assert_eq!(said.status, 202);
    let ping = bridge.call(&client.request(1, "ping", json!({}))).await.unwrap();
    assert_eq!(one(&ping)["result"], json!({}));
    assert_eq!(upstream.methods(), ["server/discover"], "none of it concerns the upstream");
}

#[tokio::test]
async fn each_request_describes_the_client_and_each_answer_fits_it() {
    let (upstream, bridge, client) = ready(&json!({ "sampling": {} }), "2025-03-26").await;
    upstream.says(Said::Result(json!({
        "resultType": "complete", "ttlMs": 5, "cacheScope": "public",
        "tools": [{ "name": "t", "title": "T", "inputSchema": { "type": "object" } }],
    })));
    let list = bridge.call(&client.request("mine", "tools/list", json!({ "cursor": "2" }))).await.unwrap();
    let tools = json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] });
    assert_eq!(one(&list), json!({ "jsonrpc": "2.0", "id": "mine", "result": tools }));
    let (sent, _) = upstream.last();
    assert_ne!(sent["id"], "mine");
    assert_eq!(
        sent["params"],
        json!({ "cursor": "2", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "sampling": {}, "elicitation": {} },
            "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "1" },
            "io.modelcontextprotocol/logLevel": "info",
        } })
    );
    let quiet = bridge.call(&client.request(2, "logging/setLevel", json!({ "level": "error" }))).await.unwrap();
    assert_eq!(one(&quiet)["result"], json!({}));
    bridge.call(&client.call_tool(3, "fake/t", json!({ "_meta": { "progressToken": 9 } }))).await.unwrap();
    let (sent, _) = upstream.last();
    assert_eq!(sent["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "error");
    assert_eq!(sent["params"]["_meta"]["progressToken"], 9);
    let loud = bridge.call(&client.request(4, "logging/setLevel", json!({ "level": "loud" }))).await.unwrap();
    assert_eq!(one(&loud)["error"]["code"], -32602);
}

#[tokio::test]
async fn refusals_are_answers_within_a_session() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-11-25").await;
    for method in ["server/discover", "subscriptions/listen", "tasks/list"] {
        let answered = bridge.call(&client.request(1, method, json!({}))).await.unwrap();
        assert_eq!((answered.status, &one(&answered)["error"]["code"]), (200, &json!(-32601)), "{method}");
    }
    for (status, code, told) in [(404, -32601, -32601), (400, -32602, -32602), (400, -32021, -32603)] {
        upstream.says(Said::Error(status, code));
        let answered = bridge.call(&client.request(1, "vendor/x", json!({}))).await.unwrap();
        assert_eq!((answered.status, &one(&answered)["error"]["code"]), (200, &json!(told)), "{code}");
        assert_eq!(one(&answered)["id"], 1);
    }
    upstream.says(Said::Error(401, -32000));
    let challenged = bridge.call(&client.request(1, "tools/list", json!({}))).await.unwrap();
    assert_eq!(challenged.status, 401, "the operator's matter, told from an answer by its status");
    let before = legacy_client().request(1, "tools/list", json!({}));
    let answered = bridge.call(&before).await.unwrap();
    assert_eq!((answered.status, &one(&answered)["error"]["code"]), (400, &json!(-32000)));
}

#[tokio::test]
async fn a_session_belongs_to_its_principal_and_ends_once() {
    let (_, bridge, client) = ready(&json!({}), "2025-11-25").await;
    let ping = |client: &Client| client.request(1, "ping", json!({}));
    let gone = |result: Result<Answered, UpstreamError>| matches!(result, Err(UpstreamError::SessionGone(_)));
    assert!(gone(bridge.call(&ping(&client.clone().of("other"))).await));
    let unknown = Client { session: Some("br-nobody".into()), ..client.clone() };
    assert!(gone(bridge.call(&ping(&unknown)).await));
    assert!(bridge.call(&ping(&client)).await.is_ok());
    assert_eq!(bridge.call(&client.permit(Ask::EndSession)).await.unwrap().status, 204);
    assert!(gone(bridge.call(&ping(&client)).await));
    assert!(gone(bridge.call(&client.permit(Ask::EndSession)).await));
}

#[tokio::test]
async fn a_session_of_a_node_that_is_gone_is_adopted_from_its_handshake() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-11-25").await;
    let handshake = |capabilities: Value| Handshake {
        revision: Revision::V2025_06_18,
        capabilities: capabilities.as_object().unwrap().clone(),
        client_info: json!({ "name": "wanderer", "version": "1" }),
    };
    let inside = |id: &str, handshake: Option<Handshake>| {
        let home = Home { node: Uuid::nil(), at: None };
        let revision = Some(Revision::V2025_06_18);
        let session = Session::pinned(&client.principal, &client.route, revision, id.into(), home, handshake);
        let ask = Ask::Message(Message::request(5, "prompts/list", None));
        let trace = TraceId::from_uuid(Uuid::now_v7());
        let plain = Exchange::new(trace, Arc::clone(&client.principal), client.route.clone(), ask, Subject::Plain);
        admit(Exchange { revision, session: Some(session), ..plain })
    };
    let adopted = inside("br-elsewhere", Some(handshake(json!({ "roots": {} }))));
    assert_eq!(bridge.call(&adopted).await.unwrap().status, 200);
    let meta = &upstream.last().0["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "wanderer");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({ "roots": {} }));
    let without = bridge.call(&inside("br-elsewhere-2", None)).await;
    assert!(matches!(without, Err(UpstreamError::SessionGone(_))));
    let own = client.session.clone().unwrap();
    bridge.call(&client.permit(Ask::EndSession)).await.unwrap();
    let ended = bridge.call(&inside(&own, Some(handshake(json!({}))))).await;
    assert!(matches!(ended, Err(UpstreamError::SessionGone(_))), "an id does not outlive its session");
}

#[tokio::test]
async fn a_tool_gets_the_headers_its_definition_asks_for() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-11-25").await;
    let schema =
        json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
    upstream.says(Said::Error(400, -32020));
    upstream.says(Said::Result(json!({ "tools": [{ "name": "t", "inputSchema": schema }] })));
    let call = || client.call_tool(3, "fake/t", json!({ "arguments": { "region": "eu" } }));
    assert_eq!(bridge.call(&call()).await.unwrap().status, 200);
    assert_eq!(upstream.last().1, [("mcp-param-region".to_owned(), "eu".to_owned())]);
    bridge.call(&call()).await.unwrap();
    assert_eq!(upstream.last().1.len(), 1, "remembered");
    let methods = upstream.methods();
    assert_eq!(methods[methods.len() - 4..], ["tools/call", "tools/list", "tools/call", "tools/call"]);
}

#[tokio::test]
async fn a_cancelled_call_ends_without_an_answer() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-06-18").await;
    let feed = upstream.live();
    let call = client.call_tool(3, "fake/t", json!({}));
    let mut events = stream(bridge.call(&call).await.unwrap());
    feed.unbounded_send(notification("notifications/progress", &json!({ "progressToken": 1, "progress": 1 }))).unwrap();
    assert_eq!(next(&mut events).await.unwrap().unwrap()["method"], "notifications/progress");
    let other = notification("notifications/cancelled", &json!({ "requestId": 4 }));
    bridge.call(&client.message(&other)).await.unwrap();
    assert!(!feed.is_closed());
    let cancel = notification("notifications/cancelled", &json!({ "requestId": 3 }));
    assert_eq!(bridge.call(&client.message(&cancel)).await.unwrap().status, 202);
    assert_eq!(next(&mut events).await.unwrap(), None);
    drop(events);
    assert!(feed.is_closed(), "which is how a modern upstream hears of it");

    upstream.says(Said::Silence);
    let waiting = bridge.call(&call);
    let cancel = client.message(&cancel);
    let (answered, _) = futures::join!(waiting, async {
        tokio::task::yield_now().await;
        bridge.call(&cancel).await
    });
    assert_eq!(next(&mut stream(answered.unwrap())).await.unwrap(), None, "before its answer began");
}
