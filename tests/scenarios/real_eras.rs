//! Servers of others, as published, through the gateway: each lists its tools and answers one harmless call, for the clients of both
//! SDKs and in both eras.

use std::path::Path;

use portreeve_tests::process::Process;
use portreeve_tests::servers::{NOTION_KEY, archived_slack, git, notion, slack, supabase};
use portreeve_tests::{Agent, Kind, World, manifest};
use serde_json::{Value, json};

use crate::real_clients::{python, typescript};

const MODERN: &str = "2026-07-28";

/// One server before clients of one era.
struct Row {
    server: &'static str,
    /// The options that make each client speak that era.
    modern: bool,
    /// What the client and the gateway settle on. A client that tries the modern era first falls back to the server's own.
    revision: &'static str,
    tool: &'static str,
    arguments: Value,
    /// Part of the answer. `None` where the server asks its service, which without an account or a network only refuses.
    says: Option<&'static str>,
}

fn rows() -> Vec<Row> {
    let row = |server, modern, revision, tool, arguments: &Value, says| Row {
        server,
        modern,
        revision,
        tool,
        arguments: arguments.clone(),
        says,
    };
    let project = json!({ "project_id": "story", "schemas": ["public"] });
    let channels = json!({ "channel_types": "public_channel" });
    let log = json!({ "repo_path": ".", "max_count": 1 });
    let nothing = json!({});
    vec![
        row("supabase", true, MODERN, "list_tables", &project, Some("public.pots")),
        row("supabase", false, "2025-11-25", "list_tables", &project, Some("public.pots")),
        row("notion", true, MODERN, "API-get-self", &nothing, None),
        row("notion", false, "2025-11-25", "API-get-self", &nothing, None),
        row("slack", true, MODERN, "channels_list", &channels, Some("MemberCount")),
        row("slack", false, "2025-11-25", "channels_list", &channels, Some("MemberCount")),
        row("archived", true, MODERN, "slack_get_users", &nothing, None),
        row("archived", false, "2024-11-05", "slack_get_users", &nothing, None),
        row("git", true, MODERN, "git_log", &log, Some("a teapot")),
        row("git", false, "2025-11-25", "git_log", &log, Some("a teapot")),
    ]
}

struct Stage {
    world: World,
    agent: Agent,
    _servers: Vec<Process>,
}

fn stage(outside: &Path) -> Stage {
    let (management, database, supabase) = supabase(outside);
    let (notion, notion_port) = notion(outside);
    let (slack, slack_port) = slack(outside);
    let at = |port: u16, path: &str, bearer: &str| json!({ "url": format!("http://127.0.0.1:{port}{path}"), "headers": { "authorization": format!("Bearer {bearer}") } });
    let mut world = World::on(Kind::Sqlite)
        .upstream("supabase", at(supabase, "/mcp?features=database", "sbp_made_up"))
        .upstream("notion", at(notion_port, "/mcp", NOTION_KEY))
        .upstream("slack", json!({ "url": format!("http://127.0.0.1:{slack_port}/mcp") }))
        .upstream("archived", archived_slack())
        .upstream("git", git(outside));
    for row in rows().iter().filter(|row| row.modern && row.server != "supabase") {
        world = world.manifests(row.server, &[(row.tool, "READ_ONLY")]);
    }
    world = world.manifests("supabase", &[("list_tables", "READ_ONLY")]);
    let world = world.start();
    let agent = world.agent("reader", "A1");
    Stage { world, agent, _servers: vec![management, database, notion, slack] }
}

#[test]
fn servers_of_others_work_in_both_eras() {
    let outside = tempfile::tempdir().unwrap();
    let stage = stage(outside.path());
    let mut wrong = Vec::new();
    for row in rows() {
        let url = stage.world.url(&format!("/{}/mcp", row.server));
        let mut arguments = row.arguments.clone();
        if row.server == "git" {
            arguments["repo_path"] = json!(outside.path().join("repository"));
        }
        let arguments = arguments.to_string();
        let call = ["--tool", row.tool, "--arguments", &arguments];
        let (py, ts) = if row.modern { ("default", "auto") } else { ("legacy", "legacy") };
        for (client, answer) in [
            ("python", python(&url, &stage.agent, &[&call[..], &["--mode", py]].concat())),
            ("typescript", typescript(&url, &stage.agent, &[&call[..], &["--mode", ts]].concat())),
        ] {
            if let Some(fault) = fault(&row, &answer) {
                wrong.push(format!(
                    "{} {} {client}: {fault}: {answer}",
                    row.server,
                    if row.modern { "modern" } else { "legacy" }
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let executed = std::fs::read_to_string(outside.path().join("executed.log")).unwrap_or_default();
    assert_eq!(executed, "", "nobody executed a statement");
    assert_eq!(stage.world.verify().0, 0);
}

fn fault(row: &Row, answer: &Value) -> Option<&'static str> {
    let revision = answer["protocol_version"].as_str().unwrap_or_default();
    if revision != row.revision {
        return Some("another revision");
    }
    if answer["tools"] != json!([row.tool]) {
        return Some("only what is classified is listed");
    }
    let Some(says) = row.says else {
        let answered = answer["result"].is_object() || answer["error"]["code"].is_i64();
        return (!answered).then_some("no answer at all");
    };
    if !answer["error"].is_null() || answer["is_error"] != json!(false) {
        return Some("the call did not end well");
    }
    (!answer["result"].to_string().contains(says)).then_some("it says something else")
}

/// Supabase's server asks before it destroys; whether it happens is the user's word, and the mock behind it knows.
#[test]
fn a_dropped_table_was_confirmed() {
    let outside = tempfile::tempdir().unwrap();
    let (_mock, _server, port) = supabase(outside.path());
    let url = format!("http://127.0.0.1:{port}/mcp?features=database");
    let world = World::on(Kind::Sqlite)
        .upstream("supabase", json!({ "url": url, "headers": { "authorization": "Bearer sbp_made_up" } }))
        // Supabase's own question is what this is about: the gateway leaves the SQL to it.
        .manifest_file(
            "supabase",
            json!({
                "manifests": [manifest("supabase", "execute_sql", "LOW_WRITE")],
                "handling": { "supabase/execute_sql": { "sql": "off" } },
            }),
        )
        .start();
    let (agent, url) = (world.agent("writer", "A3"), world.url("/supabase/mcp"));
    let executed = || std::fs::read_to_string(outside.path().join("executed.log")).unwrap_or_default();
    let drop = json!({ "project_id": "story", "query": "DROP TABLE public.pots" }).to_string();
    let call = |word: &'static str, mode: &'static str| {
        ["--callbacks", "--elicit", word, "--mode", mode, "--tool", "execute_sql", "--arguments", &drop]
            .map(str::to_owned)
    };
    for word in ["decline", "cancel"] {
        let options = call(word, "default");
        let answer = python(&url, &agent, &options.each_ref().map(String::as_str));
        assert!(answer["seen"].to_string().contains("elicit"), "{answer}");
        assert_eq!(executed(), "", "{word}: {answer}");
    }
    let options = call("accept", "auto");
    let answer = typescript(&url, &agent, &options.each_ref().map(String::as_str));
    assert_eq!(executed(), "\"DROP TABLE public.pots\"\n", "once: {answer}");
    assert_eq!(world.verify().0, 0);
}
