//! A manifest as others may have written it: the seed's fields, and the few more that are known of them.

use serde::Deserialize;
use serde_json::Value;

use super::super::runpack::{AnchorPolicy, ArtifactKind, FileHash, VerifierMode};
use super::super::{Digest, GateTime, Id};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub artifacts: Vec<WrittenArtifact>,
    #[serde(rename = "generated_at")]
    _generated_at: GateTime,
    hash_algorithm: String,
    pub integrity: WrittenIntegrity,
    #[serde(rename = "manifest_version")]
    _version: String,
    pub run_id: Id,
    pub scenario_id: Id,
    pub spec_hash: Digest,
    pub verifier_mode: VerifierMode,
    pub tenant_id: Option<u64>,
    pub namespace_id: Option<u64>,
    #[serde(rename = "security")]
    _security: Option<Security>,
    pub anchor_policy: Option<AnchorPolicy>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenArtifact {
    pub artifact_id: String,
    pub kind: ArtifactKind,
    pub path: String,
    pub content_type: String,
    pub hash: Digest,
    pub required: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenIntegrity {
    pub file_hashes: Vec<FileHash>,
    pub root_hash: Digest,
}

/// What the other implementation says about itself. Held against the words it knows, so that they cannot be changed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Security {
    #[serde(rename = "dev_permissive")]
    _dev_permissive: bool,
    #[serde(rename = "namespace_authority")]
    _namespace_authority: NamespaceAuthority,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum NamespaceAuthority {
    None,
    DgRegistry,
    AssetcoreHttp,
}

impl Written {
    pub fn read(value: Value) -> Result<Self, String> {
        let manifest: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        if manifest.hash_algorithm != "sha256" {
            return Err("hash_algorithm must be `sha256`".into());
        }
        Ok(manifest)
    }

    pub fn path_of(&self, kind: ArtifactKind) -> Option<&str> {
        self.artifacts.iter().find(|artifact| artifact.kind == kind).map(|artifact| artifact.path.as_str())
    }
}
