//! What people do with the gateway, whether at the command line, over the API or on a page: the same functions, the same
//! records, the same limits of whose tenant it is.

mod agents;
mod approvals;
mod dlp;
mod explain;
mod policies;
mod promote;
mod prove;
mod replay;
mod standing;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::canonical::Canonical;
use crate::chain::Chain;
use crate::classification::Classification;
use crate::identity::Principal;
use crate::live::Live;
use crate::names::{AgentId, Namespace, TenantId, TraceId};
use crate::policies::ClassifiedTool;
use crate::ports::{
    Approvals, Clock, History, Ledger, LedgerError, ManifestRow, PinStore, PolicyStore, Proofs, Receipt, Record,
    Standing, StoreError, TenantStore, ToolAgents, ToolRegistry,
};
use crate::trace::{EventType, TraceDraft};

pub use agents::{Asker, MOST_TOOL_AGENTS, stand_in};
pub use dlp::{DlpLine, MOST_DLP_CONFIGS};
pub use explain::{Hypothesis, PoliciesNow, RunShown, TraceExplained};
pub use policies::{MOST_POLICIES, PolicyLine};
pub use promote::{Promotion, Record as TrackRecord, Tier};
pub use prove::{ProofScope, Proved};
pub use replay::ReplayScope;
pub use standing::{LONGEST_REASON, Target};

pub use tools::{MOST_MANIFESTS, ManifestError, WrittenManifest};

pub type ManifestReader =
    Arc<dyn Fn(&ManifestRow, Option<&Arc<ClassifiedTool>>) -> Result<ClassifiedTool, String> + Send + Sync>;

pub struct Desk {
    pub tenants: Arc<dyn TenantStore>,
    pub registry: Arc<dyn ToolRegistry>,
    pub ledger: Arc<dyn Ledger>,
    pub history: Arc<dyn History>,
    pub policies: Arc<dyn PolicyStore>,
    pub pins: Arc<dyn PinStore>,
    pub approvals: Arc<dyn Approvals>,
    pub standing: Arc<dyn Standing>,
    pub proofs: Arc<dyn Proofs>,
    pub agents: Arc<dyn ToolAgents>,
    pub clock: Arc<dyn Clock>,
    /// 32 fresh random bytes.
    pub random: Arc<dyn Fn() -> [u8; 32] + Send + Sync>,
    /// The rules in force: the node's own, or as a command read them.
    pub judge: Arc<dyn Fn() -> (Arc<Chain>, Arc<Live>) + Send + Sync>,
    /// Upstreams whose tools are let through although nobody classified them.
    pub watched: Arc<dyn Fn() -> Vec<Namespace> + Send + Sync>,
    /// Upstreams that the operator vouches for: what they say of their own tools may lower a suggested risk.
    pub trusted: Arc<dyn Fn() -> Vec<Namespace> + Send + Sync>,
    /// Reads a tenant's manifest as the gateway will, over what the files say of the tool; or says what is wrong with it.
    pub manifest: ManifestReader,
    /// Nanoseconds since any moment: how long judges take.
    pub stopwatch: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Which program proves, by name and version.
    pub program: String,
    /// How long a yes may be used.
    pub approved_for: Duration,
    /// Where people reach the console, for links.
    pub link: String,
}

/// Who acts. Whose rows they may see and change is decided here, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// At the command line of the machine; the operating system's user.
    Operator(String),
    /// Holds an administrator's key of one tenant, by the key's name; the key itself is `key-ID`.
    Administrator { tenant: TenantId, name: String, key: AgentId },
}

impl Who {
    /// Whoever showed an administrator's key.
    pub fn administrator(principal: &Principal) -> Option<Self> {
        let tenant = principal.tenant.filter(|_| principal.is_admin())?;
        let key = principal.agent.clone();
        Some(Self::Administrator { tenant, name: principal.owner.clone().unwrap_or_else(|| key.to_string()), key })
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Operator(name) | Self::Administrator { name, .. } => name,
        }
    }

    /// `operator:alice` or `administrator:ci`, as traces have it.
    pub fn written(&self) -> String {
        match self {
            Self::Operator(name) => format!("operator:{name}"),
            Self::Administrator { name, .. } => format!("administrator:{name}"),
        }
    }

    /// The tenant whose rows they see; an operator sees all.
    pub fn tenant(&self) -> Option<TenantId> {
        match self {
            Self::Operator(_) => None,
            Self::Administrator { tenant, .. } => Some(*tenant),
        }
    }

    /// What is another's does not exist.
    pub fn may_see(&self, tenant: Option<TenantId>) -> bool {
        match self {
            Self::Operator(_) => true,
            Self::Administrator { tenant: own, .. } => tenant == Some(*own),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    #[error("{0} was not found")]
    NotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Forbidden(String),
    /// It was done or decided already.
    #[error("{0}")]
    Conflict(String),
    /// What it concerns is suspended.
    #[error("{0}")]
    Frozen(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Something that was done, for the chain.
pub struct Note<'a> {
    pub tenant: Option<TenantId>,
    /// Whose chain: the operators' unless it is an agent's own matter.
    pub agent: AgentId,
    /// Derived where the same thing may be written twice; fresh otherwise.
    pub trace_id: Option<TraceId>,
    pub event_type: EventType,
    pub classification: Option<Classification>,
    pub description: String,
    pub reasoning: Option<&'a str>,
}

impl Note<'_> {
    /// A matter of the operators' own chain.
    pub fn new(tenant: Option<TenantId>, description: impl Into<String>) -> Self {
        Self {
            tenant,
            agent: AgentId::operators(),
            trace_id: None,
            event_type: EventType::Decision,
            classification: None,
            description: description.into(),
            reasoning: None,
        }
    }
}

impl Desk {
    /// Writes into a chain; durable when it returns.
    pub async fn write_down(&self, note: Note<'_>, context: &impl Serialize) -> Result<Option<Receipt>, DeskError> {
        let fresh = || TraceId::from_uuid(self.clock.fresh_id());
        let unwritable =
            |error: serde_json::Error| DeskError::Invalid(format!("the record cannot be written: {error}"));
        let draft = TraceDraft {
            tenant: note.tenant,
            agent: note.agent,
            trace_id: note.trace_id.unwrap_or_else(fresh),
            event_type: note.event_type,
            classification: note.classification,
            description: Some(note.description),
            reasoning: note.reasoning.map(str::to_owned),
            authorization: Canonical::null(),
            context: Canonical::of(context).map_err(unwritable)?,
            timestamp: self.clock.now(),
        };
        Ok(self.ledger.append_batch(&[Record::Trace(draft)]).await?.pop())
    }

    /// The rules in force now.
    pub fn in_force(&self) -> (Arc<Chain>, Arc<Live>) {
        (self.judge)()
    }
}

/// Another's tenant does not exist.
fn own(who: &Who, tenant: TenantId) -> Result<(), DeskError> {
    match who.may_see(Some(tenant)) {
        true => Ok(()),
        false => Err(DeskError::NotFound(format!("tenant `{tenant}`"))),
    }
}
