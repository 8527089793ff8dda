//! Who a key opens the door for, and for how long.

use std::sync::Arc;
use std::time::Duration;

use gateway_core::identity::{Credential, PrincipalKind};
use gateway_core::keys::{ApiKey, TENANT_KEY};
use gateway_core::ports::{AgentStatus, AuthError, Directory};
use gateway_core::reach::KeyScopes;
use gateway_store::CachedDirectory;

use crate::people::{agent, id};
use crate::stage::Stage;

fn shown(key: &ApiKey) -> Credential {
    Credential::Key(key.reveal().into())
}

// acceptance 10: none, wrong, revoked, suspended, good; another process's revocation is seen within a second.
pub async fn keys_open_until_they_are_revoked(stage: &Stage) {
    let (record, key) = agent(stage, "acme", "a-1", 1).await;
    let (suspended, sleeping) = agent(stage, "acme", "a-2", 2).await;
    let directory = CachedDirectory::new(stage.store.tenants(), None);
    assert!(matches!(directory.authenticate(&Credential::None).await, Err(AuthError::Missing)));
    assert!(matches!(directory.authenticate(&Credential::Key("adp_sk_wrong".into())).await, Err(AuthError::Invalid)));
    let tenants = stage.store.tenants();
    tenants.set_agent_status(suspended.tenant, &id("a-2"), AgentStatus::Suspended).await.unwrap();
    for _ in 0..2 {
        assert!(matches!(directory.authenticate(&shown(&sleeping)).await, Err(AuthError::Inactive)));
    }
    let principal = directory.authenticate(&shown(&key)).await.unwrap();
    assert_eq!(
        (principal.kind, principal.tenant, &principal.agent),
        (PrincipalKind::Agent, Some(record.tenant), &id("a-1"))
    );
    assert_eq!((principal.autonomy, principal.max_risk), (record.agent.autonomy, record.agent.max_risk));
    let mut used = None;
    for _ in 0..100 {
        used = tenants.keys(record.tenant, &id("a-1")).await.unwrap().remove(0).last_used_at;
        if used.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(used.is_some(), "a good key notes its use");
    let elsewhere = stage.another_node().await.tenants();
    let first = tenants.keys(record.tenant, &id("a-1")).await.unwrap().remove(0);
    elsewhere.revoke_key(first.id).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(matches!(directory.authenticate(&shown(&key)).await, Err(AuthError::Invalid)));
    tenants.set_agent_status(suspended.tenant, &id("a-2"), AgentStatus::Active).await.unwrap();
    directory.invalidate_all();
    assert!(directory.authenticate(&shown(&sleeping)).await.is_ok());
}

pub async fn tenant_keys_carry_scopes(stage: &Stage) {
    let tenants = stage.store.tenants();
    let tenant = tenants.add_tenant("acme").await.unwrap().id;
    let (admin, reader) = (ApiKey::from_random(TENANT_KEY, [3; 32]), ApiKey::from_random(TENANT_KEY, [4; 32]));
    let id = tenants.add_tenant_key(tenant, "operations team", &admin.hash(), &["admin".into()]).await.unwrap();
    let notes = ["notes/*".to_owned(), "role:viewer".to_owned()];
    tenants.add_tenant_key(tenant, "reader", &reader.hash(), &notes).await.unwrap();
    assert_eq!(stage.rows_with(admin.reveal()).await, 0);
    let directory = CachedDirectory::new(stage.store.tenants(), None);
    let principal = directory.authenticate(&shown(&admin)).await.unwrap();
    assert!(principal.is_admin() && principal.tenant == Some(tenant));
    let principal = directory.authenticate(&shown(&reader)).await.unwrap();
    assert_eq!((principal.kind, principal.scopes.clone()), (PrincipalKind::Agent, vec!["notes/*".to_owned()]));
    assert_eq!(
        (&principal.reach, principal.roles.as_slice()),
        (&KeyScopes::stored(notes.into()).reach, &["viewer".to_owned()][..])
    );
    let listed = tenants.tenant_keys(tenant).await.unwrap();
    let names: Vec<_> = listed.iter().map(|key| (key.name.as_str(), key.scopes.len(), key.is_active)).collect();
    assert_eq!(names, [("operations team", 1, true), ("reader", 2, true)]);
    let other = tenants.add_tenant("zeta").await.unwrap().id;
    assert!(tenants.tenant_keys(other).await.unwrap().is_empty(), "another tenant's");
    assert_eq!(tenants.tenant_keys_starting(&id.to_string()).await.unwrap().first().map(|key| key.id), Some(id));
    tenants.revoke_key(id).await.unwrap();
    directory.invalidate_all();
    assert!(matches!(directory.authenticate(&shown(&admin)).await, Err(AuthError::Invalid)));
    assert!(tenants.tenant_keys_starting(&id.to_string()).await.unwrap().is_empty(), "only those that open something");
}

pub async fn nobody_may_be_somebody(stage: &Stage) {
    let (record, _) = agent(stage, "acme", "guest", 1).await;
    let directory = CachedDirectory::new(stage.store.tenants(), Some(id("guest")));
    let principal = directory.authenticate(&Credential::None).await.unwrap();
    assert_eq!((principal.tenant, &principal.agent), (Some(record.tenant), &id("guest")));
    let nobody = CachedDirectory::new(stage.store.tenants(), Some(id("missing")));
    assert!(matches!(nobody.authenticate(&Credential::None).await, Err(AuthError::Inactive)));
}

pub async fn many_callers_at_once_are_served(stage: &Stage) {
    let (_, key) = agent(stage, "acme", "a-1", 1).await;
    let directory = Arc::new(CachedDirectory::new(stage.store.tenants(), None));
    let callers = (0..100).map(|_| {
        let (directory, credential) = (Arc::clone(&directory), shown(&key));
        tokio::spawn(async move { directory.authenticate(&credential).await.is_ok() })
    });
    for caller in callers.collect::<Vec<_>>() {
        assert!(caller.await.unwrap());
    }
}
