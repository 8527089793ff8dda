//! The runner in front of servers of others: Slack's and Notion's, with made-up credentials. They refuse what they are asked in
//! their own words, which is what a step then says.

use portreeve_tests::servers::{NOTION_KEY, archived_slack, git, notion, slack};
use portreeve_tests::{Kind, World};
use serde_json::json;

use crate::tool_agents::{build, put};

const TOOLS: [&str; 4] = ["slack/channels_list", "notion/API-get-self", "archived/slack_get_users", "git/git_log"];

// acceptance 89: tools of several namespaces are routed by prefix to the servers behind them, in both modes.
#[tokio::test(flavor = "multi_thread")]
async fn slack_and_notion_are_driven_by_configuration() {
    let outside = tempfile::tempdir().unwrap();
    let (notion, notion_port) = notion(outside.path());
    let (_slack, slack_port) = slack(outside.path());
    let bearer = json!({ "authorization": format!("Bearer {NOTION_KEY}") });
    let mut world = World::on(Kind::Sqlite)
        .upstream("notion", json!({ "url": format!("http://127.0.0.1:{notion_port}/mcp"), "headers": bearer }))
        .upstream("slack", json!({ "url": format!("http://127.0.0.1:{slack_port}/mcp") }))
        .upstream("archived", archived_slack())
        .upstream("git", git(outside.path()));
    for tool in TOOLS {
        let (namespace, name) = tool.split_once('/').unwrap();
        world = world.manifests(namespace, &[(name, "READ_ONLY")]);
    }
    let world = world.start();
    let agent = world.agent("a-1", "A1");
    let listed = agent.modern().tools("/mcp").await;
    for tool in ["slack__channels_list", "notion__API-get-self"] {
        assert!(listed.iter().any(|name| name == tool), "{tool} is not in {listed:?}");
    }
    let repository = outside.path().join("repository");
    let params = json!({
        "slack/channels_list": { "channel_types": "public_channel" },
        "git/git_log": { "repo_path": repository, "max_count": 1 },
    });
    put(&world, "reader", json!({ "tools": TOOLS, "toolParams": params, "stopOnError": false })).await;
    for mode in ["sequential", "parallel"] {
        let request = json!({ "mode": "build", "payload": { "toolExecutionMode": mode } });
        let (status, built) = build(&world, "reader", &agent.key, request).await;
        assert_eq!(status, 200, "{built}");
        for (one, tool) in built["results"].as_array().unwrap().iter().zip(TOOLS) {
            assert_eq!(one["tool"], tool);
            // Success, or the server's own words; ours would be these.
            let said = one["error"].as_str().unwrap_or_default();
            for ours in ["not available", "refused", "Portreeve", "manifest"] {
                assert!(!said.contains(ours), "{tool}: {said}");
            }
        }
        assert_eq!(
            (&built["results"][0]["success"], &built["results"][3]["success"]),
            (&json!(true), &json!(true)),
            "{built}"
        );
        assert!(built["results"][3].to_string().contains("a teapot"));
        assert_eq!(built["deliverable"]["metadata"]["toolsExecuted"], 4);
    }
    world
        .eventually("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1' AND description LIKE '% allowed'", 8)
        .await;

    // acceptance 85, acceptance 89: one that is gone, and one that nobody has.
    drop(notion);
    let (status, answer) = build(&world, "reader", &agent.key, json!({ "mode": "build" })).await;
    assert_eq!((status, &answer["error"]), (503, &json!("MCP server is not available (namespace: notion)")));
    put(&world, "reader", json!({ "tools": ["teams/post"] })).await;
    let (status, answer) = build(&world, "reader", &agent.key, json!({ "mode": "build" })).await;
    let said = answer["error"].as_str().unwrap();
    assert!(status == 422 && said.starts_with("Unknown namespace 'teams'. Available: adp, archived, "), "{said}");
    assert_eq!(world.verify().0, 0);
}
