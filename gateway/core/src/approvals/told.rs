//! What the chain says of a human's decision.

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::{ApprovalKind, ApprovalRecord, ApprovalStatus, Via};
use crate::canonical::Canonical;
use crate::digest;
use crate::names::TraceId;
use crate::trace::{EventType, TraceDraft};

#[derive(Serialize)]
struct Told<'a> {
    approval: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    args_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    continues: &'a str,
    /// That a second pair of eyes could be compared with nobody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    four_eyes: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<Via>,
}

/// The trace of a decision, in the chain of the agent it is about. Its id follows from the approval and the verdict, so
/// that writing it once more, after a crash or on another node, doubles nothing. `None` while nothing is decided.
pub fn decision_trace(record: &ApprovalRecord, via: Option<Via>, now: Timestamp) -> Option<TraceDraft> {
    let verdict = match record.status {
        ApprovalStatus::Pending => return None,
        ApprovalStatus::Approved | ApprovalStatus::Used => "approved",
        ApprovalStatus::Rejected => "rejected",
        ApprovalStatus::Expired => "expired",
    };
    let asked = &record.asked;
    let expired = record.status == ApprovalStatus::Expired;
    let what = match (asked.kind, &asked.tool) {
        (ApprovalKind::Call, Some(tool)) => tool.to_string(),
        (kind, _) => kind.to_string(),
    };
    let told = Told {
        approval: asked.id,
        args_hash: asked.args_hash.as_deref(),
        by: record.decided_by.as_deref().filter(|_| !expired),
        continues: asked.trace.as_str(),
        four_eyes: (asked.four_eyes && verdict == "approved" && !record.owner_is_known()).then_some("owner unknown"),
        note: record.note.as_deref().filter(|_| !expired),
        tool: asked.tool.as_ref().map(|tool| tool.as_str()),
        verdict,
        via,
    };
    Some(TraceDraft {
        tenant: Some(asked.tenant),
        agent: asked.agent.clone(),
        trace_id: derived(asked.id, verdict),
        event_type: EventType::Approval,
        classification: Some(asked.classification),
        description: Some(format!("{what} {verdict}")),
        reasoning: record.note.clone().filter(|_| !expired),
        authorization: Canonical::null(),
        // Plain data: writing it cannot fail.
        context: Canonical::of(&told).unwrap_or_else(|_| Canonical::null()),
        timestamp: now,
    })
}

fn derived(approval: Uuid, verdict: &str) -> TraceId {
    let digest = digest::hex(format!("{approval}\n{verdict}").as_bytes());
    let id = digest.get(..32).and_then(|digits| Uuid::try_parse(digits).ok());
    TraceId::from_uuid(id.unwrap_or(approval))
}
