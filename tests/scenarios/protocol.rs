//! What is refused before anybody judges it, and what is forwarded: our own words, never the client's bytes.

use portreeve_tests::{Agent, Kind, Stub, Tap, World};
use serde_json::{Value, json};

async fn a_world() -> (World, Stub, Agent) {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("write", "LOW_WRITE")])
        .start();
    let agent = world.agent("a-1", "A1");
    (world, stub, agent)
}

async fn raw(world: &World, agent: &Agent, body: &[u8]) -> portreeve_tests::Answer {
    let headers = [("content-type", "application/json"), ("x-api-key", agent.key.as_str())];
    world.client.send("POST", &world.url("/crm/mcp"), &headers, body.to_vec()).await
}

// acceptance 42: bad JSON -32700, bad envelope -32600, unknown method -32601, bad params -32602.
#[tokio::test]
async fn ambiguous_and_malformed_messages_end_at_the_door() {
    let (world, stub, agent) = a_world().await;
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}{}}}}}"#, "[".repeat(200), "]".repeat(200));
    for (body, code) in [
        (r#"{"jsonrpc":"2.0","id":1,"#.as_bytes().to_vec(), -32700),
        (b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_vec(), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(), -32700),
        (br#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":NaN}}"#.to_vec(), -32700),
        (br#"{"id":1,"method":"ping"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","name":"write"}}"#.to_vec(), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","Name":"write"}}"#.to_vec(), -32602),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":1,"a":2}}}"#
                .to_vec(),
            -32600,
        ),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["read"]}"#.to_vec(), -32602),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#.to_vec(), -32602),
        (br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read"}}"#.to_vec(), -32600),
        (deep.into_bytes(), -32600),
    ] {
        let answer = raw(&world, &agent, &body).await;
        let text = String::from_utf8_lossy(&body).into_owned();
        assert_eq!(answer.status, 400, "{text}");
        assert_eq!(answer.message()["error"]["code"], code, "{text}: {}", answer.text());
    }
    assert_eq!(stub.seen().len(), 0, "nothing malformed goes upstream");
    let refused = world
        .database
        .count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1' AND description = 'refused: malformed'");
    assert_eq!(refused, 16, "each is written into the caller's chain");
    // An unknown method is the upstream's to refuse; the built-in server says so itself.
    let unknown = agent.post("/adp/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "no/such" })).await;
    assert_eq!((unknown.status, unknown.message()["error"]["code"].clone()), (200, json!(-32601)));
}

#[tokio::test]
async fn what_goes_upstream_is_our_own_serialisation() {
    let (world, stub, agent) = a_world().await;
    let body = "{ \"jsonrpc\" : \"2.0\",\n \"params\": {\"name\":\"re\\u0061d\", \"arguments\": {\"z\": 1.0, \"a\": \"\\u00e9\"}}, \"method\":\"tools/call\", \"id\":\"x\" }";
    let answer = raw(&world, &agent, body.as_bytes()).await;
    assert_eq!(answer.message()["id"], "x");
    let (_, seen) = stub.seen().pop().unwrap();
    assert_eq!(seen["params"], json!({ "name": "read", "arguments": { "z": 1.0, "a": "é" } }));

    // The same once more over a wire that remembers: what means the same could still be the client's own bytes.
    let tap = Tap::before(stub.port);
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": tap.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1");
    assert_eq!(raw(&world, &agent, body.as_bytes()).await.status, 200);
    let heard = tap.heard();
    let (head, sent) = heard.rsplit_once("\r\n\r\n").unwrap();
    let call =
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"read","arguments":{"z":1.0,"a":"é"}}}"#;
    assert_eq!(sent, call);
    let length = format!("content-length: {}", call.len());
    assert!(head.lines().any(|line| line.to_ascii_lowercase() == length), "{head}");
}

#[tokio::test]
async fn headers_that_disagree_with_the_body_are_refused() {
    let (world, stub, agent) = a_world().await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "read", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} } } });
    let good = [
        ("x-api-key", agent.key.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "read"),
    ];
    assert_eq!(world.client.post(&world.url("/crm/mcp"), &good, &body).await.status, 200);
    for (name, wrong) in [("mcp-method", "tools/list"), ("mcp-name", "write"), ("mcp-protocol-version", "2025-11-25")] {
        let headers = good.map(|(header, value)| (header, if header == name { wrong } else { value }));
        let answer = world.client.post(&world.url("/crm/mcp"), &headers, &body).await;
        assert_eq!((answer.status, answer.message()["error"]["code"].clone()), (400, json!(-32020)), "{name}");
    }
    let twice = [&good[..], &[("mcp-name", "write")]].concat();
    assert_eq!(world.client.post(&world.url("/crm/mcp"), &twice, &body).await.status, 400, "a header twice");
    assert_eq!(stub.calls(), 1);
}

#[tokio::test]
async fn batches_are_split_and_every_member_is_judged() {
    let (world, stub, agent) = a_world().await;
    let call =
        |id: i32, tool: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } });
    let batch = json!([call(1, "read"), call(2, "write"), { "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    let headers = [("x-api-key", agent.key.as_str())];
    let answer = world.client.post(&world.url("/crm/mcp"), &headers, &batch).await;
    let answers = answer.message();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 2, "{answers:?}");
    let of = |id: i32| answers.iter().find(|answer| answer["id"] == json!(id)).unwrap();
    assert_ne!(of(1)["result"]["isError"], Value::Bool(true));
    assert_eq!(of(2)["result"]["isError"], Value::Bool(true), "the second member is judged like any other call");
    assert_eq!(stub.calls(), 1);
    let newer = [("x-api-key", agent.key.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let refused = world.client.post(&world.url("/crm/mcp"), &newer, &batch).await;
    assert_eq!((refused.status, refused.message()["error"]["code"].clone()), (400, json!(-32600)));
    assert_eq!(stub.calls(), 1);
}
