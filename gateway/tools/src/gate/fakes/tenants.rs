//! `tenant-001` and `tenant-002`, and nothing more to know of them.

use async_trait::async_trait;
use gateway_core::ports::{
    AgentRecord, AgentStatus, KeyOwner, NewAgent, StoreError, StoredKey, Tenant, TenantKey, TenantStore,
};
use gateway_core::{AgentId, Autonomy, TenantId};
use uuid::Uuid;

use super::tenant;

pub(super) struct TwoTenants;

fn unused<T>() -> Result<T, StoreError> {
    Err(StoreError::Invalid("no gate tool asks this".into()))
}

#[async_trait]
impl TenantStore for TwoTenants {
    async fn tenant(&self, name_or_id: &str) -> Result<Tenant, StoreError> {
        let named =
            |number: &u128| name_or_id == format!("tenant-00{number}") || name_or_id == tenant(*number).to_string();
        let number = [1, 2].into_iter().find(named).ok_or_else(|| StoreError::NotFound(name_or_id.into()))?;
        Ok(Tenant { id: tenant(number), name: name_or_id.into(), created_at: String::new() })
    }

    async fn add_tenant(&self, _: &str) -> Result<Tenant, StoreError> {
        unused()
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        unused()
    }

    async fn add_tenant_key(&self, _: TenantId, _: &str, _: &str, _: &[String]) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn tenant_keys(&self, _: TenantId) -> Result<Vec<TenantKey>, StoreError> {
        unused()
    }

    async fn tenant_keys_starting(&self, _: &str) -> Result<Vec<TenantKey>, StoreError> {
        unused()
    }

    async fn add_agent(&self, _: TenantId, _: &NewAgent, _: &str, _: &str) -> Result<AgentRecord, StoreError> {
        unused()
    }

    async fn agents(&self, _: TenantId) -> Result<Vec<AgentRecord>, StoreError> {
        unused()
    }

    async fn agent(&self, _: TenantId, _: &AgentId) -> Result<AgentRecord, StoreError> {
        unused()
    }

    async fn set_agent_autonomy(&self, _: TenantId, _: &AgentId, _: Autonomy) -> Result<(), StoreError> {
        unused()
    }

    async fn set_agent_roles(&self, _: TenantId, _: &AgentId, _: &[String]) -> Result<(), StoreError> {
        unused()
    }

    async fn set_agent_status(&self, _: TenantId, _: &AgentId, _: AgentStatus) -> Result<(), StoreError> {
        unused()
    }

    async fn add_key(&self, _: TenantId, _: &AgentId, _: &str, _: &str) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn keys(&self, _: TenantId, _: &AgentId) -> Result<Vec<StoredKey>, StoreError> {
        unused()
    }

    async fn keys_starting(&self, _: &str) -> Result<Vec<StoredKey>, StoreError> {
        unused()
    }

    async fn revoke_key(&self, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn key_owner(&self, _: &str) -> Result<Option<KeyOwner>, StoreError> {
        unused()
    }

    async fn touch_key(&self, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn find_agent_anywhere(&self, _: &AgentId) -> Result<AgentRecord, StoreError> {
        unused()
    }
}
