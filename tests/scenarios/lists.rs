//! Long lists, and lists that are kept for a while.

use portreeve_tests::{Agent, Kind, Stub, World};
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
