//! The official MCP suite through the gateway: what the reference server passes directly, it passes behind us.

use std::process::Command;

use portreeve_tests::environment::{free_port, installed, root};
use portreeve_tests::process::Process;
use portreeve_tests::{Kind, World};
use serde_json::json;

/// Starts the SDK's own reference server.
pub fn reference_server(directory: &std::path::Path) -> (Process, u16) {
    let port = free_port();
    let mut command = Command::new(installed("python/mcp/bin/python"));
    command.args(["-m", "mcp_everything_server", "--log-level", "WARNING", "--port", &port.to_string()]);
    command.current_dir(installed("everything"));
    let mut server = Process::start(&mut command, &directory.join("reference.log"));
    server.wait_for_port(port);
    (server, port)
}

// acceptance 79: every leg equals the direct baseline, with the whole chain and the audit on.
#[test]
fn the_official_suite_passes_through_the_gateway() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = reference_server(outside.path());
    let world = World::on(Kind::Sqlite)
        .upstream("reference", json!({ "url": format!("http://127.0.0.1:{port}/mcp"), "unclassified": "observe" }))
        .start_with_anonymous("conformance", "A5");
    let results = outside.path().join("results");
    let run = Command::new(root().join("tests/conformance.sh"))
        .arg(world.url("/reference/mcp"))
        .arg(&results)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    println!("{said}");
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    let traces = world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'conformance'");
    assert!(traces > 50, "the calls are in the chain, found {traces}");
    assert_eq!(world.verify().0, 0);
}
