//! The rows that take effect while the gateway runs, and what is stopped.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::policies::{AccessRow, AgentPolicyRow, DlpRow, ManifestRow};
use super::{StoreError, Tenant};
use crate::definitions::Finding;
use crate::live::{Suspension, SuspensionKind};
use crate::names::{TenantId, ToolName};

/// Everything that is live, as of one revision.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveRows {
    pub revision: i64,
    pub tenants: Vec<Tenant>,
    /// Active ones, of all tenants.
    pub agent_policies: Vec<AgentPolicyRow>,
    pub access_policies: Vec<AccessRow>,
    pub manifests: Vec<ManifestRow>,
    pub dlp: Vec<DlpRow>,
    pub pins: Vec<PinRow>,
    /// Those that are not lifted.
    pub suspensions: Vec<Suspension>,
}

#[async_trait]
pub trait LiveStore: Send + Sync {
    async fn revision(&self) -> Result<i64, StoreError>;
    /// One read snapshot.
    async fn rows(&self) -> Result<LiveRows, StoreError>;
    /// Returns early where the store can say that something changed. Only a hint: the revision is the truth.
    async fn wait_changed(&self, at_most: Duration);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinState {
    Accepted,
    Quarantined,
}

impl PinState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Quarantined => "quarantined",
        }
    }
}

/// One definition of a tool that was accepted or held back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinRow {
    pub tool: ToolName,
    /// `sha256:…` of the canonical form.
    pub hash: String,
    pub state: PinState,
    pub definition: Value,
    pub findings: Vec<Finding>,
    /// The node that saw it.
    pub seen_from: Option<String>,
    pub by: Option<String>,
    pub at: String,
}

/// A definition that was seen for the first time, or again after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct PinNews {
    pub tool: ToolName,
    pub hash: String,
    pub state: PinState,
    pub definition: Value,
    pub findings: Vec<Finding>,
    pub by: String,
    /// What changed, as JSON pointers: for the trace, which holds no texts.
    pub changes: Vec<String>,
    /// The accepted hash that it differs from.
    pub accepted: Option<String>,
}

#[async_trait]
pub trait PinStore: Send + Sync {
    async fn pins(&self) -> Result<Vec<PinRow>, StoreError>;
    /// Into a queue; never waits. The first to insert a (tool, hash) also writes the trace.
    fn note(&self, news: PinNews);
    /// Accepts this definition; `also` keeps the ones accepted before.
    async fn accept(
        &self,
        tool: &ToolName,
        hash: &str,
        definition: &Value,
        by: &str,
        also: bool,
    ) -> Result<(), StoreError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSuspension {
    pub id: Uuid,
    pub tenant: Option<TenantId>,
    pub kind: SuspensionKind,
    pub subject: String,
    pub reason: Option<String>,
    pub by: String,
}

/// Who and what is stopped, as rows.
#[async_trait]
pub trait Standing: Send + Sync {
    /// The id of the row; of the one that stands already where the same thing is stopped twice.
    async fn suspend(&self, new: &NewSuspension) -> Result<Uuid, StoreError>;
    async fn lift(&self, id: Uuid, by: &str) -> Result<Suspension, StoreError>;
    /// Those that are not lifted: one tenant's, or all.
    async fn suspensions(&self, tenant: Option<TenantId>) -> Result<Vec<Suspension>, StoreError>;
}
