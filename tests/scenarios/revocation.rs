//! A credential that is taken back while its streams are open: they end by themselves, because nobody will ask on them again.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use portreeve_tests::http::pieces;
use portreeve_tests::{Agent, Client, Kind, Piece, Step, Stub, World, messages};
use serde_json::{Value, json};

use crate::identity::find_string;

/// More than the gateway takes, and less than anybody would call for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server of both eras that has nothing to tell, and keeps its streams open to say so.
async fn a_quiet_server() -> Stub {
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": "$id" });
    let acknowledged = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    let listens = [Piece::notification("notifications/subscriptions/acknowledged", acknowledged), Piece::Silence];
    Stub::scripted(vec![
        Step::legacy_server(),
        Step::modern_server(&json!({ "tools": { "listChanged": true } })),
        Step::on("GET").stream([Piece::Comment("here"), Piece::Silence]).always(),
        Step::on("subscriptions/listen").stream(listens).always(),
    ])
    .await
}

fn initialize() -> Value {
    messages::initialize("2025-11-25", json!({}))
}

fn listen() -> Value {
    let params = json!({ "_meta": messages::modern_meta(), "notifications": { "toolsListChanged": true } });
    messages::request(1, "subscriptions/listen", params)
}

/// The stream of a session, once something has come on it.
async fn get_stream(agent: &Agent) -> BoxStream<'static, Bytes> {
    let opened = agent.post("/crm/mcp", &initialize()).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let headers = [
        ("x-api-key", agent.key.as_str()),
        ("accept", "text/event-stream"),
        ("mcp-session-id", &session),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    begun("GET", agent, &headers, Bytes::new()).await
}

async fn listen_stream(agent: &Agent) -> BoxStream<'static, Bytes> {
    let headers = [
        ("x-api-key", agent.key.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    begun("POST", agent, &headers, listen().to_string().into()).await
}

async fn begun(method: &str, agent: &Agent, headers: &[(&str, &str)], body: Bytes) -> BoxStream<'static, Bytes> {
    let response = Client::default().open(method, &format!("{}/crm/mcp", agent.base), headers, body).await;
    assert_eq!(response.status(), 200);
    let mut stream = pieces(response).boxed();
    tokio::time::timeout(PATIENCE, stream.next()).await.expect("a beginning in time").expect("a beginning");
    stream
}

async fn ends(mut stream: BoxStream<'static, Bytes>, what: &str) {
    let rest = async { while stream.next().await.is_some() {} };
    tokio::time::timeout(PATIENCE, rest).await.unwrap_or_else(|_| panic!("{what} outlived its credential"));
}

async fn every_stream_ends(kind: Kind, take_back: impl FnOnce(&World)) {
    let stub = a_quiet_server().await;
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).start();
    let (agent, other) = (world.agent("a-1", "A1"), world.agent("a-2", "A1"));
    let (get, listening) = (get_stream(&agent).await, listen_stream(&agent).await);
    let mut untouched = get_stream(&other).await;
    let mut stream = agent.sse("/crm/sse").await;
    stream.ask(&initialize()).await;
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.send(&listen());
    assert_eq!(socket.hear().unwrap()["method"], "notifications/subscriptions/acknowledged");

    take_back(&world);
    assert_eq!(socket.hear(), Err(1008), "a WebSocket is told why");
    assert_eq!(stream.event().await, None, "the stream of HTTP+SSE");
    ends(get, "GET").await;
    ends(listening, "subscriptions/listen").await;
    // Upstream, too: the session's stream, and the subscriptions of both wires.
    stub.until_left(3).await;

    let nothing = tokio::time::timeout(Duration::from_millis(300), untouched.next()).await;
    assert!(nothing.is_err(), "another agent's stream goes on");
    assert_eq!(agent.ws("/crm/ws", &[]).err(), Some(401), "and none is opened again");
    assert_eq!(stream.send(&initialize()).await, 401);
    assert_eq!(agent.post("/crm/mcp", &initialize()).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_ends_its_streams_on_sqlite() {
    every_stream_ends(Kind::Sqlite, revoke_key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_ends_its_streams_on_postgres() {
    every_stream_ends(Kind::Postgres, revoke_key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_agent_has_no_streams() {
    let suspend = |world: &World| assert!(world.cli(&["agent", "suspend", "a-1", "--tenant", "acme"]).status.success());
    every_stream_ends(Kind::Sqlite, suspend).await;
}

fn revoke_key(world: &World) {
    let keys = world.cli_json(&["key", "list", "a-1", "--tenant", "acme"]);
    let revoked = world.cli(&["key", "revoke", &find_string(&keys, "id")]);
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
}
