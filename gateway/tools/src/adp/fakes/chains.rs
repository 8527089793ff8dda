//! A ledger with its queue.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gateway_core::canonical::Canonical;
use gateway_core::outcome::AuditRow;
use gateway_core::ports::{AuditBuffer, Ledger, LedgerError, Receipt, Record};
use gateway_core::trace::Head;
use gateway_core::{AgentId, EventType, TenantId, Trace, TraceDraft, TraceId};
use serde_json::json;
use uuid::Uuid;

use super::tenant;

type StoredChains = BTreeMap<(Option<TenantId>, AgentId), (Head, Vec<Trace>)>;

/// Ledger and queue in one; `room` is what is reserved and neither used nor given back.
#[derive(Clone, Default)]
pub(in crate::adp) struct Chains {
    chains: Arc<Mutex<StoredChains>>,
    room: Arc<AtomicI64>,
    full: bool,
    spooling: bool,
}

impl Chains {
    pub(in crate::adp) fn full() -> Self {
        Self { full: true, ..Self::default() }
    }

    pub(in crate::adp) fn spooling() -> Self {
        Self { spooling: true, ..Self::default() }
    }

    pub(in crate::adp) fn open_room(&self) -> i64 {
        self.room.load(Ordering::Relaxed)
    }

    pub(in crate::adp) fn traces_of(&self, name: &str) -> Vec<Trace> {
        let key = (Some(tenant(1)), name.parse().unwrap());
        self.chains.lock().unwrap().get(&key).map(|(_, traces)| traces.clone()).unwrap_or_default()
    }

    pub(in crate::adp) fn grow(&self, name: &str, traces: u128) {
        for n in 1..=traces {
            self.link(&TraceDraft {
                tenant: Some(tenant(1)),
                agent: name.parse().unwrap(),
                trace_id: TraceId::from_uuid(Uuid::from_u128(n)),
                event_type: EventType::Decision,
                classification: None,
                description: None,
                reasoning: None,
                authorization: Canonical::null(),
                context: Canonical::of(&json!({ "nested": { "amount": 1 } })).unwrap(),
                timestamp: "2026-02-23T00:00:00Z".parse().unwrap(),
            });
        }
    }

    /// Changes a stored trace behind the gateway's back and gives its id.
    pub(in crate::adp) fn change(&self, name: &str, place: usize, change: impl FnOnce(&mut Trace)) -> String {
        let mut chains = self.chains.lock().unwrap();
        let (_, traces) = chains.get_mut(&(Some(tenant(1)), name.parse().unwrap())).unwrap();
        let trace = traces.get_mut(place).unwrap();
        change(trace);
        trace.event.trace_id.clone()
    }

    fn link(&self, draft: &TraceDraft) -> Receipt {
        let mut chains = self.chains.lock().unwrap();
        let (head, traces) = chains.entry((draft.tenant, draft.agent.clone())).or_default();
        let trace = head.link(draft).unwrap();
        traces.push(trace.clone());
        Receipt {
            trace_id: draft.trace_id.clone(),
            seq: trace.seq,
            previous_hash: trace.event.previous_hash,
            event_hash: trace.event_hash,
        }
    }
}

#[async_trait]
impl AuditBuffer for Chains {
    fn reserve(&self) -> Result<(), LedgerError> {
        if self.full {
            return Err(LedgerError::Full);
        }
        self.room.fetch_add(2, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, records: usize) {
        self.room.fetch_sub(i64::try_from(records).unwrap(), Ordering::Relaxed);
    }

    async fn append(&self, draft: TraceDraft, wait: bool) -> Result<Option<Receipt>, LedgerError> {
        assert!(wait, "an agent is told its trace's place, so it waits for it");
        self.release(1);
        Ok((!self.spooling).then(|| self.link(&draft)))
    }

    fn settle(&self, _: AuditRow) {}
}

#[async_trait]
impl Ledger for Chains {
    async fn append_batch(&self, _: &[Record]) -> Result<Vec<Receipt>, LedgerError> {
        Ok(Vec::new())
    }

    async fn head(&self, tenant: Option<TenantId>, agent: &AgentId) -> Result<Head, LedgerError> {
        let chains = self.chains.lock().unwrap();
        Ok(chains.get(&(tenant, agent.clone())).map(|(head, _)| head.clone()).unwrap_or_default())
    }

    async fn traces(
        &self,
        tenant: Option<TenantId>,
        agent: &AgentId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Trace>, LedgerError> {
        let chains = self.chains.lock().unwrap();
        let traces = chains.get(&(tenant, agent.clone())).map(|(_, traces)| traces.as_slice()).unwrap_or_default();
        let limit = usize::try_from(limit).unwrap();
        Ok(traces.iter().filter(|trace| trace.seq > after).take(limit).cloned().collect())
    }

    async fn newest(&self, tenant: TenantId, limit: i64) -> Result<Vec<Trace>, LedgerError> {
        let chains = self.chains.lock().unwrap();
        let own = chains.iter().filter(|((owner, _), _)| *owner == Some(tenant));
        let mut traces: Vec<Trace> = own.flat_map(|(_, (_, traces))| traces.clone()).collect();
        traces.sort_by(|one, other| (&other.event.timestamp, other.seq).cmp(&(&one.event.timestamp, one.seq)));
        traces.truncate(usize::try_from(limit).unwrap());
        Ok(traces)
    }

    async fn chains(&self) -> Result<Vec<(Option<TenantId>, AgentId)>, LedgerError> {
        Ok(self.chains.lock().unwrap().keys().cloned().collect())
    }
}
