//! Time as callers tell it: only a tick can find that it is up.

use serde_json::{Value, json};

use super::{Story, asks, config, gate, ms, outcome, says, spec, stage, tick};
use crate::gate::Tri::{False, True};
use crate::gate::records::Outcome;
use crate::gate::{GateTime, Refusal, RunStatus};

/// Entered at 100 with 10 to go; the gate is shut.
fn waiting(on_timeout: &str, advance_to: Value, start: GateTime) -> Story {
    let mut first = stage("first", vec![gate("g", json!({ "Predicate": "a" }))], advance_to);
    first["timeout"] = json!({ "timeout_ms": 10, "policy_tags": [] });
    first["on_timeout"] = json!(on_timeout);
    let others = ["second", "third"].map(|name| stage(name, vec![], json!({ "kind": "terminal" })));
    let stages = [first].into_iter().chain(others).collect();
    let mut story = Story::begin(&spec(vec![asks("a")], stages), &config("s"), start, false);
    story.files.insert("a".into(), says(False));
    story
}

fn linear() -> Value {
    json!({ "kind": "linear" })
}

// acceptance 118 f
#[test]
fn before_the_deadline_a_tick_asks_the_gates() {
    for (before, at) in [(tick(109), tick(110)), (ms(109), ms(110))] {
        let start = if matches!(at, GateTime::Logical(_)) { tick(100) } else { ms(100) };
        let mut story = waiting("fail", linear(), start);
        assert_eq!(outcome(&story.event("t1", "tick", before).unwrap()), "hold");
        assert_eq!(story.run.logs.gate_evals.len(), 1);
        let answer = story.event("t2", "tick", at).unwrap();
        assert_eq!(answer.decision.outcome, Outcome::Fail { reason: "timeout".into() });
        assert_eq!(answer.status, RunStatus::Failed);
        assert_eq!(story.run.logs.gate_evals.len(), 1, "out of time, nobody is asked");
    }
}

// acceptance 118 f
#[test]
fn other_triggers_never_time_out() {
    let mut story = waiting("fail", linear(), tick(100));
    for (at, kind) in ["external_event", "backend_event", "agent_request_next"].into_iter().enumerate() {
        assert_eq!(outcome(&story.event(&format!("t{at}"), kind, tick(1_000)).unwrap()), "hold", "{kind}");
    }
    story.files.insert("a".into(), says(True));
    assert_eq!(outcome(&story.event("late", "external_event", tick(2_000)).unwrap()), "advance");
}

// acceptance 118 f
#[test]
fn what_happens_when_time_is_up() {
    let on = |outcome: &str| {
        json!({ "kind": "branch", "default": null,
                "branches": [{ "gate_id": "g", "outcome": outcome, "next_stage_id": "third" }] })
    };
    let by_default = json!({ "kind": "branch", "branches": [], "default": "second" });
    let fixed = json!({ "kind": "fixed", "stage_id": "third" });
    let terminal = json!({ "kind": "terminal" });
    for (on_timeout, advance_to, expected) in [
        ("advance_with_flag", linear(), Ok("second")),
        ("advance_with_flag", fixed.clone(), Ok("third")),
        ("advance_with_flag", terminal.clone(), Ok("complete")),
        ("advance_with_flag", on("true"), Ok("third")),
        ("advance_with_flag", on("unknown"), Err(Refusal::NoBranch("first".into()))),
        ("advance_with_flag", by_default.clone(), Ok("second")),
        ("alternate_branch", linear(), Ok("second")),
        ("alternate_branch", fixed, Ok("third")),
        ("alternate_branch", terminal, Ok("complete")),
        ("alternate_branch", on("unknown"), Ok("third")),
        ("alternate_branch", on("true"), Ok("hold")),
        ("alternate_branch", by_default, Ok("second")),
    ] {
        let mut story = waiting(on_timeout, advance_to.clone(), tick(100));
        let went = story.event("t", "tick", tick(110)).map(|answer| match &answer.decision.outcome {
            Outcome::Advance { to_stage, timeout: true, .. } => to_stage.to_string(),
            _ => outcome(&answer).to_owned(),
        });
        assert_eq!(went, expected.map(str::to_owned), "{on_timeout} {advance_to}");
    }
}

/// The clock starts again with each stage, also when it is the same one.
#[test]
fn entering_a_stage_starts_its_time() {
    let mut story = waiting("advance_with_flag", json!({ "kind": "fixed", "stage_id": "first" }), tick(100));
    assert_eq!(outcome(&story.event("t1", "tick", tick(115)).unwrap()), "advance");
    assert_eq!((story.run.head.stage_entered_at, story.run.head.entered_by), (tick(115), Some(0)));
    assert_eq!(outcome(&story.event("t2", "tick", tick(124)).unwrap()), "hold");
    assert_eq!(outcome(&story.event("t3", "tick", tick(125)).unwrap()), "advance");
}

// acceptance 118 f
#[test]
fn times_that_are_not_counted_alike_are_refused() {
    let mut story = waiting("fail", linear(), tick(100));
    let before = story.run.clone();
    assert_eq!(story.event("t", "tick", ms(110)), Err(Refusal::TimeKinds));
    assert_eq!(story.run, before);
    assert_eq!(outcome(&story.event("t", "external_event", ms(110)).unwrap()), "hold", "only a tick compares them");
}

#[test]
fn the_ends_of_time_do_not_overflow() {
    for (start, timeout) in [(ms(i64::MAX), u64::MAX), (ms(i64::MIN), u64::MAX), (tick(u64::MAX), u64::MAX)] {
        assert_eq!(start.is_due(start, timeout), Some(false));
        assert_eq!(start.is_due(start, 0), Some(true));
    }
    assert_eq!(ms(i64::MAX).is_due(ms(i64::MIN), u64::MAX), Some(true));
}
