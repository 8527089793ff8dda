//! Streams under redaction: nothing overtakes what waits, nothing waits for long, and what is given again is what was given.

use std::time::Duration;

use bytes::Bytes;
use portreeve_tests::messages::initialize;
use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

fn log(text: &str) -> Piece {
    Piece::notification("notifications/message", json!({ "level": "info", "data": text }))
}

fn progress(n: u32) -> Piece {
    Piece::notification("notifications/progress", json!({ "progressToken": "p", "progress": n }))
}

async fn a_world(says: Vec<Piece>) -> (World, Agent) {
    let stub = Stub::scripted(vec![Step::legacy_server(), Step::on("tools/call").stream(says)]).await;
    let tools = [("slow", "READ_ONLY")];
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &tools).start();
    let agent = world.agent("a-1", "A1");
    (world, agent)
}

fn call() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "slow", "arguments": {} } })
}

fn shown(events: &[Value]) -> Vec<Value> {
    let told = |event: &Value| {
        let found = [&event["params"]["data"], &event["params"]["progress"], &event["result"]["content"]];
        found.into_iter().find(|value| !value.is_null()).cloned().unwrap_or_default()
    };
    events.iter().map(told).collect()
}

// acceptance 63, the part of streams.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_overtakes_what_waits() {
    let says = vec![
        progress(1),
        log("pay with 4111 1111"),
        progress(2),
        log(" 1111 1111 today"),
        log("an open end 4111 11"),
        // Longer than anything is held: it goes on, and its rest does not follow it.
        Piece::Pause(Duration::from_millis(700)),
        progress(3),
        log("11 1111 1111 and more"),
        Piece::answer(json!({ "content": [] })),
    ];
    let (_world, agent) = a_world(says).await;
    let answer = agent.post("/crm/mcp", &call()).await;
    let told = shown(&answer.events());
    assert_eq!(told.len(), 8, "{}", answer.text());
    let expected =
        [json!(1), json!("pay with [CARD]"), json!(2), json!(" today"), json!("an open end 4111 11"), json!(3)];
    assert_eq!(told[..6], expected, "{}", answer.text());
    let rest = told[6].as_str().unwrap();
    assert!(rest.ends_with(" and more") && !rest.contains("1111"), "{rest}");
    assert_eq!(told[7], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_again_is_what_was_given() {
    let says = vec![
        log("first"),
        log("for jane@example.org"),
        log("pay with 4111 1111"),
        log(" 1111 1111"),
        Piece::answer(json!({ "content": [{ "type": "text", "text": "jane@example.org" }] })),
    ];
    let (world, agent) = a_world(says).await;
    let opened = agent.post("/crm/mcp", &initialize("2025-11-25", json!({}))).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let headers =
        [("x-api-key", agent.key.as_str()), ("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", &session)];
    let answer = world.client.post(&world.url("/crm/mcp"), &headers, &call()).await;
    let first =
        answer.text().lines().find_map(|line| line.strip_prefix("id: ")).unwrap_or_else(|| panic!("{}", answer.text()));
    let again = [headers.as_slice(), &[("accept", "text/event-stream"), ("last-event-id", first)]].concat();
    let rest = world.client.send("GET", &world.url("/crm/mcp"), &again, Bytes::new()).await;
    assert_eq!(rest.events(), answer.events()[1..], "{}", rest.text());
    assert!(rest.text().contains("[EMAIL]") && rest.text().contains("[CARD]"), "{}", rest.text());
    assert!(!rest.text().contains("jane@") && !rest.text().contains("1111"), "{}", rest.text());
}

// acceptance 63: what taking a number out lays bare is not let through because it waited, and a key goes to its end.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_laid_bare_by_a_mask_is_not_given() {
    // Nobody sees it while a number stands before it.
    let token = ["sk_live_", "T3oga6yqJBsTgfWmH6x6t1Sg"].concat();
    let line = |at: usize| {
        let letters = b"AbCd0EfGh1IjKl2MnOp3QrSt4UvWx5Yz+/";
        (0..64).map(|place| char::from(letters[(at * 7 + place * (at % 5 + 1)) % 34])).collect::<String>()
    };
    let lines: Vec<String> = (1..=50).map(line).collect();
    let mut says = vec![
        log("pay with 4111 1111"),
        log(&format!(" 1111 1111{token}")),
        log("the key:\n-----BEGIN RSA PRIVATE KEY-----\n"),
        // Longer than anything is held.
        Piece::Pause(Duration::from_millis(700)),
    ];
    says.extend(lines.iter().map(|line| log(&format!("{line}\n"))));
    says.extend([log("-----END RSA PRIVATE KEY-----\nis yours"), Piece::answer(json!({ "content": [] }))]);
    let stub = Stub::scripted(vec![Step::legacy_server(), Step::on("tools/call").stream(says)]).await;
    let manifests = json!([portreeve_tests::world::manifest("crm", "slow", "READ_ONLY")]);
    let handling = json!({ "crm/slow": { "dlp": { "result": { "stripe_key": "block" } } } });
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifest_file("crm", json!({ "manifests": manifests, "handling": handling }))
        .start();
    let agent = world.agent("a-1", "A1");
    let answer = agent.post("/crm/mcp", &call()).await;
    assert!(!answer.text().contains(&token), "{}", answer.text());
    for line in &lines {
        assert!(!answer.text().contains(line.as_str()), "{line} in {}", answer.text());
    }
    let told = shown(&answer.events());
    assert_eq!(told[0], json!("pay with [CARD]"), "{}", answer.text());
    let said: String = told.iter().filter_map(Value::as_str).collect();
    assert!(said.contains("[PRIVATE_KEY]") && said.ends_with("is yours"), "{said}");
    assert_eq!(told.last(), Some(&json!([])));
}

// A masked value need not have the shape that its schema asks for, whatever waited for it when it came.
#[tokio::test(flavor = "multi_thread")]
async fn a_masked_answer_behind_a_held_event_still_fits_its_schema() {
    let output = json!({ "type": "object", "required": ["mail"],
        "properties": { "mail": { "type": "string", "pattern": "^[a-z.]+@example[.]org$" } } });
    let slow = json!({ "name": "slow", "inputSchema": { "type": "object" }, "outputSchema": output });
    let result = |mail: &str| json!({ "content": [], "structuredContent": { "mail": mail } });
    let stub = Stub::scripted(vec![
        Step::legacy_server(),
        Step::on("tools/list").result(json!({ "tools": [slow] })).always(),
        Step::on("tools/call").stream([log("looking for jane"), Piece::answer(result("jane@example.org"))]),
        Step::on("tools/call").stream([log("to jane@example.org for jane"), Piece::answer(result("nobody"))]),
    ])
    .await;
    let tools = [("slow", "READ_ONLY")];
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &tools).start();
    let agent = world.agent("a-1", "A1");
    let answer = agent.post("/crm/mcp", &call()).await;
    let last = answer.events().last().cloned().unwrap();
    assert_eq!(last["result"], result("[EMAIL]"), "{}", answer.text());
    // What was masked elsewhere excuses nothing here.
    let answer = agent.post("/crm/mcp", &call()).await;
    assert!(answer.text().contains("does not fit its schema"), "{}", answer.text());
    world.eventually("SELECT count(*) FROM agent_traces WHERE description = 'crm/slow: answer redacted'", 2).await;
}

// Beside its messages a stream has names, numbers and comments, which nobody reads: only what cannot be a text goes on.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_said_beside_the_messages() {
    let answer = r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[]}}"#;
    let says = vec![
        Piece::Raw(": jane@example.org is looking\n\n".into()),
        Piece::Raw(format!(
            "event: for jane@example.org\nid: jane of example\ndata: {}\n\n",
            json!({ "jsonrpc": "2.0",
            "method": "notifications/message", "params": { "level": "info", "data": "first." } })
        )),
        Piece::Raw(format!("event: message\nid: up-17\ndata: {answer}\n\n")),
    ];
    let (_world, agent) = a_world(says).await;
    let answer = agent.post("/crm/mcp", &call()).await;
    assert!(!answer.text().contains("jane"), "{}", answer.text());
    assert!(answer.text().lines().any(|line| line == ":"), "a sign of life is one: {}", answer.text());
    assert!(answer.text().contains("event: message\nid: up-17\n"), "{}", answer.text());
    assert_eq!(answer.events().len(), 2, "{}", answer.text());
}
