//! The official suite across the eras: the modern one in front of a server that only speaks the legacy era, and the other way round.
//! Whatever cannot be met across a bridge stands in `tests/conformance/*.yml` with its reason.

use std::process::Command;

use portreeve_tests::environment::{free_port, installed, root};
use portreeve_tests::process::Process;
use portreeve_tests::{Kind, World};
use serde_json::json;

fn leg(era: &str, leg: &str) {
    let outside = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut command = Command::new(installed("python/mcp/bin/python"));
    command.arg(root().join("tests/servers/one_era.py")).args([era, "--port", &port.to_string()]);
    command.current_dir(installed("everything"));
    let mut server = Process::start(&mut command, &outside.path().join("server.log"));
    server.wait_for_port(port);
    let world = World::on(Kind::Sqlite)
        .upstream("reference", json!({ "url": format!("http://127.0.0.1:{port}/mcp"), "unclassified": "observe" }))
        .start_with_anonymous("conformance", "A5");
    let run = Command::new(root().join("tests/conformance.sh"))
        .arg(world.url("/reference/mcp"))
        .arg(outside.path().join("results"))
        .arg(leg)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    println!("{said}");
    let reports = root().join("target/reports");
    std::fs::create_dir_all(&reports).unwrap();
    std::fs::write(reports.join(format!("{leg}.txt")), said.as_bytes()).unwrap();
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(world.verify().0, 0);
}

// acceptance 79: modern clients in front of a legacy server.
#[test]
fn the_modern_suite_passes_in_front_of_a_legacy_server() {
    leg("legacy", "modern-over-legacy");
}

// acceptance 79: legacy clients in front of a modern server.
#[test]
fn the_legacy_suites_pass_in_front_of_a_modern_server() {
    leg("modern", "legacy-over-modern");
}
