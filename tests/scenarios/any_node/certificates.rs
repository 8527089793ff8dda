//! Nodes that speak TLS among themselves, with an authority of their own.

use std::path::Path;
use std::process::Command;

use portreeve_tests::{Kind, World};
use serde_json::{Value, json};

use super::talk::{TOOLS, call, child};
use crate::tls::certificates;

/// What curl brought: the session id, if the answer opened one, and the message.
fn post(port: u16, ca: &Path, key: &str, session: Option<&str>, message: &Value) -> (Option<String>, Value) {
    let mut command = Command::new("curl");
    command.args(["-s", "-i", "--http1.1", "--cacert"]).arg(ca).args(["--data-binary", &message.to_string()]);
    for header in ["content-type: application/json", "accept: application/json, text/event-stream"] {
        command.args(["-H", header]);
    }
    command.args(["-H", "mcp-protocol-version: 2025-11-25", "-H", &format!("x-api-key: {key}")]);
    if let Some(session) = session {
        command.args(["-H", &format!("mcp-session-id: {session}")]);
    }
    let output = command.arg(format!("https://localhost:{port}/notes/mcp")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let session = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().starts_with("mcp-session-id: ").then(|| line[16..].to_owned()));
    (session, serde_json::from_str(body).unwrap_or_else(|_| panic!("no message: {text}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_check_each_others_certificates() {
    let (outside, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certificates(outside.path());
    certificates(others.path());
    let at = |file: &str| outside.path().join(file).display().to_string();
    let world = World::on(Kind::Postgres)
        .upstream("notes", child(outside.path()))
        .manifests("notes", &TOOLS)
        .set("listen_tls", json!({ "cert": at("server.pem"), "key": at("server.key") }))
        .set("cluster", json!({ "ca": at("ca.pem") }))
        .start();
    let trusting = world.second_node();
    let mut wary = world.second_node_with(|config| config["cluster"]["ca"] = json!(others.path().join("ca.pem")));
    let agent = world.agent("a-1", "A1");
    let ask = |port: u16, session: Option<&str>, message: &Value| {
        post(port, &outside.path().join("ca.pem"), &agent.key, session, message)
    };
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let opening = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let session = ask(world.port, None, &opening).0.expect("a session");
    let count = |port: u16| {
        let (_, answer) = ask(port, Some(&session), &call("count"));
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let first = count(world.port);
    let child = first.strip_suffix(" 1").unwrap_or_else(|| panic!("{first}"));
    assert_eq!(count(trusting.port), format!("{child} 2"), "carried over TLS to the node that it knows");
    // With another authority it shows nobody's key to a node that it cannot tell from anybody else.
    let rebuilt = count(wary.port);
    assert!(!rebuilt.starts_with(child) && rebuilt.ends_with(" 1"), "{rebuilt}");
    assert!(wary.process.log().contains("cannot be reached"), "{}", wary.process.log());
    assert_eq!(count(world.port), format!("{child} 3"));
    wary.process.kill();
}
