//! The statements of one append in SQLite: few texts, each prepared once, many rows a statement.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use gateway_core::outcome::AuditRow;
use gateway_core::ports::Receipt;
use gateway_core::trace::{Head, Placed, TraceDraft, written_time};
use gateway_core::{TenantId, ToolName, TraceId};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, AssertSqlSafe, Row, SqliteConnection};
use uuid::Uuid;

use crate::batch::{Chains, KnownTools, SEEN, registered, row_id};
use crate::failure::Failure;

pub(super) async fn read_heads(connection: &mut SqliteConnection, chains: &mut Chains<'_>) -> Result<(), Failure> {
    let wanted = serde_json::to_string(&chains.keys).map_err(|error| Failure::Away(error.into()))?;
    let rows = sqlx::query(
        "SELECT wanted.key, seq, event_hash FROM json_each(?1) AS wanted
         CROSS JOIN chain_heads ON organization_key = wanted.value ->> 0 AND agent_id = wanted.value ->> 1",
    )
    .bind(wanted)
    .fetch_all(connection)
    .await?;
    for row in rows {
        let place = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX);
        chains.set(place, Head { seq: row.try_get(1)?, event_hash: row.try_get(2)? });
    }
    Ok(())
}

pub(super) async fn stored(
    connection: &mut SqliteConnection,
    traces: &[&TraceDraft],
) -> Result<HashMap<TraceId, Receipt>, Failure> {
    let ids: Vec<_> = traces.iter().map(|draft| draft.trace_id.as_str()).collect();
    let ids = serde_json::to_string(&ids).map_err(|error| Failure::Away(error.into()))?;
    let rows = sqlx::query(
        "SELECT trace_id, seq, previous_hash, event_hash FROM json_each(?1) CROSS JOIN agent_traces ON trace_id = value",
    )
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
    connection: &mut SqliteConnection,
    tenant: TenantId,
    tool: &ToolName,
) -> Result<Uuid, Failure> {
    sqlx::query(
        "INSERT INTO tool_registry (id, tenant_id, name, version, schema) SELECT ?1, ?2, ?3, ?4, '{}'
         WHERE NOT EXISTS (SELECT 1 FROM tool_registry WHERE tenant_id = ?2 AND name = ?3)",
    )
    .bind(Uuid::now_v7().to_string())
    .bind(tenant.0.to_string())
    .bind(tool.as_str())
    .bind(SEEN)
    .execute(&mut *connection)
    .await?;
    let id: String = sqlx::query_scalar(
        "SELECT id FROM tool_registry WHERE tenant_id = ?1 AND name = ?2 ORDER BY is_recommended DESC, version = ?3 DESC, created_at LIMIT 1",
    )
    .bind(tenant.0.to_string())
    .bind(tool.as_str())
    .bind(SEEN)
    .fetch_one(connection)
    .await?;
    Uuid::try_parse(&id).map_err(|error| Failure::Away(error.into()))
}

/// Everything an append writes, as a rule in one go: each question to SQLite's thread costs two switches of threads, which
/// for a small batch is more than the work itself.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    traces: Vec<(&TraceDraft, Placed)>,
    chains: &Chains<'_>,
    rows: &[&AuditRow],
    tools: &KnownTools<'_>,
) -> Result<(), Failure> {
    let moved = !traces.is_empty();
    let (mut traces, mut rows) = (traces.into_iter(), rows.iter());
    while traces.len() > 0 || rows.len() > 0 {
        let last = traces.len() <= MOST && rows.len() <= MOST;
        let (some, others) = (size(traces.len()), size(rows.len()));
        let mut arguments = SqliteArguments::default();
        arguments.reserve((some + 1) * TRACE_COLUMNS + others * ROW_COLUMNS, 0);
        let taken = traces.len().min(some);
        for (draft, placed) in traces.by_ref().take(taken) {
            bind_trace(&mut arguments, draft, placed).map_err(sqlx::Error::Encode)?;
        }
        for _ in 0..(some - taken) * TRACE_COLUMNS {
            arguments.add(None::<i64>).map_err(sqlx::Error::Encode)?;
        }
        if moved && last {
            arguments.add(heads(chains)?).map_err(sqlx::Error::Encode)?;
        }
        // What is missing behind the last argument is null by itself.
        for row in rows.by_ref().take(others) {
            let tool = registered(row).and_then(|key| tools.get(&key));
            bind_row(&mut arguments, row, tool).map_err(sqlx::Error::Encode)?;
        }
        let text = statement(some, moved && last, others);
        sqlx::query_with(AssertSqlSafe(text), arguments).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Sizes of statements: few, so that each is prepared once. A smaller batch leaves the rest of its statement null.
const SIZES: [usize; 6] = [0, 1, 4, 16, 64, MOST];
const MOST: usize = 256;

fn size(rows: usize) -> usize {
    SIZES.into_iter().find(|size| *size >= rows).unwrap_or(MOST)
}

type Texts = HashMap<(usize, bool, usize), Arc<str>>;

fn statement(traces: usize, moves: bool, rows: usize) -> Arc<str> {
    static TEXTS: LazyLock<Texts> = LazyLock::new(|| {
        let mut texts = HashMap::new();
        for (traces, rows) in SIZES.into_iter().flat_map(|traces| SIZES.map(|rows| (traces, rows))) {
            for moves in [false, true] {
                texts.insert((traces, moves, rows), statement_text(traces, moves, rows).into());
            }
        }
        texts
    });
    TEXTS.get(&(traces, moves, rows)).cloned().unwrap_or_else(|| statement_text(traces, moves, rows).into())
}

const TRACE_COLUMNS: usize = 17;
const ROW_COLUMNS: usize = 10;

fn statement_text(traces: usize, moves: bool, rows: usize) -> String {
    let values = |columns: usize, rows: usize| {
        let row = format!("({})", vec!["?"; columns].join(","));
        vec![row; rows].join(",")
    };
    let mut text = String::new();
    if traces > 0 {
        text += "INSERT INTO agent_traces (id, organization_id, trace_id, agent_id, event_type, decision_type, risk_level, \
                 reversibility, classification_code, description, reasoning, \"authorization\", context, previous_hash, \
                 event_hash, created_at, seq) SELECT * FROM (VALUES ";
        text += &values(TRACE_COLUMNS, traces);
        text += ") WHERE column1 IS NOT NULL;";
    }
    if moves {
        text += "INSERT INTO chain_heads (organization_key, agent_id, seq, event_hash) \
                 SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?) WHERE true \
                 ON CONFLICT DO UPDATE SET seq = excluded.seq, event_hash = excluded.event_hash;";
    }
    if rows > 0 {
        // A replayed row is the row that is there.
        text += "INSERT INTO audit_logs (tenant_id, agent_id, tool_id, input_payload, output_payload, risk_classification, \
                 execution_time_ms, status_code, timestamp, trace_id) SELECT * FROM (VALUES ";
        text += &values(ROW_COLUMNS, rows);
        text += ") WHERE column10 IS NOT NULL ON CONFLICT (trace_id) DO NOTHING;";
    }
    text
}

/// The heads as they are now, for one argument.
fn heads(chains: &Chains<'_>) -> Result<String, Failure> {
    let moved: Vec<_> = (chains.keys.iter().zip(&chains.heads))
        .map(|((key, agent), head)| (key, agent, head.seq, &head.event_hash))
        .collect();
    serde_json::to_string(&moved).map_err(|error| Failure::Away(error.into()))
}

fn bind_trace(
    arguments: &mut SqliteArguments,
    draft: &TraceDraft,
    placed: Placed,
) -> Result<(), sqlx::error::BoxDynError> {
    let part = draft.classification;
    arguments.add(row_id(&draft.trace_id).to_string())?;
    arguments.add(draft.tenant.map(|tenant| tenant.0.to_string()))?;
    arguments.add(draft.trace_id.as_str())?;
    arguments.add(draft.agent.as_str())?;
    arguments.add(draft.event_type.as_str())?;
    arguments.add(part.map(|part| part.decision_type.as_str()))?;
    arguments.add(part.map(|part| part.risk.as_str()))?;
    arguments.add(part.map(|part| part.reversibility.as_str()))?;
    arguments.add(placed.code)?;
    arguments.add(draft.description.as_deref())?;
    arguments.add(draft.reasoning.as_deref())?;
    arguments.add(draft.authorization.as_column().map(str::to_owned))?;
    arguments.add(draft.context.as_column().map(str::to_owned))?;
    arguments.add(placed.previous_hash)?;
    arguments.add(placed.event_hash)?;
    arguments.add(placed.timestamp)?;
    arguments.add(placed.seq)
}

fn bind_row(
    arguments: &mut SqliteArguments,
    row: &AuditRow,
    tool: Option<&Uuid>,
) -> Result<(), sqlx::error::BoxDynError> {
    arguments.add(row.tenant.map(|tenant| tenant.0.to_string()))?;
    arguments.add(row.agent.as_str())?;
    arguments.add(tool.map(Uuid::to_string))?;
    arguments.add(row.input.as_ref().map(|input| input.as_str()))?;
    arguments.add(row.output.as_ref().map(|output| output.as_str()))?;
    arguments.add(row.risk_classification())?;
    arguments.add(row.execution_time_ms)?;
    arguments.add(row.status.as_str())?;
    arguments.add(written_time(row.timestamp))?;
    arguments.add(row.trace_id.as_str())
}
