//! Doors that open before anything is asked, and streams that the gateway ends.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use portreeve_tests::http::pieces;
use portreeve_tests::{Kind, Step, Stub, World};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_opens_where_nobody_lives() {
    let stub = Stub::start(&["read"]).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).start();
    let agent = world.agent("a-1", "A1");
    assert_eq!(agent.ws("/nobody/ws", &[]).err(), Some(404));
    let get = async |path: &str, key: &str| {
        let headers = [("x-api-key", key), ("accept", "text/event-stream")];
        world.client.send("GET", &world.url(path), &headers, Bytes::new()).await
    };
    let refused = get("/nobody/sse", &agent.key).await;
    assert_eq!(refused.status, 404);
    assert!(refused.text().contains("crm"), "it says who lives here: {}", refused.text());
    let missing = "SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1'";
    assert_eq!(world.database.count(missing), 2, "both refusals are in the agent's chain");
    let stranger = world.agent_with_key("nobody", "adp_sk_wrong");
    assert_eq!(stranger.ws("/nobody/ws", &[]).err(), Some(401), "strangers learn nothing of who lives here");
    assert_eq!(get("/nobody/sse", &stranger.key).await.status, 401);
    assert!(agent.ws("/crm/ws", &[]).is_ok() && agent.ws("/ws", &[]).is_ok());
}

fn listens(id: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_the_gateway_ends_gets_its_answer() {
    let greeting = json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": { "listChanged": true } },
        "resultType": "complete", "serverInfo": { "name": "stub", "version": "1" }, "ttlMs": 0, "cacheScope": "private" });
    let stub = Stub::scripted(vec![Step::on("server/discover").result(greeting).always()]).await;
    let mut world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).start();
    let agent = world.agent("a-1", "A1");
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    let open = async |id: &str| {
        let client = portreeve_tests::Client::default();
        let body = listens(id).to_string().into();
        let response = client.open("POST", &world.url("/mcp"), &headers, body).await;
        assert_eq!(response.status(), 200);
        let mut events = pieces(response);
        let first = tokio::time::timeout(Duration::from_secs(10), events.next()).await.expect("in time").unwrap();
        assert!(String::from_utf8_lossy(&first).contains("subscriptions/acknowledged"), "{first:?}");
        (events, client)
    };
    let rest = async |events| {
        let all = StreamExt::collect::<Vec<Bytes>>(events);
        let all = tokio::time::timeout(Duration::from_secs(30), all).await.expect("the stream ends").concat();
        String::from_utf8(all).unwrap()
    };
    let answer = |id: &str| {
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
        json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete", "_meta": meta } })
    };
    let said = |text: &str| -> Value {
        let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        serde_json::from_str(last.unwrap_or_else(|| panic!("no event in {text}"))).unwrap()
    };

    // Another upstream: whoever listens to all of them must come back to hear of it.
    let (events, _client) = open("before").await;
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["upstreams"]["more"] = json!({ "url": stub.url() });
    std::fs::write(world.config_path(), config.to_string()).unwrap();
    assert_eq!(said(&rest(events).await), answer("before"));

    // The node stops.
    let (events, _client) = open("after").await;
    world.gateway().signal("TERM");
    assert_eq!(said(&rest(events).await), answer("after"));
    assert_eq!(world.gateway().wait(Duration::from_secs(30)), Some(0));
}
