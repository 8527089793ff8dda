//! The statements of one append in Postgres: columns travel as arrays, one statement a table.

use std::collections::HashMap;

use gateway_core::outcome::AuditRow;
use gateway_core::ports::Receipt;
use gateway_core::trace::{Head, Placed, TraceDraft, written_time};
use gateway_core::{TenantId, ToolName, TraceId};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::batch::{Chains, KnownTools, SEEN, registered, row_id};
use crate::failure::Failure;

/// Rows for chains that begin now, in the order of all locks.
pub(super) async fn make_heads(connection: &mut PgConnection, fresh: &[(String, String)]) -> Result<(), Failure> {
    if fresh.is_empty() {
        return Ok(());
    }
    let (keys, agents): (Vec<&str>, Vec<&str>) =
        fresh.iter().map(|(key, agent)| (key.as_str(), agent.as_str())).unzip();
    sqlx::query(
        "INSERT INTO chain_heads (organization_key, agent_id, seq)
         SELECT key, agent, 0 FROM unnest($1::text[], $2::text[]) AS fresh (key, agent) ORDER BY key, agent
         ON CONFLICT DO NOTHING",
    )
    .bind(keys)
    .bind(agents)
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn lock_heads(connection: &mut PgConnection, chains: &mut Chains<'_>) -> Result<(), Failure> {
    if chains.keys.is_empty() {
        return Ok(());
    }
    let (keys, agents): (Vec<&str>, Vec<&str>) = chains.keys.iter().map(|(key, agent)| (key.as_str(), *agent)).unzip();
    // The lock is taken above the sort, row by row, so every node takes it in this order.
    let rows = sqlx::query(
        "SELECT place, seq, event_hash
         FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (key, agent, place)
         JOIN chain_heads ON organization_key = key AND agent_id = agent
         ORDER BY organization_key, agent_id FOR UPDATE OF chain_heads",
    )
    .bind(keys)
    .bind(agents)
    .fetch_all(connection)
    .await?;
    if rows.len() != chains.keys.len() {
        return Err(Failure::Conflict(sqlx::Error::RowNotFound.into()));
    }
    for row in rows {
        let place = usize::try_from(row.try_get::<i64, _>(0)? - 1).unwrap_or(usize::MAX);
        chains.set(place, Head { seq: row.try_get(1)?, event_hash: row.try_get(2)? });
    }
    Ok(())
}

pub(super) async fn move_heads(connection: &mut PgConnection, chains: &Chains<'_>) -> Result<(), Failure> {
    let (keys, agents): (Vec<&str>, Vec<&str>) = chains.keys.iter().map(|(key, agent)| (key.as_str(), *agent)).unzip();
    let (places, hashes): (Vec<i64>, Vec<Option<&str>>) =
        chains.heads.iter().map(|head| (head.seq, head.event_hash.as_deref())).unzip();
    sqlx::query(
        "UPDATE chain_heads SET seq = moved.seq, event_hash = moved.hash
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS moved (key, agent, seq, hash)
         WHERE organization_key = key AND agent_id = agent",
    )
    .bind(keys)
    .bind(agents)
    .bind(places)
    .bind(hashes)
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn stored(
    connection: &mut PgConnection,
    traces: &[&TraceDraft],
) -> Result<HashMap<TraceId, Receipt>, Failure> {
    let ids: Vec<_> = traces.iter().map(|draft| draft.trace_id.as_str()).collect();
    let rows =
        sqlx::query("SELECT trace_id, seq, previous_hash, event_hash FROM agent_traces WHERE trace_id = ANY($1)")
            .bind(ids)
            .fetch_all(connection)
            .await?;
    let mut receipts = HashMap::with_capacity(rows.len());
    for row in rows {
        let trace_id = TraceId::from_stored(row.try_get::<&str, _>(0)?);
        let receipt = Receipt {
            trace_id: trace_id.clone(),
            seq: row.try_get(1)?,
            previous_hash: row.try_get(2)?,
            event_hash: row.try_get(3)?,
        };
        receipts.insert(trace_id, receipt);
    }
    Ok(receipts)
}

/// An operator's row of any version serves; only without one is a bare row made.
pub(super) async fn register(
    connection: &mut PgConnection,
    tenant: TenantId,
    tool: &ToolName,
) -> Result<Uuid, Failure> {
    sqlx::query(
        "INSERT INTO tool_registry (tenant_id, name, version, schema) SELECT $1, $2, $3, '{}'
         WHERE NOT EXISTS (SELECT 1 FROM tool_registry WHERE tenant_id = $1 AND name = $2) ON CONFLICT DO NOTHING",
    )
    .bind(tenant.0)
    .bind(tool.as_str())
    .bind(SEEN)
    .execute(&mut *connection)
    .await?;
    let id = sqlx::query_scalar(
        "SELECT id FROM tool_registry WHERE tenant_id = $1 AND name = $2
         ORDER BY is_recommended DESC NULLS LAST, version = $3 DESC, created_at LIMIT 1",
    )
    .bind(tenant.0)
    .bind(tool.as_str())
    .bind(SEEN)
    .fetch_one(connection)
    .await?;
    Ok(id)
}

pub(super) async fn insert_traces(
    connection: &mut PgConnection,
    traces: &[(&TraceDraft, Placed)],
) -> Result<(), Failure> {
    /// One column of all traces.
    macro_rules! column {
        (|_, $placed:ident| $value:expr) => {
            traces.iter().map(|(_, $placed)| $value).collect::<Vec<_>>()
        };
        (|$draft:ident| $value:expr) => {
            traces.iter().map(|($draft, _)| $value).collect::<Vec<_>>()
        };
    }
    sqlx::query(
        "INSERT INTO agent_traces (id, organization_id, trace_id, agent_id, event_type, decision_type, risk_level, reversibility,
             classification_code, description, reasoning, \"authorization\", context, previous_hash, event_hash, created_at, seq)
         SELECT a, b, c, d, e, f, g, h, i, j, k, l::jsonb, m::jsonb, n, o, p::timestamptz, q
         FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
             $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[])
             AS linked (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)",
    )
    .bind(column!(|draft| row_id(&draft.trace_id)))
    .bind(column!(|draft| draft.tenant.map(|tenant| tenant.0)))
    .bind(column!(|draft| draft.trace_id.as_str()))
    .bind(column!(|draft| draft.agent.as_str()))
    .bind(column!(|draft| draft.event_type.as_str()))
    .bind(column!(|draft| draft.classification.map(|part| part.decision_type.as_str())))
    .bind(column!(|draft| draft.classification.map(|part| part.risk.as_str())))
    .bind(column!(|draft| draft.classification.map(|part| part.reversibility.as_str())))
    .bind(column!(|_, placed| placed.code.as_deref()))
    .bind(column!(|draft| draft.description.as_deref()))
    .bind(column!(|draft| draft.reasoning.as_deref()))
    .bind(column!(|draft| draft.authorization.as_column()))
    .bind(column!(|draft| draft.context.as_column()))
    .bind(column!(|_, placed| placed.previous_hash.as_deref()))
    .bind(column!(|_, placed| placed.event_hash.as_str()))
    .bind(column!(|_, placed| placed.timestamp.as_str()))
    .bind(column!(|_, placed| placed.seq))
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn insert_rows(
    connection: &mut PgConnection,
    rows: &[&AuditRow],
    tools: &KnownTools<'_>,
) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    /// One column of all rows.
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    // A replayed row is the row that is there.
    sqlx::query(
        "INSERT INTO audit_logs (tenant_id, agent_id, tool_id, input_payload, output_payload, risk_classification,
             execution_time_ms, status_code, timestamp, trace_id)
         SELECT a, b, c, d::jsonb, e::jsonb, f::jsonb, g, h, i::timestamptz, j
         FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::int[], $8::text[], $9::text[],
             $10::text[]) AS settled (a, b, c, d, e, f, g, h, i, j)
         ON CONFLICT (trace_id) DO NOTHING",
    )
    .bind(column!(|row| row.tenant.map(|tenant| tenant.0)))
    .bind(column!(|row| row.agent.as_str()))
    .bind(column!(|row| registered(row).and_then(|key| tools.get(&key)).copied()))
    .bind(column!(|row| row.input.as_ref().map(|input| input.as_str())))
    .bind(column!(|row| row.output.as_ref().map(|output| output.as_str())))
    .bind(column!(|row| row.risk_classification()))
    .bind(column!(|row| i32::try_from(row.execution_time_ms).unwrap_or(i32::MAX)))
    .bind(column!(|row| row.status.as_str()))
    .bind(column!(|row| written_time(row.timestamp)))
    .bind(column!(|row| row.trace_id.as_str()))
    .execute(connection)
    .await?;
    Ok(())
}
