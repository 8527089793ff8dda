//! One step of a run, as a function: what was, what came, what is now and what was written about it.
//!
//! A call that is refused here has changed nothing, because nothing is changed here: the caller stores a [`Step`] or
//! does not.

mod draft;
mod issuing;
mod judging;
mod submitting;

use serde::Serialize;

use draft::{Draft, Ended, own};
pub use submitting::{Call, Recorded, Submitted, noted, submit};

use super::dispatch::DispatchRules;
use super::evidence::EvidenceResult;
use super::policies::AnchorRules;
use super::records::{Decision, Entry, Outcome, Packet, Summary, TriggerEvent, TriggerKind};
use super::route::{self, Road};
use super::run::{Counts, Head, RunConfig, RunStatus};
use super::scenario::{CompiledStage, Scenario};
use super::spec::{OnTimeout, Predicate, Stage};
use super::{GateTime, Id, Refusal, Tri};

/// What was changed, and what the caller is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<A> {
    pub head: Head,
    pub entries: Vec<Entry>,
    pub answer: A,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    pub decision: Decision,
    pub packets: Vec<Packet>,
    pub status: RunStatus,
}

/// What a trigger was answered with before.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    pub decision: Decision,
    pub packets: Vec<Packet>,
}

#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub dispatch: &'a DispatchRules,
    pub anchors: &'a AnchorRules,
}

/// The trigger that a run writes itself.
pub(super) const INIT: &str = "init";

/// A new run. With `issue`, its first stage's packets are handed out, and the logs say so; without, they are empty.
pub fn start(
    scenario: &Scenario,
    config: RunConfig,
    at: GateTime,
    issue: bool,
    rules: Rules<'_>,
) -> Result<(Head, Vec<Entry>), Refusal> {
    if config.scenario_id != scenario.spec().scenario_id {
        let words = format!("run_config.scenario_id `{}` is not the scenario that is started", config.scenario_id);
        return Err(Refusal::Invalid(words));
    }
    let first = scenario.first().ok_or_else(|| Refusal::Invalid("the scenario has no stages".into()))?;
    let mut head = Head {
        tenant_id: config.tenant_id,
        run_id: config.run_id,
        scenario_id: config.scenario_id,
        spec_hash: *scenario.hash(),
        current_stage_id: first.stage_id.clone(),
        stage_entered_at: at,
        entered_by: None,
        status: RunStatus::Active,
        dispatch_targets: config.dispatch_targets,
        counts: Counts::default(),
        last_decision: None,
        issued_packet_ids: Vec::new(),
    };
    if !issue {
        return Ok((head, Vec::new()));
    }
    let event = TriggerEvent {
        trigger_id: own(INIT)?,
        run_id: head.run_id.clone(),
        kind: TriggerKind::ExternalEvent,
        time: at,
        source_id: own("system")?,
        payload_ref: None,
        correlation_id: None,
    };
    let draft = Draft::new(&mut head, event)?;
    let decision = draft.decision(Outcome::Start { stage_id: first.stage_id.clone() })?;
    let packets = issuing::packets(scenario, &first.stage_id, &decision, draft.head, rules.dispatch)?
        .map_err(|denied| Refusal::PolicyDenied(denied.to_string()))?;
    draft.head.entered_by = Some(decision.seq);
    let entries = draft.close(decision, packets)?.into_entries();
    Ok((head, entries))
}

/// What to answer without a step: a trigger that is known, or any on a run that is over. `last_packets` are those of the
/// run's last decision.
pub fn answered(head: &Head, known: Option<Known>, last_packets: &[Packet]) -> Option<Answer> {
    if let Some(Known { decision, packets }) = known {
        return Some(Answer { decision, packets, status: head.status });
    }
    if head.is_active() {
        return None;
    }
    let decision = head.last_decision.clone()?;
    Some(Answer { decision, packets: last_packets.to_vec(), status: head.status })
}

/// Whose evidence the step will need, each predicate once. None when a tick finds the stage out of time.
pub fn wanted<'s>(scenario: &'s Scenario, head: &Head, trigger: &TriggerEvent) -> Result<Vec<&'s Predicate>, Refusal> {
    let (stage, compiled) = stage_of(scenario, head)?;
    if is_overdue(stage, head, trigger)? {
        return Ok(Vec::new());
    }
    Ok(scenario.wanted(compiled).collect())
}

/// `evidence` is that of [`wanted`], in its order, as trusted. What is missing counts as unknown.
pub fn advance(
    scenario: &Scenario,
    head: &Head,
    trigger: TriggerEvent,
    evidence: Vec<EvidenceResult>,
    rules: Rules<'_>,
) -> Result<Step<Answer>, Refusal> {
    if trigger.trigger_id.as_str() == INIT {
        return Err(Refusal::ReservedTrigger);
    }
    if !head.is_active() {
        return Err(Refusal::Over);
    }
    let (stage, compiled) = stage_of(scenario, head)?;
    let overdue = is_overdue(stage, head, &trigger)?;
    let mut head = head.clone();
    let mut draft = Draft::new(&mut head, trigger)?;
    let (road, unmet) = if overdue {
        let as_if = match stage.on_timeout {
            OnTimeout::Fail => {
                let answer = draft.end(Outcome::Fail { reason: "timeout".into() }, RunStatus::Failed)?;
                return Ok(answer.into_step(head));
            }
            OnTimeout::AdvanceWithFlag => Tri::True,
            OnTimeout::AlternateBranch => Tri::Unknown,
        };
        (route::overdue(&compiled.way, stage.gates.len(), as_if), gate_ids(stage, |_| true))
    } else {
        let judged = judging::judge(scenario, stage, compiled, evidence, &draft.event, rules.anchors)?;
        let said: Vec<Tri> = judged.iter().map(|eval| eval.evaluation.status).collect();
        for eval in judged {
            draft.write(Entry::GateEval(eval))?;
        }
        (route::road(&compiled.way, &said), gate_ids(stage, |at| said.get(at) != Some(&Tri::True)))
    };
    let ended = match road {
        Road::Nowhere => return Err(Refusal::NoBranch(stage.stage_id.to_string())),
        Road::Hold => draft.end(Outcome::Hold { summary: Summary::hold(unmet) }, RunStatus::Active)?,
        Road::Complete => draft.end(Outcome::Complete { stage_id: stage.stage_id.clone() }, RunStatus::Completed)?,
        Road::To(next) => enter(scenario, next, stage, overdue, draft, rules)?,
    };
    Ok(ended.into_step(head))
}

/// Into the next stage, with its packets; or nowhere, if one of them may not be handed out.
fn enter(
    scenario: &Scenario,
    next: usize,
    from: &Stage,
    timeout: bool,
    draft: Draft<'_>,
    rules: Rules<'_>,
) -> Result<Ended, Refusal> {
    let Some((next, _)) = scenario.stage_at(next) else {
        return Err(Refusal::NoBranch(from.stage_id.to_string()));
    };
    let (from_stage, to_stage) = (from.stage_id.clone(), next.stage_id.clone());
    let decision = draft.decision(Outcome::Advance { from_stage, to_stage: to_stage.clone(), timeout })?;
    match issuing::packets(scenario, &to_stage, &decision, draft.head, rules.dispatch)? {
        Ok(packets) => {
            draft.head.current_stage_id = to_stage;
            draft.head.stage_entered_at = decision.decided_at;
            draft.head.entered_by = Some(decision.seq);
            draft.close(decision, packets)
        }
        Err(_denied) => draft.end(Outcome::Fail { reason: "policy denied disclosure".into() }, RunStatus::Failed),
    }
}

fn stage_of<'s>(scenario: &'s Scenario, head: &Head) -> Result<(&'s Stage, &'s CompiledStage), Refusal> {
    let words = || format!("the run is at `{}`, which its scenario does not have", head.current_stage_id);
    scenario.stage(&head.current_stage_id).ok_or_else(|| Refusal::Invalid(words()))
}

/// Only a tick can find that time is up.
fn is_overdue(stage: &Stage, head: &Head, trigger: &TriggerEvent) -> Result<bool, Refusal> {
    match &stage.timeout {
        Some(timeout) if trigger.kind == TriggerKind::Tick => {
            trigger.time.is_due(head.stage_entered_at, timeout.timeout_ms).ok_or(Refusal::TimeKinds)
        }
        _ => Ok(false),
    }
}

fn gate_ids(stage: &Stage, unmet: impl Fn(usize) -> bool) -> Vec<Id> {
    stage.gates.iter().enumerate().filter(|(at, _)| unmet(*at)).map(|(_, gate)| gate.gate_id.clone()).collect()
}
