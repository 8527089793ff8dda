//! `adp_add_policy`: a rule for the whole organization. It is compiled before it is stored, starts in shadow, and is written
//! into the chain of whoever added it.
//!
//! An agent may add one: a policy can only ask for more than is asked without it.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::canonical::Canonical;
use gateway_core::ports::{AuditBuffer, Clock, LedgerError, NewAgentPolicy, PolicyStore, StoreError};
use gateway_core::rules::{AgentPolicy, MAX_RULE_BYTES, Severity, WrittenPolicy};
use gateway_core::{
    Classification, DecisionType, EventType, Principal, Reversibility, Risk, TenantId, TraceDraft, TraceId, digest,
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{field, missing, on_scale, unavailable};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

/// Policies of one tenant, switched off or not.
const MOST: usize = 1_000;

pub(super) struct AddPolicy {
    spec: ToolSpec,
    policies: Arc<dyn PolicyStore>,
    audit: Arc<dyn AuditBuffer>,
    clock: Arc<dyn Clock>,
}

impl AddPolicy {
    pub(super) fn new(policies: Arc<dyn PolicyStore>, audit: Arc<dyn AuditBuffer>, clock: Arc<dyn Clock>) -> Self {
        Self { spec: spec(), policies, audit, clock }
    }

    async fn store(&self, tenant: TenantId, policy: &NewAgentPolicy) -> Result<(), ToolFailure> {
        let rows = self.policies.agent_policies(tenant).await.map_err(|error| unavailable(&error))?;
        if rows.iter().filter(|row| row.tenant == Some(tenant)).count() >= MOST {
            return Err(ToolFailure::new(format!("there are {MOST} policies already: remove one first")));
        }
        self.policies.add_agent_policy(tenant, policy).await.map_err(|error| match error {
            StoreError::Exists(_) => ToolFailure::new("Policy ID already exists"),
            StoreError::Invalid(what) => ToolFailure::new(what),
            other => unavailable(&other),
        })?;
        Ok(())
    }

    fn draft(&self, caller: &Principal, policy: &NewAgentPolicy) -> Result<TraceDraft, ToolFailure> {
        let unwritable = |_| ToolFailure::new("Invalid rule: it has no canonical form");
        let rule = Canonical::of(&policy.rule).map_err(unwritable)?;
        let context = json!({ "policy_id": policy.policy_id, "rule_hash": digest::named(rule.as_str().as_bytes()) });
        let now = self.clock.now();
        Ok(TraceDraft {
            tenant: caller.tenant,
            agent: caller.agent.clone(),
            trace_id: TraceId::from_uuid(self.clock.fresh_id()),
            event_type: EventType::Decision,
            classification: Some(Classification::new(DecisionType::D2, Risk::R2, Reversibility::Partial)),
            description: Some(format!("policy {} added", policy.policy_id)),
            reasoning: None,
            authorization: Canonical::null(),
            context: Canonical::of(&context).map_err(unwritable)?,
            timestamp: Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now),
        })
    }
}

#[async_trait]
impl BuiltinTool for AddPolicy {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let Some(tenant) = caller.tenant else {
            return Err(ToolFailure::new("adp_add_policy needs an agent's or an administrator's key"));
        };
        let policy = described(arguments)?;
        let draft = self.draft(caller, &policy)?;
        // Room first: a policy that could not be written down is not added.
        self.audit.reserve().map_err(|error| unrecorded(&error, "nothing was added, try again"))?;
        self.audit.release(1);
        if let Err(failure) = self.store(tenant, &policy).await {
            self.audit.release(1);
            return Err(failure);
        }
        let appended = self.audit.append(draft, true).await;
        appended.map_err(|error| unrecorded(&error, "the policy was added but could not be written down"))?;
        Ok(json!({ "policy_id": policy.policy_id, "active": true }))
    }
}

fn unrecorded(error: &LedgerError, what: &str) -> ToolFailure {
    tracing::error!(error = error as &dyn std::error::Error, "adp_add_policy could not be recorded: {error}");
    ToolFailure::new(format!("{what}: {error}"))
}

fn described(arguments: &Map<String, Value>) -> Result<NewAgentPolicy, ToolFailure> {
    let text = |name| field(arguments, name).ok_or_else(|| missing(name));
    let severity: Option<Severity> = field(arguments, "severity").map(|one| on_scale("severity", one)).transpose()?;
    let mapping = arguments.get("regulatory_mapping").and_then(Value::as_array).into_iter().flatten();
    let policy = NewAgentPolicy {
        policy_id: text("policy_id")?.into(),
        name: text("name")?.into(),
        category: field(arguments, "category").map(Into::into),
        severity,
        rule: arguments.get("rule").cloned().ok_or_else(|| missing("rule"))?,
        regulatory_mapping: mapping.filter_map(Value::as_str).map(str::to_owned).collect(),
    };
    let written = WrittenPolicy {
        id: None,
        policy_id: policy.policy_id.clone(),
        name: policy.name.clone(),
        category: policy.category.clone(),
        severity,
        rule: policy.rule.clone(),
        regulatory_mapping: policy.regulatory_mapping.clone(),
        mode: None,
    };
    AgentPolicy::compile(&written)
        .map_err(|error| ToolFailure::new(format!("Invalid {}: {}", error.field, error.what)))?;
    Ok(policy)
}

fn spec() -> ToolSpec {
    let text = |description: &str| json!({ "type": "string", "minLength": 1, "description": description });
    ToolSpec {
        name: "adp_add_policy".into(),
        title: "Add a policy".into(),
        description:
            "Adds a governance policy to the caller's organization: when its condition holds, its requirement is asked \
                      for. It is evaluated from now on and enforced once an administrator says so."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "policy_id": text("Unique in the organization, such as POL-COM-001."),
                "name": text("What people call the policy."),
                "category": { "type": "string", "description": "Such as communication, financial or data." },
                "severity": { "type": "string", "enum": ["low", "medium", "high", "critical"] },
                "rule": {
                    "type": "object",
                    "properties": {
                        "condition": {
                            "type": "object",
                            "description": "All keys must match the context: a value, a list of values, or {eq, ne, gt, gte, lt, lte, in, contains, exists}.",
                        },
                        "requirement": {
                            "type": ["string", "object"],
                            "description": "human_approval, prohibited, log, notify, {max: {field: n}} or {require: [fields]}.",
                        },
                        "max_response_time": { "type": "string", "description": "How long an approval may wait, as ISO 8601: PT1H." },
                    },
                    "required": ["condition", "requirement"],
                    "additionalProperties": false,
                    "description": format!("At most {MAX_RULE_BYTES} bytes."),
                },
                "regulatory_mapping": { "type": "array", "items": { "type": "string" }, "description": "Such as eu_ai_act_art14." },
            },
            "required": ["policy_id", "name", "rule"],
            "additionalProperties": false,
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "policy_id": { "type": "string" }, "active": { "type": "boolean" } },
            "required": ["policy_id", "active"],
        })),
        annotations: annotations::adds(),
    }
}

#[cfg(test)]
mod tests;
