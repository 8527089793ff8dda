//! A call is held against what the tool says it takes, and its answer against what it says it gives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portreeve_tests::{Kind, Step, Stub, World};
use serde_json::{Value, json};

const CANARY: &str = "canary-5d1f";

fn tool(name: &str, input: impl Into<Value>) -> Value {
    let input: Value = input.into();
    json!({ "name": name, "description": format!("The {name} tool."), "inputSchema": input })
}

/// Nothing of what was sent may be found in what was written down, wherever that is.
async fn assert_unrecorded(world: &World, traces: i64) {
    world.eventually("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1'", traces).await;
    let told = format!("SELECT count(*) FROM agent_traces WHERE context LIKE '%{CANARY}%'");
    world.eventually(&told, 0).await;
}

// acceptance 60: bad arguments are refused before anything is carried out, and the error names the path.
#[tokio::test(flavor = "multi_thread")]
async fn bad_arguments_are_refused_with_their_path() {
    let seventh = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": { "pair": { "items": [{ "type": "string" }, { "type": "integer" }] } } });
    let newest = json!({ "type": "object", "required": ["amount"], "additionalProperties": false,
        "properties": { "amount": { "type": "integer" }, "lines": { "type": "array", "items": { "$ref": "#/$defs/line" } } },
        "$defs": { "line": { "type": "object", "properties": { "price": { "type": "number" } } } } });
    let stub = Stub::with_definitions(vec![tool("update", newest), tool("pair", seventh)]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("update", "READ_ONLY"), ("pair", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A3");
    let cases = [
        ("crm/update", json!({ "amount": CANARY }), "`/amount`: expected integer, found string"),
        ("crm/update", json!({}), "`/amount`: expected a value, found nothing"),
        (
            "crm/update",
            json!({ "amount": 1, "lines": [{ "price": 2 }, { "price": CANARY }] }),
            "`/lines/1/price`: expected number, found string",
        ),
        ("crm/update", json!({ "amount": 1, "colour": CANARY }), "found `colour`"),
        ("crm/pair", json!({ "pair": ["a", CANARY] }), "`/pair/1`: expected integer, found string"),
    ];
    for caller in [agent.clone(), agent.modern()] {
        for (tool, arguments, told) in &cases {
            let answer = caller.call(tool, arguments.clone()).await;
            assert!(answer.is_tool_error(), "{}", answer.text());
            assert_eq!(
                (answer.decision().as_str(), answer.denied_by()),
                ("deny", vec!["schema".to_owned()]),
                "{arguments}"
            );
            assert!(answer.text().contains(told), "{told}: {}", answer.text());
            assert!(!answer.text().contains(CANARY), "{}", answer.text());
        }
    }
    assert_eq!(stub.calls(), 0, "a refused call must not reach the tool");
    assert_unrecorded(&world, 10).await;
    assert_eq!(agent.call("crm/update", json!({ "amount": 1, "lines": [{ "price": 2.5 }] })).await.decision(), "allow");
    assert_eq!(agent.call("crm/pair", json!({ "pair": ["a", 1] })).await.decision(), "allow");
    assert_eq!(stub.calls(), 2);
    let (code, verified) = world.verify();
    assert_eq!(code, 0, "{verified}");
}

/// Somewhere that a schema could be fetched from, and that counts who comes.
async fn a_place_to_fetch_from() -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/schema.json", listener.local_addr().unwrap());
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&visits);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    (url, visits)
}

// A schema that cannot be read denies, is fetched from nowhere, and can be let pass by the operator alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_cannot_be_read_denies_until_it_is_switched_off() {
    let (url, visits) = a_place_to_fetch_from().await;
    let far = tool("far", json!({ "type": "object", "properties": { "a": { "$ref": url } } }));
    let odd = tool("odd", json!({ "type": "objekt" }));
    let stub = Stub::with_definitions(vec![far, odd.clone(), tool("let_pass", json!({ "type": "objekt" }))]).await;
    let manifest = |name: &str| {
        json!({ "id": format!("crm/{name}"), "domain": "crm", "risk_level": "READ_ONLY", "side_effects": false,
        "allowed_modes": ["SHADOW", "ADVISORY", "PARTIAL_AUTO", "FULL_AUTO"] })
    };
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifest_file(
            "crm",
            json!({ "manifests": [manifest("far"), manifest("odd"), manifest("let_pass")],
            "handling": { "crm/let_pass": { "schema": "off" } } }),
        )
        .start();
    let agent = world.agent("a-1", "A3");
    for (tool, why) in [("crm/far", "is not followed"), ("crm/odd", "`/type`")] {
        let answer = agent.call(tool, json!({})).await;
        assert_eq!(answer.denied_by(), ["schema"], "{}", answer.text());
        assert!(answer.text().contains(why) && answer.text().contains("schema: off"), "{}", answer.text());
    }
    assert_eq!(stub.calls(), 0);
    assert_eq!(visits.load(Ordering::SeqCst), 0, "nothing is fetched");
    assert_eq!(agent.call("crm/let_pass", json!({ "anything": true })).await.decision(), "allow");
    assert_eq!(agent.tools("/crm/mcp").await.len(), 3, "a list knows no arguments");
}

// Where the operator does not pin, the definition that the caller is shown counts.
#[tokio::test(flavor = "multi_thread")]
async fn unpinned_and_watched_tools_are_checked_too() {
    let stub = Stub::with_definitions(vec![tool("find", json!({ "type": "object", "required": ["word"] }))]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("loose", json!({ "url": stub.url(), "pins": "off" }))
        .upstream("watched", json!({ "url": stub.url(), "unclassified": "observe" }))
        .manifests("loose", &[("find", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A3");
    for tool in ["loose/find", "watched/find"] {
        let answer = agent.call(tool, json!({})).await;
        assert!(answer.denied_by().contains(&"schema".to_owned()), "{tool}: {}", answer.text());
        assert_eq!(agent.call(tool, json!({ "word": "a" })).await.decision(), "allow", "{tool}");
    }
    assert_eq!(stub.calls(), 2);
}

// An answer that does not fit is withheld as a tool error; an upstream's own error stays what it is.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_its_promise_is_withheld() {
    let mut reading = tool("read", json!({ "type": "object" }));
    reading["outputSchema"] =
        json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let answers =
        |structured: Value| json!({ "content": [{ "type": "text", "text": CANARY }], "structuredContent": structured });
    let mut failed = answers(json!({ "n": CANARY }));
    failed["isError"] = json!(true);
    let stub = Stub::scripted(vec![
        Step::on("tools/list").result(json!({ "tools": [reading] })).always(),
        Step::on("tools/call").result(answers(json!({ "n": 7 }))),
        Step::on("tools/call").result(answers(json!({ "n": CANARY }))),
        Step::on("tools/call").result(failed),
        Step::on("tools/call").error(200, -32050, "the disk is full"),
        Step::on("tools/call").result(json!({ "content": [{ "type": "text", "text": "only words" }] })),
    ])
    .await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A3");
    let good = agent.call("crm/read", json!({})).await;
    assert_eq!(good.message()["result"]["structuredContent"]["n"], 7, "{}", good.text());
    let broken = agent.call("crm/read", json!({})).await;
    assert!(broken.is_tool_error(), "{}", broken.text());
    assert!(broken.text().contains("`/n`: expected integer, found string"), "{}", broken.text());
    assert!(!broken.text().contains(CANARY), "{}", broken.text());
    let own = agent.call("crm/read", json!({})).await;
    assert!(own.is_tool_error() && own.text().contains(CANARY), "its own error is not hidden: {}", own.text());
    let failed = agent.call("crm/read", json!({})).await;
    assert_eq!(failed.message()["error"]["message"], "the disk is full", "{}", failed.text());
    let words = agent.call("crm/read", json!({})).await;
    assert_eq!(words.message()["result"]["content"][0]["text"], "only words");
}

// A definition that changed and was accepted is the one that counts from then on.
#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_change_is_checked_by_its_new_schema() {
    let schema = |kind: &str| json!({ "type": "object", "properties": { "id": { "type": kind } } });
    let stub = Stub::with_definitions(vec![tool("get", schema("integer"))]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url(), "cache": { "seconds": 0 } }))
        .set("pins", json!({ "recheck_seconds": 1 }))
        .manifests("crm", &[("get", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A3");
    assert_eq!(agent.call("crm/get", json!({ "id": 7 })).await.decision(), "allow");
    assert_eq!(agent.call("crm/get", json!({ "id": "7" })).await.denied_by(), ["schema"]);
    world.eventually("SELECT count(*) FROM tool_pins WHERE tool = 'crm/get' AND state = 'accepted'", 1).await;
    stub.define(vec![tool("get", schema("string"))]);
    assert!(agent.tools("/crm/mcp").await.is_empty(), "it changed");
    world.eventually("SELECT count(*) FROM tool_pins WHERE tool = 'crm/get' AND state = 'quarantined'", 1).await;
    world.cli_json(&["manifest", "accept", "crm/get", "--yes"]);
    for _ in 0..400 {
        if agent.call("crm/get", json!({ "id": "7" })).await.decision() == "allow" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(agent.call("crm/get", json!({ "id": "7" })).await.decision(), "allow");
    assert_eq!(agent.call("crm/get", json!({ "id": 7 })).await.denied_by(), ["schema"], "by the new one");
}
