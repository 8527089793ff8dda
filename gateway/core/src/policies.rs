//! The policies in force: one immutable set, read as a whole, swapped as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::classification::Classification;
use crate::digest;
use crate::manifest::ToolManifest;
use crate::matrix::Matrix;
use crate::names::ToolName;

/// A tool an operator has classified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassifiedTool {
    pub manifest: ToolManifest,
    /// What a call of it counts as: the risk level's own, raised where the policy says so.
    pub classification: Classification,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ToolMetadata>,
}

/// What an operator says of a tool for those who look for one; it decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl ClassifiedTool {
    pub fn new(manifest: ToolManifest, raised_to: Option<Classification>) -> Self {
        let least = manifest.risk_level.classification();
        let classification = raised_to.map_or(least, |wanted| least.raised_to(wanted));
        Self { manifest, classification, metadata: None }
    }

    #[must_use]
    pub fn described(mut self, metadata: Option<ToolMetadata>) -> Self {
        self.metadata = metadata;
        self
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Policies {
    pub tools: BTreeMap<ToolName, Arc<ClassifiedTool>>,
    pub matrix: Matrix,
    /// SHA-256 of everything above: names the rules that a trace was decided under.
    #[serde(skip)]
    pub digest: String,
}

impl Policies {
    pub fn new(tools: BTreeMap<ToolName, Arc<ClassifiedTool>>, matrix: Matrix) -> Self {
        let mut policies = Self { tools, matrix, digest: String::new() };
        // Only plain data is serialised, so this cannot fail; an empty digest would merely be a useless one.
        let canonical = serde_json_canonicalizer::to_vec(&policies).unwrap_or_default();
        policies.digest = digest::named(&canonical);
        policies
    }

    pub fn tool(&self, name: &ToolName) -> Option<&Arc<ClassifiedTool>> {
        self.tools.get(name)
    }
}
