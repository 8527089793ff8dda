//! Tenants' own policies and manifests.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::StoreError;
use crate::classification::scale;
use crate::names::{TenantId, ToolName};
use crate::rules::{AgentPolicy, Severity, WrittenPolicy};
use crate::verdict::PolicyMode;

/// An `agent_policies` row to be. `rule` was compiled before it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewAgentPolicy {
    pub policy_id: String,
    pub name: String,
    pub category: Option<String>,
    pub severity: Option<Severity>,
    pub rule: Value,
    pub regulatory_mapping: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentPolicyRow {
    pub id: Uuid,
    /// `None`: every tenant's.
    pub tenant: Option<TenantId>,
    pub policy_id: String,
    pub name: String,
    pub category: Option<String>,
    /// As written: a row made by hand may say anything.
    pub severity: Option<String>,
    pub rule: Value,
    pub regulatory_mapping: Vec<String>,
    pub is_active: bool,
    /// `shadow` until somebody says otherwise.
    pub mode: PolicyMode,
    pub created_at: String,
}

impl AgentPolicyRow {
    /// What it says, or why that cannot be read.
    pub fn compile(&self) -> Result<AgentPolicy, String> {
        let severity = self.severity.as_deref().map(str::parse).transpose();
        let written = WrittenPolicy {
            id: Some(self.id),
            policy_id: self.policy_id.clone(),
            name: self.name.clone(),
            category: self.category.clone(),
            severity: severity.map_err(|error| format!("severity: {error}"))?,
            rule: self.rule.clone(),
            regulatory_mapping: self.regulatory_mapping.clone(),
            mode: Some(self.mode),
        };
        AgentPolicy::compile(&written).map_err(|error| error.to_string())
    }
}

scale!(RuleType, "RBAC, ABAC", { Rbac = "RBAC", Abac = "ABAC", });

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewAccessPolicy {
    pub name: String,
    pub rule_type: RuleType,
    pub rule_definition: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccessRow {
    pub id: Uuid,
    pub tenant: Option<TenantId>,
    pub name: String,
    /// As written: a row made by hand may say anything, and then it is broken.
    pub rule_type: String,
    pub rule_definition: Value,
    pub is_active: bool,
    /// `None`: nobody gave it one, and it is obeyed.
    pub mode: Option<PolicyMode>,
}

/// A tenant's own word on a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManifestRow {
    pub tenant: TenantId,
    pub tool: ToolName,
    pub manifest: Value,
    pub handling: Option<Value>,
    pub metadata: Option<Value>,
    pub written_by: String,
    pub written_at: String,
}

/// A tenant's own word on personal data and secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DlpRow {
    pub id: Uuid,
    /// `None`: every tenant's.
    pub tenant: Option<TenantId>,
    pub name: String,
    /// As written: a row made by hand may say anything, and then it is broken.
    pub patterns: Value,
    pub severity: Option<String>,
    pub is_active: bool,
}

/// A `dlp_config` row to be. It was compiled beside the tenant's others before it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewDlpConfig {
    pub name: String,
    /// `medium` unless it says otherwise.
    #[serde(default)]
    pub severity: Option<String>,
    pub patterns: Value,
}

/// Which table a policy stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyKind {
    Agent,
    Access,
}

impl PolicyKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Access => "access",
        }
    }
}

#[async_trait]
pub trait PolicyStore: Send + Sync {
    /// The tenant's own, then everybody's; inactive ones too.
    async fn agent_policies(&self, tenant: TenantId) -> Result<Vec<AgentPolicyRow>, StoreError>;
    /// `Exists` where the tenant has one of this `policy_id`.
    async fn add_agent_policy(&self, tenant: TenantId, policy: &NewAgentPolicy) -> Result<Uuid, StoreError>;
    async fn set_agent_policy_active(&self, tenant: TenantId, policy: Uuid, active: bool) -> Result<(), StoreError>;
    /// The mode before.
    async fn set_policy_mode(
        &self,
        tenant: TenantId,
        kind: PolicyKind,
        policy: Uuid,
        mode: PolicyMode,
        by: &str,
    ) -> Result<Option<PolicyMode>, StoreError>;
    async fn access_policies(&self, tenant: TenantId) -> Result<Vec<AccessRow>, StoreError>;
    async fn add_access_policy(&self, tenant: TenantId, policy: &NewAccessPolicy) -> Result<Uuid, StoreError>;
    async fn remove_access_policy(&self, tenant: TenantId, policy: Uuid) -> Result<(), StoreError>;
    /// The tenant's own alone, inactive ones too.
    async fn dlp_configs(&self, tenant: TenantId) -> Result<Vec<DlpRow>, StoreError>;
    async fn add_dlp_config(&self, tenant: TenantId, config: &NewDlpConfig) -> Result<Uuid, StoreError>;
    async fn remove_dlp_config(&self, tenant: TenantId, config: Uuid) -> Result<(), StoreError>;
    async fn manifests(&self, tenant: TenantId) -> Result<Vec<ManifestRow>, StoreError>;
    /// Replaces what the tenant said of this tool before.
    async fn put_manifest(&self, row: &ManifestRow) -> Result<(), StoreError>;
    async fn remove_manifest(&self, tenant: TenantId, tool: &ToolName) -> Result<(), StoreError>;
}
