//! A run with all it has written, in memory: what `scenario_start` answers with, and the whole life of a run where there
//! is no store, as in tests and packs.

use serde::Serialize;
use serde_json::{Value, json};

use super::engine::{self, Answer, Call, Known, Recorded, Rules, Step, Submitted};
use super::evidence::EvidenceResult;
use super::records::{Entry, Packet, TriggerEvent};
use super::requests::{NextRequest, SubmitRequest};
use super::run::{Head, Logs, RunConfig};
use super::spec::Predicate;
use super::{GateTime, Id, Refusal, Scenario};

#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    pub head: Head,
    pub logs: Logs,
}

impl RunState {
    pub fn new(head: Head, entries: Vec<Entry>) -> Self {
        let mut logs = Logs::default();
        logs.extend(entries);
        Self { head, logs }
    }

    pub fn start(
        scenario: &Scenario,
        config: RunConfig,
        at: GateTime,
        issue: bool,
        rules: Rules<'_>,
    ) -> Result<Self, Refusal> {
        let (head, entries) = engine::start(scenario, config, at, issue, rules)?;
        Ok(Self::new(head, entries))
    }

    /// The thirteen fields that a start answers with.
    pub fn output(&self) -> Value {
        let (head, logs) = (&self.head, &self.logs);
        json!({
            "tenant_id": head.tenant_id,
            "run_id": head.run_id,
            "scenario_id": head.scenario_id,
            "spec_hash": head.spec_hash,
            "current_stage_id": head.current_stage_id,
            "status": head.status,
            "dispatch_targets": head.dispatch_targets,
            "triggers": logs.triggers,
            "gate_evals": logs.gate_evals,
            "decisions": logs.decisions,
            "packets": logs.packets,
            "submissions": logs.submissions,
            "tool_calls": logs.tool_calls,
        })
    }

    pub fn next(
        &mut self,
        scenario: &Scenario,
        request: &NextRequest,
        collect: impl FnOnce(&[&Predicate]) -> Vec<EvidenceResult>,
        rules: Rules<'_>,
    ) -> Result<Answer, Refusal> {
        self.step(scenario, request.event(), "scenario.next", request, collect, rules)
    }

    pub fn trigger(
        &mut self,
        scenario: &Scenario,
        event: &TriggerEvent,
        collect: impl FnOnce(&[&Predicate]) -> Vec<EvidenceResult>,
        rules: Rules<'_>,
    ) -> Result<Answer, Refusal> {
        self.step(scenario, event.clone(), "scenario.trigger", event, collect, rules)
    }

    fn step(
        &mut self,
        scenario: &Scenario,
        event: TriggerEvent,
        method: &str,
        request: &impl Serialize,
        collect: impl FnOnce(&[&Predicate]) -> Vec<EvidenceResult>,
        rules: Rules<'_>,
    ) -> Result<Answer, Refusal> {
        if let Some(answer) = engine::answered(&self.head, self.known(&event.trigger_id), &self.last_packets()) {
            return Ok(answer);
        }
        let evidence = collect(&engine::wanted(scenario, &self.head, &event)?);
        let call = Call { method, request, at: event.time, correlation_id: event.correlation_id.clone() };
        let step = engine::advance(scenario, &self.head, event, evidence, rules)?.with_call(&call)?;
        Ok(self.take(step))
    }

    pub fn submit(&mut self, request: &SubmitRequest) -> Result<Recorded, Refusal> {
        let existing = self.logs.submissions.iter().find(|one| one.submission_id == request.submission_id);
        match engine::submit(&self.head, request, existing)? {
            Submitted::Again(recorded) => Ok(recorded),
            Submitted::New(step) => {
                let (at, correlation_id) = (request.submitted_at, request.correlation_id.clone());
                let step = step.with_call(&Call { method: "scenario.submit", request, at, correlation_id })?;
                Ok(self.take(step))
            }
        }
    }

    fn take<A>(&mut self, step: Step<A>) -> A {
        self.head = step.head;
        self.logs.extend(step.entries);
        step.answer
    }

    fn known(&self, trigger: &Id) -> Option<Known> {
        // The run's own trigger is nobody's to repeat.
        let decision =
            self.logs.decisions.iter().find(|one| one.trigger_id == *trigger && trigger.as_str() != "init")?;
        let packets = self.packets_of(&decision.decision_id);
        Some(Known { decision: decision.clone(), packets })
    }

    fn last_packets(&self) -> Vec<Packet> {
        self.head.last_decision.as_ref().map(|last| self.packets_of(&last.decision_id)).unwrap_or_default()
    }

    fn packets_of(&self, decision: &Id) -> Vec<Packet> {
        self.logs.packets.iter().filter(|packet| packet.decision_id == *decision).cloned().collect()
    }
}
