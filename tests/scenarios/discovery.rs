//! Which tools an agent finds, and what it is told of them.

use portreeve_tests::world::manifest;
use portreeve_tests::{Agent, Kind, Stub, World};
use serde_json::{Value, json};

const TOLD: &str = "io.portreeve/tool";

async fn world(kind: Kind) -> (Stub, World) {
    let stub = Stub::start(&["find", "change", "drop", "report"]).await;
    let tools = [("find", "READ_ONLY"), ("change", "LOW_WRITE"), ("drop", "HIGH_WRITE"), ("report", "READ_ONLY")];
    let file = json!({
        "manifests": tools.map(|(tool, level)| manifest("crm", tool, level)),
        "metadata": {
            "crm/find": { "category": "customers", "description": "Finds a customer by name", "tags": ["people", "read"] },
            "crm/change": { "category": "customers" },
            "crm/report": { "category": "month end & more" },
        },
    });
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifest_file("crm", file).start();
    (stub, world)
}

async fn list(agent: &Agent, path: &str, meta: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    agent.post(path, &message).await.message()
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools in {answer}"));
    // The gateway's own are there for everybody.
    let own = ["adp_", "scenario_", "evidence_", "runpack_"];
    let foreign = |name: &&str| !own.iter().any(|prefix| name.starts_with(prefix));
    tools.iter().filter_map(|tool| tool["name"].as_str()).filter(foreign).collect()
}

// acceptance 57: category, description and tags are stored, and returned in the entry's `_meta`.
#[tokio::test]
async fn what_the_operator_says_of_a_tool_is_stored_and_told() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let (_stub, world) = world(kind).await;
        let agent = world.agent("a-3", "A3");
        let listed = list(&agent, "/crm/mcp", json!({})).await;
        assert_eq!(names(&listed), ["find", "change", "report"]);
        let told = json!({
            "category": "customers", "description": "Finds a customer by name", "tags": ["people", "read"], "risk_level": "READ_ONLY",
        });
        let find = &listed["result"]["tools"][0];
        assert_eq!(find["_meta"][TOLD], told);
        assert_eq!(find["description"], "the find tool", "the upstream's own words stay");
        let change = &listed["result"]["tools"][1]["_meta"][TOLD];
        assert_eq!(*change, json!({ "category": "customers", "risk_level": "LOW_WRITE" }));

        let all = list(&agent.modern(), "/mcp", json!({})).await;
        let tools = all["result"]["tools"].as_array().unwrap();
        let find = tools.iter().find(|tool| tool["name"] == "crm__find").unwrap_or_else(|| panic!("{all}"));
        assert_eq!(find["_meta"][TOLD], told, "the same at the common door");

        let stored = "SELECT count(*) FROM tool_registry WHERE name = 'crm/find' AND metadata->>'category' = 'customers' \
                      AND metadata->>'description' = 'Finds a customer by name' AND metadata->'tags'->>1 = 'read'";
        world.eventually(stored, 1).await;
    }
}

// acceptance 58: by category, by risk level, by what the agent may do.
#[tokio::test]
async fn an_agent_finds_what_it_looks_for_and_may_use() {
    let (stub, world) = world(Kind::Sqlite).await;
    let (shadow, partial, full) = (world.agent("a-1", "A1"), world.agent("a-3", "A3"), world.agent("a-5", "A5"));
    for (agent, expected) in [
        (&shadow, ["find", "report"].as_slice()),
        (&partial, &["find", "change", "report"]),
        // What a human may still allow is shown.
        (&full, &["find", "change", "drop", "report"]),
    ] {
        assert_eq!(names(&list(agent, "/crm/mcp", json!({})).await), expected, "{}", agent.id);
        let common: Vec<String> = expected.iter().map(|name| format!("crm__{name}")).collect();
        assert_eq!(names(&list(&agent.modern(), "/mcp", json!({})).await), common, "{}", agent.id);
    }
    assert_eq!(shadow.call("crm/change", json!({})).await.decision(), "deny", "hidden is not the guard");
    assert_eq!(full.call("crm/drop", json!({})).await.decision(), "approval_required");
    assert_eq!(stub.calls(), 0);
    let admin = list(&world.admin(), "/crm/mcp", json!({})).await;
    assert!(names(&admin).is_empty(), "an administrator's key calls no tool here: {admin}");

    for (query, meta, expected) in [
        ("?category=customers", json!({}), ["find", "change"].as_slice()),
        ("?category=month%20end+%26%20more", json!({}), &["report"]),
        ("?risk_level=READ_ONLY", json!({}), &["find", "report"]),
        ("?category=customers&risk_level=READ_ONLY&other=1", json!({}), &["find"]),
        ("?category=nothing", json!({}), &[]),
        ("", json!({ "category": "customers" }), &["find", "change"]),
        ("", json!({ "risk_level": "HIGH_WRITE" }), &["drop"]),
        ("?category=customers", json!({ "risk_level": "LOW_WRITE" }), &["change"]),
    ] {
        let meta = json!({ "io.portreeve/filter": meta });
        let listed = list(&full, &format!("/crm/mcp{query}"), meta.clone()).await;
        assert_eq!(names(&listed), expected, "{query} {meta}");
    }
    assert_eq!(full.post("/crm/mcp?risk_level=SOME", &json!({})).await.status, 400);
    let refused = list(&full, "/crm/mcp", json!({ "io.portreeve/filter": { "risk_level": "SOME" } })).await;
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32602), &json!(1)));
}

#[tokio::test]
async fn a_list_that_depends_on_its_reader_says_so() {
    let stub = Stub::with_definitions(Vec::new()).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).start();
    let agent = world.agent("a-1", "A1");
    for path in ["/mcp", "/crm/mcp"] {
        let listed = list(&agent.modern(), path, json!({})).await;
        assert_eq!(listed["result"]["cacheScope"], "private", "{path}: {listed}");
    }
    assert_eq!(list(&agent, "/crm/mcp", json!({})).await["result"].get("cacheScope"), None);
}
