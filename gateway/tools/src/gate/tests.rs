//! The nine tools over ports in memory: the document's examples, what is refused, and what another tenant sees.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod moving;
mod packs;

use gateway_core::Principal;
use gateway_core::gate::dispatch::DispatchRules;
use gateway_core::gate::policies::Disclosure;
use serde_json::{Value, json};

use super::fakes::{World, agent, example, export};

const SPEC_HASH: &str = "e88a1fd1fa430f74620e0cc1a263346fc3a4365bb14e81b5d2dc0a2d0dddbbfe";

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

// acceptance 113 a: exactly these nine, in the document's order, each with object schemas.
#[test]
fn the_tools_keep_the_seeds_names() {
    let world = World::new();
    let expected = [
        "scenario_define",
        "scenario_start",
        "scenario_status",
        "scenario_next",
        "scenario_submit",
        "scenario_trigger",
        "evidence_query",
        "runpack_export",
        "runpack_verify",
    ];
    assert_eq!(world.server.tool_names().collect::<Vec<_>>(), expected);
    for name in expected {
        let tool = world.server.tool_named(name).unwrap().definition();
        assert_eq!(tool.input_schema["type"], "object", "{name}");
        assert_eq!(tool.input_schema["additionalProperties"], false, "{name}");
        assert_eq!(tool.output_schema.as_ref().unwrap()["type"], "object", "{name}");
        // Whatever is referred to is there.
        let text = tool.input_schema.to_string();
        for reference in text.split("\"#/$defs/").skip(1) {
            let to = reference.split('"').next().unwrap();
            assert!(tool.input_schema["$defs"][to].is_object(), "{name}: {to}");
        }
    }
}

// acceptance 113 b, 113 c
#[tokio::test]
async fn a_scenario_is_defined_once_in_a_tenant() {
    let world = World::new();
    let answer = world.call("scenario_define", example("define")).await.unwrap();
    let expected = json!({
        "scenario_id": "example-scenario", "spec_hash": { "algorithm": "sha256", "value": SPEC_HASH },
    });
    assert_eq!(answer, expected);
    let again = world.call("scenario_define", example("define")).await.unwrap_err();
    assert_eq!(again, "conflict: scenario `example-scenario` already exists");
    assert_eq!(world.call_as(&agent(2), "scenario_define", example("define")).await.unwrap(), expected);
}

// acceptance 114: told with its path and reason, all faults at once, and nothing is kept.
#[tokio::test]
async fn a_spec_with_faults_is_refused_whole() {
    let world = World::new();
    let mut wrong = example("define");
    wrong["spec"]["predicates"][0]["query"]["provider_id"] = json!("weather");
    wrong["spec"]["predicates"][1]["comparator"] = json!("contains");
    let told = world.call("scenario_define", wrong).await.unwrap_err();
    assert!(told.starts_with("invalid_spec: "), "{told}");
    assert!(told.contains("predicates[0].query.provider_id: no provider `weather`; there are env, time"), "{told}");
    assert!(told.contains("predicates[1].comparator: "), "{told}");
    let mut extra = example("define");
    extra["spec"]["stages"][0]["colour"] = json!("red");
    let told = world.call("scenario_define", extra).await.unwrap_err();
    assert!(told.contains("stages[0].colour: unknown field"), "{told}");
    let told = world.call("scenario_start", example("start")).await.unwrap_err();
    assert_eq!(told, "not_found: scenario `example-scenario`");
}

// acceptance 115 a
#[tokio::test]
async fn a_start_answers_with_the_thirteen_fields() {
    let world = World::new();
    world.call("scenario_define", example("define")).await.unwrap();
    let mut start = example("start");
    start["issue_entry_packets"] = json!(false);
    let run = world.call("scenario_start", start).await.unwrap();
    let expected = [
        "current_stage_id",
        "decisions",
        "dispatch_targets",
        "gate_evals",
        "packets",
        "run_id",
        "scenario_id",
        "spec_hash",
        "status",
        "submissions",
        "tenant_id",
        "tool_calls",
        "triggers",
    ];
    assert_eq!(keys(&run), expected);
    assert_eq!((&run["status"], &run["current_stage_id"]), (&json!("active"), &json!("main")));
    assert_eq!((&run["spec_hash"]["value"], &run["tenant_id"]), (&json!(SPEC_HASH), &json!("tenant-001")));
    assert_eq!((&run["packets"], &run["decisions"], &run["triggers"]), (&json!([]), &json!([]), &json!([])));
}

// acceptance 115 b
#[tokio::test]
async fn what_cannot_be_started() {
    let world = World::new();
    world.started(false).await;
    let start = |path: &str, value: Value| {
        let mut start = example("start");
        *start.pointer_mut(path).unwrap() = value;
        start
    };
    for (arguments, expected) in [
        (start("/scenario_id", json!("other")), "not_found: scenario `other`"),
        (
            start("/run_config/scenario_id", json!("other")),
            "invalid: run_config.scenario_id `other` is not the scenario that is started",
        ),
        (start("/run_config/policy_tags", json!([])), "conflict: run `run-0001` already exists"),
        (start("/run_config/tenant_id", json!("tenant-002")), "not_found: tenant `tenant-002`"),
        (start("/run_config/tenant_id", json!("nobody")), "not_found: tenant `nobody`"),
        (start("/run_config/run_id", json!("")), "invalid: run_config.run_id: must not be blank (field)"),
        (start("/started_at", json!({ "kind": "logical", "value": -1 })), "invalid: started_at: "),
    ] {
        let told = world.call("scenario_start", arguments).await.unwrap_err();
        assert!(told.starts_with(expected), "{told}");
    }
    let told = world.call_as(&Principal::anonymous(), "scenario_start", example("start")).await.unwrap_err();
    assert!(told.starts_with("forbidden: "), "{told}");
}

// acceptance 115 c, 115 d
#[tokio::test]
async fn packets_are_handed_out_unless_the_policy_denies_them() {
    let world = World::new();
    world.call("scenario_define", example("define")).await.unwrap();
    let run = world.call("scenario_start", example("start")).await.unwrap();
    let packet = &run["packets"][0];
    assert_eq!(packet["envelope"]["packet_id"], "packet-hello");
    assert_eq!(
        packet["envelope"]["content_hash"]["value"],
        "f22ddff109d2b24e93cf9a71727b5a04246b9ab28d3d0f2dcce2d6e499623a6e"
    );
    assert_eq!(packet["receipts"].as_array().unwrap().len(), 1);

    let world = World::with(DispatchRules::deny_all(), Disclosure::default());
    world.call("scenario_define", example("define")).await.unwrap();
    let told = world.call("scenario_start", example("start")).await.unwrap_err();
    assert_eq!(told, "policy_denied: the dispatch policy denied packet `packet-hello`");
    let told = world.call("scenario_status", example("status")).await.unwrap_err();
    assert_eq!(told, "not_found: run `run-0001` of scenario `example-scenario`");
}

// acceptance 119 c, 119 d
#[tokio::test]
async fn evidence_is_shown_as_far_as_it_may_be() {
    let hash = "80be2eb0944c0453a6ad339a56e1c8f39f8cc57a4e627758246ccfd274176fd8";
    let answer = World::new().call("evidence_query", example("query")).await.unwrap();
    let shown = json!({ "result": {
        "value": { "kind": "json", "value": "production" }, "content_type": "text/plain", "error": null,
        "evidence_hash": { "algorithm": "sha256", "value": hash }, "evidence_ref": null, "signature": null,
        "evidence_anchor": { "anchor_type": "env", "anchor_value": "DEPLOY_ENV" },
    } });
    assert_eq!(answer, shown);
    let closed = World::with(DispatchRules::permit_all(), Disclosure::default());
    let answer = closed.call("evidence_query", example("query")).await.unwrap();
    assert_eq!((&answer["result"]["value"], &answer["result"]["content_type"]), (&Value::Null, &Value::Null));
    assert_eq!(answer["result"]["evidence_hash"]["value"], hash);
    assert_eq!(answer["result"]["evidence_anchor"], shown["result"]["evidence_anchor"]);
}

// acceptance 120 h: another tenant can do nothing with a run, and learns nothing of it.
#[tokio::test]
async fn a_foreign_run_is_one_that_never_was() {
    let world = World::new();
    world.started(true).await;
    world.call_as(&agent(2), "scenario_define", example("define")).await.unwrap();
    let before = world.runs.version(super::fakes::tenant(1), "run-0001");
    let unknown = "not_found: run `run-0001` of scenario `example-scenario`";
    for (tool, arguments) in [
        ("scenario_status", example("status")),
        ("scenario_next", example("next")),
        ("scenario_trigger", example("trigger")),
        ("scenario_submit", example("submit")),
        ("runpack_export", export("packs/foreign")),
    ] {
        let told = world.call_as(&agent(2), tool, arguments.clone()).await.unwrap_err();
        assert_eq!(told, unknown, "{tool}");
        let told = world.call_as(&Principal::anonymous(), tool, arguments).await.unwrap_err();
        assert!(told.starts_with("forbidden: "), "{tool}: {told}");
    }
    let told = world.call_as(&agent(2), "evidence_query", example("query")).await.unwrap_err();
    assert_eq!(told, "not_found: tenant `tenant-001`");
    assert_eq!(world.runs.version(super::fakes::tenant(1), "run-0001"), before);
    let mut other = example("status");
    other["scenario_id"] = json!("another");
    let told = world.call("scenario_status", other).await.unwrap_err();
    assert_eq!(told, "not_found: run `run-0001` of scenario `another`");
}
