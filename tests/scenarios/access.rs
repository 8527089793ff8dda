//! Roles and rules in Rego, as rows that take effect while the gateway runs.

use portreeve_tests::{Agent, Kind, Stub, World};
use serde_json::{Value, json};

fn on(kind: Kind, stub: &Stub) -> World {
    let tools = [("find", "READ_ONLY"), ("write", "LOW_WRITE")];
    World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &tools).start()
}

/// A row as an operator writes it with SQL.
fn insert(world: &World, tenant: &str, name: &str, kind: &str, definition: &Value) {
    let definition = definition.to_string().replace('\'', "''");
    world.database.sql(&format!(
        "INSERT INTO access_policies (tenant_id, name, rule_type, rule_definition) \
         SELECT id, '{name}', '{kind}', '{definition}' FROM tenants WHERE name = '{tenant}'"
    ));
}

fn with_role(world: &World, id: &str, role: &str) -> Agent {
    world.agent_with(id, &["--autonomy", "A3", "--role", role])
}

// acceptance 49: a role without the permission is refused and nobody is contacted; the row that grants it needs no restart.
async fn a_permission_takes_effect_while_running(kind: Kind) {
    let stub = Stub::start(&["find", "write"]).await;
    let world = on(kind, &stub);
    let viewer = with_role(&world, "v-1", "viewer");
    let nobody = world.agent("n-1", "A3");
    assert_eq!(nobody.call("crm/find", json!({})).await.decision(), "allow", "without roles there are no permissions");
    let before = stub.calls();
    let refused = viewer.call("crm/find", json!({})).await;
    assert_eq!((refused.decision().as_str(), refused.denied_by()), ("deny", vec!["access".to_owned()]));
    assert!(refused.text().contains("viewer"), "{}", refused.text());
    assert_eq!(stub.calls(), before, "a refused call must not reach the tool");

    insert(&world, "acme", "viewers", "RBAC", &json!({ "role": "viewer", "permissions": ["crm/find"] }));
    world.live().await;
    assert_eq!(viewer.call("crm/find", json!({})).await.decision(), "allow");
    assert_eq!(viewer.call("crm/write", json!({})).await.denied_by(), ["access"]);
    assert_eq!(viewer.tools("/crm/mcp").await, ["find"], "what is not permitted is not listed");
    assert_eq!(nobody.call("crm/find", json!({})).await.denied_by(), ["access"], "now permissions are needed");

    // A role is changed without a restart too.
    world.cli_json(&["agent", "role", "n-1", "viewer", "--tenant", "acme"]);
    world.live().await;
    assert_eq!(nobody.call("crm/find", json!({})).await.decision(), "allow");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_takes_effect_while_running_on_sqlite() {
    a_permission_takes_effect_while_running(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_takes_effect_while_running_on_postgres() {
    a_permission_takes_effect_while_running(Kind::Postgres).await;
}

// acceptance 50: "Tool X requires Senior Admin role for Tenant Y". acceptance 48: the rule sees tenant and roles, and the
// audit row names tenant and agent.
async fn a_rule_in_rego_sees_role_and_tenant(kind: Kind) {
    let stub = Stub::start(&["find", "write"]).await;
    let world = on(kind, &stub);
    world.cli_json(&["tenant", "add", "zeta"]);
    let rule = json!({ "tools": ["crm/write"], "rego": r#"
        package acme.writing
        deny contains "writing needs a senior administrator" if {
            input.tenant.name == "acme"
            not "senior_admin" in input.principal.roles
        }
        deny contains "nobody outside acme writes" if input.tenant.name != "acme"
        deny contains msg if {
            input.arguments.dump
            msg := sprintf("seen: %v %v %v", [input.principal.roles, input.tenant.id == input.principal.tenant, input.tool.name])
        }
    "# });
    for tenant in ["acme", "zeta"] {
        insert(&world, tenant, "writing", "ABAC", &rule);
    }
    let senior = with_role(&world, "s-1", "senior_admin");
    let admin = with_role(&world, "a-1", "admin");
    let added =
        world.cli_json(&["agent", "add", "z-1", "--tenant", "zeta", "--autonomy", "A3", "--role", "senior_admin"]);
    let elsewhere = world.agent_with_key("z-1", added["api_key"].as_str().unwrap());
    world.live().await;
    assert_eq!(senior.call("crm/write", json!({})).await.decision(), "allow");
    let before = stub.calls();
    for (agent, reason) in [(&admin, "needs a senior administrator"), (&elsewhere, "nobody outside acme")] {
        let refused = agent.call("crm/write", json!({})).await;
        assert_eq!((refused.decision().as_str(), refused.denied_by()), ("deny", vec!["access".to_owned()]));
        assert!(refused.text().contains(reason), "{}", refused.text());
    }
    let dumped = senior.call("crm/write", json!({ "dump": true })).await;
    assert!(dumped.text().contains(r#"senior_admin"#) && dumped.text().contains("true"), "{}", dumped.text());
    assert!(dumped.text().contains("crm/write"), "{}", dumped.text());
    assert_eq!(stub.calls(), before, "a refused call must not reach the tool");
    let row = "SELECT count(*) FROM audit_logs WHERE agent_id = 's-1' AND tenant_id = (SELECT id FROM tenants WHERE name = 'acme')";
    world.eventually(row, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_in_rego_sees_role_and_tenant_on_sqlite() {
    a_rule_in_rego_sees_role_and_tenant(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_in_rego_sees_role_and_tenant_on_postgres() {
    a_rule_in_rego_sees_role_and_tenant(Kind::Postgres).await;
}

// acceptance 51: a rule that cannot be read, or that fails, refuses; its tenant alone; with its reason.
async fn a_broken_rule_refuses(kind: Kind) {
    let stub = Stub::start(&["find", "write"]).await;
    let world = on(kind, &stub);
    let agent = world.agent("a-1", "A3");
    world.cli_json(&["tenant", "add", "zeta"]);
    let added = world.cli_json(&["agent", "add", "z-1", "--tenant", "zeta", "--autonomy", "A3"]);
    let other = world.agent_with_key("z-1", added["api_key"].as_str().unwrap());
    for (definition, reason) in [
        (json!({ "rego": "package broken\nallow if {" }), "cannot be followed"),
        (json!({ "rego": "package p\ndeny contains \"x\" if to_number(input.arguments.n) > 3" }), "the policy failed"),
        (json!({ "rego": "package p\nallow if input.arguments.never" }), "does not allow"),
        (json!({ "cel": "true" }), "cel"),
    ] {
        insert(&world, "acme", "bad", "ABAC", &definition);
        world.live().await;
        let before = stub.calls();
        let refused = agent.call("crm/find", json!({ "n": "many" })).await;
        assert_eq!(
            (refused.decision().as_str(), refused.denied_by()),
            ("deny", vec!["access".to_owned()]),
            "{definition}"
        );
        assert!(refused.text().contains(reason), "{definition}: {}", refused.text());
        assert_eq!(stub.calls(), before, "{definition}");
        assert_eq!(other.call("crm/find", json!({})).await.decision(), "allow", "another tenant is not concerned");
        assert_ne!(agent.call("adp/adp_verify_chain", json!({ "agent_id": "a-1" })).await.decision(), "deny");
        world.database.sql("DELETE FROM access_policies");
        world.live().await;
        assert_eq!(agent.call("crm/find", json!({ "n": "many" })).await.decision(), "allow", "{definition}");
    }
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_rule_refuses_on_sqlite() {
    a_broken_rule_refuses(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_rule_refuses_on_postgres() {
    a_broken_rule_refuses(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_added_over_the_api_starts_in_shadow_and_is_raised_by_hand() {
    let stub = Stub::start(&["find", "write"]).await;
    let world = on(Kind::Postgres, &stub);
    let agent = world.agent("a-1", "A3");
    let admin = world.admin_key.as_str();
    let other = world.cli_json(&["tenant", "add", "zeta"]);
    let other = other["admin_key"].as_str().unwrap();
    let rule = json!({ "name": "no writing", "rule_type": "ABAC", "rule_definition": { "rego": "package p\ndeny contains \"not today\" if true", "tools": ["crm/write"] } });
    let broken = json!({ "name": "broken", "rule_type": "ABAC", "rule_definition": { "rego": "package p\nwhat" } });
    let hasty = json!({ "name": "hasty", "rule_type": "RBAC", "rule_definition": { "role": "a", "permissions": ["*"], "mode": "enforce" } });
    for wrong in [&broken, &hasty, &json!({ "name": "n", "rule_type": "ACL", "rule_definition": {} })] {
        assert_eq!(world.api("POST", "/api/access-policies", admin, Some(wrong.clone())).await.status, 422, "{wrong}");
    }
    assert_eq!(world.api("POST", "/api/access-policies", &agent.key, Some(rule.clone())).await.status, 403);
    let made = world.api("POST", "/api/access-policies", admin, Some(rule.clone())).await;
    assert_eq!((made.status, made.message()["mode"].as_str()), (201, Some("shadow")), "{}", made.text());
    assert_eq!(world.api("POST", "/api/access-policies", admin, Some(rule)).await.status, 409);
    world.live().await;
    let heard = agent.call("crm/write", json!({})).await;
    assert_eq!(heard.decision(), "allow", "shadow only writes down");
    assert!(heard.message()["result"]["_meta"]["io.portreeve/advice"].is_null(), "{}", heard.text());
    world
        .eventually(
            "SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1' AND CAST(context AS TEXT) LIKE '%no writing%'",
            1,
        )
        .await;

    let id = made.message()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/access-policies/{id}/mode");
    let mode = |mode: &str| Some(json!({ "mode": mode }));
    assert_eq!(world.api("POST", &path, other, mode("enforce")).await.status, 404, "another's is not there");
    assert_eq!(world.api("POST", &path, admin, mode("loud")).await.status, 422);
    assert_eq!(world.api("POST", &path, admin, mode("advisory")).await.status, 200);
    world.live().await;
    let advised = agent.call("crm/write", json!({})).await;
    assert_eq!(advised.decision(), "allow");
    let advice = advised.message()["result"]["_meta"]["io.portreeve/advice"].to_string();
    assert!(advice.contains("not today"), "{}", advised.text());
    assert_eq!(world.api("POST", &path, admin, mode("enforce")).await.status, 200);
    world.live().await;
    let refused = agent.call("crm/write", json!({})).await;
    assert_eq!(refused.denied_by(), ["access"], "{}", refused.text());
    assert_eq!(agent.call("crm/find", json!({})).await.decision(), "allow", "it speaks of one tool");
    assert_eq!(world.api("DELETE", &format!("/api/access-policies/{id}"), admin, None).await.status, 200);
    world.live().await;
    assert_eq!(agent.call("crm/write", json!({})).await.decision(), "allow");
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'portreeve'"), 4);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rego_file_holds_for_everybody() {
    let stub = Stub::start(&["find", "write"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("find", "READ_ONLY"), ("write", "LOW_WRITE")])
        .policy_file(
            "access/limits.rego",
            "# tools: crm/*  mode: enforce\npackage limits\nescalate contains \"that is a lot\" if input.arguments.limit > data.static.most",
        )
        .policy_file("access/data.json", r#"{"most": 10}"#)
        .start();
    let agent = world.agent("a-1", "A3");
    assert_eq!(agent.call("crm/find", json!({ "limit": 10 })).await.decision(), "allow");
    let asked = agent.call("crm/find", json!({ "limit": 11 })).await;
    assert_eq!(asked.decision(), "approval_required", "{}", asked.text());
    assert_eq!(stub.calls(), 1);
}
