//! A human's yes or no to one call: what it is bound to, who may give it, and that it is used once.
//!
//! The row is the truth, and every node finds the same one by its binding; how a caller hears of it is `gateway/approve.rs`.

mod eyes;
mod terms;
mod told;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::chain::Ruling;
use crate::classification::{Classification, scale};
use crate::digest;
use crate::exchange::Exchange;
use crate::keys::names_somebody;
use crate::manifest::RiskLevel;
use crate::names::{AgentId, TenantId, ToolName, TraceId};
use crate::ports::StoreError;
use crate::verdict::Reason;

pub use eyes::{Behind, SameEyes};
pub use terms::{Terms, is_link, link, shown};
pub use told::decision_trace;

/// The longest that a no stands before the same question may be put again.
const QUIET: SignedDuration = SignedDuration::from_mins(10);
/// Letters of a note.
pub const LONGEST_NOTE: usize = 500;

scale!(ApprovalKind, "call, promotion", { Call = "call", Promotion = "promotion", });
scale!(
    ApprovalStatus, "pending, approved, rejected, expired, used",
    { Pending = "pending", Approved = "approved", Rejected = "rejected", Expired = "expired", Used = "used", }
);

/// What is asked of a human.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewApproval {
    pub id: Uuid,
    pub tenant: TenantId,
    pub kind: ApprovalKind,
    pub agent: AgentId,
    /// `None` for a promotion.
    pub tool: Option<ToolName>,
    /// Names everything that the yes is good for.
    pub binding: String,
    pub args_hash: Option<String>,
    pub manifest_hash: Option<String>,
    pub policies_hash: String,
    pub classification: Classification,
    pub risk_level: Option<RiskLevel>,
    /// Somebody other than the agent's own user must decide.
    pub four_eyes: bool,
    pub reasons: Vec<Reason>,
    pub policy_ids: Vec<String>,
    /// The arguments as a human may see them.
    pub shown: Option<Value>,
    /// Whose agent it is: e-mail address or name.
    pub owner: Option<String>,
    /// The escalation's trace.
    pub trace: TraceId,
    pub deadline: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRecord {
    #[serde(flatten)]
    pub asked: NewApproval,
    pub status: ApprovalStatus,
    pub asked_at: Timestamp,
    pub decided_at: Option<Timestamp>,
    pub decided_by: Option<String>,
    pub note: Option<String>,
    /// Until when a yes may be used.
    pub use_by: Option<Timestamp>,
    pub used_at: Option<Timestamp>,
    pub used_trace: Option<TraceId>,
    pub decision_trace: Option<TraceId>,
    pub notified_at: Option<Timestamp>,
}

impl ApprovalRecord {
    /// Until when a no answers the same question, so that an agent in a loop does not wear its humans out. A yes that nobody
    /// used in time was no refusal: it may be asked for again at once.
    pub fn quiet_until(&self) -> Option<Timestamp> {
        let refused = match self.status {
            ApprovalStatus::Rejected => true,
            ApprovalStatus::Expired => self.use_by.is_none(),
            _ => false,
        };
        let decided = self.decided_at.filter(|_| refused)?;
        let time = self.asked.deadline.duration_since(self.asked_at).min(QUIET);
        Some(decided.checked_add(time).unwrap_or(Timestamp::MAX))
    }

    /// Whether this row answers its question at this time, or a new one must be asked.
    pub fn answers(&self, now: Timestamp) -> bool {
        match self.status {
            ApprovalStatus::Pending | ApprovalStatus::Approved => true,
            _ => self.quiet_until().is_some_and(|until| now < until),
        }
    }

    /// Whether anybody said whose agent it is.
    pub fn owner_is_known(&self) -> bool {
        self.asked.owner.as_deref().is_some_and(names_somebody)
    }

    /// Two pairs of eyes: the agent's own user may say no, and only somebody else may say yes. What the row alone can tell; what
    /// the registry knows besides is `eyes.rs`.
    pub fn needs_other_eyes(&self, by: &Decider, approve: bool) -> bool {
        let own = |name: &str| name.trim().to_lowercase() == by.name.trim().to_lowercase();
        let is_own = own(self.asked.agent.as_str()) || self.asked.owner.as_deref().is_some_and(own);
        approve && self.asked.four_eyes && (by.via == Via::Elicitation || is_own)
    }
}

scale!(
    /// Where a decision came from.
    Via, "cli, api, page, elicitation",
    { Cli = "cli", Api = "api", Page = "page", Elicitation = "elicitation", }
);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decider {
    pub name: String,
    pub via: Via,
    /// Decides only for this tenant; an operator for all.
    pub tenant: Option<TenantId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub approve: bool,
    pub note: Option<String>,
    /// Until when a yes may be used.
    pub use_by: Timestamp,
}

#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    #[error("there is no such approval")]
    NotFound,
    #[error("it is {0} already")]
    Already(ApprovalStatus),
    #[error("somebody other than the agent's own user must decide this")]
    FourEyes,
    #[error("who or what it concerns is suspended")]
    Frozen,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalQuery {
    pub tenant: Option<TenantId>,
    pub status: Option<ApprovalStatus>,
    pub agent: Option<AgentId>,
    pub limit: i64,
}

/// What one look at the deadlines found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Swept {
    pub expired: Vec<ApprovalRecord>,
    /// Decided, but the trace of it is not known to be written.
    pub unrecorded: Vec<ApprovalRecord>,
}

/// The right to one run, taken from a row that nobody can take it from again. Made only where a row was used up.
#[derive(Debug)]
pub struct Granted {
    approval: Uuid,
    binding: String,
}

impl Granted {
    pub(crate) fn used(approval: Uuid, binding: String) -> Self {
        Self { approval, binding }
    }

    pub fn approval(&self) -> Uuid {
        self.approval
    }

    pub(crate) fn covers(&self, exchange: &Exchange, ruling: &Ruling) -> bool {
        binding(exchange, ruling).is_some_and(|bound| bound == self.binding)
    }
}

/// The digest of what is asked of the tool. Words that travel beside the arguments belong to the wire and differ from one
/// repeat of a call to the next.
pub fn arguments_hash(exchange: &Exchange) -> Option<String> {
    let nothing = Value::Object(serde_json::Map::new());
    let arguments = exchange.arguments().unwrap_or(&nothing);
    Some(digest::named(&serde_json_canonicalizer::to_vec(arguments).ok()?))
}

/// Names exactly what a human is asked about: who, what, with which arguments, under which rules. `None` for what is no
/// tool call of a tenant's agent.
pub fn binding(exchange: &Exchange, ruling: &Ruling) -> Option<String> {
    let (tool, tenant) = (exchange.tool()?, exchange.principal.tenant?);
    let manifest = tool.classified.as_ref().map(|known| known.digest.as_ref());
    let bound = (
        tenant,
        &exchange.principal.agent,
        &tool.name,
        arguments_hash(exchange)?,
        (manifest, tool.pin.as_deref()),
        (ruling.digest(), ruling.rules.as_ref()),
    );
    Some(digest::named(&serde_json_canonicalizer::to_vec(&bound).ok()?))
}
