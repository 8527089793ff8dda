//! Putting a decision onto its chain: canonical form and SHA-256.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use gateway_core::canonical::Canonical;
use gateway_core::classification::{Classification, DecisionType, Reversibility, Risk};
use gateway_core::trace::{Head, TraceDraft};
use gateway_core::{AgentId, EventType, TraceId};
use serde_json::json;

fn draft(agent: AgentId) -> Result<TraceDraft, serde_json::Error> {
    Ok(TraceDraft {
        tenant: None,
        agent,
        trace_id: TraceId::from_uuid(uuid::Uuid::nil()),
        event_type: EventType::Decision,
        classification: Some(Classification::new(DecisionType::D1, Risk::R1, Reversibility::Total)),
        description: Some("notes/search allowed".into()),
        reasoning: None,
        authorization: Canonical::of(
            &json!({ "required": false, "matrix_result": "A3 x D1 = AUTHORIZED", "overrides": [] }),
        )?,
        context: Canonical::of(&json!({
            "tool": "notes/search",
            "args_hash": "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
            "decision": "allow",
            "policies": "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
            "verdicts": [{ "plugin": "manifest", "verdict": "grant" }, { "plugin": "matrix", "verdict": "grant" }],
        }))?,
        timestamp: jiff::Timestamp::UNIX_EPOCH,
    })
}

fn link(criterion: &mut Criterion) {
    let Ok(agent) = "agent-1".parse() else {
        return;
    };
    let Ok(draft) = draft(agent) else {
        return;
    };
    let mut head = Head::default();
    criterion.bench_function("Head::link", |bencher| bencher.iter(|| black_box(head.link(&draft).is_ok())));
}

criterion_group!(benches, link);
criterion_main!(benches);
