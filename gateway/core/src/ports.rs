//! Every port: what the gateway needs of the world, as traits. Adapters live in `store`, `upstream`, `tools`, `server`.

mod agents;
mod approvals;
mod aside;
mod database;
mod gate;
mod history;
mod live;
mod notices;
mod policies;
mod spans;
mod tenants;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::BoxError;
use crate::home::Home;
use crate::identity::{Credential, Principal};
use crate::names::{AgentId, TenantId, TraceId};
use crate::outcome::AuditRow;
use crate::refusal::Answer;
use crate::trace::{Head, Trace, TraceDraft};

pub use agents::{
    Actor, BuildError, BuildErrorKind, BuildRequest, Built, NoRunner, Progress, Runner, Told, ToolAgents,
};
pub use approvals::{Approvals, Notifier, NotifyError};
pub use aside::Aside;
pub use database::{ColumnInfo, Model, ModelError, ReadLimits, ReadOnlyDatabase, Rows, TableInfo};
pub use gate::{
    AskingRun, EvidenceAsked, EvidenceProvider, FoundRun, GateStore, NewCall, NewScenario, RUN_RACES, RunLine,
    RunQuery, RunpackShelves, ScenarioLine, ScenarioSource, StoredScenario,
};
pub use history::{CallCursor, History, Invariant, Proof, Proofs, RecordedCall, ToolCount};
pub use live::{LiveRows, LiveStore, NewSuspension, PinNews, PinRow, PinState, PinStore, Standing};
pub use notices::{NoNotices, Notice, Notices};
pub use policies::{
    AccessRow, AgentPolicyRow, DlpRow, ManifestRow, NewAccessPolicy, NewAgentPolicy, NewDlpConfig, PolicyKind,
    PolicyStore, RuleType,
};
pub use spans::{CallSpan, Parent, Place, Spans};
pub use tenants::{AgentRecord, AgentStatus, KeyOwner, NewAgent, Registrar, StoredKey, Tenant, TenantKey, TenantStore};
pub use upstream::{
    Answered, Content, ExecutionEngine, Health, NewSession, Spoken, StreamItem, Upstream, UpstreamError,
};

/// The time and fresh identities.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
    /// Time-ordered and unique.
    fn fresh_id(&self) -> Uuid;
    /// Over once the time has passed. A clock that stands still is never over.
    fn pause(&self, _time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(futures::future::pending())
    }
}

/// Seals small texts so that only the gateway's nodes can read or make them.
pub trait Seal: Send + Sync {
    fn seal(&self, plain: &[u8]) -> String;
    fn open(&self, sealed: &str) -> Option<Vec<u8>>;
    /// A key of its own for each purpose, the same on every node.
    fn derive(&self, label: &str) -> [u8; 32];
}

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("no credential was sent: send `x-api-key: KEY` or `Authorization: Bearer KEY`")]
    Missing,
    #[error("Invalid or revoked API key")]
    Invalid,
    #[error("Agent not found or inactive")]
    Inactive,
    #[error("identities cannot be checked right now")]
    Unavailable(#[source] BoxError),
}

/// Who a credential belongs to.
#[async_trait]
pub trait Directory: Send + Sync {
    async fn authenticate(&self, credential: &Credential) -> Result<Arc<Principal>, AuthError>;
}

/// A call over its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    pub rule: &'static str,
    pub message: String,
    pub retry_after_ms: u64,
}

/// Rate, quota, and how much a caller may keep open.
pub trait Usage: Send + Sync {
    fn take(&self, principal: &Principal) -> Result<(), Limited>;
    /// Room for one stream that stays open, for as long as the slot is kept.
    fn open_stream(&self, principal: &Principal) -> Result<StreamSlot, Limited>;
}

/// One stream's room; dropping it gives the room back.
pub struct StreamSlot {
    _held: Box<dyn Send>,
}

impl StreamSlot {
    pub fn new(held: impl Send + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl std::fmt::Debug for StreamSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StreamSlot")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0} already exists")]
    Exists(String),
    #[error("{0} was not found")]
    NotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error("the store is unavailable")]
    Unavailable(#[source] BoxError),
}

/// What may be used only once, on whichever node it is shown.
#[async_trait]
pub trait Once: Send + Sync {
    /// True the first time. After `until` the token is worthless anyway and need not be remembered.
    async fn spend(&self, token: Uuid, until: Timestamp) -> Result<bool, StoreError>;
}

/// A request on its way to the node that holds what it is about.
#[derive(Debug, Clone)]
pub struct Carried {
    pub method: &'static str,
    pub path: String,
    pub body: Bytes,
    /// No credential stands among them in the clear: it is in the label (`crossing.rs`), which only a node can open.
    pub headers: Vec<(String, String)>,
}

/// Where nothing of the request arrived, the caller rebuilds what was there, or refuses.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("the node that held this is gone")]
    Gone,
    #[error("the node that holds this cannot be reached")]
    Unreachable(#[source] BoxError),
    /// It may have done what it was asked to do, so nobody else may do it.
    #[error("the node that holds this took the request and broke off")]
    Broken(#[source] BoxError),
}

/// The other nodes.
#[async_trait]
pub trait Peers: Send + Sync {
    /// Its answer is already reviewed and recorded there, if it is a node's: whoever labelled the request checks that.
    async fn carry(&self, to: &Home, request: Carried) -> Result<Answer, PeerError>;
}

/// A tool as an upstream described it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: crate::names::ToolName,
    /// The whole definition as listed: description, schemas, annotations.
    pub definition: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegisteredTool {
    pub id: Uuid,
    pub tenant: TenantId,
    pub name: String,
    pub version: String,
    pub is_recommended: bool,
    pub schema: Value,
    pub metadata: Value,
    /// `unclassified` until a manifest says otherwise.
    pub risk_level: String,
    pub is_active: bool,
}

impl RegisteredTool {
    /// Whether this is a definition that somebody accepted, and not the tool as it was last seen.
    pub fn is_accepted_form(&self) -> bool {
        self.version.starts_with("sha-")
    }
}

/// Tool definitions as seen on their way through, per tenant.
#[async_trait]
pub trait ToolRegistry: Send + Sync {
    /// Remembers what was listed; never waits for the store, and the same definition twice costs nothing.
    fn seen(&self, tenant: TenantId, tools: Vec<(ToolDefinition, Option<crate::manifest::RiskLevel>)>);
    async fn registered(&self, tenant: TenantId) -> Result<Vec<RegisteredTool>, StoreError>;
}

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the audit queue is full")]
    Full,
    #[error("the ledger is unavailable")]
    Unavailable(#[source] BoxError),
}

/// Where in its chain a trace stands once it is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub trace_id: TraceId,
    pub seq: i64,
    pub previous_hash: Option<String>,
    pub event_hash: String,
}

/// The queue in front of the ledger. Room is reserved before anything happens, so that a full queue refuses a call
/// instead of losing its record.
#[async_trait]
pub trait AuditBuffer: Send + Sync {
    /// Room for one trace and one row.
    fn reserve(&self) -> Result<(), LedgerError>;
    /// Gives back room that was not used, in records.
    fn release(&self, records: usize);
    /// Uses one reserved place. With `wait`, returns once the trace is durable: in the store (with its receipt) or, when the store is away, in
    /// the local spool (no receipt yet).
    async fn append(&self, draft: TraceDraft, wait: bool) -> Result<Option<Receipt>, LedgerError>;
    /// Uses one reserved place; never waits.
    fn settle(&self, row: AuditRow);
}

/// One record on its way into the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    Trace(TraceDraft),
    Row(AuditRow),
}

/// The chain's storage. One transaction per batch: heads locked in key order, hashed, inserted, moved.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Receipts for the traces, in their order. A trace id that is already stored is skipped and its receipt returned, so
    /// that a replay after a crash doubles nothing.
    async fn append_batch(&self, records: &[Record]) -> Result<Vec<Receipt>, LedgerError>;
    /// The same for records that are shared, with receipts only for the traces at the places in `awaited`, which ascend: a
    /// store with a thread of its own need not copy what it takes there.
    async fn append_shared(
        &self,
        records: &Arc<Vec<Record>>,
        awaited: Vec<usize>,
    ) -> Result<Vec<(usize, Receipt)>, LedgerError> {
        let receipts = self.append_batch(records).await?;
        let traces = records.iter().enumerate().filter(|(_, record)| matches!(record, Record::Trace(_)));
        let placed = traces.map(|(place, _)| place).zip(receipts);
        Ok(placed.filter(|(place, _)| awaited.binary_search(place).is_ok()).collect())
    }
    async fn head(&self, tenant: Option<TenantId>, agent: &AgentId) -> Result<Head, LedgerError>;
    /// Traces with `seq > after`, ascending, at most `limit`.
    async fn traces(
        &self,
        tenant: Option<TenantId>,
        agent: &AgentId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Trace>, LedgerError>;
    /// A tenant's newest traces over all its chains, newest first.
    async fn newest(&self, tenant: TenantId, limit: i64) -> Result<Vec<Trace>, LedgerError>;
    /// Every chain there is: an operator's question. A tenant of `None` holds what nobody in particular did.
    async fn chains(&self) -> Result<Vec<(Option<TenantId>, AgentId)>, LedgerError>;
}
