//! The hexagon: what a call is, who asks, what a tool may do, what is decided and how it is written down.
//!
//! Nothing here opens a file or a socket, asks the time or starts a task. Whatever needs the world is a trait in
//! [`ports`]; the server hands in the adapters.

pub mod access;
pub mod agents;
pub mod approvals;
pub mod canonical;
pub mod chain;
pub mod classification;
pub mod classify;
pub mod content;
pub mod crossing;
pub mod definitions;
pub mod desk;
pub mod digest;
pub mod dlp;
pub mod evidence;
pub mod exchange;
pub mod explain;
pub mod gate;
pub mod gateway;
pub mod home;
pub mod identity;
pub mod imagine;
pub mod injection;
pub mod keys;
pub mod lists;
pub mod live;
pub mod manifest;
pub mod matrix;
pub mod names;
pub mod outcome;
pub mod permission;
pub mod policies;
pub mod ports;
pub mod prove;
pub mod reach;
mod recorded;
pub mod refusal;
pub mod replay;
pub mod resume;
pub mod rules;
pub mod scopes;
pub mod session;
pub mod sql;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod verdict;
pub mod verify;

pub use chain::{Chain, Judge, Mutator, OwnAnswer, Permit, Plugin, PluginMode};
pub use classification::{Autonomy, Classification, DecisionType, Reversibility, Risk};
pub use exchange::{Ask, Exchange, Route, Subject};
pub use gateway::Gateway;
pub use home::Home;
pub use identity::{Credential, Principal, PrincipalKind, Vouched};
pub use live::{Live, LiveHandle, TenantRules};
pub use manifest::{AgentMode, RiskLevel, ToolManifest};
pub use names::{AgentId, Namespace, TenantId, ToolName, TraceId};
pub use policies::Policies;
pub use trace::{EventType, Trace, TraceDraft};
pub use verdict::{Decision, Opinion, PolicyMode, Reason, Verdict};

/// An adapter's own error: logged where it is handled, never sent to a client.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
