//! From a [`Spec`] back to JSON, in the dialect it came in.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Dialect, EvidenceQuery, Gate, Predicate, Spec, Stage};

impl Spec {
    /// What is hashed and lies in packs: what was submitted, and null where an optional field was left out.
    pub fn written(&self) -> Value {
        let mut out = object(&json!({
            "scenario_id": self.scenario_id,
            "spec_version": self.spec_version,
            "default_tenant_id": self.default_tenant_id,
            "policies": self.policies,
            "schemas": self.schemas,
            "stages": self.stages.iter().map(|stage| stage.written(self.dialect)).collect::<Vec<_>>(),
        }));
        let predicates = self.predicates.iter().map(|one| one.written(self.dialect)).collect();
        out.insert(self.dialect.predicates().into(), predicates);
        keep(&mut out, "namespace_id", self.namespace_id.as_ref());
        Value::Object(out)
    }

    /// For the store: read again, it is this spec to the last digit of every number.
    pub fn text(&self) -> String {
        self.written().to_string()
    }
}

impl Predicate {
    fn written(&self, dialect: Dialect) -> Value {
        let mut out = object(&json!({
            "query": self.query.written(dialect),
            "comparator": self.comparator,
            "expected": self.expected,
            "policy_tags": self.policy_tags,
        }));
        out.insert(dialect.predicate().into(), self.id.as_str().into());
        keep(&mut out, "trust", self.trust.as_ref());
        Value::Object(out)
    }
}

impl EvidenceQuery {
    pub fn written(&self, dialect: Dialect) -> Value {
        let mut out = object(&json!({ "provider_id": self.provider_id }));
        out.insert(dialect.check().into(), self.check.as_str().into());
        keep(&mut out, "params", self.params.as_ref());
        Value::Object(out)
    }
}

impl Stage {
    fn written(&self, dialect: Dialect) -> Value {
        json!({
            "stage_id": self.stage_id,
            "entry_packets": plain(&self.entry_packets),
            "gates": self.gates.iter().map(|gate| gate.written(dialect)).collect::<Vec<_>>(),
            "advance_to": plain(&self.advance_to),
            "timeout": self.timeout,
            "on_timeout": self.on_timeout,
        })
    }
}

impl Gate {
    fn written(&self, dialect: Dialect) -> Value {
        let mut out = object(&json!({
            "gate_id": self.gate_id,
            "requirement": self.requirement.written(dialect),
        }));
        keep(&mut out, "trust", self.trust.as_ref());
        Value::Object(out)
    }
}

/// A field of one dialect only: absent stays absent.
fn keep(out: &mut Map<String, Value>, key: &str, value: Option<&Value>) {
    if let Some(value) = value {
        out.insert(key.into(), value.clone());
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn plain(value: &impl Serialize) -> Value {
    // Our own types have texts for keys and no floats of their own.
    serde_json::to_value(value).unwrap_or_default()
}
