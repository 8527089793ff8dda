//! Upstreams that do not keep to the rules.

use portreeve_tests::{Kind, Piece, Step, Stub, World};
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
async fn a_stream_that_breaks_ends_in_an_error_of_ours() {
    let progress = Piece::notification("notifications/progress", json!({ "progressToken": "$token", "progress": 1 }));
    let stub = Stub::scripted(vec![
        Step::on("tools/call").stream([progress.clone(), Piece::Comment("working"), Piece::answer(json!({}))]),
        Step::on("tools/call").stream([progress, Piece::Break]),
    ])
    .await;
    let world = World::on(Kind::Sqlite)
        .upstream("odd", json!({ "url": stub.url(), "protocol": "modern" }))
        .manifests("odd", &[("work", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1").modern();
    let call = json!({
        "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "work", "_meta": { "progressToken": "p" } },
    });
    let whole = agent.post("/odd/mcp", &call).await;
    assert_eq!(whole.events().len(), 2, "{}", whole.text());
    assert_eq!((&whole.events()[0]["params"]["progressToken"], &whole.message()["result"]), (&json!("p"), &json!({})));
    let broken = agent.post("/odd/mcp", &call).await;
    assert_eq!((broken.status, broken.events().len()), (200, 2), "{}", broken.text());
    assert_eq!((&broken.message()["id"], broken.message()["error"].is_object()), (&json!(5), true));
    assert_eq!(stub.calls(), 2, "what may have been taken in is not sent again");
    let (headers, sent) = stub.seen().pop().unwrap();
    assert_eq!(headers["mcp-name"], "work");
    assert_eq!(sent["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test]
async fn an_agent_may_listen_on_so_many_streams_and_no_more() {
    let news =
        Step::on("GET").stream([Piece::notification("notifications/tools/list_changed", json!({})), Piece::Silence]);
    let stub = Stub::scripted(vec![Step::legacy_server(), news.always()]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("odd", json!({ "url": stub.url() }))
        .set("limits", json!({ "agent_per_minute": 0, "streams": 2 }))
        .start();
    let (agent, other) = (world.agent("a-1", "A1"), world.agent("a-2", "A1"));
    let listen = async |agent: &portreeve_tests::Agent| {
        let hello = portreeve_tests::messages::initialize("2025-11-25", json!({}));
        let session = agent.post("/odd/mcp", &hello).await.header("mcp-session-id").unwrap().to_owned();
        let headers =
            [("x-api-key", agent.key.as_str()), ("mcp-session-id", &session), ("accept", "text/event-stream")];
        agent.client.open("GET", &world.url("/odd/mcp"), &headers, bytes::Bytes::new()).await
    };
    let (first, second) = (listen(&agent).await, listen(&agent).await);
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
    assert_eq!(listen(&agent).await.status(), 429);
    assert_eq!(listen(&other).await.status(), 200, "another agent has room of its own");
    drop(first);
    for _ in 0..100 {
        if listen(&agent).await.status() == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("a closed stream gives its room back");
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
