//! What became of a call: the row beside its trace, with redacted payloads and timing.
//!
//! The trace is the proof and holds digests; the row may be erased without breaking a chain.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::{AgentId, TenantId, ToolName, TraceId};

/// How a call ended, as `status_code` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Ok,
    /// The tool ran and said it failed.
    ToolError,
    /// The upstream answered with a JSON-RPC error.
    RpcError,
    Denied,
    ApprovalRequired,
    Unauthenticated,
    Malformed,
    Limited,
    UpstreamFailed,
    /// The client went away before the answer was complete.
    Cancelled,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::RpcError => "rpc_error",
            Self::Denied => "denied",
            Self::ApprovalRequired => "approval_required",
            Self::Unauthenticated => "unauthenticated",
            Self::Malformed => "malformed",
            Self::Limited => "limited",
            Self::UpstreamFailed => "upstream_failed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    pub trace_id: TraceId,
    pub tenant: Option<TenantId>,
    pub agent: AgentId,
    /// The store turns this into the registry's id of the tool.
    pub tool: Option<ToolName>,
    pub input: Option<Value>,
    pub output: Option<Value>,
    /// The full classification: `{"code", "decision_type", "risk_level", "reversibility"}`.
    pub risk_classification: Value,
    pub execution_time_ms: i64,
    pub status: Status,
    pub timestamp: Timestamp,
}
