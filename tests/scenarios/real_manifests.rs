//! The manifests we ship, held against the servers they are written for: every tool of a real server is classified, no
//! entry names a tool that is not there, and where a level lies below what the server says of itself, we say why.

use std::collections::{BTreeMap, BTreeSet};

use portreeve_tests::environment::{everything_server, installed, node, postgres, root};
use portreeve_tests::{Kind, World, servers};
use serde_json::{Value, json};

const LEVELS: [&str; 4] = ["READ_ONLY", "PROPOSE_ONLY", "LOW_WRITE", "HIGH_WRITE"];

/// Reviewed below the server's own `destructiveHint`. A hint that nobody reviewed counts; these were read, one by one.
const REVIEWED: [(&str, &str); 26] = [
    ("supabase/execute_sql", "each statement is classed by what it does"),
    ("notion/API-post-search", "a search that is sent as POST"),
    ("notion/API-query-data-source", "a search that is sent as POST"),
    ("notion/API-patch-block-children", "appends"),
    ("notion/API-update-a-block", "the trash raises it"),
    ("notion/API-patch-page", "the trash raises it"),
    ("notion/API-post-page", "creates"),
    ("notion/API-create-a-comment", "creates"),
    ("notion/API-create-a-data-source", "creates"),
    ("notion/API-update-a-data-source", "the trash raises it"),
    ("notion/API-move-page", "can be moved back"),
    ("notion/API-update-page-markdown", "pages keep their history"),
    ("slack/conversations_add_message", "policies find it as external communication"),
    ("slack/reactions_add", "can be taken back"),
    ("slack/reactions_remove", "can be added again"),
    ("slack/conversations_join", "can be left again"),
    ("slack/conversations_leave", "can be joined again"),
    ("slack/saved_clear_completed", "only a list of one's own"),
    ("slack/saved_update", "only a list of one's own"),
    ("slack/usergroups_create", "creates"),
    ("slack/usergroups_me", "can be joined again"),
    ("slack/usergroups_update", "names and descriptions"),
    ("filesystem/write_file", "within the folders that the operator names"),
    ("filesystem/edit_file", "within the folders that the operator names"),
    ("filesystem/move_file", "never over a file that exists"),
    ("git/git_reset", "takes back what is staged, and no work"),
];

/// `namespace/tool` and its level, from the shipped file.
fn shipped(namespace: &str) -> BTreeMap<String, String> {
    let file = root().join(format!("policies/manifests/{namespace}.yaml"));
    let text = std::fs::read_to_string(file).unwrap();
    let value = |line: &str, key: &str| {
        let (_, rest) = line.split_once(&format!("{key}: "))?;
        Some(rest.split([',', ' ', '}']).next()?.trim_matches('"').to_owned())
    };
    let rows = text.lines().filter_map(|line| Some((value(line, "id")?, value(line, "risk_level")?)));
    rows.collect()
}

/// The tools of a real server, as an agent that may use anything is shown them.
async fn listed(namespace: &str, upstream: Value) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join(format!("policies/manifests/{namespace}.yaml"))).unwrap();
    let world = World::on(Kind::Sqlite)
        .upstream(namespace, upstream)
        .policy_file(&format!("manifests/{namespace}.yaml"), &text)
        .start();
    let agent = world.agent("a-5", "A5").modern();
    let (mut tools, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let params = cursor.as_ref().map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
        let answer = agent.post(&format!("/{namespace}/mcp"), &ask).await;
        let message = answer.message();
        let page = message["result"]["tools"].as_array().unwrap_or_else(|| panic!("{namespace}: {}", answer.text()));
        tools.extend(page.iter().cloned());
        cursor = message["result"]["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    // What the gateway saw and what it showed are the same: nothing is unclassified, nothing is held back.
    let seen = i64::try_from(tools.len()).unwrap();
    world.eventually("SELECT count(*) FROM tool_registry WHERE version = 'seen'", seen).await;
    world.eventually("SELECT count(*) FROM tool_registry WHERE is_recommended AND version LIKE 'sha-%'", seen).await;
    assert_eq!(world.database.count("SELECT count(*) FROM tool_registry WHERE risk_level = 'unclassified'"), 0);
    world.eventually("SELECT count(*) FROM tool_pins WHERE state = 'accepted'", seen).await;
    assert_eq!(world.database.count("SELECT count(*) FROM tool_pins WHERE state = 'quarantined'"), 0);
    assert_eq!(
        world.database.count("SELECT count(*) FROM tool_pins WHERE findings IS NOT NULL AND findings <> '[]'"),
        0,
        "no real tool is suspicious"
    );
    tools
}

fn rank(level: &str) -> usize {
    LEVELS.iter().position(|known| *known == level).unwrap_or_else(|| panic!("{level} is no level"))
}

/// `unless`: entries that this server does not list, with the shipped file saying why.
fn compare(namespace: &str, tools: &[Value], unless: &[&str]) {
    let shipped = shipped(namespace);
    let id = |tool: &Value| format!("{namespace}/{}", tool["name"].as_str().unwrap());
    let real: BTreeSet<_> = tools.iter().map(id).collect();
    let known: BTreeSet<_> = shipped.keys().cloned().collect();
    let missing: Vec<_> = real.difference(&known).collect();
    assert!(missing.is_empty(), "nobody classified {missing:?}");
    let expected: BTreeSet<_> = unless.iter().map(|name| format!("{namespace}/{name}")).collect();
    let gone: BTreeSet<_> = known.difference(&real).cloned().collect();
    assert_eq!(gone, expected, "entries for tools that {namespace} does not have");
    for tool in tools {
        let (id, hints) = (id(tool), &tool["annotations"]);
        let said = match (hints["readOnlyHint"].as_bool(), hints["destructiveHint"].as_bool()) {
            (Some(true), _) | (None, None) => "READ_ONLY",
            (_, Some(true)) => "HIGH_WRITE",
            _ => "LOW_WRITE",
        };
        let below = rank(&shipped[&id]) < rank(said);
        let reviewed = REVIEWED.iter().any(|(known, _)| *known == id);
        assert!(!below || reviewed, "{id} is {} here, and its server says {said}", shipped[&id]);
    }
}

fn stdio(package: &str, arguments: &[&str], environment: &Value) -> Value {
    let module = servers::module(package);
    assert!(module.exists(), "{package} is not installed: run `tests/run --only-env`");
    let arguments: Vec<_> = std::iter::once(json!(module)).chain(arguments.iter().map(|text| json!(text))).collect();
    json!({ "command": node(), "args": arguments, "env": environment })
}

// Issue: shipped, reviewed manifests for the real tool lists.
#[tokio::test(flavor = "multi_thread")]
async fn supabase_has_32_tools() {
    let outside = tempfile::tempdir().unwrap();
    let (_mock, api) = servers::management_api(outside.path());
    // What describes the documentation is asked of a server, so it is asked of the mock.
    let content = format!("--content-api-url=http://127.0.0.1:{api}/content");
    let features = "--features=account,database,debugging,development,docs,functions,branching,storage";
    let arguments = ["--access-token", "made-up", features, content.as_str()];
    let tools = listed("supabase", stdio("@supabase/mcp-server-supabase/dist/cli.js", &arguments, &json!({}))).await;
    assert_eq!(tools.len(), 32);
    compare("supabase", &tools, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn notion_has_24_tools() {
    let package = "@notionhq/notion-mcp-server/bin/cli.mjs";
    let tools = listed("notion", stdio(package, &[], &json!({ "NOTION_TOKEN": "ntn_made_up" }))).await;
    assert_eq!(tools.len(), 24);
    compare("notion", &tools, &[]);
}

// One file for two servers, whose names do not meet.
#[tokio::test(flavor = "multi_thread")]
async fn both_slack_servers_share_a_file() {
    let program = servers::module("slack-mcp-server-linux-amd64/bin/slack-mcp-server-linux-amd64");
    let newer = json!({ "command": program, "args": ["--transport", "stdio", "--no-cache"],
        "env": { "SLACK_MCP_XOXP_TOKEN": "demo", "SLACK_MCP_ADD_MESSAGE_TOOL": "true", "SLACK_MCP_REACTION_TOOL": "true",
            "SLACK_MCP_ATTACHMENT_TOOL": "true", "SLACK_MCP_MARK_TOOL": "true" } });
    let mut tools = listed("slack", newer).await;
    let archived = listed("slack", servers::archived_slack()).await;
    assert_eq!((tools.len(), archived.len()), (22, 8));
    tools.extend(archived);
    compare("slack", &tools, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn server_everything() {
    let upstream = json!({ "command": node(), "args": [everything_server(), "stdio"] });
    let tools = listed("everything", upstream).await;
    // Only clients that can be asked are offered these.
    let asked =
        ["get-roots-list", "trigger-elicitation-request", "trigger-sampling-request", "trigger-url-elicitation"];
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let unless: Vec<_> = asked.into_iter().filter(|name| !names.contains(name)).collect();
    assert_eq!(tools.len() + unless.len(), 17);
    compare("everything", &tools, &unless);
}

#[tokio::test(flavor = "multi_thread")]
async fn git_and_sqlite() {
    let outside = tempfile::tempdir().unwrap();
    let tools = listed("git", servers::git(outside.path())).await;
    assert_eq!(tools.len(), 12);
    compare("git", &tools, &[]);
    let program = installed("python/sqlite/bin/mcp-server-sqlite");
    let database = outside.path().join("shop.db");
    let tools = listed("sqlite", json!({ "command": program, "args": ["--db-path", database] })).await;
    assert_eq!(tools.len(), 6);
    compare("sqlite", &tools, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn filesystem_github_and_postgres() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().to_str().unwrap();
    for (namespace, package, argument, count) in [
        ("filesystem", "@modelcontextprotocol/server-filesystem/dist/index.js", folder, 14),
        ("github", "@modelcontextprotocol/server-github/dist/index.js", "", 26),
        ("postgres", "@modelcontextprotocol/server-postgres/dist/index.js", postgres().as_str(), 1),
    ] {
        let arguments: Vec<_> = (!argument.is_empty()).then_some(argument).into_iter().collect();
        let tools = listed(namespace, stdio(package, &arguments, &json!({}))).await;
        assert_eq!(tools.len(), count, "{namespace}");
        compare(namespace, &tools, &[]);
    }
}

// A reason that nobody needs any more is taken out of the table.
#[test]
fn every_reviewed_exception_is_of_a_shipped_tool() {
    for (id, why) in REVIEWED {
        let namespace = id.split('/').next().unwrap();
        assert!(shipped(namespace).contains_key(id), "{id} ({why}) is not shipped");
    }
}
