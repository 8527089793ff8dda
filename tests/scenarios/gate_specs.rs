//! Scenarios that are refused when they are defined, each with its reason, and nothing of them is kept.

use portreeve_tests::Kind;
use serde_json::{Value, json};

use super::gate::{example, refused, world_where};

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut define = example("define");
    change(&mut define["spec"]);
    define
}

fn twice(list: &str) -> Value {
    changed(|spec| {
        let list = spec.pointer_mut(list).unwrap().as_array_mut().unwrap();
        list.push(list[0].clone());
    })
}

fn leading(to: Value) -> Value {
    changed(|spec| spec["stages"][0]["advance_to"] = to)
}

fn requiring(tree: Value) -> Value {
    changed(|spec| spec["stages"][0]["gates"][0]["requirement"] = tree)
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({ "Predicate": "env_is_prod" }), |inner, _| json!({ "Not": inner }))
}

// acceptance 114: the sixteen of the document.
#[tokio::test]
async fn each_invalid_spec_is_refused_with_its_reason() {
    let overrides = json!({ "DEPLOY_ENV": "production" });
    let (world, agent) = world_where(Kind::Sqlite, &overrides, &json!({ "engine": "permit_all" }));
    let branch = |next: &str, default: Value| {
        let rule = json!({ "gate_id": "env_gate", "outcome": "true", "next_stage_id": next });
        json!({ "kind": "branch", "branches": [rule], "default": default })
    };
    let group = json!({ "min": 3, "reqs": [{ "Predicate": "env_is_prod" }, { "Predicate": "after_freeze" }] });
    for (spec, code) in [
        (changed(|spec| spec["stages"] = json!([])), "no_stages"),
        (twice("/stages"), "duplicate_stage"),
        (twice("/stages/0/gates"), "duplicate_gate"),
        (twice("/stages/0/entry_packets"), "duplicate_packet"),
        (twice("/predicates"), "duplicate_predicate"),
        (requiring(json!({ "Predicate": "nobody" })), "predicate_missing"),
        (leading(json!({ "kind": "fixed", "stage_id": "nowhere" })), "target_missing"),
        (leading(branch("nowhere", Value::Null)), "target_missing"),
        (leading(branch("main", json!("nowhere"))), "target_missing"),
        (changed(|spec| spec["predicates"][0]["query"]["provider_id"] = json!("weather")), "provider_missing"),
        (changed(|spec| spec["predicates"][0]["query"]["predicate"] = json!("set")), "check_missing"),
        (changed(|spec| spec["predicates"][1]["comparator"] = json!("contains")), "comparator_not_allowed"),
        (changed(|spec| spec["stages"][0]["colour"] = json!("red")), "field"),
        (changed(|spec| spec["predicates"][0]["query"]["params"] = json!({ "key": 7 })), "params_invalid"),
        (requiring(json!({ "RequireGroup": group })), "group_size"),
        (requiring(nested(33)), "too_deep"),
        (changed(|spec| spec["predicates"][1]["expected"] = json!("yes")), "expected_invalid"),
    ] {
        let told = refused(&agent, "scenario_define", spec).await;
        assert!(told.starts_with("invalid_spec: ") && told.contains(&format!("({code})")), "{code}: {told}");
    }
    assert_eq!(world.database.count("SELECT count(*) FROM scenarios"), 0);
    let told = refused(&agent, "scenario_start", example("start")).await;
    assert_eq!(told, "not_found: scenario `example-scenario`");
}
