//! What nodes keep in memory: that its revision moves when it must and only then, and that it is read whole.

use std::time::Duration;

use gateway_core::TenantId;
use gateway_core::live::SuspensionKind;
use gateway_core::ports::{NewSuspension, PinState, StoreError};
use gateway_core::verdict::PolicyMode;
use uuid::Uuid;

use crate::people::{agent, traces};
use crate::stage::Stage;

fn new(tenant: Option<TenantId>, kind: SuspensionKind, subject: &str) -> NewSuspension {
    let (subject, by) = (subject.to_owned(), "operator:o".to_owned());
    NewSuspension { id: Uuid::now_v7(), tenant, kind, subject, reason: Some("because".into()), by }
}

pub async fn the_revision_moves_with_what_nodes_keep(stage: &Stage) {
    let (record, key) = agent(stage, "acme", "a-1", 1).await;
    let (tenant, policy) = (record.tenant, Uuid::now_v7());
    let live = stage.store.live();
    let mut before = live.revision().await.unwrap();
    for (sql, moves) in [
        (
            format!(
                "INSERT INTO agent_policies (id, organization_id, policy_id, name, rule) VALUES ('{policy}', '{tenant}', 'P', 'n', '{{}}')"
            ),
            true,
        ),
        ("UPDATE agent_policies SET name = 'm'".into(), true),
        ("DELETE FROM agent_policies".into(), true),
        (
            format!(
                "INSERT INTO access_policies (tenant_id, name, rule_type, rule_definition) VALUES ('{tenant}', 'n', 'RBAC', '{{}}')"
            ),
            true,
        ),
        ("UPDATE access_policies SET name = 'm'".into(), true),
        ("DELETE FROM access_policies".into(), true),
        (
            format!(
                "INSERT INTO policy_modes (kind, policy, mode, changed_by) VALUES ('agent', '{policy}', 'enforce', 'o')"
            ),
            true,
        ),
        ("UPDATE policy_modes SET mode = 'shadow'".into(), true),
        ("DELETE FROM policy_modes".into(), true),
        (
            format!(
                "INSERT INTO tool_manifests (tenant_id, tool, manifest, written_by) VALUES ('{tenant}', 'crm/x', '{{}}', 'o')"
            ),
            true,
        ),
        ("DELETE FROM tool_manifests".into(), true),
        (format!("INSERT INTO dlp_config (tenant_id, name, patterns) VALUES ('{tenant}', 'd', '[]')"), true),
        (format!("UPDATE dlp_config SET is_active = {}", if stage.is_postgres() { "false" } else { "0" }), true),
        ("DELETE FROM dlp_config".into(), true),
        ("INSERT INTO tool_pins (tool, hash, state, definition) VALUES ('crm/x', 'h', 'accepted', '{}')".into(), true),
        ("UPDATE tool_pins SET state = 'quarantined'".into(), true),
        ("DELETE FROM tool_pins".into(), true),
        ("INSERT INTO tenants (name) VALUES ('other')".into(), true),
        ("UPDATE tenants SET name = 'another' WHERE name = 'other'".into(), true),
        ("UPDATE agent_registry SET status = 'suspended'".into(), true),
        ("UPDATE agent_registry SET max_risk = 'R1'".into(), true),
        ("UPDATE agent_registry SET metadata = '{\"roles\": [\"viewer\"]}'".into(), true),
        ("UPDATE agent_registry SET description = 'd'".into(), false),
        ("UPDATE agent_api_keys SET last_used_at = created_at".into(), false),
        ("UPDATE agent_api_keys SET revoked_at = created_at".into(), true),
        (format!("INSERT INTO api_keys (tenant_id, name, key_hash) VALUES ('{tenant}', 'k', 'h')"), false),
        ("UPDATE api_keys SET last_used_at = created_at".into(), false),
        (format!("UPDATE api_keys SET is_active = {}", if stage.is_postgres() { "false" } else { "0" }), true),
        ("DELETE FROM agent_api_keys".into(), true),
        ("DELETE FROM agent_registry".into(), true),
    ] {
        stage.execute(sql.clone()).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let now = live.revision().await.unwrap();
        assert_eq!(now > before, moves, "{sql}");
        before = now;
    }
    stage.store.ledger().append_batch(&traces(Some(tenant), "a-1", 1..=3)).await.unwrap();
    stage.store.tenants().key_owner(&key.hash()).await.unwrap();
    assert_eq!(live.revision().await.unwrap(), before, "what every call does moves nothing");
}

pub async fn live_rows_are_read_whole(stage: &Stage) {
    let (record, _) = agent(stage, "acme", "a-1", 1).await;
    let (tenant, agent_policy, access_policy) = (record.tenant, Uuid::now_v7(), Uuid::now_v7());
    for sql in [
        format!("INSERT INTO agent_policies (id, organization_id, policy_id, name, severity, rule) VALUES ('{agent_policy}', '{tenant}', 'POL-1', 'own', 'high', '{{\"condition\": {{\"a\": 1}}}}')"),
        "INSERT INTO agent_policies (policy_id, name, rule) VALUES ('POL-2', 'everybody''s', '{}')".into(),
        format!("INSERT INTO agent_policies (organization_id, policy_id, name, rule, active) VALUES ('{tenant}', 'POL-3', 'off', '{{}}', {})", if stage.is_postgres() { "false" } else { "0" }),
        format!("INSERT INTO access_policies (id, tenant_id, name, rule_type, rule_definition) VALUES ('{access_policy}', '{tenant}', 'viewers', 'RBAC', '{{\"role\": \"viewer\"}}')"),
        format!("INSERT INTO access_policies (tenant_id, name, rule_type, rule_definition) VALUES ('{tenant}', 'writers', 'ABAC', '\"package x\"')"),
        format!("INSERT INTO policy_modes (kind, policy, mode, changed_by) VALUES ('agent', '{agent_policy}', 'enforce', 'o')"),
        format!("INSERT INTO policy_modes (kind, policy, mode, changed_by) VALUES ('access', '{access_policy}', 'advisory', 'o')"),
        format!("INSERT INTO tool_manifests (tenant_id, tool, manifest, written_by) VALUES ('{tenant}', 'crm/x', '{{\"id\": \"crm/x\"}}', 'o')"),
        format!("INSERT INTO tool_manifests (tenant_id, tool, manifest, written_by) VALUES ('{tenant}', 'not a tool', '{{}}', 'o')"),
        format!("INSERT INTO dlp_config (tenant_id, name, patterns, severity) VALUES ('{tenant}', 'projects', '[\"ACME-[0-9]+\"]', 'high')"),
        "INSERT INTO dlp_config (name, patterns) VALUES ('everybody''s', '{}')".into(),
        format!("INSERT INTO dlp_config (tenant_id, name, patterns, is_active) VALUES ('{tenant}', 'off', '[]', {})", if stage.is_postgres() { "false" } else { "0" }),
        "INSERT INTO tool_pins (tool, hash, state, definition, findings) VALUES ('crm/x', 'h', 'quarantined', '{\"name\": \"x\"}', '[{\"rule\": \"drift\", \"path\": \"/description\", \"message\": \"m\", \"strength\": \"strong\"}]')".into(),
    ] {
        stage.execute(sql.clone()).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    stage.store.standing().suspend(&new(Some(tenant), SuspensionKind::Agent, "a-1")).await.unwrap();
    let rows = stage.store.live().rows().await.unwrap();
    assert_eq!(rows.revision, stage.store.live().revision().await.unwrap());
    assert_eq!(rows.tenants.iter().map(|one| (one.id, one.name.as_str())).collect::<Vec<_>>(), [(tenant, "acme")]);
    let mut policies: Vec<_> =
        rows.agent_policies.iter().map(|row| (row.policy_id.as_str(), row.tenant, row.mode)).collect();
    policies.sort();
    assert_eq!(policies, [("POL-1", Some(tenant), PolicyMode::Enforce), ("POL-2", None, PolicyMode::Shadow)]);
    let own = rows.agent_policies.iter().find(|row| row.id == agent_policy).unwrap();
    assert_eq!((own.severity.as_deref(), &own.rule), (Some("high"), &serde_json::json!({"condition": {"a": 1}})));
    let access: Vec<_> =
        rows.access_policies.iter().map(|row| (row.name.as_str(), row.rule_type.as_str(), row.mode)).collect();
    assert_eq!(access, [("viewers", "RBAC", Some(PolicyMode::Advisory)), ("writers", "ABAC", None)]);
    assert_eq!(
        rows.manifests.iter().map(|row| row.tool.as_str()).collect::<Vec<_>>(),
        ["crm/x"],
        "the other is left out"
    );
    // acceptance 64: whatever a row says is read, and only rows that are switched on.
    let mut looked_for: Vec<_> =
        rows.dlp.iter().map(|row| (row.name.as_str(), row.tenant, row.severity.as_deref(), &row.patterns)).collect();
    looked_for.sort_by_key(|row| row.0);
    let (own, everybodys) = (serde_json::json!(["ACME-[0-9]+"]), serde_json::json!({}));
    let expected = [("everybody's", None, Some("medium"), &everybodys), ("projects", Some(tenant), Some("high"), &own)];
    assert_eq!(looked_for, expected);
    let [pin] = rows.pins.as_slice() else { panic!("{:?}", rows.pins) };
    assert_eq!((pin.state, pin.findings.len()), (PinState::Quarantined, 1));
    let [stopped] = rows.suspensions.as_slice() else { panic!("{:?}", rows.suspensions) };
    assert_eq!((stopped.subject.as_str(), stopped.reason.as_deref()), ("a-1", Some("because")));
}

pub async fn a_change_is_told(stage: &Stage) {
    let live = stage.store.live();
    if !stage.is_postgres() {
        return live.wait_changed(Duration::from_millis(1)).await;
    }
    let told = tokio::spawn({
        let live = std::sync::Arc::clone(&live);
        async move { live.wait_changed(Duration::from_secs(600)).await }
    });
    // Whoever has just begun to listen may not have heard the first.
    for n in 0..200 {
        stage.store.tenants().add_tenant(&format!("t-{n}")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        if told.is_finished() {
            return;
        }
    }
    panic!("nobody was told");
}

pub async fn the_same_thing_is_stopped_once(stage: &Stage) {
    let (record, _) = agent(stage, "acme", "a-1", 1).await;
    let (other, _) = agent(stage, "other", "a-1", 2).await;
    let standing = stage.store.standing();
    let elsewhere = stage.another_node().await;
    let tries = (0..20).map(|n| {
        let standing = if n % 2 == 0 { stage.store.standing() } else { elsewhere.standing() };
        let new = new(Some(record.tenant), SuspensionKind::Agent, "a-1");
        tokio::spawn(async move { standing.suspend(&new).await.unwrap() })
    });
    let ids: Vec<Uuid> =
        futures::future::join_all(tries.collect::<Vec<_>>()).await.into_iter().map(|id| id.unwrap()).collect();
    assert!(ids.iter().all(|one| *one == ids[0]), "{ids:?}");
    let everywhere = standing.suspend(&new(None, SuspensionKind::Tool, "crm/x")).await.unwrap();
    standing.suspend(&new(Some(other.tenant), SuspensionKind::Agent, "a-1")).await.unwrap();
    assert_eq!(standing.suspensions(None).await.unwrap().len(), 3);
    let own = standing.suspensions(Some(record.tenant)).await.unwrap();
    assert_eq!(own.iter().map(|one| one.id).collect::<Vec<_>>(), [ids[0]], "a tenant's own alone");

    let lifted = standing.lift(ids[0], "operator:p").await.unwrap();
    assert_eq!((lifted.id, lifted.tenant, lifted.kind), (ids[0], Some(record.tenant), SuspensionKind::Agent));
    assert!(matches!(standing.lift(ids[0], "o").await, Err(StoreError::NotFound(_))), "once");
    assert!(standing.suspensions(Some(record.tenant)).await.unwrap().is_empty());
    let again = standing.suspend(&new(Some(record.tenant), SuspensionKind::Agent, "a-1")).await.unwrap();
    assert!(again != ids[0], "what was lifted can be stopped again");
    assert!(standing.suspend(&new(Some(TenantId(Uuid::nil())), SuspensionKind::Agent, "a-1")).await.is_err());
    assert!(standing.lift(everywhere, "o").await.is_ok());
}
