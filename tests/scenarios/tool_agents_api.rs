//! Tool agents over the API: who writes them, who sees them, what is kept of them.

use portreeve_tests::{Kind, World};
use serde_json::{Value, json};

const SHIPPED: &str = include_str!("../../config/initial-agent-building/working/demo_supabase_agent.json");

fn record() -> Value {
    let mut record: Value = serde_json::from_str(SHIPPED).unwrap();
    record["organization_slug"] = json!("acme");
    record["context"] = json!({ "a": [1, null, "é"] });
    record["plan_structure"] = json!({ "steps": 2 });
    record["deliverable_structure"] = json!([]);
    record["io_schema"] = json!({ "type": "object" });
    record["config"] = json!(true);
    record
}

// acceptance 81: seven fields are needed, six kept, a second post changes, what is missing is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_agent_is_written_changed_and_read() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let world = World::on(kind).start();
        let admin = world.admin_key.as_str();
        let made = world.api("POST", "/api/admin/agents", admin, Some(record())).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let read = world.api("GET", "/api/admin/agents/supabase-agent", admin, None).await.message();
        for (field, value) in record().as_object().unwrap() {
            assert_eq!(&read[field], value, "{field}");
        }
        assert_eq!(read["acts_as"], "supabase-agent");
        let changed = Value::Object({
            let mut fields = record().as_object().unwrap().clone();
            fields.insert("status".into(), json!("draft"));
            fields.remove("config");
            fields
        });
        let again = world.api("POST", "/api/admin/agents", admin, Some(changed)).await;
        assert_eq!((again.status, again.message()["status"].clone()), (200, json!("draft")), "{}", again.text());
        let row = "SELECT organization_slug, slug, display_name, agent_type, mode_profile, status, version FROM agents";
        assert_eq!(
            world.database.sql(row),
            "acme|supabase-agent|Supabase Tool Agent|tool|tool_full|draft|0.1.0",
            "one row, the newest"
        );
        assert_eq!(world.database.count("SELECT count(*) FROM agents WHERE config IS NULL AND context IS NOT NULL"), 1);
        for field in ["organization_slug", "slug", "display_name", "agent_type", "mode_profile", "status", "yaml"] {
            let mut less = record();
            less.as_object_mut().unwrap().remove(field);
            let refused = world.api("POST", "/api/admin/agents", admin, Some(less)).await;
            let expected = json!({ "errors": [{ "path": field, "what": "is required" }] });
            assert_eq!((refused.status, refused.message()), (422, expected));
        }
        let mut unknown = record();
        unknown["tools"] = json!([]);
        assert_eq!(world.api("POST", "/api/admin/agents", admin, Some(unknown)).await.status, 422);
        // What has no tools, or none with a namespace, is kept all the same: that is found when it is run.
        let mut empty = record();
        (empty["slug"], empty["yaml"]) = (json!("empty"), json!("{}"));
        assert_eq!(world.api("POST", "/api/admin/agents", admin, Some(empty)).await.status, 201);
        let changes =
            "SELECT count(*) FROM agent_traces WHERE agent_id = 'portreeve' AND description LIKE 'tool agent %'";
        assert_eq!(world.database.count(changes), 3, "each change is in the operators' chain");
        assert_eq!(world.verify().0, 0);
    }
}

// acceptance 81: an agent writes none, and what is another tenant's is not there.
#[tokio::test(flavor = "multi_thread")]
async fn tool_agents_are_their_tenants() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let world = World::on(kind).start();
        let (admin, agent) = (world.admin_key.as_str(), world.agent("a-1", "A3"));
        let other = world.cli_json(&["tenant", "add", "other"])["admin_key"].as_str().unwrap().to_owned();
        assert_eq!(world.api("POST", "/api/admin/agents", admin, Some(record())).await.status, 201);
        assert_eq!(world.api("POST", "/api/admin/agents", &agent.key, Some(record())).await.status, 403);
        assert_eq!(world.api("POST", "/api/admin/agents", "", Some(record())).await.status, 401);
        assert_eq!(world.api("POST", "/api/admin/agents", &other, Some(record())).await.status, 404);
        assert_eq!(world.api("GET", "/api/admin/agents", &other, None).await.message()["agents"], json!([]));
        let card = world.api("GET", "/api/agents/acme/supabase-agent", &agent.key, None).await.message();
        assert_eq!(card["display_name"], "Supabase Tool Agent");
        assert!(card.get("yaml").is_none(), "what is configured in it is its administrators' business");
        let (tasks, build) = ("/api/agents/acme/supabase-agent/tasks", json!({ "mode": "build" }));
        for (path, key) in [
            ("/api/agents/acme/supabase-agent", other.as_str()),
            (tasks, other.as_str()),
            ("/api/agents/acme/missing", agent.key.as_str()),
            ("/api/deliverables/00000000-0000-0000-0000-000000000001", agent.key.as_str()),
            ("/api/deliverables/xyz", admin),
        ] {
            assert_eq!(world.api("GET", path, key, None).await.status, 404, "{path}");
        }
        assert_eq!(world.api("GET", tasks, &agent.key, None).await.message(), json!({ "tasks": [] }));
        assert_eq!(world.api("GET", "/api/deliverables", admin, None).await.message(), json!({ "deliverables": [] }));
        let refused = world.api("POST", tasks, &other, Some(build.clone())).await;
        assert_eq!((refused.status, refused.message()["success"].clone()), (404, json!(false)));
        let missing = world.api("POST", "/api/agents/acme/missing/tasks", admin, Some(build)).await;
        assert_eq!(missing.message()["error"], "Agent 'acme/missing' was not found");
        let strange = json!({ "mode": "build", "run": {} });
        assert_eq!(world.api("POST", tasks, admin, Some(strange)).await.status, 422);
        // The history of an agent is still where it was.
        assert_eq!(world.api("GET", "/api/agents/a-1/history", admin, None).await.status, 200);
    }
}
