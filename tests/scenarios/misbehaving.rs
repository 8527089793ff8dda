//! Upstreams that do not keep to the rules.

use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

#[tokio::test]
async fn an_upstream_cannot_challenge_the_caller_or_answer_for_another() {
    let stub = Stub::start(&["challenge", "silent", "liar"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("odd", json!({ "url": stub.url() }))
        .manifests("odd", &[("challenge", "READ_ONLY"), ("silent", "READ_ONLY"), ("liar", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1");
    for tool in ["challenge", "silent", "liar"] {
        let answer = agent.call(&format!("odd/{tool}"), json!({})).await;
        assert_eq!(answer.status, 502, "{tool}: {}", answer.text());
        assert_eq!(answer.message()["id"], 1, "{tool}: the question gets an answer of its own");
        assert!(answer.message()["error"].is_object(), "{tool}");
    }
    world.eventually("SELECT count(*) FROM audit_logs WHERE status_code = 'upstream_failed'", 3).await;
}

#[tokio::test]
async fn methods_nobody_knows_pass_and_are_written_down() {
    let stub = Stub::start(&[]).await;
    let world = World::on(Kind::Sqlite).upstream("odd", json!({ "url": stub.url() })).start();
    let agent = world.agent("a-1", "A1");
    let vendor = json!({ "jsonrpc": "2.0", "id": 7, "method": "vendor/reboot", "params": { "now": true } });
    assert_eq!(agent.post("/odd/mcp", &vendor).await.status, 200);
    let traced = world.database.sql("SELECT description, classification_code FROM agent_traces WHERE agent_id = 'a-1'");
    assert_eq!(traced, "vendor/reboot allowed|D2-R2-partial", "durable before it left");
}

#[tokio::test]
async fn names_chosen_to_hurt_are_kept_short_and_harmless() {
    let world = World::on(Kind::Postgres).start();
    let agent = world.agent("a-1", "A1");
    for name in ["x\u{0}y".to_owned(), "n".repeat(200_000)] {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name } });
        let answer = agent.post("/mcp", &call).await;
        assert_eq!((answer.status, answer.message()["error"]["code"].clone()), (400, json!(-32602)));
        assert!(answer.body.len() < 1000, "what the caller wrote is not echoed whole");
    }
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1'"), 2);
    assert!(world.database.count("SELECT max(length(reasoning)) FROM agent_traces") < 1100);
    assert_eq!(agent.post("/nowhere/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).await.status, 404);
    let missing = world.database.count("SELECT count(*) FROM agent_traces WHERE description = 'refused: not_found'");
    assert_eq!(missing, 1);
    assert_eq!(world.verify().0, 0);
}
