//! Starting, stopping and handing over.

use std::process::Command;
use std::time::Duration;

use portreeve_tests::environment::portreeve;
use portreeve_tests::process::Process;
use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

async fn a_world() -> (World, Stub) {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("write", "LOW_WRITE")])
        .start();
    (world, stub)
}

#[tokio::test]
async fn stopping_finishes_what_is_under_way_and_flushes_the_ledger() {
    let (mut world, stub) = a_world().await;
    let agent = world.agent("a-3", "A3");
    stub.slow_down(Duration::from_millis(1500));
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let agent = agent.clone();
            tokio::spawn(async move { agent.call("crm/read", json!({})).await })
        })
        .collect();
    while stub.calls() < 5 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.gateway().signal("TERM");
    for call in calls {
        assert_eq!(call.await.unwrap().status, 200, "a call under way is finished");
    }
    assert_eq!(world.gateway().wait(Duration::from_secs(30)), Some(0));
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-3'"), 5);
    assert_eq!(world.database.count("SELECT count(*) FROM audit_logs WHERE status_code = 'ok'"), 5);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn a_successor_takes_over_without_a_refused_connection() {
    let (mut world, _stub) = a_world().await;
    let agent = world.agent("a-3", "A3");
    let mut command = Command::new(portreeve());
    command.args(["serve", "--upgrade", "--config"]).arg(world.config_path()).current_dir(world.directory.path());
    let mut successor = Process::start(&mut command, &world.directory.path().join("successor.log"));
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.gateway().signal("QUIT");
    let mut served = 0;
    let ends = tokio::time::Instant::now() + Duration::from_secs(12);
    while tokio::time::Instant::now() < ends {
        assert_eq!(agent.call("crm/read", json!({})).await.status, 200);
        served += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(served > 50);
    assert!(world.gateway().wait(Duration::from_secs(60)).is_some(), "the old process ends");
    assert_eq!(agent.call("crm/read", json!({})).await.status, 200, "the new one serves alone");
    successor.signal("TERM");
    assert_eq!(successor.wait(Duration::from_secs(30)), Some(0));
    assert_eq!(world.verify().0, 0);
}

#[test]
fn check_names_every_problem_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.yaml");
    std::fs::write(&file, "limits: { body_bytes: 4XiB, depth: 0 }\ntool_separator: \"/\"\non_denied: shrug\n").unwrap();
    let output = Command::new(portreeve()).arg("check").arg("--config").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for place in
        ["bad.yaml: limits.body_bytes:", "bad.yaml: limits.depth:", "bad.yaml: tool_separator:", "bad.yaml: on_denied:"]
    {
        assert!(said.contains(place), "{place} is missing from:\n{said}");
    }
}

#[test]
fn the_tour_shows_what_it_promises() {
    let directory = tempfile::tempdir().unwrap();
    let (mcp, console) = (portreeve_tests::environment::free_port(), portreeve_tests::environment::free_port());
    let output = Command::new(portreeve())
        .args(["demo", "--tour", "--data"])
        .arg(directory.path())
        .args(["--mcp", &format!("127.0.0.1:{mcp}"), "--console", &format!("127.0.0.1:{console}")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    for word in ["as expected", "[CARD]", "refused", "approval"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}
