//! Showing that the rules in force keep their promises: every kind of agent, every known tool, every decision type and risk.
//!
//! The chain that is asked is the one that decides, with the judges silent that can only tighten (tenants' and files' rules,
//! access, tokens' scopes, SQL): what holds without their help holds whatever rows say. Agents and tools that cannot be told
//! apart by the judges are asked about once.

mod cells;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use crate::chain::{Chain, PluginMode};
use crate::classification::scale;
use crate::definitions::Standing;
use crate::exchange::{Route, ToolSubject};
use crate::imagine;
use crate::live::Live;
use crate::manifest::{AgentMode, RiskLevel};
use crate::names::{Namespace, TenantId, ToolName};
use crate::ports::{AgentRecord, Invariant};
use crate::verdict::Decision;

use cells::{Bench, Broken, Kind, Shape};

/// The judges that can only say no to what others allow.
const SILENT: [&str; 8] = ["dlp", "injection", "scopes", "schema", "access", "rules", "sql_guard", "gate"];

scale!(
    /// What is promised.
    Promise, "shadow_and_advisory_change_nothing, escalations_are_asked, nothing_unclassified, partial_auto_is_bounded, nothing_stopped, manifests_are_sound",
    {
        ReadersChangeNothing = "shadow_and_advisory_change_nothing",
        EscalationsAreAsked = "escalations_are_asked",
        NothingUnclassified = "nothing_unclassified",
        PartialAutoIsBounded = "partial_auto_is_bounded",
        NothingStopped = "nothing_stopped",
        ManifestsAreSound = "manifests_are_sound",
    }
);

/// What is to be shown, and of whom.
pub struct Asked<'a> {
    pub chain: &'a Chain,
    pub live: &'a Arc<Live>,
    /// Tenants whose own manifests count.
    pub tenants: &'a [TenantId],
    pub agents: &'a [AgentRecord],
    /// Tools that were seen, beside those that have a manifest.
    pub seen: &'a [(TenantId, ToolName)],
    /// Upstreams whose tools are let through although nobody classified them.
    pub watched: &'a [Namespace],
    /// Only agents of this mode.
    pub mode: Option<AgentMode>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// How many different questions the chain was asked.
    pub cells: u64,
    pub invariants: Vec<Invariant>,
    /// The shortest way in which a promise is broken.
    pub counterexample: Option<String>,
    /// Which tools each mode reaches as their manifests stand.
    pub reach: Vec<Reached>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reached {
    pub mode: AgentMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    pub tool: ToolName,
    /// Absent: nobody classified it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_level: Option<RiskLevel>,
    pub side_effects: bool,
    /// `allow` or `approval_required`.
    pub decision: Decision,
}

impl Shown {
    pub fn holds(&self) -> bool {
        self.counterexample.is_none()
    }

    /// Policies that cannot be read promise nothing.
    pub fn unreadable(problems: &[String]) -> Self {
        let invariants = Promise::ALL.iter().map(|promise| Invariant {
            id: promise.as_str().into(),
            holds: *promise != Promise::ManifestsAreSound,
            cells: 0,
        });
        let told = problems.iter().min_by_key(|problem| (problem.len(), *problem)).cloned();
        let counterexample = Some(told.unwrap_or_else(|| "the policies cannot be read".into()));
        Self { cells: 0, invariants: invariants.collect(), counterexample, reach: Vec::new() }
    }
}

pub fn prove(asked: &Asked<'_>) -> Shown {
    let kinds = kinds(asked);
    let mut bench = Bench::new(asked);
    let mut reach = BTreeSet::new();
    // Nobody's tenant first: what the files alone say.
    let tenants = std::iter::once(None).chain(asked.tenants.iter().copied().map(Some));
    for tenant in tenants {
        let mut shapes: BTreeMap<Shape, ToolSubject> = BTreeMap::new();
        for tool in tools(asked, tenant) {
            enumerate(asked, tenant, &kinds, &tool, &mut bench, &mut reach);
            // The same tool, had its definition changed: what is quarantined tomorrow is proved today.
            let changed = ToolSubject { standing: Standing::Quarantined, ..tool.clone() };
            for tool in [tool, changed] {
                shapes.entry(Shape::of(&tool)).or_insert(tool);
            }
        }
        for kind in &kinds {
            for tool in shapes.values() {
                bench.ask_all(kind, tenant, tool);
            }
        }
        stopped(asked, tenant, &mut bench);
        let rows = asked.live.rules_of(tenant);
        for broken in rows.broken.iter().filter(|broken| broken.policy.starts_with("the manifest of ")) {
            bench.broken(Promise::ManifestsAreSound, Broken::said(&format!("{}: {}", broken.policy, broken.why)));
        }
    }
    if asked.chain.modes().any(|mode| mode == ("standing", PluginMode::Observe)) {
        let how = "whoever is suspended is let through: chain.yaml has standing: observe";
        bench.broken(Promise::NothingStopped, Broken::said(how));
    }
    bench.shown(reach.into_iter().collect())
}

/// Every agent's kind, and for each autonomy one whom nothing else limits.
fn kinds(asked: &Asked<'_>) -> BTreeSet<Kind> {
    let real = asked.agents.iter().map(Kind::of);
    let all = real.chain(Kind::unlimited());
    all.filter(|kind| asked.mode.is_none_or(|mode| kind.mode() == mode)).collect()
}

/// Everything that a caller of this tenant could name and that anybody knows of, and what nobody knows of.
fn tools(asked: &Asked<'_>, tenant: Option<TenantId>) -> Vec<ToolSubject> {
    let mut names: BTreeSet<&ToolName> = asked.live.rules_of(tenant).tools.keys().collect();
    names.extend(asked.seen.iter().filter(|(of, _)| tenant == Some(*of)).map(|(_, name)| name));
    // Files are everybody's: they are asked about once, and again only where a tenant says more.
    names.extend(asked.chain.policies().tools.keys().filter(|_| tenant.is_none()));
    let unknown: Vec<_> = asked.watched.iter().map(|namespace| ToolName::new(namespace, "unknown")).collect();
    // And one that no upstream has: whatever nobody classified is like it.
    let nowhere = "unknown/unknown".parse::<ToolName>();
    names.extend(unknown.iter().chain(&nowhere).filter(|_| tenant.is_none()));
    let somebody = cells::somebody(tenant);
    let watched = |name: &ToolName| asked.watched.iter().any(|one| one.as_str() == name.namespace());
    let subject = |name| imagine::subject(asked.chain, asked.live, &somebody, name, watched(name));
    names.into_iter().map(subject).collect()
}

fn enumerate(
    asked: &Asked<'_>,
    tenant: Option<TenantId>,
    kinds: &BTreeSet<Kind>,
    tool: &ToolSubject,
    bench: &mut Bench<'_>,
    reach: &mut BTreeSet<Reached>,
) {
    if tool.governs() {
        return;
    }
    let modes: BTreeSet<_> = kinds.iter().map(Kind::mode).collect();
    for kind in Kind::unlimited().filter(|kind| modes.contains(&kind.mode())) {
        let decision = bench.plainly(&kind, tenant, tool);
        if decision == Decision::Deny {
            continue;
        }
        let known = tool.classified.as_ref();
        let reached = Reached {
            mode: kind.mode(),
            tenant: tenant.filter(|_| asked.live.rules_of(tenant).tool(&tool.name).is_some()),
            tool: tool.name.clone(),
            risk_level: known.map(|known| known.manifest.risk_level),
            side_effects: tool.side_effects(),
            decision,
        };
        // A4 and A5 are one mode; what the freer of them may do is what the mode reaches.
        let same = |other: &Reached| {
            (other.mode, &other.tenant, &other.tool) == (reached.mode, &reached.tenant, &reached.tool)
        };
        match reach.iter().find(|other| same(other)).cloned() {
            Some(other) if other.decision <= decision => {}
            other => {
                other.map(|other| reach.remove(&other));
                reach.insert(reached);
            }
        }
    }
}

/// What is stopped is refused, for the very agents it concerns.
fn stopped(asked: &Asked<'_>, tenant: Option<TenantId>, bench: &mut Bench<'_>) {
    let Some(tenant) = tenant.filter(|_| !asked.live.standing.is_empty()) else { return };
    let agents = asked.agents.iter().filter(|record| record.tenant == tenant).take(1000);
    for record in agents {
        let principal = Arc::new(imagine::principal(record));
        let mut names: BTreeSet<&ToolName> = asked.chain.policies().tools.keys().collect();
        names.extend(asked.live.rules_of(Some(tenant)).tools.keys());
        for name in names {
            // Most are going: asking the chain about those shows nothing here.
            if asked.live.standing.why(&principal, &Route::All, Some(name)).is_none() {
                continue;
            }
            let tool = imagine::subject(asked.chain, asked.live, &principal, name, false);
            bench.ask_stopped(&principal, &tool);
        }
    }
}

/// Why the chain lets something through that it should not: the loose ends an operator can tie up.
fn looseness(chain: &Chain, tool: &ToolSubject) -> String {
    let observed: Vec<_> =
        chain.modes().filter(|(_, mode)| *mode == PluginMode::Observe).map(|(name, _)| name).collect();
    if tool.classified.is_none() && tool.observed {
        return format!("upstreams.{} has unclassified: observe", tool.name.namespace());
    }
    match observed.as_slice() {
        [] => "the rules in force allow it".into(),
        names => format!(
            "chain.yaml has {}",
            names.iter().map(|name| format!("{name}: observe")).collect::<Vec<_>>().join(", ")
        ),
    }
}
