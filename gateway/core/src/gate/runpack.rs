//! A run as files that somebody else can check: the scenario, the six logs, and a manifest with a hash of each.
//!
//! The same run with the same `generated_at` gives the same bytes, whoever exports it and when.

use serde::{Deserialize, Serialize};

use super::digest::canonical;
use super::policies::{AnchorRule, AnchorRules};
use super::run::{Head, Logs};
use super::shelf::MemoryShelf;
use super::spec::Spec;
use super::verify::{Report, ReportStatus, verify};
use super::{Digest, GateTime, Id, LOG_BYTES, Refusal};

pub const MANIFEST: &str = "manifest.json";
const VERSION: &str = "v1";
const REPORT: &str = "verifier_report.json";

#[derive(Debug, Clone, PartialEq)]
pub struct Pack {
    /// In their order; the manifest is not among them.
    pub files: Vec<(String, Vec<u8>)>,
    pub manifest: Manifest,
    pub manifest_bytes: Vec<u8>,
    pub report: Option<Report>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Manifest {
    pub artifacts: Vec<Artifact>,
    pub generated_at: GateTime,
    pub hash_algorithm: &'static str,
    pub integrity: Integrity,
    pub manifest_version: &'static str,
    pub run_id: Id,
    pub scenario_id: Id,
    pub spec_hash: Digest,
    pub verifier_mode: VerifierMode,
    /// Only where there are rules: then whoever checks needs them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor_policy: Option<AnchorPolicy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Artifact {
    pub artifact_id: String,
    pub kind: ArtifactKind,
    pub path: String,
    pub content_type: &'static str,
    pub hash: Digest,
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Integrity {
    pub file_hashes: Vec<FileHash>,
    pub root_hash: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileHash {
    pub path: String,
    pub hash: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifierMode {
    OfflineStrict,
    OfflineWithFetch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    ScenarioSpec,
    TriggerLog,
    GateEvalLog,
    DecisionLog,
    PacketLog,
    DispatchLog,
    EvidenceLog,
    SubmissionLog,
    ToolTranscript,
    VerifierReport,
    Custom,
}

impl ArtifactKind {
    /// What every pack has, in this order.
    pub const SEVEN: [Self; 7] = [
        Self::ScenarioSpec,
        Self::TriggerLog,
        Self::GateEvalLog,
        Self::DecisionLog,
        Self::PacketLog,
        Self::SubmissionLog,
        Self::ToolTranscript,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScenarioSpec => "scenario_spec",
            Self::TriggerLog => "trigger_log",
            Self::GateEvalLog => "gate_eval_log",
            Self::DecisionLog => "decision_log",
            Self::PacketLog => "packet_log",
            Self::DispatchLog => "dispatch_log",
            Self::EvidenceLog => "evidence_log",
            Self::SubmissionLog => "submission_log",
            Self::ToolTranscript => "tool_transcript",
            Self::VerifierReport => "verifier_report",
            Self::Custom => "custom",
        }
    }
}

/// The anchor rules as a manifest carries them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorPolicy {
    pub providers: Vec<ProviderAnchor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderAnchor {
    pub provider_id: String,
    pub requirement: AnchorRequirement,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorRequirement {
    pub anchor_type: String,
    pub required_fields: Vec<String>,
}

/// The files of a run. With `include_verification` they are checked, and the report lies with them.
pub fn pack(
    spec: &Spec,
    head: &Head,
    logs: &Logs,
    at: GateTime,
    include_verification: bool,
    anchors: &AnchorRules,
) -> Result<Pack, Refusal> {
    let contents = [
        canonical(&spec.written())?,
        canonical(&logs.triggers)?,
        canonical(&logs.gate_evals)?,
        canonical(&logs.decisions)?,
        canonical(&logs.packets)?,
        canonical(&logs.submissions)?,
        canonical(&logs.tool_calls)?,
    ];
    let mut files = Vec::with_capacity(8);
    for (kind, bytes) in ArtifactKind::SEVEN.into_iter().zip(contents) {
        let (path, actual) = (format!("{}.json", kind.as_str()), bytes.len() as u64);
        if actual > LOG_BYTES {
            return Err(Refusal::TooLarge { what: format!("{path} in bytes"), limit: LOG_BYTES, actual });
        }
        files.push((kind, path, bytes));
    }
    let seven = closed(head, files.clone(), at, anchors)?;
    if !include_verification {
        return Ok(seven);
    }
    let report = verify(&seven.shelf(MANIFEST), MANIFEST);
    files.push((ArtifactKind::VerifierReport, REPORT.into(), canonical(&report)?));
    let eight = closed(head, files, at, anchors)?;
    Ok(Pack { report: Some(report), ..eight })
}

fn closed(
    head: &Head,
    files: Vec<(ArtifactKind, String, Vec<u8>)>,
    generated_at: GateTime,
    anchors: &AnchorRules,
) -> Result<Pack, Refusal> {
    let artifact = |(kind, path, bytes): &(ArtifactKind, String, Vec<u8>)| Artifact {
        artifact_id: kind.as_str().into(),
        kind: *kind,
        path: path.clone(),
        content_type: "application/json",
        hash: Digest::of_bytes(bytes),
        required: true,
    };
    let artifacts: Vec<Artifact> = files.iter().map(artifact).collect();
    let file_hashes: Vec<FileHash> =
        artifacts.iter().map(|one| FileHash { path: one.path.clone(), hash: one.hash }).collect();
    let root_hash = Digest::of_json(&file_hashes)?;
    let manifest = Manifest {
        artifacts,
        generated_at,
        hash_algorithm: "sha256",
        integrity: Integrity { file_hashes, root_hash },
        manifest_version: VERSION,
        run_id: head.run_id.clone(),
        scenario_id: head.scenario_id.clone(),
        spec_hash: head.spec_hash,
        verifier_mode: VerifierMode::OfflineStrict,
        anchor_policy: AnchorPolicy::of(anchors),
    };
    let manifest_bytes = canonical(&manifest)?;
    let files = files.into_iter().map(|(_, path, bytes)| (path, bytes)).collect();
    Ok(Pack { files, manifest, manifest_bytes, report: None })
}

impl Pack {
    /// As somebody else would find it.
    pub fn shelf(&self, manifest: &str) -> MemoryShelf {
        let own = (manifest.to_owned(), self.manifest_bytes.clone());
        MemoryShelf(self.files.iter().cloned().chain([own]).collect())
    }

    pub fn is_sound(&self) -> bool {
        self.report.as_ref().is_none_or(|report| report.status == ReportStatus::Pass)
    }
}

impl AnchorPolicy {
    fn of(rules: &AnchorRules) -> Option<Self> {
        let provider = |rule: &AnchorRule| ProviderAnchor {
            provider_id: rule.provider_id.clone(),
            requirement: AnchorRequirement {
                anchor_type: rule.anchor_type.clone(),
                required_fields: rule.required_fields.clone(),
            },
        };
        let providers: Vec<_> = rules.providers.iter().map(provider).collect();
        (!providers.is_empty()).then_some(Self { providers })
    }

    pub(super) fn rules(&self) -> AnchorRules {
        let rule = |one: &ProviderAnchor| AnchorRule {
            provider_id: one.provider_id.clone(),
            anchor_type: one.requirement.anchor_type.clone(),
            required_fields: one.requirement.required_fields.clone(),
        };
        AnchorRules { providers: self.providers.iter().map(rule).collect() }
    }
}
