//! Requests as callers write them, in either dialect.

use serde_json::{Value, json};

use super::example;
use crate::gate::evidence::EvidenceContext;
use crate::gate::records::TriggerEvent;
use crate::gate::requests::{NextRequest, StatusRequest, SubmitRequest};
use crate::gate::run::RunConfig;
use crate::gate::spec::EvidenceQuery;
use crate::gate::{Fault, TenantText};

fn first(faults: Result<impl Sized, Vec<Fault>>) -> String {
    faults.err().map(|faults| faults[0].to_string()).unwrap_or_default()
}

// acceptance 113 a: every example of the document is read.
#[test]
fn the_examples_are_read() {
    assert!(RunConfig::read(&example("start")["run_config"], "run_config").is_ok());
    assert!(StatusRequest::read(&example("status")["request"], "request").is_ok());
    assert!(EvidenceContext::read(&example("query")["context"], "context").is_ok());
    assert!(EvidenceQuery::read_alone(&example("query")["query"], "query").is_ok());
    let next = NextRequest::read(&example("next")["request"], "request").unwrap();
    assert_eq!(serde_json::to_value(&next.request).unwrap(), example("next")["request"]);
    let submit = SubmitRequest::read(&example("submit")["request"], "request").unwrap();
    assert_eq!(serde_json::to_value(&submit.request).unwrap(), example("submit")["request"]);
    let trigger = TriggerEvent::read(&example("trigger")["trigger"], "trigger").unwrap();
    assert_eq!(serde_json::to_value(&trigger.request).unwrap(), example("trigger")["trigger"]);
}

#[test]
fn the_newer_fields_are_accepted_and_not_hashed() {
    let mut request = example("next")["request"].clone();
    request["tenant_id"] = json!(1);
    request["namespace_id"] = json!(1);
    request.as_object_mut().unwrap().remove("correlation_id");
    let asked = NextRequest::read(&request, "request").unwrap();
    assert_eq!(asked.tenant_id, Some(TenantText::Number(1)));
    assert_eq!(serde_json::to_value(&asked.request).unwrap(), example("next")["request"], "absent is written as null");
    let mut trigger = example("trigger")["trigger"].clone();
    trigger.as_object_mut().unwrap().remove("payload_ref");
    trigger["payload"] = json!({ "kind": "json", "value": 1 });
    let event = TriggerEvent::read(&trigger, "trigger").unwrap().request;
    assert_eq!(event.payload_ref, Some(trigger["payload"].clone()));
    let newer = json!({ "provider_id": "time", "check_id": "now" });
    assert_eq!(EvidenceQuery::read_alone(&newer, "query").unwrap().check, "now");
}

#[test]
fn faults_say_where() {
    let next = |key: &str, value: Value| {
        let mut request = example("next")["request"].clone();
        request[key] = value;
        first(NextRequest::read(&request, "request"))
    };
    for (told, start) in [
        (next("feedback", json!(1)), "request.feedback: unknown field"),
        (next("trigger_id", json!("init")), "request.trigger_id: `init` is the run's own"),
        (next("run_id", json!("")), "request.run_id: must not be blank"),
        (next("correlation_id", json!("x".repeat(129))), "request.correlation_id: must have at most 128 characters"),
        (next("correlation_id", json!("a\nb")), "request.correlation_id: must not contain control characters"),
        (next("time", json!({ "kind": "logical", "value": -1 })), "request.time: logical wants an unsigned integer"),
        (next("time", json!({ "kind": "logical", "value": 1, "zone": "x" })), "request.time: unknown field `zone`"),
        (next("time", json!({ "kind": "unix_millis", "value": 1.5 })), "request.time: unix_millis wants"),
        (next("tenant_id", json!([])), "request.tenant_id: "),
    ] {
        assert!(told.starts_with(start), "{told}");
    }
    let mut config = example("start")["run_config"].clone();
    config["dispatch_targets"] = json!([{ "kind": "agent", "agent_id": "a", "also": 1 }]);
    assert!(first(RunConfig::read(&config, "run_config")).starts_with("run_config.dispatch_targets[0]: unknown field"));
    config["dispatch_targets"] = json!(vec![json!({ "kind": "agent", "agent_id": "a" }); 101]);
    let told = first(RunConfig::read(&config, "run_config"));
    assert!(told.starts_with("run_config.dispatch_targets: has 101 targets"), "{told}");
    let mut trigger = example("trigger")["trigger"].clone();
    trigger["payload_ref"] = json!({ "not": "opaque text" });
    assert_eq!(first(TriggerEvent::read(&trigger, "trigger")), "trigger.payload_ref: must be a text (field)");
}
