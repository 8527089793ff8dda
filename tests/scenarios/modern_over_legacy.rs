//! Modern clients before servers of the session eras: a handshake, a session and questions on streams, and nobody notices.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use futures::StreamExt;
use portreeve_tests::environment::{everything_server, free_port, installed, node, root};
use portreeve_tests::http::pieces;
use portreeve_tests::process::Process;
use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

use crate::real_clients::{python, typescript, typescript_everything};

const MODERN: &str = "2026-07-28";

/// The reference server, restricted to the session eras.
fn legacy_server(directory: &Path, port: u16) -> Process {
    let mut command = Command::new(installed("python/mcp/bin/python"));
    command.arg(root().join("tests/servers/one_era.py")).args(["legacy", "--port", &port.to_string()]);
    command.current_dir(installed("everything"));
    let mut server = Process::start(&mut command, &directory.join("legacy.log"));
    server.wait_for_port(port);
    server
}

fn ended_well(answer: &Value) -> bool {
    answer["is_error"] == json!(false) && answer["error"].is_null() && answer["protocol_version"] == MODERN
}

#[test]
fn modern_sdks_call_are_asked_and_are_told_by_a_legacy_server() {
    let outside = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut server = legacy_server(outside.path(), port);
    let world = World::on(Kind::Sqlite)
        .upstream("old", json!({ "url": format!("http://127.0.0.1:{port}/mcp"), "unclassified": "observe" }))
        .start();
    let (agent, url) = (world.agent("sdk", "A4"), world.url("/old/mcp"));
    type Client = fn(&str, &Agent, &[&str]) -> Value;
    let clients: [(Client, &str); 2] = [(python, "default"), (typescript, "auto")];
    for (client, mode) in clients {
        let call = |tool: &str, arguments: &str| {
            client(&url, &agent, &["--mode", mode, "--callbacks", "--tool", tool, "--arguments", arguments])
        };
        for (tool, arguments, said, seen) in [
            ("test_simple_text", "{}", "simple text", ""),
            ("test_elicitation", r#"{"message":"may I?"}"#, "accept", "may I?"),
            ("test_sampling", r#"{"prompt":"hello"}"#, "LLM response", "hello"),
            ("test_tool_with_progress", "{}", "", "progress"),
            ("test_input_required_result_list_roots", "{}", "1 root(s)", "roots"),
            ("test_input_required_result_multiple_inputs", "{}", "All inputs received", "What is your name?"),
            ("test_input_required_result_multi_round", "{}", "likes", "Step 2"),
        ] {
            let answer = call(tool, arguments);
            assert!(ended_well(&answer), "{tool}: {answer}");
            assert!(answer["result"].to_string().contains(said), "{tool}: {answer}");
            assert!(answer["seen"].to_string().contains(seen), "{tool}: {answer}");
            assert!(answer["tools"].as_array().is_some_and(|tools| tools.len() > 20), "{answer}");
        }
        let options = ["--mode", mode, "--callbacks", "--elicit", "decline", "--tool", "test_elicitation"];
        let declined = client(&url, &agent, &[&options[..], &["--arguments", r#"{"message":"may I?"}"#]].concat());
        assert!(declined["result"].to_string().contains("decline"), "{declined}");
    }
    // It forgets every session, and the client knows of none.
    server.kill();
    drop(server);
    let _server = legacy_server(outside.path(), port);
    let again = python(&url, &agent, &["--mode", "default", "--tool", "test_simple_text", "--arguments", "{}"]);
    assert!(ended_well(&again), "{again}");
    assert_eq!(world.verify().0, 0);
}

#[test]
fn modern_sdks_before_legacy_servers_of_other_makers() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = typescript_everything(outside.path());
    let database = outside.path().join("shop.db");
    let world = World::on(Kind::Sqlite)
        .upstream("everything", json!({ "url": format!("http://127.0.0.1:{port}/mcp") }))
        .upstream("piped", json!({ "command": node(), "args": [everything_server(), "stdio"] }))
        .upstream(
            "sqlite",
            json!({ "command": installed("python/sqlite/bin/mcp-server-sqlite"), "args": ["--db-path", database] }),
        )
        .manifests("everything", &[("echo", "READ_ONLY"), ("trigger-long-running-operation", "READ_ONLY")])
        .manifests("piped", &[("echo", "READ_ONLY"), ("trigger-long-running-operation", "READ_ONLY")])
        .manifests("sqlite", &[("list_tables", "READ_ONLY")])
        .start();
    let agent = world.agent("sdk", "A1");
    for door in ["everything", "piped"] {
        let url = world.url(&format!("/{door}/mcp"));
        let echo = ["--tool", "echo", "--arguments", r#"{"message":"across"}"#];
        for answer in [
            python(&url, &agent, &[&echo[..], &["--mode", "default"]].concat()),
            typescript(&url, &agent, &[&echo[..], &["--mode", "auto"]].concat()),
        ] {
            assert!(ended_well(&answer) && answer["result"].to_string().contains("across"), "{door}: {answer}");
        }
        let long = ["--callbacks", "--tool", "trigger-long-running-operation"];
        let long = python(&url, &agent, &[&long[..], &["--arguments", r#"{"duration":1,"steps":4}"#]].concat());
        let progress = long["seen"]["progress"].as_array().map_or(0, Vec::len);
        assert!(ended_well(&long) && progress >= 3, "{door}: {long}");
    }
    let tables = python(&world.url("/sqlite/mcp"), &agent, &["--tool", "list_tables", "--arguments", "{}"]);
    assert!(ended_well(&tables), "{tables}");
}

/// A stub that opens sessions, and whatever else a story has for it.
async fn stub(steps: Vec<Step>) -> Stub {
    let hello = json!({
        "protocolVersion": "2025-11-25", "serverInfo": { "name": "stub", "version": "1" },
        "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true }, "logging": {} },
    });
    let refuses = Step::on("server/discover").error(400, -32000, "Server not initialized").always();
    let opens = Step::on("initialize").result(hello).session("s-1").always();
    Stub::scripted([vec![refuses, opens], steps].concat()).await
}

fn world(stub: &Stub, limits: Value) -> World {
    World::on(Kind::Sqlite)
        .upstream("old", json!({ "url": stub.url() }))
        .manifests("old", &[("work", "READ_ONLY")])
        .set("limits", limits)
        .start()
}

fn call(id: i64, more: &Value) -> Value {
    let mut params = json!({ "name": "work", "arguments": {} });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {}, "roots": {} });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        params[key] = value;
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn asks(id: i64) -> Step {
    let schema = json!({ "type": "object", "properties": {} });
    let question = Piece::question(id, "elicitation/create", json!({ "message": "sure?", "requestedSchema": schema }));
    Step::on("tools/call").stream([question, Piece::Answered(json!(id)), Piece::answer(json!({ "content": [] }))])
}

async fn seen(stub: &Stub, method: &str, times: usize) -> Vec<Value> {
    for _ in 0..200 {
        let found: Vec<_> =
            stub.seen().into_iter().map(|(_, message)| message).filter(|message| message["method"] == method).collect();
        if found.len() >= times {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{method} was not seen {times} times: {:?}", stub.seen());
}

#[tokio::test]
async fn a_session_that_expired_upstream_is_opened_again_unnoticed() {
    let done = || Step::on("tools/call").result(json!({ "content": [] }));
    let gone = Step::on("tools/call").error(400, -32000, "Bad Request: No valid session ID provided");
    let stub = stub(vec![done(), gone, done()]).await;
    let world = world(&stub, json!({ "agent_per_minute": 0 }));
    let agent = world.agent("a-1", "A1").modern();
    for id in [1, 2] {
        let answer = agent.post("/old/mcp", &call(id, &json!({}))).await;
        assert_eq!((answer.status, &answer.message()["result"]["resultType"]), (200, &json!("complete")));
    }
    assert_eq!(stub.calls(), 3, "the one that was refused took nothing in");
    assert_eq!(seen(&stub, "initialize", 2).await.len(), 2);
    let (headers, _) = stub.seen().into_iter().rfind(|(_, message)| message["method"] == "tools/call").unwrap();
    assert_eq!(headers["mcp-session-id"], "s-1");
    assert_eq!(headers["mcp-protocol-version"], "2025-11-25");
}

#[tokio::test]
async fn a_question_waits_for_its_answer_but_not_for_ever_and_not_in_crowds() {
    let stub = stub((1..=20).map(asks).collect()).await;
    let world = world(&stub, json!({ "agent_per_minute": 0, "held_calls": 16, "hold_seconds": 2 }));
    let agent = world.agent("a-1", "A1").modern();
    let asked = agent.post("/old/mcp", &call(1, &json!({}))).await.message();
    assert_eq!(asked["result"]["inputRequests"]["elicitation-1"]["params"]["message"], "sure?", "{asked}");
    let answers = json!({ "elicitation-1": { "action": "decline" } });
    let answered = json!({ "requestState": asked["result"]["requestState"], "inputResponses": answers });
    let done = agent.post("/old/mcp", &call(2, &answered)).await.message();
    assert_eq!((&done["id"], &done["result"]["resultType"]), (&json!(2), &json!("complete")), "{done}");
    assert_eq!(stub.calls(), 1, "two rounds, one call");
    let told = stub.seen().into_iter().find(|(_, message)| message["result"]["action"] == "decline");
    assert_eq!(told.map(|(_, message)| message["id"].clone()), Some(json!(1)), "no is an answer");

    let mut late = Value::Null;
    for id in 1..=16 {
        late = agent.post("/old/mcp", &call(id, &json!({}))).await.message();
        assert_eq!(late["result"]["resultType"], "input_required", "{late}");
    }
    let refused = agent.post("/old/mcp", &call(17, &json!({}))).await.message();
    assert_eq!(refused["error"]["code"], 4290, "{refused}");
    seen(&stub, "notifications/cancelled", 17).await;
    let cancelled = stub.seen().into_iter().filter(|(_, message)| message["result"]["action"] == "cancel").count();
    assert_eq!(cancelled, 17, "the server stops asking");
    let late = json!({ "requestState": late["result"]["requestState"], "inputResponses": answers });
    let late = agent.post("/old/mcp", &call(18, &late)).await;
    assert_eq!((late.status, &late.message()["error"]["code"]), (400, &json!(-32602)), "{}", late.text());
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn who_disconnects_cancels_and_who_listens_is_told() {
    let progress = Piece::notification("notifications/progress", json!({ "progressToken": "$token", "progress": 1 }));
    let pause = Piece::Pause(Duration::from_millis(500));
    let news = Piece::notification("notifications/tools/list_changed", json!({}));
    let updated = Piece::notification("notifications/resources/updated", json!({ "uri": "a:1" }));
    let stub = stub(vec![
        Step::on("tools/call").stream([progress, Piece::Silence]),
        Step::on("GET").stream([pause, news, updated, Piece::Silence]).always(),
    ])
    .await;
    let world = world(&stub, json!({ "agent_per_minute": 0 }));
    let agent = world.agent("a-1", "A1");
    let open = async |message: &Value| {
        let method = message["method"].as_str().unwrap();
        let mut headers = vec![("x-api-key", agent.key.as_str()), ("mcp-protocol-version", MODERN)];
        headers.extend([("content-type", "application/json"), ("accept", "application/json, text/event-stream")]);
        headers.push(("mcp-method", method));
        headers.extend(message["params"]["name"].as_str().map(|name| ("mcp-name", name)));
        let response = world.client.open("POST", &world.url("/old/mcp"), &headers, message.to_string().into()).await;
        pieces(response)
    };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "mine",
    });
    let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a:1"] });
    let listen = json!({
        "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen",
        "params": { "notifications": wanted, "_meta": meta },
    });
    let mut told = open(&listen).await;
    let mut text = String::new();
    while !text.contains("resources/updated") {
        let piece = tokio::time::timeout(Duration::from_secs(10), told.next()).await.expect("news").expect("more");
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in {text}"));
    assert!(place("subscriptions/acknowledged") < place("tools/list_changed"), "{text}");
    seen(&stub, "resources/subscribe", 1).await;
    drop(told);
    seen(&stub, "resources/unsubscribe", 1).await;

    let mut events = open(&call(1, &json!({ "_meta": meta }))).await;
    let first = tokio::time::timeout(Duration::from_secs(10), events.next()).await.expect("progress").expect("more");
    assert!(std::str::from_utf8(&first).unwrap().contains("\"mine\""), "{first:?}");
    drop(events);
    let cancelled = seen(&stub, "notifications/cancelled", 1).await;
    assert_eq!(cancelled[0]["params"]["requestId"], seen(&stub, "tools/call", 1).await[0]["id"]);
}

#[tokio::test]
async fn what_the_modern_era_removed_is_not_there() {
    let stub = stub(Vec::new()).await;
    let world = world(&stub, json!({ "agent_per_minute": 0 }));
    let agent = world.agent("a-1", "A1").modern();
    for method in ["ping", "logging/setLevel", "resources/subscribe"] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
        let answer = agent.post("/old/mcp", &message).await;
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (404, &json!(-32601)), "{method}");
        assert!(stub.seen().iter().all(|(_, seen)| seen["method"] != method), "{method}");
    }
}
