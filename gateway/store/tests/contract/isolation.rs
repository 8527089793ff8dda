//! Tenants do not see each other: by query on both engines, and on Postgres by row security besides.

use gateway_core::TenantId;
use gateway_core::ports::{AgentStatus, Record, StoreError, ToolDefinition};
use gateway_store::Store;
use serde_json::json;

use crate::people::{agent, draft, id, key, row, traces};
use crate::stage::Stage;

/// Two tenants that have the same of everything, under the same names.
async fn two_tenants(stage: &Stage) -> (TenantId, TenantId) {
    let (ours, _) = agent(stage, "acme", "a-1", 1).await;
    let (theirs, _) = agent(stage, "zeta", "a-1", 2).await;
    agent(stage, "zeta", "a-9", 3).await;
    let (ours, theirs) = (ours.tenant, theirs.tenant);
    let ledger = stage.store.ledger();
    ledger.append_batch(&traces(Some(ours), "a-1", 1..=2)).await.unwrap();
    ledger.append_batch(&traces(Some(theirs), "a-1", 11..=13)).await.unwrap();
    ledger.append_batch(&traces(None, "a-1", 21..=21)).await.unwrap();
    let call = |tenant, n| Record::Row(row(Some(tenant), "a-1", n, "notes/search"));
    ledger.append_batch(&[call(ours, 1), call(theirs, 11)]).await.unwrap();
    for (n, tenant) in [(1, ours), (2, theirs)] {
        let scopes = ["admin".to_owned()];
        stage.store.tenants().add_tenant_key(tenant, "operator", &format!("hash-{n}"), &scopes).await.unwrap();
        for sql in [
            format!(
                "INSERT INTO agent_policies (organization_id, policy_id, name, rule) VALUES ('{tenant}', 'POL-1', 'P', '{{}}')"
            ),
            format!(
                "INSERT INTO access_policies (tenant_id, name, rule_type, rule_definition) VALUES ('{tenant}', 'r', 'RBAC', '{{}}')"
            ),
            format!("INSERT INTO dlp_config (tenant_id, name, patterns) VALUES ('{tenant}', 'd', '[]')"),
            format!("INSERT INTO tool_sessions (tenant_id, agent_id, status) VALUES ('{tenant}', 'a-1', 'running')"),
            format!("INSERT INTO resource_usage (tenant_id, month_year) VALUES ('{tenant}', '2026-02')"),
        ] {
            stage.execute(sql).await.unwrap();
        }
    }
    (ours, theirs)
}

// acceptance 5, acceptance 61: every question that names a tenant is answered with that tenant's rows, on both engines.
pub async fn another_tenants_rows_are_not_there(stage: &Stage) {
    let (ours, theirs) = two_tenants(stage).await;
    let (tenants, ledger) = (stage.store.tenants(), stage.store.ledger());
    let stranger = TenantId(uuid::Uuid::from_u128(7));

    let names = |records: Vec<gateway_core::ports::AgentRecord>| -> Vec<String> {
        records.into_iter().map(|record| record.agent.agent_id.to_string()).collect()
    };
    assert_eq!(names(tenants.agents(ours).await.unwrap()), ["a-1"]);
    assert_eq!(names(tenants.agents(theirs).await.unwrap()), ["a-1", "a-9"]);
    assert!(tenants.agents(stranger).await.unwrap().is_empty());
    assert!(matches!(tenants.agent(ours, &id("a-9")).await, Err(StoreError::NotFound(_))));
    assert_eq!(tenants.keys(ours, &id("a-1")).await.unwrap().len(), 1);
    assert!(matches!(tenants.keys(ours, &id("a-9")).await, Err(StoreError::NotFound(_))));
    let foreign_key = tenants.add_key(ours, &id("a-9"), &key(8).hash(), "adp_sk_8").await;
    assert!(matches!(foreign_key, Err(StoreError::NotFound(_))), "{foreign_key:?}");
    let suspended = tenants.set_agent_status(ours, &id("a-9"), AgentStatus::Revoked).await;
    assert!(matches!(suspended, Err(StoreError::NotFound(_))));
    tenants.set_agent_status(ours, &id("a-1"), AgentStatus::Suspended).await.unwrap();
    assert_eq!(tenants.agent(theirs, &id("a-1")).await.unwrap().status, AgentStatus::Active, "only ours was suspended");

    for (tenant, length) in [(Some(ours), 2), (Some(theirs), 3), (None, 1), (Some(stranger), 0)] {
        assert_eq!(ledger.head(tenant, &id("a-1")).await.unwrap().seq, length, "{tenant:?}");
        let traces = ledger.traces(tenant, &id("a-1"), 0, 100).await.unwrap();
        assert_eq!(i64::try_from(traces.len()).unwrap(), length, "{tenant:?}");
    }
    assert_eq!(ledger.newest(ours, 100).await.unwrap().len(), 2);
    assert!(ledger.newest(stranger, 100).await.unwrap().is_empty());

    let registry = stage.store.registry();
    let seen = |name: &str| {
        let definition = json!({ "name": name, "inputSchema": { "type": "object" } });
        vec![(ToolDefinition { name: format!("crm/{name}").parse().unwrap(), definition }, None)]
    };
    registry.seen(ours, seen("ours"));
    registry.seen(theirs, seen("theirs"));
    let mut tries = 0;
    while registry.registered(ours).await.unwrap().len() + registry.registered(theirs).await.unwrap().len() < 4 {
        tries += 1;
        assert!(tries < 200, "two tools each: one was seen, one was called");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let tools = |tools: Vec<gateway_core::ports::RegisteredTool>| -> Vec<String> {
        assert!(tools.iter().all(|tool| tool.tenant == ours));
        tools.into_iter().map(|tool| tool.name).collect()
    };
    assert_eq!(tools(registry.registered(ours).await.unwrap()), ["crm/ours", "notes/search"]);
    assert!(registry.registered(stranger).await.unwrap().is_empty());
}

// acceptance 29: over all of a tenant's chains, newest first, and no more than were asked for.
pub async fn the_newest_traces_come_first(stage: &Stage) {
    let (record, _) = agent(stage, "acme", "a-1", 1).await;
    let (other, _) = agent(stage, "zeta", "a-1", 2).await;
    let at = |tenant, agent: &str, n: u128, second: &str| {
        let timestamp = format!("2026-02-23T00:00:{second}Z").parse().unwrap();
        Record::Trace(gateway_core::TraceDraft { timestamp, ..draft(tenant, agent, n) })
    };
    let (ours, theirs) = (Some(record.tenant), Some(other.tenant));
    let records = [
        at(ours, "a-1", 1, "01.000"),
        at(ours, "a-2", 2, "02.000"),
        at(ours, "a-1", 3, "03.000"),
        at(ours, "a-1", 4, "03.000"),
        at(ours, "a-2", 5, "02.500"),
        at(theirs, "a-1", 6, "09.000"),
        at(None, "a-1", 7, "09.000"),
    ];
    let ledger = stage.store.ledger();
    ledger.append_batch(&records).await.unwrap();
    let newest = ledger.newest(record.tenant, 4).await.unwrap();
    let order: Vec<String> = newest.iter().map(|trace| trace.event.trace_id.clone()).collect();
    let expected: Vec<String> = [4, 3, 5, 2].map(|n: u128| format!("trc_{n:032x}")).into();
    assert_eq!(order, expected);
    let whole = ledger.traces(ours, &id("a-1"), 0, 10).await.unwrap();
    assert!(whole.contains(&newest[0]), "the same trace, whichever way it is read: its hash still fits");
    assert_eq!(newest[0].event.hash().unwrap(), newest[0].event_hash);
}

/// The tables that hold tenants' rows, and how many of them each of the two has.
const ROWS: [(&str, i64, i64); 12] = [
    ("agent_registry", 1, 2),
    ("agent_api_keys", 1, 2),
    ("agent_traces", 2, 3),
    ("agent_policies", 1, 1),
    ("chain_heads", 1, 1),
    ("tool_registry", 1, 1),
    ("audit_logs", 1, 1),
    ("api_keys", 1, 1),
    ("access_policies", 1, 1),
    ("dlp_config", 1, 1),
    ("tool_sessions", 1, 1),
    ("resource_usage", 1, 1),
];

async fn count(stage: &Stage, url: &str, before: &[String], table: &str) -> i64 {
    let counting = format!("SELECT CAST(count(*) AS TEXT) FROM {table}");
    let found =
        stage.alone(url, &[before, &[counting]].concat()).await.unwrap_or_else(|error| panic!("{table}: {error}"));
    found.into_iter().next().flatten().unwrap().parse().unwrap()
}

// acceptance 5: whoever is bound to a tenant neither sees nor changes the modes of another's policies.
pub async fn a_mode_is_its_policys_tenants(stage: &Stage) {
    let (ours, theirs) = two_tenants(stage).await;
    stage
        .execute("INSERT INTO agent_policies (policy_id, name, rule) VALUES ('STD-1', 'everybody''s', '{}')")
        .await
        .unwrap();
    for kind in ["agent", "access"] {
        let insert = format!(
            "INSERT INTO policy_modes (kind, policy, mode, changed_by) SELECT '{kind}', id, 'enforce', 'o' FROM {kind}_policies"
        );
        stage.execute(insert).await.unwrap();
    }
    let role = "SET ROLE portreeve_app".to_owned();
    let as_tenant = |tenant: TenantId| vec![role.clone(), format!("SET portreeve.tenant = '{tenant}'")];
    for (before, seen) in [(as_tenant(ours), 3), (as_tenant(theirs), 3), (vec![role.clone()], 0)] {
        assert_eq!(count(stage, &stage.url, &before, "policy_modes").await, seen, "{before:?}");
    }
    let update = "UPDATE policy_modes SET mode = 'shadow'".to_owned();
    stage.alone(&stage.url, &[as_tenant(ours), vec![update]].concat()).await.unwrap();
    let shadow = "policy_modes WHERE mode = 'shadow'";
    assert_eq!(stage.count(shadow).await, 2, "its own two, not the other's and not everybody's");
    let foreign = format!(
        "INSERT INTO policy_modes (kind, policy, mode, changed_by) SELECT 'access', '{}', 'shadow', 'x'",
        uuid::Uuid::from_u128(9)
    );
    assert!(stage.alone(&stage.url, &[as_tenant(ours), vec![foreign]].concat()).await.is_err());
}

// acceptance 5: as the app role with T1 set, T2's rows are not there; with none set, there are no rows at all.
pub async fn a_tenants_role_sees_its_rows_alone(stage: &Stage) {
    let (ours, theirs) = two_tenants(stage).await;
    stage
        .execute("INSERT INTO agent_policies (policy_id, name, rule) VALUES ('STD-1', 'everybody''s', '{}')")
        .await
        .unwrap();
    let role = "SET ROLE portreeve_app".to_owned();
    let as_tenant = |tenant: TenantId| vec![role.clone(), format!("SET portreeve.tenant = '{tenant}'")];
    for (table, own, others) in ROWS {
        let shared = i64::from(table == "agent_policies");
        assert_eq!(count(stage, &stage.url, &as_tenant(ours), table).await, own + shared, "{table}");
        assert_eq!(count(stage, &stage.url, &as_tenant(theirs), table).await, others + shared, "{table}");
        assert_eq!(count(stage, &stage.url, std::slice::from_ref(&role), table).await, 0, "{table} of nobody");
        let emptied = [role.clone(), "SET portreeve.tenant = ''".to_owned()];
        assert_eq!(count(stage, &stage.url, &emptied, table).await, 0, "{table} of an empty name");
        assert!(stage.count(table).await >= own + others, "the owner sees {table} whole");
    }

    let agent = format!("(SELECT id FROM agent_registry WHERE organization_id = '{theirs}' LIMIT 1)");
    for forbidden in [
        format!(
            "INSERT INTO agent_registry (organization_id, agent_id, name, autonomy_level) VALUES ('{theirs}', 'x', 'X', 'A5')"
        ),
        format!("UPDATE agent_registry SET organization_id = '{theirs}'"),
        format!("INSERT INTO agent_api_keys (agent_registry_id, key_hash, key_prefix) VALUES ({agent}, 'h', 'p')"),
        "UPDATE agent_traces SET description = 'other'".into(),
        "DELETE FROM agent_traces".into(),
        format!(
            "INSERT INTO agent_traces (organization_id, trace_id, agent_id, event_type, event_hash, seq) VALUES ('{ours}', 't', 'a-1', 'decision', 'h', 9)"
        ),
        "UPDATE chain_heads SET seq = 0".into(),
        "UPDATE audit_logs SET status_code = 'ok'".into(),
        "DELETE FROM audit_logs".into(),
        "DELETE FROM agent_registry".into(),
        format!(
            "INSERT INTO agent_policies (organization_id, policy_id, name, rule) VALUES ('{theirs}', 'x', 'X', '{{}}')"
        ),
        "INSERT INTO agent_policies (policy_id, name, rule) VALUES ('x', 'X', '{}')".into(),
        "SELECT value FROM gateway_secrets".into(),
        "SELECT name FROM tenants".into(),
    ] {
        let refused = stage.alone(&stage.url, &[as_tenant(ours), vec![forbidden.clone()]].concat()).await;
        assert!(refused.is_err(), "{forbidden}");
    }
    for unseen in [
        format!("UPDATE agent_registry SET status = 'revoked' WHERE organization_id = '{theirs}'"),
        "UPDATE agent_policies SET active = false WHERE policy_id = 'STD-1'".into(),
        format!("DELETE FROM access_policies WHERE tenant_id = '{theirs}'"),
    ] {
        stage.alone(&stage.url, &[as_tenant(ours), vec![unseen]].concat()).await.unwrap();
    }
    assert_eq!(stage.count("agent_registry WHERE status = 'revoked'").await, 0, "what is not seen is not changed");
    assert_eq!(stage.count("agent_policies WHERE active").await, 3);
    assert_eq!(stage.count("access_policies").await, 2);
}

// acceptance 5: a login of its own, which is no superuser, owns nothing and is only a member of the role.
pub async fn a_member_login_is_bound_too(stage: &Stage) {
    let (ours, theirs) = two_tenants(stage).await;
    let login = format!("member_{}", uuid::Uuid::now_v7().simple());
    stage.execute(format!("CREATE ROLE {login} LOGIN PASSWORD 'for a test' IN ROLE portreeve_app")).await.unwrap();
    let (scheme, rest) = stage.url.split_once("://").unwrap();
    let host = rest.split_once('@').map_or(rest, |(_, host)| host);
    let url = format!("{scheme}://{login}:for%20a%20test@{host}");
    for (table, own, others) in ROWS {
        let set = |tenant: TenantId| [format!("SET portreeve.tenant = '{tenant}'")];
        assert_eq!(count(stage, &url, &[], table).await, 0, "{table}");
        assert_eq!(count(stage, &url, &set(ours), table).await, own, "{table}");
        assert_eq!(count(stage, &url, &set(theirs), table).await, others, "{table}");
    }
    stage.execute(format!("DROP ROLE {login}")).await.unwrap();
}

/// A login that owns the database and may not make roles: the gateway works, and says so.
pub async fn without_the_role_the_queries_hold(stage: &Stage) {
    let login = format!("owner_{}", uuid::Uuid::now_v7().simple());
    stage.execute(format!("CREATE ROLE {login} LOGIN PASSWORD 'for a test'")).await.unwrap();
    stage.execute("DROP SCHEMA public CASCADE").await.unwrap();
    stage.execute(format!("CREATE SCHEMA public AUTHORIZATION {login}")).await.unwrap();
    let (scheme, rest) = stage.url.split_once("://").unwrap();
    let host = rest.split_once('@').map_or(rest, |(_, host)| host);
    let store = Store::open(&format!("{scheme}://{login}:for%20a%20test@{host}")).await.unwrap();
    let tenants = store.tenants();
    let acme = tenants.add_tenant("acme").await.unwrap().id;
    let zeta = tenants.add_tenant("zeta").await.unwrap().id;
    let new = crate::people::new_agent("a-1");
    tenants.add_agent(acme, &new, &key(1).hash(), "adp_sk_1").await.unwrap();
    assert_eq!(tenants.agents(acme).await.unwrap().len(), 1);
    assert!(tenants.agents(zeta).await.unwrap().is_empty());
    // The operator asks for the role; the next start uses it.
    stage.execute(format!("GRANT portreeve_app TO {login}")).await.unwrap();
    store.close().await;
    let store = Store::open(&format!("{scheme}://{login}:for%20a%20test@{host}")).await.unwrap();
    assert_eq!(store.tenants().agents(acme).await.unwrap().len(), 1);
    assert_eq!(
        count(
            stage,
            &stage.url,
            &["SET ROLE portreeve_app".into(), format!("SET portreeve.tenant = '{zeta}'")],
            "agent_registry"
        )
        .await,
        0
    );
    store.close().await;
    stage.execute(format!("DROP OWNED BY {login}")).await.unwrap();
    stage.execute(format!("DROP ROLE {login}")).await.unwrap();
}

/// Roles are the cluster's: databases that are made in the same moment must not trip over each other's.
pub async fn many_databases_may_be_made_at_once(_: &Stage) {
    let stages = futures::future::join_all((0..4).map(|_| Stage::postgres())).await;
    for other in &stages {
        agent(other, "acme", "a-1", 1).await;
        assert_eq!(other.count("agent_registry").await, 1);
    }
}
