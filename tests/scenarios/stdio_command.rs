//! `portreeve stdio`: clients that can only start a program reach the gateway all the same.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

use portreeve_tests::environment::{installed, node, portreeve, root};
use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

use crate::conformance::reference_server;
use crate::real_clients::{self, observing};

fn command(url: &str, agent: &Agent) -> Vec<String> {
    let program = portreeve().display().to_string();
    [program.as_str(), "stdio", "--url", url, "--key", &agent.key].map(str::to_owned).to_vec()
}

fn document(mut client: Command, options: &[&str], url: &str, agent: &Agent) -> Value {
    real_clients::document(client.args(options).arg("--stdio").args(command(url, agent)))
}

fn python() -> Command {
    let mut command = Command::new(installed("python/mcp/bin/python"));
    command.arg(root().join("tests/clients/python_client.py"));
    command
}

fn typescript() -> Command {
    let mut command = Command::new(node());
    command.arg(root().join("tests/clients/ts_client.mjs"));
    command
}

// acceptance 40: stdio is a wire like the others, in both eras.
#[test]
fn the_sdks_stdio_clients_reach_the_gateway() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = reference_server(outside.path());
    let world = observing(port);
    let (agent, url) = (world.agent("sdk", "A4"), world.url("/reference/mcp"));
    let call = ["--tool", "test_simple_text", "--mode"];
    for (client, mode, revision) in [
        (python(), "default", "2026-07-28"),
        (python(), "legacy", "2025-11-25"),
        (typescript(), "legacy", "2025-11-25"),
        (typescript(), "auto", "2026-07-28"),
    ] {
        let answer = document(client, &[&call[..], &[mode]].concat(), &url, &agent);
        assert_eq!(answer["protocol_version"], revision, "{answer}");
        assert_eq!((&answer["is_error"], &answer["error"]), (&json!(false), &Value::Null), "{answer}");
        assert!(answer["tools"].as_array().is_some_and(|tools| tools.len() > 20), "{answer}");
    }
    let asks =
        ["--mode", "legacy", "--callbacks", "--tool", "test_elicitation", "--arguments", r#"{"message":"may I?"}"#];
    let elicited = document(python(), &asks, &url, &agent);
    assert_eq!(elicited["is_error"], false, "{elicited}");
    assert_eq!(elicited["seen"]["elicitation"].as_array().map(Vec::len), Some(1), "{elicited}");
}

/// Writes the lines, closes the input, and waits for the end.
fn spoken(arguments: &[String], lines: &[Value]) -> Output {
    let mut child = Command::new(&arguments[0])
        .args(&arguments[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not a message: {line}"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_input_ends_the_session() {
    let greeting =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    let noisy = [
        Piece::notification("notifications/message", json!({ "level": "info", "data": "working" })),
        Piece::answer(json!({ "content": [] })),
    ];
    let stub = Stub::scripted(vec![
        Step::on("initialize").result(greeting).session("up-1"),
        Step::on("tools/call").stream(noisy),
    ])
    .await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1");
    let arguments = command(&world.url("/crm/mcp"), &agent);
    let mut child =
        Command::new(&arguments[0]).args(&arguments[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": "one", "method": "initialize", "params": params })).unwrap();
    assert_eq!(lines.next().unwrap()["result"]["protocolVersion"], "2025-06-18");
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).unwrap();
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "read" } }))
        .unwrap();
    assert_eq!(lines.next().unwrap()["params"]["data"], "working");
    assert_eq!(lines.next().unwrap()["id"], 2);
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(lines.next().is_none());
    let seen = stub.seen();
    let told: Vec<_> = seen.iter().filter_map(|(_, message)| message["method"].as_str()).collect();
    assert_eq!(told.first(), Some(&"initialize"));
    assert_eq!(told.last(), Some(&"DELETE"));
    let place = |method: &str| told.iter().position(|told| *told == method).unwrap();
    assert!(place("notifications/initialized") < place("tools/call"), "in order: {told:?}");
    assert!(seen[1..].iter().all(|(headers, _)| headers["mcp-session-id"] == "up-1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_or_no_gateway_is_said_to_the_person() {
    let stub = Stub::start(&["read"]).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).start();
    let stranger = world.agent_with_key("x", "adp_sk_0");
    let list = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
    let output = spoken(&command(&world.url("/crm/mcp"), &stranger), std::slice::from_ref(&list));
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("does not accept this key"));
    let answers = said(&output);
    assert_eq!((answers.len(), &answers[0]["id"], &answers[0]["error"]["code"]), (1, &json!(7), &json!(4010)));
    let nobody = spoken(&command("http://127.0.0.1:9/mcp", &stranger), &[list]);
    assert_eq!(said(&nobody)[0]["id"], 7, "an answer, even if nobody is there");
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("cannot be reached"));
    assert_eq!(stub.seen().len(), 0);
}
