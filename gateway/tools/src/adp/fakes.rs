//! The adp tools' ports in memory, for their tests: a registry, chains with a queue in front, a clock that stands still.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gateway_core::canonical::Canonical;
use gateway_core::matrix::Matrix;
use gateway_core::outcome::AuditRow;
use gateway_core::ports::{
    AccessRow, AgentPolicyRow, AgentRecord, AgentStatus, AuditBuffer, Clock, KeyOwner, Ledger, LedgerError,
    ManifestRow, NewAccessPolicy, NewAgent, NewAgentPolicy, PolicyKind, PolicyStore, Receipt, Record, StoreError,
    StoredKey, Tenant, TenantStore,
};
use gateway_core::trace::Head;
use gateway_core::verdict::PolicyMode;
use gateway_core::{
    AgentId, Autonomy, DecisionType, EventType, Principal, PrincipalKind, Risk, TenantId, ToolName, Trace, TraceDraft,
    TraceId,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Ports;
use crate::builtin::{BuiltinTool, ToolFailure, run_checked};

pub(super) fn tenant(n: u128) -> TenantId {
    TenantId(Uuid::from_u128(n))
}

pub(super) fn agent_of(tenant_number: u128, name: &str) -> Principal {
    let agent = name.parse().unwrap();
    Principal { kind: PrincipalKind::Agent, tenant: Some(tenant(tenant_number)), agent, ..Principal::anonymous() }
}

pub(super) fn agent(name: &str) -> Principal {
    agent_of(1, name)
}

pub(super) fn admin() -> Principal {
    Principal { kind: PrincipalKind::Admin, ..agent("admin") }
}

pub(super) async fn call(tool: &dyn BuiltinTool, caller: &Principal, arguments: Value) -> Result<Value, ToolFailure> {
    run_checked(tool, caller, arguments.as_object().unwrap()).await
}

type Added = (AgentRecord, String, String);

#[derive(Clone, Default)]
pub(super) struct Registry {
    known: Arc<Mutex<Vec<AgentRecord>>>,
    added: Arc<Mutex<Vec<Added>>>,
}

impl Registry {
    pub(super) fn with(self, name: &str, autonomy: Autonomy, allowed_types: &[DecisionType], max_risk: Risk) -> Self {
        let agent = NewAgent {
            agent_id: name.parse().unwrap(),
            name: name.into(),
            description: None,
            autonomy,
            allowed_types: allowed_types.to_vec(),
            max_risk,
            owner_name: None,
            owner_email: None,
            roles: Vec::new(),
        };
        self.known.lock().unwrap().push(record(tenant(1), &agent));
        self
    }

    pub(super) fn with_status(self, name: &str, status: AgentStatus) -> Self {
        for record in self.known.lock().unwrap().iter_mut().filter(|record| record.agent.agent_id.as_str() == name) {
            record.status = status;
        }
        self
    }

    pub(super) fn added(&self) -> Vec<Added> {
        self.added.lock().unwrap().clone()
    }

    pub(super) fn ports(self) -> Ports {
        let chains = Arc::new(Chains::default());
        Ports {
            tenants: Arc::new(self),
            audit: chains.clone(),
            ledger: chains,
            policies: Arc::new(Rows::default()),
            clock: Arc::new(FixedClock::default()),
            random: Arc::new(|| [7; 32]),
            matrix: Arc::new(|| Arc::new(Matrix::standard())),
        }
    }
}

fn record(tenant: TenantId, agent: &NewAgent) -> AgentRecord {
    let at = String::from("2026-02-23T00:00:00.000Z");
    let (agent, metadata) = (agent.clone(), json!({}));
    AgentRecord {
        id: Uuid::nil(),
        tenant,
        agent,
        status: AgentStatus::Active,
        metadata,
        created_at: at.clone(),
        updated_at: at,
    }
}

fn unused<T>() -> Result<T, StoreError> {
    Err(StoreError::Invalid("no adp tool asks this".into()))
}

#[async_trait]
impl TenantStore for Registry {
    async fn add_agent(
        &self,
        tenant: TenantId,
        agent: &NewAgent,
        hash: &str,
        prefix: &str,
    ) -> Result<AgentRecord, StoreError> {
        if self.agent(tenant, &agent.agent_id).await.is_ok() {
            return Err(StoreError::Exists(agent.agent_id.to_string()));
        }
        let record = record(tenant, agent);
        self.added.lock().unwrap().push((record.clone(), hash.into(), prefix.into()));
        Ok(record)
    }

    async fn agent(&self, tenant: TenantId, agent: &AgentId) -> Result<AgentRecord, StoreError> {
        let known = self.known.lock().unwrap();
        let found = known.iter().find(|record| record.tenant == tenant && record.agent.agent_id == *agent);
        found.cloned().ok_or_else(|| StoreError::NotFound(agent.to_string()))
    }

    async fn agents(&self, tenant: TenantId) -> Result<Vec<AgentRecord>, StoreError> {
        Ok(self.known.lock().unwrap().iter().filter(|record| record.tenant == tenant).cloned().collect())
    }

    async fn add_tenant(&self, _: &str) -> Result<Tenant, StoreError> {
        unused()
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        unused()
    }

    async fn tenant(&self, _: &str) -> Result<Tenant, StoreError> {
        unused()
    }

    async fn add_tenant_key(&self, _: TenantId, _: &str, _: &str, _: &[String]) -> Result<Uuid, StoreError> {
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

    async fn set_agent_autonomy(&self, _: TenantId, _: &AgentId, _: Autonomy) -> Result<(), StoreError> {
        unused()
    }

    async fn set_agent_roles(&self, _: TenantId, _: &AgentId, _: &[String]) -> Result<(), StoreError> {
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

#[derive(Default)]
pub(super) struct FixedClock(AtomicU64);

impl Clock for FixedClock {
    /// With microseconds, which must not reach a trace.
    fn now(&self) -> Timestamp {
        "2026-02-23T00:00:00.000499Z".parse().unwrap()
    }

    fn fresh_id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1)
    }
}

type StoredChains = BTreeMap<(Option<TenantId>, AgentId), (Head, Vec<Trace>)>;

/// Ledger and queue in one; `room` is what is reserved and neither used nor given back.
#[derive(Clone, Default)]
pub(super) struct Chains {
    chains: Arc<Mutex<StoredChains>>,
    room: Arc<AtomicI64>,
    full: bool,
    spooling: bool,
}

impl Chains {
    pub(super) fn full() -> Self {
        Self { full: true, ..Self::default() }
    }

    pub(super) fn spooling() -> Self {
        Self { spooling: true, ..Self::default() }
    }

    pub(super) fn open_room(&self) -> i64 {
        self.room.load(Ordering::Relaxed)
    }

    pub(super) fn traces_of(&self, name: &str) -> Vec<Trace> {
        let key = (Some(tenant(1)), name.parse().unwrap());
        self.chains.lock().unwrap().get(&key).map(|(_, traces)| traces.clone()).unwrap_or_default()
    }

    pub(super) fn grow(&self, name: &str, traces: u128) {
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
    pub(super) fn change(&self, name: &str, place: usize, change: impl FnOnce(&mut Trace)) -> String {
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

/// `agent_policies` and nothing else.
#[derive(Clone, Default)]
pub(super) struct Rows(Arc<Mutex<Vec<AgentPolicyRow>>>);

impl Rows {
    pub(super) fn with(self, policy_id: &str, severity: Option<&str>, rule: Value) -> Self {
        self.0.lock().unwrap().push(row(tenant(1), policy_id, policy_id, severity, rule));
        self
    }

    pub(super) fn inactive(self, policy_id: &str) -> Self {
        for row in self.0.lock().unwrap().iter_mut().filter(|row| row.policy_id == policy_id) {
            row.is_active = false;
        }
        self
    }

    pub(super) fn all(&self) -> Vec<AgentPolicyRow> {
        self.0.lock().unwrap().clone()
    }
}

fn row(tenant: TenantId, policy_id: &str, name: &str, severity: Option<&str>, rule: Value) -> AgentPolicyRow {
    AgentPolicyRow {
        id: Uuid::nil(),
        tenant: Some(tenant),
        policy_id: policy_id.into(),
        name: name.into(),
        category: None,
        severity: severity.map(Into::into),
        rule,
        regulatory_mapping: Vec::new(),
        is_active: true,
        mode: PolicyMode::Shadow,
        created_at: "2026-02-23T00:00:00.000Z".into(),
    }
}

#[async_trait]
impl PolicyStore for Rows {
    async fn agent_policies(&self, tenant: TenantId) -> Result<Vec<AgentPolicyRow>, StoreError> {
        Ok(self.all().into_iter().filter(|row| row.tenant.is_none_or(|owner| owner == tenant)).collect())
    }

    async fn add_agent_policy(&self, tenant: TenantId, policy: &NewAgentPolicy) -> Result<Uuid, StoreError> {
        let mut rows = self.0.lock().unwrap();
        if rows.iter().any(|row| row.tenant == Some(tenant) && row.policy_id == policy.policy_id) {
            return Err(StoreError::Exists(policy.policy_id.clone()));
        }
        let severity = policy.severity.map(|severity| severity.as_str());
        let new = row(tenant, &policy.policy_id, &policy.name, severity, policy.rule.clone());
        rows.push(AgentPolicyRow { regulatory_mapping: policy.regulatory_mapping.clone(), ..new });
        Ok(Uuid::nil())
    }

    async fn set_agent_policy_active(&self, _: TenantId, _: Uuid, _: bool) -> Result<(), StoreError> {
        unused()
    }

    async fn set_policy_mode(
        &self,
        _: TenantId,
        _: PolicyKind,
        _: Uuid,
        _: PolicyMode,
        _: &str,
    ) -> Result<Option<PolicyMode>, StoreError> {
        unused()
    }

    async fn access_policies(&self, _: TenantId) -> Result<Vec<AccessRow>, StoreError> {
        unused()
    }

    async fn add_access_policy(&self, _: TenantId, _: &NewAccessPolicy) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn remove_access_policy(&self, _: TenantId, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn manifests(&self, _: TenantId) -> Result<Vec<ManifestRow>, StoreError> {
        unused()
    }

    async fn put_manifest(&self, _: &ManifestRow) -> Result<(), StoreError> {
        unused()
    }

    async fn remove_manifest(&self, _: TenantId, _: &ToolName) -> Result<(), StoreError> {
        unused()
    }
}
