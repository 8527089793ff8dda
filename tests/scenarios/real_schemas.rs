//! Every schema of every tool that real servers list can be read: none of their tools is unusable behind the gateway.

use portreeve_tests::environment::{everything_server, installed, node};
use portreeve_tests::servers::{NOTION_KEY, archived_slack, git, notion, slack, supabase};
use portreeve_tests::{Kind, World};
use serde_json::json;

/// Arguments that fit no tool, so that none is carried out: what is refused as that was held against a schema that was read.
#[tokio::test(flavor = "multi_thread")]
async fn every_tool_of_real_servers_has_schemas_that_can_be_read() {
    let outside = tempfile::tempdir().unwrap();
    let (_mock, _supabase, supabase_port) = supabase(outside.path());
    let (_notion, notion_port) = notion(outside.path());
    let (_slack, slack_port) = slack(outside.path());
    let at = |port: u16, path: &str, key: &str| json!({ "url": format!("http://127.0.0.1:{port}{path}"), "headers": { "authorization": format!("Bearer {key}") } });
    let servers = [
        ("supabase", at(supabase_port, "/mcp?features=database", "sbp_made_up")),
        ("notion", at(notion_port, "/mcp", NOTION_KEY)),
        ("slack", json!({ "url": format!("http://127.0.0.1:{slack_port}/mcp") })),
        ("archived", archived_slack()),
        ("git", git(outside.path())),
        ("everything", json!({ "command": node(), "args": [everything_server(), "stdio"] })),
        (
            "sqlite",
            json!({ "command": installed("python/sqlite/bin/mcp-server-sqlite"), "args": ["--db-path", outside.path().join("shop.db")] }),
        ),
    ];
    let mut world = World::on(Kind::Sqlite);
    for (name, upstream) in &servers {
        let mut upstream = upstream.clone();
        upstream["unclassified"] = json!("observe");
        world = world.upstream(name, upstream);
    }
    let world = world.start();
    let agent = world.agent("a-5", "A5").modern();
    let mut checked = 0;
    for (name, _) in &servers {
        for tool in agent.tools(&format!("/{name}/mcp")).await {
            let answer = agent.call(&format!("{name}/{tool}"), json!([])).await;
            assert!(answer.denied_by().contains(&"schema".to_owned()), "{name}/{tool}: {}", answer.text());
            assert!(answer.text().contains("expected object, found array"), "{name}/{tool}: {}", answer.text());
            checked += 1;
        }
    }
    assert!(checked > 80, "only {checked} tools were listed");
}
