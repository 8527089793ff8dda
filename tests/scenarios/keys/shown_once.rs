//! A key is in the one answer that made it, and nowhere after that: not in a table, a file, a book or an answer.

use std::path::Path;

use portreeve_tests::{Agent, Kind, Stub, World};
use serde_json::{Value, json};

use super::{ask, named};
use crate::adp::read;

/// More of a key than may be kept: a prefix is eight letters.
const TELLING: usize = 16;

/// Everything that must not be found, under the name of what made it.
struct Secrets(Vec<(&'static str, String)>);

impl Secrets {
    #[track_caller]
    fn are_not_in(&self, text: &[u8], place: &str) {
        for (made, key) in &self.0 {
            let found = text.windows(TELLING).any(|part| part == &key.as_bytes()[..TELLING]);
            assert!(!found, "{place} tells the key of {made}");
        }
    }
}

fn files(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

fn tables(world: &World, kind: Kind) -> Vec<String> {
    let listed = match kind {
        Kind::Sqlite => world.database.sql("SELECT name FROM sqlite_master WHERE type = 'table'"),
        Kind::Postgres => world.database.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
    };
    listed.lines().map(str::to_owned).collect()
}

/// Each key at work, well and badly: what is refused is written down too, and some of it quotes what was sent.
async fn use_all(world: &World, callers: &[Agent]) {
    for caller in callers {
        for tool in ["crm/read", "crm/missing", "adp/adp_verify_chain"] {
            caller.call(tool, json!({ "note": caller.key, "agent_id": caller.id })).await;
        }
        ask(caller, "/crm/mcp", "what/ever", json!({ "key": caller.key })).await;
        ask(&caller.modern(), "/mcp", "tools/list", json!({ "cursor": caller.key })).await;
        ask(caller, "/crm/mcp", &caller.key, json!({})).await;
        let misplaced = json!({ "agent_id": caller.key, "name": caller.key, "autonomy_level": caller.key });
        caller.call("adp/adp_register_agent", misplaced).await;
        world.client.post(&world.url("/crm/mcp"), &[("authorization", caller.key.as_str())], &json!({})).await;
        world.api("POST", "/api/suspensions", &caller.key, Some(json!({ "kind": caller.key }))).await;
    }
}

/// acceptance 8: the key is never shown again, whichever way it was made.
async fn a_key_is_shown_once(kind: Kind) {
    let stub = Stub::start(&["read"]).await;
    let mut world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let register = |id: &str| {
        let (admin, id) = (world.admin(), id.to_owned());
        async move {
            let arguments = json!({ "agent_id": id, "name": id, "autonomy_level": "A3" });
            (admin.call("adp/adp_register_agent", arguments.clone()).await, admin, arguments)
        }
    };
    let (made, admin, arguments) = register("by-tool").await;
    let by_tool = made.tool_json()["api_key"].as_str().unwrap().to_owned();
    assert_eq!(made.text().matches(&by_tool).count(), made.text().matches("adp_sk_").count());
    let again = admin.call("adp/adp_register_agent", arguments.clone()).await;
    assert!(again.is_tool_error(), "{}", again.text());
    // The same over the aggregated door, in the era without sessions.
    let mut other = arguments;
    other["agent_id"] = json!("by-tool-2");
    let call = json!({ "name": "adp_register_agent", "arguments": other });
    let made = ask(&admin.modern(), "/mcp", "tools/call", call).await;
    let by_door =
        made["result"]["structuredContent"]["api_key"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    let by_cli = world.agent("by-cli", "A3");
    let scoped = world.cli_json(&["key", "add", "--tenant", "acme", "--scopes", "crm/*", "--name", "reporting"]);
    let scoped = scoped["api_key"].as_str().unwrap().to_owned();
    let grace = named(&world, "grace@example.com");

    let callers = [
        world.agent_with_key("by-tool", &by_tool),
        world.agent_with_key("by-tool-2", &by_door),
        by_cli.clone(),
        world.agent_with_key("reporting", &scoped),
        world.agent_with_key("grace", &grace),
        admin.clone(),
    ];
    use_all(&world, &callers).await;
    world.eventually("SELECT count(*) FROM agent_api_keys WHERE last_used_at IS NOT NULL", 3).await;
    let keys = [
        "adp_register_agent",
        "adp_register_agent at /mcp",
        "agent add",
        "key add --scopes",
        "key add --admin",
        "tenant add",
    ];
    let secrets = Secrets(keys.into_iter().zip(callers.iter().map(|caller| caller.key.clone())).collect());
    let kept = "SELECT count(*) FROM agent_api_keys WHERE length(key_hash) = 64 AND length(key_prefix) = 8";
    assert_eq!(world.database.count(kept), 3, "a hash, and of an agent's key eight letters");
    assert_eq!(world.database.count("SELECT count(*) FROM api_keys WHERE length(key_hash) = 64"), 3);

    let refused = callers.iter().find(|caller| caller.id == "reporting").unwrap();
    for caller in [&callers[0], &admin] {
        for book in ["adp://registry", "adp://policies", "adp://traces", "adp://matrix", "adp://specs/agent-registry"] {
            let content = match book.starts_with("adp://specs") {
                true => ask(caller, "/adp/mcp", "resources/read", json!({ "uri": book })).await,
                false => read(caller, "/adp/mcp", book).await,
            };
            secrets.are_not_in(content.to_string().as_bytes(), book);
        }
    }
    for caller in [&callers[0], refused, &callers[4]] {
        for page in [
            "/",
            "/health",
            "/ready",
            "/metrics",
            "/upstreams",
            "/agents",
            "/agents/by-tool",
            "/agent-traces",
            "/policies",
            "/tools",
            "/approvals",
            "/usage",
            "/tool-agents",
            "/api/upstreams",
            "/api/tools",
            "/api/manifests",
            "/api/approvals",
            "/api/policies",
            "/api/access-policies",
            "/api/suspensions",
            "/api/live",
            "/api/admin/agents",
            "/api/agents/by-tool/history",
            "/api/proofs/latest",
            "/api/openapi.json",
        ] {
            let answer = world.api("GET", page, &caller.key, None).await;
            assert_ne!(answer.status, 500, "{page}");
            secrets.are_not_in(answer.text().as_bytes(), page);
        }
    }
    let traces = world.database.sql("SELECT trace_id FROM agent_traces");
    for trace in traces.lines() {
        let explained = world.api("GET", &format!("/api/explain/{trace}"), &grace, None).await;
        secrets.are_not_in(explained.text().as_bytes(), "an explanation");
    }
    for verb in [
        &["key", "list", "--tenant", "acme"][..],
        &["key", "list", "by-tool", "--tenant", "acme"],
        &["agent", "list", "--tenant", "acme"],
        &["tenant", "list"],
    ] {
        let listed: Value = world.cli_json(verb);
        secrets.are_not_in(listed.to_string().as_bytes(), &verb.join(" "));
    }
    assert_eq!(world.verify().0, 0);
    world.stop_gateway();
    for table in tables(&world, kind) {
        secrets.are_not_in(world.database.sql(&format!("SELECT * FROM {table}")).as_bytes(), &table);
    }
    // The log, the spool, and of SQLite every byte that was ever written, rows that are gone among them.
    let mut found = Vec::new();
    files(world.config_path().parent().unwrap(), &mut found);
    assert!(found.iter().any(|file| file.ends_with("gateway.log")), "{found:?}");
    for file in found {
        secrets.are_not_in(&std::fs::read(&file).unwrap(), &file.display().to_string());
    }
}

#[tokio::test]
async fn a_key_is_shown_once_on_sqlite() {
    a_key_is_shown_once(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_key_is_shown_once_on_postgres() {
    a_key_is_shown_once(Kind::Postgres).await;
}
