//! `adp_classify`: the code of a decision and whether it must be escalated. A pure function.

use async_trait::async_trait;
use gateway_core::Classification;
use serde_json::{Map, Value, json};

use super::{decision_type_schema, field, missing, on_scale, reversibility_schema, risk_schema};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Classify {
    spec: ToolSpec,
}

impl Classify {
    pub(super) fn new() -> Self {
        Self { spec: spec() }
    }
}

#[async_trait]
impl BuiltinTool for Classify {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let text = |name| field(arguments, name).ok_or_else(|| missing(name));
        let classification = Classification::new(
            on_scale("type", text("type")?)?,
            on_scale("risk_level", text("risk_level")?)?,
            on_scale("reversibility", text("reversibility")?)?,
        );
        Ok(json!({
            "classification_code": classification.code(),
            "risk_override": classification.is_high_risk(),
            "requires_escalation": classification.requires_escalation(),
        }))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "adp_classify".into(),
        title: "Classify a decision".into(),
        description:
            "Gives the classification code of a decision (such as D2-R2-partial) and says whether its type or risk \
                      forces an escalation. Changes nothing."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "type": decision_type_schema(),
                "risk_level": risk_schema(),
                "reversibility": reversibility_schema(),
            },
            "required": ["type", "risk_level", "reversibility"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "classification_code": { "type": "string" },
                "risk_override": { "type": "boolean" },
                "requires_escalation": { "type": "boolean" },
            },
            "required": ["classification_code", "risk_override", "requires_escalation"],
        })),
        annotations: annotations::reads(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::adp::fakes::{agent, call};

    // acceptance 11: the seed's example.
    #[tokio::test]
    async fn the_seeds_example() {
        let example = json!({ "type": "D2", "risk_level": "R2", "reversibility": "partial" });
        let expected =
            json!({ "classification_code": "D2-R2-partial", "risk_override": false, "requires_escalation": false });
        assert_eq!(call(&Classify::new(), &agent("a"), example).await, Ok(expected));
    }

    // acceptance 12: all 48 combinations, and nothing outside them.
    #[tokio::test]
    async fn every_combination_follows_the_two_rules() {
        let tool = Classify::new();
        for kind in ["D1", "D2", "D3", "D4"] {
            for risk in ["R1", "R2", "R3", "R4"] {
                for reversibility in ["total", "partial", "irreversible"] {
                    let given = json!({ "type": kind, "risk_level": risk, "reversibility": reversibility });
                    let high = risk == "R3" || risk == "R4";
                    let expected = json!({
                        "classification_code": format!("{kind}-{risk}-{reversibility}"),
                        "risk_override": high,
                        "requires_escalation": kind == "D4" || high,
                    });
                    assert_eq!(call(&tool, &agent("a"), given).await, Ok(expected));
                }
            }
        }
        for (given, expected) in [
            (json!({}), "Missing required fields: type, risk_level, reversibility"),
            (
                json!({ "type": "D5", "risk_level": "R1", "reversibility": "total" }),
                "Invalid type: D5 is not one of D1, D2, D3, D4",
            ),
            (
                json!({ "type": "d1", "risk_level": "R1", "reversibility": "total" }),
                "Invalid type: d1 is not one of D1, D2, D3, D4",
            ),
            (json!({ "type": "D1", "risk_level": 1, "reversibility": "total" }), "Invalid risk_level: expected string"),
            (
                json!({ "type": "D1", "risk_level": "R1", "reversibility": "none" }),
                "Invalid reversibility: none is not one of total, partial, irreversible",
            ),
        ] {
            assert_eq!(call(&tool, &agent("a"), given).await.unwrap_err().to_string(), expected);
        }
    }
}
