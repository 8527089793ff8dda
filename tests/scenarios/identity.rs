//! Who is calling: keys, their ends, and the one agent that nobody may be.

use std::time::Duration;

use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

async fn a_world(kind: Kind) -> (World, Stub) {
    let stub = Stub::start(&["read"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    (world, stub)
}

// acceptance 10: no key, wrong key, revoked key, suspended agent, revoked agent; a good key is marked as used.
async fn only_good_keys_open(kind: Kind) {
    let (world, stub) = a_world(kind).await;
    let good = world.agent("good", "A3");
    assert_eq!(good.call("crm/read", json!({})).await.status, 200);
    world.eventually("SELECT count(*) FROM agent_api_keys WHERE last_used_at IS NOT NULL", 1).await;

    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let nobody = world.client.post(&world.url("/crm/mcp"), &[], &list).await;
    assert_eq!(nobody.status, 401);
    assert!(nobody.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Bearer")));
    assert_eq!(nobody.message()["error"]["code"], 4010);
    for wrong in ["adp_sk_0", "", "nonsense"] {
        assert_eq!(world.agent_with_key("x", wrong).post("/crm/mcp", &list).await.status, 401, "{wrong:?}");
    }

    let revoked = world.agent("revoked-key", "A3");
    assert_eq!(revoked.call("crm/read", json!({})).await.status, 200);
    let keys = world.cli_json(&["key", "list", "revoked-key", "--tenant", "acme"]);
    let id = find_string(&keys, "id");
    assert!(world.cli(&["key", "revoke", &id]).status.success());
    let suspended = world.agent("suspended", "A3");
    assert!(world.cli(&["agent", "suspend", "suspended", "--tenant", "acme"]).status.success());
    let gone = world.agent("gone", "A3");
    assert!(world.cli(&["agent", "revoke", "gone", "--tenant", "acme"]).status.success());
    // Another process revoked it; this node must know within a second.
    tokio::time::sleep(Duration::from_millis(1000)).await;
    let calls = stub.calls();
    for agent in [&revoked, &suspended, &gone] {
        assert_eq!(agent.call("crm/read", json!({})).await.status, 401, "{}", agent.id);
    }
    assert_eq!(stub.calls(), calls, "nobody without a good key reaches the tool");
    assert_eq!(good.call("crm/read", json!({})).await.status, 200, "the others are not touched");

    let strangers = world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'unauthenticated'");
    assert!(strangers >= 7, "each refusal is written down, found {strangers}");
    assert_eq!(world.verify().0, 0);
}

pub fn find_string(document: &serde_json::Value, key: &str) -> String {
    match document {
        serde_json::Value::Array(items) => {
            items.iter().map(|item| find_string(item, key)).find(|text| !text.is_empty())
        }
        serde_json::Value::Object(map) => match map.get(key) {
            Some(serde_json::Value::String(text)) => Some(text.clone()),
            _ => map.values().map(|value| find_string(value, key)).find(|text| !text.is_empty()),
        },
        _ => None,
    }
    .unwrap_or_default()
}

#[tokio::test]
async fn only_good_keys_open_on_sqlite() {
    only_good_keys_open(Kind::Sqlite).await;
}

#[tokio::test]
async fn only_good_keys_open_on_postgres() {
    only_good_keys_open(Kind::Postgres).await;
}

// acceptance 8: the key itself is nowhere but with its owner.
async fn the_key_is_stored_nowhere(kind: Kind) {
    let (mut world, _stub) = a_world(kind).await;
    let agent = world.agent("keeper", "A3");
    agent.call("crm/read", json!({ "note": "hello" })).await;
    world.eventually("SELECT count(*) FROM audit_logs", 1).await;
    let row = world.database.sql("SELECT key_hash, key_prefix FROM agent_api_keys");
    let (hash, prefix) = row.split_once('|').unwrap();
    assert_eq!((hash.len(), prefix), (64, &agent.key[..8]));
    let tables = match kind {
        Kind::Sqlite => world.database.sql("SELECT name FROM sqlite_master WHERE type = 'table'"),
        Kind::Postgres => world.database.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
    };
    for table in tables.lines() {
        let rows = world.database.sql(&format!("SELECT * FROM {table}"));
        assert!(!rows.contains(&agent.key), "the key is in {table}");
    }
    assert!(!world.gateway().log().contains(&agent.key), "the key is in the log");
}

#[tokio::test]
async fn the_key_is_stored_nowhere_on_sqlite() {
    the_key_is_stored_nowhere(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_key_is_stored_nowhere_on_postgres() {
    the_key_is_stored_nowhere(Kind::Postgres).await;
}

#[tokio::test]
async fn callers_without_credentials_can_be_an_agent_on_loopback() {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("write", "LOW_WRITE")])
        .start_with_anonymous("guest", "A1");
    let call = |tool: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool } });
    let url = world.url("/crm/mcp");
    assert_eq!(world.client.post(&url, &[], &call("read")).await.decision(), "allow");
    assert_eq!(world.client.post(&url, &[], &call("write")).await.decision(), "deny");
    assert_eq!(world.client.post(&url, &[("x-api-key", "adp_sk_wrong")], &call("read")).await.status, 401);
}

#[tokio::test]
async fn credentials_stay_here() {
    let (world, stub) = a_world(Kind::Sqlite).await;
    let agent = world.agent("quiet", "A3");
    let headers = [
        ("authorization", format!("Bearer {}", agent.key)),
        ("cookie", "session=secret".to_owned()),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
    ];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "read" } });
    assert_eq!(world.client.post(&world.url("/crm/mcp"), &headers, &call).await.status, 200);
    let (seen, _) = stub.seen().pop().unwrap();
    for name in ["authorization", "cookie", "x-api-key", "origin"] {
        assert!(!seen.contains_key(name), "{name} went upstream");
    }
    assert!(seen.contains_key("traceparent"), "the trace goes on");
    assert!(!seen.values().any(|value| value.to_str().is_ok_and(|text| text.contains(&agent.key))));
}
