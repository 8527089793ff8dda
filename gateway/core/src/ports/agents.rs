//! Where tool agents, their runs and what those made are kept, and who runs them.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::StoreError;
use crate::agents::{Deliverable, NewDeliverable, NewToolAgent, Task, ToolAgent};
use crate::identity::Credential;
use crate::names::{AgentId, TenantId};

/// Tool agents of a tenant. Everything is found by its tenant: what is another's is not there.
#[async_trait]
pub trait ToolAgents: Send + Sync {
    /// Adds or replaces by slug, and says what was there before. The first time, the registered agent it acts as is made in
    /// the same transaction: `acts_as`, which must exist, else one of its own name at A1, unless there is one already.
    async fn put(
        &self,
        tenant: TenantId,
        agent: &NewToolAgent,
        acts_as: Option<&AgentId>,
        now: Timestamp,
    ) -> Result<(ToolAgent, Option<ToolAgent>), StoreError>;
    async fn get(&self, tenant: TenantId, slug: &str) -> Result<ToolAgent, StoreError>;
    async fn list(&self, tenant: TenantId) -> Result<Vec<ToolAgent>, StoreError>;

    async fn begin(&self, task: &Task) -> Result<(), StoreError>;
    /// The task as it ended, and what it made, in one transaction: both or neither. A task that is over stays as it is.
    async fn finish(&self, task: &Task, made: Option<&NewDeliverable>) -> Result<Option<Deliverable>, StoreError>;
    async fn task(&self, tenant: TenantId, id: Uuid) -> Result<Task, StoreError>;
    /// The newest first.
    async fn tasks(&self, tenant: TenantId, slug: Option<&str>, limit: i64) -> Result<Vec<Task>, StoreError>;
    /// The newest version unless another is named.
    async fn deliverable(&self, tenant: TenantId, id: Uuid, version: Option<i32>) -> Result<Deliverable, StoreError>;
    /// The newest version of each, without its content, the newest first.
    async fn deliverables(
        &self,
        tenant: TenantId,
        slug: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Deliverable>, StoreError>;
}

/// What somebody asks of a tool agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BuildRequest {
    pub mode: String,
    #[serde(default)]
    pub conversation_id: Option<String>,
    #[serde(default)]
    pub payload: Map<String, Value>,
    #[serde(default)]
    pub metadata: Map<String, Value>,
    #[serde(default)]
    pub deliverable_id: Option<Uuid>,
}

impl BuildRequest {
    /// What the run is to be the next version of; some say it in the payload.
    pub fn continues(&self) -> Result<Option<Uuid>, BuildError> {
        let Some(written) = self.payload.get("deliverableId").filter(|_| self.deliverable_id.is_none()) else {
            return Ok(self.deliverable_id);
        };
        let id = written.as_str().and_then(|text| Uuid::try_parse(text).ok());
        let wrong = || BuildError::Payload("payload.deliverableId: expected the id of a deliverable".into());
        id.map(Some).ok_or_else(wrong)
    }
}

/// Who a run acts as, and who started it. The desk makes these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub credential: Credential,
    pub acts_as: AgentId,
    pub started_by: String,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Built {
    pub task: Task,
    pub deliverable: Deliverable,
    /// `{tool, success, result | error}` of each that was attempted, in the configured order.
    pub results: Vec<Value>,
    /// What the payload wanted to change and may not.
    pub ignored: Vec<String>,
}

/// What a run says while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Started { step: u32, of: u32, tool: String },
    Ended { step: u32, success: bool, error: Option<String> },
}

pub type Told = Box<dyn Fn(Progress) + Send + Sync>;

#[async_trait]
pub trait Runner: Send + Sync {
    /// Runs to its end, whether or not somebody still waits for it.
    async fn build(
        &self,
        tenant: TenantId,
        slug: &str,
        actor: Actor,
        request: BuildRequest,
        told: Told,
    ) -> Result<Built, BuildError>;
}

/// For a node that runs none.
pub struct NoRunner;

#[async_trait]
impl Runner for NoRunner {
    async fn build(&self, _: TenantId, _: &str, _: Actor, _: BuildRequest, _: Told) -> Result<Built, BuildError> {
        Err(BuildError::NotHere)
    }
}

/// Why nothing was run, in the words that those who call tool agents know.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("No tools configured for this agent")]
    NoTools,
    #[error("Tool '{0}' must include namespace: expected 'namespace/tool'")]
    NoNamespace(String),
    #[error("MCP server is not available (namespace: {0})")]
    ServerDown(String),
    #[error("Required environment variable {} is not set", variable(.namespace, .missing))]
    Environment { namespace: String, missing: Vec<String> },
    /// `PLAN` or `CONVERSE`.
    #[error("{0} mode not yet implemented for tool agents")]
    NotImplemented(&'static str),
    #[error("BUILD mode is not supported by this agent")]
    BuildNotSupported,
    #[error("Unknown mode '{0}': expected build, plan or converse")]
    UnknownMode(String),
    #[error("Unknown namespace '{namespace}'. Available: {}", .available.join(", "))]
    UnknownNamespace { namespace: String, available: Vec<String> },
    /// With its braces.
    #[error("Unresolved template variable {variable}")]
    Template { variable: String, tool: String, parameter: String },
    /// `organization/slug`.
    #[error("Agent '{0}' was not found")]
    UnknownAgent(String),
    #[error("Agent '{agent}' is not active (status: {status})")]
    NotActive { agent: String, status: String },
    #[error("Agent '{agent}' is not a tool agent (agent_type: {agent_type})")]
    NotATool { agent: String, agent_type: String },
    /// What is wrong with the agent's descriptor, and where.
    #[error("{0}")]
    Descriptor(String),
    /// What is wrong with the request's payload, and where.
    #[error("{0}")]
    Payload(String),
    #[error("Deliverable '{0}' was not found")]
    UnknownDeliverable(Uuid),
    #[error("A run has at most {most} tools: this one has {tools}")]
    TooManyTools { most: usize, tools: usize },
    #[error("Too many runs at once: at most {0}")]
    TooManyRuns(usize),
    /// The registered agent that it would act as.
    #[error("Agent not found or inactive")]
    Inactive,
    #[error("this node does not run tool agents")]
    NotHere,
    #[error("this node is stopping and begins no more runs; try again shortly")]
    Stopping,
    #[error("the store does not answer right now; try again shortly")]
    Store(#[source] StoreError),
    /// It ran, and its end could not be written down; the traces hold what happened.
    #[error("the run `{task}` ended and could not be stored")]
    NotStored {
        task: Uuid,
        #[source]
        error: StoreError,
    },
}

/// The seed names the URL and the key of Supabase in one breath; which of them it is stands in the data.
fn variable<'a>(namespace: &str, missing: &'a [String]) -> &'a str {
    if namespace == "supabase" {
        return "SUPABASE_URL (or key)";
    }
    missing.first().map_or("", String::as_str)
}

/// What kind of no it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildErrorKind {
    NotFound,
    Refused,
    Conflict,
    Busy,
    Unavailable,
}

impl BuildError {
    pub fn kind(&self) -> BuildErrorKind {
        match self {
            Self::UnknownAgent(_) | Self::UnknownDeliverable(_) => BuildErrorKind::NotFound,
            Self::Inactive => BuildErrorKind::Conflict,
            Self::TooManyRuns(_) => BuildErrorKind::Busy,
            Self::ServerDown(_)
            | Self::Environment { .. }
            | Self::NotHere
            | Self::Stopping
            | Self::Store(_)
            | Self::NotStored { .. } => BuildErrorKind::Unavailable,
            Self::NoTools
            | Self::NoNamespace(_)
            | Self::NotImplemented(_)
            | Self::BuildNotSupported
            | Self::UnknownMode(_)
            | Self::UnknownNamespace { .. }
            | Self::Template { .. }
            | Self::NotActive { .. }
            | Self::NotATool { .. }
            | Self::Descriptor(_)
            | Self::Payload(_)
            | Self::TooManyTools { .. } => BuildErrorKind::Refused,
        }
    }

    /// What stands beside the text, for programs; null where there is nothing.
    pub fn data(&self) -> Value {
        match self {
            Self::NoNamespace(tool) => json!({ "tool": tool }),
            Self::ServerDown(namespace) | Self::UnknownNamespace { namespace, .. } => {
                json!({ "namespace": namespace })
            }
            Self::Environment { missing, .. } => json!({ "missing": missing }),
            Self::Template { tool, parameter, .. } => json!({ "tool": tool, "parameter": parameter }),
            Self::NotStored { task, .. } => json!({ "task": task }),
            _ => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // acceptance 83, acceptance 84, acceptance 85, acceptance 86, acceptance 89, acceptance 92, acceptance 93: the exact texts.
    #[test]
    fn refusals_have_the_words_people_know() {
        let environment = |namespace: &str, name: &str| BuildError::Environment {
            namespace: namespace.into(),
            missing: vec![name.into()],
        };
        for (error, text, data) in [
            (BuildError::NoTools, "No tools configured for this agent", Value::Null),
            (
                BuildError::NoNamespace("get-schema".into()),
                "Tool 'get-schema' must include namespace: expected 'namespace/tool'",
                json!({ "tool": "get-schema" }),
            ),
            (
                BuildError::ServerDown("supabase".into()),
                "MCP server is not available (namespace: supabase)",
                json!({ "namespace": "supabase" }),
            ),
            (
                environment("supabase", "SUPABASE_KEY"),
                "Required environment variable SUPABASE_URL (or key) is not set",
                json!({ "missing": ["SUPABASE_KEY"] }),
            ),
            (
                environment("slack", "SLACK_BOT_TOKEN"),
                "Required environment variable SLACK_BOT_TOKEN is not set",
                json!({ "missing": ["SLACK_BOT_TOKEN"] }),
            ),
            (BuildError::NotImplemented("PLAN"), "PLAN mode not yet implemented for tool agents", Value::Null),
            (
                BuildError::UnknownNamespace { namespace: "x".into(), available: vec!["a".into(), "b".into()] },
                "Unknown namespace 'x'. Available: a, b",
                json!({ "namespace": "x" }),
            ),
            (
                BuildError::Template {
                    variable: "{{payload.x}}".into(),
                    tool: "a/b".into(),
                    parameter: "query".into(),
                },
                "Unresolved template variable {{payload.x}}",
                json!({ "tool": "a/b", "parameter": "query" }),
            ),
        ] {
            assert_eq!((error.to_string().as_str(), error.data()), (text, data));
        }
    }

    #[test]
    fn a_request_says_what_it_may_and_nothing_else() {
        let read = |written: Value| serde_json::from_value::<BuildRequest>(written);
        let least = read(json!({ "mode": "build" })).unwrap();
        assert!(least.payload.is_empty() && least.metadata.is_empty() && least.deliverable_id.is_none());
        assert_eq!(read(json!({ "mode": "build", "conversationId": "c" })).unwrap().conversation_id.unwrap(), "c");
        for wrong in [json!({}), json!({ "mode": "build", "run": {} }), json!({ "mode": "build", "payload": [] })] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
