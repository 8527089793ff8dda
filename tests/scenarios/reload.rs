//! Policies change while the gateway runs, whole or not at all.

use std::time::Duration;

use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..100 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn a_changed_manifest_counts_at_once_and_a_broken_one_not_at_all() {
    let stub = Stub::start(&["read"]).await;
    let mut world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1");
    let pid = world.gateway().pid();
    assert_eq!(agent.call("crm/read", json!({})).await.decision(), "allow");

    let file = world.directory.path().join("policies/manifests/crm.yaml");
    let write = portreeve_tests::world::manifest("crm", "read", "LOW_WRITE");
    std::fs::write(&file, json!({ "manifests": [write] }).to_string()).unwrap();
    until("the tool counts as a write", async || agent.call("crm/read", json!({})).await.decision() == "deny").await;

    std::fs::write(&file, "manifests:\n  - { id: crm/read, domain: crm, risk_level: NONSENSE }\n").unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(agent.call("crm/read", json!({})).await.decision(), "deny", "the old policies stay in force");
    let log = world.gateway().log();
    assert!(log.contains("crm.yaml") && log.contains("NONSENSE"), "the log names the file and what is wrong:\n{log}");

    let read = portreeve_tests::world::manifest("crm", "read", "READ_ONLY");
    std::fs::write(&file, json!({ "manifests": [read] }).to_string()).unwrap();
    until("the repaired file counts", async || agent.call("crm/read", json!({})).await.decision() == "allow").await;
    assert_eq!(world.gateway().pid(), pid, "nothing was restarted");
    let digests = world.database.sql("SELECT DISTINCT json_extract(context, '$.policies') FROM agent_traces");
    assert_eq!(digests.lines().count(), 2, "each trace names the policies it was decided under");
}

#[tokio::test]
async fn a_new_upstream_appears_without_a_restart() {
    let (one, two) = (Stub::start(&["read"]).await, Stub::start(&["read"]).await);
    let world = World::on(Kind::Sqlite)
        .upstream("one", json!({ "url": one.url() }))
        .manifests("one", &[("read", "READ_ONLY")])
        .manifests("two", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1");
    assert_eq!(agent.call("two/read", json!({})).await.status, 404);
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    config["upstreams"]["two"] = json!({ "url": two.url() });
    std::fs::write(world.config_path(), config.to_string()).unwrap();
    until("the second upstream answers", async || agent.call("two/read", json!({})).await.status == 200).await;
    assert_eq!(agent.call("one/read", json!({})).await.status, 200);
}
