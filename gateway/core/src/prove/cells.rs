//! The questions that the chain is asked, and the promises that each answer is held against.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Asked, Promise, Reached, SILENT, Shown, looseness};
use crate::classification::{Autonomy, Classification, DecisionType, Risk};
use crate::definitions::Standing;
use crate::exchange::{Effective, ToolSubject};
use crate::identity::{Principal, PrincipalKind};
use crate::imagine::Imagined;
use crate::manifest::{AgentMode, RiskLevel};
use crate::names::{AgentId, TenantId};
use crate::policies::{ClassifiedTool, Handling};
use crate::ports::{AgentRecord, Invariant};
use crate::verdict::Decision;

/// What of an agent the judges look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    autonomy: Autonomy,
    allowed_types: Vec<DecisionType>,
    max_risk: Risk,
}

impl Kind {
    pub fn of(record: &AgentRecord) -> Self {
        let mut allowed_types = record.agent.allowed_types.clone();
        allowed_types.sort_unstable();
        allowed_types.dedup();
        Self { autonomy: record.agent.autonomy, allowed_types, max_risk: record.agent.max_risk }
    }

    /// One of each autonomy, whom nothing but that limits.
    pub fn unlimited() -> impl Iterator<Item = Self> {
        Autonomy::ALL.iter().map(|autonomy| Self { autonomy: *autonomy, allowed_types: Vec::new(), max_risk: Risk::R4 })
    }

    pub fn mode(&self) -> AgentMode {
        AgentMode::of(self.autonomy)
    }

    fn principal(&self, tenant: Option<TenantId>) -> Principal {
        let Self { autonomy, allowed_types, max_risk } = self.clone();
        Principal { autonomy, allowed_types, max_risk, ..somebody(tenant) }
    }

    fn written(&self) -> String {
        let mut text = format!("{} ({}", self.mode(), self.autonomy);
        if !self.allowed_types.is_empty() {
            let types: Vec<_> = self.allowed_types.iter().map(|kind| kind.as_str()).collect();
            text.push_str(&format!(", {}", types.join(",")));
        }
        text.push(')');
        text
    }
}

/// An agent about whom nothing is known but whose it is.
pub(super) fn somebody(tenant: Option<TenantId>) -> Principal {
    Principal { kind: PrincipalKind::Agent, tenant, agent: AgentId::unauthenticated(), ..Principal::anonymous() }
}

/// What of a tool the judges look at; two of one shape are answered alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    level: Option<RiskLevel>,
    side_effects: bool,
    modes: Vec<AgentMode>,
    part: (DecisionType, Risk),
    governs: bool,
    observed: bool,
    standing: u8,
}

impl Shape {
    pub fn of(tool: &ToolSubject) -> Self {
        let manifest = tool.classified.as_ref().map(|known| &known.manifest);
        let mut modes = manifest.map(|manifest| manifest.allowed_modes.clone()).unwrap_or_default();
        modes.sort_unstable();
        let part = tool.classification();
        Self {
            level: manifest.map(|manifest| manifest.risk_level),
            side_effects: tool.side_effects(),
            modes,
            part: (part.decision_type, part.risk),
            governs: tool.governs(),
            observed: tool.observed && manifest.is_none(),
            standing: match tool.standing {
                Standing::Unpinned => 0,
                Standing::Pinned => 1,
                Standing::Quarantined => 2,
                Standing::Unverified => 3,
                Standing::Unlisted => 4,
            },
        }
    }
}

/// One way in which a promise is broken; the fewer facts it takes, the better it explains.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Broken {
    facts: usize,
    text: String,
}

impl Broken {
    pub fn said(text: &str) -> Self {
        Self { facts: 0, text: text.to_owned() }
    }
}

#[derive(Default)]
struct Tally {
    cells: u64,
    broken: Option<Broken>,
}

pub(super) struct Bench<'a> {
    asked: &'a Asked<'a>,
    cells: u64,
    promises: BTreeMap<Promise, Tally>,
}

impl<'a> Bench<'a> {
    pub fn new(asked: &'a Asked<'a>) -> Self {
        let promises = Promise::ALL.iter().map(|promise| (*promise, Tally::default())).collect();
        Self { asked, cells: 0, promises }
    }

    pub fn broken(&mut self, promise: Promise, how: Broken) {
        let tally = self.promises.entry(promise).or_default();
        if tally.broken.as_ref().is_none_or(|least| how < *least) {
            tally.broken = Some(how);
        }
    }

    /// The tool as its manifest has it.
    pub fn plainly(&self, kind: &Kind, tenant: Option<TenantId>, tool: &ToolSubject) -> Decision {
        self.decide(Arc::new(kind.principal(tenant)), plain(tool))
    }

    /// The tool at every level, type and risk that arguments or the agent may raise a call to.
    pub fn ask_all(&mut self, kind: &Kind, tenant: Option<TenantId>, tool: &ToolSubject) {
        let principal = Arc::new(kind.principal(tenant));
        let own = tool.effective.clone();
        for level in RiskLevel::ALL.iter().filter(|level| **level >= own.risk_level) {
            let least = own.classification.raised_to(level.classification());
            for decision_type in DecisionType::ALL.iter().filter(|kind| **kind >= least.decision_type) {
                for risk in Risk::ALL.iter().filter(|risk| **risk >= least.risk) {
                    let part = Classification::new(*decision_type, *risk, least.reversibility);
                    let mut raised = plain(tool);
                    raised.effective = Effective { risk_level: *level, classification: part, why: Vec::new() };
                    let decision = self.decide(Arc::clone(&principal), raised.clone());
                    self.hold(kind, &raised, &own, decision);
                }
            }
        }
    }

    pub fn ask_stopped(&mut self, principal: &Arc<Principal>, tool: &ToolSubject) {
        let call = imagined(Arc::clone(principal), plain(tool)).exchange(self.asked.live);
        let Some(why) = call.suspended().map(|one| format!("{} {} is suspended", one.kind, one.subject)) else {
            return;
        };
        let decision = self.decide(Arc::clone(principal), plain(tool));
        self.count(Promise::NothingStopped, decision != Decision::Deny, || Broken {
            facts: 1,
            text: format!(
                "{} reaches {} although the {why}: {}",
                principal.agent,
                tool.name,
                looseness(self.asked.chain, tool)
            ),
        });
    }

    pub fn shown(self, reach: Vec<Reached>) -> Shown {
        let least = self.promises.values().filter_map(|tally| tally.broken.as_ref()).min();
        let counterexample = least.map(|broken| broken.text.clone());
        let invariants = self.promises.iter().map(|(promise, tally)| Invariant {
            id: promise.as_str().into(),
            holds: tally.broken.is_none(),
            cells: tally.cells,
        });
        Shown { cells: self.cells, invariants: invariants.collect(), counterexample, reach }
    }

    fn decide(&self, principal: Arc<Principal>, tool: ToolSubject) -> Decision {
        let mut exchange = imagined(principal, tool).exchange(self.asked.live);
        self.asked.chain.judge_without(&mut exchange, &SILENT).decision
    }

    pub fn hold(&mut self, kind: &Kind, tool: &ToolSubject, own: &Effective, decision: Decision) {
        self.cells += 1;
        // Governance tools write the chain itself; they are open to every mode, and only to what is built in.
        if tool.governs() {
            return;
        }
        let (asked, part) = (self.asked, tool.classification());
        let level = tool.effective.risk_level;
        let reached = decision != Decision::Deny;
        let how = |what: &str| Broken {
            facts: facts(kind, tool, own),
            text: format!("{}{what}: {}", told(kind, tool, own, decision), looseness(asked.chain, tool)),
        };
        let mode = kind.mode();
        if tool.side_effects() && mode <= AgentMode::Advisory {
            let broken = || how("");
            self.count(Promise::ReadersChangeNothing, reached, broken);
        }
        if part.requires_escalation() && tool.classified.is_some() {
            self.count(Promise::EscalationsAreAsked, decision == Decision::Allow, || how(" without being asked"));
        }
        if tool.classified.is_none() {
            self.count(Promise::NothingUnclassified, reached, || how(", which nobody classified"));
        }
        if level == RiskLevel::HighWrite && mode == AgentMode::PartialAuto && tool.classified.is_some() {
            self.count(Promise::PartialAutoIsBounded, reached, || how(""));
        }
        if matches!(tool.standing, Standing::Quarantined | Standing::Unverified | Standing::Unlisted) {
            self.count(Promise::NothingStopped, reached, || how(", whose definition nobody accepted"));
        }
        self.count(Promise::ManifestsAreSound, false, || how(""));
    }

    fn count(&mut self, promise: Promise, broken: bool, how: impl FnOnce() -> Broken) {
        self.promises.entry(promise).or_default().cells += 1;
        if broken {
            self.broken(promise, how());
        }
    }
}

/// Without what reads arguments: the level is set by whoever asks.
fn plain(tool: &ToolSubject) -> ToolSubject {
    let mut plain = tool.clone();
    plain.classified = tool
        .classified
        .as_ref()
        .map(|known| Arc::new(ClassifiedTool { handling: Handling::default(), ..ClassifiedTool::clone(known) }));
    plain
}

fn imagined(principal: Arc<Principal>, tool: ToolSubject) -> Imagined {
    Imagined { principal, tool, arguments: None, at: Timestamp::UNIX_EPOCH, declared: None, definition: None }
}

fn told(kind: &Kind, tool: &ToolSubject, own: &Effective, decision: Decision) -> String {
    let effects = if tool.side_effects() { ", side effects" } else { "" };
    let level = match &tool.classified {
        Some(_) => tool.effective.risk_level.as_str(),
        None => "unclassified",
    };
    let raised = match tool.effective == *own {
        true => String::new(),
        false => format!(" raised to {}", tool.classification().code()),
    };
    let reaches = if decision == Decision::Allow { "reaches" } else { "may ask for" };
    format!("{} {reaches} {} ({level}{effects}){raised}", kind.written(), tool.name)
}

/// How far this is from a fresh agent and a tool that only reads.
fn facts(kind: &Kind, tool: &ToolSubject, own: &Effective) -> usize {
    let (part, before) = (tool.classification(), own.classification);
    let differs = [
        kind.autonomy != Autonomy::A1,
        !kind.allowed_types.is_empty(),
        kind.max_risk != Risk::R4,
        own.risk_level > RiskLevel::ReadOnly,
        own.risk_level > RiskLevel::LowWrite,
        tool.effective.risk_level != own.risk_level,
        part.decision_type != before.decision_type,
        part.risk != before.risk,
        tool.classified.is_none(),
        tool.standing != Standing::Unpinned,
    ];
    differs.into_iter().filter(|differs| *differs).count()
}
