//! The switch is promised to work on every node within a second, for what is asked and for what is under way.

use std::time::{Duration, Instant};

use futures::StreamExt;
use portreeve_tests::http::pieces;
use portreeve_tests::{Agent, Kind, Stub, World};
use serde_json::json;
use tokio::task::JoinHandle;

use super::{PATIENCE, begun, endless, on};

/// The promise is one second. A machine that does other things besides is given three; a node that looks every five is not.
const PROMISED: Duration = Duration::from_secs(3);

/// When a stream has ended, found out beside the command that ends it.
fn ending(stream: impl futures::Stream<Item = bytes::Bytes> + Unpin + Send + 'static) -> JoinHandle<Instant> {
    tokio::spawn(async move {
        stream.for_each(|_| std::future::ready(())).await;
        Instant::now()
    })
}

/// The same for a stream that only listens.
async fn listening(agent: &Agent, path: &str) -> JoinHandle<Instant> {
    let headers = [("x-api-key", agent.key.as_str()), ("accept", "text/event-stream")];
    let response = agent.client.open("GET", &format!("{}{path}", agent.base), &headers, bytes::Bytes::new()).await;
    assert_eq!(response.status(), 200, "{path}");
    let mut stream = pieces(response);
    let first = tokio::time::timeout(PATIENCE, stream.next()).await.expect("an event in time");
    assert!(first.is_some(), "{path}");
    ending(stream)
}

/// Whether the call is refused; otherwise its stream has begun, and is left at once.
async fn is_refused(agent: &Agent) -> bool {
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let params = json!({ "name": "slow", "arguments": {}, "_meta": { "progressToken": "p" } });
    let call = json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params }).to_string();
    let response = agent.client.open("POST", &format!("{}/crm/mcp", agent.base), &headers, call.into()).await;
    let first = tokio::time::timeout(PATIENCE, pieces(response).next()).await.expect("an answer in time");
    first.is_none_or(|piece| !String::from_utf8_lossy(&piece).contains("notifications/progress"))
}

/// When a call is first refused.
fn refusal(agent: &Agent) -> JoinHandle<Instant> {
    let agent = agent.clone();
    tokio::spawn(async move {
        while !is_refused(&agent).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Instant::now()
    })
}

async fn kept(since: Instant, end: JoinHandle<Instant>, what: &str) {
    let at = tokio::time::timeout(PATIENCE, end).await.unwrap_or_else(|_| panic!("{what}: goes on")).unwrap();
    let took = at.saturating_duration_since(since);
    println!("{what}: {} ms after the command", took.as_millis());
    assert!(took < PROMISED, "{what}: {took:?} after the command");
}

async fn what_is_stopped_stops_in_time(kind: Kind) {
    let stub = Stub::scripted(vec![endless().always()]).await;
    let world = on(kind, &stub);
    let agent = world.agent("a-1", "A3");
    let other = world.agent("b-1", "A3");
    // One file has one node; what a database serves is served by several.
    let second = (kind == Kind::Postgres).then(|| world.second_node());
    let nodes: Vec<_> = std::iter::once((agent.clone(), other.clone()))
        .chain(second.iter().map(|node| (agent.at(node), other.at(node))))
        .collect();
    for (what, subject, ends_listening, ends_others) in [
        ("agent", "a-1", true, false),
        ("tool", "crm/slow", false, false),
        ("upstream", "crm", true, false),
        ("tenant", "acme", true, true),
    ] {
        let tenant: &[&str] = if what == "agent" { &["--tenant", "acme"] } else { &[] };
        let (mut calls, mut streams, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (agent, other) in &nodes {
            calls.push(ending(begun(agent).await));
            streams.push(listening(agent, "/crm/sse").await);
            others.push(listening(other, "/notes/sse").await);
        }
        let killed = world.cli(&[&["kill", what, subject], tenant].concat());
        let since = Instant::now();
        assert!(killed.status.success(), "{what}: {}", String::from_utf8_lossy(&killed.stderr));
        let refusals: Vec<_> = nodes.iter().map(|(agent, _)| refusal(agent)).collect();
        for (node, refusal) in refusals.into_iter().enumerate() {
            kept(since, refusal, &format!("{what}, node {node}, a call is refused")).await;
        }
        for (node, call) in calls.into_iter().enumerate() {
            kept(since, call, &format!("{what}, node {node}, an answer under way ends")).await;
        }
        for (ends, waiting, whose) in [(ends_listening, streams, "its"), (ends_others, others, "another's")] {
            for (node, stream) in waiting.into_iter().enumerate() {
                match ends {
                    true => kept(since, stream, &format!("{what}, node {node}, {whose} stream ends")).await,
                    false => {
                        assert!(!stream.is_finished(), "{what}, node {node}: {whose} stream goes on");
                        stream.abort();
                    }
                }
            }
        }
        assert!(world.cli(&[&["restore", what, subject], tenant].concat()).status.success(), "{what}");
        for (agent, _) in &nodes {
            goes_on(&world, agent, what).await;
        }
    }
    assert_eq!(world.verify().0, 0);
}

async fn goes_on(world: &World, agent: &Agent, what: &str) {
    for _ in 0..400 {
        if !is_refused(agent).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{what} was restored and is refused: {}", world.url(""));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stopped_stops_in_time_on_sqlite() {
    what_is_stopped_stops_in_time(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stopped_stops_in_time_on_postgres() {
    what_is_stopped_stops_in_time(Kind::Postgres).await;
}
