//! The gateway's own records, in memory: one agent, its approvals, an empty chain, and what was written down.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::approvals::{
    ApprovalQuery, ApprovalRecord, ApprovalStatus, DecideError, Decided, Decider, NewApproval, Swept, Terms,
};
use gateway_core::matrix::Matrix;
use gateway_core::outcome::AuditRow;
use gateway_core::ports::{
    AgentRecord, AgentStatus, Approvals, AuditBuffer, KeyOwner, Ledger, LedgerError, NewAgent, Receipt, Record,
    StoreError, StoredKey, Tenant, TenantKey, TenantStore,
};
use gateway_core::trace::Head;
use gateway_core::{AgentId, Autonomy, DecisionType, Risk, TenantId, Trace, TraceDraft, TraceId};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::AdpPorts;
use crate::testing::StillClock;

#[derive(Default)]
pub(super) struct World {
    pub(super) approvals: Mutex<BTreeMap<Uuid, ApprovalRecord>>,
    pub(super) traces: Mutex<Vec<TraceDraft>>,
    /// Room that is taken and not given back.
    pub(super) room: Mutex<i64>,
}

impl World {
    pub(super) fn ports(self: &Arc<Self>) -> AdpPorts {
        AdpPorts {
            approvals: self.clone(),
            tenants: self.clone(),
            ledger: self.clone(),
            audit: self.clone(),
            clock: Arc::new(StillClock),
            matrix: Arc::new(|| Arc::new(Matrix::standard())),
            terms: Arc::new(Terms::default),
        }
    }

    /// Somebody decided, or time did.
    pub(super) fn becomes(&self, status: ApprovalStatus) {
        for row in self.approvals.lock().unwrap().values_mut() {
            row.status = status;
            row.decided_at = Some(Timestamp::UNIX_EPOCH);
        }
    }
}

fn unused<T>() -> Result<T, StoreError> {
    Err(StoreError::Invalid("nobody asks this here".into()))
}

#[async_trait]
impl Approvals for World {
    async fn ask(&self, new: &NewApproval, now: Timestamp) -> Result<ApprovalRecord, StoreError> {
        let mut rows = self.approvals.lock().unwrap();
        if let Some(row) = rows.values().find(|row| row.asked.binding == new.binding && row.answers(now)) {
            return Ok(row.clone());
        }
        let row = ApprovalRecord {
            asked: new.clone(),
            status: ApprovalStatus::Pending,
            asked_at: now,
            decided_at: None,
            decided_by: None,
            note: None,
            use_by: None,
            used_at: None,
            used_trace: None,
            decision_trace: None,
            notified_at: None,
        };
        rows.insert(new.id, row.clone());
        Ok(row)
    }

    async fn find(&self, tenant: Option<TenantId>, id: Uuid) -> Result<Option<ApprovalRecord>, StoreError> {
        let rows = self.approvals.lock().unwrap();
        Ok(rows.get(&id).filter(|row| tenant.is_none_or(|tenant| row.asked.tenant == tenant)).cloned())
    }

    async fn list(&self, _: &ApprovalQuery) -> Result<Vec<ApprovalRecord>, StoreError> {
        unused()
    }

    async fn decide(&self, _: Uuid, _: &Decided, _: &Decider, _: Timestamp) -> Result<ApprovalRecord, DecideError> {
        Err(DecideError::NotFound)
    }

    async fn use_up(&self, id: Uuid, binding: &str, _: &TraceId, _: Timestamp) -> Result<bool, StoreError> {
        let mut rows = self.approvals.lock().unwrap();
        let row = rows.get_mut(&id).filter(|row| row.asked.binding == binding);
        let Some(row) = row.filter(|row| row.status == ApprovalStatus::Approved) else { return Ok(false) };
        row.status = ApprovalStatus::Used;
        Ok(true)
    }

    async fn decided(&self, _: Uuid, _: Timestamp) -> Result<ApprovalRecord, StoreError> {
        unused()
    }

    async fn sweep(&self, _: Timestamp) -> Result<Swept, StoreError> {
        unused()
    }

    async fn recorded(&self, _: Uuid, _: &TraceId) -> Result<(), StoreError> {
        unused()
    }

    async fn to_notify(&self, _: Timestamp, _: Duration) -> Result<Vec<ApprovalRecord>, StoreError> {
        unused()
    }

    async fn notified(&self, _: Uuid, _: Timestamp) -> Result<(), StoreError> {
        unused()
    }
}

#[async_trait]
impl AuditBuffer for World {
    fn reserve(&self) -> Result<(), LedgerError> {
        *self.room.lock().unwrap() += 2;
        Ok(())
    }

    fn release(&self, records: usize) {
        *self.room.lock().unwrap() -= i64::try_from(records).unwrap();
    }

    async fn append(&self, draft: TraceDraft, _: bool) -> Result<Option<Receipt>, LedgerError> {
        *self.room.lock().unwrap() -= 1;
        self.traces.lock().unwrap().push(draft);
        Ok(None)
    }

    fn settle(&self, _: AuditRow) {}
}

#[async_trait]
impl Ledger for World {
    async fn append_batch(&self, _: &[Record]) -> Result<Vec<Receipt>, LedgerError> {
        Ok(Vec::new())
    }

    async fn head(&self, _: Option<TenantId>, _: &AgentId) -> Result<Head, LedgerError> {
        Ok(Head { seq: 0, event_hash: None })
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

/// `agent-alpha` is there, and `agent-gone` no longer.
#[async_trait]
impl TenantStore for World {
    async fn agent(&self, tenant: TenantId, agent: &AgentId) -> Result<AgentRecord, StoreError> {
        let status = match agent.as_str() {
            "agent-alpha" => AgentStatus::Active,
            "agent-gone" => AgentStatus::Revoked,
            other => return Err(StoreError::NotFound(other.into())),
        };
        let agent = NewAgent {
            agent_id: agent.clone(),
            name: "Alpha".into(),
            description: None,
            autonomy: Autonomy::A3,
            allowed_types: vec![DecisionType::D1, DecisionType::D2],
            max_risk: Risk::R2,
            owner_name: None,
            owner_email: Some("owner@example.com".into()),
            roles: Vec::new(),
            registered_by: None,
        };
        let (created_at, updated_at) = (String::new(), String::new());
        Ok(AgentRecord { id: Uuid::nil(), tenant, agent, status, metadata: json!({}), created_at, updated_at })
    }

    async fn tenant(&self, _: &str) -> Result<Tenant, StoreError> {
        unused()
    }

    async fn add_tenant(&self, _: &str) -> Result<Tenant, StoreError> {
        unused()
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        unused()
    }

    async fn add_tenant_key(&self, _: TenantId, _: &str, _: &str, _: &[String]) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn tenant_keys(&self, _: TenantId) -> Result<Vec<TenantKey>, StoreError> {
        unused()
    }

    async fn tenant_keys_starting(&self, _: &str) -> Result<Vec<TenantKey>, StoreError> {
        unused()
    }

    async fn add_agent(&self, _: TenantId, _: &NewAgent, _: &str, _: &str) -> Result<AgentRecord, StoreError> {
        unused()
    }

    async fn agents(&self, _: TenantId) -> Result<Vec<AgentRecord>, StoreError> {
        unused()
    }

    async fn set_agent_autonomy(&self, _: TenantId, _: &AgentId, _: Autonomy) -> Result<(), StoreError> {
        unused()
    }

    async fn set_agent_roles(&self, _: TenantId, _: &AgentId, _: &[String]) -> Result<(), StoreError> {
        unused()
    }

    async fn set_agent_status(&self, _: TenantId, _: &AgentId, _: AgentStatus) -> Result<(), StoreError> {
        unused()
    }

    async fn add_key(&self, _: TenantId, _: &AgentId, _: &str, _: &str) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn keys(&self, _: TenantId, _: &AgentId) -> Result<Vec<StoredKey>, StoreError> {
        unused()
    }

    async fn keys_starting(&self, _: &str) -> Result<Vec<StoredKey>, StoreError> {
        unused()
    }

    async fn revoke_key(&self, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn key_owner(&self, _: &str) -> Result<Option<KeyOwner>, StoreError> {
        unused()
    }

    async fn touch_key(&self, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn find_agent_anywhere(&self, _: &AgentId) -> Result<AgentRecord, StoreError> {
        unused()
    }
}
