//! Logging against a ledger in memory: what is linked, and what is refused before it is.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use gateway_core::ports::AgentStatus;
use gateway_core::{Autonomy, Risk};
use serde_json::{Value, json};

use super::*;
use crate::adp::fakes::{Chains, FixedClock, Registry, admin, agent, agent_of, call};

const BILLING: &str = "agent-billing-001";

fn example() -> Value {
    json!({
        "agent_id": BILLING,
        "event_type": "decision",
        "decision": {
            "type": "D2",
            "risk_level": "R2",
            "reversibility": "partial",
            "classification_code": "D2-R2-partial",
            "description": "Selected vendor B over vendor A",
            "reasoning": "Vendor B offers 15% lower fees with equivalent SLA",
        },
        "authorization": { "required": false, "matrix_result": "A3 x D2 = AUTHORIZED" },
        "context": {},
    })
}

fn registry() -> Registry {
    let known =
        Registry::default().with(BILLING, Autonomy::A3, &[], Risk::R2).with("gone", Autonomy::A3, &[], Risk::R2);
    known.with_status("gone", AgentStatus::Revoked)
}

fn tool(chains: &Chains) -> LogTrace {
    LogTrace::new(Arc::new(registry()), Arc::new(chains.clone()), Arc::new(FixedClock::default()))
}

// acceptance 18: the four fields, null first, and the second linked to the first. acceptance 19: the known vector.
#[tokio::test]
async fn a_second_trace_links_to_the_first() {
    let chains = Chains::default();
    let tool = tool(&chains);
    let first = call(&tool, &agent(BILLING), example()).await.unwrap();
    let expected = json!({
        "trace_id": "trc_00000000000000000000000000000001",
        "event_hash": "sha256:5efe256c39fd60700ab981bcfdae5849447c5a5d4a8821c3c1eb4b103482f629",
        "previous_hash": null,
        "chain_length": 1,
    });
    assert_eq!(first, expected);
    let second = call(&tool, &agent(BILLING), example()).await.unwrap();
    assert_eq!((&second["previous_hash"], &second["chain_length"]), (&first["event_hash"], &json!(2)));
    let hash = second["event_hash"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(chains.open_room(), 0, "reserved room is used or given back");
}

#[tokio::test]
async fn flat_and_nested_say_the_same() {
    let flat = json!({
        "agent_id": BILLING,
        "event_type": "decision",
        "decision_type": "D2",
        "risk_level": "R2",
        "reversibility": "partial",
        "description": "Selected vendor B over vendor A",
        "reasoning": "Vendor B offers 15% lower fees with equivalent SLA",
        "authorization": { "matrix_result": "A3 x D2 = AUTHORIZED", "required": false },
    });
    let (one, other) = (Chains::default(), Chains::default());
    let nested = call(&tool(&one), &agent(BILLING), example()).await.unwrap();
    assert_eq!(call(&tool(&other), &agent(BILLING), flat).await.unwrap()["event_hash"], nested["event_hash"]);
}

#[tokio::test]
async fn absent_parts_are_null_and_an_absent_context_is_empty() {
    let chains = Chains::default();
    call(&tool(&chains), &agent(BILLING), json!({ "agent_id": BILLING, "event_type": "approval" })).await.unwrap();
    let event = chains.traces_of(BILLING).pop().unwrap().event;
    assert_eq!((event.decision_type, event.classification_code, event.description), (None, None, None));
    assert_eq!((event.authorization, event.context), (Value::Null, json!({})));
    assert_eq!(event.timestamp, "2026-02-23T00:00:00.000Z", "whole milliseconds only");
}

#[tokio::test]
async fn what_cannot_be_hashed_or_understood_is_refused_by_name() {
    let with = |path: &[&str], value: Value| {
        let mut given = example();
        *path.iter().fold(&mut given, |place, name| &mut place[*name]) = value;
        given
    };
    let chains = Chains::default();
    for (given, expected) in [
        (json!({}), "Missing required fields: agent_id, event_type"),
        (with(&["event_type"], json!("note")), "Invalid event_type: note is not one of decision, approval, escalation"),
        (with(&["decision", "type"], json!("D7")), "Invalid decision.type: D7 is not one of D1, D2, D3, D4"),
        (with(&["decision", "risk_level"], Value::Null), "Missing required fields: risk_level"),
        (
            with(&["decision", "classification_code"], json!("D1-R1-total")),
            "Invalid classification_code: expected D2-R2-partial",
        ),
        (with(&["risk_level"], json!("R1")), "Invalid risk_level: given twice, as `R2` and as `R1`"),
        (with(&["decision", "mood"], json!("good")), "Unknown field: decision.mood"),
        (with(&["trace_id"], json!("trc_1")), "Unknown field: trace_id"),
        (with(&["context"], json!([1])), "Invalid context: expected object or null"),
        (with(&["authorization"], json!("yes")), "Invalid authorization: expected object or null"),
        (
            with(&["decision", "description"], json!("a\u{0}b")),
            "Invalid decision.description: NUL characters are not allowed",
        ),
        (with(&["context", "note"], json!(["\u{0}"])), "Invalid context.note[0]: NUL characters are not allowed"),
        (
            with(&["context", "order"], json!([9_007_199_254_740_993_i64])),
            "Invalid context.order[0]: 9007199254740993 has no exact canonical form, send it as a string",
        ),
        (
            with(&["authorization", "n"], json!(u64::MAX)),
            "Invalid authorization.n: 18446744073709551615 has no exact canonical form, send it as a string",
        ),
    ] {
        assert_eq!(call(&tool(&chains), &agent(BILLING), given).await.unwrap_err().to_string(), expected);
    }
    assert!(chains.traces_of(BILLING).is_empty(), "what is refused is not linked");
    let fits = with(&["context", "n"], json!([9_007_199_254_740_992_i64, -0.5, 1e300]));
    assert!(call(&tool(&chains), &agent(BILLING), fits).await.is_ok());
}

#[tokio::test]
async fn an_agent_logs_for_itself_and_an_administrator_for_its_tenant() {
    let chains = Chains::default();
    let tool = tool(&chains);
    let of = |agent_id: &str| json!({ "agent_id": agent_id, "event_type": "decision" });
    for (caller, agent_id, expected) in [
        (agent("other"), BILLING, "Invalid agent_id: other may only log its own decisions"),
        (Principal::anonymous(), "unauthenticated", "adp_log_trace needs an agent's key"),
        (admin(), "nobody", "Agent not found or inactive"),
        (admin(), "gone", "Agent not found or inactive"),
    ] {
        assert_eq!(call(&tool, &caller, of(agent_id)).await.unwrap_err().to_string(), expected);
    }
    assert!(call(&tool, &admin(), of(BILLING)).await.is_ok());
    let namesake = call(&tool, &agent_of(9, BILLING), of(BILLING)).await.unwrap();
    assert_eq!(namesake["chain_length"], 1, "another tenant's agent of that name has its own chain");
}

#[tokio::test]
async fn a_full_queue_refuses_and_a_spool_defers() {
    let full = call(&tool(&Chains::full()), &agent(BILLING), example()).await.unwrap_err();
    assert_eq!(full.to_string(), "the decision was not recorded, try again: the audit queue is full");
    let spooled = call(&tool(&Chains::spooling()), &agent(BILLING), example()).await.unwrap();
    assert_eq!((&spooled["chain_length"], &spooled["pending"]), (&Value::Null, &json!(true)));
    assert!(spooled["trace_id"].as_str().unwrap().starts_with("trc_"));
}
