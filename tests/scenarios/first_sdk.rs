//! The TypeScript SDK's first generation on the transports that its successor no longer has: HTTP+SSE and WebSocket.

use std::process::Command;

use portreeve_tests::environment::{node, root};
use portreeve_tests::{Agent, Kind, World};
use serde_json::{Value, json};

use crate::conformance::reference_server;
use crate::real_clients::{document, observing, typescript_everything};

const WIRES: [(&str, &str); 3] = [("http", "mcp"), ("sse", "sse"), ("websocket", "ws")];

fn first_generation(world: &World, agent: &Agent, namespace: &str, wire: (&str, &str), options: &[&str]) -> Value {
    let mut command = Command::new(node());
    command.arg(root().join("tests/clients/ts_v1_client.mjs"));
    command.arg(world.url(&format!("/{namespace}/{}", wire.1))).args(["--transport", wire.0, "--key", &agent.key]);
    document(command.args(options))
}

// acceptance 40 and 41, with a client of others: each wire brings the same list, the same answer and the same refusal.
#[test]
fn the_first_sdks_own_clients_on_every_wire() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = typescript_everything(outside.path());
    let world = World::on(Kind::Sqlite)
        .upstream("everything", json!({ "url": format!("http://127.0.0.1:{port}/mcp") }))
        .manifests("everything", &[("echo", "READ_ONLY"), ("get-sum", "READ_ONLY")])
        .start();
    let agent = world.agent("sdk", "A1");
    for wire in WIRES {
        let echo = ["--tool", "echo", "--arguments", r#"{"message":"hello"}"#];
        let answer = first_generation(&world, &agent, "everything", wire, &echo);
        assert_eq!(answer["tools"], json!(["echo", "get-sum"]), "{wire:?}: {answer}");
        assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello", "{wire:?}: {answer}");
        let refused = first_generation(&world, &agent, "everything", wire, &["--tool", "get-env"]);
        assert_eq!(refused["result"]["isError"], true, "{wire:?}: {refused}");
        assert!(refused["result"].to_string().contains("no manifest"), "{wire:?}: {refused}");
        let nobody = world.agent_with_key("x", "adp_sk_0");
        let strange = first_generation(&world, &nobody, "everything", wire, &echo);
        assert!(strange["tools"].is_null() && !strange["error"].is_null(), "{wire:?}: {strange}");
    }
    assert_eq!(world.verify().0, 0);
}

#[test]
fn the_first_sdks_own_clients_are_asked_and_told_on_every_wire() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = reference_server(outside.path());
    let world = observing(port);
    let agent = world.agent("sdk", "A4");
    for wire in WIRES {
        let ask = ["--tool", "test_elicitation", "--arguments", r#"{"message":"may I?"}"#, "--elicit", "decline"];
        let asked = first_generation(&world, &agent, "reference", wire, &ask);
        assert_eq!(asked["seen"]["elicitation"], json!(["may I?"]), "{wire:?}: {asked}");
        assert!(asked["result"].to_string().contains("decline"), "{wire:?}: {asked}");
        let told = first_generation(&world, &agent, "reference", wire, &["--tool", "test_tool_with_progress"]);
        let count = |key: &str| told["seen"][key].as_array().map_or(0, Vec::len);
        assert_eq!(count("progress") + count("late"), 3, "{wire:?}: {told}");
    }
}
