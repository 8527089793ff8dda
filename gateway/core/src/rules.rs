//! Agent policies: conditions over a decision and its context, and what they require of it.
//!
//! A policy is compiled when it is written or loaded, so that what nobody understands is refused then and not when a call
//! is waiting. How policies are stored and who may change them is somebody else's.

mod call;
mod condition;
mod path;
mod requirement;
mod set;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::classification::{DecisionType, Risk, scale};
use crate::gate::binding::GateBinding;
use crate::verdict::PolicyMode;

pub use call::{CONTEXT_META, CallContext, weekday};
pub use condition::{Applies, Condition};
pub use path::Path;
pub use requirement::Requirement;
pub use set::{Evaluation, RuleSet, Violation};

scale!(
    /// How bad it is when a policy is not kept. `critical` ones count as not kept where they cannot be checked.
    Severity, "low, medium, high, critical",
    { Low = "low", Medium = "medium", High = "high", Critical = "critical", }
);

/// The longest text a rule may be, written as JSON.
pub const MAX_RULE_BYTES: usize = 16 * 1024;

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

impl RuleError {
    fn at(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self { field: field.into(), what: what.into() }
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
    /// The same, as it was written.
    pub max_response_time: Option<String>,
    pub regulatory: Vec<String>,
    pub mode: PolicyMode,
}

impl AgentPolicy {
    /// A severity nobody gave is `medium`, a mode nobody gave is `shadow`.
    pub fn compile(written: &WrittenPolicy) -> Result<Self, RuleError> {
        let name = |field: &'static str, text: &str, longest: usize| {
            let wrong = text.trim().is_empty() || text.len() > longest || text.chars().any(char::is_control);
            let what = || format!("must be 1 to {longest} bytes without control characters");
            if wrong { Err(RuleError::at(field, what())) } else { Ok(text.to_owned()) }
        };
        let (policy_id, title) = (name("policy_id", &written.policy_id, 128)?, name("name", &written.name, 256)?);
        let Value::Object(rule) = &written.rule else {
            return Err(RuleError::at("rule", "must be an object with `condition` and `requirement`"));
        };
        if written.rule.to_string().len() > MAX_RULE_BYTES {
            return Err(RuleError::at("rule", format!("is longer than {MAX_RULE_BYTES} bytes")));
        }
        if let Some(key) =
            rule.keys().find(|key| !["condition", "requirement", "max_response_time"].contains(&key.as_str()))
        {
            let what = "is not known; a rule has `condition`, `requirement` and `max_response_time`";
            return Err(RuleError::at(format!("rule.{key}"), what));
        }
        let missing = |field: &str| RuleError::at(format!("rule.{field}"), "is missing");
        let condition = rule.get("condition").ok_or_else(|| missing("condition"))?;
        let requirement = rule.get("requirement").ok_or_else(|| missing("requirement"))?;
        let (respond_within, max_response_time) = match rule.get("max_response_time") {
            None | Some(Value::Null) => (None, None),
            Some(Value::String(text)) => (Some(requirement::time(text)?), Some(text.clone())),
            Some(_) => return Err(RuleError::at("rule.max_response_time", "must be a text such as `PT1H`")),
        };
        Ok(Self {
            id: written.id,
            policy_id,
            name: title,
            category: written.category.clone(),
            severity: written.severity.unwrap_or(Severity::Medium),
            condition: Condition::compile(condition, "rule.condition")?,
            requirement: Requirement::compile(requirement)?,
            respond_within,
            max_response_time,
            regulatory: written.regulatory_mapping.clone(),
            mode: written.mode.unwrap_or(PolicyMode::Shadow),
        })
    }

    /// What names this policy in a digest.
    fn canonical(&self) -> impl Serialize + '_ {
        let rule = (self.condition.written(), self.requirement.written(), &self.max_response_time);
        (&self.policy_id, &self.name, &self.category, self.severity, rule, &self.regulatory, self.mode)
    }
}

/// One value of a context, borrowed from wherever it stands: most are looked at and never kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen<'a> {
    Json(&'a Value),
    Text(&'a str),
    Number(i64),
    Texts(&'a [String]),
}

impl Seen<'_> {
    fn is_null(self) -> bool {
        matches!(self, Self::Json(Value::Null))
    }
}

/// What conditions look at.
pub trait Context {
    fn get(&self, path: &Path) -> Option<Seen<'_>>;
    fn decision(&self) -> (Option<DecisionType>, Option<Risk>);
    fn agent(&self) -> &str;
    /// Why this gate is closed to it. What is only declared has no run to show.
    fn closed(&self, binding: &GateBinding) -> Option<String> {
        Some(format!("it needs a run of scenario {}", binding.scenario))
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
    fn get(&self, path: &Path) -> Option<Seen<'_>> {
        path::walk(self.context, path.as_str(), path.steps()).map(Seen::Json)
    }

    fn decision(&self) -> (Option<DecisionType>, Option<Risk>) {
        (self.decision_type, self.risk)
    }

    fn agent(&self) -> &str {
        self.agent
    }
}
