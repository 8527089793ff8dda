//! Two gateways on one database.

use portreeve_tests::environment::{free_port, portreeve};
use portreeve_tests::process::Process;
use portreeve_tests::{Agent, Kind, Stub, World};
use serde_json::{Value, json};

/// A second node with the same configuration on other ports and its own spool.
fn second_node(world: &World) -> (Process, u16) {
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    let (port, console) = (free_port(), free_port());
    config["listen"] = json!({ "mcp": format!("127.0.0.1:{port}"), "console": format!("127.0.0.1:{console}") });
    config["audit"] = json!({ "spool": "spool-two" });
    let file = world.directory.path().join("second.yaml");
    std::fs::write(&file, config.to_string()).unwrap();
    let mut command = std::process::Command::new(portreeve());
    command.arg("serve").arg("--config").arg(&file);
    let mut process = Process::start(&mut command, &world.directory.path().join("second.log"));
    process.wait_for_port(port);
    (process, port)
}

// acceptance 22 over two processes: one agent's chain grows on both nodes and never forks.
#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_share_a_chain_and_a_session_key() {
    let stub = Stub::start(&["write"]).await;
    let world = World::on(Kind::Postgres)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("write", "LOW_WRITE")])
        .start();
    let (_node, port) = second_node(&world);
    let here = world.agent("a-3", "A3");
    let there = Agent { base: format!("http://127.0.0.1:{port}"), ..here.clone() };
    let calls = (0..200).map(|n| {
        let agent = if n % 2 == 0 { here.clone() } else { there.clone() };
        tokio::spawn(async move { agent.call("crm/write", json!({ "n": n })).await.decision() })
    });
    for decision in futures::future::join_all(calls.collect::<Vec<_>>()).await {
        assert_eq!(decision.unwrap(), "allow");
    }
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-3'"), 200);
    assert_eq!(world.database.count("SELECT max(seq) FROM agent_traces WHERE agent_id = 'a-3'"), 200);
    assert_eq!(
        world.database.count("SELECT count(DISTINCT previous_hash) FROM agent_traces WHERE agent_id = 'a-3'"),
        199
    );
    assert_eq!(world.verify().0, 0);
}
