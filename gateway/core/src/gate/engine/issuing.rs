//! A stage's packets for the targets of a run.

use super::super::dispatch::DispatchRules;
use super::super::records::{Decision, Envelope, Packet, Receipt, Visibility};
use super::super::run::Head;
use super::super::scenario::Scenario;
use super::super::spec::PacketSpec;
use super::super::{Digest, Id, Refusal};

/// Who hands packets over: the caller's own session.
const DISPATCHER: &str = "mcp";

/// All of them, or the one that the policy denies to one of the targets. Without targets nobody is asked.
pub fn packets(
    scenario: &Scenario,
    stage: &Id,
    decision: &Decision,
    head: &Head,
    rules: &DispatchRules,
) -> Result<Result<Vec<Packet>, Id>, Refusal> {
    let Some((stage, compiled)) = scenario.stage(stage) else {
        return Ok(Ok(Vec::new()));
    };
    let mut issued = Vec::with_capacity(stage.entry_packets.len());
    for (packet, hash) in stage.entry_packets.iter().zip(&compiled.packet_hashes) {
        let envelope = envelope(packet, *hash, &stage.stage_id, decision, head);
        if head.dispatch_targets.iter().any(|target| !rules.permits(&envelope, target)) {
            return Ok(Err(packet.packet_id.clone()));
        }
        let receipt_hash = Digest::of_json(&envelope)?;
        let receipts = head.dispatch_targets.iter().map(|target| Receipt {
            dispatch_id: format!("{DISPATCHER}-{}", packet.packet_id),
            target: target.clone(),
            receipt_hash,
            dispatched_at: decision.decided_at,
            dispatcher: DISPATCHER.into(),
        });
        issued.push(Packet {
            receipts: receipts.collect(),
            envelope,
            payload: packet.payload.clone(),
            decision_id: decision.decision_id.clone(),
        });
    }
    Ok(Ok(issued))
}

fn envelope(packet: &PacketSpec, content_hash: Digest, stage: &Id, decision: &Decision, head: &Head) -> Envelope {
    Envelope {
        scenario_id: head.scenario_id.clone(),
        run_id: head.run_id.clone(),
        stage_id: stage.clone(),
        packet_id: packet.packet_id.clone(),
        schema_id: packet.schema_id.clone(),
        content_type: packet.content_type.clone(),
        content_hash,
        visibility: Visibility { labels: packet.visibility_labels.clone(), policy_tags: packet.policy_tags.clone() },
        expiry: packet.expiry,
        correlation_id: decision.correlation_id.clone(),
        issued_at: decision.decided_at,
    }
}
