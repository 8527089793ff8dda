//! Tenants' policies and manifests: added, listed, given a mode, removed, and nobody else's.

use gateway_core::TenantId;
use gateway_core::ports::{
    DlpRow, ManifestRow, NewAccessPolicy, NewAgentPolicy, NewDlpConfig, PolicyKind, RuleType, StoreError,
};
use gateway_core::rules::Severity;
use gateway_core::verdict::PolicyMode;
use serde_json::json;
use uuid::Uuid;

use crate::stage::Stage;

async fn tenants(stage: &Stage) -> (TenantId, TenantId) {
    let tenants = stage.store.tenants();
    (tenants.add_tenant("acme").await.unwrap().id, tenants.add_tenant("zeta").await.unwrap().id)
}

fn policy(name: &str) -> NewAgentPolicy {
    NewAgentPolicy {
        policy_id: name.into(),
        name: "External Communication Control".into(),
        category: Some("communication".into()),
        severity: Some(Severity::High),
        rule: json!({"condition": {"action_type": "external_communication"}, "requirement": "human_approval"}),
        regulatory_mapping: vec!["loi25_art12".into(), "eu_ai_act_art14".into()],
    }
}

// acceptance 25: stored whole, once a tenant.
pub async fn agent_policies_are_a_tenants_own(stage: &Stage) {
    let (acme, zeta) = tenants(stage).await;
    let store = stage.store.policies();
    let id = store.add_agent_policy(acme, &policy("POL-COM-001")).await.unwrap();
    let again = store.add_agent_policy(acme, &policy("POL-COM-001")).await;
    assert!(matches!(again, Err(StoreError::Exists(_))), "{again:?}");
    store.add_agent_policy(zeta, &policy("POL-COM-001")).await.unwrap();
    let rows = store.agent_policies(acme).await.unwrap();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let new = policy("POL-COM-001");
    assert_eq!((row.id, row.tenant, &row.policy_id, &row.rule), (id, Some(acme), &new.policy_id, &new.rule));
    assert_eq!((row.severity.as_deref(), &row.regulatory_mapping), (Some("high"), &new.regulatory_mapping));
    assert_eq!((row.mode, row.is_active), (PolicyMode::Shadow, true), "nobody gave it a mode");

    // One of no organization is everybody's to see and nobody's to change.
    let everybodys = Uuid::now_v7();
    stage
        .execute(format!(
            "INSERT INTO agent_policies (id, policy_id, name, rule) VALUES ('{everybodys}', 'ALL', 'n', '{{}}')"
        ))
        .await
        .unwrap();
    let rows = store.agent_policies(acme).await.unwrap();
    let names: Vec<_> = rows.iter().map(|row| (row.policy_id.as_str(), row.tenant)).collect();
    assert_eq!(names, [("POL-COM-001", Some(acme)), ("ALL", None)]);
    for (tenant, policy) in [(zeta, id), (acme, everybodys), (acme, Uuid::now_v7())] {
        let off = store.set_agent_policy_active(tenant, policy, false).await;
        assert!(matches!(off, Err(StoreError::NotFound(_))), "{off:?}");
        let mode = store.set_policy_mode(tenant, PolicyKind::Agent, policy, PolicyMode::Enforce, "x").await;
        assert!(matches!(mode, Err(StoreError::NotFound(_))), "{mode:?}");
    }

    let set = |mode| store.set_policy_mode(acme, PolicyKind::Agent, id, mode, "operator:o");
    assert_eq!(set(PolicyMode::Enforce).await.unwrap(), None);
    assert_eq!(set(PolicyMode::Advisory).await.unwrap(), Some(PolicyMode::Enforce));
    assert_eq!(store.agent_policies(acme).await.unwrap()[0].mode, PolicyMode::Advisory);
    let live = stage.store.live().rows().await.unwrap();
    assert!(live.agent_policies.iter().any(|row| row.id == id && row.mode == PolicyMode::Advisory), "nodes see it");
    store.set_agent_policy_active(acme, id, false).await.unwrap();
    assert!(!store.agent_policies(acme).await.unwrap()[0].is_active);
    let live = stage.store.live().rows().await.unwrap();
    assert!(!live.agent_policies.iter().any(|row| row.id == id), "what is off is not live");
}

pub async fn access_policies_start_in_shadow(stage: &Stage) {
    let (acme, zeta) = tenants(stage).await;
    let store = stage.store.policies();
    let definition = json!({"role": "viewer", "permissions": ["crm/*"]});
    let new =
        NewAccessPolicy { name: "viewers".into(), rule_type: RuleType::Rbac, rule_definition: definition.clone() };
    let id = store.add_access_policy(acme, &new).await.unwrap();
    stage
        .execute(format!("INSERT INTO access_policies (tenant_id, name, rule_type, rule_definition) VALUES ('{acme}', 'by hand', 'ABAC', '{{}}')"))
        .await
        .unwrap();
    let rows = store.access_policies(acme).await.unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.rule_type.as_str(), row.mode)).collect();
    assert_eq!(told, [("by hand", "ABAC", None), ("viewers", "RBAC", Some(PolicyMode::Shadow))]);
    assert_eq!(rows[1].rule_definition, definition);
    assert!(store.access_policies(zeta).await.unwrap().is_empty());

    let set = |tenant, mode| store.set_policy_mode(tenant, PolicyKind::Access, id, mode, "operator:o");
    assert!(matches!(set(zeta, PolicyMode::Enforce).await, Err(StoreError::NotFound(_))));
    assert_eq!(set(acme, PolicyMode::Enforce).await.unwrap(), Some(PolicyMode::Shadow));
    assert!(matches!(store.remove_access_policy(zeta, id).await, Err(StoreError::NotFound(_))));
    store.remove_access_policy(acme, id).await.unwrap();
    assert!(matches!(store.remove_access_policy(acme, id).await, Err(StoreError::NotFound(_))));
    assert_eq!(stage.count("policy_modes").await, 0, "its mode goes with it");
}

pub async fn a_tenants_manifests_are_its_own(stage: &Stage) {
    let (acme, zeta) = tenants(stage).await;
    let store = stage.store.policies();
    let row = |level: &str| ManifestRow {
        tenant: acme,
        tool: "crm/find".parse().unwrap(),
        manifest: json!({"id": "crm/find", "risk_level": level}),
        handling: Some(json!({"action_type": "search"})),
        metadata: None,
        written_by: "operator:o".into(),
        written_at: String::new(),
    };
    store.put_manifest(&row("READ_ONLY")).await.unwrap();
    store.put_manifest(&row("LOW_WRITE")).await.unwrap();
    let kept = store.manifests(acme).await.unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(ManifestRow { written_at: String::new(), ..kept[0].clone() }, row("LOW_WRITE"));
    assert!(store.manifests(zeta).await.unwrap().is_empty());
    let nobodys = ManifestRow { tenant: TenantId(Uuid::now_v7()), ..row("READ_ONLY") };
    assert!(store.put_manifest(&nobodys).await.is_err());
    let tool = "crm/find".parse().unwrap();
    assert!(matches!(store.remove_manifest(zeta, &tool).await, Err(StoreError::NotFound(_))));
    store.remove_manifest(acme, &tool).await.unwrap();
    assert!(store.manifests(acme).await.unwrap().is_empty());
}

pub async fn what_a_tenant_looks_for_is_its_own(stage: &Stage) {
    let (acme, zeta) = tenants(stage).await;
    let store = stage.store.policies();
    let patterns = json!(["ACME-[0-9]{6}", { "rule": "email", "action": "observe" }]);
    let new = NewDlpConfig { name: "codes".into(), severity: None, patterns: patterns.clone() };
    let id = store.add_dlp_config(acme, &new).await.unwrap();
    let off = if stage.is_postgres() { "false" } else { "0" };
    for (tenant, name) in [(format!("'{acme}'"), "by hand"), (format!("'{zeta}'"), "theirs"), ("NULL".into(), "all")] {
        let insert = "INSERT INTO dlp_config (tenant_id, name, patterns, is_active)";
        stage.execute(format!("{insert} VALUES ({tenant}, '{name}', '[]', {off})")).await.unwrap();
    }
    let rows = store.dlp_configs(acme).await.unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.is_active)).collect();
    assert_eq!(told, [("by hand", false), ("codes", true)], "neither another's nor everybody's");
    let severity = Some("medium".to_owned());
    let expected = DlpRow { id, tenant: Some(acme), name: "codes".into(), patterns, severity, is_active: true };
    assert_eq!(rows.get(1), Some(&expected));
    assert_eq!(stage.store.live().rows().await.unwrap().dlp, [expected], "nodes see it");

    assert!(matches!(store.remove_dlp_config(zeta, id).await, Err(StoreError::NotFound(_))));
    store.remove_dlp_config(acme, id).await.unwrap();
    assert!(matches!(store.remove_dlp_config(acme, id).await, Err(StoreError::NotFound(_))));
    assert_eq!(stage.store.live().rows().await.unwrap().dlp, []);
    let nobodys = store.add_dlp_config(TenantId(Uuid::now_v7()), &new).await;
    assert!(nobodys.is_err(), "{nobodys:?}");
}
