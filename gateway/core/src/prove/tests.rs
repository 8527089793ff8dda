#![allow(clippy::unwrap_used)]
use super::*;
use crate::chain::{Judge, Plugin};
use crate::exchange::Exchange;
use crate::live::TenantRules;
use crate::manifest::ToolManifest;
use crate::matrix::Matrix;
use crate::policies::{ClassifiedTool, Policies};
use crate::verdict::Verdict;

/// The gate alone; the real judges are asked by the model and by the stories.
struct Gate;

impl Judge for Gate {
    fn name(&self) -> &'static str {
        "manifest"
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        let Some(tool) = exchange.tool() else { return Verdict::Pass };
        match &tool.classified {
            Some(known) => known.manifest.gate_at(exchange.principal.mode(), tool.effective.risk_level),
            None => Verdict::deny("unclassified", "nobody classified it"),
        }
    }
}

struct Pins;

impl Judge for Pins {
    fn name(&self) -> &'static str {
        "pins"
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        match exchange.tool().map(|tool| tool.standing) {
            Some(Standing::Quarantined) => Verdict::deny("drift", "it changed"),
            _ => Verdict::Pass,
        }
    }
}

fn chain(tools: &[(&str, RiskLevel)], mode: PluginMode) -> Chain {
    let tools = tools.iter().map(|(name, level)| {
        let name: ToolName = name.parse().unwrap();
        let reaches = |mode: &AgentMode| mode.reach(*level) != crate::manifest::Reach::Denied;
        let manifest = ToolManifest {
            id: name.clone(),
            domain: "d".into(),
            risk_level: *level,
            side_effects: level.writes(),
            allowed_modes: AgentMode::ALL.iter().copied().filter(reaches).collect(),
        };
        (name, Arc::new(ClassifiedTool::new(manifest, None)))
    });
    let policies = Policies::new(tools, Matrix::standard());
    let pins = (Plugin::Judge(Box::new(Pins)), PluginMode::Enforce);
    Chain::new(vec![(Plugin::Judge(Box::new(Gate)), mode), pins], Arc::new(policies))
}

fn shown(chain: &Chain, watched: &[Namespace], mode: Option<AgentMode>) -> Shown {
    let live = Live::none();
    prove(&Asked { chain, live: &live, tenants: &[], agents: &[], seen: &[], watched, mode })
}

const TOOLS: [(&str, RiskLevel); 3] =
    [("crm/find", RiskLevel::ReadOnly), ("crm/update", RiskLevel::LowWrite), ("crm/drop", RiskLevel::HighWrite)];

// acceptance 111
#[test]
fn rules_that_are_obeyed_hold_and_are_enumerated() {
    let shown = shown(&chain(&TOOLS, PluginMode::Enforce), &[], None);
    assert_eq!(shown.counterexample, None);
    assert!(shown.invariants.iter().all(|invariant| invariant.holds), "{:?}", shown.invariants);
    let reached: Vec<_> =
        shown.reach.iter().map(|one| (one.mode.as_str(), one.tool.as_str(), one.decision.as_str())).collect();
    let expected = [
        ("SHADOW", "crm/find", "allow"),
        ("ADVISORY", "crm/find", "allow"),
        ("PARTIAL_AUTO", "crm/find", "allow"),
        ("PARTIAL_AUTO", "crm/update", "allow"),
        ("FULL_AUTO", "crm/drop", "approval_required"),
        ("FULL_AUTO", "crm/find", "allow"),
        ("FULL_AUTO", "crm/update", "allow"),
    ];
    assert_eq!(reached, expected);
}

// acceptance 111: a judge that is only heard breaks the promise, and the shortest way is told.
#[test]
fn a_judge_that_is_only_heard_is_a_counterexample() {
    let shown = shown(&chain(&TOOLS, PluginMode::Observe), &[], None);
    assert_eq!(
        shown.counterexample.as_deref(),
        Some("SHADOW (A1) reaches crm/update (LOW_WRITE, side effects): chain.yaml has manifest: observe")
    );
}

#[test]
fn what_is_let_through_unclassified_is_a_counterexample() {
    let chain = chain(&TOOLS, PluginMode::Enforce);
    let shown = shown(&chain, &["notes".parse().unwrap()], Some(AgentMode::FullAuto));
    let told = shown.counterexample.unwrap();
    assert!(told.contains("notes/unknown") && told.contains("upstreams.notes has unclassified: observe"), "{told}");
    let unclassified = shown.invariants.iter().find(|one| one.id == Promise::NothingUnclassified.as_str()).unwrap();
    assert!(!unclassified.holds && unclassified.cells > 0);
}

/// Refuses whoever is suspended.
struct Stopped;

impl Judge for Stopped {
    fn name(&self) -> &'static str {
        "standing"
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        exchange.suspended().map_or(Verdict::Pass, |_| Verdict::deny("suspended", "stopped"))
    }
}

fn broken(shown: &Shown) -> Vec<&str> {
    shown.invariants.iter().filter(|one| !one.holds).map(|one| one.id.as_str()).collect()
}

// acceptance 111: whatever is spoilt, the promise it breaks is the one that is named.
#[test]
fn each_promise_is_broken_by_what_spoils_it() {
    let sound = || chain(&TOOLS, PluginMode::Enforce);
    let with = |plugins: Vec<(Plugin, PluginMode)>| Chain::new(plugins, Arc::clone(sound().policies()));
    let gate = || (Plugin::Judge(Box::new(Gate)), PluginMode::Enforce);
    let pins = || (Plugin::Judge(Box::new(Pins)), PluginMode::Enforce);
    let observed = |judge: Box<dyn Judge>| (Plugin::Judge(judge), PluginMode::Observe);
    let changes_nothing = "shadow_and_advisory_change_nothing";
    let (nobody, watched): ([Namespace; 0], [Namespace; 1]) = ([], ["notes".parse().unwrap()]);
    let (nobody, watched) = (&nobody[..], &watched[..]);
    let heard = chain(&TOOLS, PluginMode::Observe);
    let none = Live::none();
    let lies = crate::live::Broken {
        policy: "the manifest of crm/find".into(),
        why: "side_effects: must be false for a READ_ONLY tool".into(),
        mode: crate::verdict::PolicyMode::Enforce,
    };
    let rows = TenantRules::none().as_ref().clone().with_broken(vec![lies]);
    let mut lying = Live::empty();
    lying.nobody = Arc::new(rows);
    let lying = Arc::new(lying);
    for (chain, live, watched, expected) in [
        (sound(), &none, nobody, vec![]),
        (heard, &none, nobody, vec![changes_nothing, "nothing_unclassified", "partial_auto_is_bounded"]),
        (with(vec![gate(), observed(Box::new(Pins))]), &none, nobody, vec!["nothing_stopped"]),
        (with(vec![gate(), pins(), observed(Box::new(Stopped))]), &none, nobody, vec!["nothing_stopped"]),
        (sound(), &none, watched, vec![changes_nothing, "nothing_unclassified"]),
        (sound(), &lying, nobody, vec!["manifests_are_sound"]),
    ] {
        let shown = prove(&Asked { chain: &chain, live, tenants: &[], agents: &[], seen: &[], watched, mode: None });
        assert_eq!(
            (broken(&shown), shown.holds()),
            (expected.clone(), expected.is_empty()),
            "{:?}",
            shown.counterexample
        );
    }
}

// No policy can make the chain forget to ask, so a chain that did is imagined: each promise held against one decision.
#[test]
fn a_decision_that_breaks_a_promise_is_told() {
    use crate::classification::{Autonomy, Classification, DecisionType, Reversibility, Risk};
    let (chain, live) = (chain(&TOOLS, PluginMode::Enforce), Live::none());
    let asked = Asked { chain: &chain, live: &live, tenants: &[], agents: &[], seen: &[], watched: &[], mode: None };
    let subject = |name: &str| imagine::subject(&chain, &live, &cells::somebody(None), &name.parse().unwrap(), false);
    let kind = |mode: AgentMode| Kind::unlimited().find(|kind| kind.mode() == mode).unwrap();
    let own = |name: &str| subject(name).effective;
    let (low, high) = (RiskLevel::LowWrite, RiskLevel::HighWrite);
    let part = |kind, risk| Classification::new(kind, risk, Reversibility::Partial);
    let (d2, d4, r4) =
        (part(DecisionType::D2, Risk::R2), part(DecisionType::D4, Risk::R2), part(DecisionType::D2, Risk::R4));
    let (shadow, partial, full) = (AgentMode::Shadow, AgentMode::PartialAuto, AgentMode::FullAuto);
    let (allow, ask, deny) = (Decision::Allow, Decision::ApprovalRequired, Decision::Deny);
    for (mode, name, level, class, standing, decision, promise, words) in [
        (full, "crm/update", low, d4, Standing::Pinned, allow, "escalations_are_asked", "without being asked"),
        (full, "crm/update", low, r4, Standing::Pinned, allow, "escalations_are_asked", "without being asked"),
        (full, "crm/update", low, d4, Standing::Pinned, ask, "", ""),
        (full, "crm/update", low, d2, Standing::Pinned, allow, "", ""),
        (shadow, "crm/update", low, d2, Standing::Pinned, ask, "shadow_and_advisory_change_nothing", "may ask for"),
        (shadow, "crm/update", low, d2, Standing::Pinned, deny, "", ""),
        (full, "crm/nobody", high, d2, Standing::Pinned, ask, "nothing_unclassified", "which nobody classified"),
        (partial, "crm/drop", high, d2, Standing::Pinned, ask, "partial_auto_is_bounded", "HIGH_WRITE"),
        (
            full,
            "crm/find",
            low,
            d2,
            Standing::Quarantined,
            allow,
            "nothing_stopped",
            "whose definition nobody accepted",
        ),
        (full, "crm/find", low, d2, Standing::Unlisted, ask, "nothing_stopped", "whose definition nobody accepted"),
    ] {
        let mut bench = Bench::new(&asked);
        let mut tool = ToolSubject { standing, ..subject(name) };
        tool.effective.risk_level = level;
        tool.effective.classification = class;
        bench.hold(&kind(mode), &tool, &own(name), decision);
        let shown = bench.shown(Vec::new());
        assert_eq!(broken(&shown).join(","), promise, "{mode} {name} {decision:?}");
        assert!(shown.counterexample.unwrap_or_default().contains(words), "{mode} {name} {decision:?}");
    }
    assert_eq!(Kind::unlimited().count(), Autonomy::ALL.len());
}
