//! Where runs go: kinds of advance, branches, packets, refusals, repeats.

use serde_json::{Value, json};

use super::{Story, asks, config, example, gate, ms, outcome, says, spec, stage, tick};
use crate::gate::Tri::{self, False, True, Unknown};
use crate::gate::dispatch::DispatchRules;
use crate::gate::engine::Rules;
use crate::gate::records::Outcome;
use crate::gate::run::RunConfig;
use crate::gate::{Refusal, RunState, RunStatus};

/// Three stages; the first has the gates `g1` and `g2` and leads where it is told.
fn fork(advance_to: Value) -> Story {
    let leaf = |name: &str| json!({ "Predicate": name });
    let spec = spec(
        vec![asks("a"), asks("b")],
        vec![
            stage("first", vec![gate("g1", leaf("a")), gate("g2", leaf("b"))], advance_to),
            stage("second", vec![], json!({ "kind": "linear" })),
            stage("third", vec![], json!({ "kind": "linear" })),
        ],
    );
    Story::begin(&spec, &config("s"), tick(0), false)
}

fn went(advance_to: Value, g1: Tri, g2: Tri) -> Result<String, Refusal> {
    let mut story = fork(advance_to);
    story.files = [("a", g1), ("b", g2)].map(|(name, status)| (name.into(), says(status))).into();
    let answer = story.event("t", "external_event", tick(1))?;
    Ok(match &answer.decision.outcome {
        Outcome::Advance { to_stage, timeout: false, .. } => to_stage.to_string(),
        _ => outcome(&answer).to_owned(),
    })
}

// acceptance 118 e
#[test]
fn linear_fixed_and_terminal_open_only_when_all_gates_are_true() {
    for (advance_to, open) in [
        (json!({ "kind": "linear" }), "second"),
        (json!({ "kind": "fixed", "stage_id": "third" }), "third"),
        (json!({ "kind": "fixed", "stage_id": "first" }), "first"),
        (json!({ "kind": "terminal" }), "complete"),
    ] {
        assert_eq!(went(advance_to.clone(), True, True).unwrap(), open, "{advance_to}");
        for (g1, g2) in [(True, False), (Unknown, True), (False, Unknown)] {
            assert_eq!(went(advance_to.clone(), g1, g2).unwrap(), "hold", "{advance_to} {g1:?} {g2:?}");
        }
    }
}

// acceptance 118 e: the last stage has nowhere further to go.
#[test]
fn linear_at_the_last_stage_completes() {
    let mut story = fork(json!({ "kind": "linear" }));
    story.files = [("a", True), ("b", True)].map(|(name, status)| (name.into(), says(status))).into();
    let outcomes: Vec<&str> =
        (1..=3).map(|at| outcome(&story.event(&format!("t{at}"), "backend_event", tick(at)).unwrap())).collect();
    assert_eq!(outcomes, ["advance", "advance", "complete"]);
    assert_eq!(story.run.head.current_stage_id.as_str(), "third");
}

fn branch(rules: &[(&str, &str, &str)], default: Value) -> Value {
    let rule = |(gate, outcome, next): &(&str, &str, &str)| json!({ "gate_id": gate, "outcome": outcome, "next_stage_id": next });
    json!({ "kind": "branch", "branches": rules.iter().map(rule).collect::<Vec<_>>(), "default": default })
}

// acceptance 118 e: on true, on false, on unknown, by default, and not at all.
#[test]
fn a_branch_is_taken_on_any_outcome() {
    let no_default = Value::Null;
    let nowhere = || Err(Refusal::NoBranch("first".into()));
    let taken = |stage: &str| Ok(stage.to_owned());
    for (rules, default, g1, g2, expected) in [
        (vec![("g1", "true", "second")], no_default.clone(), True, True, taken("second")),
        (vec![("g1", "true", "second")], no_default.clone(), False, True, taken("hold")),
        (vec![("g1", "true", "second")], no_default.clone(), Unknown, True, taken("hold")),
        (vec![("g1", "true", "second")], no_default.clone(), True, False, taken("second")),
        (vec![("g1", "false", "third")], no_default.clone(), False, True, taken("third")),
        (vec![("g1", "false", "third")], no_default.clone(), True, True, nowhere()),
        (vec![("g1", "unknown", "third")], no_default.clone(), Unknown, Unknown, taken("third")),
        (vec![("g1", "true", "second")], json!("third"), False, False, taken("third")),
        (vec![("g2", "true", "third"), ("g1", "true", "second")], no_default.clone(), True, True, taken("third")),
        (vec![], json!("second"), True, True, taken("second")),
        (vec![], no_default, True, True, nowhere()),
    ] {
        let went = went(branch(&rules, default.clone()), g1, g2);
        assert_eq!(went, expected, "{rules:?} {default} {g1:?} {g2:?}");
    }
}

#[test]
fn a_refused_step_changes_nothing() {
    let mut story = fork(branch(&[], Value::Null));
    story.files = [("a", True), ("b", True)].map(|(name, status)| (name.into(), says(status))).into();
    let before = story.run.clone();
    assert!(story.event("t", "external_event", tick(1)).is_err());
    assert_eq!(story.run, before);
    story.files.insert("a".into(), says(False));
    assert_eq!(outcome(&story.event("t", "external_event", tick(1)).unwrap()), "hold", "the trigger is still free");
}

// acceptance 115 a, 115 c, 116 a
#[test]
fn a_start_tells_thirteen_things() {
    for issue in [false, true] {
        let story = Story::seed(issue);
        let output = story.run.output();
        let keys: Vec<_> = output.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.len(), 13, "{keys:?}");
        assert_eq!((&output["status"], &output["current_stage_id"]), (&json!("active"), &json!("main")));
        assert_eq!(output["tenant_id"], "tenant-001");
        let expected = "e88a1fd1fa430f74620e0cc1a263346fc3a4365bb14e81b5d2dc0a2d0dddbbfe";
        assert_eq!(output["spec_hash"]["value"], expected);
        assert_eq!(output["packets"].as_array().unwrap().len(), usize::from(issue));
        assert_eq!(output["triggers"].as_array().unwrap().len(), usize::from(issue));
    }
    let packet = &Story::seed(true).run.output()["packets"][0];
    assert_eq!(packet["envelope"]["visibility"], json!({ "labels": ["public"], "policy_tags": [] }));
    assert_eq!(packet["receipts"].as_array().unwrap().len(), 1);
    assert_eq!(packet["receipts"][0]["target"], json!({ "kind": "agent", "agent_id": "agent-alpha" }));
    let story = Story::seed(false);
    let status = serde_json::to_value(story.run.head.snapshot()).unwrap();
    assert_eq!(
        status,
        json!({ "run_id": "run-0001", "scenario_id": "example-scenario", "current_stage_id": "main",
                "status": "active", "last_decision": null, "issued_packet_ids": [], "safe_summary": null })
    );
}

// acceptance 115 b: of another scenario.
#[test]
fn a_run_of_another_scenario_is_not_started() {
    let story = Story::seed(false);
    let (dispatch, anchors) = super::open();
    let config = RunConfig::read(&config("other"), "run_config").unwrap();
    let rules = Rules { dispatch: &dispatch, anchors: &anchors };
    let refused = RunState::start(&story.scenario, config, ms(0), false, rules).unwrap_err();
    assert!(refused.to_string().starts_with("invalid: run_config.scenario_id"), "{refused}");
}

// acceptance 115 d: nothing is started when the first packet may not be handed out.
#[test]
fn a_denied_packet_at_the_start_means_no_run() {
    let story = Story::seed(false);
    let (_, anchors) = super::open();
    for rules in [
        json!({ "default": "permit", "rules": [{ "effect": "deny", "require_labels": ["public"] }] }),
        json!({ "default": "permit", "rules": [{ "effect": "error", "target_kinds": ["agent"] }] }),
        json!({ "default": "deny" }),
    ] {
        let dispatch: DispatchRules = serde_json::from_value(rules.clone()).unwrap();
        let config = RunConfig::read(&example("start")["run_config"], "run_config").unwrap();
        let rules_of = Rules { dispatch: &dispatch, anchors: &anchors };
        let refused = RunState::start(&story.scenario, config.clone(), ms(0), true, rules_of).unwrap_err();
        assert_eq!(refused, Refusal::PolicyDenied("packet-hello".into()), "{rules}");
        assert!(RunState::start(&story.scenario, config, ms(0), false, rules_of).is_ok(), "no packet, no question");
    }
}

fn two_stages() -> Story {
    let mut second = stage("second", vec![], json!({ "kind": "terminal" }));
    second["entry_packets"] = json!([{
        "packet_id": "p", "schema_id": "x", "content_type": "text/plain", "visibility_labels": ["inner"],
        "policy_tags": [], "expiry": { "kind": "logical", "value": 9 }, "payload": { "kind": "json", "value": "hi" },
    }]);
    let first = stage("first", vec![gate("g", json!({ "Predicate": "a" }))], json!({ "kind": "linear" }));
    let mut config = config("s");
    config["dispatch_targets"] = json!([{ "kind": "session", "session_id": "x" }]);
    let mut story = Story::begin(&spec(vec![asks("a")], vec![first, second]), &config, tick(0), false);
    story.files.insert("a".into(), says(True));
    story
}

// acceptance 117 f
#[test]
fn advancing_discloses_the_next_stages_packets() {
    let mut story = two_stages();
    let answer = story.event("t1", "external_event", tick(1)).unwrap();
    let packet = &answer.packets[0];
    assert_eq!((packet.envelope.stage_id.as_str(), packet.decision_id.as_str()), ("second", "decision-0001"));
    assert_eq!((answer.status, story.run.head.issued_packet_ids.len()), (RunStatus::Active, 1));
    assert!(story.event("t2", "external_event", tick(2)).unwrap().packets.is_empty(), "completion discloses none");
}

// acceptance 117 f, 117 d
#[test]
fn a_denied_packet_on_the_way_fails_the_run() {
    let mut story = two_stages();
    story.dispatch = DispatchRules::deny_all();
    let answer = story.event("t1", "external_event", tick(1)).unwrap();
    assert_eq!(answer.decision.outcome, Outcome::Fail { reason: "policy denied disclosure".into() });
    assert_eq!((answer.status, answer.packets.len()), (RunStatus::Failed, 0));
    assert_eq!(story.run.head.current_stage_id.as_str(), "first", "the stage is what it was");
    story.dispatch = DispatchRules::permit_all();
    let before = story.run.clone();
    assert_eq!(story.event("t2", "external_event", tick(2)).unwrap(), answer);
    assert_eq!(story.run, before);
}

// acceptance 117 a, 117 c, 117 d
#[test]
fn a_known_trigger_is_answered_as_before() {
    let mut story = Story::seed(true);
    let first = story.next(&example("next")["request"]).unwrap();
    assert_eq!((outcome(&first), first.status), ("complete", RunStatus::Completed));
    let root = story.root();
    story.env.clear();
    assert_eq!(story.next(&example("next")["request"]).unwrap(), first);
    assert_eq!(story.trigger(&example("trigger")["trigger"]).unwrap(), first, "the same id, whoever asks");
    let mut other = example("next")["request"].clone();
    other["trigger_id"] = json!("trigger-0002");
    assert_eq!(story.next(&other).unwrap(), first, "a run that is over answers with its last decision");
    assert_eq!(story.root(), root);
}

// acceptance 117 b, 116 c
#[test]
fn a_hold_names_gates_and_no_evidence() {
    let mut story = Story::seed(false);
    story.env.insert("DEPLOY_ENV".into(), "canary-7f3a".into());
    let mut request = example("next")["request"].clone();
    let answer = story.next(&request).unwrap();
    let status = serde_json::to_value(story.run.head.snapshot()).unwrap();
    assert_eq!(status["safe_summary"]["unmet_gates"], json!(["env_gate"]));
    assert_eq!(status["safe_summary"]["retry_hint"], "await_evidence");
    assert_eq!(answer.status, RunStatus::Active, "a hold is no status");
    assert!(!status.to_string().contains("canary") && !serde_json::to_string(&answer).unwrap().contains("canary"));
    story.env.insert("DEPLOY_ENV".into(), "production".into());
    request["trigger_id"] = json!("trigger-0002");
    assert_eq!(outcome(&story.next(&request).unwrap()), "complete");
}

// acceptance 117 e
#[test]
fn what_a_trigger_says_is_recorded() {
    let mut story = two_stages();
    story.files.insert("a".into(), says(False));
    for (seq, kind) in ["tick", "external_event", "backend_event"].into_iter().enumerate() {
        let event = json!({
            "trigger_id": format!("t{seq}"), "run_id": "r", "kind": kind, "time": { "kind": "logical", "value": seq },
            "source_id": "who", "payload_ref": "ref-1", "correlation_id": "c",
        });
        let answer = story.trigger(&event).unwrap();
        let record = serde_json::to_value(&story.run.logs.triggers[seq]).unwrap();
        assert_eq!(record, json!({ "seq": seq, "event": event }));
        let decided = serde_json::to_value(&answer.decision).unwrap();
        assert_eq!((&decided["seq"], &decided["decided_at"]), (&json!(seq), &event["time"]));
        assert_eq!(decided["decision_id"], format!("decision-{:04}", seq + 1));
        assert_eq!(story.run.logs.tool_calls[seq].call_id, format!("call-{}", seq + 1));
    }
}
