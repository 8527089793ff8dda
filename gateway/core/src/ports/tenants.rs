//! Tenants, their agents, and the keys of both.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::StoreError;
use crate::classification::{Autonomy, DecisionType, Risk};
use crate::identity::Principal;
use crate::names::{AgentId, TenantId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    pub id: TenantId,
    pub name: String,
    pub created_at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    Active,
    Suspended,
    Revoked,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewAgent {
    pub agent_id: AgentId,
    pub name: String,
    pub description: Option<String>,
    pub autonomy: Autonomy,
    pub allowed_types: Vec<DecisionType>,
    pub max_risk: Risk,
    pub owner_name: Option<String>,
    pub owner_email: Option<String>,
    /// What access policies know it by; kept in the registry's `metadata.roles`.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Absent for what was added at the command line; kept in the registry's `metadata.registered_by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_by: Option<Registrar>,
}

/// The administrator's key that an agent was registered with, and whose it was: neither is another pair of eyes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registrar {
    /// As its holder is known: `key-ID`.
    pub key: AgentId,
    #[serde(default)]
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    pub id: Uuid,
    pub tenant: TenantId,
    #[serde(flatten)]
    pub agent: NewAgent,
    pub status: AgentStatus,
    /// Whatever else the registry holds of it; its roles among them.
    pub metadata: Value,
    pub created_at: String,
    pub updated_at: String,
}

/// A key as it may be stored and shown: never the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredKey {
    pub id: Uuid,
    pub prefix: String,
    pub created_at: String,
    pub last_used_at: Option<String>,
    pub revoked_at: Option<String>,
}

/// A tenant's own key as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantKey {
    pub id: Uuid,
    pub name: String,
    pub scopes: Vec<String>,
    pub is_active: bool,
    pub created_at: String,
    pub last_used_at: Option<String>,
}

/// What a key's hash leads to.
#[derive(Debug, Clone)]
pub struct KeyOwner {
    pub key_id: Uuid,
    pub key_hash: String,
    pub principal: Principal,
    /// False once the key is revoked or switched off.
    pub key_active: bool,
    pub agent_status: AgentStatus,
}

/// Tenants, agents and their keys. Every query names its tenant, except the one that finds out whose a key is.
#[async_trait]
pub trait TenantStore: Send + Sync {
    async fn add_tenant(&self, name: &str) -> Result<Tenant, StoreError>;
    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError>;
    async fn tenant(&self, name_or_id: &str) -> Result<Tenant, StoreError>;
    /// A tenant key (`api_keys`) with scopes; only hash is stored.
    async fn add_tenant_key(
        &self,
        tenant: TenantId,
        name: &str,
        key_hash: &str,
        scopes: &[String],
    ) -> Result<Uuid, StoreError>;
    async fn tenant_keys(&self, tenant: TenantId) -> Result<Vec<TenantKey>, StoreError>;
    /// Active keys of all tenants whose id starts with the given text (an operator's question). They have no prefix.
    async fn tenant_keys_starting(&self, text: &str) -> Result<Vec<TenantKey>, StoreError>;
    /// Agent and first key in one transaction: no agent is left behind without one.
    async fn add_agent(
        &self,
        tenant: TenantId,
        agent: &NewAgent,
        key_hash: &str,
        key_prefix: &str,
    ) -> Result<AgentRecord, StoreError>;
    async fn agents(&self, tenant: TenantId) -> Result<Vec<AgentRecord>, StoreError>;
    async fn agent(&self, tenant: TenantId, agent: &AgentId) -> Result<AgentRecord, StoreError>;
    async fn set_agent_autonomy(&self, tenant: TenantId, agent: &AgentId, autonomy: Autonomy)
    -> Result<(), StoreError>;
    /// Replaces all it had.
    async fn set_agent_roles(&self, tenant: TenantId, agent: &AgentId, roles: &[String]) -> Result<(), StoreError>;
    async fn set_agent_status(&self, tenant: TenantId, agent: &AgentId, status: AgentStatus) -> Result<(), StoreError>;
    async fn add_key(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        key_hash: &str,
        key_prefix: &str,
    ) -> Result<Uuid, StoreError>;
    async fn keys(&self, tenant: TenantId, agent: &AgentId) -> Result<Vec<StoredKey>, StoreError>;
    /// Active keys whose prefix, or whose id, starts with the given text; agent keys of all tenants (an operator's question).
    async fn keys_starting(&self, text: &str) -> Result<Vec<StoredKey>, StoreError>;
    async fn revoke_key(&self, key: Uuid) -> Result<(), StoreError>;
    /// Agent keys and tenant keys alike.
    async fn key_owner(&self, key_hash: &str) -> Result<Option<KeyOwner>, StoreError>;
    async fn touch_key(&self, key: Uuid) -> Result<(), StoreError>;
    /// The agent that callers without credentials act as: looked up in every tenant, refused if two have it.
    async fn find_agent_anywhere(&self, agent: &AgentId) -> Result<AgentRecord, StoreError>;
}
