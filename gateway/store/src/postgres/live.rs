//! Live rows in Postgres: read in one snapshot, with a notification when they change.
//!
//! The notification only shortens the wait. It comes over a connection of its own, and while that is away nodes look at the
//! revision as often as they do on SQLite.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::BoxError;
use gateway_core::ports::{AccessRow, AgentPolicyRow, DlpRow, LiveRows, LiveStore, ManifestRow, PinRow, StoreError};
use serde_json::Value;
use sqlx::Row;
use sqlx::postgres::{PgConnection, PgListener, PgPool, PgPoolOptions, PgRow};
use sqlx::types::Json;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::rows::tenant;
use super::standing::{IN_FORCE, suspension};
use crate::failure::unavailable;
use crate::live::{ManifestColumns, PinColumns, PolicyColumns, access, dlp, left_out};
use crate::once::patiently;

const CHANNEL: &str = "portreeve_live";
/// Between two tries to hear again.
const DEAF: Duration = Duration::from_secs(2);

pub(crate) struct PostgresLive {
    pool: PgPool,
    heard: Arc<Notify>,
    /// Listens since somebody first waited: a command that reads once needs no ears.
    listening: OnceLock<AbortHandle>,
}

impl PostgresLive {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, heard: Arc::new(Notify::new()), listening: OnceLock::new() }
    }
}

impl Drop for PostgresLive {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.get() {
            listening.abort();
        }
    }
}

#[async_trait]
impl LiveStore for PostgresLive {
    async fn revision(&self) -> Result<i64, StoreError> {
        patiently(sqlx::query_scalar("SELECT revision FROM live_revisions WHERE name = 'live'").fetch_one(&self.pool))
            .await
    }

    async fn rows(&self) -> Result<LiveRows, StoreError> {
        let mut transaction = self.pool.begin().await.map_err(unavailable)?;
        sqlx::raw_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
        let rows = read(&mut transaction).await.map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(rows)
    }

    async fn wait_changed(&self, at_most: Duration) {
        self.listening.get_or_init(|| tokio::spawn(listen(self.pool.clone(), Arc::clone(&self.heard))).abort_handle());
        let _ = tokio::time::timeout(at_most, self.heard.notified()).await;
    }
}

/// Hears notifications for as long as it is let.
async fn listen(pool: PgPool, heard: Arc<Notify>) {
    let options = pool.connect_options().as_ref().clone();
    let own = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None).connect_lazy_with(options);
    loop {
        if let Err(error) = hear(&own, &heard).await {
            tracing::warn!("changes are found by looking for them until the database tells of them again: {error}");
        }
        tokio::time::sleep(DEAF).await;
    }
}

async fn hear(own: &PgPool, heard: &Notify) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(own).await?;
    listener.listen(CHANNEL).await?;
    loop {
        listener.recv().await?;
        heard.notify_one();
    }
}

macro_rules! time {
    ($column:literal) => {
        concat!("to_char(", $column, " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
    };
}

/// The revision first: it is the one of the snapshot that everything else is read from.
async fn read(connection: &mut PgConnection) -> Result<LiveRows, BoxError> {
    let revision = sqlx::query_scalar("SELECT revision FROM live_revisions WHERE name = 'live'")
        .fetch_one(&mut *connection)
        .await?;
    let tenants =
        sqlx::query(concat!("SELECT id, name, ", time!("created_at"), " AS created_at FROM tenants ORDER BY id"))
            .fetch_all(&mut *connection)
            .await?;
    let agent_policies = sqlx::query(concat!(
        "SELECT p.id, p.organization_id, p.policy_id, p.name, p.category, p.severity, p.rule, p.regulatory_mapping, m.mode, ",
        time!("p.created_at"),
        " AS created_at FROM agent_policies p LEFT JOIN policy_modes m ON m.kind = 'agent' AND m.policy = p.id \
         WHERE p.active IS NOT FALSE ORDER BY p.organization_id, p.policy_id"
    ))
    .fetch_all(&mut *connection)
    .await?;
    let access_policies = sqlx::query(
        "SELECT p.id, p.tenant_id, p.name, p.rule_type, p.rule_definition, m.mode FROM access_policies p \
         LEFT JOIN policy_modes m ON m.kind = 'access' AND m.policy = p.id ORDER BY p.tenant_id, p.name, p.id",
    )
    .fetch_all(&mut *connection)
    .await?;
    let manifests = sqlx::query(concat!(
        "SELECT tenant_id, tool, manifest, handling, metadata, written_by, ",
        time!("written_at"),
        " AS written_at FROM tool_manifests ORDER BY tenant_id, tool"
    ))
    .fetch_all(&mut *connection)
    .await?;
    let pins = sqlx::query(PINS).fetch_all(&mut *connection).await?;
    let looked_for = sqlx::query(
        "SELECT id, tenant_id, name, patterns, severity FROM dlp_config WHERE is_active IS NOT FALSE ORDER BY tenant_id, name, id",
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

pub(super) fn agent_policy(row: &PgRow) -> Result<AgentPolicyRow, BoxError> {
    let columns = PolicyColumns {
        id: row.try_get("id")?,
        tenant: row.try_get("organization_id")?,
        policy_id: row.try_get("policy_id")?,
        name: row.try_get("name")?,
        category: row.try_get("category")?,
        severity: row.try_get("severity")?,
        rule: row.try_get::<Json<Value>, _>("rule")?.0,
        regulatory_mapping: row
            .try_get::<Option<Vec<Option<String>>>, _>("regulatory_mapping")?
            .unwrap_or_default()
            .into_iter()
            .flatten()
            .collect(),
        mode: row.try_get("mode")?,
        created_at: row.try_get("created_at")?,
    };
    columns.row()
}

pub(super) fn access_row(row: &PgRow) -> Result<AccessRow, BoxError> {
    access(
        row.try_get("id")?,
        row.try_get("tenant_id")?,
        row.try_get("name")?,
        row.try_get("rule_type")?,
        row.try_get::<Json<Value>, _>("rule_definition")?.0,
        row.try_get("mode")?,
    )
}

pub(super) fn dlp_row(row: &PgRow) -> Result<DlpRow, BoxError> {
    let patterns = row.try_get::<Json<Value>, _>("patterns")?.0;
    Ok(dlp(row.try_get("id")?, row.try_get("tenant_id")?, row.try_get("name")?, patterns, row.try_get("severity")?))
}

pub(super) fn manifest(row: &PgRow) -> Result<ManifestRow, BoxError> {
    let optional = |column| Ok::<_, sqlx::Error>(row.try_get::<Option<Json<Value>>, _>(column)?.map(|json| json.0));
    let columns = ManifestColumns {
        tenant: row.try_get("tenant_id")?,
        tool: row.try_get("tool")?,
        manifest: row.try_get::<Json<Value>, _>("manifest")?.0,
        handling: optional("handling")?,
        metadata: optional("metadata")?,
        written_by: row.try_get("written_by")?,
        written_at: row.try_get("written_at")?,
    };
    columns.row()
}

/// Every definition that was accepted or held back.
pub(super) const PINS: &str = concat!(
    "SELECT tool, hash, state, definition, findings, seen_from, \"by\", ",
    time!("at"),
    " AS at FROM tool_pins ORDER BY tool, tool_pins.at, hash"
);

pub(super) fn pin(row: &PgRow) -> Result<PinRow, BoxError> {
    let columns = PinColumns {
        tool: row.try_get("tool")?,
        hash: row.try_get("hash")?,
        state: row.try_get("state")?,
        definition: row.try_get::<Json<Value>, _>("definition")?.0,
        findings: row.try_get::<Json<Value>, _>("findings")?.0,
        seen_from: row.try_get("seen_from")?,
        by: row.try_get("by")?,
        at: row.try_get("at")?,
    };
    columns.row()
}
