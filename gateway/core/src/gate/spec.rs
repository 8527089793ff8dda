//! A scenario as it was submitted. What is hashed is what was submitted, with optional fields that were left out written
//! as null; what is evaluated is what was read.

mod reading;
mod writing;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compare::Comparator;
use super::payload::Payload;
use super::requirement::Requirement;
use super::{GateTime, Id, TenantText};

/// The two sets of names a scenario may be written in. A document uses one of them throughout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `predicates`, `predicate`, `query.predicate`: also what logs and packs are written in.
    Seed,
    /// `conditions`, `condition_id`, `query.check_id`, with namespaces and lanes of trust.
    Newer,
}

impl Dialect {
    pub(super) fn predicates(self) -> &'static str {
        match self {
            Self::Seed => "predicates",
            Self::Newer => "conditions",
        }
    }

    pub(super) fn predicate(self) -> &'static str {
        match self {
            Self::Seed => "predicate",
            Self::Newer => "condition_id",
        }
    }

    pub(super) fn check(self) -> &'static str {
        match self {
            Self::Seed => "predicate",
            Self::Newer => "check_id",
        }
    }

    pub(super) fn requirement_leaf(self) -> &'static str {
        match self {
            Self::Seed => "Predicate",
            Self::Newer => "Condition",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub dialect: Dialect,
    pub scenario_id: Id,
    pub spec_version: String,
    pub default_tenant_id: Option<TenantText>,
    /// Accepted and kept; a tenant has one namespace here.
    pub namespace_id: Option<Value>,
    pub policies: Vec<PolicyRef>,
    pub schemas: Vec<SchemaRef>,
    pub predicates: Vec<Predicate>,
    pub stages: Vec<Stage>,
}

/// A reference only: nothing is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRef {
    pub policy_id: Id,
    pub description: Option<String>,
}

/// A reference only: a packet may name a schema that nobody listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaRef {
    pub schema_id: Id,
    pub version: Option<String>,
    pub uri: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    pub id: Id,
    pub query: EvidenceQuery,
    pub comparator: Comparator,
    pub expected: Option<Value>,
    pub policy_tags: Vec<String>,
    /// Accepted and kept: all providers here are as good as their trust policy.
    pub trust: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceQuery {
    pub provider_id: String,
    pub check: String,
    /// The one field that stays absent if it was.
    pub params: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub stage_id: Id,
    pub entry_packets: Vec<PacketSpec>,
    pub gates: Vec<Gate>,
    pub advance_to: AdvanceTo,
    pub timeout: Option<Timeout>,
    pub on_timeout: OnTimeout,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketSpec {
    pub packet_id: Id,
    pub schema_id: Id,
    pub content_type: String,
    pub visibility_labels: Vec<String>,
    pub policy_tags: Vec<String>,
    /// Recorded, not enforced.
    pub expiry: Option<GateTime>,
    pub payload: Payload,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub gate_id: Id,
    pub requirement: Requirement,
    pub trust: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AdvanceTo {
    Linear {},
    Fixed { stage_id: Id },
    Branch { branches: Vec<BranchRule>, default: Option<Id> },
    Terminal {},
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchRule {
    pub gate_id: Id,
    pub outcome: BranchOutcome,
    pub next_stage_id: Id,
}

/// A gate's answer in the words of a branch rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchOutcome {
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeout {
    /// Ticks, where time is counted.
    pub timeout_ms: u64,
    pub policy_tags: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    Fail,
    AdvanceWithFlag,
    AlternateBranch,
}
