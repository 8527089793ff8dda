//! Which packets may be handed to which targets. The first rule that matches decides.

use serde::{Deserialize, Serialize};

use super::records::{Envelope, Target};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Permit,
    Deny,
    /// Denies too: a policy that cannot say yes says no.
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatchRules {
    /// Where no rule matches.
    #[serde(default = "deny")]
    pub default: Effect,
    #[serde(default)]
    pub rules: Vec<DispatchRule>,
}

fn deny() -> Effect {
    Effect::Deny
}

/// Matches if every selector that is given does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatchRule {
    pub effect: Effect,
    #[serde(default)]
    pub error_message: Option<String>,
    #[serde(default)]
    pub target_kinds: Vec<TargetKind>,
    #[serde(default)]
    pub targets: Vec<TargetSelector>,
    /// All of these must be there.
    #[serde(default)]
    pub require_labels: Vec<String>,
    /// None of these may be there.
    #[serde(default)]
    pub forbid_labels: Vec<String>,
    #[serde(default)]
    pub require_policy_tags: Vec<String>,
    #[serde(default)]
    pub forbid_policy_tags: Vec<String>,
    #[serde(default)]
    pub content_types: Vec<String>,
    #[serde(default)]
    pub schema_ids: Vec<String>,
    #[serde(default)]
    pub packet_ids: Vec<String>,
    #[serde(default)]
    pub stage_ids: Vec<String>,
    #[serde(default)]
    pub scenario_ids: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    Agent,
    Session,
    External,
    Channel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSelector {
    pub target_kind: TargetKind,
    #[serde(default)]
    pub target_id: Option<String>,
    #[serde(default)]
    pub system: Option<String>,
    #[serde(default)]
    pub target: Option<String>,
}

impl DispatchRules {
    pub fn permit_all() -> Self {
        Self { default: Effect::Permit, rules: Vec::new() }
    }

    pub fn deny_all() -> Self {
        Self { default: Effect::Deny, rules: Vec::new() }
    }

    pub fn permits(&self, envelope: &Envelope, target: &Target) -> bool {
        let decided = self.rules.iter().find(|rule| rule.matches(envelope, target));
        decided.map_or(self.default, |rule| rule.effect) == Effect::Permit
    }
}

impl DispatchRule {
    fn matches(&self, envelope: &Envelope, target: &Target) -> bool {
        let any = |listed: &[String], value: &str| listed.is_empty() || listed.iter().any(|one| one == value);
        let marks = |require: &[String], forbid: &[String], present: &[String]| {
            require.iter().all(|one| present.contains(one)) && !forbid.iter().any(|one| present.contains(one))
        };
        (self.target_kinds.is_empty() || self.target_kinds.contains(&target.kind()))
            && (self.targets.is_empty() || self.targets.iter().any(|selector| selector.matches(target)))
            && marks(&self.require_labels, &self.forbid_labels, &envelope.visibility.labels)
            && marks(&self.require_policy_tags, &self.forbid_policy_tags, &envelope.visibility.policy_tags)
            && any(&self.content_types, &envelope.content_type)
            && any(&self.schema_ids, envelope.schema_id.as_str())
            && any(&self.packet_ids, envelope.packet_id.as_str())
            && any(&self.stage_ids, envelope.stage_id.as_str())
            && any(&self.scenario_ids, envelope.scenario_id.as_str())
    }
}

impl TargetSelector {
    fn matches(&self, target: &Target) -> bool {
        let (id, system, place) = match target {
            Target::Agent { agent_id: id } | Target::Session { session_id: id } | Target::Channel { channel: id } => {
                (Some(id), None, None)
            }
            Target::External { system, target } => (None, Some(system), Some(target)),
        };
        // A selector of another kind's field matches nothing, rather than everything.
        let fits = |wanted: &Option<String>, actual: Option<&super::Id>| {
            wanted.as_deref().is_none_or(|wanted| actual.is_some_and(|actual| actual.as_str() == wanted))
        };
        self.target_kind == target.kind()
            && fits(&self.target_id, id)
            && fits(&self.system, system)
            && fits(&self.target, place)
    }
}

impl Target {
    pub fn kind(&self) -> TargetKind {
        match self {
            Self::Agent { .. } => TargetKind::Agent,
            Self::Session { .. } => TargetKind::Session,
            Self::External { .. } => TargetKind::External,
            Self::Channel { .. } => TargetKind::Channel,
        }
    }
}
