//! What the Decision Gate needs of the world: somewhere to keep runs, somebody to ask for evidence, somewhere to put packs.

use async_trait::async_trait;

use super::StoreError;
use crate::gate::contracts::CheckContract;
use crate::gate::engine::{self, Known};
use crate::gate::evidence::{EvidenceContext, EvidenceResult};
use crate::gate::records::{CallError, Entry, Packet, Submission};
use crate::gate::runpack::Pack;
use crate::gate::shelf::ShelfError;
use crate::gate::spec::EvidenceQuery;
use crate::gate::verify::Report;
use crate::gate::{Correlation, Digest, GateTime, Head, Logs, RunStatus};
use crate::names::{AgentId, TenantId};

/// Where a scenario comes from. Those of files are the operator's, and may change while runs of the old one go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScenarioSource {
    Defined,
    File,
}

impl ScenarioSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Defined => "defined",
            Self::File => "file",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewScenario {
    pub id: String,
    pub hash: Digest,
    /// The spec as [`crate::gate::Spec::text`] writes it.
    pub text: String,
    pub by: String,
    pub source: ScenarioSource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredScenario {
    pub hash: Digest,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioLine {
    pub id: String,
    pub hash: String,
    pub source: String,
    pub defined_by: String,
    pub defined_at: String,
}

/// A run as the next step finds it.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRun {
    pub head: Head,
    pub version: i64,
    pub by: String,
    /// What the trigger that was asked about was answered with.
    pub known: Option<Known>,
    pub last_packets: Vec<Packet>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunQuery {
    pub tenant: TenantId,
    pub scenario: Option<String>,
    pub status: Option<RunStatus>,
    pub limit: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    pub run_id: String,
    pub scenario_id: String,
    pub spec_hash: String,
    pub status: String,
    pub stage_id: String,
    pub version: i64,
    pub started_by: String,
    pub started_at: String,
    pub changed_at: String,
}

/// A call that went through the gateway under a run.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    pub method: String,
    pub request_hash: Digest,
    pub response_hash: Digest,
    pub called_at: GateTime,
    pub correlation_id: Option<Correlation>,
    pub error: Option<CallError>,
}

/// How often somebody else may be faster before it is given up.
pub const RUN_RACES: usize = 64;

/// Scenarios and runs. Everything is found by its tenant: what is another's is not there.
#[async_trait]
pub trait GateStore: Send + Sync {
    /// A second `Defined` of the same id exists already, whatever it says; a file's is the same as long as its hash is.
    /// `most`: so many a tenant may have.
    async fn define(&self, tenant: TenantId, new: &NewScenario, most: i64) -> Result<(), StoreError>;
    /// By its hash; without one, the one that was defined.
    async fn scenario(
        &self,
        tenant: TenantId,
        id: &str,
        hash: Option<&Digest>,
    ) -> Result<Option<StoredScenario>, StoreError>;
    async fn scenarios(&self, tenant: TenantId, limit: i64) -> Result<Vec<ScenarioLine>, StoreError>;

    async fn begin(&self, tenant: TenantId, head: &Head, entries: &[Entry], by: &AgentId) -> Result<(), StoreError>;
    /// All of it as it was at one moment.
    async fn run(&self, tenant: TenantId, run: &str, trigger: Option<&str>) -> Result<Option<FoundRun>, StoreError>;
    async fn submission(&self, tenant: TenantId, run: &str, id: &str) -> Result<Option<Submission>, StoreError>;
    /// False if the run is no longer at `version`: somebody was faster, and nothing is stored.
    async fn append(
        &self,
        tenant: TenantId,
        run: &str,
        version: i64,
        head: &Head,
        entries: &[Entry],
    ) -> Result<bool, StoreError>;
    /// Head and logs that belong together, whatever is added meanwhile.
    async fn logs(&self, tenant: TenantId, run: &str) -> Result<Option<(Head, Logs)>, StoreError>;
    /// The newest first.
    async fn runs(&self, query: &RunQuery) -> Result<Vec<RunLine>, StoreError>;

    /// Takes a directory of packs for a tenant. False if it is another's.
    async fn shelve(&self, tenant: TenantId, directory: &str) -> Result<bool, StoreError>;
    async fn shelved_by(&self, directory: &str) -> Result<Option<TenantId>, StoreError>;

    /// One more line of the run's transcript, whatever its status is. Says which.
    async fn note(&self, tenant: TenantId, run: &str, call: &NewCall) -> Result<String, StoreError> {
        for _ in 0..RUN_RACES {
            let Some(mut found) = self.run(tenant, run, None).await? else {
                return Err(StoreError::NotFound(format!("run `{run}`")));
            };
            let hashes = (call.request_hash, call.response_hash);
            let (at, correlation, error) = (call.called_at, call.correlation_id.clone(), call.error.clone());
            let entry = engine::noted(&mut found.head, &call.method, hashes, at, correlation, error)
                .map_err(|refusal| StoreError::Invalid(refusal.to_string()))?;
            let id = format!("call-{}", found.head.counts.tool_calls.entries);
            if self.append(tenant, run, found.version, &found.head, &[entry]).await? {
                return Ok(id);
            }
        }
        Err(StoreError::Invalid(format!("run `{run}` changes too fast")))
    }
}

/// What is asked of a provider, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceAsked<'a> {
    pub tenant: TenantId,
    pub by: &'a AgentId,
    pub query: &'a EvidenceQuery,
    pub context: &'a EvidenceContext,
    /// The run that asks; none for a look without one, which must change nothing.
    pub run: Option<AskingRun>,
}

#[derive(Debug, Clone, Copy)]
pub struct AskingRun {
    pub spec_hash: Digest,
    /// The decision that entered the stage.
    pub entered_by: Option<u64>,
}

/// Never fails a call: what goes wrong is the result's own error.
#[async_trait]
pub trait EvidenceProvider: Send + Sync {
    fn checks(&self) -> &[CheckContract];
    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult;
}

/// Directories of packs. All keep below the roots they were given, and follow no link.
#[async_trait]
pub trait RunpackShelves: Send + Sync {
    /// What a directory for a pack is canonically called, there or not. Makes nothing.
    async fn place(&self, directory: &str) -> Result<String, ShelfError>;
    /// A directory that is there, as it is canonically called.
    async fn find(&self, directory: &str) -> Result<String, ShelfError>;
    /// Whole or not at all: the manifest is written last. `directory` is a canonical one, and made if need be; one that
    /// holds other directories is refused, because whatever lies in them would be part of the pack.
    async fn write(&self, directory: &str, manifest: &str, pack: &Pack) -> Result<(), ShelfError>;
    /// Checks the pack that lies there. `directory` is a canonical one.
    async fn verify(&self, directory: &str, manifest: &str) -> Result<Report, ShelfError>;
}
