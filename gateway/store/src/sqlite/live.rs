//! Live rows in SQLite: read in one snapshot, found by looking.

use std::time::Duration;

use async_trait::async_trait;
use gateway_core::BoxError;
use gateway_core::ports::{AccessRow, AgentPolicyRow, DlpRow, LiveRows, LiveStore, ManifestRow, PinRow, StoreError};
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use uuid::Uuid;

use super::SqlitePools;
use super::rows::{optional_uuid, strings, tenant, uuid};
use super::standing::{IN_FORCE, suspension};
use crate::failure::unavailable;
use crate::live::{ManifestColumns, PinColumns, PolicyColumns, access, dlp, left_out};
use crate::once::patiently;

pub(crate) struct SqliteLive(pub SqlitePools);

#[async_trait]
impl LiveStore for SqliteLive {
    async fn revision(&self) -> Result<i64, StoreError> {
        let asked = sqlx::query_scalar("SELECT revision FROM live_revisions WHERE name = 'live'");
        patiently(asked.fetch_one(&self.0.readers)).await
    }

    async fn rows(&self) -> Result<LiveRows, StoreError> {
        // The first question of a transaction fixes what all of them see.
        let mut transaction = self.0.readers.begin().await.map_err(unavailable)?;
        let rows = read(&mut transaction).await.map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(rows)
    }

    async fn wait_changed(&self, at_most: Duration) {
        tokio::time::sleep(at_most).await;
    }
}

async fn read(connection: &mut SqliteConnection) -> Result<LiveRows, BoxError> {
    let revision = sqlx::query_scalar("SELECT revision FROM live_revisions WHERE name = 'live'")
        .fetch_one(&mut *connection)
        .await?;
    let tenants =
        sqlx::query("SELECT id, name, created_at FROM tenants ORDER BY id").fetch_all(&mut *connection).await?;
    let agent_policies = sqlx::query(
        "SELECT p.id, p.organization_id, p.policy_id, p.name, p.category, p.severity, p.rule, p.regulatory_mapping, m.mode, \
         p.created_at FROM agent_policies p LEFT JOIN policy_modes m ON m.kind = 'agent' AND m.policy = p.id \
         WHERE p.active IS NOT 0 ORDER BY p.organization_id, p.policy_id",
    )
    .fetch_all(&mut *connection)
    .await?;
    let access_policies = sqlx::query(
        "SELECT p.id, p.tenant_id, p.name, p.rule_type, p.rule_definition, m.mode FROM access_policies p \
         LEFT JOIN policy_modes m ON m.kind = 'access' AND m.policy = p.id ORDER BY p.tenant_id, p.name, p.id",
    )
    .fetch_all(&mut *connection)
    .await?;
    let manifests = sqlx::query(
        "SELECT tenant_id, tool, manifest, handling, metadata, written_by, written_at FROM tool_manifests \
         ORDER BY tenant_id, tool",
    )
    .fetch_all(&mut *connection)
    .await?;
    let pins = sqlx::query(
        "SELECT tool, hash, state, definition, findings, seen_from, \"by\", at FROM tool_pins ORDER BY tool, at, hash",
    )
    .fetch_all(&mut *connection)
    .await?;
    let looked_for = sqlx::query(
        "SELECT id, tenant_id, name, patterns, severity FROM dlp_config WHERE is_active IS NOT 0 ORDER BY tenant_id, name, id",
    )
    .fetch_all(&mut *connection)
    .await?;
    let suspensions = sqlx::query(IN_FORCE).fetch_all(&mut *connection).await?;
    Ok(LiveRows {
        revision,
        tenants: tenants.iter().map(tenant).collect::<Result<_, _>>()?,
        agent_policies: agent_policies.iter().filter_map(|row| left_out("agent_policies", agent_policy(row))).collect(),
        access_policies: access_policies
            .iter()
            .filter_map(|row| left_out("access_policies", access_row(row)))
            .collect(),
        manifests: manifests.iter().filter_map(|row| left_out("tool_manifests", manifest(row))).collect(),
        dlp: looked_for.iter().filter_map(|row| left_out("dlp_config", dlp_row(row))).collect(),
        pins: pins.iter().filter_map(|row| left_out("tool_pins", pin(row))).collect(),
        suspensions: suspensions.iter().filter_map(|row| left_out("suspensions", suspension(row))).collect(),
    })
}

/// A text that the table holds to be JSON; one that we cannot read says nothing anybody could follow.
fn json(row: &SqliteRow, column: &str) -> Result<Value, BoxError> {
    Ok(serde_json::from_str(row.try_get(column)?).unwrap_or_default())
}

fn optional_json(row: &SqliteRow, column: &str) -> Result<Option<Value>, BoxError> {
    let text: Option<String> = row.try_get(column)?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
}

/// A row made by hand may have any text for its id; only the gateway's own lead back to it.
fn own_id(row: &SqliteRow) -> Uuid {
    uuid(row, "id").unwrap_or_default()
}

pub(super) fn agent_policy(row: &SqliteRow) -> Result<AgentPolicyRow, BoxError> {
    let columns = PolicyColumns {
        id: own_id(row),
        tenant: optional_uuid(row, "organization_id")?,
        policy_id: row.try_get("policy_id")?,
        name: row.try_get("name")?,
        category: row.try_get("category")?,
        severity: row.try_get("severity")?,
        rule: json(row, "rule")?,
        // What regulation it serves is for readers; a list that is none must not take the policy with it.
        regulatory_mapping: strings(row, "regulatory_mapping").unwrap_or_default(),
        mode: row.try_get("mode")?,
        created_at: row.try_get("created_at")?,
    };
    columns.row()
}

pub(super) fn access_row(row: &SqliteRow) -> Result<AccessRow, BoxError> {
    access(
        own_id(row),
        optional_uuid(row, "tenant_id")?,
        row.try_get("name")?,
        row.try_get("rule_type")?,
        json(row, "rule_definition")?,
        row.try_get("mode")?,
    )
}

pub(super) fn dlp_row(row: &SqliteRow) -> Result<DlpRow, BoxError> {
    let tenant = optional_uuid(row, "tenant_id")?;
    Ok(dlp(own_id(row), tenant, row.try_get("name")?, json(row, "patterns")?, row.try_get("severity")?))
}

pub(super) fn manifest(row: &SqliteRow) -> Result<ManifestRow, BoxError> {
    let columns = ManifestColumns {
        tenant: uuid(row, "tenant_id")?,
        tool: row.try_get("tool")?,
        manifest: json(row, "manifest")?,
        handling: optional_json(row, "handling")?,
        metadata: optional_json(row, "metadata")?,
        written_by: row.try_get("written_by")?,
        written_at: row.try_get("written_at")?,
    };
    columns.row()
}

pub(super) fn pin(row: &SqliteRow) -> Result<PinRow, BoxError> {
    let columns = PinColumns {
        tool: row.try_get("tool")?,
        hash: row.try_get("hash")?,
        state: row.try_get("state")?,
        definition: json(row, "definition")?,
        findings: json(row, "findings")?,
        seen_from: row.try_get("seen_from")?,
        by: row.try_get("by")?,
        at: row.try_get("at")?,
    };
    columns.row()
}
