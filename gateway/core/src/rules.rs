//! Agent policies: conditions over a decision and its context, and what they require of it.

use std::borrow::Cow;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::classification::{DecisionType, Risk, scale};
use crate::exchange::Exchange;
use crate::verdict::{Opinion, PolicyMode};

scale!(
    Severity, "low, medium, high, critical",
    { Low = "low", Medium = "medium", High = "high", Critical = "critical", }
);

/// A policy as a row or a file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenPolicy {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    pub policy_id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// `{condition, requirement, max_response_time?}`
    pub rule: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regulatory_mapping: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PolicyMode>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct RuleError {
    pub field: String,
    pub what: String,
}

/// What a policy asks of a decision to which it applies.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    written: Value,
}

/// What must hold for a policy to apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    written: Value,
}

impl Condition {
    pub fn written(&self) -> &Value {
        &self.written
    }
}

impl Requirement {
    pub fn written(&self) -> &Value {
        &self.written
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct AgentPolicy {
    pub id: Option<Uuid>,
    pub policy_id: String,
    pub name: String,
    pub category: Option<String>,
    pub severity: Severity,
    pub condition: Condition,
    pub requirement: Requirement,
    pub respond_within: Option<SignedDuration>,
    pub regulatory: Vec<String>,
    pub mode: PolicyMode,
}

impl AgentPolicy {
    pub fn compile(written: &WrittenPolicy) -> Result<Self, RuleError> {
        Err(RuleError {
            field: format!("{}.rule", written.policy_id),
            what: "conditions cannot be read by this build".into(),
        })
    }
}

/// What conditions look at.
pub trait Context {
    fn get(&self, path: &[Box<str>]) -> Option<Cow<'_, Value>>;
    fn decision(&self) -> (Option<DecisionType>, Option<Risk>);
    fn agent(&self) -> &str;
}

/// A call, as conditions see it.
pub struct CallContext<'a>(pub &'a Exchange);

impl Context for CallContext<'_> {
    fn get(&self, path: &[Box<str>]) -> Option<Cow<'_, Value>> {
        let mut at = self.0.arguments()?;
        for step in path {
            at = at.get(step.as_ref())?;
        }
        Some(Cow::Borrowed(at))
    }

    fn decision(&self) -> (Option<DecisionType>, Option<Risk>) {
        let part = self.0.classification();
        (Some(part.decision_type), Some(part.risk))
    }

    fn agent(&self) -> &str {
        self.0.principal.agent.as_str()
    }
}

/// A decision as an agent describes it.
pub struct DeclaredContext<'a> {
    pub agent: &'a str,
    pub decision_type: Option<DecisionType>,
    pub risk: Option<Risk>,
    pub context: &'a Value,
}

impl Context for DeclaredContext<'_> {
    fn get(&self, path: &[Box<str>]) -> Option<Cow<'_, Value>> {
        let mut at = self.context;
        for step in path {
            at = at.get(step.as_ref())?;
        }
        Some(Cow::Borrowed(at))
    }

    fn decision(&self) -> (Option<DecisionType>, Option<Risk>) {
        (self.decision_type, self.risk)
    }

    fn agent(&self) -> &str {
        self.agent
    }
}

#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    policies: Vec<AgentPolicy>,
    digest: String,
    enforced: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Violation {
    pub policy_id: String,
    pub name: String,
    pub severity: Severity,
    pub requirement: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evaluation {
    pub violations: Vec<Violation>,
    pub applicable: Vec<String>,
    pub warnings: Vec<String>,
}

impl RuleSet {
    pub fn compile(policies: Vec<AgentPolicy>) -> Self {
        Self { policies, digest: String::new(), enforced: String::new() }
    }

    pub fn evaluate(&self, _context: &dyn Context) -> Evaluation {
        Evaluation::default()
    }

    pub fn judge(&self, _exchange: &Exchange, _say: &mut dyn FnMut(Opinion)) {}

    /// Empty for no policies.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    pub fn enforced_digest(&self) -> &str {
        &self.enforced
    }

    pub fn policies(&self) -> &[AgentPolicy] {
        &self.policies
    }

    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }
}
