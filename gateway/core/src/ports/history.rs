//! What was decided before: traces with what was asked, proofs, and how an agent has done.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::StoreError;
use crate::names::{AgentId, TenantId, TraceId};
use crate::trace::Trace;

/// Where a reading of one agent's recorded calls stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCursor {
    pub tenant: Option<TenantId>,
    pub agent: AgentId,
    pub since: Option<Timestamp>,
    /// The last trace that was read.
    pub after: Option<TraceId>,
}

/// One call as it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    pub tenant: Option<TenantId>,
    pub trace: Trace,
    /// `None` where it was erased or never kept.
    pub input: Option<Value>,
    pub status: Option<String>,
}

/// How an agent's calls of one tool at one risk ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCount {
    pub tool: String,
    /// `R1` to `R4`, as the calls counted.
    pub risk: String,
    /// Everything that was asked; what waited for a human or was broken off is in none of the others.
    pub calls: i64,
    pub ok: i64,
    pub denied: i64,
    /// The tool or its upstream failed.
    pub errors: i64,
}

#[async_trait]
pub trait History: Send + Sync {
    async fn trace(&self, id: &str) -> Result<Option<(Option<TenantId>, Trace)>, StoreError>;
    /// The input and outcome beside a trace.
    async fn call(&self, id: &str) -> Result<Option<RecordedCall>, StoreError>;
    /// What was decided for one agent, in the order of its chain.
    async fn calls(&self, after: &CallCursor, limit: i64) -> Result<Vec<RecordedCall>, StoreError>;
    async fn record_of(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        since: Timestamp,
    ) -> Result<Vec<ToolCount>, StoreError>;
}

/// What was shown to hold, and of what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    pub id: Uuid,
    pub version: u32,
    pub tenant: Option<TenantId>,
    pub at: Timestamp,
    pub scope: Value,
    /// `{policies, rules, agents, tools, chain, program}`
    pub digests: Value,
    pub cells: u64,
    pub invariants: Vec<Invariant>,
    pub holds: bool,
    pub counterexample: Option<String>,
    pub trace_id: Option<TraceId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invariant {
    pub id: String,
    pub holds: bool,
    pub cells: u64,
}

#[async_trait]
pub trait Proofs: Send + Sync {
    async fn keep(&self, proof: &Proof) -> Result<(), StoreError>;
    /// The newest of this tenant, or (none) of the whole gateway.
    async fn latest(&self, tenant: Option<TenantId>) -> Result<Option<Proof>, StoreError>;
}
