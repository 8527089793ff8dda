//! The kill switch: one command, and an agent, a tool, an upstream or a tenant is stopped on every node, its open streams
//! with it. What was done is in the chain.

mod promise;

use std::time::Duration;

use futures::StreamExt;
use portreeve_tests::http::pieces;
use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(20);

fn on(kind: Kind, stub: &Stub) -> World {
    World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .upstream("notes", json!({ "url": stub.url() }))
        .manifests("crm", &[("find", "READ_ONLY"), ("write", "LOW_WRITE"), ("slow", "READ_ONLY")])
        .manifests("notes", &[("find", "READ_ONLY")])
        .start()
}

/// Calls until the answer is this one: a node learns of a change within moments.
async fn until(agent: &Agent, tool: &str, decision: &str) -> Vec<String> {
    let mut last = String::new();
    for _ in 0..400 {
        let answer = agent.call(tool, json!({})).await;
        if answer.decision() == decision {
            return answer.denied_by();
        }
        last = answer.text().to_owned();
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{tool} was not decided `{decision}`: {last}");
}

/// A call whose answer is a stream that never ends by itself; its first event has come.
async fn begun(agent: &Agent) -> impl futures::Stream<Item = bytes::Bytes> + Unpin + use<> {
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "slow", "arguments": {}, "_meta": { "progressToken": "p" } } });
    let response =
        agent.client.open("POST", &format!("{}/crm/mcp", agent.base), &headers, call.to_string().into()).await;
    let mut body = pieces(response);
    let first = tokio::time::timeout(PATIENCE, body.next()).await.expect("an event in time").unwrap();
    assert!(String::from_utf8_lossy(&first).contains("notifications/progress"), "{first:?}");
    body
}

async fn rest(mut body: impl futures::Stream<Item = bytes::Bytes> + Unpin) -> String {
    let mut text = String::new();
    while let Some(piece) = tokio::time::timeout(PATIENCE, body.next()).await.expect("the stream ends") {
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    text
}

fn endless() -> Step {
    let progress = Piece::notification("notifications/progress", json!({ "progressToken": "$token", "progress": 1 }));
    Step::on("tools/call").stream([progress, Piece::Silence])
}

fn list(id: i32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_agent_is_stopped_on_both_nodes_and_its_streams_end() {
    let stub = Stub::scripted(vec![endless(), endless()]).await;
    let world = on(Kind::Postgres, &stub);
    let node = world.second_node();
    let here = world.agent("a-1", "A3");
    let there = here.at(&node);
    let other = world.agent("b-1", "A3");
    let (calls_here, calls_there) = (begun(&here).await, begun(&there).await);
    let mut streams = [here.sse("/crm/sse").await, there.sse("/crm/sse").await];
    let mut others = other.at(&node).sse("/crm/sse").await;
    assert_eq!(here.call("crm/write", json!({})).await.decision(), "allow");
    assert_eq!(there.call("crm/write", json!({})).await.decision(), "allow");

    let killed = world.cli_json(&["kill", "agent", "a-1", "--tenant", "acme", "--reason", "its key leaked"]);
    assert_eq!((killed["kind"].as_str(), killed["subject"].as_str()), (Some("agent"), Some("a-1")), "{killed}");

    assert_eq!(until(&here, "crm/write", "deny").await, ["standing"]);
    assert_eq!(until(&there, "crm/write", "deny").await, ["standing"]);
    let reached = stub.calls();
    for agent in [&here, &there] {
        for message in [list(1), json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} })] {
            assert_eq!(agent.post("/crm/mcp", &message).await.message()["error"]["code"], 4030, "{message}");
        }
        let governance = agent.call("adp/adp_verify_chain", json!({ "agent_id": "a-1" })).await;
        assert_eq!(governance.decision(), "deny", "{}", governance.text());
    }
    for stream in &mut streams {
        assert_eq!(stream.event().await, None, "a stream that only listens ends");
    }
    for call in [calls_here, calls_there] {
        let said = rest(call).await;
        assert!(said.contains("\"id\":7") && said.contains("4030"), "an answer under way ends with an error: {said}");
    }
    assert_eq!(stub.calls(), reached, "what was refused reached nobody");
    assert_eq!(other.call("crm/write", json!({})).await.decision(), "allow");
    assert_eq!(other.at(&node).call("crm/write", json!({})).await.decision(), "allow");
    assert!(
        others.ask(&list(3)).await["error"].is_object() || others.send(&list(4)).await == 202,
        "others' streams stay"
    );

    let told = |agent: &str| {
        format!("SELECT count(*) FROM agent_traces WHERE agent_id = '{agent}' AND description = 'agent a-1 suspended'")
    };
    assert_eq!(world.database.count(&told("a-1")), 1, "in the agent's own chain");
    assert_eq!(world.database.count(&told("portreeve")), 1, "and in the operator's");
    assert_eq!(world.verify().0, 0);

    let listed = world.cli_json(&["kill", "--list"]);
    assert_eq!((listed.as_array().map(Vec::len), &listed[0]["reason"]), (Some(1), &json!("its key leaked")));
    let again = world.cli(&["kill", "agent", "a-1", "--tenant", "acme"]);
    assert_eq!(again.status.code(), Some(1), "already stopped");
    world.cli_json(&["restore", "agent", "a-1", "--tenant", "acme"]);
    until(&here, "crm/write", "allow").await;
    until(&there, "crm/write", "allow").await;
    assert_eq!(world.cli_json(&["kill", "--list"]), json!([]));
    assert_eq!(world.verify().0, 0);
}

async fn each_kind_stops_what_it_names(kind: Kind) {
    let stub = Stub::start(&["find", "write", "slow"]).await;
    let world = on(kind, &stub);
    let agent = world.agent("a-1", "A3");
    assert!(agent.modern().tools("/mcp").await.iter().any(|tool| tool.contains("write")));
    for (what, subject, stopped, goes_on) in [
        ("tool", "crm/write", "crm/write", Some("crm/find")),
        ("upstream", "crm", "crm/find", Some("notes/find")),
        ("tenant", "acme", "notes/find", None),
    ] {
        assert!(world.cli(&["kill", what, subject]).status.success(), "{what}");
        assert_eq!(until(&agent, stopped, "deny").await, ["standing"], "{what}");
        if let Some(tool) = goes_on {
            assert_eq!(agent.call(tool, json!({})).await.decision(), "allow", "{what}");
            assert!(!agent.modern().tools("/mcp").await.iter().any(|tool| tool.contains("write")), "{what}: hidden");
        }
        assert!(world.cli(&["restore", what, subject]).status.success(), "{what}");
        until(&agent, stopped, "allow").await;
    }
    let wrong = world.cli(&["kill", "tool", "write"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("namespace/tool"), "{wrong:?}");
    assert_eq!(world.cli(&["kill", "agent", "nobody", "--tenant", "acme"]).status.code(), Some(1), "a misspelt agent");
    assert_eq!(world.cli(&["restore", "tool", "crm/write"]).status.code(), Some(1), "nothing to restore");
    assert_eq!(world.database.count("SELECT count(*) FROM suspensions WHERE lifted_at IS NULL"), 0);
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'portreeve'"), 6);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_stops_what_it_names_on_sqlite() {
    each_kind_stops_what_it_names(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_stops_what_it_names_on_postgres() {
    each_kind_stops_what_it_names(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_under_way_when_its_agent_is_killed_is_withheld() {
    let stub = Stub::start(&["find"]).await;
    let world = on(Kind::Sqlite, &stub);
    let agent = world.agent("a-1", "A3");
    stub.hold();
    let waiting = tokio::spawn({
        let agent = agent.clone();
        async move { agent.call("crm/find", json!({})).await }
    });
    for _ in 0..400 {
        if stub.calls() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    world.cli_json(&["kill", "agent", "a-1", "--tenant", "acme"]);
    world.live().await;
    stub.let_go();
    let answer = waiting.await.unwrap().message();
    assert_eq!(answer["error"]["code"], 4030, "{answer}");
    assert!(!answer.to_string().contains("crm/find was"), "{answer}");
    world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'a-1' AND status_code = 'denied'", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_stop_what_is_their_tenants() {
    let stub = Stub::start(&["find"]).await;
    let world = on(Kind::Postgres, &stub);
    let agent = world.agent("a-1", "A3");
    let admin = world.admin_key.as_str();
    let other = world.cli_json(&["tenant", "add", "other"]);
    let other = other["admin_key"].as_str().unwrap();
    let kill = json!({ "kind": "agent", "subject": "a-1", "reason": "it wanders" });

    for (key, status) in [("", 401), ("pk_nobody", 401), (agent.key.as_str(), 403)] {
        for (method, path) in [("GET", "/api/suspensions"), ("POST", "/api/suspensions"), ("GET", "/api/live")] {
            assert_eq!(world.api(method, path, key, Some(kill.clone())).await.status, status, "{method} {path}");
        }
    }
    for (body, path) in [
        (json!({ "kind": "agent", "subject": "a-1", "resaon": "x" }), "resaon"),
        (json!({ "kind": "planet", "subject": "a-1" }), "kind"),
        (json!({ "kind": "tool", "subject": "find" }), "subject"),
        (json!({ "kind": "agent" }), ""),
    ] {
        let refused = world.api("POST", "/api/suspensions", admin, Some(body.clone())).await;
        assert_eq!(refused.status, 422, "{body}: {}", refused.text());
        assert_eq!(refused.message()["errors"][0]["path"], path, "{}", refused.text());
    }
    let unknown = json!({ "kind": "agent", "subject": "a-2" });
    assert_eq!(world.api("POST", "/api/suspensions", admin, Some(unknown)).await.status, 404);
    assert_eq!(world.api("POST", "/api/suspensions", other, Some(kill.clone())).await.status, 404, "another's agent");

    let made = world.api("POST", "/api/suspensions", admin, Some(kill.clone())).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.message()["id"].as_str().unwrap().to_owned();
    assert_eq!(world.api("POST", "/api/suspensions", admin, Some(kill)).await.status, 409);
    assert_eq!(until(&agent, "crm/find", "deny").await, ["standing"]);
    let listed = world.api("GET", "/api/suspensions", admin, None).await.message();
    assert_eq!(listed["suspensions"][0]["id"], json!(id), "{listed}");
    let theirs = world.api("GET", "/api/suspensions", other, None).await.message();
    assert_eq!(theirs["suspensions"], json!([]), "another tenant sees nothing of it");
    assert_eq!(world.api("DELETE", &format!("/api/suspensions/{id}"), other, None).await.status, 404);
    assert_eq!(world.api("DELETE", "/api/suspensions/xyz", admin, None).await.status, 404);
    assert_eq!(world.api("DELETE", &format!("/api/suspensions/{id}"), admin, None).await.status, 200);
    assert_eq!(world.api("DELETE", &format!("/api/suspensions/{id}"), admin, None).await.status, 404, "once");
    until(&agent, "crm/find", "allow").await;

    // What the operator stopped is the operator's to restore.
    world.cli_json(&["kill", "agent", "a-1", "--tenant", "acme"]);
    let id = world.cli_json(&["kill", "--list"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.api("DELETE", &format!("/api/suspensions/{id}"), admin, None).await.status, 403);
    until(&agent, "crm/find", "deny").await;
    assert_eq!(world.verify().0, 0);
}
