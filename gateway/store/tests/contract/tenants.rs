//! Tenants, agents, keys and tools.

use std::time::Duration;

use gateway_core::ports::{AgentStatus, NewAgent, Registrar, StoreError, ToolDefinition};
use gateway_core::{Autonomy, RiskLevel};
use gateway_store::Store;
use serde_json::json;

use crate::people::{agent, id, key, new_agent};
use crate::stage::Stage;

pub async fn tenants_are_found_by_name_and_id(stage: &Stage) {
    let tenants = stage.store.tenants();
    let acme = tenants.add_tenant("acme").await.unwrap();
    let zeta = tenants.add_tenant("zeta").await.unwrap();
    assert_eq!(tenants.tenant("acme").await.unwrap(), acme);
    assert_eq!(tenants.tenant(&zeta.id.to_string()).await.unwrap(), zeta);
    assert_eq!(tenants.tenants().await.unwrap(), [acme, zeta]);
    assert_eq!(tenants.tenant("nobody").await.unwrap_err().to_string(), "tenant `nobody` was not found");
    assert_eq!(tenants.add_tenant("acme").await.unwrap_err().to_string(), "tenant `acme` already exists");
}

// acceptance 8: the hash and eight characters, nowhere the key.
pub async fn an_agent_and_its_key_are_one(stage: &Stage) {
    let (record, key) = agent(stage, "acme", "agent-billing-001", 7).await;
    assert_eq!((record.agent.clone(), record.status), (new_agent("agent-billing-001"), AgentStatus::Active));
    let tenants = stage.store.tenants();
    assert_eq!(tenants.agent(record.tenant, &record.agent.agent_id).await.unwrap(), record);
    assert_eq!(tenants.agents(record.tenant).await.unwrap(), std::slice::from_ref(&record));
    assert_eq!(stage.text("SELECT key_hash FROM agent_api_keys").await, Some(key.hash()));
    assert_eq!(stage.text("SELECT key_prefix FROM agent_api_keys").await.as_deref(), key.reveal().get(..8));
    assert_eq!(stage.rows_with(key.reveal()).await, 0);
    assert_eq!(stage.rows_with(key.reveal().get(8..40).unwrap()).await, 0);
    assert!(stage.rows_with(&key.hash()).await > 0, "the search finds what is there");
    let owner = tenants.key_owner(&key.hash()).await.unwrap().unwrap();
    assert_eq!((owner.key_hash, owner.key_active), (key.hash(), true));
    assert_eq!((owner.principal.tenant, owner.principal.agent), (Some(record.tenant), record.agent.agent_id));
    assert!(tenants.key_owner("no such hash").await.unwrap().is_none());
}

// acceptance 9: a refusal leaves no agent and no key.
pub async fn refused_agents_leave_nothing(stage: &Stage) {
    let (record, first) = agent(stage, "acme", "a-1", 1).await;
    let tenants = stage.store.tenants();
    let again = tenants.add_agent(record.tenant, &new_agent("a-1"), &key(2).hash(), "adp_sk_0").await;
    assert_eq!(again.unwrap_err().to_string(), "agent `a-1` already exists");
    let same_key = tenants.add_agent(record.tenant, &new_agent("a-2"), &first.hash(), "adp_sk_0").await;
    assert!(matches!(same_key, Err(StoreError::Exists(_))));
    let no_tenant = tenants.add_agent(gateway_core::TenantId(uuid::Uuid::nil()), &new_agent("a-3"), "h", "p").await;
    assert!(matches!(no_tenant, Err(StoreError::NotFound(_))), "{no_tenant:?}");
    assert_eq!((stage.count("agent_registry").await, stage.count("agent_api_keys").await), (1, 1));
}

pub async fn names_are_a_tenants_own(stage: &Stage) {
    let (ours, _) = agent(stage, "acme", "a-1", 1).await;
    let tenants = stage.store.tenants();
    assert_eq!(tenants.find_agent_anywhere(&id("a-1")).await.unwrap(), ours);
    let (theirs, _) = agent(stage, "zeta", "a-1", 2).await;
    assert_ne!(ours.tenant, theirs.tenant);
    assert_eq!(tenants.agents(ours.tenant).await.unwrap(), std::slice::from_ref(&ours));
    let both = tenants.find_agent_anywhere(&id("a-1")).await.unwrap_err();
    assert_eq!(both.to_string(), "more than one tenant has an agent `a-1`");
    tenants.set_agent_status(ours.tenant, &id("a-1"), AgentStatus::Suspended).await.unwrap();
    assert_eq!(tenants.agent(ours.tenant, &id("a-1")).await.unwrap().status, AgentStatus::Suspended);
    assert_eq!(tenants.agent(theirs.tenant, &id("a-1")).await.unwrap().status, AgentStatus::Active);
    let nobody = tenants.set_agent_status(ours.tenant, &id("a-2"), AgentStatus::Revoked).await;
    assert!(matches!(nobody, Err(StoreError::NotFound(_))));
}

/// Roles stand beside whatever else somebody keeps in an agent's metadata.
pub async fn an_agents_autonomy_and_roles_can_be_changed(stage: &Stage) {
    let (record, key) = agent(stage, "acme", "a-1", 1).await;
    let (other, _) = agent(stage, "zeta", "a-1", 2).await;
    let tenants = stage.store.tenants();
    stage.execute(r#"UPDATE agent_registry SET metadata = '{"team": "x", "roles": 7}'"#).await.unwrap();
    assert!(tenants.agent(record.tenant, &id("a-1")).await.unwrap().agent.roles.is_empty(), "a number is no role");
    let roles = ["senior_admin".to_owned(), "viewer".to_owned()];
    tenants.set_agent_roles(record.tenant, &id("a-1"), &roles).await.unwrap();
    tenants.set_agent_autonomy(record.tenant, &id("a-1"), Autonomy::A4).await.unwrap();
    let changed = tenants.agent(record.tenant, &id("a-1")).await.unwrap();
    assert_eq!((changed.agent.roles.as_slice(), changed.agent.autonomy), (roles.as_slice(), Autonomy::A4));
    assert_eq!(changed.metadata, json!({ "team": "x", "roles": roles }));
    let owner = tenants.key_owner(&key.hash()).await.unwrap().unwrap().principal;
    assert_eq!((owner.roles.as_slice(), owner.autonomy), (roles.as_slice(), Autonomy::A4));
    assert_eq!(owner.owner.as_deref(), Some("finance@example.com"));
    let untouched = tenants.agent(other.tenant, &id("a-1")).await.unwrap();
    assert_eq!((untouched.agent.roles.len(), untouched.agent.autonomy), (0, Autonomy::A3));
    stage.execute("UPDATE agent_registry SET metadata = '[1]'").await.unwrap();
    tenants.set_agent_roles(record.tenant, &id("a-1"), &[]).await.unwrap();
    assert_eq!(tenants.agent(record.tenant, &id("a-1")).await.unwrap().metadata, json!({ "roles": [] }));
    for nobody in [
        tenants.set_agent_roles(record.tenant, &id("a-2"), &roles).await,
        tenants.set_agent_autonomy(record.tenant, &id("a-2"), Autonomy::A5).await,
    ] {
        assert!(matches!(nobody, Err(StoreError::NotFound(_))));
    }
    let registrar = Registrar { key: id("key-1"), name: Some("grace@example.com".into()) };
    let named = NewAgent { roles: vec!["viewer".into()], registered_by: Some(registrar), ..new_agent("a-3") };
    let added = tenants.add_agent(record.tenant, &named, &crate::people::key(3).hash(), "adp_sk_3").await.unwrap();
    assert_eq!(added.agent, named);
    tenants.set_agent_roles(record.tenant, &id("a-3"), &[]).await.unwrap();
    let kept = tenants.agent(record.tenant, &id("a-3")).await.unwrap().agent.registered_by;
    assert_eq!(kept, named.registered_by, "other roles do not take it away");
    let reserved = tenants.add_agent(record.tenant, &new_agent("portreeve"), "h", "p").await.unwrap_err();
    assert!(reserved.to_string().contains("the gateway's own name"), "{reserved}");
}

pub async fn keys_are_listed_and_revoked(stage: &Stage) {
    let (record, first) = agent(stage, "acme", "a-1", 1).await;
    let tenants = stage.store.tenants();
    let second = tenants.add_key(record.tenant, &id("a-1"), &key(2).hash(), "adp_sk_9").await.unwrap();
    let listed = tenants.keys(record.tenant, &id("a-1")).await.unwrap();
    assert_eq!(listed.iter().map(|key| key.prefix.as_str()).collect::<Vec<_>>(), ["adp_sk_0", "adp_sk_9"]);
    assert!(
        listed
            .iter()
            .all(|key| key.revoked_at.is_none() && key.last_used_at.is_none() && key.created_at.ends_with('Z'))
    );
    assert_eq!(tenants.keys_starting("adp_sk_9").await.unwrap().first().map(|key| key.id), Some(second));
    assert_eq!(tenants.keys_starting(&second.to_string()).await.unwrap().len(), 1);
    assert_eq!(tenants.keys_starting("adp_sk").await.unwrap().len(), 2);
    tenants.touch_key(second).await.unwrap();
    tenants.revoke_key(second).await.unwrap();
    let listed = tenants.keys(record.tenant, &id("a-1")).await.unwrap();
    assert!(listed.iter().any(|key| key.id == second && key.revoked_at.is_some() && key.last_used_at.is_some()));
    assert!(tenants.keys_starting("adp_sk_9").await.unwrap().is_empty());
    assert!(!tenants.key_owner(&key(2).hash()).await.unwrap().unwrap().key_active);
    assert!(tenants.key_owner(&first.hash()).await.unwrap().unwrap().key_active);
    assert!(matches!(tenants.revoke_key(uuid::Uuid::nil()).await, Err(StoreError::NotFound(_))));
}

pub async fn tools_are_remembered_once(stage: &Stage) {
    let tenant = stage.store.tenants().add_tenant("acme").await.unwrap().id;
    let registry = stage.store.registry();
    let tool = |description: &str| ToolDefinition {
        name: "notes/search".parse().unwrap(),
        definition: json!({"name": "search", "description": description, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}),
    };
    let listed = async |expected: &str| {
        for _ in 0..200 {
            let tools = registry.registered(tenant).await.unwrap();
            if let Some(found) = tools.first().filter(|tool| tool.metadata["description"] == expected) {
                assert_eq!(tools.len(), 1);
                return found.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the tool was not registered as {expected}");
    };
    registry.seen(tenant, vec![(tool("finds notes"), None)]);
    let first = listed("finds notes").await;
    assert_eq!(
        (first.name.as_str(), first.risk_level.as_str(), first.is_active),
        ("notes/search", "unclassified", true)
    );
    assert_eq!(first.schema, json!({"type": "object"}));
    registry.seen(tenant, vec![(tool("finds more notes"), Some(RiskLevel::ReadOnly))]);
    let second = listed("finds more notes").await;
    assert_eq!((second.id, second.risk_level.as_str()), (first.id, "READ_ONLY"));
}

pub async fn secrets_are_shared(stage: &Stage) {
    let other = stage.another_node().await;
    let (here, there) = tokio::join!(stage.store.secret("seal"), other.secret("seal"));
    assert_eq!(here.unwrap(), there.unwrap());
    assert_ne!(stage.store.secret("seal").await.unwrap(), stage.store.secret("sign").await.unwrap());
    stage.store.ping().await.unwrap();
    other.close().await;
    assert!(other.ping().await.is_err());
}

pub async fn two_nodes_may_start_together(stage: &Stage) {
    let url = match stage.is_postgres() {
        false => format!("sqlite://{}", stage.folder.path().join("fresh.db").display()),
        true => {
            stage.execute("DROP SCHEMA public CASCADE").await.unwrap();
            stage.execute("CREATE SCHEMA public").await.unwrap();
            stage.url.clone()
        }
    };
    let (one, two, three) = tokio::join!(Store::open(&url), Store::open(&url), Store::open(&url));
    for store in [one.unwrap(), two.unwrap(), three.unwrap()] {
        store.ping().await.unwrap();
    }
}
