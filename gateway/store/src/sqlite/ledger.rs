//! The chains in SQLite: appended to by a thread of their own, read through the pool.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::ports::{Ledger, LedgerError, Receipt, Record};
use gateway_core::trace::{Event, Head, Trace};
use gateway_core::{AgentId, TenantId};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqlitePools;
use crate::batch::organization_key;
use crate::failure::{Failure, unreadable};

pub(crate) struct SqliteLedger {
    pools: SqlitePools,
}

impl SqliteLedger {
    pub fn new(pools: SqlitePools) -> Self {
        Self { pools }
    }
}

macro_rules! trace_columns {
    () => {
        "SELECT seq, trace_id, agent_id, event_type, decision_type, risk_level, reversibility, classification_code, \
         description, reasoning, \"authorization\", context, previous_hash, event_hash, created_at FROM agent_traces"
    };
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn append_batch(&self, records: &[Record]) -> Result<Vec<Receipt>, LedgerError> {
        let traces = records.iter().enumerate().filter(|(_, record)| matches!(record, Record::Trace(_)));
        let awaited = traces.map(|(place, _)| place).collect();
        let receipts = self.append_shared(&Arc::new(records.to_vec()), awaited).await?;
        Ok(receipts.into_iter().map(|(_, receipt)| receipt).collect())
    }

    async fn append_shared(
        &self,
        records: &Arc<Vec<Record>>,
        awaited: Vec<usize>,
    ) -> Result<Vec<(usize, Receipt)>, LedgerError> {
        // Not used, only held: while it is, nobody else writes, and nobody else's turn comes late.
        let turn = self.pools.writer.acquire().await.map_err(Failure::from)?;
        let appended = self.pools.ledger.append(Arc::clone(records), awaited).await;
        drop(turn);
        Ok(appended?)
    }

    async fn head(&self, tenant: Option<TenantId>, agent: &AgentId) -> Result<Head, LedgerError> {
        let row = sqlx::query("SELECT seq, event_hash FROM chain_heads WHERE organization_key = ?1 AND agent_id = ?2")
            .bind(organization_key(tenant))
            .bind(agent.as_str())
            .fetch_optional(&self.pools.readers)
            .await
            .map_err(unreadable)?;
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
        let rows = sqlx::query(concat!(
            trace_columns!(),
            " WHERE COALESCE(organization_id, '') = ?1 AND agent_id = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4"
        ))
        .bind(organization_key(tenant))
        .bind(agent.as_str())
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pools.readers)
        .await
        .map_err(unreadable)?;
        rows.iter().map(trace).collect::<Result<_, _>>().map_err(unreadable)
    }

    async fn newest(&self, tenant: TenantId, limit: i64) -> Result<Vec<Trace>, LedgerError> {
        // A chain's own order decides between traces of one millisecond.
        let rows = sqlx::query(concat!(
            trace_columns!(),
            " WHERE organization_id = ?1 ORDER BY created_at DESC, seq DESC, trace_id DESC LIMIT ?2"
        ))
        .bind(organization_key(Some(tenant)))
        .bind(limit)
        .fetch_all(&self.pools.readers)
        .await
        .map_err(unreadable)?;
        rows.iter().map(trace).collect::<Result<_, _>>().map_err(unreadable)
    }

    async fn chains(&self) -> Result<Vec<(Option<TenantId>, AgentId)>, LedgerError> {
        // A head that was deleted must not hide its chain.
        let rows = sqlx::query(
            "SELECT organization_key, agent_id FROM chain_heads
             UNION SELECT COALESCE(organization_id, ''), agent_id FROM agent_traces ORDER BY 1, 2",
        )
        .fetch_all(&self.pools.readers)
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

pub(super) fn trace(row: &SqliteRow) -> Result<Trace, sqlx::Error> {
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
            timestamp: row.try_get::<Option<String>, _>(14)?.unwrap_or_default(),
        },
        event_hash: row.try_get(13)?,
    })
}

fn json(row: &SqliteRow, column: usize) -> Result<serde_json::Value, sqlx::Error> {
    let Some(text) = row.try_get::<Option<String>, _>(column)? else {
        return Ok(serde_json::Value::Null);
    };
    serde_json::from_str(&text).map_err(|error| sqlx::Error::Decode(error.into()))
}
