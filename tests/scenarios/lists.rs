//! Long lists, and lists that are kept for a while.

use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

async fn page(agent: &Agent, path: &str, cursor: Option<&str>) -> Value {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params });
    agent.post(path, &list).await.message()
}

fn names(page: &Value) -> Vec<String> {
    let tools = page["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools in {page}"));
    tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

// acceptance 59: every tool once, over pages, on both doors; a bad cursor is refused.
#[tokio::test]
async fn fifteen_hundred_tools_come_in_pages_each_once() {
    let tools: Vec<String> = (0..1500).map(|n| format!("tool_{n:04}")).collect();
    let stub = Stub::start(&tools.iter().map(String::as_str).collect::<Vec<_>>()).await;
    stub.page_by(100);
    let manifests: Vec<(&str, &str)> = tools.iter().map(|name| (name.as_str(), "READ_ONLY")).collect();
    let world =
        World::on(Kind::Sqlite).upstream("many", json!({ "url": stub.url() })).manifests("many", &manifests).start();
    let agent = world.agent("a-1", "A1").modern();
    for (path, prefix) in [("/many/mcp", ""), ("/mcp", "many__")] {
        let (mut found, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
        loop {
            let page = page(&agent, path, cursor.as_deref()).await;
            found.extend(names(&page));
            pages += 1;
            cursor = page["result"]["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        let ours: Vec<&str> = found.iter().filter_map(|name| name.strip_prefix(prefix)).collect();
        let ours: Vec<&str> = ours.into_iter().filter(|name| name.starts_with("tool_")).collect();
        assert_eq!(ours, tools, "{path}: every tool once, in the upstream's order");
        assert!(pages > 1, "{path}");
        assert_eq!(page(&agent, path, Some("nonsense")).await["error"]["code"], -32602, "{path}");
    }
}

/// A stub of the stateless era, which lists what its steps say.
async fn modern_stub(mut steps: Vec<Step>) -> Stub {
    steps.push(Step::modern_server(&json!({ "tools": {} })));
    Stub::scripted(steps).await
}

fn list_of(tools: &[&str], scope: &str) -> Value {
    let tools: Vec<Value> =
        tools.iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect();
    json!({ "resultType": "complete", "tools": tools, "ttlMs": 60_000, "cacheScope": scope })
}

#[tokio::test]
async fn a_list_is_asked_for_once_until_it_changes() {
    let changed = Piece::notification("notifications/tools/list_changed", json!({}));
    let called = json!({ "resultType": "complete", "content": [] });
    let stub = modern_stub(vec![
        Step::on("tools/list").result(list_of(&["find"], "private")),
        Step::on("tools/list").result(list_of(&["find", "report"], "private")).always(),
        Step::on("tools/call").stream([changed, Piece::answer(called)]),
    ])
    .await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("find", "READ_ONLY"), ("report", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1").modern();
    for _ in 0..3 {
        assert_eq!(names(&page(&agent, "/crm/mcp", None).await), ["find"]);
    }
    assert_eq!(stub.asked("tools/list"), 1, "good for a minute");
    let kept = page(&agent, "/crm/mcp", None).await;
    assert_eq!(kept["result"]["cacheScope"], "private");
    assert!((1..60_000).contains(&kept["result"]["ttlMs"].as_u64().unwrap()), "what is left of it: {kept}");
    assert_eq!(agent.call("crm/find", json!({})).await.decision(), "allow");
    assert_eq!(names(&page(&agent, "/crm/mcp", None).await), ["find", "report"], "the upstream said that it changed");
    assert_eq!(stub.asked("tools/list"), 2);
}

#[tokio::test]
async fn one_agents_private_list_is_never_anothers() {
    for (scope, expected) in [("private", ["theirs", "theirs"]), ("public", ["mine", "mine"])] {
        let stub = modern_stub(vec![
            Step::on("tools/list").result(list_of(&["mine", "secret"], scope)),
            Step::on("tools/list").result(list_of(&["theirs"], scope)).always(),
        ])
        .await;
        let tools = [("mine", "READ_ONLY"), ("theirs", "READ_ONLY"), ("secret", "LOW_WRITE")];
        let world =
            World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &tools).start();
        let (me, you) = (world.agent("me", "A3").modern(), world.agent("you", "A1").modern());
        assert_eq!(names(&page(&me, "/crm/mcp", None).await), ["mine", "secret"]);
        for expected in expected {
            // What all may share is still shown to each as that one may see it.
            assert_eq!(names(&page(&you, "/crm/mcp", None).await), [expected], "{scope}");
        }
        assert_eq!(names(&page(&me, "/crm/mcp", None).await), ["mine", "secret"], "{scope}");
    }
}

#[tokio::test]
async fn an_operator_says_how_long_a_list_is_good_and_for_whom() {
    for (cache, asked) in [(json!({ "seconds": 60, "shared": true }), 1), (json!({ "seconds": 60 }), 2)] {
        let stub = Stub::start(&["find", "change"]).await;
        let world = World::on(Kind::Sqlite)
            .upstream("crm", json!({ "url": stub.url(), "cache": cache }))
            .manifests("crm", &[("find", "READ_ONLY"), ("change", "LOW_WRITE")])
            .start();
        let (one, other) = (world.agent("a-1", "A1"), world.agent("a-3", "A3"));
        for _ in 0..2 {
            assert_eq!(one.tools("/crm/mcp").await, ["find"]);
            assert_eq!(other.tools("/crm/mcp").await, ["find", "change"], "kept below what each may see");
        }
        assert_eq!(stub.asked("tools/list"), asked, "{cache}");
    }
}
