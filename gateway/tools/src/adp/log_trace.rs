//! `adp_log_trace`: an agent writes down its own decision, hashed onto its last one.
//!
//! Goes through the same queue and writer as the gateway's own traces, so that one agent has one chain in one order. Takes
//! the decision nested as the protocol has it, or flat as a stored row has it.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::canonical::Canonical;
use gateway_core::ports::{AuditBuffer, Clock, LedgerError, TenantStore};
use gateway_core::{AgentId, Classification, EventType, Principal, TraceDraft, TraceId};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    active, agent_id_schema, decision_type_schema, field, missing, on_scale, reversibility_schema, risk_schema,
};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct LogTrace {
    spec: ToolSpec,
    tenants: Arc<dyn TenantStore>,
    audit: Arc<dyn AuditBuffer>,
    clock: Arc<dyn Clock>,
}

impl LogTrace {
    pub(super) fn new(tenants: Arc<dyn TenantStore>, audit: Arc<dyn AuditBuffer>, clock: Arc<dyn Clock>) -> Self {
        Self { spec: spec(), tenants, audit, clock }
    }

    /// An agent logs for itself, and being authenticated is active; an administrator logs for any active agent of the tenant.
    async fn logged_agent(&self, caller: &Principal, agent: &str) -> Result<AgentId, ToolFailure> {
        if caller.is_admin() {
            return Ok(active(&*self.tenants, caller, agent).await?.agent.agent_id);
        }
        if caller.tenant.is_none() {
            return Err(ToolFailure::new("adp_log_trace needs an agent's key"));
        }
        if agent != caller.agent.as_str() {
            return Err(ToolFailure::new(format!("Invalid agent_id: {} may only log its own decisions", caller.agent)));
        }
        Ok(caller.agent.clone())
    }

    fn draft(
        &self,
        caller: &Principal,
        agent: AgentId,
        arguments: &Map<String, Value>,
    ) -> Result<TraceDraft, ToolFailure> {
        let event_type: EventType =
            on_scale("event_type", field(arguments, "event_type").ok_or_else(|| missing("event_type"))?)?;
        let decision = Decision { flat: arguments, nested: arguments.get("decision").and_then(Value::as_object) };
        let given = |name: &str| arguments.get(name).filter(|value| !value.is_null()).cloned();
        let context = given("context").unwrap_or_else(|| json!({}));
        let authorization = given("authorization").unwrap_or(Value::Null);
        let now = self.clock.now();
        Ok(TraceDraft {
            tenant: caller.tenant,
            agent,
            trace_id: TraceId::from_uuid(self.clock.fresh_id()),
            event_type,
            classification: decision.classification()?,
            description: decision.text(&["description"])?.map(Into::into),
            reasoning: decision.text(&["reasoning"])?.map(Into::into),
            authorization: canonical("authorization", &authorization)?,
            context: canonical("context", &context)?,
            timestamp: Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now),
        })
    }
}

#[async_trait]
impl BuiltinTool for LogTrace {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let agent = self.logged_agent(caller, field(arguments, "agent_id").ok_or_else(|| missing("agent_id"))?).await?;
        let draft = self.draft(caller, agent, arguments)?;
        let trace_id = draft.trace_id.clone();
        self.audit.reserve().map_err(unrecorded)?;
        // Room comes for a trace and a row; the row of this call is the gateway's.
        self.audit.release(1);
        let receipt = self.audit.append(draft, true).await.map_err(unrecorded)?;
        Ok(match receipt {
            Some(receipt) => json!({
                "trace_id": receipt.trace_id,
                "event_hash": receipt.event_hash,
                "previous_hash": receipt.previous_hash,
                "chain_length": receipt.seq,
            }),
            // Durable on this node; it gets its place once the store is back. A failure here would make the agent log it twice.
            None => json!({
                "trace_id": trace_id,
                "event_hash": null,
                "previous_hash": null,
                "chain_length": null,
                "pending": true,
            }),
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "handed to map_err")]
fn unrecorded(error: LedgerError) -> ToolFailure {
    tracing::warn!(error = %error, "adp_log_trace could not be recorded");
    ToolFailure::new(format!("the decision was not recorded, try again: {error}"))
}

/// The parts of a decision, wherever the caller put them.
struct Decision<'a> {
    flat: &'a Map<String, Value>,
    nested: Option<&'a Map<String, Value>>,
}

impl<'a> Decision<'a> {
    /// Said twice is fine only if it is the same.
    fn text(&self, names: &[&str]) -> Result<Option<&'a str>, ToolFailure> {
        let mut found = None;
        for fields in self.nested.into_iter().chain([self.flat]) {
            for name in names {
                match (found, field(fields, name)) {
                    (Some(first), Some(second)) if first != second => {
                        return Err(ToolFailure::new(format!(
                            "Invalid {name}: given twice, as `{first}` and as `{second}`"
                        )));
                    }
                    (None, given) => found = given,
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    fn classification(&self) -> Result<Option<Classification>, ToolFailure> {
        let parts = [
            ("type", self.text(&["type", "decision_type"])?),
            ("risk_level", self.text(&["risk_level"])?),
            ("reversibility", self.text(&["reversibility"])?),
        ];
        let code = self.text(&["classification_code"])?;
        let [(_, Some(kind)), (_, Some(risk)), (_, Some(reversibility))] = parts else {
            let said = code.is_some() || parts.iter().any(|(_, text)| text.is_some());
            let absent: Vec<_> = parts.iter().filter(|(_, text)| text.is_none()).map(|(name, _)| *name).collect();
            return if said { Err(missing(&absent.join(", "))) } else { Ok(None) };
        };
        let classification = Classification::new(
            on_scale("type", kind)?,
            on_scale("risk_level", risk)?,
            on_scale("reversibility", reversibility)?,
        );
        if code.is_some_and(|code| code != classification.code()) {
            return Err(ToolFailure::new(format!("Invalid classification_code: expected {}", classification.code())));
        }
        Ok(Some(classification))
    }
}

/// What will be hashed, refused where two different values would hash alike.
fn canonical(path: &str, value: &Value) -> Result<Canonical, ToolFailure> {
    exact(path, value)?;
    Canonical::of(value).map_err(|_| ToolFailure::new(format!("Invalid {path}: it has no canonical form")))
}

/// The canonical form writes every number as a double: an integer that a double cannot hold would hash like its neighbour.
fn exact(path: &str, value: &Value) -> Result<(), ToolFailure> {
    match value {
        Value::Number(number) => {
            let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            #[expect(clippy::cast_precision_loss, reason = "whether something is lost is the question")]
            let kept = integer.is_none_or(|integer| (integer as f64) as i128 == integer);
            if kept {
                Ok(())
            } else {
                Err(ToolFailure::new(format!(
                    "Invalid {path}: {number} has no exact canonical form, send it as a string"
                )))
            }
        }
        Value::Array(items) => {
            let mut places = items.iter().enumerate();
            places.try_for_each(|(place, item)| exact(&format!("{path}[{place}]"), item))
        }
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| exact(&format!("{path}.{name}"), value)),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

fn spec() -> ToolSpec {
    let optional = |schema: Value| match schema {
        Value::Object(mut schema) => {
            schema.insert("type".into(), json!(["string", "null"]));
            if let Some(names) = schema.get_mut("enum").and_then(Value::as_array_mut) {
                names.push(Value::Null);
            }
            Value::Object(schema)
        }
        other => other,
    };
    let text = |description: &str| json!({ "type": ["string", "null"], "description": description });
    let parts = json!({
        "type": optional(decision_type_schema()),
        "decision_type": optional(decision_type_schema()),
        "risk_level": optional(risk_schema()),
        "reversibility": optional(reversibility_schema()),
        "classification_code": text("Such as D2-R2-partial; must agree with its parts."),
        "description": text("What was decided."),
        "reasoning": text("Why."),
    });
    let mut properties = json!({
        "agent_id": agent_id_schema(),
        "event_type": { "type": "string", "enum": ["decision", "approval", "escalation"] },
        "decision": { "type": ["object", "null"], "properties": parts, "additionalProperties": false },
        "authorization": { "type": ["object", "null"], "description": "What adp_authorize said: required, matrix_result, overrides." },
        "context": { "type": ["object", "null"], "description": "Anything else worth keeping; no secrets." },
    });
    if let (Some(properties), Value::Object(parts)) = (properties.as_object_mut(), parts) {
        properties.extend(parts);
    }
    ToolSpec {
        name: "adp_log_trace".into(),
        title: "Log a decision".into(),
        description: "Appends a decision to the agent's own hash chain and gives back its place there. Give the parts of the \
                      decision in `decision` or beside it; type, risk_level and reversibility come together or not at all."
            .into(),
        input_schema: json!({
            "type": "object",
            "properties": properties,
            "required": ["agent_id", "event_type"],
            "additionalProperties": false,
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "trace_id": { "type": "string" },
                "event_hash": { "type": ["string", "null"] },
                "previous_hash": { "type": ["string", "null"] },
                "chain_length": { "type": ["integer", "null"] },
                "pending": { "type": "boolean", "description": "True while the trace waits for its place in the chain." },
            },
            "required": ["trace_id", "event_hash", "previous_hash", "chain_length"],
        })),
        annotations: annotations::adds(),
    }
}

#[cfg(test)]
mod tests;
