//! The official SDKs' own clients through the gateway, in both of their eras.

use std::path::Path;
use std::process::Command;

use portreeve_tests::environment::{everything_server, free_port, installed, node, root};
use portreeve_tests::messages::initialize;
use portreeve_tests::process::Process;
use portreeve_tests::{Agent, Kind, World};
use serde_json::{Value, json};

use crate::conformance::reference_server;

pub fn python(url: &str, agent: &Agent, options: &[&str]) -> Value {
    let mut command = Command::new(installed("python/mcp/bin/python"));
    command.arg(root().join("tests/clients/python_client.py"));
    document(command.arg(url).args(["--key", &agent.key]).args(options))
}

pub fn typescript(url: &str, agent: &Agent, options: &[&str]) -> Value {
    let mut command = Command::new(node());
    command.arg(root().join("tests/clients/ts_client.mjs"));
    document(command.arg(url).args(["--key", &agent.key]).args(options))
}

pub fn document(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{command:?}: {said}"))
}

/// The answer of each client in each era, and the revision it speaks there.
fn both_sdks_in_both_eras(url: &str, agent: &Agent, call: &[&str]) -> [(Value, &'static str); 4] {
    [
        (python(url, agent, &[call, &["--mode", "default"]].concat()), "2026-07-28"),
        (python(url, agent, &[call, &["--mode", "legacy"]].concat()), "2025-11-25"),
        (typescript(url, agent, &[call, &["--mode", "legacy"]].concat()), "2025-11-25"),
        (typescript(url, agent, &[call, &["--mode", "auto"]].concat()), "2026-07-28"),
    ]
}

/// A gateway in front of the reference server, whose tools nobody has classified.
pub fn observing(port: u16) -> World {
    let upstream = json!({ "url": format!("http://127.0.0.1:{port}/mcp"), "unclassified": "observe" });
    World::on(Kind::Sqlite).upstream("reference", upstream).start()
}

pub fn typescript_everything(directory: &Path) -> (Process, u16) {
    let port = free_port();
    let mut command = Command::new(node());
    command.arg("--require").arg(root().join("tests/clients/loopback_only.cjs"));
    command.arg(everything_server()).arg("streamableHttp").env("PORT", port.to_string());
    let mut server = Process::start(&mut command, &directory.join("everything.log"));
    server.wait_for_port(port);
    (server, port)
}

fn ended_well(answer: &Value) -> bool {
    answer["is_error"] == json!(false) && answer["error"].is_null()
}

#[test]
fn both_sdks_in_both_eras_before_the_dual_era_reference_server() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = reference_server(outside.path());
    let world = observing(port);
    let (agent, url) = (world.agent("sdk", "A4"), world.url("/reference/mcp"));
    let call = ["--tool", "test_simple_text", "--arguments", "{}"];
    for (answer, revision) in both_sdks_in_both_eras(&url, &agent, &call) {
        assert_eq!(answer["protocol_version"], revision, "{answer}");
        assert!(ended_well(&answer), "{answer}");
        assert!(answer["tools"].as_array().is_some_and(|tools| tools.len() > 20), "{answer}");
    }
    // Server-to-client requests on the stream of a call, and progress on its way.
    let elicited = python(
        &url,
        &agent,
        &["--mode", "legacy", "--callbacks", "--tool", "test_elicitation", "--arguments", r#"{"message":"may I?"}"#],
    );
    assert!(ended_well(&elicited), "{elicited}");
    assert!(elicited["seen"].to_string().contains("elicit"), "{elicited}");
    let sampled = typescript(
        &url,
        &agent,
        &["--mode", "legacy", "--callbacks", "--tool", "test_sampling", "--arguments", r#"{"prompt":"hello"}"#],
    );
    assert!(ended_well(&sampled), "{sampled}");
    let progressed = python(
        &url,
        &agent,
        &["--mode", "legacy", "--callbacks", "--tool", "test_tool_with_progress", "--arguments", "{}"],
    );
    assert!(ended_well(&progressed) && progressed["seen"].to_string().contains("progress"), "{progressed}");
    assert_eq!(world.verify().0, 0);
}

#[test]
fn a_session_server_keeps_its_sessions_and_its_ids_to_itself() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = typescript_everything(outside.path());
    let world = World::on(Kind::Sqlite)
        .upstream("everything", json!({ "url": format!("http://127.0.0.1:{port}/mcp") }))
        .manifests("everything", &[("echo", "READ_ONLY"), ("get-sum", "READ_ONLY")])
        .start();
    let (agent, url) = (world.agent("sdk", "A1"), world.url("/everything/mcp"));
    let call = ["--tool", "echo", "--arguments", r#"{"message":"hello"}"#];
    // The server knows only the session eras; clients that can do without them need not know.
    for (answer, revision) in both_sdks_in_both_eras(&url, &agent, &call) {
        assert_eq!(answer["protocol_version"], revision, "{answer}");
        assert!(ended_well(&answer) && answer["result"].to_string().contains("hello"), "{answer}");
        assert_eq!(answer["tools"], json!(["echo", "get-sum"]), "only what is classified is shown");
    }
    let refused = python(&url, &agent, &["--tool", "get-env", "--arguments", "{}"]);
    assert_eq!(refused["is_error"], true, "{refused}");
    assert!(refused["result"].to_string().contains("no manifest"), "{refused}");
}

#[tokio::test]
async fn a_session_belongs_to_the_agent_that_opened_it() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = typescript_everything(outside.path());
    let world = World::on(Kind::Sqlite)
        .upstream("everything", json!({ "url": format!("http://127.0.0.1:{port}/mcp") }))
        .upstream("twin", json!({ "url": format!("http://127.0.0.1:{port}/mcp") }))
        .manifests("everything", &[("echo", "READ_ONLY")])
        .manifests("twin", &[("echo", "READ_ONLY")])
        .start();
    let (one, two) = (world.agent("one", "A1"), world.agent("two", "A1"));
    let hello = initialize("2025-11-25", json!({}));
    let opened = one.post("/everything/mcp", &hello).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    assert!(session.len() > 60, "sealed, not the upstream's own: {session}");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let ask = async |agent: &Agent, path: &str, session: &str| {
        let headers =
            [("x-api-key", agent.key.as_str()), ("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")];
        world.client.post(&world.url(path), &headers, &list).await.status
    };
    assert_eq!(ask(&one, "/everything/mcp", &session).await, 200);
    assert_eq!(ask(&two, "/everything/mcp", &session).await, 404, "another agent");
    assert_eq!(ask(&one, "/twin/mcp", &session).await, 404, "another door");
    assert_eq!(ask(&one, "/everything/mcp", "forged").await, 404);
    let end = [("x-api-key", one.key.as_str()), ("mcp-session-id", session.as_str())];
    let ended = world.client.send("DELETE", &world.url("/everything/mcp"), &end, "").await;
    assert!(ended.status < 300, "{}", ended.status);
    assert!(ask(&one, "/everything/mcp", &session).await >= 400, "ended upstream too");
}
