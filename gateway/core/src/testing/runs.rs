//! Runs in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::gate::records::{Entry, Submission};
use crate::gate::{Digest, Head, Logs, RunStatus};
use crate::names::{AgentId, TenantId};
use crate::ports::{FoundRun, GateStore, NewScenario, RunLine, RunQuery, ScenarioLine, StoreError, StoredScenario};

#[derive(Default)]
pub struct Runs {
    /// By tenant and name; the greatest name is the newest.
    pub heads: Mutex<BTreeMap<(TenantId, String), (Head, i64)>>,
    pub entries: Mutex<Vec<(String, Entry)>>,
    /// Nobody answers.
    pub away: Mutex<bool>,
}

impl Runs {
    pub fn put(&self, tenant: TenantId, head: Head) {
        self.heads.lock().unwrap().insert((tenant, head.run_id.to_string()), (head, 1));
    }

    fn there(&self) -> Result<(), StoreError> {
        if *self.away.lock().unwrap() { Err(StoreError::Unavailable("away".into())) } else { Ok(()) }
    }
}

#[async_trait]
impl GateStore for Runs {
    async fn define(&self, _: TenantId, _: &NewScenario, _: i64) -> Result<(), StoreError> {
        Ok(())
    }

    async fn scenario(&self, _: TenantId, _: &str, _: Option<&Digest>) -> Result<Option<StoredScenario>, StoreError> {
        Ok(None)
    }

    async fn scenarios(&self, _: TenantId, _: i64) -> Result<Vec<ScenarioLine>, StoreError> {
        Ok(Vec::new())
    }

    async fn begin(&self, tenant: TenantId, head: &Head, _: &[Entry], _: &AgentId) -> Result<(), StoreError> {
        self.put(tenant, head.clone());
        Ok(())
    }

    async fn run(&self, tenant: TenantId, run: &str, _: Option<&str>) -> Result<Option<FoundRun>, StoreError> {
        self.there()?;
        let heads = self.heads.lock().unwrap();
        let found = heads.get(&(tenant, run.to_owned())).cloned();
        Ok(found.map(|(head, version)| FoundRun {
            head,
            version,
            by: "a".into(),
            known: None,
            last_packets: Vec::new(),
        }))
    }

    async fn submission(&self, _: TenantId, _: &str, _: &str) -> Result<Option<Submission>, StoreError> {
        Ok(None)
    }

    async fn append(
        &self,
        tenant: TenantId,
        run: &str,
        version: i64,
        head: &Head,
        entries: &[Entry],
    ) -> Result<bool, StoreError> {
        self.there()?;
        let mut heads = self.heads.lock().unwrap();
        let Some(kept) = heads.get_mut(&(tenant, run.to_owned())).filter(|(_, now)| *now == version) else {
            return Ok(false);
        };
        *kept = (head.clone(), version + 1);
        self.entries.lock().unwrap().extend(entries.iter().map(|entry| (run.to_owned(), entry.clone())));
        Ok(true)
    }

    async fn logs(&self, _: TenantId, _: &str) -> Result<Option<(Head, Logs)>, StoreError> {
        Ok(None)
    }

    async fn runs(&self, query: &RunQuery) -> Result<Vec<RunLine>, StoreError> {
        self.there()?;
        let heads = self.heads.lock().unwrap();
        let wanted = |(tenant, head): &(TenantId, &Head)| {
            *tenant == query.tenant
                && query.scenario.as_ref().is_none_or(|scenario| head.scenario_id.as_str() == scenario)
                && query.status.is_none_or(|status: RunStatus| head.status == status)
        };
        let lines = heads.iter().rev().map(|((tenant, _), (head, _))| (*tenant, head)).filter(wanted);
        Ok(lines.map(|(_, head)| line(head)).collect())
    }

    async fn shelve(&self, _: TenantId, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn shelved_by(&self, _: &str) -> Result<Option<TenantId>, StoreError> {
        Ok(None)
    }
}

fn line(head: &Head) -> RunLine {
    RunLine {
        run_id: head.run_id.to_string(),
        scenario_id: head.scenario_id.to_string(),
        spec_hash: head.spec_hash.hex(),
        status: head.status.as_str().into(),
        stage_id: head.current_stage_id.to_string(),
        version: 1,
        started_by: "a".into(),
        started_at: String::new(),
        changed_at: String::new(),
    }
}
