//! What one plugin says of a call, and what all of them together decide.

use serde::{Deserialize, Serialize};

/// A plugin's word. The chain adds the plugin's name; the plugin names its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No opinion.
    Pass,
    /// This call is known and may go, as far as this plugin sees.
    Grant,
    /// A human must say yes first.
    Escalate(Objection),
    Deny(Objection),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    pub rule: &'static str,
    pub message: String,
}

impl Verdict {
    pub fn deny(rule: &'static str, message: impl Into<String>) -> Self {
        Self::Deny(Objection { rule, message: message.into() })
    }

    pub fn escalate(rule: &'static str, message: impl Into<String>) -> Self {
        Self::Escalate(Objection { rule, message: message.into() })
    }
}

/// From free to refused, so that the strictest of many is their maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    ApprovalRequired,
    Deny,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::ApprovalRequired => "approval_required",
            Self::Deny => "deny",
        }
    }
}

/// Why a call was not simply allowed, for the caller and for the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub plugin: String,
    pub rule: String,
    pub message: String,
}

impl Reason {
    pub fn new(plugin: &str, rule: &str, message: impl Into<String>) -> Self {
        Self { plugin: plugin.into(), rule: rule.into(), message: message.into() }
    }
}

/// One plugin's verdict as the trace keeps it, `observed` when it was heard but not obeyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub plugin: &'static str,
    pub verdict: &'static str,
    pub reason: Option<Reason>,
    pub observed: bool,
}
