//! All upstreams behind one door.

use portreeve_tests::{Agent, Kind, Stub, World, environment};
use serde_json::{Value, json};

async fn page(agent: &Agent, cursor: Option<&str>) -> Value {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    let session = session(agent).await;
    let headers = [("x-api-key", agent.key.as_str()), ("mcp-session-id", session.as_str())];
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params });
    agent.client.post(&format!("{}/mcp", agent.base), &headers, &list).await.message()
}

async fn session(agent: &Agent) -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "story", "version": "1" } } });
    let answer = agent.post("/mcp", &hello).await;
    assert_eq!(answer.message()["result"]["protocolVersion"], "2025-11-25");
    answer.header("mcp-session-id").expect("a session").to_owned()
}

async fn call(agent: &Agent, name: &str) -> portreeve_tests::Answer {
    let session = session(agent).await;
    let headers = [("x-api-key", agent.key.as_str()), ("mcp-session-id", session.as_str())];
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": name, "arguments": { "n": 1 } } });
    agent.client.post(&format!("{}/mcp", agent.base), &headers, &call).await
}

#[tokio::test]
async fn one_door_for_all_and_a_dead_member_does_not_close_it() {
    let (notes, crm) = (Stub::start(&["search", "add"]).await, Stub::start(&["search"]).await);
    let dead = format!("http://127.0.0.1:{}/mcp", environment::free_port());
    let world = World::on(Kind::Sqlite)
        .upstream("notes", json!({ "url": notes.url() }))
        .upstream("crm", json!({ "url": crm.url() }))
        .upstream("dead", json!({ "url": dead }))
        .manifests("notes", &[("search", "READ_ONLY"), ("add", "LOW_WRITE")])
        .manifests("crm", &[("search", "READ_ONLY")])
        .start();
    let agent = world.agent("a-2", "A2");
    let listed = page(&agent, None).await;
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"adp_authorize"), "built-in tools keep their names: {names:?}");
    let own: Vec<&str> = names.iter().copied().filter(|name| !name.starts_with("adp_")).collect();
    assert_eq!(own, ["crm__search", "notes__search"], "an advisory agent is not shown what it may not do");
    let promoted = page(&world.agent("a-3", "A3"), None).await;
    let shown: Vec<&str> =
        promoted["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    let shown: Vec<&str> = shown.into_iter().filter(|name| !name.starts_with("adp_")).collect();
    assert_eq!(shown, ["crm__search", "notes__search", "notes__add"], "by namespace, then as the upstream lists");
    assert_eq!(page(&agent, None).await["result"]["tools"], listed["result"]["tools"], "always the same order");

    for (name, stub, calls) in [("notes__search", &notes, 1), ("notes/search", &notes, 2), ("crm__search", &crm, 1)] {
        let answer = call(&agent, name).await;
        assert_eq!(answer.decision(), "allow", "{name}: {}", answer.text());
        assert_eq!(answer.tool_json()["tool"], "search", "the upstream hears its own name");
        assert_eq!(stub.calls(), calls, "{name}");
    }
    assert_eq!(call(&agent, "notes__add").await.decision(), "deny", "an advisory agent may not write here either");
    assert_eq!(call(&agent, "nowhere__search").await.message()["error"]["code"], -32602);
    let traced = world.database.count("SELECT count(*) FROM agent_traces WHERE description LIKE 'notes/search%'");
    assert_eq!(traced, 2, "the trace has the canonical name");
}
