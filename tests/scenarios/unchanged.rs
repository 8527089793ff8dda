//! What the gateway has no opinion on arrives as it was sent: vendors' methods, `_meta` and extensions, and the copies of arguments in
//! headers, as long as they tell the truth. And how a conversation begins.

use portreeve_tests::messages::{initialize, modern_meta, request};
use portreeve_tests::{Agent, Answer, Kind, Step, Stub, World};
use serde_json::{Value, json};

/// What only two peers understand.
fn vendors() -> Value {
    json!({ "vendor.example/mood": { "Colour": "blue", "colour": [1, 2.5, null] }, "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" })
}

fn in_era(modern: bool, mut meta: Value) -> Value {
    if modern {
        for (key, value) in modern_meta().as_object().unwrap() {
            meta[key] = value.clone();
        }
        meta["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "extensions": { "vendor.example/x": { "level": 3 } } });
    }
    meta
}

#[tokio::test(flavor = "multi_thread")]
async fn vendors_words_pass_unchanged_between_peers_of_one_era() {
    for modern in [true, false] {
        let result = |resulting: &str| {
            let mut said = json!({ "vendor.example/said": { "deep": [{ "a": 1 }] }, "_meta": vendors() });
            if modern {
                said["resultType"] = json!(resulting);
            }
            said
        };
        let mut called = result("complete");
        called["content"] = json!([]);
        let capabilities = json!({ "tools": {}, "extensions": { "vendor.example/x": { "level": 3 } } });
        let mut steps = vec![
            Step::on("vendor.example/do").result(result("vendor.example/later")),
            Step::on("tools/call").result(called.clone()),
        ];
        match modern {
            true => steps.push(Step::modern_server(&capabilities)),
            false => steps.push(Step::legacy_server()),
        }
        let stub = Stub::scripted(steps).await;
        let world = World::on(Kind::Sqlite)
            .upstream("crm", json!({ "url": stub.url() }))
            .manifests("crm", &[("read", "READ_ONLY")])
            .start();
        let agent = world.agent("a-1", "A1");
        let agent = if modern { agent.modern() } else { agent };
        let meta = in_era(modern, vendors());
        let odd = json!({ "Key": 1, "nested": { "vendor": [true] }, "_meta": meta });
        let answer = agent.post("/crm/mcp", &request(1, "vendor.example/do", odd.clone())).await;
        assert_eq!(answer.message()["result"], result("vendor.example/later"), "modern: {modern}: {}", answer.text());
        let call = json!({ "name": "read", "arguments": { "a": 1 }, "vendor.example/extra": [1], "_meta": meta });
        let answer = agent.post("/crm/mcp", &request(2, "tools/call", call.clone())).await;
        assert_eq!(answer.message()["result"], called, "modern: {modern}: {}", answer.text());
        let sent = |method: &str| stub.seen().into_iter().find(|(_, message)| message["method"] == method).unwrap().1;
        assert_eq!(sent("vendor.example/do")["params"], odd, "modern: {modern}");
        assert_eq!(sent("tools/call")["params"], call, "modern: {modern}");
        if modern {
            let discovered = agent.post("/crm/mcp", &request(3, "server/discover", json!({}))).await.message();
            assert_eq!(discovered["result"]["capabilities"], capabilities, "{discovered}");
        }
    }
}

async fn call_with(world: &World, agent: &Agent, arguments: Value, copies: &[(&str, &str)]) -> Answer {
    let body = request(1, "tools/call", json!({ "name": "read", "arguments": arguments, "_meta": modern_meta() }));
    let headers = [
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "read"),
    ];
    world.client.post(&world.url("/crm/mcp"), &[&headers[..], copies].concat(), &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_of_arguments_in_headers_must_tell_the_truth() {
    let properties = json!({ "region": { "type": "string", "x-mcp-header": "Region" }, "count": { "type": "integer", "x-mcp-header": "Count" } });
    let tool = json!({ "name": "read", "inputSchema": { "type": "object", "properties": properties } });
    let list = json!({ "tools": [tool], "resultType": "complete", "ttlMs": 60_000, "cacheScope": "public" });
    let stub = Stub::scripted(vec![
        Step::modern_server(&json!({ "tools": {} })),
        Step::on("tools/list").result(list).always(),
    ])
    .await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1").modern();
    let eu = || json!({ "region": "eu", "count": 7 });
    for (what, arguments, copies) in [
        ("another value", eu(), &[("mcp-param-region", "us"), ("mcp-param-count", "7")][..]),
        ("another value in disguise", eu(), &[("mcp-param-region", "=?base64?dXM=?="), ("mcp-param-count", "7")]),
        ("another number", eu(), &[("mcp-param-region", "eu"), ("mcp-param-count", "8")]),
        ("one of two", eu(), &[("mcp-param-region", "eu")]),
        ("a copy of nothing", json!({}), &[("mcp-param-region", "eu")]),
        ("one twice", eu(), &[("mcp-param-region", "eu"), ("mcp-param-region", "eu"), ("mcp-param-count", "7")]),
    ] {
        let answer = call_with(&world, &agent, arguments, copies).await;
        assert_eq!(answer.status, 400, "{what}: {}", answer.text());
    }
    assert_eq!(stub.calls(), 0, "none of these was sent");
    for copies in [
        &[("mcp-param-region", "eu"), ("mcp-param-count", "7"), ("mcp-param-vendor", "x")],
        &[("mcp-param-region", "=?base64?ZXU=?="), ("mcp-param-count", "7.0"), ("mcp-param-vendor", "x")],
    ] {
        let answer = call_with(&world, &agent, eu(), copies).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let (headers, _) = stub.seen().pop().unwrap();
        let sent = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        // Derived from what is sent, not carried over; what nobody knows goes on as it came.
        let copies = ["mcp-param-region", "mcp-param-count", "mcp-param-vendor"].map(sent);
        assert_eq!(copies, ["eu", "7", "x"]);
    }
}

// acceptance 41: a revision that is known is echoed, one that is not is answered with the newest of that era, and where there are
// sessions nothing is done before one is open.
#[tokio::test(flavor = "multi_thread")]
async fn three_handshakes_at_every_door() {
    let stub = Stub::scripted(vec![Step::legacy_server()]).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).start();
    let agent = world.agent("a-1", "A1");
    for (offered, settled) in [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")]
    {
        for door in ["/mcp", "/adp/mcp"] {
            let answer = world
                .client
                .post(&world.url(door), &[("x-api-key", &agent.key)], &initialize(offered, json!({})))
                .await;
            assert_eq!(answer.message()["result"]["protocolVersion"], settled, "{door} {offered}: {}", answer.text());
        }
    }
    // Behind its own door a server settles it itself; this one knows a single revision.
    let answer = agent.post("/crm/mcp", &initialize("1999-01-01", json!({}))).await;
    assert_eq!(answer.message()["result"]["protocolVersion"], "2025-11-25");
    let early = agent.post("/mcp", &request(1, "tools/list", json!({}))).await;
    assert!(early.status == 400 && early.message()["error"]["code"] == -32000, "{}", early.text());
}
