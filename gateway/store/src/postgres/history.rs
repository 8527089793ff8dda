//! What was decided and how it ended, and what was proved, in Postgres.

use async_trait::async_trait;
use gateway_core::ports::{CallCursor, History, Proof, Proofs, RecordedCall, StoreError, ToolCount};
use gateway_core::{AgentId, BoxError, TenantId, Trace};
use jiff::Timestamp;
use serde_json::Value;
use sqlx::postgres::{PgPool, PgRow, Postgres};
use sqlx::types::Json;
use sqlx::{Row, Transaction};
use uuid::Uuid;

use super::ledger::trace;
use super::scoped::scoped;
use crate::failure::{not_added, unavailable};

pub(crate) struct PostgresHistory(pub PgPool);

/// A trace with the row beside it.
macro_rules! calls {
    () => {
        "SELECT t.seq, t.trace_id, t.agent_id, t.event_type, t.decision_type, t.risk_level, t.reversibility, \
         t.classification_code, t.description, t.reasoning, t.\"authorization\", t.context, t.previous_hash, t.event_hash, \
         to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), t.organization_id, a.input_payload, a.status_code \
         FROM agent_traces t LEFT JOIN audit_logs a ON a.trace_id = t.trace_id"
    };
}

impl PostgresHistory {
    /// As the tenant where there is one: row security holds for what is read of the past too.
    async fn reading(&self, tenant: Option<TenantId>) -> Result<Transaction<'static, Postgres>, StoreError> {
        match tenant {
            Some(tenant) => scoped(&self.0, tenant).await,
            None => self.0.begin().await.map_err(unavailable),
        }
    }
}

#[async_trait]
impl History for PostgresHistory {
    async fn trace(&self, id: &str) -> Result<Option<(Option<TenantId>, Trace)>, StoreError> {
        Ok(self.call(id).await?.map(|call| (call.tenant, call.trace)))
    }

    async fn call(&self, id: &str) -> Result<Option<RecordedCall>, StoreError> {
        // Whose it is comes with it, and whoever asked is told or not by that.
        let row = sqlx::query(concat!(calls!(), " WHERE t.trace_id = $1")).bind(id).fetch_optional(&self.0).await;
        row.map_err(unavailable)?.map(|row| call(&row).map_err(unavailable)).transpose()
    }

    async fn calls(&self, after: &CallCursor, limit: i64) -> Result<Vec<RecordedCall>, StoreError> {
        let mut transaction = self.reading(after.tenant).await?;
        let rows = sqlx::query(concat!(
            calls!(),
            " WHERE COALESCE(t.organization_id, '00000000-0000-0000-0000-000000000000') = $1 AND t.agent_id = $2 \
             AND t.seq > COALESCE((SELECT seq FROM agent_traces WHERE trace_id = $3), 0) \
             AND ($4::text IS NULL OR t.created_at >= $4::text::timestamptz) \
             AND t.event_type IN ('decision', 'escalation') ORDER BY t.seq LIMIT $5"
        ))
        .bind(after.tenant.map_or(Uuid::nil(), |tenant| tenant.0))
        .bind(after.agent.as_str())
        .bind(after.after.as_ref().map(gateway_core::TraceId::as_str))
        .bind(after.since.map(|since| since.to_string()))
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        rows.iter().map(call).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn record_of(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        since: Timestamp,
    ) -> Result<Vec<ToolCount>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let rows = sqlx::query(concat!(
            "SELECT t.name, COALESCE(a.risk_classification ->> 'risk_level', '') AS risk, count(*) AS calls, ",
            outcomes!(),
            " FROM audit_logs a JOIN tool_registry t ON t.id = a.tool_id \
             WHERE a.tenant_id = $1 AND a.agent_id = $2 AND a.timestamp >= $3::text::timestamptz GROUP BY 1, 2 ORDER BY 1, 2"
        ))
        .bind(tenant.0)
        .bind(agent.as_str())
        .bind(since.to_string())
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        let count = |row: &PgRow| -> Result<ToolCount, sqlx::Error> {
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

fn call(row: &PgRow) -> Result<RecordedCall, BoxError> {
    Ok(RecordedCall {
        tenant: row.try_get::<Option<Uuid>, _>(15)?.map(TenantId),
        trace: trace(row)?,
        input: row.try_get::<Option<Json<Value>>, _>(16)?.map(|json| json.0),
        status: row.try_get(17)?,
    })
}

pub(crate) struct PostgresProofs(pub PgPool);

#[async_trait]
impl Proofs for PostgresProofs {
    async fn keep(&self, proof: &Proof) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO proofs (id, tenant_id, scope, digests, holds, document, trace_id, at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::timestamptz)",
        )
        .bind(proof.id)
        .bind(proof.tenant.map(|tenant| tenant.0))
        .bind(Json(&proof.scope))
        .bind(Json(&proof.digests))
        .bind(proof.holds)
        .bind(Json(proof))
        .bind(proof.trace_id.as_ref().map(gateway_core::TraceId::as_str))
        .bind(proof.at.to_string())
        .execute(&self.0)
        .await
        .map_err(|error| not_added(error, || format!("proof `{}`", proof.id)))?;
        Ok(())
    }

    async fn latest(&self, tenant: Option<TenantId>) -> Result<Option<Proof>, StoreError> {
        let row = sqlx::query(
            "SELECT document FROM proofs WHERE tenant_id IS NOT DISTINCT FROM $1 ORDER BY at DESC, id DESC LIMIT 1",
        )
        .bind(tenant.map(|tenant| tenant.0))
        .fetch_optional(&self.0)
        .await
        .map_err(unavailable)?;
        let read = |row: PgRow| row.try_get::<Json<Proof>, _>(0).map(|json| json.0).map_err(unavailable);
        row.map(read).transpose()
    }
}
