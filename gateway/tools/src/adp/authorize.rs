//! `adp_authorize`: what the matrix and its overrides say of one agent and one kind of decision.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::matrix::Question;
use gateway_core::ports::TenantStore;
use serde_json::{Map, Value, json};

use super::{CurrentMatrix, active, agent_id_schema, decision_type_schema, field, missing, on_scale, risk_schema};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Authorize {
    spec: ToolSpec,
    tenants: Arc<dyn TenantStore>,
    matrix: CurrentMatrix,
}

impl Authorize {
    pub(super) fn new(tenants: Arc<dyn TenantStore>, matrix: CurrentMatrix) -> Self {
        Self { spec: spec(), tenants, matrix }
    }
}

#[async_trait]
impl BuiltinTool for Authorize {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let text = |name| field(arguments, name).ok_or_else(|| missing(name));
        let decision_type = on_scale("decision_type", text("decision_type")?)?;
        let risk = field(arguments, "risk_level").map(|risk| on_scale("risk_level", risk)).transpose()?;
        let agent = active(&*self.tenants, caller, text("agent_id")?).await?.agent;
        let judgement = (self.matrix)().judge(&Question {
            autonomy: agent.autonomy,
            decision_type,
            risk,
            allowed_types: &agent.allowed_types,
            max_risk: agent.max_risk,
        });
        Ok(json!({
            "result": judgement.result,
            "override_applied": !judgement.reasons.is_empty(),
            "reasons": judgement.reasons,
            "matrix_cell": judgement.cell,
        }))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "adp_authorize".into(),
        title: "Ask whether an agent may decide".into(),
        description:
            "Looks up an agent of this tenant and says whether a decision of this type and risk is authorized, needs \
                      a human's approval, or is prohibited, and why. Changes nothing."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "agent_id": agent_id_schema(),
                "decision_type": decision_type_schema(),
                "risk_level": risk_schema(),
            },
            "required": ["agent_id", "decision_type"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "result": { "type": "string", "enum": ["authorized", "approval_required", "prohibited"] },
                "override_applied": { "type": "boolean" },
                "reasons": { "type": "array", "items": { "type": "string" } },
                "matrix_cell": { "type": "string" },
            },
            "required": ["result", "override_applied", "reasons", "matrix_cell"],
        })),
        annotations: annotations::reads(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use gateway_core::ports::AgentStatus;
    use gateway_core::{Autonomy, DecisionType, Risk};

    use super::*;
    use crate::adp::fakes::{Registry, agent, agent_of, call};
    use gateway_core::matrix::Matrix;

    fn tool(registry: Registry) -> Authorize {
        Authorize::new(Arc::new(registry), Arc::new(|| Arc::new(Matrix::standard())))
    }

    fn one_of_each_level() -> Registry {
        let levels = Autonomy::ALL.iter();
        levels.fold(Registry::default(), |registry, level| registry.with(level.as_str(), *level, &[], Risk::R4))
    }

    fn question(agent: &str, decision_type: &str, risk: &str) -> Value {
        json!({ "agent_id": agent, "decision_type": decision_type, "risk_level": risk })
    }

    // acceptance 13: the seed's example, exactly.
    #[tokio::test]
    async fn the_seeds_example() {
        let registry = Registry::default().with(
            "agent-billing-001",
            Autonomy::A3,
            &[DecisionType::D1, DecisionType::D2],
            Risk::R2,
        );
        let expected = json!({
            "result": "authorized",
            "override_applied": false,
            "reasons": [],
            "matrix_cell": "A3 x D2 = AUTHORIZED",
        });
        let answer =
            call(&tool(registry), &agent("agent-billing-001"), question("agent-billing-001", "D2", "R2")).await;
        assert_eq!(answer, Ok(expected));
    }

    // acceptance 14: the twenty cells. acceptance 15: D4 and R3/R4 are never free, at any level.
    #[tokio::test]
    async fn every_cell_and_every_override() {
        let tool = tool(one_of_each_level());
        for level in Autonomy::ALL {
            for decision_type in DecisionType::ALL {
                let cell = Matrix::standard().cell(*level, *decision_type);
                for risk in Risk::ALL {
                    let given = question(level.as_str(), decision_type.as_str(), risk.as_str());
                    let answer = call(&tool, &agent("asks"), given).await.unwrap();
                    assert_eq!(answer["matrix_cell"], format!("{level} x {decision_type} = {cell}"));
                    let law = *decision_type == DecisionType::D4 || *risk >= Risk::R3;
                    assert_eq!(answer["override_applied"], law, "{answer}");
                    assert_eq!(answer["reasons"].as_array().unwrap().is_empty(), !law, "{answer}");
                    if law {
                        assert_ne!(answer["result"], "authorized", "{answer}");
                    } else {
                        assert_eq!(answer["result"], json!(cell));
                    }
                }
            }
        }
    }

    // acceptance 16: the agent's own limits tighten, and say so.
    #[tokio::test]
    async fn an_agents_own_limits_tighten() {
        let tool = tool(Registry::default().with("narrow", Autonomy::A5, &[DecisionType::D1], Risk::R1));
        for (decision_type, risk, result, reasons) in
            [("D2", "R1", "prohibited", 1), ("D1", "R2", "approval_required", 1), ("D1", "R1", "authorized", 0)]
        {
            let answer = call(&tool, &agent("narrow"), question("narrow", decision_type, risk)).await.unwrap();
            assert_eq!(
                (&answer["result"], answer["reasons"].as_array().map(Vec::len)),
                (&json!(result), Some(reasons))
            );
        }
        let without_risk = json!({ "agent_id": "narrow", "decision_type": "D1" });
        assert_eq!(call(&tool, &agent("narrow"), without_risk).await.unwrap()["result"], "authorized");
    }

    // acceptance 17: unknown, inactive and another tenant's agents look the same.
    #[tokio::test]
    async fn an_agent_that_is_not_there_for_the_caller() {
        let registry =
            one_of_each_level().with_status("A2", AgentStatus::Suspended).with_status("A3", AgentStatus::Revoked);
        let tool = tool(registry);
        let stranger = agent_of(9, "A1");
        for (caller, asked) in [
            (&agent("A1"), "nobody"),
            (&agent("A1"), "A2"),
            (&agent("A1"), "A3"),
            (&stranger, "A1"),
            (&agent("A1"), "no name"),
        ] {
            let refused = call(&tool, caller, question(asked, "D1", "R1")).await.unwrap_err();
            assert_eq!(refused.to_string(), "Agent not found or inactive", "{asked}");
        }
        let nobody = call(&tool, &gateway_core::Principal::anonymous(), question("A1", "D1", "R1")).await.unwrap_err();
        assert_eq!(nobody.to_string(), "Agent not found or inactive");
        let incomplete = call(&tool, &agent("A1"), json!({ "risk_level": "R1" })).await.unwrap_err();
        assert_eq!(incomplete.to_string(), "Missing required fields: agent_id, decision_type");
    }
}
