//! How an agent earns the next mode: a clean record at the lower one, a human's yes, and a proof that the promises still hold.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use super::{Desk, DeskError, Note, ProofScope, Who, own};
use crate::approvals::{ApprovalKind, ApprovalQuery, ApprovalRecord, ApprovalStatus, NewApproval};
use crate::classification::{Autonomy, Classification, DecisionType, Reversibility, Risk};
use crate::digest;
use crate::manifest::AgentMode;
use crate::names::{AgentId, TenantId, ToolName, TraceId};
use crate::policies::Earned;
use crate::ports::{AgentRecord, AgentStatus, StoreError};
use crate::trace::EventType;
use crate::verdict::Reason;

/// A change of what the agent itself may do.
const CLASS: Classification = Classification::new(DecisionType::D4, Risk::R3, Reversibility::Partial);
/// How long somebody has to decide.
const DECIDE_WITHIN: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How an agent has done since its autonomy last changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    pub agent: AgentId,
    pub autonomy: Autonomy,
    pub mode: AgentMode,
    pub since: Timestamp,
    pub tiers: Vec<Tier>,
    pub calls: i64,
    pub ok: i64,
    pub denied: i64,
    pub errors: i64,
    /// What the next step asks for; absent for whoever has reached the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
}

/// Calls of one risk level and risk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tier {
    /// The manifest's, or `unclassified`.
    pub risk_level: String,
    pub risk: String,
    pub calls: i64,
    pub ok: i64,
    pub denied: i64,
    pub errors: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    pub to: Autonomy,
    /// Absent: `promotion.yaml` says nothing of its mode.
    pub asks: Option<Earned>,
    pub denials: f64,
    /// What is still missing; empty once it is earned.
    pub missing: Vec<String>,
}

/// What asking for a promotion came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Promotion {
    ApprovalRequired { approval_id: Uuid, deadline: Timestamp, from: Autonomy, to: Autonomy },
    Promoted { agent: AgentId, from: Autonomy, to: Autonomy, mode: AgentMode, proof: Uuid, trace_id: TraceId },
}

#[derive(Serialize)]
struct Told<'a> {
    approval: Uuid,
    by: &'a str,
    from: Autonomy,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<&'a str>,
    to: Autonomy,
}

impl Desk {
    pub async fn track_record(&self, who: &Who, tenant: TenantId, agent: &AgentId) -> Result<Record, DeskError> {
        let known = self.known_agent(who, tenant, agent).await?;
        self.record_of(tenant, &known).await
    }

    /// One step up. The first time it asks for a human's yes; once that is given, asking again carries it out.
    pub async fn promote(
        &self,
        who: &Who,
        tenant: TenantId,
        agent: &AgentId,
        to: Autonomy,
    ) -> Result<Promotion, DeskError> {
        let known = self.known_agent(who, tenant, agent).await?;
        let from = known.agent.autonomy;
        if known.status != AgentStatus::Active {
            return Err(DeskError::Conflict(format!("{agent} is not active")));
        }
        if above(from) != Some(to) {
            let next =
                above(from).map_or("there is no step above it".into(), |next| format!("the next step is {next}"));
            return Err(DeskError::Invalid(format!("to: {agent} is {from}, and {next}")));
        }
        let record = self.record_of(tenant, &known).await?;
        if let Some(missing) = record.next.as_ref().filter(|next| !next.missing.is_empty()) {
            let what = format!("{agent} has not earned {to} yet: {}", missing.missing.join("; "));
            return Err(DeskError::Conflict(what));
        }
        let approval = self.asked_for(tenant, &known, to, &record).await?;
        match approval.status {
            ApprovalStatus::Approved => self.carry_out(who, tenant, &known, to, &approval).await,
            ApprovalStatus::Pending => Ok(Promotion::ApprovalRequired {
                approval_id: approval.asked.id,
                deadline: approval.asked.deadline,
                from,
                to,
            }),
            status => Err(DeskError::Conflict(format!("the promotion of {agent} to {to} was {status}"))),
        }
    }

    /// The row that answers this question, made where there is none.
    async fn asked_for(
        &self,
        tenant: TenantId,
        known: &AgentRecord,
        to: Autonomy,
        record: &Record,
    ) -> Result<ApprovalRecord, DeskError> {
        let (agent, from, now) = (&known.agent.agent_id, known.agent.autonomy, self.clock.now());
        let chain = self.in_force().0;
        let policies = chain.policies().digest.clone();
        let bound = (tenant, agent, "promotion", from, to, &policies, &chain.policies().promotion);
        let unwritable = |error: serde_json::Error| DeskError::Invalid(error.to_string());
        let binding = digest::named(&serde_json_canonicalizer::to_vec(&bound).map_err(unwritable)?);
        let id = self.clock.fresh_id();
        let trace = TraceId::from_uuid(self.clock.fresh_id());
        let message = format!(
            "{agent} is to be promoted from {from} to {to}: {} calls since {}, {} went well, {} were refused",
            record.calls, record.since, record.ok, record.denied
        );
        let new = NewApproval {
            id,
            tenant,
            kind: ApprovalKind::Promotion,
            agent: agent.clone(),
            tool: None,
            binding,
            args_hash: None,
            manifest_hash: None,
            policies_hash: policies,
            classification: CLASS,
            risk_level: None,
            four_eyes: true,
            reasons: vec![Reason::new("promotion", "self_modification", message)],
            policy_ids: Vec::new(),
            shown: serde_json::to_value(record).ok(),
            owner: known.agent.owner_email.clone().or_else(|| known.agent.owner_name.clone()),
            trace: trace.clone(),
            deadline: now.checked_add(DECIDE_WITHIN).unwrap_or(Timestamp::MAX),
        };
        let asked = self.approvals.ask(&new, now).await?;
        if asked.asked.id == id {
            let note = Note {
                agent: agent.clone(),
                trace_id: Some(trace),
                event_type: EventType::Escalation,
                classification: Some(CLASS),
                ..Note::new(Some(tenant), format!("promotion of {agent} from {from} to {to} waits for approval"))
            };
            self.write_down(note, &Told { approval: id, by: "portreeve", from, proof: None, to }).await?;
        }
        Ok(asked)
    }

    /// Proved first, used up second, written down third: what failed before it was written down did not happen.
    async fn carry_out(
        &self,
        who: &Who,
        tenant: TenantId,
        known: &AgentRecord,
        to: Autonomy,
        approval: &ApprovalRecord,
    ) -> Result<Promotion, DeskError> {
        let (agent, from) = (known.agent.agent_id.clone(), known.agent.autonomy);
        let scope = ProofScope { tenant: Some(tenant), mode: None };
        let promoted = |agents: &mut Vec<AgentRecord>| {
            for record in agents.iter_mut().filter(|record| record.agent.agent_id == agent) {
                record.agent.autonomy = to;
            }
        };
        let proved = self.prove_with(who, &scope, promoted).await?;
        if let Some(broken) = &proved.proof.counterexample {
            return Err(DeskError::Conflict(format!("{agent} cannot be promoted while a promise is broken: {broken}")));
        }
        let trace_id = TraceId::from_uuid(self.clock.fresh_id());
        let id = approval.asked.id;
        if !self.approvals.use_up(id, &approval.asked.binding, &trace_id, self.clock.now()).await? {
            return Err(DeskError::Conflict(format!("approval {id} was used or has run out")));
        }
        self.tenants.set_agent_autonomy(tenant, &agent, to).await?;
        let proof = proved.proof.trace_id.as_ref().map(TraceId::as_str);
        let by = who.written();
        // In the agent's own chain, and in that of whoever answers for the gateway.
        for (chain, trace) in [(agent.clone(), Some(trace_id.clone())), (AgentId::operators(), None)] {
            let note = Note {
                agent: chain,
                trace_id: trace,
                event_type: EventType::Approval,
                classification: Some(CLASS),
                ..Note::new(Some(tenant), format!("{agent} promoted from {from} to {to}"))
            };
            self.write_down(note, &Told { approval: id, by: &by, from, proof, to }).await?;
        }
        let (mode, proof) = (AgentMode::of(to), proved.proof.id);
        Ok(Promotion::Promoted { agent, from, to, mode, proof, trace_id })
    }

    async fn known_agent(&self, who: &Who, tenant: TenantId, agent: &AgentId) -> Result<AgentRecord, DeskError> {
        own(who, tenant)?;
        self.tenants.agent(tenant, agent).await.map_err(|error| match error {
            StoreError::NotFound(what) => DeskError::NotFound(what),
            other => other.into(),
        })
    }

    async fn record_of(&self, tenant: TenantId, known: &AgentRecord) -> Result<Record, DeskError> {
        let (agent, autonomy) = (&known.agent.agent_id, known.agent.autonomy);
        let mode = AgentMode::of(autonomy);
        let (chain, live) = self.in_force();
        let rules = &chain.policies().promotion;
        let asks = rules.from.get(&mode).copied();
        let days = asks.map_or(30, |asks| asks.days);
        let window = SignedDuration::from_hours(i64::from(days) * 24);
        let now = self.clock.now();
        let earliest = now.checked_sub(window).unwrap_or(Timestamp::MIN);
        let since = self.last_promotion(tenant, agent).await?.map_or(earliest, |last| last.max(earliest));
        let own = live.rules_of(Some(tenant));
        let mut tiers: BTreeMap<(String, String), Tier> = BTreeMap::new();
        for count in self.history.record_of(tenant, agent, since).await? {
            let name = count.tool.parse::<ToolName>().ok();
            let tool = name.as_ref().and_then(|name| own.tool(name).or_else(|| chain.policies().tool(name)));
            // Talking to the gateway itself earns nothing.
            if tool.is_some_and(|tool| tool.manifest.governs()) {
                continue;
            }
            let level = tool.map_or("unclassified", |tool| tool.manifest.risk_level.as_str());
            let key = (level.to_owned(), count.risk.clone());
            let (risk_level, risk) = key.clone();
            let new = || Tier { risk_level, risk, calls: 0, ok: 0, denied: 0, errors: 0 };
            let tier = tiers.entry(key).or_insert_with(new);
            tier.calls += count.calls;
            tier.ok += count.ok;
            tier.denied += count.denied;
            tier.errors += count.errors;
        }
        let tiers: Vec<_> = tiers.into_values().collect();
        let sum = |of: fn(&Tier) -> i64| tiers.iter().map(of).sum::<i64>();
        let (calls, ok, denied, errors) =
            (sum(|tier| tier.calls), sum(|tier| tier.ok), sum(|tier| tier.denied), sum(|tier| tier.errors));
        let next = above(autonomy).map(|to| {
            let missing = match asks {
                Some(asks) => missing(asks, rules.denials, ok, denied, errors),
                // A mode that nobody wrote a threshold for is not left by counting.
                None => vec![format!("promotion.yaml says nothing of {mode}")],
            };
            Next { to, asks, denials: rules.denials, missing }
        });
        Ok(Record { agent: agent.clone(), autonomy, mode, since, tiers, calls, ok, denied, errors, next })
    }

    /// What an agent did at a lower tier does not count for the one after.
    async fn last_promotion(&self, tenant: TenantId, agent: &AgentId) -> Result<Option<Timestamp>, DeskError> {
        let query = ApprovalQuery {
            tenant: Some(tenant),
            status: Some(ApprovalStatus::Used),
            agent: Some(agent.clone()),
            limit: 1000,
        };
        let used = self.approvals.list(&query).await?;
        let promotions = used.iter().filter(|row| row.asked.kind == ApprovalKind::Promotion);
        Ok(promotions.filter_map(|row| row.used_at).max())
    }
}

fn above(autonomy: Autonomy) -> Option<Autonomy> {
    Autonomy::ALL.iter().copied().find(|other| *other > autonomy)
}

#[expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "counts of calls, never negative")]
fn missing(asks: Earned, denials: f64, ok: i64, denied: i64, errors: i64) -> Vec<String> {
    let mut missing = Vec::new();
    if (ok as u64) < asks.calls {
        missing.push(format!("{ok} of {} calls went well in the last {} days", asks.calls, asks.days));
    }
    let carried_out = ok + errors;
    if carried_out > 0 && (ok as f64) < asks.success * carried_out as f64 {
        missing.push(format!("{ok} of {carried_out} calls succeeded; {} of them must", share(asks.success)));
    }
    let all = carried_out + denied;
    if all > 0 && denied as f64 > denials * all as f64 {
        missing.push(format!("{denied} of {all} calls were refused; at most {} may be", share(denials)));
    }
    missing
}

fn share(of: f64) -> String {
    format!("{:.0} %", of * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // acceptance 112: what a clean record is.
    #[test]
    fn a_step_up_is_earned_by_calls_that_went_well() {
        let asks = Earned { calls: 20, success: 0.95, days: 30 };
        for ((ok, denied, errors), missed) in [
            ((20, 0, 0), 0),
            ((20, 1, 1), 0),
            ((19, 0, 0), 1),
            ((0, 0, 0), 1),
            ((20, 0, 2), 1),
            ((20, 2, 0), 1),
            ((10, 5, 5), 3),
        ] {
            let told = missing(asks, 0.05, ok, denied, errors);
            assert_eq!(told.len(), missed, "{ok} {denied} {errors}: {told:?}");
        }
        assert_eq!(above(Autonomy::A3), Some(Autonomy::A4));
        assert_eq!(above(Autonomy::A5), None);
    }
}
