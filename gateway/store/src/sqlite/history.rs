//! What was decided and how it ended, and what was proved, in SQLite.

use async_trait::async_trait;
use gateway_core::ports::{CallCursor, History, Proof, Proofs, RecordedCall, StoreError, ToolCount};
use gateway_core::{AgentId, BoxError, TenantId, Trace};
use jiff::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqlitePools;
use super::ledger::trace;
use super::rows::optional_uuid;
use crate::batch::organization_key;
use crate::failure::{not_added, unavailable};

pub(crate) struct SqliteHistory(pub SqlitePools);

/// A trace with the row beside it.
macro_rules! calls {
    () => {
        "SELECT t.seq, t.trace_id, t.agent_id, t.event_type, t.decision_type, t.risk_level, t.reversibility, \
         t.classification_code, t.description, t.reasoning, t.\"authorization\", t.context, t.previous_hash, t.event_hash, \
         t.created_at, t.organization_id, a.input_payload, a.status_code \
         FROM agent_traces t LEFT JOIN audit_logs a ON a.trace_id = t.trace_id"
    };
}

#[async_trait]
impl History for SqliteHistory {
    async fn trace(&self, id: &str) -> Result<Option<(Option<TenantId>, Trace)>, StoreError> {
        Ok(self.call(id).await?.map(|call| (call.tenant, call.trace)))
    }

    async fn call(&self, id: &str) -> Result<Option<RecordedCall>, StoreError> {
        let asked = sqlx::query(concat!(calls!(), " WHERE t.trace_id = ?1")).bind(id);
        let row = asked.fetch_optional(&self.0.readers).await.map_err(unavailable)?;
        row.map(|row| call(&row).map_err(unavailable)).transpose()
    }

    async fn calls(&self, after: &CallCursor, limit: i64) -> Result<Vec<RecordedCall>, StoreError> {
        let rows = sqlx::query(concat!(
            calls!(),
            " WHERE COALESCE(t.organization_id, '') = ?1 AND t.agent_id = ?2 \
             AND t.seq > COALESCE((SELECT seq FROM agent_traces WHERE trace_id = ?3), 0) \
             AND (?4 IS NULL OR t.created_at >= ?4) \
             AND t.event_type IN ('decision', 'escalation') ORDER BY t.seq LIMIT ?5"
        ))
        .bind(organization_key(after.tenant))
        .bind(after.agent.as_str())
        .bind(after.after.as_ref().map(gateway_core::TraceId::as_str))
        .bind(after.since.map(written))
        .bind(limit)
        .fetch_all(&self.0.readers)
        .await
        .map_err(unavailable)?;
        rows.iter().map(call).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn record_of(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        since: Timestamp,
    ) -> Result<Vec<ToolCount>, StoreError> {
        let rows = sqlx::query(concat!(
            "SELECT t.name AS name, COALESCE(a.risk_classification ->> 'risk_level', '') AS risk, count(*) AS calls, ",
            outcomes!(),
            " FROM audit_logs a JOIN tool_registry t ON t.id = a.tool_id \
             WHERE a.tenant_id = ?1 AND a.agent_id = ?2 AND a.timestamp >= ?3 GROUP BY 1, 2 ORDER BY 1, 2"
        ))
        .bind(tenant.to_string())
        .bind(agent.as_str())
        .bind(written(since))
        .fetch_all(&self.0.readers)
        .await
        .map_err(unavailable)?;
        let count = |row: &SqliteRow| -> Result<ToolCount, sqlx::Error> {
            Ok(ToolCount {
                tool: row.try_get("name")?,
                risk: row.try_get("risk")?,
                calls: row.try_get("calls")?,
                ok: row.try_get("ok")?,
                denied: row.try_get("denied")?,
                errors: row.try_get("errors")?,
            })
        };
        rows.iter().map(count).collect::<Result<_, _>>().map_err(unavailable)
    }
}

/// As the rows have it, so that the two compare as text.
fn written(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn call(row: &SqliteRow) -> Result<RecordedCall, BoxError> {
    let input: Option<String> = row.try_get(16)?;
    Ok(RecordedCall {
        tenant: optional_uuid(row, "organization_id")?.map(TenantId),
        trace: trace(row)?,
        input: input.map(|text| serde_json::from_str(&text)).transpose()?,
        status: row.try_get(17)?,
    })
}

pub(crate) struct SqliteProofs(pub SqlitePools);

#[async_trait]
impl Proofs for SqliteProofs {
    async fn keep(&self, proof: &Proof) -> Result<(), StoreError> {
        let document = serde_json::to_string(proof).map_err(unavailable)?;
        sqlx::query(
            "INSERT INTO proofs (id, tenant_id, scope, digests, holds, document, trace_id, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )
        .bind(proof.id.to_string())
        .bind(proof.tenant.map(|tenant| tenant.to_string()))
        .bind(proof.scope.to_string())
        .bind(proof.digests.to_string())
        .bind(proof.holds)
        .bind(document)
        .bind(proof.trace_id.as_ref().map(gateway_core::TraceId::as_str))
        .bind(written(proof.at))
        .execute(&self.0.writer)
        .await
        .map_err(|error| not_added(error, || format!("proof `{}`", proof.id)))?;
        Ok(())
    }

    async fn latest(&self, tenant: Option<TenantId>) -> Result<Option<Proof>, StoreError> {
        let row = sqlx::query("SELECT document FROM proofs WHERE tenant_id IS ?1 ORDER BY at DESC, id DESC LIMIT 1")
            .bind(tenant.map(|tenant| tenant.to_string()))
            .fetch_optional(&self.0.readers)
            .await
            .map_err(unavailable)?;
        let Some(row) = row else { return Ok(None) };
        let document: String = row.try_get(0).map_err(unavailable)?;
        serde_json::from_str(&document).map(Some).map_err(unavailable)
    }
}
