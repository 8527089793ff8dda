//! The schema of a whole scenario. A requirement holds requirements, so it refers to itself.

use gateway_core::gate::Comparator;
use serde_json::{Value, json};

use super::{Part, closed, id_schema, named, payload_schema, query_schema, tenant_schema, texts, time_schema};

pub(in crate::gate) fn spec() -> Part {
    let properties = json!({
        "scenario_id": id_schema(),
        "spec_version": { "type": "string" },
        "default_tenant_id": tenant_schema(),
        "namespace_id": {},
        "policies": listed(&closed(
            &json!({ "policy_id": id_schema(), "description": maybe_text() }),
            &["policy_id"],
        )),
        "schemas": listed(&closed(
            &json!({ "schema_id": id_schema(), "version": maybe_text(), "uri": maybe_text() }),
            &["schema_id"],
        )),
        "predicates": listed(&predicate()),
        "conditions": { "type": "array", "description": "What newer clients call `predicates`.", "items": predicate() },
        "stages": { "type": "array", "minItems": 1, "items": stage() },
    });
    let required = ["scenario_id", "spec_version", "policies", "schemas", "stages"];
    let Part { schema, mut defs } = named("ScenarioSpec", closed(&properties, &required));
    defs.push(("Requirement", requirement()));
    Part { schema, defs }
}

fn listed(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn maybe_text() -> Value {
    json!({ "type": ["string", "null"] })
}

fn predicate() -> Value {
    let properties = json!({
        "predicate": id_schema(),
        "condition_id": id_schema(),
        "query": query_schema(),
        "comparator": { "enum": Comparator::ALL },
        "expected": { "description": "What the value is held against; null for exists and not_exists." },
        "policy_tags": texts(),
        "trust": {},
    });
    closed(&properties, &["query", "comparator", "policy_tags"])
}

fn stage() -> Value {
    let gate = json!({ "gate_id": id_schema(), "requirement": { "$ref": "#/$defs/Requirement" }, "trust": {} });
    let timeout = json!({ "timeout_ms": { "type": "integer", "minimum": 0 }, "policy_tags": texts() });
    let mut timeout = closed(&timeout, &["timeout_ms", "policy_tags"]);
    if let Value::Object(timeout) = &mut timeout {
        timeout.insert("type".into(), json!(["object", "null"]));
    }
    let properties = json!({
        "stage_id": id_schema(),
        "entry_packets": listed(&packet()),
        "gates": listed(&closed(&gate, &["gate_id", "requirement"])),
        "advance_to": advance_to(),
        "timeout": timeout,
        "on_timeout": { "enum": ["fail", "advance_with_flag", "alternate_branch"] },
    });
    closed(&properties, &["stage_id", "entry_packets", "gates", "advance_to", "on_timeout"])
}

fn packet() -> Value {
    let properties = json!({
        "packet_id": id_schema(),
        "schema_id": id_schema(),
        "content_type": { "type": "string" },
        "visibility_labels": texts(),
        "policy_tags": texts(),
        "expiry": { "oneOf": [time_schema(), { "type": "null" }] },
        "payload": payload_schema(),
    });
    let required = ["packet_id", "schema_id", "content_type", "visibility_labels", "policy_tags", "payload"];
    closed(&properties, &required)
}

fn advance_to() -> Value {
    let branch = json!({
        "gate_id": id_schema(), "outcome": { "enum": ["true", "false", "unknown"] }, "next_stage_id": id_schema(),
    });
    let branches = listed(&closed(&branch, &["gate_id", "outcome", "next_stage_id"]));
    let branching = json!({
        "kind": { "const": "branch" }, "branches": branches, "default": { "type": ["string", "null"] },
    });
    json!({
        "oneOf": [
            closed(&json!({ "kind": { "const": "linear" } }), &["kind"]),
            closed(&json!({ "kind": { "const": "fixed" }, "stage_id": id_schema() }), &["kind", "stage_id"]),
            closed(&branching, &["kind", "branches"]),
            closed(&json!({ "kind": { "const": "terminal" } }), &["kind"]),
        ],
    })
}

fn requirement() -> Value {
    let itself = json!({ "$ref": "#/$defs/Requirement" });
    let several = json!({ "type": "array", "minItems": 1, "items": itself });
    let group = json!({ "min": { "type": "integer", "minimum": 1, "maximum": 255 }, "reqs": several });
    json!({
        "oneOf": [
            closed(&json!({ "And": several }), &["And"]),
            closed(&json!({ "Or": several }), &["Or"]),
            closed(&json!({ "Not": itself }), &["Not"]),
            closed(&json!({ "RequireGroup": closed(&group, &["min", "reqs"]) }), &["RequireGroup"]),
            closed(&json!({ "Predicate": id_schema() }), &["Predicate"]),
            closed(&json!({ "Condition": id_schema() }), &["Condition"]),
        ],
    })
}
