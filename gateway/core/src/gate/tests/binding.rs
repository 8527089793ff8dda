use std::sync::Arc;

use crate::gate::binding::{GateBinding, GateFacts, RunFacts, RunFrom};
use crate::gate::{Digest, Id, RunStatus};

fn id(text: &str) -> Id {
    Id::try_from(text).unwrap()
}

fn facts(change: impl FnOnce(&mut GateBinding, &mut RunFacts)) -> GateFacts {
    let mut binding = GateBinding {
        scenario: id("release"),
        spec_hash: Digest::of_bytes(b"spec"),
        run_from: RunFrom::Meta,
        stages: vec![id("write")],
        anyone: false,
    };
    let mut run = RunFacts {
        run_id: id("run-7"),
        spec_hash: Digest::of_bytes(b"spec"),
        stage: id("write"),
        status: RunStatus::Active,
        names_caller: true,
        decision: Some(id("decision-0003")),
        unmet: Vec::new(),
    };
    change(&mut binding, &mut run);
    GateFacts { binding: Arc::new(binding), named: Some("run-7".into()), run: Some(run) }
}

fn rule(facts: &GateFacts) -> &'static str {
    facts.objection("crm/update").map_or("", |(rule, _)| rule)
}

// A call passes only under its own run of exactly this scenario, while the run goes on and is where it must be.
#[test]
fn a_gate_is_open_in_one_case_only() {
    assert_eq!(rule(&facts(|_, _| {})), "");
    assert_eq!(rule(&facts(|binding, _| binding.stages.push(id("later")))), "");
    assert_eq!(rule(&facts(|_, run| run.stage = id("read"))), "stage");
    assert_eq!(rule(&facts(|_, run| run.status = RunStatus::Completed)), "over");
    assert_eq!(rule(&facts(|_, run| run.status = RunStatus::Failed)), "over");
    assert_eq!(rule(&facts(|_, run| run.spec_hash = Digest::of_bytes(b"mine"))), "other_spec");
    assert_eq!(rule(&facts(|_, run| run.names_caller = false)), "not_yours");
    let borrowed = facts(|binding, run| (binding.anyone, run.names_caller) = (true, false));
    assert_eq!(rule(&borrowed), "");
    let mut missing = GateFacts { run: None, ..facts(|_, _| {}) };
    assert_eq!(rule(&missing), "unknown_run");
    missing.named = None;
    assert_eq!(rule(&missing), "unnamed");
}

#[test]
fn who_waits_is_told_for_what() {
    let waiting = facts(|_, run| (run.stage, run.unmet) = (id("read"), vec![id("tests"), id("human")]));
    let (_, words) = waiting.objection("crm/update").unwrap();
    let expected =
        "crm/update waits for run-7 of scenario release to reach `write`; it is at `read` (unmet: tests, human)";
    assert_eq!(words, expected);
}

#[test]
fn a_run_is_named_in_four_ways() {
    for (written, expected) in [
        (r#""meta""#, RunFrom::Meta),
        (r#""agent""#, RunFrom::Agent),
        (r#"{"argument":"a.b"}"#, RunFrom::Argument("a.b".into())),
        (r#"{"fixed":"run-7"}"#, RunFrom::Fixed(id("run-7"))),
    ] {
        assert_eq!(serde_json::from_str::<RunFrom>(written).unwrap(), expected);
    }
    assert!(serde_json::from_str::<RunFrom>(r#""newest""#).is_err());
}
