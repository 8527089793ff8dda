//! What upstreams say their tools are, and whether that is still what somebody accepted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::classification::scale;
use crate::names::ToolName;

/// How a tool's definition stands to the accepted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nobody accepted any: first use will, or the tool is not classified.
    Unpinned,
    Pinned,
    /// It changed, or it was blocked when it was first seen.
    Quarantined,
    /// It could not be read, so nobody knows.
    Unverified,
}

/// Every tool's standing, compiled from the rows.
#[derive(Debug, Clone, Default)]
pub struct PinSet {
    tools: HashMap<ToolName, Pinned>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    pub standing: Standing,
    /// Of the definition that was accepted last.
    pub hash: Option<Arc<str>>,
}

impl PinSet {
    pub fn new(tools: HashMap<ToolName, Pinned>) -> Self {
        Self { tools }
    }

    pub fn get(&self, tool: &ToolName) -> Option<&Pinned> {
        self.tools.get(tool)
    }

    pub fn standing(&self, tool: &ToolName) -> Standing {
        self.get(tool).map_or(Standing::Unpinned, |pinned| pinned.standing)
    }
}

/// What this node has seen of its upstreams' definitions, over what the rows say.
#[derive(Debug, Default)]
pub struct Definitions {}

impl Definitions {
    pub fn standing(&self, pins: &PinSet, tool: &ToolName) -> (Standing, Option<Arc<str>>) {
        pins.get(tool).map_or((Standing::Unpinned, None), |pinned| (pinned.standing, pinned.hash.clone()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    Weak,
    Strong,
}

/// Something in a definition that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: String,
    /// JSON pointer into the definition.
    pub path: String,
    pub message: String,
    pub strength: Strength,
}

/// A definition that was accepted before.
#[derive(Debug, Clone, Copy)]
pub struct Accepted<'a> {
    pub server: &'a str,
    pub definition: &'a Value,
}

/// Looks for what poisons a definition. Pure: the same definition gives the same findings.
pub trait Scanner: Send + Sync {
    fn scan(&self, server: &str, tool: &Value, accepted: &[Accepted<'_>]) -> Vec<Finding>;
}

scale!(
    /// What a finding leads to.
    ScanAction, "allow, flag, block", { Allow = "allow", Flag = "flag", Block = "block", }
);

/// What each of the scanner's rules leads to, where an operator said so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScanRules {
    pub rules: BTreeMap<String, ScanAction>,
}
