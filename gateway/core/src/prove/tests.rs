#![allow(clippy::unwrap_used)]
use super::*;
use crate::chain::{Judge, Plugin};
use crate::exchange::Exchange;
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
