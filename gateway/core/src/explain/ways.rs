//! What would make a call pass: changes that somebody could make, each tried against the chain, alone and then in pairs.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use crate::chain::{Chain, Ruling};
use crate::classification::{Autonomy, DecisionType, Risk};
use crate::definitions::Standing;
use crate::exchange::{Effective, ToolSubject};
use crate::identity::Principal;
use crate::imagine::Imagined;
use crate::live::{Live, Suspended};
use crate::manifest::{AgentMode, RiskLevel, ToolManifest};
use crate::names::ToolName;
use crate::policies::ClassifiedTool;
use crate::verdict::{Decision, Heard, Remedy};

/// More than this nobody reads, and pairs grow fast.
const MOST_TRIALS: usize = 64;

/// Changes that together make the call pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Way {
    pub changes: Vec<String>,
    /// What would be decided then.
    pub then: Decision,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Approve,
    Autonomy(Autonomy),
    MaxRisk(Risk),
    AllowType(DecisionType),
    Accept(ToolName),
    Classify(RiskLevel),
    Restore(String),
    Role(String),
    /// A policy by its plugin and rule: changed, or its mode lowered.
    Policy(&'static str, String),
}

impl Change {
    fn written(&self, call: &Imagined) -> String {
        let (agent, tool) = (&call.principal.agent, &call.tool.name);
        match self {
            Self::Approve => "a human approves this call".into(),
            Self::Autonomy(to) => format!("{agent} is promoted to {to} ({})", AgentMode::of(*to)),
            Self::MaxRisk(to) => format!("{agent} may take risks up to {to}"),
            Self::AllowType(kind) => format!("{agent} may take decisions of type {kind}"),
            Self::Accept(tool) => format!("the definition of {tool} is accepted"),
            Self::Classify(level) => format!("{tool} gets a manifest, as {level}"),
            Self::Restore(what) => format!("{what} is restored"),
            Self::Role(role) => format!("{agent} has the role `{role}`"),
            Self::Policy(plugin, rule) => format!("{plugin}/{rule} is changed, or only advises"),
        }
    }

    /// Two of one kind contradict each other.
    fn goes_with(&self, other: &Self) -> bool {
        std::mem::discriminant(self) != std::mem::discriminant(other) || matches!(self, Self::Policy(..))
    }
}

/// The fewest changes first. Empty for what passes already, and for what nothing here would help.
pub fn would_pass(chain: &Chain, live: &Arc<Live>, call: &Imagined, ruling: &Ruling) -> Vec<Way> {
    if ruling.decision == Decision::Allow {
        return Vec::new();
    }
    let mut found: Vec<(Vec<Change>, Decision)> = Vec::new();
    if ruling.decision == Decision::ApprovalRequired {
        found.push((vec![Change::Approve], Decision::Allow));
    }
    let changes = changes(call, live, ruling);
    let mut trials = 0;
    let mut attempt = |changes: &[&Change], found: &mut Vec<(Vec<Change>, Decision)>| {
        trials += 1;
        // A longer way is only worth telling where no part of it leads as far.
        let shorter = |way: &Vec<Change>| way.iter().all(|change| changes.iter().any(|tried| covers(tried, change)));
        if trials > MOST_TRIALS || found.iter().any(|(way, then)| *then == Decision::Allow && shorter(way)) {
            return;
        }
        let then = attempted(chain, live, call, changes);
        let better = then < ruling.decision && !found.iter().any(|(way, known)| *known <= then && shorter(way));
        if better {
            found.push((changes.iter().map(|change| (*change).clone()).collect(), then));
        }
    };
    for change in &changes {
        attempt(&[change], &mut found);
    }
    for (place, first) in changes.iter().enumerate() {
        for second in changes.iter().skip(place + 1).filter(|second| first.goes_with(second)) {
            attempt(&[first, second], &mut found);
        }
    }
    found.sort_by_key(|(way, then)| (way.len(), *then));
    let written = |(way, then): (Vec<Change>, Decision)| Way {
        changes: way.iter().map(|change| change.written(call)).collect(),
        then,
    };
    found.into_iter().map(written).collect()
}

/// Whether whoever makes the first change has also made the second: a higher autonomy is no news once a lower one will do.
fn covers(made: &Change, known: &Change) -> bool {
    match (made, known) {
        (Change::Autonomy(made), Change::Autonomy(known)) => made >= known,
        (Change::MaxRisk(made), Change::MaxRisk(known)) => made >= known,
        (Change::Classify(made), Change::Classify(known)) => made >= known,
        _ => made == known,
    }
}

/// What could be changed about this call, least first in each kind.
fn changes(call: &Imagined, live: &Live, ruling: &Ruling) -> Vec<Change> {
    let principal = &call.principal;
    let part = call.tool.classification();
    let mut changes = Vec::new();
    changes.extend(Autonomy::ALL.iter().filter(|to| **to > principal.autonomy).map(|to| Change::Autonomy(*to)));
    if !principal.allowed_types.is_empty() && !principal.allowed_types.contains(&part.decision_type) {
        changes.push(Change::AllowType(part.decision_type));
    }
    changes.extend(
        Risk::ALL
            .iter()
            .filter(|to| **to > principal.max_risk && **to >= part.risk)
            .take(1)
            .map(|to| Change::MaxRisk(*to)),
    );
    if call.tool.standing == Standing::Quarantined {
        changes.push(Change::Accept(call.tool.name.clone()));
    }
    if call.tool.classified.is_none() {
        changes.push(Change::Classify(RiskLevel::ReadOnly));
    }
    if let Some(stopped) = call.exchange(&Arc::new(live.clone())).suspended() {
        changes.push(Change::Restore(format!("{} {}", stopped.kind, stopped.subject)));
    }
    let roles: BTreeSet<_> = ruling
        .heard
        .iter()
        .filter_map(|heard| match &heard.remedy {
            Some(Remedy::Role(role)) if !heard.observed => Some(role.clone()),
            _ => None,
        })
        .collect();
    changes.extend(roles.into_iter().map(Change::Role));
    let policies: BTreeSet<_> = ruling.heard.iter().filter_map(policy).collect();
    changes.extend(policies.into_iter().map(|(plugin, rule)| Change::Policy(plugin, rule)));
    changes
}

fn policy(heard: &Heard) -> Option<(&'static str, String)> {
    let reason = heard.reason.as_ref().filter(|_| !heard.observed)?;
    matches!(heard.plugin, "rules" | "access").then(|| (heard.plugin, reason.rule.clone()))
}

fn attempted(chain: &Chain, live: &Arc<Live>, call: &Imagined, changes: &[&Change]) -> Decision {
    let mut changed = call.clone();
    let mut live = Arc::clone(live);
    let mut principal = Principal::clone(&call.principal);
    for change in changes {
        match change {
            Change::Approve | Change::Policy(..) => {}
            Change::Autonomy(to) => principal.autonomy = *to,
            Change::MaxRisk(to) => principal.max_risk = *to,
            Change::AllowType(kind) => principal.allowed_types.push(*kind),
            Change::Role(role) => principal.roles.push(role.clone()),
            Change::Accept(_) => changed.tool.standing = Standing::Pinned,
            Change::Classify(level) => classify(&mut changed.tool, *level),
            Change::Restore(_) => {
                let mut going = Live::clone(&live);
                going.standing = Suspended::default();
                live = Arc::new(going);
            }
        }
    }
    changed.principal = Arc::new(principal);
    let ruling = chain.judge(&mut changed.exchange(&live), &mut |_, run| run());
    let lowered = |heard: &Heard| {
        let named = policy(heard);
        changes.iter().any(|change| matches!(change, Change::Policy(plugin, rule) if named.as_ref().is_some_and(|(by, what)| by == plugin && what == rule)))
    };
    let heard = ruling.heard.iter().filter(|heard| !heard.observed && !lowered(heard));
    let strictest = heard.map(|heard| match heard.verdict {
        "deny" => Decision::Deny,
        "escalate" => Decision::ApprovalRequired,
        _ => Decision::Allow,
    });
    strictest.max().unwrap_or(Decision::Deny)
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
