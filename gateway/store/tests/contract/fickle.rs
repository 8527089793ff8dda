//! A store that is as reliable as it is told to be.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::ports::{Ledger, LedgerError, Receipt, Record};
use gateway_core::trace::{Head, Trace};
use gateway_core::{AgentId, TenantId, TraceId};

pub const UP: u8 = 0;
pub const FAILING: u8 = 1;
pub const HANGING: u8 = 2;
/// Commits, and only then gets stuck.
pub const LATE: u8 = 3;
pub const PANICKING: u8 = 4;

/// Keeps traces in order of arrival, each once.
#[derive(Default)]
pub struct Fickle {
    mood: AtomicU8,
    pub stored: Mutex<Vec<Record>>,
}

fn key(record: &Record) -> (bool, TraceId) {
    match record {
        Record::Trace(draft) => (true, draft.trace_id.clone()),
        Record::Row(row) => (false, row.trace_id.clone()),
    }
}

impl Fickle {
    pub fn set(&self, mood: u8) {
        self.mood.store(mood, Ordering::SeqCst);
    }

    pub fn traces(&self) -> Vec<u128> {
        let number = |id: &TraceId| u128::from_str_radix(id.as_str().strip_prefix("trc_").unwrap(), 16).unwrap();
        self.stored
            .lock()
            .unwrap()
            .iter()
            .filter(|record| matches!(record, Record::Trace(_)))
            .map(|record| number(&key(record).1))
            .collect()
    }

    fn store(&self, records: &[Record]) -> Vec<Receipt> {
        let mut stored = self.stored.lock().unwrap();
        let mut known: HashSet<_> = stored.iter().map(key).collect();
        for record in records {
            if known.insert(key(record)) {
                stored.push(record.clone());
            }
        }
        let traces = records.iter().filter(|record| matches!(record, Record::Trace(_)));
        traces
            .map(|record| Receipt { trace_id: key(record).1, seq: 1, previous_hash: None, event_hash: String::new() })
            .collect()
    }
}

#[async_trait]
impl Ledger for Fickle {
    async fn append_batch(&self, records: &[Record]) -> Result<Vec<Receipt>, LedgerError> {
        match self.mood.load(Ordering::SeqCst) {
            UP => Ok(self.store(records)),
            HANGING => {
                while self.mood.load(Ordering::SeqCst) == HANGING {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(LedgerError::Unavailable("hung up".into()))
            }
            LATE => {
                self.store(records);
                tokio::time::sleep(Duration::from_millis(700)).await;
                Ok(Vec::new())
            }
            PANICKING => panic!("the adapter has a bug"),
            _ => Err(LedgerError::Unavailable("connection refused".into())),
        }
    }

    async fn head(&self, _: Option<TenantId>, _: &AgentId) -> Result<Head, LedgerError> {
        Ok(Head::default())
    }

    async fn traces(&self, _: Option<TenantId>, _: &AgentId, _: i64, _: i64) -> Result<Vec<Trace>, LedgerError> {
        Ok(Vec::new())
    }

    async fn newest(&self, _: TenantId, _: i64) -> Result<Vec<Trace>, LedgerError> {
        Ok(Vec::new())
    }

    async fn chains(&self) -> Result<Vec<(Option<TenantId>, AgentId)>, LedgerError> {
        Ok(Vec::new())
    }
}
