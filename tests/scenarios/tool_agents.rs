//! Runs of tool agents: everything is checked before anything is called, and each call is governed like anybody's.

use portreeve_tests::{Kind, Stub, World};
use serde_json::{Value, json};

const TOOLS: [(&str, &str); 3] = [("find", "READ_ONLY"), ("write", "LOW_WRITE"), ("list", "READ_ONLY")];

async fn on(kind: Kind) -> (World, Stub) {
    let stub = Stub::start(&["find", "write", "list"]).await;
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    (world, stub)
}

pub async fn put(world: &World, slug: &str, configuration: Value) {
    let record = json!({
        "organization_slug": "acme", "slug": slug, "display_name": "Reader", "agent_type": "tool",
        "mode_profile": "tool_full", "status": "active", "yaml": json!({ "configuration": configuration }).to_string(),
    });
    let put = world.api("POST", "/api/admin/agents", &world.admin_key, Some(record)).await;
    assert!([200, 201].contains(&put.status), "{}", put.text());
}

pub async fn build(world: &World, slug: &str, key: &str, request: Value) -> (u16, Value) {
    let answer = world.api("POST", &format!("/api/agents/acme/{slug}/tasks"), key, Some(request)).await;
    (answer.status, answer.message())
}

// acceptance 83, acceptance 84, acceptance 89, acceptance 92, acceptance 93: the exact text, and nothing has run.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_before_anything_runs() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let (world, stub) = on(kind).await;
        let admin = world.admin_key.as_str();
        let plain = || json!({ "mode": "build" });
        let param = |text: &str| json!({ "tools": ["crm/find"], "toolParams": { "crm/find": { "q": text } } });
        for (configuration, request, said) in [
            (json!({}), plain(), "No tools configured for this agent"),
            (json!({ "tools": [] }), plain(), "No tools configured for this agent"),
            (
                json!({ "tools": ["crm/find", "get-schema"], "mcp": { "server": "crm" } }),
                plain(),
                "Tool 'get-schema' must include namespace: expected 'namespace/tool'",
            ),
            (param("{{payload.x}}"), plain(), "Unresolved template variable {{payload.x}}"),
            (param("x"), json!({ "mode": "plan" }), "PLAN mode not yet implemented for tool agents"),
            (param("x"), json!({ "mode": "CONVERSE" }), "CONVERSE mode not yet implemented for tool agents"),
            (
                json!({ "tools": ["crm/find"], "execution_capabilities": { "supports_build": false } }),
                plain(),
                "BUILD mode is not supported by this agent",
            ),
        ] {
            put(&world, "reader", configuration.clone()).await;
            let (status, answer) = build(&world, "reader", admin, request).await;
            assert_eq!((status, &answer["success"], &answer["error"]), (422, &json!(false), &json!(said)));
        }
        put(&world, "reader", json!({ "tools": ["crm/find", "nowhere/x"] })).await;
        let (_, answer) = build(&world, "reader", admin, plain()).await;
        let said = answer["error"].as_str().unwrap();
        assert!(said.starts_with("Unknown namespace 'nowhere'. Available: ") && said.contains("crm"), "{said}");
        assert_eq!(stub.calls(), 0);
        assert_eq!(world.database.count("SELECT count(*) FROM audit_logs"), 0);
        assert_eq!(world.database.count("SELECT count(*) FROM agent_tasks"), 0);
    }
}

// acceptance 88, acceptance 94, acceptance 105: one trace and one row a step, each judged; a refused step stops or does not.
#[tokio::test(flavor = "multi_thread")]
async fn every_step_is_a_call_like_any_other() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let (world, stub) = on(kind).await;
        let admin = world.admin_key.as_str();
        let tools = json!(["crm/find", "crm/write", "crm/list"]);
        put(&world, "reader", json!({ "tools": tools, "stopOnError": false })).await;
        // Nobody's key: it acts as the agent that was made for it, at A1.
        let (status, built) = build(&world, "reader", admin, json!({ "mode": "build", "conversationId": "c-1" })).await;
        assert_eq!(status, 200, "{built}");
        let successes: Vec<_> = built["results"].as_array().unwrap().iter().map(|one| one["success"].clone()).collect();
        assert_eq!(successes, [true, false, true], "{built}");
        assert_eq!(stub.calls(), 2, "what was refused was not sent");
        let metadata = &built["deliverable"]["metadata"];
        for (key, expected) in [
            ("toolsExecuted", json!(3)),
            ("successfulTools", json!(2)),
            ("failedTools", json!(1)),
            ("executionMode", json!("sequential")),
            ("stopOnError", json!(false)),
            ("toolsUsed", tools.clone()),
        ] {
            assert_eq!(metadata[key], expected, "{key}");
        }
        let content: Value = serde_json::from_str(built["deliverable"]["content"].as_str().unwrap()).unwrap();
        assert_eq!(content, built["results"]);
        world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'reader'", 3).await;
        let traces = "SELECT count(*) FROM agent_traces WHERE agent_id = 'reader'";
        assert_eq!(world.database.count(traces), 3);
        let second = &built["task"]["steps"][1];
        let trace = second["trace_id"].as_str().unwrap();
        let explained = world.api("GET", &format!("/api/explain/{trace}"), admin, None).await.message();
        assert_eq!((&explained["run"]["step"], &explained["run"]["of"]), (&json!(2), &json!(3)), "{explained}");
        assert_eq!(explained["run"]["agent"], "acme/reader");
        assert_eq!(explained["run"]["steps"].as_array().unwrap().len(), 3);
        let id = built["deliverable"]["id"].as_str().unwrap();
        let stored = world.api("GET", &format!("/api/deliverables/{id}"), admin, None).await.message();
        assert_eq!(stored, built["deliverable"]);

        // The same by an agent with a key of its own, which may write; and again as the next version.
        let agent = world.agent("a-3", "A3");
        let request = json!({ "mode": "build", "payload": { "stopOnError": true, "toolExecutionMode": "parallel" } });
        let (_, built) = build(&world, "reader", &agent.key, request).await;
        assert_eq!(built["task"]["acts_as"], "a-3", "{built}");
        assert_eq!(built["deliverable"]["metadata"]["successfulTools"], json!(3), "{built}");
        let again = json!({ "mode": "build", "deliverableId": id, "payload": { "stopOnError": true, "title": "T" } });
        let (_, built) = build(&world, "reader", admin, again).await;
        assert_eq!(
            (&built["deliverable"]["version"], &built["deliverable"]["title"]),
            (&json!(2), &json!("T")),
            "{built}"
        );
        let metadata = &built["deliverable"]["metadata"];
        assert_eq!((&metadata["toolsExecuted"], &metadata["failedTools"]), (&json!(2), &json!(1)), "it stopped there");
        assert_eq!(world.verify().0, 0);
    }
}
