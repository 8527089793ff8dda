//! Personal data and secrets: taken out of answers wherever they stand, out of requests where they must not go, and of nothing
//! else.

use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

const SSN: &str = "536-90-4399";
const EMAIL: &str = "jane.doe@example.org";
const CARD: &str = "4111 1111 1111 1111";
/// One digit off: no card has this number.
const NO_CARD: &str = "4111 1111 1111 1112";
/// What a canary must not leave behind, in any notation.
const RAW: [&str; 5] = [SSN, EMAIL, CARD, "4111111111111111", "1111 1111 1111"];

fn token() -> String {
    ["AKIA", "QYLPMN5HHHFPZAM2"].concat()
}

async fn a_world(steps: Vec<Step>) -> (World, Stub, Agent) {
    let stub = Stub::scripted(steps).await;
    let tools = json!([
        portreeve_tests::world::manifest("crm", "read", "READ_ONLY"),
        portreeve_tests::world::manifest("crm", "write", "LOW_WRITE"),
        portreeve_tests::world::manifest("crm", "post", "LOW_WRITE"),
        portreeve_tests::world::manifest("crm", "strict", "READ_ONLY"),
        portreeve_tests::world::manifest("crm", "plain", "READ_ONLY"),
    ]);
    let handling = json!({
        "crm/post": { "dlp": { "egress": true, "request": { "email": "observe" } } },
        "crm/strict": { "dlp": { "request": { "payment_card": "block" }, "result": { "us_ssn": "block", "email": "hash" } } },
        "crm/plain": { "dlp": { "off": true } },
    });
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifest_file("crm", json!({ "manifests": tools, "handling": handling }))
        .start();
    let agent = world.agent("a-1", "A3");
    (world, stub, agent)
}

fn is_clean(text: &str) {
    for raw in RAW {
        assert!(!text.contains(raw), "{raw} in {text}");
    }
}

// acceptance 63: masked in every part of a result, and the check digit decides what is a card.
#[tokio::test(flavor = "multi_thread")]
async fn answers_lose_what_is_personal() {
    let record =
        json!({ "ssn": SSN, "mail": EMAIL, "card": CARD, "order": NO_CARD, "n": 4111111111111111_u64, "who": "Jane" });
    let twin = record.to_string();
    let result = json!({
        "content": [
            { "type": "text", "text": format!("{SSN} belongs to {EMAIL}, who pays with {CARD}; order {NO_CARD}") },
            { "type": "text", "text": twin },
            { "type": "text", "text": "the number begins 4111 1111" },
            { "type": "text", "text": " 1111 1111 and ends here" },
            { "type": "resource", "resource": { "uri": "crm://1", "mimeType": "text/plain", "text": EMAIL } },
        ],
        "structuredContent": record,
        "_meta": { "note": "kept" },
    });
    let steps = vec![
        Step::on("tools/call").result(result),
        Step::on("tools/call").error(200, -32000, &format!("no such customer: {EMAIL}")),
        Step::on("prompts/get").result(json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": EMAIL } }] })),
        Step::on("resources/read").result(json!({ "contents": [{ "uri": "crm://1", "text": format!("card {CARD}") }] })),
        Step::on("tools/list").result(json!({ "tools": [{ "name": "read", "description": format!("ask {EMAIL}"), "inputSchema": { "type": "object" } }] })).always(),
    ];
    let (world, _stub, agent) = a_world(steps).await;
    let answer = agent.call("crm/read", json!({})).await;
    is_clean(answer.text());
    let result = answer.message()["result"].clone();
    assert_eq!(
        result["content"][0]["text"],
        format!("[SSN] belongs to [EMAIL], who pays with [CARD]; order {NO_CARD}")
    );
    let shown = &result["structuredContent"];
    assert_eq!((&shown["order"], &shown["who"]), (&json!(NO_CARD), &json!("Jane")), "what is nobody's stays");
    assert!(shown["n"].is_number(), "a number stays a number: {shown}");
    let twin: Value = serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&twin, shown, "the same masks in the text as in the structure");
    let halves = [2, 3].map(|place| result["content"][place]["text"].as_str().unwrap().to_owned()).concat();
    assert!(halves.contains("[CARD]") && halves.ends_with("and ends here"), "{halves}");
    assert_eq!(result["content"][4]["resource"]["uri"], "crm://1");
    assert_eq!(result["_meta"]["note"], "kept");

    for (method, params, masked) in [
        ("tools/call", json!({ "name": "read", "arguments": {} }), "[EMAIL]"),
        ("prompts/get", json!({ "name": "p" }), "[EMAIL]"),
        ("resources/read", json!({ "uri": "crm://1" }), "[CARD]"),
        ("tools/list", json!({}), "[EMAIL]"),
    ] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = agent.post("/crm/mcp", &message).await;
        is_clean(answer.text());
        assert!(answer.text().contains(masked), "{method}: {}", answer.text());
    }
    // Rule and number stand in the chain, in a trace of their own behind the decision's.
    let traces = "SELECT count(*) FROM agent_traces WHERE description = 'crm/read: answer redacted'";
    world.eventually(traces, 2).await;
    let told = world.database.sql("SELECT context FROM agent_traces WHERE description = 'crm/read: answer redacted'");
    assert!(told.contains(r#""rule":"payment_card""#) && told.contains(r#""action":"mask""#), "{told}");
    assert!(told.contains(r#""continues":"trc_"#), "{told}");
    is_clean(&told);
    // A list has no trace of its own, but what was found in it has one.
    world.eventually("SELECT count(*) FROM agent_traces WHERE description = 'tools/list: answer redacted'", 1).await;
    assert_eq!(world.verify().0, 0);
}

// acceptance 63: one event, two, three; whatever the cut, nobody reads the number.
#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_cut_by_events_are_found() {
    let say = |text: &str| Piece::notification("notifications/message", json!({ "level": "info", "data": text }));
    let chunkings: [&[&str]; 4] = [
        &["card 4111 1111 1111 1111 done"],
        &["card 4111 1111 ", "1111 1111 done"],
        &["card 41", "11 1111 1111 11", "11 done"],
        &["jane.do", "e@exam", "ple.org done"],
    ];
    let steps = chunkings.iter().map(|pieces| {
        let mut says: Vec<Piece> = pieces.iter().map(|text| say(text)).collect();
        says.push(Piece::answer(json!({ "content": [{ "type": "text", "text": format!("for {EMAIL}") }] })));
        Step::on("tools/call").stream(says)
    });
    let (world, _stub, agent) = a_world(steps.collect()).await;
    for pieces in chunkings {
        let answer = agent.call("crm/read", json!({})).await;
        let events = answer.events();
        assert_eq!(events.len(), pieces.len() + 1, "no event is lost: {}", answer.text());
        let texts = events.iter().filter_map(|event| event["params"]["data"].as_str()).collect::<Vec<_>>();
        let told = texts.concat();
        assert!(told.contains("[CARD]") || told.contains("[EMAIL]"), "{pieces:?}: {told}");
        assert!(told.ends_with(" done") && !told.contains("1111") && !told.contains("ple.org"), "{pieces:?}: {told}");
        assert!(events.last().unwrap()["result"]["content"][0]["text"] == "for [EMAIL]", "{}", answer.text());
    }
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_lose_secrets_and_keep_addresses() {
    let (world, stub, agent) = a_world(Vec::new()).await;
    let arguments = json!({ "to": EMAIL, "note": format!("the key is {}", token()), "cursor": token() });
    let sent = |stub: &Stub| {
        let called = stub.seen().into_iter().rfind(|(_, message)| message["method"] == "tools/call");
        called.unwrap().1["params"]["arguments"].clone()
    };
    agent.call("crm/write", arguments.clone()).await;
    let seen = sent(&stub);
    assert_eq!(seen["to"], EMAIL, "a tool that writes to people needs their addresses");
    assert!(!seen.to_string().contains(&token()), "{seen}");
    // To a tool that sends things out of the house, no card goes; what its manifest lets pass does.
    agent.call("crm/post", json!({ "to": EMAIL, "body": format!("pay with {CARD}, {SSN}") })).await;
    assert_eq!(sent(&stub), json!({ "to": EMAIL, "body": "pay with [CARD], [SSN]" }));
    let traced = "SELECT context FROM agent_traces WHERE description = 'crm/write allowed'";
    world.eventually("SELECT count(*) FROM agent_traces WHERE description = 'crm/write allowed'", 1).await;
    let told = world.database.sql(traced);
    let found =
        r#""dlp":[{"action":"mask","count":2,"rule":"aws_access_key"},{"action":"observe","count":1,"rule":"email"}]"#;
    assert!(told.contains(found), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_in_headers_say_what_the_body_says() {
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let tool = json!({ "name": "write", "inputSchema": { "type": "object", "properties": { "region": region } } });
    let steps = vec![
        Step::modern_server(&json!({ "tools": {} })),
        Step::on("tools/list").result(json!({ "tools": [tool], "resultType": "complete" })).always(),
        Step::on("tools/call").result(json!({ "content": [], "resultType": "complete" })).always(),
    ];
    let (world, stub, agent) = a_world(steps).await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "write", "arguments": { "region": token() },
        "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} },
    } });
    let (token, vendor) = (token(), format!("key {}", token()));
    let headers = [
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "write"),
        ("mcp-param-region", token.as_str()),
        ("mcp-param-vendor", vendor.as_str()),
    ];
    let answer = world.client.post(&world.url("/crm/mcp"), &headers, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (headers, message) = stub.seen().into_iter().rfind(|(_, message)| message["method"] == "tools/call").unwrap();
    let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let region = message["params"]["arguments"]["region"].as_str().unwrap().to_owned();
    assert!(!region.contains(&token), "{region}");
    assert_eq!(said("mcp-param-region"), Some(region), "the copy is made from what is sent");
    assert!(!said("mcp-param-vendor").unwrap().contains(&token));
}

// Blocked: a request is refused and never arrives, an answer is withheld. Both name rule and place, neither the value.
#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_pass_at_all_does_not() {
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let steps = vec![Step::on("tools/call").result(text(SSN)), Step::on("tools/call").result(text(EMAIL)).always()];
    let (world, stub, agent) = a_world(steps).await;
    let refused = agent.call("crm/strict", json!({ "pay": { "with": CARD } })).await;
    assert_eq!((refused.decision().as_str(), refused.denied_by()), ("deny", vec!["dlp".to_owned()]));
    assert!(
        refused.text().contains("payment_card") && refused.text().contains("/arguments/pay/with"),
        "{}",
        refused.text()
    );
    is_clean(refused.text());
    assert_eq!(stub.calls(), 0, "a refused call must not reach the tool");
    let withheld = agent.call("crm/strict", json!({})).await;
    assert_eq!(withheld.decision(), "deny");
    assert!(withheld.text().contains("us_ssn"), "{}", withheld.text());
    is_clean(withheld.text());
    // The same value has the same hash, for this tenant.
    let hashed = |answer: &portreeve_tests::Answer| answer.message()["result"]["content"][0]["text"].clone();
    let first = hashed(&agent.call("crm/strict", json!({})).await);
    assert!(first.as_str().unwrap().starts_with("[EMAIL:"), "{first}");
    assert_eq!(hashed(&agent.call("crm/strict", json!({})).await), first);
    // And what an operator says is nobody's business is left alone.
    assert_eq!(hashed(&agent.call("crm/plain", json!({})).await), EMAIL);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_nothing_to_hide_is_not_touched() {
    // Spacing and order as nobody would write them: what is only read is not written anew.
    let text = "order 3141592653589793 of 2026-02-23T10:11:12.345Z, commit 9f2c41d0a7b3e5f60718293a4b5c6d7e8f901234, v1.22.333";
    let odd = json!({ "z": 1, "content": [{ "text": text, "type": "text" }], "a": { "id": "0190a3c2-7c1e-7b3a-9d55-3f1e2d4c5b6a" }, "nextCursor": "4111111111111111" });
    let (_world, _stub, agent) = a_world(vec![Step::on("tools/call").result(odd.clone())]).await;
    let answer = agent.call("crm/read", json!({})).await;
    assert_eq!(answer.text(), json!({ "jsonrpc": "2.0", "id": 1, "result": odd }).to_string());
}
