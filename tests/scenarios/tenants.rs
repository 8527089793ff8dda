//! Two tenants on one gateway, and an auditor with SQL who may see one of them.

use portreeve_tests::store::Database;
use portreeve_tests::{Agent, Kind, World};
use serde_json::json;

use crate::adp::read;

/// `acme` and `zeta`, each with an agent of the same name, a trace and a policy.
async fn two_tenants(kind: Kind) -> (World, Agent, Agent) {
    let world = World::on(kind).start();
    let ours = world.agent("agent-1", "A3");
    assert!(world.cli(&["tenant", "add", "zeta"]).status.success());
    let added = world.cli_json(&["agent", "add", "agent-1", "--tenant", "zeta", "--autonomy", "A3"]);
    let theirs = world.agent_with_key("agent-1", added["api_key"].as_str().unwrap());
    world.cli_json(&["agent", "add", "agent-z", "--tenant", "zeta", "--autonomy", "A3"]);
    for (caller, name) in [(&ours, "POL-OURS"), (&theirs, "POL-THEIRS")] {
        let rule = json!({ "condition": { "action_type": "x" }, "requirement": "prohibited" });
        let policy = json!({ "policy_id": name, "name": name, "rule": rule });
        assert!(!caller.call("adp/adp_add_policy", policy).await.is_tool_error());
    }
    (world, ours, theirs)
}

fn tenant(world: &World, name: &str) -> String {
    world.database.sql(&format!("SELECT id FROM tenants WHERE name = '{name}'"))
}

// acceptance 5: the app role with a tenant sees that tenant's rows, without one sees none, and writes no chain.
#[tokio::test]
async fn the_app_role_sees_one_tenant() {
    let (world, _, _) = two_tenants(Kind::Postgres).await;
    let (acme, zeta) = (tenant(&world, "acme"), tenant(&world, "zeta"));
    let role = "portreeve_app";
    for (table, ours, theirs) in [
        ("agent_registry", "1", "2"),
        ("agent_api_keys", "1", "2"),
        ("agent_traces", "1", "1"),
        ("agent_policies", "1", "1"),
    ] {
        let count = |before: &str| world.psql_as(role, &format!("{before} SELECT count(*) FROM {table}"));
        assert_eq!(count(&format!("SET portreeve.tenant = '{acme}';")).as_deref(), Ok(ours), "{table}");
        assert_eq!(count(&format!("SET portreeve.tenant = '{zeta}';")).as_deref(), Ok(theirs), "{table}");
        assert_eq!(count("").as_deref(), Ok("0"), "{table} without a tenant");
        let secured = format!("SELECT relrowsecurity FROM pg_class WHERE relname = '{table}'");
        assert_eq!(world.database.sql(&secured), "t", "{table}");
    }
    for forbidden in ["UPDATE agent_traces SET description = 'x'", "DELETE FROM agent_traces", "DELETE FROM audit_logs"]
    {
        let refused = world.psql_as(role, &format!("SET portreeve.tenant = '{acme}'; {forbidden}"));
        assert!(refused.is_err_and(|why| why.contains("permission denied")), "{forbidden}");
    }
}

// acceptance 5: and so does a login that is nothing but a member of it.
#[tokio::test]
async fn a_member_of_the_app_role_sees_one_tenant() {
    let (world, _, _) = two_tenants(Kind::Postgres).await;
    let acme = tenant(&world, "acme");
    let login = format!("auditor_{}", std::process::id());
    world.database.sql(&format!("CREATE ROLE {login} LOGIN PASSWORD 'story' IN ROLE portreeve_app"));
    let url = world.database.url();
    let (scheme, rest) = url.split_once("://").unwrap();
    let host = rest.split_once('@').map_or(rest, |(_, host)| host);
    let auditor = Database::Postgres(format!("{scheme}://{login}:story@{host}"));
    for table in ["agent_registry", "agent_api_keys", "agent_traces", "agent_policies"] {
        assert_eq!(auditor.sql(&format!("SELECT count(*) FROM {table}")), "0", "{table}");
        assert_eq!(
            auditor.sql(&format!("SET portreeve.tenant = '{acme}'; SELECT count(*) FROM {table}")),
            "1",
            "{table}"
        );
    }
    world.database.sql(&format!("DROP ROLE {login}"));
}

// acceptance 5, acceptance 61: whatever one tenant asks, the other's is not there. On SQLite the queries alone see to it.
async fn what_is_anothers_is_not_there(kind: Kind) {
    let (world, ours, theirs) = two_tenants(kind).await;
    for (tool, given) in [
        ("adp_authorize", json!({ "agent_id": "agent-z", "decision_type": "D1" })),
        ("adp_evaluate_policy", json!({ "agent_id": "agent-z", "context": {} })),
        ("adp_verify_chain", json!({ "agent_id": "agent-z" })),
    ] {
        let refused = ours.call(&format!("adp/{tool}"), given).await;
        assert!(refused.is_tool_error(), "{tool}");
        assert_eq!(refused.tool_json(), "Agent not found or inactive", "{tool}");
    }
    let trace = json!({ "agent_id": "agent-z", "event_type": "decision" });
    assert!(world.admin().call("adp/adp_log_trace", trace).await.is_tool_error(), "an administrator is one tenant's");
    let evaluated = async |caller: &Agent| {
        let given = json!({ "agent_id": "agent-1", "context": { "action_type": "x" } });
        caller.call("adp/adp_evaluate_policy", given).await.tool_json()["applicable_policies"].clone()
    };
    assert_eq!((evaluated(&ours).await, evaluated(&theirs).await), (json!(["POL-OURS"]), json!(["POL-THEIRS"])));
    for (uri, list) in [("adp://registry", "agents"), ("adp://policies", "policies"), ("adp://traces", "traces")] {
        let (acme, zeta) = (tenant(&world, "acme"), tenant(&world, "zeta"));
        for (caller, own) in [(&ours, acme), (&theirs, zeta)] {
            let rows = read(caller, "/adp/mcp", uri).await;
            let rows = rows[list].as_array().unwrap();
            assert!(!rows.is_empty() && rows.iter().all(|row| row["organization_id"] == own.as_str()), "{uri}");
        }
    }
}

#[tokio::test]
async fn what_is_anothers_is_not_there_on_sqlite() {
    what_is_anothers_is_not_there(Kind::Sqlite).await;
}

#[tokio::test]
async fn what_is_anothers_is_not_there_on_postgres() {
    what_is_anothers_is_not_there(Kind::Postgres).await;
}

/// The chain of operators' own deeds has a name that no agent may have.
#[tokio::test]
async fn no_agent_is_called_like_the_gateway() {
    let world = World::on(Kind::Sqlite).start();
    let given = json!({ "agent_id": "portreeve", "name": "x", "autonomy_level": "A1" });
    let refused = world.admin().call("adp/adp_register_agent", given).await;
    assert!(refused.is_tool_error() && refused.text().contains("gateway's own name"), "{}", refused.text());
    assert!(!world.cli(&["agent", "add", "portreeve", "--tenant", "acme", "--autonomy", "A1"]).status.success());
    assert_eq!(world.database.count("SELECT count(*) FROM agent_registry"), 0);
}
