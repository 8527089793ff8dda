//! One append in SQLite. `BEGIN IMMEDIATE` is the lock on every head at once, and on tenants and tools as well: what is found
//! inside it stays until the commit.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use gateway_core::outcome::{AuditRow, JsonText};
use gateway_core::ports::{Receipt, Record};
use gateway_core::trace::{Head, Placed, TraceDraft, written_time};
use gateway_core::{TenantId, TraceId};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use uuid::Uuid;

use super::tool_ids::ToolIds;
use crate::batch::{organization_key, registered, row_id};
use crate::failure::{Failure, Refused};

/// The ledger's connection and what it remembers from batch to batch.
pub(super) struct Book {
    connection: Connection,
    tools: ToolIds,
}

impl Book {
    pub fn new(connection: Connection) -> Self {
        connection.set_prepared_statement_cache_capacity(32);
        Self { connection, tools: ToolIds::default() }
    }

    /// Receipts for the traces at the places that are `awaited`, which ascend.
    pub fn append(&mut self, records: &[Record], awaited: &[usize]) -> Result<Vec<(usize, Receipt)>, Failure> {
        // Trace ids are fresh almost always: asking whether one is stored already is left for when one turns out to be.
        match self.transaction(records, awaited, false) {
            Err(Failure::Conflict(_)) => self.transaction(records, awaited, true),
            other => other,
        }
    }

    fn transaction(
        &mut self,
        records: &[Record],
        awaited: &[usize],
        may_repeat: bool,
    ) -> Result<Vec<(usize, Receipt)>, Failure> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let written = write(&self.connection, &mut self.tools, records, awaited, may_repeat).and_then(|receipts| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(receipts)
        });
        if written.is_err() && !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        written
    }
}

fn write(
    connection: &Connection,
    tools: &mut ToolIds,
    records: &[Record],
    awaited: &[usize],
    may_repeat: bool,
) -> Result<Vec<(usize, Receipt)>, Failure> {
    tools.begin();
    let mut tenants = Tenants { find: connection.prepare_cached(FIND_TENANT)?, met: Vec::new() };
    let mut chains = Chains { find: connection.prepare_cached(FIND_HEAD)?, met: HashMap::new() };
    let mut traces = connection.prepare_cached(INSERT_TRACE)?;
    let mut rows = connection.prepare_cached(INSERT_ROW)?;
    let mut receipts = Vec::with_capacity(awaited.len());
    let mut awaited = awaited.iter().peekable();
    for (place, record) in records.iter().enumerate() {
        match record {
            Record::Trace(draft) => {
                let awaited = awaited.next_if_eq(&&place).is_some();
                let stored = if may_repeat { stored(connection, &draft.trace_id)? } else { None };
                if let Some(receipt) = stored {
                    receipts.extend(awaited.then_some((place, receipt)));
                    continue;
                }
                let tenant = tenants.text(draft.tenant)?;
                let placed = chains.head(draft, tenant)?.place(draft)?;
                insert_trace(&mut traces, tenant, draft, &placed)?;
                receipts.extend(awaited.then(|| (place, receipt(draft, placed))));
            }
            Record::Row(row) => {
                let tenant = tenants.text(row.tenant)?;
                let tool = registered(row).map(|(tenant, tool)| tools.id(connection, tenant, tool)).transpose()?;
                insert_row(&mut rows, tenant, row, tool)?;
            }
        }
    }
    chains.store(connection)?;
    Ok(receipts)
}

fn receipt(draft: &TraceDraft, placed: Placed) -> Receipt {
    Receipt {
        trace_id: draft.trace_id.clone(),
        seq: placed.seq,
        previous_hash: placed.previous_hash,
        event_hash: placed.event_hash,
    }
}

fn stored(connection: &Connection, trace: &TraceId) -> Result<Option<Receipt>, Failure> {
    let mut find =
        connection.prepare_cached("SELECT seq, previous_hash, event_hash FROM agent_traces WHERE trace_id = ?1")?;
    let found = find.query_row([trace.as_str()], |row| {
        Ok(Receipt { trace_id: trace.clone(), seq: row.get(0)?, previous_hash: row.get(1)?, event_hash: row.get(2)? })
    });
    Ok(found.optional()?)
}

const FIND_TENANT: &str = "SELECT 1 FROM tenants JOIN organizations USING (id) WHERE id = ?1";

/// The tenants of a batch, as the columns have them. What a foreign key would ask for every row is asked once for each.
struct Tenants<'a> {
    find: CachedStatement<'a>,
    met: Vec<(TenantId, String)>,
}

impl Tenants<'_> {
    fn text(&mut self, tenant: Option<TenantId>) -> Result<Option<&str>, Failure> {
        let Some(tenant) = tenant else {
            return Ok(None);
        };
        // Few at a time, and as a rule the one that was met last.
        let place = match self.met.iter().rposition(|(met, _)| *met == tenant) {
            Some(place) => place,
            None => {
                let text = organization_key(Some(tenant));
                if !self.find.exists([&text])? {
                    return Err(Refused(format!("there is no tenant `{text}`").into()).into());
                }
                self.met.push((tenant, text));
                self.met.len() - 1
            }
        };
        Ok(self.met.get(place).map(|(_, text)| text.as_str()))
    }
}

const FIND_HEAD: &str = "SELECT seq, event_hash FROM chain_heads WHERE organization_key = ?1 AND agent_id = ?2";

/// The ends of the chains of a batch, read when first met.
struct Chains<'a, 'r> {
    find: CachedStatement<'a>,
    met: HashMap<(Option<TenantId>, &'r str), Head>,
}

impl<'r> Chains<'_, 'r> {
    fn head(&mut self, draft: &'r TraceDraft, tenant: Option<&str>) -> Result<&mut Head, Failure> {
        let agent = draft.agent.as_str();
        match self.met.entry((draft.tenant, agent)) {
            Entry::Occupied(met) => Ok(met.into_mut()),
            Entry::Vacant(place) => {
                let found = self.find.query_row([tenant.unwrap_or_default(), agent], |row| {
                    Ok(Head { seq: row.get(0)?, event_hash: row.get(1)? })
                });
                Ok(place.insert(found.optional()?.unwrap_or_default()))
            }
        }
    }

    fn store(self, connection: &Connection) -> Result<(), Failure> {
        let mut store = connection.prepare_cached(
            "INSERT INTO chain_heads (organization_key, agent_id, seq, event_hash) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET seq = excluded.seq, event_hash = excluded.event_hash",
        )?;
        for ((tenant, agent), head) in self.met {
            store.execute(params![organization_key(tenant), agent, head.seq, head.event_hash])?;
        }
        Ok(())
    }
}

const INSERT_TRACE: &str = "INSERT INTO agent_traces (id, organization_id, trace_id, agent_id, event_type, decision_type, \
     risk_level, reversibility, classification_code, description, reasoning, \"authorization\", context, previous_hash, \
     event_hash, created_at, seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

fn insert_trace(
    insert: &mut CachedStatement<'_>,
    tenant: Option<&str>,
    draft: &TraceDraft,
    placed: &Placed,
) -> Result<(), Failure> {
    let part = draft.classification;
    insert.execute(params![
        &*row_id(&draft.trace_id).hyphenated().encode_lower(&mut Uuid::encode_buffer()),
        tenant,
        draft.trace_id.as_str(),
        draft.agent.as_str(),
        draft.event_type.as_str(),
        part.map(|part| part.decision_type.as_str()),
        part.map(|part| part.risk.as_str()),
        part.map(|part| part.reversibility.as_str()),
        placed.code,
        draft.description,
        draft.reasoning,
        draft.authorization.as_column(),
        draft.context.as_column(),
        placed.previous_hash,
        placed.event_hash,
        placed.timestamp,
        placed.seq,
    ])?;
    Ok(())
}

/// A replayed row is the row that is there.
const INSERT_ROW: &str = "INSERT INTO audit_logs (tenant_id, agent_id, tool_id, input_payload, output_payload, \
     risk_classification, execution_time_ms, status_code, timestamp, trace_id) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (trace_id) DO NOTHING";

fn insert_row(
    insert: &mut CachedStatement<'_>,
    tenant: Option<&str>,
    row: &AuditRow,
    tool: Option<&str>,
) -> Result<(), Failure> {
    insert.execute(params![
        tenant,
        row.agent.as_str(),
        tool,
        row.input.as_ref().map(text),
        row.output.as_ref().map(text),
        row.risk_classification(),
        row.execution_time_ms,
        row.status.as_str(),
        written_time(row.timestamp),
        row.trace_id.as_str(),
    ])?;
    Ok(())
}

/// A payload as it stands: what it is made of was checked when it was taken in.
fn text(payload: &JsonText) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(ValueRef::Text(payload.as_bytes()))
}
