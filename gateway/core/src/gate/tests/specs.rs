//! What is refused when a scenario is defined, and in which words.

use serde_json::{Value, json};

use super::{Known, example};
use crate::gate::{Fault, FaultCode, Scenario, Spec};

fn faults(spec: &Value) -> Vec<Fault> {
    match Spec::read(spec) {
        Err(faults) => faults,
        Ok(spec) => Scenario::compile(spec, &Known::new()).err().unwrap_or_default(),
    }
}

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut spec = example("define")["spec"].clone();
    change(&mut spec);
    spec
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({ "Predicate": "env_is_prod" }), |inner, _| json!({ "Not": inner }))
}

fn grouped(min: u64) -> Value {
    json!({ "RequireGroup": { "min": min, "reqs": [{ "Predicate": "env_is_prod" }, { "Predicate": "after_freeze" }] } })
}

fn twice(spec: &mut Value, list: &str) {
    let list = spec.pointer_mut(list).unwrap().as_array_mut().unwrap();
    list.push(list[0].clone());
}

fn second_stage() -> Value {
    json!({ "stage_id": "second", "entry_packets": [], "gates": [], "advance_to": { "kind": "terminal" },
            "timeout": null, "on_timeout": "fail" })
}

fn branching(gate: &str, next: &str, default: Value) -> Value {
    json!({ "kind": "branch", "default": default,
            "branches": [{ "gate_id": gate, "outcome": "true", "next_stage_id": next }] })
}

// acceptance 114
#[test]
fn each_invalid_spec_is_refused_with_its_reason() {
    use FaultCode as Code;
    let advance = |to: Value| changed(|spec| spec["stages"][0]["advance_to"] = to);
    let query = |key: &str, value: Value| changed(|spec| spec["predicates"][0]["query"][key] = value);
    let first = |key: &str, value: Value| changed(|spec| spec["predicates"][0][key] = value);
    let requires = |tree: Value| changed(|spec| spec["stages"][0]["gates"][0]["requirement"] = tree);
    let stage = "stages[0].advance_to";
    for (spec, code, path) in [
        (changed(|spec| spec["stages"] = json!([])), Code::NoStages, "stages"),
        (
            changed(|spec| {
                spec["stages"].as_array_mut().unwrap().push(second_stage());
                spec["stages"][1]["stage_id"] = json!("main");
            }),
            Code::DuplicateStage,
            "stages[1].stage_id",
        ),
        (changed(|spec| twice(spec, "/stages/0/gates")), Code::DuplicateGate, "stages[0].gates[2].gate_id"),
        (
            changed(|spec| {
                spec["stages"].as_array_mut().unwrap().push(second_stage());
                spec["stages"][1]["gates"] = json!([spec["stages"][0]["gates"][0]]);
            }),
            Code::DuplicateGate,
            "stages[1].gates[0].gate_id",
        ),
        (
            changed(|spec| twice(spec, "/stages/0/entry_packets")),
            Code::DuplicatePacket,
            "stages[0].entry_packets[1].packet_id",
        ),
        (changed(|spec| twice(spec, "/predicates")), Code::DuplicatePredicate, "predicates[2].predicate"),
        (requires(json!({ "Predicate": "nobody" })), Code::PredicateMissing, "stages[0].gates[0].requirement"),
        (query("provider_id", json!("")), Code::QueryEmpty, "predicates[0].query.provider_id"),
        (query("predicate", json!(" ")), Code::QueryEmpty, "predicates[0].query.predicate"),
        (
            advance(json!({ "kind": "fixed", "stage_id": "nowhere" })),
            Code::TargetMissing,
            "stages[0].advance_to.stage_id",
        ),
        (
            advance(branching("env_gate", "nowhere", Value::Null)),
            Code::TargetMissing,
            "stages[0].advance_to.branches[0].next_stage_id",
        ),
        (advance(branching("env_gate", "main", json!("nowhere"))), Code::TargetMissing, "stages[0].advance_to.default"),
        (
            advance(branching("other", "main", Value::Null)),
            Code::BranchGateMissing,
            "stages[0].advance_to.branches[0].gate_id",
        ),
        (query("provider_id", json!("oracle")), Code::ProviderMissing, "predicates[0].query.provider_id"),
        (query("predicate", json!("set")), Code::CheckMissing, "predicates[0].query"),
        (first("comparator", json!("greater_than")), Code::ComparatorNotAllowed, "predicates[0].comparator"),
        (first("comparator", json!("roughly")), Code::Field, "predicates[0].comparator"),
        (first("expected", json!(7)), Code::ExpectedInvalid, "predicates[0].expected"),
        (first("expected", Value::Null), Code::ExpectedInvalid, "predicates[0].expected"),
        (first("comparator", json!("exists")), Code::ExpectedInvalid, "predicates[0].expected"),
        (first("comparator", json!("in_set")), Code::ExpectedInvalid, "predicates[0].expected"),
        (first("surprise", json!(1)), Code::Field, "predicates[0].surprise"),
        (query("params", Value::Null), Code::ParamsMissing, "predicates[0].query.params"),
        (query("params", json!({ "clef": 1 })), Code::ParamsInvalid, "predicates[0].query.params"),
        (requires(grouped(3)), Code::GroupSize, "stages[0].gates[0].requirement.RequireGroup.min"),
        (requires(grouped(0)), Code::GroupSize, "stages[0].gates[0].requirement.RequireGroup.min"),
        (requires(grouped(256)), Code::Field, "stages[0].gates[0].requirement.RequireGroup.min"),
        (requires(json!({ "And": [] })), Code::EmptyGroup, "stages[0].gates[0].requirement.And"),
        (requires(json!({ "Or": [] })), Code::EmptyGroup, "stages[0].gates[0].requirement.Or"),
        (requires(json!({})), Code::Field, "stages[0].gates[0].requirement"),
        (advance(json!({ "kind": "linear", "stage_id": "main" })), Code::Field, stage),
        (advance(json!({ "kind": "sideways" })), Code::Field, stage),
        (changed(|spec| spec["scenario_id"] = json!("  ")), Code::Field, "scenario_id"),
        (changed(|spec| spec["scenario_id"] = json!("a\u{7}")), Code::Field, "scenario_id"),
        (changed(|spec| spec["scenario_id"] = json!("a".repeat(257))), Code::Field, "scenario_id"),
        (changed(|spec| spec["stages"][0]["timeout"] = json!({ "timeout_ms": -1 })), Code::Field, "stages[0].timeout"),
    ] {
        let found = faults(&spec);
        let told: Vec<_> = found.iter().map(|fault| (fault.code, fault.path.as_str())).collect();
        assert_eq!(told, [(code, path)]);
    }
    let deep = faults(&requires(nested(33)));
    assert_eq!(deep.iter().map(|fault| fault.code).collect::<Vec<_>>(), [Code::TooDeep]);
    assert!(faults(&requires(nested(32))).is_empty(), "32 operators are allowed");
    let bottomless = faults(&requires(nested(400)));
    assert_eq!(bottomless.iter().map(|fault| fault.code).collect::<Vec<_>>(), [Code::TooDeep]);
}

#[test]
fn what_may_be_surprising_is_accepted() {
    for (what, spec) in [
        ("a schema nobody listed", changed(|_| {})),
        ("no gates at all", changed(|spec| spec["stages"][0]["gates"] = json!([]))),
        (
            "a stage that leads to itself",
            changed(|spec| {
                spec["stages"][0]["advance_to"] = json!({ "kind": "fixed", "stage_id": "main" });
            }),
        ),
        (
            "optional fields left out",
            changed(|spec| {
                spec.as_object_mut().unwrap().remove("default_tenant_id");
                spec["stages"][0].as_object_mut().unwrap().remove("timeout");
            }),
        ),
    ] {
        assert_eq!(faults(&spec), [], "{what}");
    }
}

#[test]
fn all_faults_are_told_together() {
    let spec = changed(|spec| {
        spec["extra"] = json!(1);
        spec["scenario_id"] = json!(7);
        spec["stages"][0]["gates"][1]["requirement"] = json!({ "Predicate": 1 });
        spec["predicates"][1]["policy_tags"] = json!("none");
    });
    let told: Vec<_> = faults(&spec).into_iter().map(|fault| fault.path).collect();
    let expected = ["extra", "scenario_id", "predicates[1].policy_tags", "stages[0].gates[1].requirement.Predicate"];
    assert_eq!(told, expected);
    let many = changed(|spec| spec["policies"] = json!(vec![1; 100]));
    assert_eq!(faults(&many).len(), 20, "more would not help");
}

#[test]
fn left_out_and_null_hash_alike_but_params_do_not() {
    let hashed = |spec: &Value| crate::gate::Digest::of_json(&Spec::read(spec).unwrap().written()).unwrap();
    let plain = changed(|spec| spec["predicates"][0]["expected"] = Value::Null);
    let without = changed(|spec| {
        spec["predicates"][0].as_object_mut().unwrap().remove("expected");
        spec.as_object_mut().unwrap().remove("default_tenant_id");
    });
    assert_eq!(hashed(&plain), hashed(&without));
    let null_params = changed(|spec| spec["predicates"][0]["query"]["params"] = Value::Null);
    let no_params = changed(|spec| {
        spec["predicates"][0]["query"].as_object_mut().unwrap().remove("params");
    });
    assert_ne!(hashed(&null_params), hashed(&no_params));
}

/// What is evaluated is what was submitted, not what its hash rounds it to.
#[test]
fn numbers_are_kept_to_the_last_digit() {
    let text = example("define")["spec"].to_string().replace("1710000000000", "9007199254740993");
    let spec = Spec::read(&serde_json::from_str(&text).unwrap()).unwrap();
    let again = Spec::from_text(&spec.text()).unwrap();
    assert_eq!(again.predicates[1].query.params, Some(json!({ "timestamp": 9_007_199_254_740_993_u64 })));
    assert_eq!(again, spec);
}

fn newer() -> Value {
    json!({
        "scenario_id": "n", "namespace_id": 1, "spec_version": "1", "default_tenant_id": 1, "policies": [],
        "schemas": [],
        "conditions": [{ "condition_id": "late", "comparator": "equals", "expected": true, "policy_tags": [],
                         "trust": { "min_lane": "verified" },
                         "query": { "provider_id": "time", "check_id": "after", "params": { "timestamp": 0 } } }],
        "stages": [{ "stage_id": "only", "entry_packets": [], "advance_to": { "kind": "terminal" }, "timeout": null,
                     "gates": [{ "gate_id": "g", "requirement": { "Condition": "late" } }], "on_timeout": "fail" }],
    })
}

#[test]
fn the_newer_names_are_read_and_written_back() {
    let spec = newer();
    assert_eq!(faults(&spec), []);
    assert_eq!(Spec::read(&spec).unwrap().written(), spec);
}

#[test]
fn a_document_uses_one_dialect() {
    let mut both = newer();
    both["predicates"] = json!([]);
    let mut leaf = newer();
    leaf["stages"][0]["gates"][0]["requirement"] = json!({ "Predicate": "late" });
    let mut check = newer();
    check["conditions"][0]["query"] = json!({ "provider_id": "time", "predicate": "now" });
    let seed = changed(|spec| spec["namespace_id"] = json!(1));
    let lanes = changed(|spec| spec["predicates"][0]["trust"] = json!({ "min_lane": "verified" }));
    for mixed in [both, leaf, check, seed, lanes] {
        assert!(faults(&mixed).iter().any(|fault| fault.what.starts_with("unknown field")), "{mixed}");
    }
}
