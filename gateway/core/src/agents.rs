//! Tool agents: records of what to run, what a run leaves behind, and what travels with each of its calls.
//!
//! Nothing here runs anything: the runner is a client of the gateway like any other and stands behind [`crate::ports::Runner`].

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::classification::scale;
use crate::digest;
use crate::names::{AgentId, TenantId, TraceId};

pub use crate::names::Slug;

/// What every record must say.
pub const REQUIRED: [&str; 7] =
    ["organization_slug", "slug", "display_name", "agent_type", "mode_profile", "status", "yaml"];

/// No run may do these with SQL, whatever its agent says.
pub const ALWAYS_DENIED: [&str; 5] = ["DROP", "TRUNCATE", "ALTER", "DELETE", "UPDATE"];

/// A record as somebody writes it. `yaml` is the descriptor, as JSON or as YAML; whether it makes sense is found when it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToolAgent {
    pub organization_slug: String,
    pub slug: Slug,
    pub display_name: String,
    pub agent_type: String,
    pub mode_profile: String,
    pub status: String,
    pub yaml: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_structure: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliverable_structure: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// The demo's own record has it beside the seven and the six.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl NewToolAgent {
    /// Names everything it says.
    pub fn digest(&self) -> String {
        digest::named(&serde_json_canonicalizer::to_vec(self).unwrap_or_default())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolAgent {
    pub id: Uuid,
    pub tenant: TenantId,
    #[serde(flatten)]
    pub agent: NewToolAgent,
    /// The registered agent that runs act as where nobody with a key of its own started them.
    pub acts_as: Option<AgentId>,
    pub created_at: String,
    pub updated_at: String,
}

impl ToolAgent {
    /// `organization/slug`, as people name it.
    pub fn path(&self) -> String {
        format!("{}/{}", self.agent.organization_slug, self.agent.slug)
    }
}

/// What an agent's own descriptor forbids it. No request can change it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
// A misspelt limit would be none: it is refused instead.
#[serde(deny_unknown_fields, default)]
pub struct Security {
    pub denied_operations: Vec<String>,
    /// `None`: any table. An empty list: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tables: Option<Vec<String>>,
}

impl Security {
    pub fn digest(&self) -> String {
        digest::named(&serde_json_canonicalizer::to_vec(self).unwrap_or_default())
    }

    /// What both allow: `None` is anything, an empty list nothing.
    pub fn intersection(one: Option<&[String]>, other: Option<&[String]>) -> Option<Vec<String>> {
        match (one, other) {
            (None, None) => None,
            (Some(only), None) | (None, Some(only)) => Some(only.to_vec()),
            (Some(one), Some(other)) => Some(one.iter().filter(|table| other.contains(table)).cloned().collect()),
        }
    }

    /// `always` first and in its own order, then what else this forbids.
    pub fn denied_with(&self, always: &[&str]) -> Vec<String> {
        let mut denied: Vec<String> = always.iter().map(|&operation| operation.to_owned()).collect();
        for operation in &self.denied_operations {
            let operation = operation.trim().to_ascii_uppercase();
            if !operation.is_empty() && !denied.contains(&operation) {
                denied.push(operation);
            }
        }
        denied
    }
}

/// One call of a run, as the chain and the tools see it. Made inside the process, never read off a wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStep {
    pub organization: String,
    pub slug: Slug,
    pub task: Uuid,
    /// From 1.
    pub step: u32,
    pub of: u32,
    /// Chosen by the run, so that it can say which trace belongs to which step.
    pub trace_id: TraceId,
    pub security: Arc<Security>,
}

scale!(ExecutionMode, "sequential, parallel", { Sequential = "sequential", Parallel = "parallel", });

scale!(Format, "json, markdown, text", { Json = "json", Markdown = "markdown", Text = "text", });

scale!(
    TaskStatus, "running, completed, failed, interrupted",
    {
        Running = "running",
        Completed = "completed",
        Failed = "failed",
        /// Only read, never stored: it was running when its time was over, so whoever ran it is gone.
        Interrupted = "interrupted",
    }
);

/// What a run made. A version is never changed; a later run may add the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deliverable {
    pub id: Uuid,
    pub organization_slug: String,
    pub agent_slug: Slug,
    pub title: String,
    pub r#type: String,
    pub format: Format,
    /// Empty in lists.
    pub content: String,
    pub version: i32,
    pub conversation_id: Option<String>,
    pub task_id: Uuid,
    pub created_at: String,
    pub metadata: DeliverableMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDeliverable {
    /// The next version of this one; `None` begins another.
    pub id: Option<Uuid>,
    pub title: String,
    pub r#type: String,
    pub format: Format,
    pub content: String,
    pub metadata: DeliverableMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliverableMetadata {
    /// Those that were attempted.
    pub tools_executed: u32,
    pub successful_tools: u32,
    pub failed_tools: u32,
    pub execution_mode: ExecutionMode,
    pub stop_on_error: bool,
    /// Those that were configured, whether or not it came to them.
    pub tools_used: Vec<String>,
    /// Results that were too large to be kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeliverableVersion {
    pub id: Uuid,
    pub version: i32,
}

/// A run, under way or over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Task {
    pub id: Uuid,
    #[serde(skip)]
    pub tenant: TenantId,
    pub organization_slug: String,
    pub agent_slug: Slug,
    pub acts_as: AgentId,
    /// `agent:a-1`, `administrator:ci`, `operator:alice`.
    pub started_by: String,
    pub mode: String,
    pub status: TaskStatus,
    pub conversation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub deliverable: Option<DeliverableVersion>,
    pub steps: Vec<Step>,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub deadline: Timestamp,
}

impl Task {
    /// As it is at this moment: what runs past its deadline is run by nobody any more.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        if self.status == TaskStatus::Running && self.deadline < now {
            self.status = TaskStatus::Interrupted;
        }
        self
    }
}

/// What became of one tool of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub tool: String,
    pub success: bool,
    pub trace_id: TraceId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn two_lists_allow_what_both_allow() {
        let (a, b, none) = (names(&["x", "y"]), names(&["y", "z"]), Vec::new());
        for (one, other, expected) in [
            (None, None, None),
            (Some(&a), None, Some(a.clone())),
            (None, Some(&b), Some(b.clone())),
            (Some(&a), Some(&b), Some(names(&["y"]))),
            (Some(&a), Some(&none), Some(Vec::new())),
        ] {
            let found = Security::intersection(one.map(Vec::as_slice), other.map(Vec::as_slice));
            assert_eq!(found, expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn the_five_are_always_denied_and_others_follow() {
        let own = Security { denied_operations: names(&["insert", "DROP", " ", "Copy"]), allowed_tables: None };
        let expected = names(&["DROP", "TRUNCATE", "ALTER", "DELETE", "UPDATE", "INSERT", "COPY"]);
        assert_eq!(own.denied_with(&ALWAYS_DENIED), expected);
        assert_eq!(Security::default().denied_with(&ALWAYS_DENIED), names(&ALWAYS_DENIED));
    }

    #[test]
    fn a_misspelt_limit_is_refused_and_none_is_not_nothing() {
        assert!(serde_json::from_value::<Security>(json!({ "allowed_table": ["x"] })).is_err());
        let (any, none) = (json!({}), json!({ "allowed_tables": [] }));
        let [any, none] = [any, none].map(|written| serde_json::from_value::<Security>(written).unwrap());
        assert_eq!((&any.allowed_tables, &none.allowed_tables), (&None, &Some(Vec::new())));
        assert_ne!(any.digest(), none.digest());
    }

    // acceptance 82: what is shipped is what the specification gives, and it can be kept as it is.
    #[test]
    fn the_shipped_record_and_payload_are_the_specifications() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let shipped = read(include_str!("../../../config/initial-agent-building/working/demo_supabase_agent.json"));
        assert_eq!(shipped, read(include_str!("../../../tests/fixtures/seed_002_agent.json")));
        let record: NewToolAgent = serde_json::from_value(shipped.clone()).unwrap();
        assert_eq!(serde_json::to_value(&record).unwrap(), shipped);
        assert_eq!((record.organization_slug.as_str(), record.slug.as_str()), ("demo", "supabase-agent"));
        let descriptor = read(&record.yaml);
        let security: Security = serde_json::from_value(descriptor["configuration"]["security"].clone()).unwrap();
        assert_eq!(security.denied_operations, ALWAYS_DENIED);
        let payload = read(include_str!("../../../config/initial-agent-building/working/demo_payload.json"));
        assert_eq!(payload, read(include_str!("../../../tests/fixtures/seed_002_payload.json")));
    }

    // acceptance 81: fourteen fields, seven of them required, and no other.
    #[test]
    fn a_record_has_its_fields_and_no_others() {
        let full = json!({
            "organization_slug": "demo", "slug": "s-1", "display_name": "S", "agent_type": "tool", "mode_profile": "tool_full",
            "status": "active", "yaml": "{}", "description": "d", "context": {"a": 1}, "plan_structure": [],
            "deliverable_structure": {}, "io_schema": {}, "config": {}, "version": "0.1.0",
        });
        let read: NewToolAgent = serde_json::from_value(full.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), full);
        for field in REQUIRED {
            let mut less = full.clone();
            less.as_object_mut().unwrap().remove(field);
            let error = serde_json::from_value::<NewToolAgent>(less).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
        let mut more = full;
        more.as_object_mut().unwrap().insert("tools".into(), json!([]));
        assert!(serde_json::from_value::<NewToolAgent>(more).unwrap_err().to_string().contains("tools"));
    }
}
