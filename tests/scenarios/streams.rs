//! Streams whose reader goes away: in the session eras the call goes on and its rest can be fetched; in the stateless era the
//! call ends with its connection.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use portreeve_tests::http::pieces;
use portreeve_tests::messages::initialize;
use portreeve_tests::{Agent, Answer, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

fn progress(n: u32) -> Piece {
    Piece::notification("notifications/progress", json!({ "progressToken": "$token", "progress": n }))
}

async fn a_world(steps: Vec<Step>) -> (World, Stub, Agent) {
    let stub = Stub::scripted(steps).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("slow", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1");
    (world, stub, agent)
}

async fn session(agent: &Agent) -> String {
    let answer = agent.post("/crm/mcp", &initialize("2025-11-25", json!({}))).await;
    answer.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {}", answer.text())).to_owned()
}

fn call() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "slow", "arguments": {}, "_meta": { "progressToken": "p" } } })
}

/// Sends the call, reads its first event and leaves. What came, and the id it came under.
async fn begin_and_leave(world: &World, agent: &Agent, session: &str) -> (String, String) {
    // A client of its own: its connection ends with it.
    let client = portreeve_tests::Client::default();
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-session-id", session),
    ];
    let response = client.open("POST", &world.url("/crm/mcp"), &headers, call().to_string().into()).await;
    let mut body = pieces(response);
    let first = tokio::time::timeout(Duration::from_secs(10), body.next()).await.expect("an event in time").unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    let id = first.lines().find_map(|line| line.strip_prefix("id: ")).unwrap_or_else(|| panic!("no id in {first}"));
    (first.clone(), id.to_owned())
}

async fn resume(world: &World, agent: &Agent, session: &str, after: &str) -> Answer {
    let headers = [
        ("accept", "text/event-stream"),
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-session-id", session),
        ("last-event-id", after),
    ];
    world.client.send("GET", &world.url("/crm/mcp"), &headers, Bytes::new()).await
}

fn shown(events: &[Value]) -> Vec<Value> {
    events.iter().map(|event| event["params"]["progress"].clone()).collect()
}

// acceptance 43, the part of streams: a broken connection loses nothing and repeats nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_a_broken_stream_is_fetched_once_and_followed_live() {
    let says = [
        progress(1),
        Piece::Pause(Duration::from_millis(400)),
        progress(2),
        Piece::Pause(Duration::from_millis(400)),
        progress(3),
        Piece::answer(json!({ "content": [] })),
    ];
    let (world, stub, agent) = a_world(vec![Step::legacy_server(), Step::on("tools/call").stream(says)]).await;
    let session = session(&agent).await;
    let (_, first) = begin_and_leave(&world, &agent, &session).await;

    // While the call still runs: what was missed, what comes, and the answer, each once.
    let rest = resume(&world, &agent, &session, &first).await;
    assert_eq!(rest.status, 200, "{}", rest.text());
    assert_eq!(shown(&rest.events()), [json!(2), json!(3), Value::Null]);
    assert!(rest.message().get("result").is_some(), "a legacy client that leaves cancels nothing: {}", rest.text());
    // And again, from what the ended stream left behind.
    let again = resume(&world, &agent, &session, &first).await;
    assert_eq!(again.events(), rest.events(), "the same events under the same ids");
    assert_eq!(again.body, rest.body);
    let middle = rest.text().lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    assert_eq!(shown(&resume(&world, &agent, &session, middle).await.events()), [json!(3), Value::Null]);

    assert_eq!(stub.calls(), 1, "the tool ran once");
    let cancelled = |seen: &(hyper::HeaderMap, Value)| seen.1["method"] == "notifications/cancelled";
    assert!(!stub.seen().iter().any(cancelled));
    world.eventually("SELECT count(*) FROM audit_logs WHERE status_code = 'ok'", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_resumed_by_its_own_session_alone() {
    let says = [progress(1), Piece::Pause(Duration::from_millis(200)), Piece::answer(json!({ "content": [] }))];
    let (world, stub, agent) = a_world(vec![Step::legacy_server(), Step::on("tools/call").stream(says)]).await;
    let (mine, other) = (session(&agent).await, session(&agent).await);
    let (_, first) = begin_and_leave(&world, &agent, &mine).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let stranger = world.agent("a-2", "A1");
    assert_eq!(resume(&world, &stranger, &mine, &first).await.status, 404, "another's session is not there");
    // Another session of one upstream id is the same session; a foreign id goes upstream, whose stub has no stream.
    assert_eq!(resume(&world, &agent, &other, "17").await.status, 405);
    let (headers, _) = stub.seen().pop().unwrap();
    assert_eq!(headers["last-event-id"], "17", "ids that are not ours are the upstream's");
    assert_eq!(resume(&world, &agent, &mine, &first).await.events().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_numbers_its_events_keeps_its_numbers() {
    let says = [
        Piece::Event(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} }), Some("up-7".into())),
        Piece::answer(json!({ "content": [] })),
    ];
    let (world, _stub, agent) = a_world(vec![Step::legacy_server(), Step::on("tools/call").stream(says)]).await;
    let session = session(&agent).await;
    let headers =
        [("x-api-key", agent.key.as_str()), ("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", &session)];
    let answer = world.client.post(&world.url("/crm/mcp"), &headers, &call()).await;
    assert!(answer.text().contains("id: up-7") && !answer.text().contains("id: pr."), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_client_that_leaves_ends_its_call() {
    let says = [progress(1), Piece::Silence];
    let steps = vec![Step::modern_server(&json!({ "tools": {} })), Step::on("tools/call").stream(says)];
    let (world, _stub, agent) = a_world(steps).await;
    let mut body = call();
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "slow"),
    ];
    let client = portreeve_tests::Client::default();
    let response = client.open("POST", &world.url("/crm/mcp"), &headers, body.to_string().into()).await;
    let mut events = pieces(response);
    let first = events.next().await.unwrap();
    assert!(!String::from_utf8_lossy(&first).contains("id: "), "there is nothing to come back with");
    drop((events, client));
    world.eventually("SELECT count(*) FROM audit_logs WHERE status_code = 'cancelled'", 1).await;
}
