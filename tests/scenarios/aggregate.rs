//! All upstreams behind one door.

use futures::StreamExt;
use portreeve_tests::http::pieces;
use portreeve_tests::messages::initialize;
use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World, environment};
use serde_json::{Value, json};

async fn page(agent: &Agent, cursor: Option<&str>) -> Value {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    let session = session(agent).await;
    let headers = [("x-api-key", agent.key.as_str()), ("mcp-session-id", session.as_str())];
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params });
    agent.client.post(&format!("{}/mcp", agent.base), &headers, &list).await.message()
}

async fn session(agent: &Agent) -> String {
    let hello = initialize("2025-11-25", json!({}));
    let answer = agent.post("/mcp", &hello).await;
    assert_eq!(answer.message()["result"]["protocolVersion"], "2025-11-25");
    answer.header("mcp-session-id").expect("a session").to_owned()
}

async fn call(agent: &Agent, name: &str) -> portreeve_tests::Answer {
    let session = session(agent).await;
    let headers = [("x-api-key", agent.key.as_str()), ("mcp-session-id", session.as_str())];
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": name, "arguments": { "n": 1 } } });
    agent.client.post(&format!("{}/mcp", agent.base), &headers, &call).await
}

#[tokio::test]
async fn one_door_for_all_and_a_dead_member_does_not_close_it() {
    let (notes, crm) = (Stub::start(&["search", "add"]).await, Stub::start(&["search"]).await);
    let dead = format!("http://127.0.0.1:{}/mcp", environment::free_port());
    let world = World::on(Kind::Sqlite)
        .upstream("notes", json!({ "url": notes.url() }))
        .upstream("crm", json!({ "url": crm.url() }))
        .upstream("dead", json!({ "url": dead }))
        .manifests("notes", &[("search", "READ_ONLY"), ("add", "LOW_WRITE")])
        .manifests("crm", &[("search", "READ_ONLY")])
        .start();
    let agent = world.agent("a-2", "A2");
    let listed = page(&agent, None).await;
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"adp_authorize"), "built-in tools keep their names: {names:?}");
    let own: Vec<&str> = names.iter().copied().filter(|name| name.contains("__")).collect();
    assert_eq!(own, ["crm__search", "notes__search"], "an advisory agent is not shown what it may not do");
    let promoted = page(&world.agent("a-3", "A3"), None).await;
    let shown: Vec<&str> =
        promoted["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    let shown: Vec<&str> = shown.into_iter().filter(|name| name.contains("__")).collect();
    assert_eq!(shown, ["crm__search", "notes__search", "notes__add"], "by namespace, then as the upstream lists");
    assert_eq!(page(&agent, None).await["result"]["tools"], listed["result"]["tools"], "always the same order");

    for (name, stub, calls) in [("notes__search", &notes, 1), ("notes/search", &notes, 2), ("crm__search", &crm, 1)] {
        let answer = call(&agent, name).await;
        assert_eq!(answer.decision(), "allow", "{name}: {}", answer.text());
        assert_eq!(answer.tool_json()["tool"], "search", "the upstream hears its own name");
        assert_eq!(stub.calls(), calls, "{name}");
    }
    assert_eq!(call(&agent, "notes__add").await.decision(), "deny", "an advisory agent may not write here either");
    assert_eq!(call(&agent, "nowhere__search").await.message()["error"]["code"], -32602);
    let traced = world.database.count("SELECT count(*) FROM agent_traces WHERE description LIKE 'notes/search%'");
    assert_eq!(traced, 2, "the trace has the canonical name");
}

/// A stub with prompts and resources, whose resource changes a moment after somebody listens.
async fn library() -> Stub {
    let capabilities = json!({ "prompts": {}, "completions": {}, "resources": { "subscribe": true } });
    let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": { "name": "library", "version": "1" } });
    let prompted = json!({ "messages": [{ "role": "user", "content": { "type": "resource_link", "uri": "book://1", "name": "one" } }] });
    let updated = Piece::notification("notifications/resources/updated", json!({ "uri": "book://1" }));
    let pause = Piece::Pause(std::time::Duration::from_millis(200));
    Stub::scripted(vec![
        Step::on("initialize").result(greeting).session("s-1").always(),
        Step::on("prompts/list").result(json!({ "prompts": [{ "name": "sum up" }] })).always(),
        Step::on("resources/list").result(json!({ "resources": [{ "uri": "book://1", "name": "one" }] })).always(),
        Step::on("resources/templates/list")
            .result(json!({ "resourceTemplates": [{ "uriTemplate": "book://{id}", "name": "any" }] }))
            .always(),
        Step::on("prompts/get").result(prompted).always(),
        Step::on("completion/complete").result(json!({ "completion": { "values": ["1", "2"] } })).always(),
        Step::on("GET").stream([pause, updated, Piece::Silence]).always(),
    ])
    .await
}

#[tokio::test]
async fn what_members_have_beside_tools_is_behind_the_same_door() {
    let (books, plain) = (library().await, Stub::start(&["search"]).await);
    let world = World::on(Kind::Sqlite)
        .upstream("books", json!({ "url": books.url() }))
        .upstream("plain", json!({ "url": plain.url() }))
        .start();
    let agent = world.agent("a-1", "A1");
    let hello = initialize("2025-11-25", json!({}));
    let greeting = agent.post("/mcp", &hello).await;
    let session = greeting.header("mcp-session-id").expect("a session").to_owned();
    let can = &greeting.message()["result"]["capabilities"];
    assert!(can["prompts"].is_object() && can["completions"].is_object() && can["tools"].is_object(), "{can}");
    assert_eq!(can["resources"]["subscribe"], true);
    let headers = [("x-api-key", agent.key.as_str()), ("mcp-session-id", session.as_str())];
    let ask = async |method: &str, params: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
        agent.client.post(&world.url("/mcp"), &headers, &message).await.message()
    };
    let one = "portreeve://books/book://1";
    let listed = ask("prompts/list", json!({})).await;
    assert_eq!(listed["result"]["prompts"], json!([{ "name": "books__sum up" }]));
    // The gateway's own books keep their scheme; everybody else's URIs say whose they are.
    let listed = ask("resources/list", json!({})).await;
    let uris: Vec<_> = listed["result"]["resources"].as_array().unwrap().iter().map(|entry| &entry["uri"]).collect();
    assert_eq!(uris, ["adp://registry", "adp://policies", "adp://traces", "adp://matrix", one]);
    let listed = ask("resources/templates/list", json!({})).await;
    let templates = listed["result"]["resourceTemplates"].as_array().unwrap().iter();
    let templates: Vec<_> = templates.map(|entry| &entry["uriTemplate"]).collect();
    assert_eq!(templates, ["adp://specs/{name}", "portreeve://books/book://{id}"]);
    let matrix = ask("resources/read", json!({ "uri": "adp://matrix" })).await;
    assert_eq!(matrix["result"]["contents"][0]["uri"], "adp://matrix", "{matrix}");

    let prompt = ask("prompts/get", json!({ "name": "books__sum up" })).await;
    assert_eq!(prompt["result"]["messages"][0]["content"]["uri"], one, "a link leads back here: {prompt}");
    let read = ask("resources/read", json!({ "uri": one })).await;
    assert_eq!(read["result"]["contents"][0], json!({ "uri": one, "text": "read" }));
    let reference = json!({ "type": "ref/resource", "uri": "portreeve://books/book://{id}" });
    let completed =
        ask("completion/complete", json!({ "ref": reference, "argument": { "name": "id", "value": "" } })).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["1", "2"]), "{completed}");
    assert_eq!(ask("resources/subscribe", json!({ "uri": one })).await["result"], json!({}));
    let heard = |method: &str| {
        let seen = books.seen();
        seen.iter()
            .find(|(_, message)| message["method"] == method)
            .map(|(_, message)| message["params"].clone())
            .unwrap()
    };
    assert_eq!(heard("prompts/get")["name"], "sum up");
    assert_eq!(heard("resources/read")["uri"], "book://1");
    assert_eq!(heard("completion/complete")["ref"]["uri"], "book://{id}");
    assert_eq!(heard("resources/subscribe")["uri"], "book://1");
    assert_eq!(plain.asked("resources/read") + plain.asked("prompts/get"), 0, "nobody else is asked");

    for (method, params) in [
        ("resources/read", json!({ "uri": "book://1" })),
        ("resources/read", json!({ "uri": "portreeve://nobody/book://1" })),
        ("prompts/get", json!({ "name": "sum up" })),
    ] {
        let refused = ask(method, params.clone()).await;
        assert_eq!(refused["error"]["code"], -32602, "{method} {params}");
        assert_eq!(refused["error"]["data"]["uri"], params["uri"]);
    }
    assert_eq!(books.asked("resources/read"), 1);

    let listening = [headers.as_slice(), &[("accept", "text/event-stream")]].concat();
    let response = agent.client.open("GET", &world.url("/mcp"), &listening, bytes::Bytes::new()).await;
    assert_eq!(response.status(), 200);
    let (mut news, mut heard) = (pieces(response), String::new());
    let update = async {
        while !heard.contains("resources/updated") {
            heard.push_str(&String::from_utf8_lossy(&news.next().await.expect("an open stream")));
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), update).await.expect("news");
    assert!(heard.contains(one), "{heard}");
}
