//! What could be changed about a call, in words for whoever could change it, and the same call with it changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::chain::{Chain, Ruling};
use crate::classification::{Autonomy, DecisionType, Risk};
use crate::definitions::Standing;
use crate::exchange::{Effective, Exchange, ToolSubject};
use crate::gate::binding::GateBinding;
use crate::identity::Principal;
use crate::imagine::Imagined;
use crate::live::Live;
use crate::manifest::{AgentMode, RiskLevel, ToolManifest};
use crate::names::ToolName;
use crate::policies::{ClassifiedTool, Handling};
use crate::sql::SqlHandling;
use crate::verdict::{Heard, Reason, Remedy};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Approve,
    Autonomy(Autonomy),
    MaxRisk(Risk),
    AllowType(DecisionType),
    Accept(ToolName),
    /// What the upstream says of the tool can be held against what was accepted.
    Listed(String),
    Classify(RiskLevel),
    ListMode(AgentMode),
    Restore(String),
    Role(String),
    /// Other SQL, in the words of the judge that reads it.
    Sql(String),
    /// Other arguments, in the words of the tool's schema.
    Schema(String),
    Unchecked,
    /// What raised the call is left out of it.
    Lower {
        rule: String,
        words: String,
    },
    /// One objection is taken away by what is said here.
    Lift {
        plugin: String,
        rule: String,
        words: String,
    },
    /// A policy by its plugin and rule: changed, or its mode lowered.
    Policy(&'static str, String),
}

impl Change {
    pub fn written(&self, call: &Imagined) -> String {
        let (agent, tool) = (&call.principal.agent, &call.tool.name);
        match self {
            Self::Approve => "a human approves this call".into(),
            Self::Autonomy(to) => format!("{agent} is promoted to {to} ({})", AgentMode::of(*to)),
            Self::MaxRisk(to) => format!("{agent} may take risks up to {to}"),
            Self::AllowType(kind) => format!("{agent} may take decisions of type {kind}"),
            Self::Accept(tool) => {
                format!("the definition of {tool} is accepted, as with `portreeve manifest accept {tool}`")
            }
            Self::Classify(level) => format!("{tool} gets a manifest, as {level}"),
            Self::ListMode(mode) => format!("the manifest of {tool} lists {mode} among its `allowed_modes`"),
            Self::Restore(what) => format!("{what} is restored"),
            Self::Role(role) => format!("{agent} has the role `{role}`"),
            Self::Sql(words) | Self::Listed(words) => words.clone(),
            Self::Schema(words) => format!("the arguments fit the schema of {tool}: {words}"),
            Self::Unchecked => format!("`schema: off` stands in the handling of {tool}"),
            Self::Lower { words, .. } | Self::Lift { words, .. } => words.clone(),
            Self::Policy(plugin, rule) => format!("{plugin}/{rule} is changed, or only advises"),
        }
    }

    /// Two of one kind contradict each other.
    pub fn goes_with(&self, other: &Self) -> bool {
        let any = matches!(self, Self::Policy(..) | Self::Lift { .. } | Self::Lower { .. });
        any || std::mem::discriminant(self) != std::mem::discriminant(other)
    }

    /// Whether whoever makes this change has also made the other: a higher autonomy is no news once a lower one will do.
    pub fn covers(&self, known: &Self) -> bool {
        match (self, known) {
            (Self::Autonomy(made), Self::Autonomy(known)) => made >= known,
            (Self::MaxRisk(made), Self::MaxRisk(known)) => made >= known,
            (Self::Classify(made), Self::Classify(known)) => made >= known,
            _ => self == known,
        }
    }

    /// Whether this objection is gone with it, whatever the judges say.
    pub fn lifts(&self, heard: &Heard) -> bool {
        let Some(reason) = &heard.reason else { return false };
        match self {
            Self::Policy(plugin, rule) => heard.plugin == *plugin && reason.rule == *rule,
            Self::Lift { plugin, rule, .. } => reason.plugin == *plugin && reason.rule == *rule,
            _ => false,
        }
    }

    pub fn make(&self, changed: &mut Imagined, principal: &mut Principal, live: &mut Arc<Live>) {
        match self {
            Self::Approve | Self::Policy(..) | Self::Lift { .. } => {}
            Self::Autonomy(to) => principal.autonomy = *to,
            Self::MaxRisk(to) => principal.max_risk = *to,
            Self::AllowType(kind) => principal.allowed_types.push(*kind),
            Self::Role(role) => principal.roles.push(role.clone()),
            Self::Accept(_) | Self::Listed(_) => changed.tool.standing = Standing::Pinned,
            Self::Classify(level) => classify(&mut changed.tool, *level),
            Self::ListMode(mode) => another(&mut changed.tool, |tool| tool.manifest.allowed_modes.push(*mode)),
            Self::Restore(_) => *live = Live::unsuspended(live),
            Self::Sql(_) => handled(&mut changed.tool, |handling| handling.sql = SqlHandling::Off),
            Self::Schema(_) | Self::Unchecked => changed.definition = None,
            Self::Lower { rule, .. } => match rule.as_str() {
                "declared" => changed.declared = None,
                "sql" => handled(&mut changed.tool, |handling| handling.sql = SqlHandling::Off),
                _ => handled(&mut changed.tool, |handling| handling.raises.clear()),
            },
        }
    }
}

/// What could be changed about this call, least first in each kind. `exchange` is the call as it was judged.
pub(super) fn changes(
    chain: &Chain,
    (call, exchange): (&Imagined, &Exchange),
    ruling: &Ruling,
    kept: &[Heard],
) -> Vec<Change> {
    let principal = &call.principal;
    // As it was raised: what stands in the way stands there for what the call counts as.
    let part = exchange.classification();
    let mut changes = Vec::new();
    changes.extend(Autonomy::ALL.iter().filter(|to| **to > principal.autonomy).map(|to| Change::Autonomy(*to)));
    if !principal.allowed_types.is_empty() && !principal.allowed_types.contains(&part.decision_type) {
        changes.push(Change::AllowType(part.decision_type));
    }
    let larger = Risk::ALL.iter().filter(|to| **to > principal.max_risk && **to >= part.risk);
    changes.extend(larger.take(1).map(|to| Change::MaxRisk(*to)));
    if call.tool.classified.is_none() {
        changes.push(Change::Classify(RiskLevel::ReadOnly));
    }
    if let Some(stopped) = exchange.suspended() {
        changes.push(Change::Restore(format!("{} {}", stopped.kind, stopped.subject)));
    }
    let objections = || ruling.heard.iter().chain(kept).filter(|heard| !heard.observed && heard.reason.is_some());
    let mut more: Vec<Change> = objections().filter_map(|heard| cure(call, heard)).collect();
    // Other SQL is one change, whoever asks for it.
    let reads_sql = more.iter().any(|change| matches!(change, Change::Sql(_)));
    more.extend(raised_by(exchange).into_iter().filter(|(rule, _)| !(reads_sql && rule == "sql")).map(
        |(rule, messages)| {
            let words = match rule.as_str() {
                "declared" => format!("{} itself does not raise it", principal.agent),
                _ => format!("the arguments are others, and do not raise it: {}", messages.join("; ")),
            };
            Change::Lower { rule, words }
        },
    ));
    more.extend(kept.iter().filter_map(|heard| moment(chain, exchange, heard.reason.as_ref()?)));
    for change in more {
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    let policies: BTreeSet<_> = objections().filter_map(policy).collect();
    changes.extend(policies.into_iter().map(|(plugin, rule)| Change::Policy(plugin, rule)));
    changes
}

/// The rules that raised the call, with all that each of them said.
fn raised_by(exchange: &Exchange) -> BTreeMap<String, Vec<&str>> {
    let mut by: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for raised in exchange.tool().into_iter().flat_map(|tool| &tool.effective.why) {
        by.entry(raised.rule.clone().into_owned()).or_default().push(&raised.message);
    }
    by
}

/// What the judge that objects has to say about it.
fn cure(call: &Imagined, heard: &Heard) -> Option<Change> {
    let Reason { plugin, rule, .. } = heard.reason.clone()?;
    let lift = |words: String| Some(Change::Lift { plugin: plugin.clone(), rule: rule.clone(), words });
    match heard.remedy.as_ref()? {
        Remedy::Role(role) => Some(Change::Role(role.clone())),
        Remedy::Mode(mode) => Some(Change::ListMode(*mode)),
        Remedy::Accept(tool) => Some(Change::Accept(tool.clone())),
        Remedy::Upstream(words) => Some(Change::Listed(words.clone())),
        Remedy::Arguments(words) => match heard.plugin {
            "sql_guard" => Some(Change::Sql(words.clone())),
            "schema" => Some(Change::Schema(words.clone())),
            _ => lift(format!("the arguments are others: {words}")),
        },
        Remedy::Policy(_) if heard.plugin == "schema" => Some(Change::Unchecked),
        Remedy::Policy(name) if rule == "broken" => lift(format!("{name} is written so that it can be followed")),
        Remedy::Permission => {
            lift(format!("a role of {} is given the permission for {}", call.principal.agent, call.tool.name))
        }
        Remedy::Approve | Remedy::Policy(_) => None,
    }
}

/// What would have to be otherwise about the moment, for an objection that was only written down.
fn moment(chain: &Chain, exchange: &Exchange, reason: &Reason) -> Option<Change> {
    let Reason { plugin, rule, message } = reason.clone();
    let own = || exchange.tool()?.classified.as_ref()?.handling.gate.clone();
    let words = match plugin.as_str() {
        "gate" => own().map_or_else(|| message.clone(), |binding| awaited(&binding)),
        "rules" => {
            let files = chain.policies().rules.gate_of(&rule);
            awaited(files.or_else(|| exchange.rules.rules.gate_of(&rule))?)
        }
        "scopes" => format!("its token reaches further: {message}"),
        "pins" => format!("its upstream can be asked what it lists: {message}"),
        _ => return None,
    };
    Some(Change::Lift { plugin, rule, words })
}

/// What a gate waits for.
pub(super) fn awaited(binding: &GateBinding) -> String {
    let stages: Vec<_> = binding.stages.iter().map(|stage| format!("`{stage}`")).collect();
    let whose = if binding.anyone { "" } else { " that names the agent" };
    format!("an active run of scenario {}{whose} is at {}", binding.scenario, stages.join(" or "))
}

/// Whoever wrote it may take it back, unless the judge knows better what to do.
fn policy(heard: &Heard) -> Option<(&'static str, String)> {
    let reason = heard.reason.as_ref()?;
    // These two are no policy's name.
    let better = matches!(reason.rule.as_str(), "broken" | "permission");
    (matches!(heard.plugin, "rules" | "access") && !better).then(|| (heard.plugin, reason.rule.clone()))
}

fn another(tool: &mut ToolSubject, change: impl FnOnce(&mut ClassifiedTool)) {
    if let Some(known) = &mut tool.classified {
        change(Arc::make_mut(known));
    }
}

fn handled(tool: &mut ToolSubject, change: impl FnOnce(&mut Handling)) {
    another(tool, |known| change(&mut known.handling));
}

fn classify(tool: &mut ToolSubject, level: RiskLevel) {
    let manifest = ToolManifest {
        id: tool.name.clone(),
        domain: tool.name.namespace().to_owned(),
        risk_level: level,
        side_effects: level.writes(),
        allowed_modes: AgentMode::ALL.to_vec(),
    };
    tool.classified = Some(Arc::new(ClassifiedTool::new(manifest, None)));
    tool.effective = Effective::of(tool.classified.as_deref());
}
