//! A client that begins at one node and goes on at another: what lives in a process is carried to it while it lives, and
//! rebuilt from the handshake when it is gone.

mod broken;
mod certificates;
mod talk;

use portreeve_tests::{Kind, Step, Stub, World};
use serde_json::{Value, json};

use talk::{TOOLS, Talk, call, child, next};

/// A world whose upstream `notes` is a program that remembers.
fn with_child(outside: &std::path::Path) -> World {
    World::on(Kind::Postgres).upstream("notes", child(outside)).manifests("notes", &TOOLS).start()
}

fn asked() -> Value {
    json!({ "elicitation": {} })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_upstream_holds_goes_on_at_any_node() {
    let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "stub", "version": "1" } });
    let stub = Stub::scripted(vec![Step::on("initialize").result(greeting).session("up-1").always()]).await;
    let mut world = World::on(Kind::Postgres)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let node = world.second_node();
    let here = Talk::open(&world.agent("a-1", "A1"), "/crm/mcp", json!({})).await;
    assert_eq!(here.at(&node).call("read").await.status, 200);
    world.stop_gateway();
    assert_eq!(here.at(&node).call("read").await.status, 200, "nothing of it was in the node that is gone");
    let calls = stub.seen().into_iter().filter(|(_, message)| message["method"] == "tools/call");
    let sessions: Vec<_> = calls.map(|(headers, _)| headers["mcp-session-id"].clone()).collect();
    assert_eq!(sessions, ["up-1", "up-1"]);
    assert_eq!(stub.asked("initialize"), 1);
}

// acceptance 72, the part of sessions.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_a_child_is_carried_to_its_node_and_rebuilt_when_that_is_gone() {
    let outside = tempfile::tempdir().unwrap();
    let mut world = with_child(outside.path());
    let node = world.second_node();
    let here = Talk::open(&world.agent("a-1", "A1"), "/notes/mcp", asked()).await;
    let there = here.at(&node);
    let (child, first) = here.count().await;
    assert_eq!(first, "1");
    assert_eq!(there.count().await, (child.clone(), "2".into()), "the same child, reached through the other node");
    world.eventually("SELECT count(*) FROM audit_logs WHERE status_code = 'ok'", 2).await;
    let carried =
        "SELECT count(*) FROM agent_traces WHERE context::text LIKE '%\"via\"%' AND context::text LIKE '%\"node\"%'";
    world.eventually(carried, 1).await;
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1'"), 2, "judged once each");

    // All together behind one door: the aggregated session is its node's as well.
    let all = Talk::open(&here.agent, "/mcp", asked()).await;
    let number = |answer: &portreeve_tests::Answer| answer.message()["result"]["content"][0]["text"].clone();
    let counted = number(&all.call("notes__count").await);
    assert_eq!(
        number(&all.at(&node).call("notes__count").await).as_str().unwrap().split(' ').next(),
        counted.as_str().unwrap().split(' ').next()
    );

    world.stop_gateway();
    let (rebuilt, first) = there.count().await;
    assert!(rebuilt != child && first == "1", "a new child, greeted as the first: {rebuilt} {first}");
    assert_eq!(there.count().await, (rebuilt.clone(), "2".into()));
    assert_eq!(all.at(&node).call("notes__count").await.status, 200);
    world.start_gateway();
    let (third, first) = here.count().await;
    assert!(third != rebuilt && first == "1", "at the same address, but not the process that was");
    assert_eq!(there.count().await.0, rebuilt, "nor is it carried to one that took its place");

    assert_eq!(there.send("DELETE", &[]).await.status, 204);
    assert_eq!(there.call("count").await.status, 404, "what its client has ended is not built again");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_through_the_other_node() {
    let outside = tempfile::tempdir().unwrap();
    let world = with_child(outside.path());
    let node = world.second_node();
    let agent = world.agent("a-1", "A1");
    let here = Talk::open(&agent, "/notes/mcp", asked()).await;
    let there = here.at(&node);
    // Asked here, answered there; and the other way round.
    for (asks, answers) in [(&here, &there), (&there, &here)] {
        let (_client, mut stream) = asks.stream("POST", Some(&call("ask"))).await;
        let (question, _) = next(&mut stream).await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert_eq!(answers.tell(&question, "Ada").await, 202);
        let (done, _) = next(&mut stream).await;
        assert_eq!(done["result"]["content"][0]["text"], "Hello Ada", "{done}");
    }
    // News of the session, read through the other node.
    let (_client, mut news) = there.stream("GET", None).await;
    assert_eq!(here.call("news").await.status, 200);
    assert_eq!(next(&mut news).await.0["method"], "notifications/tools/list_changed");

    // A call of the stateless era that waits for its answer in one node, and gets it from another.
    let (modern, other) = (agent.modern(), agent.at(&node).modern());
    let mut asking = call("ask");
    asking["params"]["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let held = modern.post("/notes/mcp", &asking).await.message();
    assert_eq!(held["result"]["resultType"], "input_required", "{held}");
    asking["params"]["requestState"] = held["result"]["requestState"].clone();
    asking["params"]["inputResponses"] =
        json!({ "elicitation-1": { "action": "accept", "content": { "name": "Bo" } } });
    let done = other.post("/notes/mcp", &asking).await.message();
    assert_eq!(done["result"]["content"][0]["text"], "Hello Bo", "{done}");
    for agent in [&modern, &other] {
        let again = agent.post("/notes/mcp", &asking).await;
        assert_eq!((again.status, again.message()["error"]["code"].clone()), (400, json!(-32602)), "used");
    }
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridged_session_is_carried_and_loses_only_what_was_said_in_it() {
    let greeting = json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {}, "logging": {} }, "resultType": "complete",
        "serverInfo": { "name": "stub", "version": "1" }, "ttlMs": 0, "cacheScope": "private" });
    let done = json!({ "content": [], "resultType": "complete" });
    let steps =
        vec![Step::on("server/discover").result(greeting).always(), Step::on("tools/call").result(done).always()];
    let stub = Stub::scripted(steps).await;
    let mut world = World::on(Kind::Postgres)
        .upstream("new", json!({ "url": stub.url(), "protocol": "modern" }))
        .manifests("new", &[("read", "READ_ONLY")])
        .start();
    let node = world.second_node();
    let here = Talk::open(&world.agent("a-1", "A1"), "/new/mcp", asked()).await;
    let there = here.at(&node);
    let level = || {
        let calls = stub.seen().into_iter().filter(|(_, message)| message["method"] == "tools/call");
        calls.last().unwrap().1["params"]["_meta"]["io.modelcontextprotocol/logLevel"].clone()
    };
    let quiet = json!({ "jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": { "level": "error" } });
    assert_eq!(there.post(&quiet, &[]).await.status, 200);
    for talk in [&here, &there] {
        assert_eq!(talk.call("read").await.status, 200);
        assert_eq!(level(), "error", "said through the other node, kept in the one");
    }
    world.stop_gateway();
    let answer = there.call("read").await;
    assert!(answer.status == 200 && answer.message()["result"].is_object(), "{}", answer.text());
    assert_eq!(level(), "info", "the session was built again from its handshake");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_node_serves_anothers_session_and_no_passage_can_be_forged() {
    let outside = tempfile::tempdir().unwrap();
    let world = with_child(outside.path());
    let node = world.second_node();
    let here = Talk::open(&world.agent("a-1", "A1"), "/notes/mcp", asked()).await;
    let there = here.at(&node);
    let (child, _) = here.count().await;
    let stranger = Talk { agent: world.agent("a-2", "A1"), ..here.clone() };
    let nobody = Talk { agent: world.agent_with_key("nobody", "no-key"), ..here.clone() };
    let forged = [("portreeve-carried", "c2VhbGVkIGJ5IG5vYm9keQ")];
    for (talk, status) in [(&stranger, 404), (&nobody, 401)] {
        for talk in [talk.clone(), talk.at(&node)] {
            assert_eq!(talk.call("count").await.status, status);
            assert_eq!(talk.post(&call("count"), &forged).await.status, status, "a label is no credential");
            assert_eq!(talk.send("GET", &forged).await.status, status);
            assert_eq!(talk.send("DELETE", &forged).await.status, status);
        }
    }
    // A label that no node made means nothing: the request goes the way it would have gone without it.
    let answer = there.post(&call("count"), &forged).await.message();
    assert_eq!(answer["result"]["content"][0]["text"], format!("{child} 2"), "{answer}");
}
