//! What one plugin says of a call, and what all of them together decide.

use std::borrow::Cow;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::classification::scale;
use crate::manifest::AgentMode;
use crate::names::ToolName;

/// A plugin's word. The chain adds the plugin's name; the plugin names its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No opinion.
    Pass,
    /// This call is known and may go, as far as this plugin sees.
    Grant,
    /// Written down, and told to the caller where its policy is more than a shadow. It decides nothing.
    Mention(Objection),
    /// The same, and people are told as well where its policy is obeyed.
    Notify(Objection),
    /// A human must say yes first.
    Escalate(Objection),
    Deny(Objection),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    pub rule: Cow<'static, str>,
    pub message: String,
    /// How soon a human must have answered, where a policy says so.
    pub respond_within: Option<SignedDuration>,
    /// What would take this objection away.
    pub remedy: Option<Remedy>,
}

/// What could be changed so that a call passes; tried, never promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    Approve,
    /// The manifest lists this mode.
    Mode(AgentMode),
    Role(String),
    /// Some role of the caller may call the tool.
    Permission,
    /// Other arguments: which, in words.
    Arguments(String),
    /// The tool's changed definition is accepted.
    Accept(ToolName),
    /// The tool's upstream does this, in words.
    Upstream(String),
    /// The policy of this name is changed or its mode is lowered.
    Policy(String),
}

impl Objection {
    pub fn new(rule: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { rule: rule.into(), message: message.into(), respond_within: None, remedy: None }
    }

    #[must_use]
    pub fn within(mut self, time: Option<SignedDuration>) -> Self {
        self.respond_within = time;
        self
    }

    #[must_use]
    pub fn cured_by(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }
}

impl Verdict {
    pub fn deny(rule: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::Deny(Objection::new(rule, message))
    }

    pub fn escalate(rule: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::Escalate(Objection::new(rule, message))
    }
}

scale!(
    /// What a policy's word is worth: written down, also told to the caller, or obeyed.
    PolicyMode, "shadow, advisory, enforce",
    { Shadow = "shadow", Advisory = "advisory", Enforce = "enforce", }
);

/// One verdict of a judge, with the worth of the policy it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    pub verdict: Verdict,
    pub mode: PolicyMode,
}

impl Opinion {
    pub fn new(verdict: Verdict, mode: PolicyMode) -> Self {
        Self { verdict, mode }
    }

    pub fn enforced(verdict: Verdict) -> Self {
        Self { verdict, mode: PolicyMode::Enforce }
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
    /// The worth of the policy that spoke; a judge without policies of its own enforces.
    pub mode: PolicyMode,
    pub observed: bool,
    /// What would take its objection away, where it knows; for whoever explains, not for the trace.
    pub remedy: Option<Remedy>,
}
