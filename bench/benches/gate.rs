//! The gate's engine: a step of a scenario with a hundred gates, defining one, and checking a pack.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use gateway_core::gate::dispatch::DispatchRules;
use gateway_core::gate::engine::{self, Call, Rules};
use gateway_core::gate::evidence::EvidenceResult;
use gateway_core::gate::policies::AnchorRules;
use gateway_core::gate::records::TriggerEvent;
use gateway_core::gate::run::{Head, RunConfig};
use gateway_core::gate::runpack::{MANIFEST, pack};
use gateway_core::gate::verify::verify;
use gateway_core::gate::{GateTime, RunState, Scenario, Spec};
use serde_json::{Value, json};

const GATES: usize = 100;

fn hundred() -> Value {
    let predicates: Vec<Value> = (0..GATES)
        .map(|at| {
            json!({ "predicate": format!("p{at:03}"), "comparator": "greater_than_or_equal", "expected": at,
                    "policy_tags": [],
                    "query": { "provider_id": "json", "predicate": "path", "params": { "file": "report.json" } } })
        })
        .collect();
    let gates: Vec<Value> = (0..GATES)
        .map(|at| json!({ "gate_id": format!("g{at:03}"), "requirement": { "Predicate": format!("p{at:03}") } }))
        .collect();
    json!({ "scenario_id": "hundred", "spec_version": "v1", "default_tenant_id": null, "policies": [], "schemas": [],
            "predicates": predicates,
            "stages": [{ "stage_id": "only", "entry_packets": [], "gates": gates,
                         "advance_to": { "kind": "terminal" }, "timeout": null, "on_timeout": "fail" }] })
}

struct Set {
    scenario: Scenario,
    head: Head,
    trigger: TriggerEvent,
}

fn set() -> Option<Set> {
    let scenario = Scenario::recompile(Spec::read(&hundred()).ok()?).ok()?;
    let config = json!({ "tenant_id": "t", "run_id": "r", "scenario_id": "hundred", "dispatch_targets": [],
                         "policy_tags": [] });
    let config = RunConfig::read(&config, "").ok()?;
    let (dispatch, anchors) = (DispatchRules::permit_all(), AnchorRules::default());
    let rules = Rules { dispatch: &dispatch, anchors: &anchors };
    let (head, _) = engine::start(&scenario, config, GateTime::Logical(0), false, rules).ok()?;
    let trigger = json!({ "trigger_id": "t1", "run_id": "r", "kind": "external_event", "source_id": "s",
                          "time": { "kind": "logical", "value": 1 }, "payload_ref": null, "correlation_id": null });
    let trigger = TriggerEvent::read(&trigger, "").ok()?.request;
    Some(Set { scenario, head, trigger })
}

fn evidence(lift: usize) -> Vec<EvidenceResult> {
    let one = |at: usize| {
        EvidenceResult::json((at + lift).into(), "application/json")
            .anchored("file_path_rooted", r#"{"path":"report.json","root_id":"evidence"}"#)
    };
    (0..GATES).map(one).collect()
}

fn steps(criterion: &mut Criterion) {
    let Some(set) = set() else {
        return;
    };
    let (dispatch, anchors) = (DispatchRules::permit_all(), AnchorRules::default());
    let rules = Rules { dispatch: &dispatch, anchors: &anchors };
    let step = |evidence: Vec<EvidenceResult>| {
        let call =
            Call { method: "scenario.trigger", request: &set.trigger, at: set.trigger.time, correlation_id: None };
        let step = engine::advance(&set.scenario, &set.head, set.trigger.clone(), evidence, rules);
        black_box(step.and_then(|step| step.with_call(&call)).is_ok())
    };
    criterion.bench_function("step_100_gates", |bencher| {
        bencher.iter_batched(|| evidence(1), step, BatchSize::SmallInput);
    });
    let none = || vec![EvidenceResult::default(); GATES];
    criterion.bench_function("step_hold", |bencher| bencher.iter_batched(none, step, BatchSize::SmallInput));
}

fn packs(criterion: &mut Criterion) {
    let spec = hundred();
    criterion.bench_function("compile_100_gates", |bencher| {
        bencher.iter(|| {
            let read = Spec::read(black_box(&spec));
            black_box(read.is_ok_and(|read| Scenario::recompile(read).is_ok()))
        });
    });
    let Some(Set { scenario, head, trigger }) = set() else {
        return;
    };
    let (dispatch, anchors) = (DispatchRules::permit_all(), AnchorRules::default());
    let mut run = RunState::new(head, Vec::new());
    let rules = Rules { dispatch: &dispatch, anchors: &anchors };
    let stepped = run.trigger(&scenario, &trigger, |_| evidence(1), rules);
    let packed = pack(scenario.spec(), &run.head, &run.logs, GateTime::Logical(2), true, &anchors);
    let (Ok(_), Ok(packed)) = (stepped, packed) else {
        return;
    };
    let shelf = packed.shelf(MANIFEST);
    criterion.bench_function("verify_pack", |bencher| {
        bencher.iter(|| black_box(verify(&shelf, MANIFEST).errors.is_empty()));
    });
}

criterion_group!(benches, steps, packs);
criterion_main!(benches);
