//! What the tools say of their arguments and answers, in JSON Schema 2020-12.
//!
//! Whatever has a strict reader in core stands behind a `$ref`: our own check stops there, and the reader's faults, which
//! name path and reason, are what a caller hears. Names of both dialects are listed.

mod scenario;

use serde_json::{Map, Value, json};

pub(super) use scenario::spec;

/// A schema, and the ones it refers to by name.
pub(super) struct Part {
    schema: Value,
    defs: Vec<(&'static str, Value)>,
}

fn plain(schema: Value) -> Part {
    Part { schema, defs: Vec::new() }
}

fn named(name: &'static str, schema: Value) -> Part {
    Part { schema: json!({ "$ref": format!("#/$defs/{name}") }), defs: vec![(name, schema)] }
}

/// An object with these fields and no others.
pub(super) fn input(fields: Vec<(&str, Part, &str)>, required: &[&str]) -> Value {
    let (mut properties, mut defs) = (Map::new(), Map::new());
    for (name, part, description) in fields {
        let Part { mut schema, defs: more } = part;
        if let Value::Object(schema) = &mut schema {
            schema.insert("description".into(), description.into());
        }
        properties.insert(name.into(), schema);
        defs.extend(more.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    }
    let mut whole = closed(&Value::Object(properties), required);
    if let (Value::Object(whole), false) = (&mut whole, defs.is_empty()) {
        whole.insert("$defs".into(), Value::Object(defs));
    }
    whole
}

/// An answer: every field is always there.
pub(super) fn output(fields: Vec<(&str, Part)>) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, part)| (name.to_owned(), part.schema)).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The answer of both tools that move a run.
pub(super) fn decided() -> Value {
    output(vec![("decision", object()), ("packets", list()), ("status", status())])
}

fn closed(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

pub(super) fn text() -> Part {
    plain(json!({ "type": "string", "minLength": 1 }))
}

pub(super) fn maybe_text() -> Part {
    plain(json!({ "type": ["string", "null"] }))
}

pub(super) fn boolean() -> Part {
    plain(json!({ "type": "boolean" }))
}

pub(super) fn anything() -> Part {
    plain(json!({}))
}

pub(super) fn object() -> Part {
    plain(json!({ "type": "object" }))
}

pub(super) fn nullable() -> Part {
    plain(json!({ "type": ["object", "null"] }))
}

pub(super) fn list() -> Part {
    plain(json!({ "type": "array" }))
}

pub(super) fn status() -> Part {
    plain(json!({ "type": "string", "enum": ["active", "completed", "failed"] }))
}

pub(super) fn verified() -> Part {
    plain(json!({ "type": "string", "enum": ["pass", "fail"] }))
}

pub(super) fn id() -> Part {
    plain(id_schema())
}

pub(super) fn tenant() -> Part {
    plain(tenant_schema())
}

pub(super) fn digest() -> Part {
    plain(digest_schema())
}

pub(super) fn time() -> Part {
    named("Timestamp", time_schema())
}

pub(super) fn run_config() -> Part {
    let target = json!({
        "oneOf": [
            closed(&json!({ "kind": { "const": "agent" }, "agent_id": id_schema() }), &["kind", "agent_id"]),
            closed(&json!({ "kind": { "const": "session" }, "session_id": id_schema() }), &["kind", "session_id"]),
            closed(
                &json!({ "kind": { "const": "external" }, "system": id_schema(), "target": id_schema() }),
                &["kind", "system", "target"],
            ),
            closed(&json!({ "kind": { "const": "channel" }, "channel": id_schema() }), &["kind", "channel"]),
        ],
    });
    let properties = json!({
        "tenant_id": tenant_schema(),
        "namespace_id": {},
        "run_id": id_schema(),
        "scenario_id": id_schema(),
        "dispatch_targets": { "type": "array", "items": target, "maxItems": 100 },
        "policy_tags": texts(),
    });
    let required = ["tenant_id", "run_id", "scenario_id", "dispatch_targets", "policy_tags"];
    named("RunConfig", closed(&properties, &required))
}

pub(super) fn status_request() -> Part {
    let own = json!({ "run_id": id_schema(), "requested_at": time_schema() });
    named("StatusRequest", request(own, &["run_id", "requested_at"]))
}

pub(super) fn next_request() -> Part {
    let own = json!({
        "run_id": id_schema(), "trigger_id": id_schema(), "agent_id": id_schema(), "time": time_schema(),
    });
    named("NextRequest", request(own, &["run_id", "trigger_id", "agent_id", "time"]))
}

pub(super) fn submit_request() -> Part {
    let own = json!({
        "run_id": id_schema(),
        "submission_id": id_schema(),
        "payload": payload_schema(),
        "content_type": { "type": "string" },
        "submitted_at": time_schema(),
    });
    let required = ["run_id", "submission_id", "payload", "content_type", "submitted_at"];
    named("SubmitRequest", request(own, &required))
}

pub(super) fn trigger() -> Part {
    let own = json!({
        "run_id": id_schema(),
        "trigger_id": id_schema(),
        "kind": { "enum": ["agent_request_next", "tick", "external_event", "backend_event"] },
        "time": time_schema(),
        "source_id": id_schema(),
        "payload_ref": { "type": ["string", "null"], "description": "Kept as it is, never followed." },
        "payload": { "description": "What newer clients send instead of `payload_ref`." },
    });
    named("TriggerEvent", request(own, &["run_id", "trigger_id", "kind", "time", "source_id"]))
}

pub(super) fn query() -> Part {
    named("EvidenceQuery", query_schema())
}

pub(super) fn context() -> Part {
    let own = json!({
        "run_id": id_schema(),
        "scenario_id": id_schema(),
        "stage_id": id_schema(),
        "trigger_id": id_schema(),
        "trigger_time": time_schema(),
    });
    let required = ["tenant_id", "run_id", "scenario_id", "stage_id", "trigger_id", "trigger_time"];
    named("EvidenceContext", request(own, &required))
}

/// With what every request may carry.
fn request(mut own: Value, required: &[&str]) -> Value {
    if let Value::Object(own) = &mut own {
        let correlation =
            json!({ "type": ["string", "null"], "maxLength": 128, "description": "To find the call again." });
        own.insert("correlation_id".into(), correlation);
        own.insert("tenant_id".into(), tenant_schema());
        own.insert("namespace_id".into(), json!({}));
    }
    closed(&own, required)
}

fn id_schema() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 256 })
}

fn tenant_schema() -> Value {
    json!({ "type": ["string", "integer", "null"], "description": "The caller's own tenant, by name or id." })
}

fn digest_schema() -> Value {
    let value = json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" });
    closed(&json!({ "algorithm": { "const": "sha256" }, "value": value }), &["algorithm", "value"])
}

fn time_schema() -> Value {
    let kind = json!({ "enum": ["unix_millis", "logical"] });
    closed(&json!({ "kind": kind, "value": { "type": "integer" } }), &["kind", "value"])
}

fn texts() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn payload_schema() -> Value {
    let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    let reference = json!({
        "uri": { "type": "string" }, "content_hash": digest_schema(), "encryption": { "type": ["string", "null"] },
    });
    json!({
        "oneOf": [
            closed(&json!({ "kind": { "const": "json" }, "value": {} }), &["kind", "value"]),
            closed(
                &json!({ "kind": { "const": "bytes" }, "bytes": { "type": "array", "items": byte } }),
                &["kind", "bytes"],
            ),
            closed(
                &json!({
                    "kind": { "const": "external" }, "content_ref": closed(&reference, &["uri", "content_hash"]),
                }),
                &["kind", "content_ref"],
            ),
        ],
    })
}

/// The check is `predicate`, or `check_id` in the newer dialect.
fn query_schema() -> Value {
    let properties = json!({
        "provider_id": { "type": "string" },
        "predicate": { "type": "string" },
        "check_id": { "type": "string" },
        "params": {},
    });
    closed(&properties, &["provider_id"])
}
