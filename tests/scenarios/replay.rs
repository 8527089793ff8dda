//! Recorded calls under other policies: which would have been decided otherwise, and which cannot be asked again.

use portreeve_tests::{Kind, Stub, World};
use serde_json::{Value, json};

const TOOLS: [(&str, &str); 2] = [("read", "READ_ONLY"), ("write", "LOW_WRITE")];

fn candidate(world: &World, tools: &[(&str, &str)]) -> String {
    let dir = world.directory.path().join("candidate");
    std::fs::create_dir_all(dir.join("manifests")).unwrap();
    let list: Vec<_> = tools.iter().map(|(tool, level)| portreeve_tests::world::manifest("crm", tool, level)).collect();
    std::fs::write(dir.join("manifests/crm.yaml"), json!({ "manifests": list }).to_string()).unwrap();
    dir.display().to_string()
}

fn flips(report: &Value) -> Vec<(String, String, String, i64)> {
    let text = |flip: &Value, key: &str| flip[key].as_str().unwrap_or("-").to_owned();
    let flips = report["flips"].as_array().unwrap_or_else(|| panic!("no flips in {report}")).iter();
    let mut flips: Vec<_> = flips
        .map(|flip| (text(flip, "agent"), text(flip, "from"), text(flip, "to"), flip["count"].as_i64().unwrap()))
        .collect();
    flips.sort();
    flips
}

async fn other_policies_are_tried_on_what_was_done(kind: Kind) {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    let (shadow, partial) = (world.agent("shadow", "A1"), world.agent("partial", "A3"));
    for id in 0..3 {
        assert_eq!(partial.call("crm/write", json!({ "id": id })).await.decision(), "allow");
    }
    assert_eq!(shadow.call("crm/write", json!({ "id": 9 })).await.decision(), "deny");
    assert_eq!(shadow.call("crm/read", json!({ "id": 9 })).await.decision(), "allow");
    let reached = stub.calls();
    world.eventually("SELECT count(*) FROM audit_logs", 5).await;

    // Stricter for one, looser for the other.
    let dir = candidate(&world, &[("read", "READ_ONLY"), ("write", "HIGH_WRITE")]);
    let report = world.cli_json(&["replay", "--policies", &dir]);
    assert_eq!((report["replayed"].as_i64(), report["unchanged"].as_i64()), (Some(5), Some(2)), "{report}");
    let partial_flip = ("partial".to_owned(), "allow".to_owned(), "deny".to_owned(), 3);
    assert_eq!(flips(&report), std::slice::from_ref(&partial_flip));
    assert!(report["flips"][0]["example"].as_str().unwrap().starts_with("trc_"));
    assert!(report["flips"][0]["reasons"][0]["message"].as_str().unwrap().contains("HIGH_WRITE"), "{report}");
    assert_eq!(world.cli(&["replay", "--policies", &dir]).status.code(), Some(0));
    assert_eq!(world.cli(&["replay", "--policies", &dir, "--fail-on-flips"]).status.code(), Some(1));

    let dir = candidate(&world, &[("read", "READ_ONLY"), ("write", "READ_ONLY")]);
    let report = world.cli_json(&["replay", "--policies", &dir]);
    assert_eq!(flips(&report), [("shadow".to_owned(), "deny".to_owned(), "allow".to_owned(), 1)]);

    // Over the API, with the candidate in the question.
    let high = json!({ "manifests": [portreeve_tests::world::manifest("crm", "write", "HIGH_WRITE"), portreeve_tests::world::manifest("crm", "read", "READ_ONLY")] });
    let asked = json!({ "files": { "manifests/crm.yaml": high.to_string() } });
    let answer = world.api("POST", "/api/replay", &world.admin_key, Some(asked)).await;
    assert_eq!((answer.status, flips(&answer.message())), (200, vec![partial_flip]), "{}", answer.text());
    let broken = json!({ "files": { "manifests/crm.yaml": "manifests: [7]", "matrx.yaml": "" } });
    let answer = world.api("POST", "/api/replay", &world.admin_key, Some(broken)).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.message()["errors"].as_array().map(Vec::len), Some(2), "{}", answer.text());

    // What was erased is asked again only where nobody would have looked at it.
    world.database.sql("UPDATE audit_logs SET input_payload = NULL WHERE agent_id = 'partial'");
    assert_eq!(world.cli_json(&["replay", "--policies", &dir])["replayed"], 5);
    let rules = "policies:\n  - { policy_id: P, name: n, severity: high, mode: enforce, rule: { condition: { id: { gt: 1 } }, requirement: prohibited } }";
    std::fs::create_dir_all(world.directory.path().join("candidate/rules")).unwrap();
    std::fs::write(world.directory.path().join("candidate/rules/own.yaml"), rules).unwrap();
    let report = world.cli_json(&["replay", "--policies", &dir]);
    assert_eq!(report["skipped"], json!([{ "why": "its arguments were erased", "count": 3 }]), "{report}");
    let later = world.cli_json(&["replay", "--policies", &dir, "--since", "2100-01-01T00:00:00Z"]);
    assert_eq!(later["replayed"], 0);
    assert_eq!(stub.calls(), reached, "nothing is called again");
}

#[tokio::test]
async fn other_policies_are_tried_on_sqlite() {
    other_policies_are_tried_on_what_was_done(Kind::Sqlite).await;
}

#[tokio::test]
async fn other_policies_are_tried_on_postgres() {
    other_policies_are_tried_on_what_was_done(Kind::Postgres).await;
}

// A policy in shadow is tried on what was done before anybody enforces it.
#[tokio::test]
async fn what_a_policy_in_shadow_would_come_to_is_told() {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    let new = json!({ "policy_id": "POL-1", "name": "no writing", "severity": "high",
        "rule": { "condition": { "tool": "crm/write" }, "requirement": "prohibited" } });
    assert_eq!(world.api("POST", "/api/policies", &world.admin_key, Some(new)).await.status, 201);
    world.live().await;
    let partial = world.agent("partial", "A3");
    assert_eq!(partial.call("crm/write", json!({})).await.decision(), "allow", "in shadow");
    assert_eq!(partial.call("crm/read", json!({})).await.decision(), "allow");
    world.eventually("SELECT count(*) FROM audit_logs", 2).await;
    let policies = world.directory.path().join("policies").display().to_string();
    let report = |rows: &str| world.cli_json(&["replay", "--policies", &policies, "--rules", rows]);
    assert_eq!(flips(&report("own")), []);
    assert_eq!(flips(&report("none")), []);
    assert_eq!(flips(&report("enforced")), [("partial".to_owned(), "allow".to_owned(), "deny".to_owned(), 1)]);
}

// What enforcing a policy turns is told with it, and only what is this policy's doing.
#[tokio::test]
async fn a_policy_is_tried_before_it_is_enforced() {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    for (id, tool) in [("POL-1", "crm/write"), ("POL-2", "crm/other")] {
        let rule = json!({ "condition": { "tool": tool }, "requirement": "prohibited" });
        let new = json!({ "policy_id": id, "name": id, "severity": "high", "rule": rule });
        assert_eq!(world.api("POST", "/api/policies", &world.admin_key, Some(new)).await.status, 201);
    }
    world.live().await;
    let partial = world.agent("partial", "A3");
    assert_eq!(partial.call("crm/write", json!({})).await.decision(), "allow", "in shadow");
    assert_eq!(partial.call("crm/read", json!({})).await.decision(), "allow");
    world.eventually("SELECT count(*) FROM audit_logs", 2).await;
    let modes = || {
        let listed = world.cli_json(&["policy", "list", "--tenant", "acme"]);
        let mode =
            |id: &str| listed.as_array().unwrap().iter().find(|line| line["policy"] == id).unwrap()["mode"].clone();
        (mode("POL-1"), mode("POL-2"))
    };
    let done = world.cli_json(&["policy", "mode", "POL-2", "enforce", "--tenant", "acme"]);
    assert_eq!((flips(&done["trial"]), done["trial"]["replayed"].as_i64()), (vec![], Some(2)), "{done}");
    let later = ["policy", "mode", "POL-1", "advisory", "--tenant", "acme"];
    assert_eq!(world.cli_json(&later).get("trial"), None);
    let done = world.cli_json(&["policy", "mode", "POL-1", "enforce", "--tenant", "acme", "--yes"]);
    assert_eq!(flips(&done["trial"]), [("partial".to_owned(), "allow".to_owned(), "deny".to_owned(), 1)], "{done}");
    assert_eq!(modes(), (json!("enforce"), json!("enforce")));
    // What another rule refuses already is not this one's doing.
    let rule = json!({ "condition": { "domain": "crm" }, "requirement": "prohibited" });
    let new = json!({ "policy_id": "POL-3", "name": "POL-3", "severity": "high", "rule": rule });
    assert_eq!(world.api("POST", "/api/policies", &world.admin_key, Some(new)).await.status, 201);
    let done = world.cli_json(&["policy", "mode", "POL-3", "enforce", "--tenant", "acme", "--yes"]);
    let tools: Vec<_> = done["trial"]["flips"].as_array().unwrap().iter().map(|flip| flip["tool"].clone()).collect();
    assert_eq!(tools, [json!("crm/read")], "{done}");
}

#[tokio::test]
async fn a_candidate_that_runs_beside_is_heard_and_not_obeyed() {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &TOOLS)
        .set("candidate", json!("beside"))
        .policy_file(
            "../beside/manifests/crm.yaml",
            &json!({ "manifests": [
            portreeve_tests::world::manifest("crm", "read", "READ_ONLY"),
            portreeve_tests::world::manifest("crm", "write", "HIGH_WRITE"),
        ] })
            .to_string(),
        )
        .start();
    let partial = world.agent("partial", "A3");
    assert_eq!(partial.call("crm/write", json!({})).await.decision(), "allow", "the candidate is not obeyed");
    assert_eq!(partial.call("crm/read", json!({})).await.decision(), "allow");
    assert_eq!(stub.calls(), 2);
    world.eventually("SELECT count(*) FROM agent_traces WHERE agent_id = 'partial'", 2).await;
    let report = world.cli_json(&["replay", "--live"]);
    assert_eq!(flips(&report), [("partial".to_owned(), "allow".to_owned(), "deny".to_owned(), 1)], "{report}");
}
