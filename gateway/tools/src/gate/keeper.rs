//! Runs, from their store and back: what the engine decides in between changes nothing until it is saved whole.
//!
//! Evidence is fetched outside any transaction. Whoever finds that the run moved meanwhile starts over, evidence too,
//! because the stage may be another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gateway_core::evidence::Asking;
use gateway_core::gate::engine::{self, Answer, Call, Recorded, Rules, Submitted};
use gateway_core::gate::evidence::EvidenceContext;
use gateway_core::gate::records::TriggerEvent;
use gateway_core::gate::requests::SubmitRequest;
use gateway_core::gate::{Digest, Head, Id, Refusal, Scenario, Spec, TenantText};
use gateway_core::ports::{
    AskingRun, FoundRun, GateStore, NewScenario, RUN_RACES, ScenarioSource, StoreError, TenantStore,
};
use gateway_core::{AgentId, Principal, TenantId};
use serde::Serialize;

use super::queue::Queues;
use super::{CurrentSettings, GateSettings, Ports, failed, unknown};
use crate::builtin::ToolFailure;

/// Scenarios kept compiled; past this many, all are forgotten.
const COMPILED: usize = 256;
/// So many scenarios a tenant may define.
const SCENARIOS: i64 = 1000;

pub(super) struct Gatekeeper {
    runs: Arc<dyn GateStore>,
    tenants: Arc<dyn TenantStore>,
    settings: CurrentSettings,
    /// By what they say, which is the same for every tenant that says it.
    compiled: Mutex<HashMap<Digest, Arc<Scenario>>>,
    queues: Queues,
}

/// Who calls, once it is known to belong somewhere.
pub(super) struct Caller {
    pub tenant: TenantId,
    pub by: AgentId,
}

impl Gatekeeper {
    pub(super) fn new(ports: Ports) -> Self {
        let Ports { runs, tenants, settings } = ports;
        Self { runs, tenants, settings, compiled: Mutex::default(), queues: Queues::default() }
    }

    pub(super) fn settings(&self) -> Arc<GateSettings> {
        (self.settings)()
    }

    pub(super) fn runs(&self) -> &dyn GateStore {
        &*self.runs
    }

    /// The caller, who must not name another's tenant. A number is another implementation's counting and names nobody.
    pub(super) async fn caller(&self, caller: &Principal, named: Option<&TenantText>) -> Result<Caller, ToolFailure> {
        let Some(tenant) = caller.tenant else {
            return Err(ToolFailure::new("forbidden: the gate needs a caller that belongs to a tenant"));
        };
        if let Some(TenantText::Text(name)) = named {
            let foreign = || ToolFailure::new(format!("not_found: tenant `{name}`"));
            match self.tenants.tenant(name.as_str()).await {
                Ok(found) if found.id == tenant => {}
                Ok(_) | Err(StoreError::NotFound(_)) => return Err(foreign()),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(Caller { tenant, by: caller.agent.clone() })
    }

    pub(super) async fn define(&self, caller: &Caller, spec: Spec) -> Result<Arc<Scenario>, ToolFailure> {
        let settings = self.settings();
        let scenario = Scenario::compile(spec, &settings.evidence).map_err(Refusal::Spec)?;
        let id = scenario.spec().scenario_id.to_string();
        if settings.files.contains_key(&id) {
            return Err(ToolFailure::new(format!("conflict: scenario `{id}` is the operator's; choose another id")));
        }
        self.store_scenario(caller, &scenario, ScenarioSource::Defined).await?;
        Ok(self.remember(scenario))
    }

    async fn store_scenario(
        &self,
        caller: &Caller,
        scenario: &Scenario,
        source: ScenarioSource,
    ) -> Result<(), ToolFailure> {
        let new = NewScenario {
            id: scenario.spec().scenario_id.to_string(),
            hash: *scenario.hash(),
            text: scenario.spec().text(),
            by: caller.by.as_str().into(),
            source,
        };
        self.runs.define(caller.tenant, &new, SCENARIOS).await.map_err(failed)
    }

    /// The scenario that a new run is of. The operator's is stored first, so that its runs keep it when the file changes.
    pub(super) async fn to_start(&self, caller: &Caller, id: &Id) -> Result<Arc<Scenario>, ToolFailure> {
        if let Some(scenario) = self.settings().files.get(id.as_str()) {
            self.store_scenario(caller, scenario, ScenarioSource::File).await?;
            return Ok(Arc::clone(scenario));
        }
        let stored = self.runs.scenario(caller.tenant, id.as_str(), None).await.map_err(failed)?;
        let stored = stored.ok_or_else(|| ToolFailure::new(format!("not_found: scenario `{id}`")))?;
        match self.remembered(&stored.hash) {
            Some(scenario) => Ok(scenario),
            None => self.recompiled(&stored.text),
        }
    }

    /// The scenario that a run is of, as it was when the run started.
    pub(super) async fn scenario_of(&self, caller: &Caller, head: &Head) -> Result<Arc<Scenario>, ToolFailure> {
        if let Some(scenario) = self.remembered(&head.spec_hash) {
            return Ok(scenario);
        }
        let stored = self.runs.scenario(caller.tenant, head.scenario_id.as_str(), Some(&head.spec_hash)).await;
        let stored = stored.map_err(failed)?.ok_or_else(|| unknown(&head.scenario_id, &head.run_id))?;
        self.recompiled(&stored.text)
    }

    fn remembered(&self, hash: &Digest) -> Option<Arc<Scenario>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    fn recompiled(&self, text: &str) -> Result<Arc<Scenario>, ToolFailure> {
        let scenario = Spec::from_text(text).and_then(Scenario::recompile).map_err(Refusal::Spec)?;
        Ok(self.remember(scenario))
    }

    fn remember(&self, scenario: Scenario) -> Arc<Scenario> {
        let scenario = Arc::new(scenario);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if compiled.len() >= COMPILED {
            compiled.clear();
        }
        compiled.insert(*scenario.hash(), Arc::clone(&scenario));
        scenario
    }

    /// The caller's run of this scenario. Another's is not there.
    pub(super) async fn found(
        &self,
        caller: &Caller,
        scenario: &Id,
        run: &Id,
        trigger: Option<&Id>,
    ) -> Result<FoundRun, ToolFailure> {
        let found = self.runs.run(caller.tenant, run.as_str(), trigger.map(Id::as_str)).await.map_err(failed)?;
        found.filter(|found| found.head.scenario_id == *scenario).ok_or_else(|| unknown(scenario, run))
    }

    /// One step. What is known already, and whatever comes after the run is over, is answered without one.
    pub(super) async fn advance<R: Serialize + Sync>(
        &self,
        caller: &Caller,
        scenario_id: &Id,
        event: &TriggerEvent,
        call: &Call<'_, R>,
    ) -> Result<Answer, ToolFailure> {
        let _turn = self.queues.turn(caller.tenant, &event.run_id).await;
        for _ in 0..RUN_RACES {
            let found = self.found(caller, scenario_id, &event.run_id, Some(&event.trigger_id)).await?;
            if let Some(answer) = engine::answered(&found.head, found.known, &found.last_packets) {
                return Ok(answer);
            }
            let (head, version) = (found.head, found.version);
            let scenario = self.scenario_of(caller, &head).await?;
            let settings = self.settings();
            let wanted = engine::wanted(&scenario, &head, event)?;
            let context = context(&head, event);
            // Whoever started the run is whom its evidence is about; who triggers it may be a scheduler.
            let by = found.by.parse().unwrap_or_else(|_| caller.by.clone());
            let run = Some(AskingRun { spec_hash: head.spec_hash, entered_by: head.entered_by });
            let asking = Asking { tenant: caller.tenant, by: &by, context: &context, run };
            let evidence = settings.evidence.collect(&wanted, asking).await?;
            let rules = Rules { dispatch: &settings.dispatch, anchors: settings.evidence.anchors() };
            let step = engine::advance(&scenario, &head, event.clone(), evidence, rules)?.with_call(call)?;
            let saved = self.runs.append(caller.tenant, event.run_id.as_str(), version, &step.head, &step.entries);
            if saved.await.map_err(failed)? {
                return Ok(step.answer);
            }
        }
        Err(too_fast(&event.run_id))
    }

    pub(super) async fn submit(
        &self,
        caller: &Caller,
        scenario_id: &Id,
        request: &SubmitRequest,
    ) -> Result<Recorded, ToolFailure> {
        let (run, at, correlation_id) = (&request.run_id, request.submitted_at, request.correlation_id.clone());
        let call = Call { method: "scenario.submit", request, at, correlation_id };
        let _turn = self.queues.turn(caller.tenant, run).await;
        for _ in 0..RUN_RACES {
            let found = self.found(caller, scenario_id, run, None).await?;
            let existing = self.runs.submission(caller.tenant, run.as_str(), request.submission_id.as_str()).await;
            let step = match engine::submit(&found.head, request, existing.map_err(failed)?.as_ref())? {
                Submitted::Again(recorded) => return Ok(recorded),
                Submitted::New(step) => step.with_call(&call)?,
            };
            let saved = self.runs.append(caller.tenant, run.as_str(), found.version, &step.head, &step.entries);
            if saved.await.map_err(failed)? {
                return Ok(step.answer);
            }
        }
        Err(too_fast(run))
    }
}

fn context(head: &Head, event: &TriggerEvent) -> EvidenceContext {
    EvidenceContext {
        tenant_id: head.tenant_id.clone(),
        run_id: head.run_id.clone(),
        scenario_id: head.scenario_id.clone(),
        stage_id: head.current_stage_id.clone(),
        trigger_id: event.trigger_id.clone(),
        trigger_time: event.time,
        correlation_id: event.correlation_id.clone(),
    }
}

fn too_fast(run: &Id) -> ToolFailure {
    Refusal::Conflict(format!("run `{run}` changes too fast: nothing was done, try again")).into()
}
