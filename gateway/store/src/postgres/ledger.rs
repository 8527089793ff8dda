//! The chains in Postgres. A batch locks its heads in key order, so two nodes neither fork a chain nor wait in a circle.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use gateway_core::ports::{Ledger, LedgerError, Receipt, Record};
use gateway_core::trace::{Event, Head, Trace};
use gateway_core::{AgentId, TenantId};
use serde_json::Value;
use sqlx::postgres::{PgPool, PgRow, Postgres};
use sqlx::types::Json;
use sqlx::{Row, Transaction};
use uuid::Uuid;

use super::append::{insert_rows, insert_traces, lock_heads, make_heads, move_heads, register, stored};
use super::scoped::entered;
use crate::batch::{Batch, Chains, ToolIds, organization_key};
use crate::failure::{Failure, unreadable};

pub(crate) struct PostgresLedger {
    pool: PgPool,
    tools: ToolIds,
    /// Heads that are known to exist: nobody deletes one, so only new chains cost the extra statement.
    begun: Mutex<HashSet<(String, String)>>,
}

impl PostgresLedger {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, tools: ToolIds::default(), begun: Mutex::default() }
    }

    async fn append(&self, batch: &Batch<'_>, may_repeat: bool) -> Result<Vec<Receipt>, Failure> {
        let mut chains = Chains::of(&batch.traces);
        let fresh = self.not_begun(&chains);
        let mut transaction = self.pool.begin().await?;
        make_heads(&mut transaction, &fresh).await?;
        lock_heads(&mut transaction, &mut chains).await?;
        // Asked only now: whatever another node was writing to these chains is committed or gone.
        let stored = match may_repeat {
            true => Some(stored(&mut transaction, &batch.traces).await?),
            false => None,
        };
        let linked = chains.link(&batch.traces, stored)?;
        if !linked.new.is_empty() {
            insert_traces(&mut transaction, &linked.new).await?;
            move_heads(&mut transaction, &chains).await?;
        }
        let (mut ids, unknown) = self.tools.sort(batch);
        let mut learnt = Vec::new();
        for (tenant, tool) in unknown {
            let id = register(&mut transaction, tenant, tool).await?;
            ids.insert((tenant, tool), id);
            learnt.push(((tenant, tool), id));
        }
        insert_rows(&mut transaction, &batch.rows, &ids).await?;
        transaction.commit().await?;
        self.tools.learn(learnt);
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).extend(fresh);
        Ok(linked.receipts)
    }

    fn not_begun(&self, chains: &Chains<'_>) -> Vec<(String, String)> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = chains.keys.iter().map(|(key, agent)| (key.clone(), (*agent).to_owned()));
        keys.filter(|key| !begun.contains(key)).collect()
    }

    /// A tenant's chains are read as that tenant; nobody's chain is no tenant's to read.
    async fn reading(&self, tenant: Option<TenantId>) -> Result<Transaction<'static, Postgres>, LedgerError> {
        match tenant {
            Some(tenant) => self.pool.begin_with(entered(tenant)).await.map_err(unreadable),
            None => self.pool.begin().await.map_err(unreadable),
        }
    }

    fn forget(&self) {
        self.tools.forget();
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

macro_rules! trace_columns {
    () => {
        "SELECT seq, trace_id, agent_id, event_type, decision_type, risk_level, reversibility, classification_code, \
         description, reasoning, \"authorization\", context, previous_hash, event_hash, \
         to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US') FROM agent_traces"
    };
}

#[async_trait]
impl Ledger for PostgresLedger {
    async fn append_batch(&self, records: &[Record]) -> Result<Vec<Receipt>, LedgerError> {
        let batch = Batch::of(records);
        // Trace ids are fresh almost always: asking whether one is stored already is left for when one turns out to be.
        let receipts = match self.append(&batch, false).await {
            Err(Failure::Conflict(_)) => {
                self.forget();
                self.append(&batch, true).await
            }
            other => other,
        };
        Ok(receipts?)
    }

    async fn head(&self, tenant: Option<TenantId>, agent: &AgentId) -> Result<Head, LedgerError> {
        let mut transaction = self.reading(tenant).await?;
        let row = sqlx::query("SELECT seq, event_hash FROM chain_heads WHERE organization_key = $1 AND agent_id = $2")
            .bind(organization_key(tenant))
            .bind(agent.as_str())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(unreadable)?;
        transaction.commit().await.map_err(unreadable)?;
        let Some(row) = row else {
            return Ok(Head::default());
        };
        Ok(Head { seq: row.try_get(0).map_err(unreadable)?, event_hash: row.try_get(1).map_err(unreadable)? })
    }

    async fn traces(
        &self,
        tenant: Option<TenantId>,
        agent: &AgentId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Trace>, LedgerError> {
        let mut transaction = self.reading(tenant).await?;
        let rows = sqlx::query(concat!(
            trace_columns!(),
            " WHERE COALESCE(organization_id, '00000000-0000-0000-0000-000000000000') = $1 AND agent_id = $2 AND seq > $3 \
             ORDER BY seq LIMIT $4"
        ))
        .bind(tenant.map_or(Uuid::nil(), |tenant| tenant.0))
        .bind(agent.as_str())
        .bind(after)
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unreadable)?;
        transaction.commit().await.map_err(unreadable)?;
        rows.iter().map(trace).collect::<Result<_, _>>().map_err(unreadable)
    }

    async fn newest(&self, tenant: TenantId, limit: i64) -> Result<Vec<Trace>, LedgerError> {
        let mut transaction = self.reading(Some(tenant)).await?;
        // A chain's own order decides between traces of one millisecond.
        let rows = sqlx::query(concat!(
            trace_columns!(),
            " WHERE organization_id = $1 ORDER BY created_at DESC, seq DESC, trace_id DESC LIMIT $2"
        ))
        .bind(tenant.0)
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unreadable)?;
        transaction.commit().await.map_err(unreadable)?;
        rows.iter().map(trace).collect::<Result<_, _>>().map_err(unreadable)
    }

    async fn chains(&self) -> Result<Vec<(Option<TenantId>, AgentId)>, LedgerError> {
        // A head that was deleted must not hide its chain.
        let rows = sqlx::query(
            "SELECT organization_key, agent_id FROM chain_heads
             UNION SELECT COALESCE(organization_id::text, ''), agent_id FROM agent_traces ORDER BY 1, 2",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(unreadable)?;
        let mut chains = Vec::with_capacity(rows.len());
        for row in rows {
            let tenant: String = row.try_get(0).map_err(unreadable)?;
            let agent: String = row.try_get(1).map_err(unreadable)?;
            chains.push((tenant.parse().ok().map(TenantId), agent.parse().map_err(unreadable)?));
        }
        Ok(chains)
    }
}

pub(super) fn trace(row: &PgRow) -> Result<Trace, sqlx::Error> {
    Ok(Trace {
        seq: row.try_get(0)?,
        event: Event {
            trace_id: row.try_get(1)?,
            agent_id: row.try_get(2)?,
            event_type: row.try_get(3)?,
            decision_type: row.try_get(4)?,
            risk_level: row.try_get(5)?,
            reversibility: row.try_get(6)?,
            classification_code: row.try_get(7)?,
            description: row.try_get(8)?,
            reasoning: row.try_get(9)?,
            authorization: json(row, 10)?,
            context: json(row, 11)?,
            previous_hash: row.try_get(12)?,
            timestamp: row.try_get::<Option<String>, _>(14)?.map(|text| hashed_time(&text)).unwrap_or_default(),
        },
        event_hash: row.try_get(13)?,
    })
}

fn json(row: &PgRow, column: usize) -> Result<Value, sqlx::Error> {
    Ok(row.try_get::<Option<Json<Value>>, _>(column)?.map(|json| json.0).unwrap_or_default())
}

/// The column holds microseconds, the hash milliseconds: more than was written must show, not be cut off.
fn hashed_time(micros: &str) -> String {
    format!("{}Z", micros.strip_suffix("000").unwrap_or(micros))
}
