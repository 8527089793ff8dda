//! The same gateway on every wire: Streamable HTTP, the HTTP+SSE transport of 2024-11-05, and WebSocket.

use std::time::Duration;

use futures::StreamExt;
use portreeve_tests::http::pieces;
use portreeve_tests::messages::{initialized, modern_meta, request};
use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

fn initialize(revision: &str) -> Value {
    portreeve_tests::messages::initialize(revision, json!({ "elicitation": {} }))
}

fn call(id: i32, tool: &str) -> Value {
    request(id, "tools/call", json!({ "name": tool, "arguments": { "of": "7" } }))
}

async fn a_world(steps: Vec<Step>) -> (World, Stub) {
    before(Stub::scripted(steps).await)
}

fn before(stub: Stub) -> (World, Stub) {
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("wipe", "HIGH_WRITE")])
        .set("limits", json!({ "agent_per_minute": 0, "body_bytes": "64KiB" }))
        .start();
    (world, stub)
}

/// Without the trace ids, which differ from one time to the next on whichever wire.
fn timeless(answer: &Value) -> Value {
    let text = answer.to_string();
    let mut parts = text.split("trc_");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    serde_json::from_str(&rest.fold(first, |text, part| text + "trace" + part)).unwrap()
}

/// The whole conversation on one wire, as the answers it brought.
async fn on_http(agent: &Agent, path: &str, questions: &[Value]) -> Vec<Value> {
    let mut answers = Vec::new();
    let url = format!("{}{path}/mcp", agent.base);
    let mut headers = vec![("x-api-key".to_owned(), agent.key.clone())];
    for question in questions {
        let given: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = agent.client.post(&url, &given, question).await;
        if question.get("id").is_none() {
            continue;
        }
        if question["method"] == "initialize" {
            let version = answer.message()["result"]["protocolVersion"].as_str().unwrap().to_owned();
            headers.push(("mcp-protocol-version".into(), version));
            headers.extend(answer.header("mcp-session-id").map(|id| ("mcp-session-id".into(), id.to_owned())));
        }
        answers.push(timeless(&answer.message()));
    }
    answers
}

async fn on_sse(agent: &Agent, path: &str, questions: &[Value]) -> Vec<Value> {
    let mut stream = agent.sse(&format!("{path}/sse")).await;
    let mut answers = Vec::new();
    for question in questions {
        match question.get("id") {
            Some(_) => answers.push(timeless(&stream.ask(question).await)),
            None => assert_eq!(stream.send(question).await, 202),
        }
    }
    answers
}

fn on_ws(agent: &Agent, path: &str, questions: &[Value]) -> Vec<Value> {
    let mut socket = agent.ws(&format!("{path}/ws"), &[]).unwrap();
    let mut answers = Vec::new();
    for question in questions {
        match question.get("id") {
            Some(_) => answers.push(timeless(&socket.ask(question))),
            None => socket.send(question),
        }
    }
    socket.close();
    answers
}

// acceptance 40: the same question has the same answer on every wire.
// acceptance 41, in part: in every revision of the session eras.
#[tokio::test(flavor = "multi_thread")]
async fn one_conversation_is_the_same_on_every_wire() {
    let (world, stub) = before(Stub::start(&["read", "wipe"]).await);
    let agent = world.agent("a-2", "A2");
    for (path, read, wipe) in [("/crm", "read", "wipe"), ("", "crm__read", "crm__wipe")] {
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let questions = [
                initialize(revision),
                initialized(),
                request(1, "tools/list", json!({})),
                call(2, read),
                call(3, wipe),
                call(4, "unheard-of"),
                request(5, "ping", json!({})),
                json!({ "jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {} }),
            ];
            let http = on_http(&agent, path, &questions).await;
            assert_eq!(http[0]["result"]["protocolVersion"], revision, "{path}: {}", http[0]);
            assert!(http[2].to_string().contains("\\\"of\\\":\\\"7\\\""), "{path}: {}", http[2]);
            assert_eq!(http[3]["result"]["isError"], true, "{path}: {}", http[3]);
            assert_eq!(on_sse(&agent, path, &questions).await, http, "{revision} at {path} over SSE");
            assert_eq!(on_ws(&agent, path, &questions), http, "{revision} at {path} over a WebSocket");
        }
    }
    // Every wire is governed and recorded: two doors, four revisions, three wires, each with one refused call.
    assert_eq!(stub.calls(), 2 * 4 * 3, "only what was allowed arrived");
    world.eventually("SELECT count(*) FROM agent_traces WHERE description LIKE '%crm/wipe%'", 2 * 4 * 3).await;
}

// acceptance 40: the stateless era needs no headers where there are none.
#[tokio::test(flavor = "multi_thread")]
async fn the_stateless_era_speaks_on_every_wire_too() {
    let (world, stub) = before(Stub::start(&["read", "wipe"]).await);
    let agent = world.agent("a-2", "A2");
    let questions: Vec<Value> = [call(1, "read"), call(2, "wipe"), request(3, "tools/list", json!({}))]
        .into_iter()
        .map(|mut question| {
            question["params"]["_meta"] = modern_meta();
            question
        })
        .collect();
    let mut http = Vec::new();
    for question in &questions {
        http.push(timeless(&agent.modern().post("/crm/mcp", question).await.message()));
    }
    assert!(http[0].to_string().contains("\\\"of\\\":\\\"7\\\""), "{}", http[0]);
    assert_eq!(http[1]["result"]["isError"], true, "{}", http[1]);
    assert_eq!(on_sse(&agent, "/crm", &questions).await, http);
    assert_eq!(on_ws(&agent, "/crm", &questions), http);
    assert_eq!(stub.calls(), 3);
}

// acceptance 43: what breaks in the middle arrives as an error of the call, not as silence.
#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_dies_in_the_middle_of_its_answer_is_an_error_on_every_wire() {
    let progress = Piece::notification("notifications/message", json!({ "level": "info", "data": "half way" }));
    let breaks = Step::on("tools/call").stream([progress, Piece::Break]).always();
    let (world, _stub) = a_world(vec![breaks]).await;
    let agent = world.agent("a-1", "A1");
    let is_error = |message: &Value| message["id"] == 1 && message["error"]["code"].is_i64();

    let answer = agent.post("/crm/mcp", &call(1, "read")).await;
    assert_eq!((answer.status, answer.events().len()), (200, 2), "{}", answer.text());
    assert!(is_error(&answer.message()), "{}", answer.text());

    let mut stream = agent.sse("/crm/sse").await;
    assert_eq!(stream.send(&call(1, "read")).await, 202);
    assert_eq!(stream.hear().await["params"]["data"], "half way");
    let failed = stream.hear().await;
    assert!(is_error(&failed), "{failed}");

    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.send(&call(1, "read"));
    assert_eq!(socket.hear().unwrap()["params"]["data"], "half way");
    let failed = socket.hear().unwrap();
    assert!(is_error(&failed), "{failed}");
    // The wire outlives the call.
    assert_eq!(socket.ask(&request(2, "tools/list", json!({})))["result"]["tools"][0]["name"], "read");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_news_and_farewells_travel_both_ways() {
    let asks = [
        Piece::question(
            "q-1",
            "elicitation/create",
            json!({ "message": "sure?", "requestedSchema": { "type": "object" } }),
        ),
        Piece::Answered(json!("q-1")),
        Piece::answer(json!({ "content": [{ "type": "text", "text": "done" }] })),
    ];
    let news = Piece::notification("notifications/tools/list_changed", json!({}));
    let (world, stub) = a_world(vec![
        Step::legacy_server(),
        Step::on("GET").stream([Piece::Pause(Duration::from_millis(100)), news, Piece::Silence]).always(),
        Step::on("tools/call").stream(asks).always(),
    ])
    .await;
    let agent = world.agent("a-1", "A1");
    let answer = json!({ "jsonrpc": "2.0", "id": "q-1", "result": { "action": "decline" } });

    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.ask(&initialize("2025-11-25"));
    socket.send(&initialized());
    assert_eq!(socket.hear().unwrap()["method"], "notifications/tools/list_changed", "without a call");
    socket.send(&call(1, "read"));
    assert_eq!(socket.hear().unwrap()["method"], "elicitation/create");
    socket.send(&answer);
    assert_eq!(socket.hear().unwrap()["result"]["content"][0]["text"], "done");
    socket.close();
    for _ in 0..200 {
        if stub.seen().iter().any(|(_, message)| message["method"] == "DELETE") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let seen = stub.seen();
    let told: Vec<_> = seen.iter().filter_map(|(_, message)| message["method"].as_str()).collect();
    assert_eq!(told, ["initialize", "notifications/initialized", "GET", "tools/list", "tools/call", "DELETE"]);
    assert!(seen[1..].iter().all(|(headers, _)| headers["mcp-session-id"] == "up-1"), "in the upstream's session");

    let mut stream = agent.sse("/crm/sse").await;
    stream.ask(&initialize("2025-11-25")).await;
    assert_eq!(stream.send(&initialized()).await, 202);
    assert_eq!(stream.hear().await["method"], "notifications/tools/list_changed");
    assert_eq!(stream.send(&call(1, "read")).await, 202);
    assert_eq!(stream.hear().await["method"], "elicitation/create");
    assert_eq!(stream.send(&answer).await, 202);
    assert_eq!(stream.hear().await["result"]["content"][0]["text"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_are_no_messages_end_the_socket() {
    let (world, stub) = a_world(vec![]).await;
    let agent = world.agent("a-1", "A1");
    let mut whole = agent.ws("/crm/ws", &[("sec-websocket-protocol", "mcp")]).unwrap();
    whole.send_in_pieces(&call(1, "read"), 7);
    assert_eq!(whole.hear().unwrap()["id"], 1, "however it was cut");
    whole.send(&json!("not a message"));
    assert!(whole.hear().unwrap()["error"]["code"].is_i64(), "an answer, and the socket stays");
    assert_eq!(whole.ask(&call(2, "read"))["id"], 2);

    let large = request(1, "tools/call", json!({ "name": "read", "arguments": { "of": "x".repeat(70_000) } }));
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.send(&large);
    assert_eq!(socket.hear(), Err(1009), "too large");
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.send_in_pieces(&large, 30_000);
    assert_eq!(socket.hear(), Err(1009), "too large in pieces");
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.send_binary(&call(1, "read"));
    assert_eq!(socket.hear(), Err(1003), "binary");
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.send_raw(b"\x81\x02{}");
    assert_eq!(socket.hear(), Err(1002), "unmasked");
    assert_eq!(stub.calls(), 2, "none of these reached the tool");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_turned_away_before_the_wire_opens() {
    let (world, stub) = a_world(vec![]).await;
    let (agent, other) = (world.agent("a-1", "A1"), world.agent("a-2", "A1"));
    let nobody = world.agent_with_key("x", "adp_sk_0");
    let refused = |opened: Result<_, u16>| opened.err();
    assert_eq!(refused(nobody.ws("/crm/ws", &[])), Some(401));
    assert_eq!(refused(agent.ws("/crm/ws", &[("origin", "https://evil.example")])), Some(403));
    assert_eq!(refused(agent.ws("/crm/ws", &[("host", "evil.example")])), Some(403));
    assert!(agent.ws("/crm/ws", &[("origin", "http://localhost:3000")]).is_ok());
    let key = [("x-api-key", agent.key.as_str())];
    assert_eq!(agent.client.send("GET", &world.url("/crm/ws"), &key, "").await.status, 426, "no upgrade");
    assert_eq!(agent.client.send("GET", &world.url("/crm/sse"), &[], "").await.status, 401);
    let evil = [key[0], ("origin", "https://evil.example")];
    assert_eq!(agent.client.send("GET", &world.url("/crm/sse"), &evil, "").await.status, 403);

    let mut stream = agent.sse("/crm/sse").await;
    assert_eq!(stream.send_as(&other, &call(1, "read")).await, 404, "another agent's conversation");
    assert_eq!(stream.send_as(&nobody, &call(1, "read")).await, 401);
    let forged = agent.client.post(&world.url("/crm/sse?session=forged"), &key, &call(1, "read")).await;
    assert_eq!(forged.status, 404);
    let none = agent.client.post(&world.url("/crm/sse"), &key, &call(1, "read")).await;
    assert_eq!(none.status, 400);
    assert_eq!(stub.calls(), 0);
    assert_eq!(stream.ask(&call(1, "read")).await["id"], 1, "and its owner noticed nothing");
    let address = stream.endpoint.clone();
    drop(stream);
    let gone = async {
        while agent.client.post(&world.url(&address), &key, &call(2, "read")).await.status != 404 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("a conversation ends with its stream");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stops_says_so_and_a_quiet_stream_says_that_it_is_there() {
    let quiet = Step::on("tools/call").stream([Piece::Silence]).always();
    let (mut world, _stub) = a_world(vec![quiet]).await;
    let agent = world.agent("a-1", "A1");
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    let mut stream = agent.sse("/crm/sse").await;
    let headers = [("x-api-key", agent.key.as_str()), ("content-type", "application/json")];
    let body = call(1, "read").to_string();
    let response = agent.client.open("POST", &world.url("/crm/mcp"), &headers, body.into()).await;
    let first = tokio::time::timeout(Duration::from_secs(20), pieces(response).next()).await.expect("in time").unwrap();
    assert!(first.starts_with(b": "), "a comment: {first:?}");
    assert_eq!(socket.ask(&request(1, "tools/list", json!({})))["id"], 1, "as alive as before");
    world.gateway().signal("TERM");
    assert_eq!(socket.hear(), Err(1001));
    assert_eq!(stream.event().await, None, "the stream ends in order");
}

// acceptance 41, in part: an upstream of the first transport. Another gateway plays it: it has the door.
#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_of_the_older_transport_is_found_and_used() {
    let progress = Piece::notification("notifications/message", json!({ "level": "info", "data": "half way" }));
    let done = Piece::answer(json!({ "content": [{ "type": "text", "text": "done" }] }));
    let breaks = Step::on("tools/call").stream([progress.clone(), Piece::Break]);
    let (behind, stub) = a_world(vec![breaks, Step::on("tools/call").stream([progress, done]).always()]).await;
    let inner = behind.agent("gateway", "A1");
    for transport in ["auto", "sse"] {
        let upstream = json!({
            "url": behind.url("/crm/sse"), "transport": transport, "headers": { "x-api-key": inner.key }, "protocol": "legacy",
        });
        let world = World::on(Kind::Sqlite)
            .upstream("old", upstream)
            .manifests("old", &[("read", "READ_ONLY"), ("wipe", "HIGH_WRITE")])
            .start();
        let agent = world.agent("a-1", "A1");
        let mut socket = agent.ws("/old/ws", &[]).unwrap();
        let greeting = socket.ask(&initialize("2024-11-05"));
        assert_eq!(greeting["result"]["protocolVersion"], "2024-11-05", "{transport}: {greeting}");
        socket.send(&initialized());
        if transport == "auto" {
            socket.send(&call(1, "read"));
            assert_eq!(socket.hear().unwrap()["params"]["data"], "half way");
            let failed = socket.hear().unwrap();
            assert!(failed["error"]["code"].is_i64(), "what broke behind both of them: {failed}");
        }
        socket.send(&call(2, "read"));
        assert_eq!(socket.hear().unwrap()["params"]["data"], "half way", "{transport}");
        assert_eq!(socket.hear().unwrap()["result"]["content"][0]["text"], "done", "{transport}");
        assert_eq!(socket.ask(&call(3, "wipe"))["result"]["isError"], true, "governed as any other");
        assert_eq!(socket.ask(&request(4, "ping", json!({})))["result"], json!({}));
    }
    assert_eq!(stub.calls(), 3, "no call was made twice to find out");
}
