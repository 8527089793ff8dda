//! `adp_evaluate_policy`: what the organization's active policies say of a decision, before it is taken.
//!
//! Every active row is asked, whatever its mode: an agent that wants to comply need not wait until a policy is enforced. Rows
//! are read at every question, so that a policy counts from the moment it was added.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::ports::{AgentPolicyRow, PolicyStore, TenantStore};
use gateway_core::rules::{DeclaredContext, RuleSet};
use serde_json::{Map, Value, json};

use super::{active, agent_id_schema, decision_type_schema, field, missing, on_scale, risk_schema, unavailable};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct EvaluatePolicy {
    spec: ToolSpec,
    tenants: Arc<dyn TenantStore>,
    policies: Arc<dyn PolicyStore>,
}

impl EvaluatePolicy {
    pub(super) fn new(tenants: Arc<dyn TenantStore>, policies: Arc<dyn PolicyStore>) -> Self {
        Self { spec: spec(), tenants, policies }
    }
}

#[async_trait]
impl BuiltinTool for EvaluatePolicy {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let named = field(arguments, "agent_id").ok_or_else(|| missing("agent_id"))?;
        let decision_type =
            field(arguments, "decision_type").map(|kind| on_scale("decision_type", kind)).transpose()?;
        let risk = field(arguments, "risk_level").map(|risk| on_scale("risk_level", risk)).transpose()?;
        let agent = active(&*self.tenants, caller, named).await?;
        let rows = self.policies.agent_policies(agent.tenant).await.map_err(|error| unavailable(&error))?;
        let (rules, mut violations) = compiled(rows.into_iter().filter(|row| row.is_active));
        let nothing = json!({});
        let context = arguments.get("context").filter(|context| context.is_object()).unwrap_or(&nothing);
        let agent = agent.agent.agent_id.as_str();
        let said = rules.evaluate(&DeclaredContext { agent, decision_type, risk, context });
        violations.extend(said.violations.iter().map(|violation| json!(violation)));
        Ok(json!({
            "compliant": violations.is_empty(),
            "violations": violations,
            "applicable_policies": said.applicable,
            "warnings": said.warnings,
        }))
    }
}

/// A row that nobody can read is kept by nobody: each is a violation of its own.
fn compiled(rows: impl Iterator<Item = AgentPolicyRow>) -> (RuleSet, Vec<Value>) {
    let (mut policies, mut unreadable) = (Vec::new(), Vec::new());
    for row in rows {
        match row.compile() {
            Ok(policy) => policies.push(policy),
            Err(why) => unreadable.push(json!({
                "policy_id": row.policy_id, "name": row.name, "severity": row.severity,
                "requirement": "unreadable", "max_response_time": null, "why": why,
            })),
        }
    }
    (RuleSet::compile(policies), unreadable)
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "adp_evaluate_policy".into(),
        title: "Ask the policies about a decision".into(),
        description:
            "Evaluates a decision and its context against the organization's active policies: which apply, which are \
                      not kept, and what could not be checked. Changes nothing."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "agent_id": agent_id_schema(),
                "decision_type": decision_type_schema(),
                "risk_level": risk_schema(),
                "context": {
                    "type": "object",
                    "description": "What conditions look at, such as action_type and amount; keys may be nested.",
                },
            },
            "required": ["agent_id"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "compliant": { "type": "boolean" },
                "violations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "policy_id": { "type": "string" },
                            "name": { "type": "string" },
                            "severity": { "type": ["string", "null"] },
                            "requirement": {},
                            "max_response_time": { "type": ["string", "null"] },
                        },
                        "required": ["policy_id", "name", "severity", "requirement", "max_response_time"],
                    },
                },
                "applicable_policies": { "type": "array", "items": { "type": "string" } },
                "warnings": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["compliant", "violations", "applicable_policies", "warnings"],
        })),
        annotations: annotations::reads(),
    }
}

#[cfg(test)]
mod tests;
