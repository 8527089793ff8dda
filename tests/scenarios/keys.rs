//! A tenant's own keys: what they open, who stands behind them, and that nobody sees one twice.

mod eyes;
mod shown_once;

use std::time::Duration;

use portreeve_tests::{Agent, Kind, Stub, World};
use serde_json::{Value, json};

/// An administrator's key with somebody's name on it.
pub fn named(world: &World, name: &str) -> String {
    let made = world.cli_json(&["key", "add", "--tenant", "acme", "--admin", "--name", name]);
    made["api_key"].as_str().unwrap_or_else(|| panic!("no key in {made}")).to_owned()
}

async fn ask(caller: &Agent, path: &str, method: &str, params: Value) -> Value {
    caller.post(path, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await.message()
}

async fn tools(caller: &Agent, path: &str) -> Vec<String> {
    let mut tools = caller.modern().tools(path).await;
    tools.sort();
    tools
}

/// Calls until the answer has this status: another process changed the key.
async fn until(caller: &Agent, tool: &str, status: u16) {
    for _ in 0..400 {
        if caller.call(tool, json!({})).await.status == status {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{tool} was not answered {status}");
}

// acceptance 52: API key scopes limit tools; only the hash is stored; last_used_at moves; a revoked key is refused at once.
async fn a_key_is_good_for_its_tools(kind: Kind) {
    let stub = Stub::start(&["search", "get_one", "find", "get_set"]).await;
    let world = World::on(kind)
        .upstream("notes", json!({ "url": stub.url() }))
        .upstream("crm", json!({ "url": stub.url() }))
        .upstream("mail", json!({ "url": stub.url() }))
        .manifests("notes", &[("search", "READ_ONLY")])
        .manifests("crm", &[("get_one", "READ_ONLY"), ("find", "READ_ONLY"), ("get_set", "LOW_WRITE")])
        .manifests("mail", &[("search", "READ_ONLY")])
        .start();
    let add = |options: &[&str]| world.cli_json(&[&["key", "add", "--tenant", "acme"], options].concat());
    let made = add(&["--scopes", "notes/*,crm/get_*", "--name", "reporting"]);
    let key = made["api_key"].as_str().unwrap();
    assert!(key.starts_with("adp_tk_") && made["scopes"] == json!(["notes/*", "crm/get_*"]), "{made}");
    let caller = world.agent_with_key("reporting", key);

    // Shown and callable: what it names. It acts with the least autonomy, so what it names is still judged.
    assert_eq!(tools(&caller, "/mcp").await, ["crm__get_one", "notes__search"]);
    assert_eq!(tools(&caller, "/crm/mcp").await, ["get_one"]);
    for tool in ["notes/search", "crm/get_one"] {
        let answer = caller.call(tool, json!({})).await;
        assert_eq!(answer.decision(), "allow", "{tool}: {}", answer.text());
    }
    world.eventually("SELECT count(*) FROM api_keys WHERE name = 'reporting' AND last_used_at IS NOT NULL", 1).await;

    // Everything else is refused before anybody hears of it, whichever door it comes to.
    let (reached, seen) = (stub.calls(), stub.seen().len());
    for tool in ["crm/find", "mail/search", "crm/nobody_classified", "adp/adp_verify_chain"] {
        let answer = caller.call(tool, json!({ "agent_id": "a-1" })).await;
        let status = (answer.status, answer.decision());
        assert_eq!(status, (200, "deny".to_owned()), "{tool}: {}", answer.text());
        assert!(answer.denied_by().contains(&"scopes".to_owned()), "{tool}: {}", answer.text());
    }
    let aggregated =
        ask(&caller.modern(), "/mcp", "tools/call", json!({ "name": "mail__search", "arguments": {} })).await;
    assert_eq!(aggregated["result"]["_meta"]["io.portreeve/decision"]["decision"], "deny", "{aggregated}");
    for (path, method, params) in [
        ("/mail/mcp", "tools/list", json!({})),
        ("/mail/mcp", "initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {} })),
        ("/crm/mcp", "resources/list", json!({})),
        ("/crm/mcp", "what/ever", json!({})),
        ("/adp/mcp", "resources/read", json!({ "uri": "adp://registry" })),
    ] {
        let answer = ask(&caller, path, method, params).await;
        assert_eq!(answer["error"]["code"], 4030, "{method} at {path}: {answer}");
    }
    assert_eq!((stub.calls(), stub.seen().len()), (reached, seen), "what was refused reached nobody");
    let refused = caller.call("crm/find", json!({})).await;
    assert!(refused.text().contains("this key is for notes/*, crm/get_* alone"), "{}", refused.text());
    assert_eq!(world.api("GET", "/api/approvals", key, None).await.status, 403, "it administers nothing");

    // What it is for may change while it is in use.
    world.database.sql("UPDATE api_keys SET scopes = '[\"crm/find\"]' WHERE name = 'reporting'");
    world.live().await;
    assert_eq!(tools(&caller, "/mcp").await, ["crm__find"]);
    assert_eq!(caller.call("crm/find", json!({})).await.decision(), "allow");
    assert_eq!(caller.call("notes/search", json!({})).await.denied_by(), ["scopes"]);

    // A role is known to access rules, and no rule here knows this one.
    let viewer = add(&["--scopes", "notes/*", "--role", "viewer"]);
    let viewer = world.agent_with_key("viewer", viewer["api_key"].as_str().unwrap());
    assert_eq!(viewer.call("notes/search", json!({})).await.denied_by(), ["access"]);

    // A key without scopes that mean anything opens nothing.
    world.database.sql("UPDATE api_keys SET scopes = '[\"reports\"]' WHERE name = 'unnamed'");
    world.live().await;
    assert_eq!(tools(&viewer, "/mcp").await, Vec::<String>::new());
    assert!(viewer.call("notes/search", json!({})).await.denied_by().contains(&"scopes".to_owned()));

    let listed = world.cli_json(&["key", "list", "--tenant", "acme"]);
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|key| key["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["admin", "reporting", "unnamed"], "{listed}");
    assert!(world.cli(&["key", "revoke", made["key_id"].as_str().unwrap()]).status.success());
    until(&caller, "crm/find", 401).await;
    assert_eq!(world.verify().0, 0);

    for (options, told) in [
        (&["--scopes", "write"][..], "`write`: is not known"),
        (&["--scopes", "mcp:read"], "is not known"),
        (&["--scopes", "notes/*,admin"], "--admin"),
        (&["--admin", "--name", "admin"], "nobody's name"),
    ] {
        let wrong = world.cli(&[&["key", "add", "--tenant", "acme"], options].concat());
        let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
        assert!(wrong.status.code() == Some(1) && said.contains(told), "{options:?}: {said}");
    }
    assert_eq!(world.database.count("SELECT count(*) FROM api_keys"), 3, "and nothing was made");
}

#[tokio::test]
async fn a_key_is_good_for_its_tools_on_sqlite() {
    a_key_is_good_for_its_tools(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_key_is_good_for_its_tools_on_postgres() {
    a_key_is_good_for_its_tools(Kind::Postgres).await;
}
