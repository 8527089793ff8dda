//! How every tool's definition stands.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
