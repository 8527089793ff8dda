//! What policies would have people know of a call: the requirement `notify`.

use jiff::Timestamp;

use crate::classification::Classification;
use crate::names::{AgentId, TenantId, ToolName, TraceId};
use crate::verdict::{Decision, Reason};

/// Who asked for what, which policies mention it, and nothing of what was asked with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub trace: TraceId,
    pub tenant: Option<TenantId>,
    pub agent: AgentId,
    pub tool: ToolName,
    pub classification: Classification,
    /// The chain's word on the call; a human may still have to say yes to it.
    pub decision: Decision,
    pub reasons: Vec<Reason>,
    pub at: Timestamp,
}

/// Takes notices on the way of a call, so it neither waits nor fails: the trace is the record, and this is a courtesy.
pub trait Notices: Send + Sync {
    fn tell(&self, notice: Notice);
}

pub struct NoNotices;

impl Notices for NoNotices {
    fn tell(&self, _notice: Notice) {}
}
