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
                "handling": { "db/query": { "sql": { "argument": "sql", "dialect": "postgres" } } },
            }),
        )
        .start();
    let (a1, a3, a4) = (world.agent("a-1", "A1"), world.agent("a-3", "A3"), world.agent("a-4", "A4"));
    for (sql, shadow, partial, full) in [
        ("select * from t", "allow", "allow", "allow"),
        ("insert into t values (1)", "deny", "allow", "allow"),
        ("delete from t", "deny", "deny", "approval_required"),
        ("select 1; drop table t", "deny", "deny", "approval_required"),
        ("gibberish", "deny", "deny", "approval_required"),
    ] {
        for (agent, expected) in [(&a1, shadow), (&a3, partial), (&a4, full)] {
            let answer = agent.call("db/query", json!({ "sql": sql })).await;
            assert_eq!(answer.decision(), expected, "{sql}: {}", answer.text());
        }
    }
    assert_eq!(stub.calls(), 5, "only what was allowed reached the tool");
    assert_eq!(a1.tools("/db/mcp").await, ["query"], "a list knows no arguments");
}
