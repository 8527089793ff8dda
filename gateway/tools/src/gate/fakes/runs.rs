//! Scenarios and runs in memory, with versions like the real ones.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use gateway_core::gate::engine::Known;
use gateway_core::gate::records::{Entry, Packet, Submission};
use gateway_core::gate::{Digest, Head, Id, Logs, RunState};
use gateway_core::ports::{
    FoundRun, GateStore, NewScenario, RunLine, RunQuery, ScenarioLine, ScenarioSource, StoreError, StoredScenario,
};
use gateway_core::{AgentId, TenantId};

struct Kept {
    state: RunState,
    version: i64,
    by: String,
}

type Scenarios = BTreeMap<(TenantId, String), (StoredScenario, ScenarioSource)>;

#[derive(Default)]
pub(in crate::gate) struct Runs {
    scenarios: Mutex<Scenarios>,
    kept: Mutex<BTreeMap<(TenantId, String), Kept>>,
    shelved: Mutex<BTreeMap<String, TenantId>>,
    /// So many appends lose their race before one is let through.
    lost: AtomicUsize,
}

impl Runs {
    pub(in crate::gate) fn lose(&self, races: usize) {
        self.lost.store(races, Ordering::SeqCst);
    }

    pub(in crate::gate) fn version(&self, tenant: TenantId, run: &str) -> i64 {
        self.kept.lock().unwrap()[&(tenant, run.to_owned())].version
    }
}

fn packets_of(logs: &Logs, decision: &Id) -> Vec<Packet> {
    logs.packets.iter().filter(|packet| packet.decision_id == *decision).cloned().collect()
}

#[async_trait]
impl GateStore for Runs {
    async fn define(&self, tenant: TenantId, new: &NewScenario, _: i64) -> Result<(), StoreError> {
        let mut scenarios = self.scenarios.lock().unwrap();
        let key = (tenant, new.id.clone());
        if new.source == ScenarioSource::Defined && scenarios.contains_key(&key) {
            return Err(StoreError::Exists(format!("scenario `{}`", new.id)));
        }
        scenarios.insert(key, (StoredScenario { hash: new.hash, text: new.text.clone() }, new.source));
        Ok(())
    }

    async fn scenario(
        &self,
        tenant: TenantId,
        id: &str,
        hash: Option<&Digest>,
    ) -> Result<Option<StoredScenario>, StoreError> {
        let scenarios = self.scenarios.lock().unwrap();
        let found = scenarios.get(&(tenant, id.to_owned()));
        Ok(found.map(|(stored, _)| stored.clone()).filter(|stored| hash.is_none_or(|hash| *hash == stored.hash)))
    }

    async fn scenarios(&self, _: TenantId, _: i64) -> Result<Vec<ScenarioLine>, StoreError> {
        Ok(Vec::new())
    }

    async fn begin(&self, tenant: TenantId, head: &Head, entries: &[Entry], by: &AgentId) -> Result<(), StoreError> {
        let mut kept = self.kept.lock().unwrap();
        let key = (tenant, head.run_id.to_string());
        if kept.contains_key(&key) {
            return Err(StoreError::Exists(format!("run `{}`", head.run_id)));
        }
        let state = RunState::new(head.clone(), entries.to_vec());
        kept.insert(key, Kept { state, version: 1, by: by.to_string() });
        Ok(())
    }

    async fn run(&self, tenant: TenantId, run: &str, trigger: Option<&str>) -> Result<Option<FoundRun>, StoreError> {
        let kept = self.kept.lock().unwrap();
        let Some(Kept { state, version, by }) = kept.get(&(tenant, run.to_owned())) else {
            return Ok(None);
        };
        let logs = &state.logs;
        let known = logs.decisions.iter().find(|decision| Some(decision.trigger_id.as_str()) == trigger);
        let known = known
            .map(|decision| Known { decision: decision.clone(), packets: packets_of(logs, &decision.decision_id) });
        let last = state.head.last_decision.as_ref();
        let last_packets = last.map(|last| packets_of(logs, &last.decision_id)).unwrap_or_default();
        Ok(Some(FoundRun { head: state.head.clone(), version: *version, by: by.clone(), known, last_packets }))
    }

    async fn submission(&self, tenant: TenantId, run: &str, id: &str) -> Result<Option<Submission>, StoreError> {
        let kept = self.kept.lock().unwrap();
        let run = kept.get(&(tenant, run.to_owned()));
        let submissions = run.map(|run| run.state.logs.submissions.iter());
        Ok(submissions.into_iter().flatten().find(|one| one.submission_id.as_str() == id).cloned())
    }

    async fn append(
        &self,
        tenant: TenantId,
        run: &str,
        version: i64,
        head: &Head,
        entries: &[Entry],
    ) -> Result<bool, StoreError> {
        let lost = self.lost.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let mut kept = self.kept.lock().unwrap();
        let run = kept.get_mut(&(tenant, run.to_owned())).ok_or_else(|| StoreError::NotFound(run.into()))?;
        if lost.is_ok() || run.version != version {
            return Ok(false);
        }
        run.version += 1;
        run.state.head = head.clone();
        run.state.logs.extend(entries.to_vec());
        Ok(true)
    }

    async fn logs(&self, tenant: TenantId, run: &str) -> Result<Option<(Head, Logs)>, StoreError> {
        let kept = self.kept.lock().unwrap();
        Ok(kept.get(&(tenant, run.to_owned())).map(|run| (run.state.head.clone(), run.state.logs.clone())))
    }

    async fn runs(&self, _: &RunQuery) -> Result<Vec<RunLine>, StoreError> {
        Ok(Vec::new())
    }

    async fn shelve(&self, tenant: TenantId, directory: &str) -> Result<bool, StoreError> {
        Ok(*self.shelved.lock().unwrap().entry(directory.into()).or_insert(tenant) == tenant)
    }

    async fn shelved_by(&self, directory: &str) -> Result<Option<TenantId>, StoreError> {
        Ok(self.shelved.lock().unwrap().get(directory).copied())
    }
}
