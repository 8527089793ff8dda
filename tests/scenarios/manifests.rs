//! What a call counts as depends on what is asked: SQL that writes, an argument, the agent's own word.

use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

// Argument-dependent classification: an SQL write raises the class.
#[tokio::test(flavor = "multi_thread")]
async fn sql_counts_as_what_it_does() {
    let tool = json!({ "name": "query", "description": "Runs SQL.", "inputSchema": { "type": "object" } });
    let stub = Stub::with_definitions(vec![tool]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("db", json!({ "url": stub.url() }))
        .manifest_file(
            "db",
            json!({
                "manifests": [{ "id": "db/query", "domain": "db", "risk_level": "READ_ONLY", "side_effects": false,
                    "allowed_modes": ["SHADOW", "ADVISORY", "PARTIAL_AUTO", "FULL_AUTO"] }],
                "handling": { "db/query": { "sql": { "argument": "sql", "dialect": "postgres", "writes": "classify" } } },
            }),
        )
        .start();
    let (a1, a3, a4) = (world.agent("a-1", "A1"), world.agent("a-3", "A3"), world.agent("a-4", "A4"));
    for (sql, shadow, partial, full) in [
        ("select * from t", "allow", "allow", "allow"),
        ("insert into t values (1)", "deny", "allow", "allow"),
        ("delete from t", "deny", "deny", "approval_required"),
        ("select 1; drop table t", "deny", "deny", "deny"),
        ("gibberish", "deny", "deny", "deny"),
    ] {
        for (agent, expected) in [(&a1, shadow), (&a3, partial), (&a4, full)] {
            let answer = agent.call("db/query", json!({ "sql": sql })).await;
            assert_eq!(answer.decision(), expected, "{sql}: {}", answer.text());
        }
    }
    assert_eq!(stub.calls(), 5, "only what was allowed reached the tool");
    assert_eq!(a1.tools("/db/mcp").await, ["query"], "a list knows no arguments");
}

// acceptance 106: exactly five fields; wrong values, extra keys and contradictions are refused. acceptance 109, 55: an administrator
// sees what nobody classified with a suggestion, and classifies it for its own tenant.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_classifies_a_tool_for_itself() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let tool = json!({ "name": "search", "description": "Finds notes.", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true, "openWorldHint": false } });
        let stub = Stub::with_definitions(vec![tool]).await;
        let tool = json!({ "name": "weather", "description": "Tells the weather.", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true, "openWorldHint": false } });
        let stranger = Stub::with_definitions(vec![tool]).await;
        let world = World::on(kind)
            .upstream("notes", json!({ "url": stub.url(), "trusted": true }))
            .upstream("strange", json!({ "url": stranger.url() }))
            .start();
        let agent = world.agent("a-1", "A1");
        assert!(agent.tools("/strange/mcp").await.is_empty(), "nobody classified it");
        let admin = world.admin();
        assert!(agent.tools("/notes/mcp").await.is_empty(), "nobody classified it");
        assert!(agent.call("notes/search", json!({})).await.denied_by().contains(&"manifest".to_owned()));
        world
            .eventually(
                "SELECT count(*) FROM tool_registry WHERE name IN ('notes/search', 'strange/weather') AND risk_level = 'unclassified'",
                2,
            )
            .await;
        let listed = world.api("GET", "/api/tools", &admin.key, None).await;
        let listed = listed.message();
        // What a server says of itself lowers a suggestion only where the operator trusts it, here as at the command line.
        let printed = world.cli_json(&["manifest", "list"]);
        for (name, level) in [("notes/search", "READ_ONLY"), ("strange/weather", "HIGH_WRITE")] {
            for tools in [&listed["tools"], &printed] {
                let shown = tools.as_array().unwrap().iter().find(|one| one["tool"] == name).unwrap();
                assert_eq!(shown["state"], "unclassified", "{shown}");
                assert_eq!(shown["suggestion"]["manifest"]["risk_level"], level, "{shown}");
            }
        }

        let good = json!({ "id": "notes/search", "domain": "notes", "risk_level": "READ_ONLY", "side_effects": false,
            "allowed_modes": ["SHADOW", "FULL_AUTO"] });
        let but = |key: &str, value: serde_json::Value| {
            let mut bad = good.clone();
            bad[key] = value;
            bad
        };
        let mut without = good.clone();
        without.as_object_mut().unwrap().remove("domain");
        for bad in [
            but("extra", json!(1)),
            but("risk_level", json!("READ")),
            but("side_effects", json!(true)),
            but("allowed_modes", json!([])),
            but("allowed_modes", json!(["AUTO"])),
            but("domain", json!("governance")),
            without,
        ] {
            let refused = world.api("POST", "/api/manifests", &admin.key, Some(bad.clone())).await;
            assert_eq!(refused.status, 422, "{bad}");
        }
        assert_eq!(world.api("POST", "/api/manifests", &admin.key, Some(good.clone())).await.status, 201);
        assert_eq!(world.api("POST", "/api/manifests", &agent.key, None).await.status, 403);
        world.live().await;
        assert_eq!(agent.call("notes/search", json!({})).await.decision(), "allow");
        assert_eq!(agent.tools("/notes/mcp").await, ["search"]);

        // How its calls are handled stands beside the five fields, and is read as a file's is.
        let sql = |dialect: &str| json!({ "manifest": good, "handling": { "sql": { "argument": "query", "dialect": dialect } } });
        let refused = world.api("POST", "/api/manifests", &admin.key, Some(sql("latin"))).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
        assert!(refused.text().contains("handling"), "the place is named: {}", refused.text());
        let unknown = json!({ "manifest": good, "handing": {} });
        assert_eq!(world.api("POST", "/api/manifests", &admin.key, Some(unknown)).await.status, 422);
        assert_eq!(world.api("POST", "/api/manifests", &admin.key, Some(sql("postgres"))).await.status, 201);
        world.live().await;
        assert_eq!(agent.call("notes/search", json!({ "query": "select 1" })).await.decision(), "allow");
        assert_eq!(agent.call("notes/search", json!({ "query": "delete from t" })).await.decision(), "deny");
    }
}
