//! The gateway's books, read by those they are about.

use std::collections::BTreeSet;

use portreeve_tests::{Agent, Answer, Kind, World};
use serde_json::{Value, json};

use crate::adp::read;

const SPECS: [&str; 7] = [
    "autonomy-taxonomy",
    "decision-classification",
    "trace-format",
    "authorization-matrix",
    "policy-schema",
    "regulatory-mapping",
    "agent-registry",
];

async fn say(caller: &Agent, path: &str, method: &str, params: Value) -> Answer {
    caller.post(path, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await
}

fn under(answer: &Answer, list: &str, key: &str) -> Vec<String> {
    let message = answer.message();
    let entries = message["result"][list].as_array().unwrap_or_else(|| panic!("no {list} in {message}")).clone();
    entries.iter().filter_map(|entry| Some(entry[key].as_str()?.to_owned())).collect()
}

// acceptance 28: four resources and a template, under their own names at both doors and in both eras.
async fn the_books_are_listed(kind: Kind) {
    let world = World::on(kind).start();
    let agent = world.agent("agent-1", "A1");
    let uris = ["adp://registry", "adp://policies", "adp://traces", "adp://matrix"];
    for (caller, path) in [(agent.clone(), "/adp/mcp"), (agent.modern(), "/adp/mcp"), (agent.modern(), "/mcp")] {
        let listed = say(&caller, path, "resources/list", json!({})).await;
        assert_eq!(under(&listed, "resources", "uri"), uris, "{path}");
        let templates = say(&caller, path, "resources/templates/list", json!({})).await;
        assert_eq!(under(&templates, "resourceTemplates", "uriTemplate"), ["adp://specs/{name}"], "{path}");
        let matrix = read(&caller, path, "adp://matrix").await;
        assert_eq!(matrix["matrix"]["A5"]["D4"], "approval_required");
    }
    let found = say(&agent.modern(), "/mcp", "server/discover", json!({})).await.message();
    assert!(found["result"]["capabilities"]["resources"].is_object(), "{found}");
}

#[tokio::test]
async fn the_books_are_listed_on_sqlite() {
    the_books_are_listed(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_books_are_listed_on_postgres() {
    the_books_are_listed(Kind::Postgres).await;
}

// acceptance 29: own rows, active policies, the newest hundred; reading them lengthens no chain.
async fn each_tenant_reads_its_own_books(kind: Kind) {
    let world = World::on(kind).start();
    let agent = world.agent("agent-1", "A3");
    assert!(world.cli(&["tenant", "add", "zeta"]).status.success());
    let theirs = world.cli_json(&["agent", "add", "agent-z", "--tenant", "zeta", "--autonomy", "A3"]);
    let theirs = world.agent_with_key("agent-z", theirs["api_key"].as_str().unwrap());
    let log = |caller: &Agent| {
        let trace = json!({ "agent_id": caller.id, "event_type": "decision", "description": "d", "reasoning": "r" });
        let caller = caller.clone();
        async move { caller.call("adp/adp_log_trace", trace).await }
    };
    for _ in 0..6 {
        futures::future::join_all((0..20).map(|_| log(&agent))).await;
    }
    log(&theirs).await;
    for policy in ["POL-1", "POL-2"] {
        let rule = json!({ "condition": { "a": 1 }, "requirement": "log" });
        let added = json!({ "policy_id": policy, "name": policy, "rule": rule });
        assert!(!world.admin().call("adp/adp_add_policy", added).await.is_tool_error());
    }
    world.database.sql("UPDATE agent_policies SET active = false WHERE policy_id = 'POL-2'");
    let before = world.database.count("SELECT count(*) FROM agent_traces");

    let registry = read(&agent, "/adp/mcp", "adp://registry").await;
    let agents = registry["agents"].as_array().unwrap();
    assert_eq!((agents.len(), &agents[0]["agent_id"]), (1, &json!("agent-1")), "{registry}");
    let columns: Vec<&String> = agents[0].as_object().unwrap().keys().collect();
    assert_eq!(columns.len(), 14, "{columns:?}");
    assert!(!registry.to_string().contains(&agent.key[..20]), "no key is in the books");
    let policies = read(&agent, "/adp/mcp", "adp://policies").await;
    let ids: Vec<&Value> = policies["policies"].as_array().unwrap().iter().map(|policy| &policy["policy_id"]).collect();
    assert_eq!(ids, [&json!("POL-1")], "active ones only");
    let traces = read(&agent.modern(), "/mcp", "adp://traces").await;
    let traces = traces["traces"].as_array().unwrap();
    assert_eq!(traces.len(), 100);
    let newest_first = traces.windows(2).all(|pair| pair[0]["created_at"].as_str() >= pair[1]["created_at"].as_str());
    assert!(newest_first, "newest first");
    // Twenty wrote at once, so times and places in the chain may differ by that much and no more.
    let own: BTreeSet<i64> =
        traces.iter().filter(|one| one["agent_id"] == "agent-1").filter_map(|one| one["seq"].as_i64()).collect();
    assert!((45..=120).all(|seq| own.contains(&seq)), "the newest of its own, without a gap: {own:?}");
    assert!(traces.iter().all(|one| one["agent_id"] != "agent-z"), "nobody else's");

    assert_eq!(read(&theirs, "/adp/mcp", "adp://traces").await["traces"].as_array().map(Vec::len), Some(1));
    assert_eq!(read(&theirs, "/adp/mcp", "adp://policies").await, json!({ "policies": [] }));
    let registry = read(&theirs, "/adp/mcp", "adp://registry").await;
    assert_eq!(registry["agents"].as_array().map(Vec::len), Some(1), "{registry}");
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces"), before, "reading lengthens no chain");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn each_tenant_reads_its_own_books_on_sqlite() {
    each_tenant_reads_its_own_books(Kind::Sqlite).await;
}

#[tokio::test]
async fn each_tenant_reads_its_own_books_on_postgres() {
    each_tenant_reads_its_own_books(Kind::Postgres).await;
}

// acceptance 30: seven texts; an eighth is not found, in the words of each era.
async fn the_specifications_can_be_read(kind: Kind) {
    let world = World::on(kind).start();
    let agent = world.agent("agent-1", "A1");
    for name in SPECS {
        let uri = format!("adp://specs/{name}");
        let answer = say(&agent, "/adp/mcp", "resources/read", json!({ "uri": uri })).await.message();
        let contents = &answer["result"]["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("text/markdown")), "{answer}");
        assert!(contents["text"].as_str().is_some_and(|text| text.starts_with("# ") && text.len() > 1000), "{name}");
    }
    for uri in ["adp://specs/a2a-binding", "adp://nothing"] {
        let unknown = json!({ "uri": uri });
        let legacy = say(&agent, "/adp/mcp", "resources/read", unknown.clone()).await.message();
        assert_eq!(
            (&legacy["error"]["code"], &legacy["error"]["data"]["uri"]),
            (&json!(-32002), &json!(uri)),
            "{legacy}"
        );
        for path in ["/adp/mcp", "/mcp"] {
            let modern = say(&agent.modern(), path, "resources/read", unknown.clone()).await.message();
            assert_eq!(
                (&modern["error"]["code"], &modern["error"]["data"]["uri"]),
                (&json!(-32602), &json!(uri)),
                "{modern}"
            );
        }
    }
}

#[tokio::test]
async fn the_specifications_can_be_read_on_sqlite() {
    the_specifications_can_be_read(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_specifications_can_be_read_on_postgres() {
    the_specifications_can_be_read(Kind::Postgres).await;
}

/// Nobody's books are read without an identity.
#[tokio::test]
async fn strangers_read_nothing() {
    let world = World::on(Kind::Sqlite).start();
    let stranger = world.agent_with_key("x", "adp_sk_wrong");
    for uri in ["adp://registry", "adp://matrix", "adp://specs/trace-format"] {
        assert_eq!(say(&stranger, "/adp/mcp", "resources/read", json!({ "uri": uri })).await.status, 401, "{uri}");
    }
}
