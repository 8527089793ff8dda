#![allow(clippy::unwrap_used)]

use gateway_core::EventType;
use gateway_core::gate::{Digest, GateTime};
use gateway_core::ports::AskingRun;

use super::fakes::World;
use super::*;
use crate::evidence::testing::{asked, asked_by, code, value};

fn provider() -> (Arc<World>, AdpRecords) {
    let world = Arc::new(World::default());
    let provider = AdpRecords::new(world.ports(), Switches::default());
    (world, provider)
}

async fn by_run(provider: &AdpRecords, entered_by: Option<u64>) -> EvidenceResult {
    let run = AskingRun { spec_hash: Digest::of_bytes(b"spec"), entered_by };
    asked_by(provider, GateTime::Logical(1), "approval_granted", None, Some(run)).await
}

// acceptance 119 e: a stage asks a human once, and its yes stays a yes for this stage and no other.
#[tokio::test]
async fn a_stage_asks_a_human_and_keeps_the_answer() {
    let (world, provider) = provider();
    for _ in 0..3 {
        assert_eq!(value(&by_run(&provider, None).await), Some(json!(false)));
    }
    let row = world.approvals.lock().unwrap().values().next().unwrap().clone();
    assert_eq!(world.approvals.lock().unwrap().len(), 1, "it is asked once");
    assert!(row.asked.four_eyes && row.asked.owner.as_deref() == Some("owner@example.com"));
    let written: Vec<_> = world.traces.lock().unwrap().iter().map(|draft| draft.event_type).collect();
    assert_eq!((written, *world.room.lock().unwrap()), (vec![EventType::Escalation], 0));
    world.becomes(ApprovalStatus::Approved);
    for _ in 0..3 {
        let granted = by_run(&provider, None).await;
        assert_eq!(value(&granted), Some(json!(true)));
        assert_eq!(granted.evidence_anchor.unwrap().anchor_value, row.asked.id.to_string());
    }
    assert_eq!(value(&by_run(&provider, Some(4)).await), Some(json!(false)), "entered again, it is asked again");
    assert_eq!(world.approvals.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_no_stays_a_no_while_it_is_quiet() {
    let (world, provider) = provider();
    by_run(&provider, None).await;
    world.becomes(ApprovalStatus::Rejected);
    assert_eq!(value(&by_run(&provider, None).await), Some(json!(false)));
    assert_eq!(world.approvals.lock().unwrap().len(), 1);
    // A yes that nobody used in time was no refusal: the question is put again, under another number.
    world.becomes(ApprovalStatus::Expired);
    for row in world.approvals.lock().unwrap().values_mut() {
        row.use_by = row.decided_at;
    }
    assert_eq!(value(&by_run(&provider, None).await), Some(json!(false)));
    assert_eq!(world.approvals.lock().unwrap().len(), 2);
}

// acceptance 119 e: a look without a run asks nobody.
#[tokio::test]
async fn a_look_asks_nobody() {
    let (world, provider) = provider();
    assert_eq!(code(&asked(&provider, "approval_granted", None).await), "run_missing");
    assert!(world.approvals.lock().unwrap().is_empty() && world.traces.lock().unwrap().is_empty());
    let unknown = json!({ "approval_id": Uuid::from_u128(7).to_string() });
    assert_eq!(code(&asked(&provider, "approval_granted", Some(unknown)).await), "not_found");
}

// acceptance 119 e: chains and the matrix, of agents that are there.
#[tokio::test]
async fn what_the_gateway_knows_of_its_agents() {
    let (_, provider) = provider();
    let chain = |agent: &str| Some(json!({ "agent_id": agent }));
    assert_eq!(value(&asked(&provider, "chain_valid", chain("agent-alpha")).await), Some(json!(true)));
    assert_eq!(code(&asked(&provider, "chain_valid", chain("nobody")).await), "not_found");
    let matrix =
        |agent: &str, kind: &str| Some(json!({ "agent_id": agent, "decision_type": kind, "risk_level": "R2" }));
    for (agent, kind, expected) in [("agent-alpha", "D2", "authorized"), ("agent-alpha", "D3", "prohibited")] {
        assert_eq!(
            value(&asked(&provider, "matrix_result", matrix(agent, kind)).await),
            Some(json!(expected)),
            "{kind}"
        );
    }
    for agent in ["nobody", "agent-gone"] {
        assert_eq!(code(&asked(&provider, "matrix_result", matrix(agent, "D1")).await), "not_found", "{agent}");
    }
}

// acceptance 114
#[test]
fn params_are_read_strictly() {
    let id = Uuid::from_u128(7).to_string();
    for (check, params, fits) in [
        ("approval_granted", json!({}), true),
        ("approval_granted", Value::Null, true),
        ("approval_granted", json!({ "approval_id": id }), true),
        ("approval_granted", json!({ "approval_id": "yes" }), false),
        ("approval_granted", json!({ "approval": id }), false),
        ("chain_valid", json!({ "agent_id": "agent-1" }), true),
        ("chain_valid", json!({}), false),
        ("chain_valid", json!({ "agent_id": "no name" }), false),
        ("matrix_result", json!({ "agent_id": "a", "decision_type": "D2" }), true),
        ("matrix_result", json!({ "agent_id": "a", "decision_type": "D2", "risk_level": "R3" }), true),
        ("matrix_result", json!({ "agent_id": "a", "decision_type": "D5" }), false),
        ("matrix_result", json!({ "agent_id": "a", "decision_type": "D2", "risk_level": "high" }), false),
        ("other", json!({}), false),
    ] {
        assert_eq!(Wanted::read(check, Some(&params)).is_ok(), fits, "{check} {params}");
    }
}
