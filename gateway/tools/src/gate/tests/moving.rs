//! Runs that move, hold, repeat and race.

use futures::future::join_all;
use serde_json::{Value, json};

use super::super::fakes::{World, example, tenant};

fn next(trigger: &str) -> Value {
    let mut next = example("next");
    next["request"]["trigger_id"] = json!(trigger);
    next
}

// acceptance 117 a; the roots were computed by an independent model.
#[tokio::test]
async fn the_examples_run_completes_with_the_known_roots() {
    let world = World::new();
    world.started(false).await;
    assert_eq!(world.root(false).await, "4a5da86a12a19fa6e0c9c9de8d469b1653ca30f07e08be3caea6c9f385e14a6b");
    let answer = world.call("scenario_next", example("next")).await.unwrap();
    let expected = json!({
        "decision": {
            "correlation_id": null, "decided_at": { "kind": "unix_millis", "value": 1_710_000_000_000_i64 },
            "decision_id": "decision-0001", "outcome": { "kind": "complete", "stage_id": "main" }, "seq": 0,
            "stage_id": "main", "trigger_id": "trigger-0001",
        },
        "packets": [], "status": "completed",
    });
    assert_eq!(answer, expected);
    assert_eq!(world.root(false).await, "9865b98889623711377c9a395fd162a07a8003afa284b6d3d3fd3701d86ee2be");
    assert_eq!(world.root(true).await, "463a67a3446ad90b37e786c6efdac0af807c79bb41fc7a60f94cd040798dc370");
}

// acceptance 119 a, 119 b
#[tokio::test]
async fn a_submission_is_recorded_once_and_moves_nothing() {
    let world = World::new();
    world.started(true).await;
    let first = world.call("scenario_submit", example("submit")).await.unwrap();
    assert_eq!(
        first["record"]["content_hash"]["value"],
        "18f9ba2c589d2d419418149e4255f4bf9556ea88fc2fadbd25f8e9513db3b20f"
    );
    assert_eq!(world.call("scenario_submit", example("submit")).await.unwrap(), first);
    let mut other = example("submit");
    other["request"]["payload"]["value"]["status"] = json!("rejected");
    let told = world.call("scenario_submit", other).await.unwrap_err();
    assert!(told.starts_with("submission_conflict: "), "{told}");
    world.call("scenario_next", example("next")).await.unwrap();
    assert_eq!(world.root(false).await, "accbd0fc17dc4d59ad4b11ce0fb0ce48fab2345b13b0cc28838fae98aaf82113");
}

// acceptance 120 g
#[tokio::test]
async fn what_is_too_large_changes_nothing() {
    let world = World::new();
    world.started(false).await;
    let before = world.root(false).await;
    let mut large = example("submit");
    large["request"]["payload"] = json!({ "kind": "json", "value": "x".repeat(2 * 1024 * 1024) });
    let told = world.call("scenario_submit", large).await.unwrap_err();
    assert!(told.starts_with("too_large: the payload in bytes"), "{told}");
    world.env.set("DEPLOY_ENV", Some(&"x".repeat(1024 * 1024)));
    let told = world.call("scenario_next", example("next")).await.unwrap_err();
    assert!(told.starts_with("too_large: evidence in bytes"), "{told}");
    assert_eq!(world.root(false).await, before);
}

// acceptance 116 a, 116 b, 116 c, 117 b
#[tokio::test]
async fn a_hold_names_gates_and_no_evidence() {
    let world = World::new();
    world.started(false).await;
    let status = world.call("scenario_status", example("status")).await.unwrap();
    let expected = json!({
        "current_stage_id": "main", "issued_packet_ids": [], "last_decision": null, "run_id": "run-0001",
        "safe_summary": null, "scenario_id": "example-scenario", "status": "active",
    });
    assert_eq!(status, expected);
    world.env.set("DEPLOY_ENV", Some("canary-7f3a"));
    let held = world.call("scenario_next", next("t-1")).await.unwrap();
    let summary = json!({
        "status": "hold", "unmet_gates": ["env_gate"], "retry_hint": "await_evidence", "policy_tags": [],
    });
    assert_eq!(held["decision"]["outcome"], json!({ "kind": "hold", "summary": summary }));
    let before = world.root(false).await;
    let status = world.call("scenario_status", example("status")).await.unwrap();
    assert_eq!(status["safe_summary"], summary);
    assert!(!held.to_string().contains("canary") && !status.to_string().contains("canary"));
    for _ in 0..10 {
        assert_eq!(world.call("scenario_status", example("status")).await.unwrap(), status);
    }
    assert_eq!(world.root(false).await, before);
    world.env.set("DEPLOY_ENV", None);
    let held = world.call("scenario_next", next("t-2")).await.unwrap();
    assert_eq!(held["decision"]["outcome"]["summary"]["unmet_gates"], json!(["env_gate"]));
    world.env.set("DEPLOY_ENV", Some("production"));
    assert_eq!(world.call("scenario_next", next("t-3")).await.unwrap()["status"], "completed");
}

// acceptance 117 c, 117 d
#[tokio::test]
async fn a_known_trigger_gets_the_same_answer_and_a_finished_run_stays() {
    let world = World::new();
    world.started(true).await;
    world.env.set("DEPLOY_ENV", None);
    let held = world.call("scenario_next", next("t-1")).await.unwrap();
    world.env.set("DEPLOY_ENV", Some("production"));
    assert_eq!(world.call("scenario_next", next("t-1")).await.unwrap(), held);
    let done = world.call("scenario_next", example("next")).await.unwrap();
    assert_eq!(done["status"], "completed");
    let root = world.root(false).await;
    assert_eq!(world.call("scenario_trigger", example("trigger")).await.unwrap(), done);
    assert_eq!(world.call("scenario_next", next("t-9")).await.unwrap(), done);
    let old = world.call("scenario_next", next("t-1")).await.unwrap();
    assert_eq!(old["decision"], held["decision"]);
    assert_eq!(world.root(false).await, root);
    let told = world.call("scenario_next", next("init")).await.unwrap_err();
    assert!(told.starts_with("invalid: request.trigger_id: `init` is the run's own"), "{told}");
}

// acceptance 117 g: each waits for its turn, and none is lost.
#[tokio::test]
async fn parallel_callers_get_decisions_without_a_gap() {
    let world = World::new();
    world.started(false).await;
    world.env.set("DEPLOY_ENV", None);
    world.runs.lose(5);
    let triggers: Vec<String> = (0..20).map(|number| format!("t-{number}")).collect();
    let calls = triggers.iter().map(|trigger| world.call("scenario_next", next(trigger)));
    let mut seqs: Vec<u64> = Vec::new();
    for answer in join_all(calls).await {
        seqs.push(answer.unwrap()["decision"]["seq"].as_u64().unwrap());
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (0..20).collect::<Vec<u64>>());
}

#[tokio::test]
async fn who_always_loses_is_told_so() {
    let world = World::new();
    world.started(false).await;
    world.runs.lose(64);
    let told = world.call("scenario_next", example("next")).await.unwrap_err();
    assert!(told.starts_with("conflict: run `run-0001` changes too fast"), "{told}");
    assert_eq!(world.runs.version(tenant(1), "run-0001"), 1);
    assert_eq!(world.call("scenario_next", example("next")).await.unwrap()["status"], "completed");
}
