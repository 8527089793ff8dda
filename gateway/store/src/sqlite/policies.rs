//! Tenants' policies and manifests in SQLite. Every query names its tenant: nothing else keeps them apart here.

use async_trait::async_trait;
use gateway_core::ports::{
    AccessRow, AgentPolicyRow, DlpRow, ManifestRow, NewAccessPolicy, NewAgentPolicy, NewDlpConfig, PolicyKind,
    PolicyStore, StoreError,
};
use gateway_core::verdict::PolicyMode;
use gateway_core::{BoxError, TenantId, ToolName};
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::SqlitePools;
use super::live::{access_row, agent_policy, dlp_row, manifest};
use crate::failure::{not_added, unavailable};
use crate::live::{BORN_IN, USUAL_SEVERITY, dlp_gone, policy_gone, read_mode};
use crate::once::patiently;

pub(crate) struct SqlitePolicies(pub SqlitePools);

#[async_trait]
impl PolicyStore for SqlitePolicies {
    async fn agent_policies(&self, tenant: TenantId) -> Result<Vec<AgentPolicyRow>, StoreError> {
        let asked = sqlx::query(
            "SELECT p.id, p.organization_id, p.policy_id, p.name, p.category, p.severity, p.rule, p.regulatory_mapping, \
             m.mode, p.active IS NOT 0 AS active, p.created_at \
             FROM agent_policies p LEFT JOIN policy_modes m ON m.kind = 'agent' AND m.policy = p.id \
             WHERE p.organization_id = ?1 OR p.organization_id IS NULL \
             ORDER BY p.organization_id IS NULL, p.policy_id",
        )
        .bind(tenant.to_string())
        .fetch_all(&self.0.readers);
        patiently(asked).await?.iter().map(kept).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn add_agent_policy(&self, tenant: TenantId, policy: &NewAgentPolicy) -> Result<Uuid, StoreError> {
        let id = Uuid::now_v7();
        sqlx::query(
            "INSERT INTO agent_policies (id, organization_id, policy_id, name, category, severity, rule, regulatory_mapping) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )
        .bind(id.to_string())
        .bind(tenant.to_string())
        .bind(&policy.policy_id)
        .bind(&policy.name)
        .bind(&policy.category)
        .bind(policy.severity.map(gateway_core::rules::Severity::as_str))
        .bind(policy.rule.to_string())
        .bind(Value::from(policy.regulatory_mapping.as_slice()).to_string())
        .execute(&self.0.writer)
        .await
        .map_err(|error| not_added(error, || format!("policy `{}`", policy.policy_id)))?;
        Ok(id)
    }

    async fn set_agent_policy_active(&self, tenant: TenantId, policy: Uuid, active: bool) -> Result<(), StoreError> {
        let done = sqlx::query(
            "UPDATE agent_policies SET active = ?3, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') \
             WHERE id = ?1 AND organization_id = ?2",
        )
        .bind(policy.to_string())
        .bind(tenant.to_string())
        .bind(active)
        .execute(&self.0.writer);
        if patiently(done).await?.rows_affected() == 1 { Ok(()) } else { Err(policy_gone(policy)) }
    }

    async fn set_policy_mode(
        &self,
        tenant: TenantId,
        kind: PolicyKind,
        policy: Uuid,
        mode: PolicyMode,
        by: &str,
    ) -> Result<Option<PolicyMode>, StoreError> {
        let own = match kind {
            PolicyKind::Agent => "SELECT 1 FROM agent_policies WHERE id = ?1 AND organization_id = ?2",
            PolicyKind::Access => "SELECT 1 FROM access_policies WHERE id = ?1 AND tenant_id = ?2",
        };
        let mut transaction = self.0.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        let own = sqlx::query(own).bind(policy.to_string()).bind(tenant.to_string());
        let own = own.fetch_optional(&mut *transaction).await.map_err(unavailable)?;
        own.ok_or_else(|| policy_gone(policy))?;
        let before: Option<String> =
            sqlx::query_scalar("SELECT mode FROM policy_modes WHERE kind = ?1 AND policy = ?2")
                .bind(kind.as_str())
                .bind(policy.to_string())
                .fetch_optional(&mut *transaction)
                .await
                .map_err(unavailable)?;
        sqlx::query(
            "INSERT INTO policy_modes (kind, policy, mode, changed_by) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (kind, policy) DO UPDATE SET mode = ?3, changed_by = ?4, \
             changed_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
        )
        .bind(kind.as_str())
        .bind(policy.to_string())
        .bind(mode.as_str())
        .bind(by)
        .execute(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        read_mode(before).map_err(unavailable)
    }

    async fn access_policies(&self, tenant: TenantId) -> Result<Vec<AccessRow>, StoreError> {
        let asked = sqlx::query(
            "SELECT p.id, p.tenant_id, p.name, p.rule_type, p.rule_definition, m.mode FROM access_policies p \
             LEFT JOIN policy_modes m ON m.kind = 'access' AND m.policy = p.id \
             WHERE p.tenant_id = ?1 OR p.tenant_id IS NULL ORDER BY p.tenant_id IS NULL, p.name, p.id",
        )
        .bind(tenant.to_string())
        .fetch_all(&self.0.readers);
        patiently(asked).await?.iter().map(access_row).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn add_access_policy(&self, tenant: TenantId, policy: &NewAccessPolicy) -> Result<Uuid, StoreError> {
        let id = Uuid::now_v7();
        let mut transaction = self.0.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        sqlx::query(
            "INSERT INTO access_policies (id, tenant_id, name, rule_type, rule_definition) VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .bind(id.to_string())
        .bind(tenant.to_string())
        .bind(&policy.name)
        .bind(policy.rule_type.as_str())
        .bind(policy.rule_definition.to_string())
        .execute(&mut *transaction)
        .await
        .map_err(|error| not_added(error, || format!("access policy `{}`", policy.name)))?;
        // In the same breath: a row without a mode is obeyed, and a new one must not be.
        sqlx::query("INSERT INTO policy_modes (kind, policy, mode, changed_by) VALUES ('access', ?1, 'shadow', ?2)")
            .bind(id.to_string())
            .bind(BORN_IN)
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(id)
    }

    async fn remove_access_policy(&self, tenant: TenantId, policy: Uuid) -> Result<(), StoreError> {
        let mut transaction = self.0.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        let done = sqlx::query("DELETE FROM access_policies WHERE id = ?1 AND tenant_id = ?2")
            .bind(policy.to_string())
            .bind(tenant.to_string())
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
        if done.rows_affected() == 0 {
            return Err(policy_gone(policy));
        }
        sqlx::query("DELETE FROM policy_modes WHERE kind = 'access' AND policy = ?1")
            .bind(policy.to_string())
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)
    }

    async fn dlp_configs(&self, tenant: TenantId) -> Result<Vec<DlpRow>, StoreError> {
        let asked = sqlx::query(
            "SELECT id, tenant_id, name, patterns, severity, is_active IS NOT 0 AS active FROM dlp_config \
             WHERE tenant_id = ?1 ORDER BY name, id",
        )
        .bind(tenant.to_string())
        .fetch_all(&self.0.readers);
        let kept = |row: &SqliteRow| Ok::<_, BoxError>(DlpRow { is_active: row.try_get("active")?, ..dlp_row(row)? });
        patiently(asked).await?.iter().map(kept).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn add_dlp_config(&self, tenant: TenantId, config: &NewDlpConfig) -> Result<Uuid, StoreError> {
        let id = Uuid::now_v7();
        sqlx::query("INSERT INTO dlp_config (id, tenant_id, name, patterns, severity) VALUES (?1, ?2, ?3, ?4, ?5)")
            .bind(id.to_string())
            .bind(tenant.to_string())
            .bind(&config.name)
            .bind(config.patterns.to_string())
            .bind(config.severity.as_deref().unwrap_or(USUAL_SEVERITY))
            .execute(&self.0.writer)
            .await
            .map_err(|error| not_added(error, || format!("dlp config `{}`", config.name)))?;
        Ok(id)
    }

    async fn remove_dlp_config(&self, tenant: TenantId, config: Uuid) -> Result<(), StoreError> {
        let done = sqlx::query("DELETE FROM dlp_config WHERE id = ?1 AND tenant_id = ?2")
            .bind(config.to_string())
            .bind(tenant.to_string())
            .execute(&self.0.writer);
        if patiently(done).await?.rows_affected() == 1 { Ok(()) } else { Err(dlp_gone(config)) }
    }

    async fn manifests(&self, tenant: TenantId) -> Result<Vec<ManifestRow>, StoreError> {
        let asked = sqlx::query(
            "SELECT tenant_id, tool, manifest, handling, metadata, written_by, written_at FROM tool_manifests \
             WHERE tenant_id = ?1 ORDER BY tool",
        )
        .bind(tenant.to_string())
        .fetch_all(&self.0.readers);
        patiently(asked).await?.iter().map(manifest).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn put_manifest(&self, row: &ManifestRow) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO tool_manifests (tenant_id, tool, manifest, handling, metadata, written_by) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (tenant_id, tool) DO UPDATE SET manifest = ?3, handling = ?4, \
             metadata = ?5, written_by = ?6, written_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
        )
        .bind(row.tenant.to_string())
        .bind(row.tool.as_str())
        .bind(row.manifest.to_string())
        .bind(row.handling.as_ref().map(Value::to_string))
        .bind(row.metadata.as_ref().map(Value::to_string))
        .bind(&row.written_by)
        .execute(&self.0.writer)
        .await
        .map_err(|error| not_added(error, || format!("the manifest of `{}`", row.tool)))?;
        Ok(())
    }

    async fn remove_manifest(&self, tenant: TenantId, tool: &ToolName) -> Result<(), StoreError> {
        let done = sqlx::query("DELETE FROM tool_manifests WHERE tenant_id = ?1 AND tool = ?2")
            .bind(tenant.to_string())
            .bind(tool.as_str())
            .execute(&self.0.writer);
        match patiently(done).await?.rows_affected() {
            0 => Err(StoreError::NotFound(format!("a manifest of `{tool}`"))),
            _ => Ok(()),
        }
    }
}

/// A row that may have been taken out of force.
fn kept(row: &SqliteRow) -> Result<AgentPolicyRow, BoxError> {
    Ok(AgentPolicyRow { is_active: row.try_get("active")?, ..agent_policy(row)? })
}
