//! How an agent earns the next mode: a record, a human's yes, a proof.

use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

const THRESHOLD: &str = "from:\n  SHADOW: { calls: 3, success: 0.9, days: 30 }\n  ADVISORY: { calls: 1, success: 0.9, days: 30 }\ndenials: 0.25\n";

// acceptance 112: counts by risk, refused until the lower tier's threshold is met, then a D4 event that needs approval.
async fn an_agent_earns_the_next_mode(kind: Kind) {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("write", "LOW_WRITE")])
        .policy_file("promotion.yaml", THRESHOLD)
        .start();
    let agent =
        world.agent_with("a-1", &["--autonomy", "A1", "--max-risk", "R4", "--owner-email", "owner@example.com"]);
    let path = "/api/agents/a-1/promote";
    let promote = async |to: &str| world.api("POST", path, &world.admin_key, Some(json!({ "to": to }))).await;

    let early = promote("A2").await;
    assert_eq!(early.status, 409, "{}", early.text());
    assert!(early.text().contains("0 of 3 calls went well"), "{}", early.text());
    assert_eq!(promote("A3").await.status, 422, "one step at a time");

    for id in 0..4 {
        assert_eq!(agent.call("crm/read", json!({ "id": id })).await.decision(), "allow");
    }
    assert_eq!(agent.call("crm/write", json!({})).await.decision(), "deny");
    world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'a-1'", 5).await;
    let history = world.api("GET", "/api/agents/a-1/history", &world.admin_key, None).await.message();
    let tier =
        |level: &str| history["tiers"].as_array().unwrap().iter().find(|tier| tier["risk_level"] == level).cloned();
    assert_eq!(tier("READ_ONLY").unwrap()["ok"], 4, "{history}");
    assert_eq!(tier("LOW_WRITE").unwrap()["denied"], 1, "{history}");
    assert_eq!(history["next"]["missing"], json!([]));

    let asked = promote("A2").await;
    assert_eq!(asked.status, 202, "{}", asked.text());
    let approval = asked.message()["approval_id"].as_str().unwrap().to_owned();
    assert_eq!(promote("A2").await.message()["approval_id"], approval.as_str(), "asked once");
    let autonomy = "SELECT count(*) FROM agent_registry WHERE agent_id = 'a-1' AND autonomy_level = 'A2'";
    assert_eq!(world.database.count(autonomy), 0, "nothing is changed before a human has said yes");
    let escalation = "SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1' AND event_type = 'escalation' AND classification_code = 'D4-R3-partial'";
    assert_eq!(world.database.count(escalation), 1);

    let own = world.cli(&["approval", "approve", &approval, "--by", "owner@example.com"]);
    assert_eq!(own.status.code(), Some(1), "the agent's own user is no second pair of eyes");
    let approved = world.cli(&["approval", "approve", &approval, "--by", "bob@example.com"]);
    assert_eq!(approved.status.code(), Some(0), "{}", String::from_utf8_lossy(&approved.stderr));
    let done = promote("A2").await;
    assert_eq!((done.status, &done.message()["status"]), (200, &json!("promoted")), "{}", done.text());
    assert_eq!(world.database.count(autonomy), 1);
    let event = "SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1' AND event_type = 'approval' AND description = 'a-1 promoted from A1 to A2' AND classification_code = 'D4-R3-partial'";
    assert_eq!(world.database.count(event), 1);
    assert_eq!(world.database.count("SELECT count(*) FROM proofs WHERE holds"), 1, "proved before it was done");
    assert_eq!(promote("A3").await.status, 409, "the record begins anew");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn an_agent_earns_the_next_mode_on_sqlite() {
    an_agent_earns_the_next_mode(Kind::Sqlite).await;
}

#[tokio::test]
async fn an_agent_earns_the_next_mode_on_postgres() {
    an_agent_earns_the_next_mode(Kind::Postgres).await;
}

// Earned and approved, and still not done: the promises are proved when it is to be done, not when it was asked for.
async fn nobody_is_promoted_while_a_promise_is_broken(kind: Kind) {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("write", "LOW_WRITE")])
        .policy_file("promotion.yaml", THRESHOLD)
        .start();
    let agent = world.agent("a-1", "A1");
    for id in 0..3 {
        assert_eq!(agent.call("crm/read", json!({ "id": id })).await.decision(), "allow");
    }
    world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'a-1'", 3).await;
    let promote =
        async || world.api("POST", "/api/agents/a-1/promote", &world.admin_key, Some(json!({ "to": "A2" }))).await;
    let approve = async || {
        let asked = promote().await;
        assert_eq!(asked.status, 202, "{}", asked.text());
        let id = asked.message()["approval_id"].as_str().unwrap().to_owned();
        let approved = world.cli(&["approval", "approve", &id, "--by", "bob@example.com"]);
        assert_eq!(approved.status.code(), Some(0), "{}", String::from_utf8_lossy(&approved.stderr));
        id
    };
    let first = approve().await;

    let spoilt = world.directory.path().join("policies/chain.yaml");
    std::fs::write(&spoilt, "plugins: { manifest: observe, matrix: observe }").unwrap();
    let holds =
        async || world.api("POST", "/api/prove", &world.admin_key, Some(json!({}))).await.message()["holds"].clone();
    for _ in 0..200 {
        if holds().await == json!(false) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let second = approve().await;
    assert_ne!(first, second, "a yes is given under the rules as they were");
    let refused = promote().await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    let told = refused.text();
    assert!(told.contains("a-1 cannot be promoted while a promise is broken: SHADOW (A1) reaches crm/write"), "{told}");
    assert_eq!(promote().await.status, 409, "however often it is asked");
    let level = |level: &str| {
        let query = "SELECT count(*) FROM agent_registry WHERE agent_id = 'a-1' AND autonomy_level";
        world.database.count(&format!("{query} = '{level}'"))
    };
    assert_eq!((level("A1"), level("A2")), (1, 0), "nothing was changed");
    let used = "SELECT count(*) FROM approvals WHERE status = 'used'";
    let promoted = "SELECT count(*) FROM agent_traces WHERE description LIKE 'a-1 promoted from %'";
    assert_eq!((world.database.count(used), world.database.count(promoted)), (0, 0));

    std::fs::remove_file(&spoilt).unwrap();
    for _ in 0..200 {
        if holds().await == json!(true) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let done = promote().await;
    assert_eq!((done.status, level("A2")), (200, 1), "under the rules that it was approved under: {}", done.text());
}

#[tokio::test]
async fn nobody_is_promoted_while_a_promise_is_broken_on_sqlite() {
    nobody_is_promoted_while_a_promise_is_broken(Kind::Sqlite).await;
}

#[tokio::test]
async fn nobody_is_promoted_while_a_promise_is_broken_on_postgres() {
    nobody_is_promoted_while_a_promise_is_broken(Kind::Postgres).await;
}
