//! Policies as rows.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gateway_core::ports::{
    AccessRow, AgentPolicyRow, DlpRow, ManifestRow, NewAccessPolicy, NewAgentPolicy, NewDlpConfig, PolicyKind,
    PolicyStore, StoreError,
};
use gateway_core::verdict::PolicyMode;
use gateway_core::{TenantId, ToolName};
use serde_json::Value;
use uuid::Uuid;

use super::{tenant, unused};

/// `agent_policies` and nothing else.
#[derive(Clone, Default)]
pub(in crate::adp) struct Rows(Arc<Mutex<Vec<AgentPolicyRow>>>);

impl Rows {
    pub(in crate::adp) fn with(self, policy_id: &str, severity: Option<&str>, rule: Value) -> Self {
        self.0.lock().unwrap().push(row(tenant(1), policy_id, policy_id, severity, rule));
        self
    }

    pub(in crate::adp) fn inactive(self, policy_id: &str) -> Self {
        for row in self.0.lock().unwrap().iter_mut().filter(|row| row.policy_id == policy_id) {
            row.is_active = false;
        }
        self
    }

    pub(in crate::adp) fn all(&self) -> Vec<AgentPolicyRow> {
        self.0.lock().unwrap().clone()
    }
}

fn row(tenant: TenantId, policy_id: &str, name: &str, severity: Option<&str>, rule: Value) -> AgentPolicyRow {
    AgentPolicyRow {
        id: Uuid::nil(),
        tenant: Some(tenant),
        policy_id: policy_id.into(),
        name: name.into(),
        category: None,
        severity: severity.map(Into::into),
        rule,
        regulatory_mapping: Vec::new(),
        is_active: true,
        mode: PolicyMode::Shadow,
        created_at: "2026-02-23T00:00:00.000Z".into(),
    }
}

#[async_trait]
impl PolicyStore for Rows {
    async fn agent_policies(&self, tenant: TenantId) -> Result<Vec<AgentPolicyRow>, StoreError> {
        Ok(self.all().into_iter().filter(|row| row.tenant.is_none_or(|owner| owner == tenant)).collect())
    }

    async fn add_agent_policy(&self, tenant: TenantId, policy: &NewAgentPolicy) -> Result<Uuid, StoreError> {
        let mut rows = self.0.lock().unwrap();
        if rows.iter().any(|row| row.tenant == Some(tenant) && row.policy_id == policy.policy_id) {
            return Err(StoreError::Exists(policy.policy_id.clone()));
        }
        let severity = policy.severity.map(|severity| severity.as_str());
        let new = row(tenant, &policy.policy_id, &policy.name, severity, policy.rule.clone());
        rows.push(AgentPolicyRow { regulatory_mapping: policy.regulatory_mapping.clone(), ..new });
        Ok(Uuid::nil())
    }

    async fn set_agent_policy_active(&self, _: TenantId, _: Uuid, _: bool) -> Result<(), StoreError> {
        unused()
    }

    async fn set_policy_mode(
        &self,
        _: TenantId,
        _: PolicyKind,
        _: Uuid,
        _: PolicyMode,
        _: &str,
    ) -> Result<Option<PolicyMode>, StoreError> {
        unused()
    }

    async fn access_policies(&self, _: TenantId) -> Result<Vec<AccessRow>, StoreError> {
        unused()
    }

    async fn add_access_policy(&self, _: TenantId, _: &NewAccessPolicy) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn remove_access_policy(&self, _: TenantId, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn dlp_configs(&self, _: TenantId) -> Result<Vec<DlpRow>, StoreError> {
        unused()
    }

    async fn add_dlp_config(&self, _: TenantId, _: &NewDlpConfig) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn remove_dlp_config(&self, _: TenantId, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn manifests(&self, _: TenantId) -> Result<Vec<ManifestRow>, StoreError> {
        unused()
    }

    async fn put_manifest(&self, _: &ManifestRow) -> Result<(), StoreError> {
        unused()
    }

    async fn remove_manifest(&self, _: TenantId, _: &ToolName) -> Result<(), StoreError> {
        unused()
    }
}
