//! The run's own approval: asked for when a stage first wants it, good for this run in this stage as it was entered, and
//! for nothing else.

use std::time::Duration;

use gateway_core::approvals::{ApprovalKind, ApprovalRecord, ApprovalStatus, NewApproval};
use gateway_core::canonical::Canonical;
use gateway_core::ports::{AskingRun, EvidenceAsked, StoreError};
use gateway_core::{EventType, Reason, RiskLevel, TraceDraft, TraceId, digest};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::{AdpPorts, Failed, Found, away, unavailable};

/// How often the same question may be put again after a no.
const MOST_TIMES: u32 = 32;
const TOOL: &str = "gate/scenario_next";

pub(super) async fn own_approval(ports: &AdpPorts, asked: &EvidenceAsked<'_>) -> Result<Found, Failed> {
    let Some(run) = asked.run else {
        return Err(("run_missing", "without `approval_id` only a run's next step can ask a human".into()));
    };
    let now = ports.clock.now();
    let bound = binding(asked, run)?;
    for time in 0..MOST_TIMES {
        let id = nth(&bound, time);
        let known = ports.approvals.find(Some(asked.tenant), id).await.map_err(|error| away(&error))?;
        let row = match known {
            // Its yes was taken for this very stage: it stays a yes, however often the stage is looked at.
            Some(row) if row.status == ApprovalStatus::Used => return Ok(found(true, id)),
            Some(row) if row.answers(now) => row,
            Some(_) => continue,
            None => ask(ports, asked, run, id, &bound, now).await?,
        };
        return granted(ports, &row, &bound, now).await;
    }
    Err(("too_many", "this was asked too often; start another run".into()))
}

async fn granted(ports: &AdpPorts, row: &ApprovalRecord, bound: &str, now: Timestamp) -> Result<Found, Failed> {
    let id = row.asked.id;
    if row.status != ApprovalStatus::Approved {
        return Ok(found(row.status == ApprovalStatus::Used, id));
    }
    let used = ports.approvals.use_up(id, bound, &TraceId::from_uuid(id), now).await.map_err(|error| away(&error))?;
    if used {
        return Ok(found(true, id));
    }
    // Another node was faster with the same step, or it was stopped: what stands there now says which.
    let row = ports.approvals.find(Some(row.asked.tenant), id).await.map_err(|error| away(&error))?;
    Ok(found(row.is_some_and(|row| row.status == ApprovalStatus::Used), id))
}

fn found(granted: bool, id: Uuid) -> Found {
    Found { value: json!(granted), about: id.to_string() }
}

/// Puts the question, and writes into the agent's chain that it was put.
async fn ask(
    ports: &AdpPorts,
    asked: &EvidenceAsked<'_>,
    run: AskingRun,
    id: Uuid,
    bound: &str,
    now: Timestamp,
) -> Result<ApprovalRecord, Failed> {
    let terms = (ports.terms)();
    let owner = match ports.tenants.agent(asked.tenant, asked.by).await {
        Ok(record) => record.agent.owner_email.or(record.agent.owner_name),
        // An administrator's key is no agent of the registry.
        Err(StoreError::NotFound(_)) => None,
        Err(error) => return Err(away(&error)),
    };
    let new = question(asked, run, id, bound, owner, deadline(now, terms.deadline))?;
    // Room first: what could not be written down is not asked.
    ports.audit.reserve().map_err(|_| unavailable())?;
    ports.audit.release(1);
    let row = match ports.approvals.ask_within(&new, terms.most, now).await {
        Ok(Some(row)) => row,
        Ok(None) => {
            ports.audit.release(1);
            return Err(("too_many", "too many questions of this agent wait for approval already".into()));
        }
        Err(error) => {
            ports.audit.release(1);
            return Err(away(&error));
        }
    };
    // Somebody put it under another number already. Under the same one it is written again, which doubles nothing.
    if row.asked.id != id {
        ports.audit.release(1);
        return Ok(row);
    }
    let written = ports.audit.append(escalation(&new, now), true).await;
    written.map_err(|error| {
        tracing::error!(error = &error as &dyn std::error::Error, "a question could not be written down: {error}");
        unavailable()
    })?;
    Ok(row)
}

fn question(
    asked: &EvidenceAsked<'_>,
    run: AskingRun,
    id: Uuid,
    bound: &str,
    owner: Option<String>,
    deadline: Timestamp,
) -> Result<NewApproval, Failed> {
    let context = asked.context;
    let words =
        format!("run {} of {} asks for a human at stage {}", context.run_id, context.scenario_id, context.stage_id);
    let tool = TOOL.parse().map_err(|_| unavailable())?;
    Ok(NewApproval {
        id,
        tenant: asked.tenant,
        kind: ApprovalKind::Call,
        agent: asked.by.clone(),
        tool: Some(tool),
        binding: bound.to_owned(),
        args_hash: None,
        manifest_hash: None,
        policies_hash: run.spec_hash.hex(),
        classification: RiskLevel::HighWrite.classification(),
        risk_level: None,
        four_eyes: true,
        reasons: vec![Reason::new("gate", "approval", words)],
        policy_ids: vec![context.scenario_id.to_string()],
        shown: Some(json!({
            "scenario": context.scenario_id,
            "run": context.run_id,
            "stage": context.stage_id,
        })),
        owner,
        // One trace for one question, on whichever node it is put.
        trace: TraceId::from_uuid(id),
        deadline,
    })
}

fn escalation(new: &NewApproval, now: Timestamp) -> TraceDraft {
    let context = json!({ "approval": new.id, "gate": new.shown, "tool": TOOL });
    TraceDraft {
        tenant: Some(new.tenant),
        agent: new.agent.clone(),
        trace_id: new.trace.clone(),
        event_type: EventType::Escalation,
        classification: Some(new.classification),
        description: Some(format!("{TOOL} waits for approval")),
        reasoning: new.reasons.first().map(|reason| reason.message.clone()),
        authorization: Canonical::null(),
        // Plain data: writing it cannot fail.
        context: Canonical::of(&context).unwrap_or_else(|_| Canonical::null()),
        timestamp: Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now),
    }
}

fn deadline(now: Timestamp, time: Duration) -> Timestamp {
    now.checked_add(time).unwrap_or(Timestamp::MAX)
}

/// Names what the yes is good for: entering the stage once more, or running another scenario under the same name, is
/// another question.
fn binding(asked: &EvidenceAsked<'_>, run: AskingRun) -> Result<String, Failed> {
    let context = asked.context;
    let bound = json!(["gate", asked.tenant, context.run_id, run.spec_hash.hex(), context.stage_id, run.entered_by]);
    Canonical::of(&bound).map(|text| digest::named(text.as_str().as_bytes())).map_err(|_| unavailable())
}

/// The id of the question when it is put for the nth time: every node finds the same row by it, also once it is used.
fn nth(bound: &str, time: u32) -> Uuid {
    let digest = digest::hex(format!("{bound}\n{time}").as_bytes());
    let number = digest.get(..32).and_then(|digits| u128::from_str_radix(digits, 16).ok());
    Uuid::from_u128(number.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateway_core::AgentId;
    use gateway_core::gate::evidence::EvidenceContext;
    use gateway_core::gate::spec::EvidenceQuery;
    use gateway_core::gate::{Digest, GateTime, TenantText};

    use super::*;
    use crate::evidence::testing::{TENANT, id};

    fn bound(change: impl FnOnce(&mut EvidenceContext, &mut AskingRun)) -> String {
        let mut context = EvidenceContext {
            tenant_id: TenantText::Text(id("tenant-001")),
            run_id: id("run-7"),
            scenario_id: id("release"),
            stage_id: id("read"),
            trigger_id: id("t1"),
            trigger_time: GateTime::Logical(1),
            correlation_id: None,
        };
        let mut run = AskingRun { spec_hash: Digest::of_bytes(b"spec"), entered_by: None };
        change(&mut context, &mut run);
        let by: AgentId = "agent-alpha".parse().unwrap();
        let query = EvidenceQuery { provider_id: "adp".into(), check: "approval_granted".into(), params: None };
        let asked = EvidenceAsked { tenant: TENANT, by: &by, query: &query, context: &context, run: Some(run) };
        binding(&asked, run).unwrap()
    }

    // A yes is good for one run in one stage as it was entered, whichever trigger asks.
    #[test]
    fn the_same_stage_is_the_same_question_and_any_other_is_not() {
        let one = bound(|_, _| {});
        assert_eq!(one, bound(|context, _| context.trigger_id = id("t2")));
        assert_eq!(one, bound(|context, _| context.trigger_time = GateTime::Logical(9)));
        assert_ne!(one, bound(|context, _| context.run_id = id("run-8")));
        assert_ne!(one, bound(|context, _| context.stage_id = id("write")));
        assert_ne!(one, bound(|_, run| run.spec_hash = Digest::of_bytes(b"other")));
        assert_ne!(one, bound(|_, run| run.entered_by = Some(3)));
        assert_ne!(nth(&one, 0), nth(&one, 1));
        assert_eq!(nth(&one, 1), nth(&one, 1));
    }
}
