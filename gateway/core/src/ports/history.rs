//! What was decided before: traces with what was asked, proofs, and how an agent has done.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::StoreError;
use crate::names::{AgentId, TenantId, TraceId};
use crate::trace::Trace;

/// Where a reading of recorded calls stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCursor {
    pub tenant: Option<TenantId>,
    pub agent: Option<AgentId>,
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

/// How an agent's calls of one level ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierCount {
    /// The manifest's, or `unclassified`.
    pub risk_level: String,
    /// `R1` to `R4`.
    pub risk: String,
    pub calls: i64,
    pub ok: i64,
    pub denied: i64,
    pub errors: i64,
}

#[async_trait]
pub trait History: Send + Sync {
    async fn trace(&self, id: &str) -> Result<Option<(Option<TenantId>, Trace)>, StoreError>;
    /// The input and outcome beside a trace.
    async fn call(&self, id: &str) -> Result<Option<RecordedCall>, StoreError>;
    /// Decisions about tool calls, oldest first.
    async fn calls(&self, after: &CallCursor, limit: i64) -> Result<Vec<RecordedCall>, StoreError>;
    async fn record_of(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        since: Timestamp,
    ) -> Result<Vec<TierCount>, StoreError>;
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
    async fn latest(&self, tenant: Option<TenantId>) -> Result<Option<Proof>, StoreError>;
}
