//! The other implementation's run, made again by ours. Where the two write differently is listed here, and nowhere else.

use serde_json::{Value, json};

use super::{Story, tick};
use crate::gate::digest::canonical;
use crate::gate::{Digest, RunState};

pub const ROOT: &str = "fceca5534f343d4266f89d29a1519a6c0ed2935964ad5757a70ed58661dba228";

pub fn file(path: &str) -> Vec<u8> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/runpacks/golden_time_after_pass/");
    std::fs::read(format!("{root}{path}")).unwrap()
}

/// Numbers from 1, names of the newer dialect, lanes, and tenants as numbers.
fn theirs(run: &RunState) -> [Value; 6] {
    let logs = &run.logs;
    let mut triggers = serde_json::to_value(&logs.triggers).unwrap();
    for record in triggers.as_array_mut().unwrap() {
        record["seq"] = json!(record["seq"].as_u64().unwrap() + 1);
        let event = record["event"].as_object_mut().unwrap();
        let payload = event.remove("payload_ref").unwrap();
        event.extend([("payload".into(), payload), ("tenant_id".into(), json!(1)), ("namespace_id".into(), json!(1))]);
    }
    let renamed = |value: &mut Value| {
        let name = value.as_object_mut().unwrap().remove("predicate").unwrap();
        value["condition_id"] = name;
    };
    let mut evals = serde_json::to_value(&logs.gate_evals).unwrap();
    for eval in evals.as_array_mut().unwrap() {
        eval["evaluation"]["trace"].as_array_mut().unwrap().iter_mut().for_each(renamed);
        for record in eval["evidence"].as_array_mut().unwrap() {
            renamed(record);
            record["result"]["lane"] = json!("verified");
        }
    }
    let mut decisions = serde_json::to_value(&logs.decisions).unwrap();
    for decision in decisions.as_array_mut().unwrap() {
        let seq = decision["seq"].as_u64().unwrap() + 1;
        decision["seq"] = json!(seq);
        decision["decision_id"] = json!(format!("decision-{seq}"));
    }
    let mut calls = serde_json::to_value(&logs.tool_calls).unwrap();
    let answer = json!({ "decision": decisions[0], "packets": logs.packets, "status": run.head.status });
    calls[0]["request_hash"] = json!(Digest::of_json(&triggers[0]["event"]).unwrap());
    calls[0]["response_hash"] = json!(Digest::of_json(&answer).unwrap());
    [triggers, evals, decisions, json!(logs.packets), json!(logs.submissions), calls]
}

// acceptance 120 e
#[test]
fn our_engine_makes_the_golden_pack_again() {
    let spec: Value = serde_json::from_slice(&file("artifacts/scenario_spec.json")).unwrap();
    let config = json!({ "tenant_id": 1, "namespace_id": 1, "run_id": "run-1", "scenario_id": "golden-time-after",
                         "dispatch_targets": [], "policy_tags": [] });
    let mut story = Story::begin(&spec, &config, tick(1), false);
    let event = json!({ "trigger_id": "trigger-1", "run_id": "run-1", "tenant_id": 1, "namespace_id": 1,
                        "kind": "external_event", "time": { "kind": "logical", "value": 2 },
                        "source_id": "system-tests", "payload": null, "correlation_id": null });
    story.trigger(&event).unwrap();
    let written = canonical(&story.scenario.spec().written()).unwrap();
    assert_eq!(written, file("artifacts/scenario_spec.json"));
    let names = ["triggers", "gate_evals", "decisions", "packets", "submissions", "tool_calls"];
    let mut hashes = vec![("scenario_spec".to_owned(), Digest::of_bytes(&written))];
    for (name, log) in names.into_iter().zip(theirs(&story.run)) {
        let bytes = canonical(&log).unwrap();
        let golden = file(&format!("artifacts/{name}.json"));
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&golden), "{name}");
        hashes.push((name.into(), Digest::of_bytes(&bytes)));
    }
    hashes.push(("verifier_report".into(), Digest::of_json(&story.pack(true).report.unwrap()).unwrap()));
    let files: Vec<_> =
        hashes.iter().map(|(name, hash)| json!({ "path": format!("artifacts/{name}.json"), "hash": hash })).collect();
    assert_eq!(Digest::of_json(&files).unwrap().hex(), ROOT);
}
