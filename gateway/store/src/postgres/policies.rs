//! Tenants' policies and manifests in Postgres.

use async_trait::async_trait;
use gateway_core::ports::{
    AccessRow, AgentPolicyRow, DlpRow, ManifestRow, NewAccessPolicy, NewAgentPolicy, NewDlpConfig, PolicyKind,
    PolicyStore, StoreError,
};
use gateway_core::verdict::PolicyMode;
use gateway_core::{BoxError, TenantId, ToolName};
use sqlx::Row;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::types::Json;
use uuid::Uuid;

use super::live::{access_row, agent_policy, dlp_row, manifest};
use super::scoped::scoped;
use crate::failure::{not_added, unavailable};
use crate::live::{BORN_IN, USUAL_SEVERITY, dlp_gone, policy_gone, read_mode};

pub(crate) struct PostgresPolicies(pub PgPool);

#[async_trait]
impl PolicyStore for PostgresPolicies {
    async fn agent_policies(&self, tenant: TenantId) -> Result<Vec<AgentPolicyRow>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let rows = sqlx::query(
            "SELECT p.id, p.organization_id, p.policy_id, p.name, p.category, p.severity, p.rule, p.regulatory_mapping, \
             m.mode, p.active IS NOT FALSE AS active, \
             to_char(p.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS created_at \
             FROM agent_policies p LEFT JOIN policy_modes m ON m.kind = 'agent' AND m.policy = p.id \
             WHERE p.organization_id = $1 OR p.organization_id IS NULL \
             ORDER BY p.organization_id NULLS LAST, p.policy_id",
        )
        .bind(tenant.0)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        rows.iter().map(kept).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn add_agent_policy(&self, tenant: TenantId, policy: &NewAgentPolicy) -> Result<Uuid, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let id = Uuid::now_v7();
        sqlx::query(
            "INSERT INTO agent_policies (id, organization_id, policy_id, name, category, severity, rule, regulatory_mapping) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(id)
        .bind(tenant.0)
        .bind(&policy.policy_id)
        .bind(&policy.name)
        .bind(&policy.category)
        .bind(policy.severity.map(gateway_core::rules::Severity::as_str))
        .bind(Json(&policy.rule))
        .bind(&policy.regulatory_mapping)
        .execute(&mut *transaction)
        .await
        .map_err(|error| not_added(error, || format!("policy `{}`", policy.policy_id)))?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(id)
    }

    async fn set_agent_policy_active(&self, tenant: TenantId, policy: Uuid, active: bool) -> Result<(), StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let done = sqlx::query(
            "UPDATE agent_policies SET active = $3, updated_at = now() WHERE id = $1 AND organization_id = $2",
        )
        .bind(policy)
        .bind(tenant.0)
        .bind(active)
        .execute(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        if done.rows_affected() == 1 { Ok(()) } else { Err(policy_gone(policy)) }
    }

    async fn set_policy_mode(
        &self,
        tenant: TenantId,
        kind: PolicyKind,
        policy: Uuid,
        mode: PolicyMode,
        by: &str,
    ) -> Result<Option<PolicyMode>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        // Held until the mode is written: nobody removes it in between.
        let own = match kind {
            PolicyKind::Agent => "SELECT 1 FROM agent_policies WHERE id = $1 AND organization_id = $2 FOR UPDATE",
            PolicyKind::Access => "SELECT 1 FROM access_policies WHERE id = $1 AND tenant_id = $2 FOR UPDATE",
        };
        let own = sqlx::query(own).bind(policy).bind(tenant.0).fetch_optional(&mut *transaction).await;
        own.map_err(unavailable)?.ok_or_else(|| policy_gone(policy))?;
        let before: Option<String> =
            sqlx::query_scalar("SELECT mode FROM policy_modes WHERE kind = $1 AND policy = $2")
                .bind(kind.as_str())
                .bind(policy)
                .fetch_optional(&mut *transaction)
                .await
                .map_err(unavailable)?;
        sqlx::query(
            "INSERT INTO policy_modes (kind, policy, mode, changed_by) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (kind, policy) DO UPDATE SET mode = $3, changed_by = $4, changed_at = now()",
        )
        .bind(kind.as_str())
        .bind(policy)
        .bind(mode.as_str())
        .bind(by)
        .execute(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        read_mode(before).map_err(unavailable)
    }

    async fn access_policies(&self, tenant: TenantId) -> Result<Vec<AccessRow>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let rows = sqlx::query(
            "SELECT p.id, p.tenant_id, p.name, p.rule_type, p.rule_definition, m.mode FROM access_policies p \
             LEFT JOIN policy_modes m ON m.kind = 'access' AND m.policy = p.id \
             WHERE p.tenant_id = $1 OR p.tenant_id IS NULL ORDER BY p.tenant_id NULLS LAST, p.name, p.id",
        )
        .bind(tenant.0)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        rows.iter().map(access_row).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn add_access_policy(&self, tenant: TenantId, policy: &NewAccessPolicy) -> Result<Uuid, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let id = Uuid::now_v7();
        sqlx::query(
            "INSERT INTO access_policies (id, tenant_id, name, rule_type, rule_definition) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(id)
        .bind(tenant.0)
        .bind(&policy.name)
        .bind(policy.rule_type.as_str())
        .bind(Json(&policy.rule_definition))
        .execute(&mut *transaction)
        .await
        .map_err(|error| not_added(error, || format!("access policy `{}`", policy.name)))?;
        // In the same breath: a row without a mode is obeyed, and a new one must not be.
        sqlx::query("INSERT INTO policy_modes (kind, policy, mode, changed_by) VALUES ('access', $1, 'shadow', $2)")
            .bind(id)
            .bind(BORN_IN)
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(id)
    }

    async fn remove_access_policy(&self, tenant: TenantId, policy: Uuid) -> Result<(), StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        // The mode first: whose it is can be seen only while the policy is there.
        sqlx::query(
            "DELETE FROM policy_modes WHERE kind = 'access' AND policy = $1 \
             AND EXISTS (SELECT 1 FROM access_policies WHERE id = $1 AND tenant_id = $2)",
        )
        .bind(policy)
        .bind(tenant.0)
        .execute(&mut *transaction)
        .await
        .map_err(unavailable)?;
        let done = sqlx::query("DELETE FROM access_policies WHERE id = $1 AND tenant_id = $2")
            .bind(policy)
            .bind(tenant.0)
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
        if done.rows_affected() == 0 {
            return Err(policy_gone(policy));
        }
        transaction.commit().await.map_err(unavailable)
    }

    async fn dlp_configs(&self, tenant: TenantId) -> Result<Vec<DlpRow>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let rows = sqlx::query(
            "SELECT id, tenant_id, name, patterns, severity, is_active IS NOT FALSE AS active FROM dlp_config \
             WHERE tenant_id = $1 ORDER BY name, id",
        )
        .bind(tenant.0)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        let kept = |row: &PgRow| Ok::<_, BoxError>(DlpRow { is_active: row.try_get("active")?, ..dlp_row(row)? });
        rows.iter().map(kept).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn add_dlp_config(&self, tenant: TenantId, config: &NewDlpConfig) -> Result<Uuid, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let id = Uuid::now_v7();
        sqlx::query("INSERT INTO dlp_config (id, tenant_id, name, patterns, severity) VALUES ($1, $2, $3, $4, $5)")
            .bind(id)
            .bind(tenant.0)
            .bind(&config.name)
            .bind(Json(&config.patterns))
            .bind(config.severity.as_deref().unwrap_or(USUAL_SEVERITY))
            .execute(&mut *transaction)
            .await
            .map_err(|error| not_added(error, || format!("dlp config `{}`", config.name)))?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(id)
    }

    async fn remove_dlp_config(&self, tenant: TenantId, config: Uuid) -> Result<(), StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let done = sqlx::query("DELETE FROM dlp_config WHERE id = $1 AND tenant_id = $2")
            .bind(config)
            .bind(tenant.0)
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        if done.rows_affected() == 1 { Ok(()) } else { Err(dlp_gone(config)) }
    }

    async fn manifests(&self, tenant: TenantId) -> Result<Vec<ManifestRow>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let rows = sqlx::query(
            "SELECT tenant_id, tool, manifest, handling, metadata, written_by, \
             to_char(written_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS written_at \
             FROM tool_manifests WHERE tenant_id = $1 ORDER BY tool",
        )
        .bind(tenant.0)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        rows.iter().map(manifest).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn put_manifest(&self, row: &ManifestRow) -> Result<(), StoreError> {
        let mut transaction = scoped(&self.0, row.tenant).await?;
        sqlx::query(
            "INSERT INTO tool_manifests (tenant_id, tool, manifest, handling, metadata, written_by) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant_id, tool) DO UPDATE SET manifest = $3, handling = $4, \
             metadata = $5, written_by = $6, written_at = now()",
        )
        .bind(row.tenant.0)
        .bind(row.tool.as_str())
        .bind(Json(&row.manifest))
        .bind(row.handling.as_ref().map(Json))
        .bind(row.metadata.as_ref().map(Json))
        .bind(&row.written_by)
        .execute(&mut *transaction)
        .await
        .map_err(|error| not_added(error, || format!("the manifest of `{}`", row.tool)))?;
        transaction.commit().await.map_err(unavailable)
    }

    async fn remove_manifest(&self, tenant: TenantId, tool: &ToolName) -> Result<(), StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let done = sqlx::query("DELETE FROM tool_manifests WHERE tenant_id = $1 AND tool = $2")
            .bind(tenant.0)
            .bind(tool.as_str())
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        match done.rows_affected() {
            0 => Err(StoreError::NotFound(format!("a manifest of `{tool}`"))),
            _ => Ok(()),
        }
    }
}

/// A row that may have been taken out of force.
fn kept(row: &PgRow) -> Result<AgentPolicyRow, BoxError> {
    Ok(AgentPolicyRow { is_active: row.try_get("active")?, ..agent_policy(row)? })
}
