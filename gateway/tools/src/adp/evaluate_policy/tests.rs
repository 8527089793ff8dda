//! Stored rows against described decisions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use gateway_core::ports::AgentStatus;
use gateway_core::{Autonomy, Risk};

use super::*;
use crate::adp::fakes::{Registry, Rows, agent, agent_of, call};

fn tool(rows: &Rows) -> EvaluatePolicy {
    let registry = Registry::default().with("agent-billing-001", Autonomy::A3, &[], Risk::R2);
    EvaluatePolicy::new(Arc::new(registry), Arc::new(rows.clone()))
}

async fn asked(rows: &Rows, context: Value) -> Value {
    let question =
        json!({ "agent_id": "agent-billing-001", "decision_type": "D2", "risk_level": "R2", "context": context });
    call(&tool(rows), &agent("agent-billing-001"), question).await.unwrap()
}

fn communication() -> Value {
    json!({ "condition": { "action_type": "external_communication" }, "requirement": "human_approval", "max_response_time": "PT1H" })
}

// acceptance 26: the seed's two policies; one is not kept, the other applies and is.
#[tokio::test]
async fn the_seeds_examples() {
    let rows = Rows::default().with("POL-COM-001", Some("high"), communication()).with(
        "POL-FIN-001",
        Some("medium"),
        json!({ "condition": { "amount": { "gt": 10000 } }, "requirement": { "max": { "amount": 100_000 } } }),
    );
    let compliant = asked(&rows, json!({ "action_type": "vendor_selection", "amount": 50000 })).await;
    let expected =
        json!({ "compliant": true, "violations": [], "applicable_policies": ["POL-FIN-001"], "warnings": [] });
    assert_eq!(compliant, expected);
    let outside = asked(&rows, json!({ "action_type": "external_communication", "amount": 1 })).await;
    assert_eq!(outside["compliant"], false);
    assert_eq!(
        outside["violations"],
        json!([{
            "policy_id": "POL-COM-001", "name": "POL-COM-001", "severity": "high", "requirement": "human_approval",
            "max_response_time": "PT1H",
        }])
    );
    assert_eq!(outside["applicable_policies"], json!(["POL-COM-001"]));
}

// acceptance 27: numbers, and a context that does not say.
#[tokio::test]
async fn numbers_are_compared_and_silence_is_warned_of() {
    let rows = Rows::default().with(
        "POL-FIN-002",
        Some("high"),
        json!({ "condition": { "amount": { "gt": 10000 } }, "requirement": "human_approval" }),
    );
    assert_eq!(asked(&rows, json!({ "amount": 50000 })).await["compliant"], false);
    let small = asked(&rows, json!({ "amount": 500 })).await;
    assert_eq!((&small["compliant"], &small["warnings"]), (&json!(true), &json!([])));
    let silent = asked(&rows, json!({})).await;
    assert_eq!(silent["compliant"], true);
    assert_eq!(silent["warnings"].as_array().map(Vec::len), Some(1), "{silent}");
    assert!(silent["warnings"][0].as_str().unwrap().contains("amount"), "{silent}");
    let none = call(&tool(&rows), &agent("a"), json!({ "agent_id": "agent-billing-001" })).await.unwrap();
    assert_eq!(none["warnings"].as_array().map(Vec::len), Some(1), "no context at all says as little");
}

// acceptance 26: what is switched off does not count; what cannot be read does.
#[tokio::test]
async fn inactive_rows_are_silent_and_broken_ones_are_not() {
    let rows = Rows::default().with("POL-COM-001", None, communication()).inactive("POL-COM-001");
    let quiet = asked(&rows, json!({ "action_type": "external_communication" })).await;
    assert_eq!((&quiet["compliant"], &quiet["applicable_policies"]), (&json!(true), &json!([])));
    let broken = Rows::default().with("POL-ODD", Some("low"), json!({ "condition": { "amount": { "near": 3 } } }));
    let said = asked(&broken, json!({ "amount": 3 })).await;
    assert_eq!((&said["compliant"], &said["violations"][0]["requirement"]), (&json!(false), &json!("unreadable")));
    assert_eq!(said["violations"][0]["policy_id"], "POL-ODD");
}

// acceptance 17, acceptance 26: neither agents nor policies of others are there.
#[tokio::test]
async fn agents_that_are_not_there_for_the_caller() {
    let rows = Rows::default();
    let question = |agent: &str| json!({ "agent_id": agent, "context": {} });
    for (caller, asked) in [
        (agent_of(9, "x"), "agent-billing-001"),
        (agent("a"), "nobody"),
        (gateway_core::Principal::anonymous(), "agent-billing-001"),
    ] {
        let refused = call(&tool(&rows), &caller, question(asked)).await.unwrap_err();
        assert_eq!(refused.to_string(), "Agent not found or inactive");
    }
    let registry = Registry::default().with("a", Autonomy::A1, &[], Risk::R1).with_status("a", AgentStatus::Suspended);
    let suspended = EvaluatePolicy::new(Arc::new(registry), Arc::new(rows.clone()));
    assert_eq!(
        call(&suspended, &agent("a"), question("a")).await.unwrap_err().to_string(),
        "Agent not found or inactive"
    );
    for (given, expected) in [
        (json!({}), "Missing required fields: agent_id"),
        (json!({ "agent_id": "agent-billing-001", "context": "x" }), "Invalid context: expected object"),
        (
            json!({ "agent_id": "agent-billing-001", "risk_level": "R9" }),
            "Invalid risk_level: R9 is not one of R1, R2, R3, R4",
        ),
    ] {
        assert_eq!(call(&tool(&rows), &agent("a"), given).await.unwrap_err().to_string(), expected);
    }
}
