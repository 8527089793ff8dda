//! Streams and nodes that break off in the middle.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use portreeve_tests::{Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::talk::{Talk, call, next};
use super::{asked, with_child};

fn progress(n: u32) -> Piece {
    Piece::notification("notifications/progress", json!({ "progressToken": "$token", "progress": n }))
}

// acceptance 43 over two processes: the rest of a stream is fetched through a node that never saw its beginning.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_is_resumed_through_the_other_node() {
    let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "stub", "version": "1" } });
    let says =
        [progress(1), Piece::Pause(Duration::from_millis(300)), progress(2), Piece::answer(json!({ "content": [] }))];
    let steps = vec![
        Step::on("initialize").result(greeting).session("up-1").always(),
        Step::on("tools/call").stream(says).always(),
    ];
    let stub = Stub::scripted(steps).await;
    let mut world = World::on(Kind::Postgres)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("slow", "READ_ONLY")])
        .start();
    let node = world.second_node();
    let here = Talk::open(&world.agent("a-1", "A1"), "/crm/mcp", json!({})).await;
    let there = here.at(&node);
    let (client, mut stream) = here.stream("POST", Some(&call("slow"))).await;
    let (_, id) = next(&mut stream).await;
    let id = id.expect("an event with an id");
    drop((stream, client));

    let rest = there.send("GET", &[("last-event-id", &id)]).await;
    assert_eq!(rest.status, 200, "{}", rest.text());
    let shown: Vec<Value> = rest.events().iter().map(|event| event["params"]["progress"].clone()).collect();
    assert_eq!(shown, [json!(2), Value::Null], "what was missed and the answer, each once");
    assert!(rest.message()["result"].is_object());
    assert_eq!(stub.calls(), 1);
    // Whose session it is not gets nothing of it, and an id that somebody made up leads nowhere.
    let stranger = Talk { agent: world.agent("a-2", "A1").at(&node), ..there.clone() };
    assert_eq!(stranger.send("GET", &[("last-event-id", &id)]).await.status, 404);
    let (own, _mark) = id.rsplit_once('.').unwrap();
    let forged = format!("{own}.aHR0cDovLzEyNy4wLjAuMTo5");
    assert_eq!(there.send("GET", &[("last-event-id", &forged)]).await.status, 405, "as if it were new: no stream");
    world.stop_gateway();
    assert_eq!(there.send("GET", &[("last-event-id", &id)]).await.status, 405, "lost with its node");
    assert_eq!(there.call("slow").await.status, 200, "but the session goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_broke_off_with_its_node_is_not_made_again() {
    let outside = tempfile::tempdir().unwrap();
    let mut world = with_child(outside.path());
    let node = world.second_node();
    let here = Talk::open(&world.agent("a-3", "A3"), "/notes/mcp", asked()).await;
    let there = here.at(&node);
    let calling = tokio::spawn({
        let there = there.clone();
        async move { there.call("hang").await }
    });
    let begun = || std::fs::read_to_string(outside.path().join("begun")).unwrap_or_default();
    for _ in 0..400 {
        if !begun().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(begun(), "begun\n");
    world.stop_gateway();
    let answer = calling.await.unwrap();
    assert_eq!(answer.status, 502, "{}", answer.text());
    let error = answer.message();
    assert_eq!(error["id"], 1);
    assert!(error["error"]["message"].as_str().unwrap().contains("audit log"), "{error}");
    // The next one finds the node gone, and the session where it is asked for.
    assert_eq!(there.count().await.1, "1");
    assert_eq!(begun(), "begun\n", "the other node did not make the call once more");
    let traces = "SELECT count(*) FROM agent_traces WHERE context::text LIKE '%notes/hang%'";
    assert_eq!(world.database.count(traces), 1, "and wrote no second decision down");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_over_events_is_spoken_to_through_the_other_node() {
    let outside = tempfile::tempdir().unwrap();
    let mut world = with_child(outside.path());
    let node = world.second_node();
    let agent = world.agent("a-1", "A1");
    let mut stream = agent.sse("/notes/sse").await;
    let post = |message: Value| {
        let (url, agent) = (format!("http://127.0.0.1:{}{}", node.port, stream.endpoint), agent.clone());
        async move { agent.client.post(&url, &[("x-api-key", &agent.key)], &message).await.status }
    };
    let params =
        json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let opening = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let (opened, called) = (post(opening), post(call("count")));
    assert_eq!(opened.await, 202);
    assert_eq!(stream.hear().await["id"], 0, "what is posted there is answered on the stream here");
    assert_eq!(called.await, 202);
    assert!(stream.hear().await["result"]["content"][0]["text"].as_str().unwrap().ends_with(" 1"));
    let late = format!("http://127.0.0.1:{}{}", node.port, stream.endpoint);
    world.stop_gateway();
    let late = agent.client.post(&late, &[("x-api-key", &agent.key)], &call("count")).await;
    assert_eq!(late.status, 404, "the stream was the conversation: {}", late.text());
}

/// Whoever took the address of a node that is gone: answers everything, and remembers what it was told.
async fn stranger_at(port: u16) -> Arc<Mutex<String>> {
    let heard = Arc::new(Mutex::new(String::new()));
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let writing = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut read = vec![0; 64 * 1024];
            let bytes = socket.read(&mut read).await.unwrap_or(0);
            writing.lock().unwrap().push_str(&String::from_utf8_lossy(&read[..bytes]));
            let body = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"made up"}]}}"#;
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
            let _ = socket.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await;
        }
    });
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_at_the_address_of_a_node_learns_no_credential_and_is_not_believed() {
    let outside = tempfile::tempdir().unwrap();
    let mut world = with_child(outside.path());
    let node = world.second_node();
    let here = Talk::open(&world.agent("a-1", "A1"), "/notes/mcp", asked()).await;
    let there = here.at(&node);
    assert_eq!(there.count().await.1, "1");
    let endpoint = here.agent.sse("/notes/sse").await.endpoint.clone();
    world.stop_gateway();
    let heard = stranger_at(world.port).await;

    let posted = format!("http://127.0.0.1:{}{endpoint}", node.port);
    let posted = here.agent.client.post(&posted, &[("x-api-key", &here.agent.key)], &call("count")).await;
    assert_eq!(posted.status, 502, "{}", posted.text());
    let answer = there.call("count").await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(!answer.text().contains("made up"), "{}", answer.text());
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard.matches("POST /notes/").count(), 2, "both were carried there: {heard}");
    assert!(heard.contains("portreeve-carried: "), "{heard}");
    assert!(!heard.contains(&here.agent.key), "the credential went along in the clear: {heard}");
    assert_eq!(there.count().await.1, "1", "nobody is asked there again, and the session is rebuilt");
}
