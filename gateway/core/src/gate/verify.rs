//! Checks a pack without trusting anything in it: not a path, not a hash that another place repeats differently.
//!
//! Logs are found by what they are, not by where they lie, so packs that others wrote are checked by the same rules. What
//! nobody can check is when a pack says it was made: that stands in the manifest alone.

mod logs;
mod manifest;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use self::manifest::Written;
use super::digest::canonical;
use super::runpack::{ArtifactKind, VerifierMode};
use super::shelf::{PackPath, Shelf};
use super::{Digest, LOG_BYTES};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub status: ReportStatus,
    pub checked_files: usize,
    pub errors: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    Pass,
    Fail,
}

/// Past this many, a pack is not worth more words.
const MOST_ERRORS: usize = 200;

#[derive(Default)]
struct Findings {
    errors: Vec<String>,
    checked: usize,
}

impl Findings {
    fn add(&mut self, error: impl Into<String>) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(error.into());
        }
    }

    fn unless(&mut self, sound: bool, error: impl FnOnce() -> String) {
        if !sound {
            self.add(error());
        }
    }

    fn report(self) -> Report {
        let status = if self.errors.is_empty() { ReportStatus::Pass } else { ReportStatus::Fail };
        Report { status, checked_files: self.checked, errors: self.errors }
    }
}

/// What somebody wrote down when the pack was made, and holds against it now. A pack that was made anew, whole, is caught
/// by nothing else; nor is another `generated_at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expected {
    pub root: Option<Digest>,
    /// Of the manifest's own bytes.
    pub manifest: Option<Digest>,
}

/// Every error is told, as far as the manifest can be read at all.
pub fn verify(shelf: &dyn Shelf, manifest_path: &str) -> Report {
    verify_against(shelf, manifest_path, Expected::default())
}

/// The same, of one pack and no other.
pub fn verify_against(shelf: &dyn Shelf, manifest_path: &str, expected: Expected) -> Report {
    let mut findings = Findings::default();
    if let Some(manifest) = opened(shelf, manifest_path, expected, &mut findings) {
        let contents = files(shelf, &manifest, manifest_path, &mut findings);
        artifacts(&manifest, &contents, &mut findings);
        logs::check(&manifest, &logs::Artifacts::of(&manifest, &contents), &mut findings);
    }
    findings.report()
}

fn opened(shelf: &dyn Shelf, path: &str, expected: Expected, findings: &mut Findings) -> Option<Written> {
    if let Err(error) = path.parse::<PackPath>() {
        findings.add(error.to_string());
        return None;
    }
    let bytes = match shelf.read(path, LOG_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            findings.add(format!("manifest read failed for {path}: {error}"));
            return None;
        }
    };
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => {
            findings.add(format!("manifest is not JSON: {error}"));
            return None;
        }
    };
    // Also finds a key that is written twice, of which a reader sees only one.
    let is_canonical = canonical(&value).is_ok_and(|canonical| canonical == bytes);
    findings.unless(is_canonical, || "manifest is not canonical JSON".into());
    match value.get("manifest_version") {
        Some(Value::String(version)) if version == "v1" => {}
        other => {
            findings.errors.clear();
            let version = other.map_or_else(|| "none".into(), plain);
            findings.add(format!("unsupported manifest version: {version}"));
            return None;
        }
    }
    let known = expected.manifest.is_none_or(|expected| expected == Digest::of_bytes(&bytes));
    findings.unless(known, || "manifest is not the expected one".into());
    match Written::read(value) {
        Ok(manifest) => {
            let known = expected.root.is_none_or(|expected| expected == manifest.integrity.root_hash);
            findings.unless(known, || "root hash is not the expected one".into());
            Some(manifest)
        }
        Err(error) => {
            findings.add(format!("manifest is malformed: {error}"));
            None
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Each listed file against its hash, and the list against its own.
fn files(
    shelf: &dyn Shelf,
    manifest: &Written,
    manifest_path: &str,
    findings: &mut Findings,
) -> BTreeMap<String, Vec<u8>> {
    let seven = manifest.artifacts.iter().filter(|artifact| ArtifactKind::SEVEN.contains(&artifact.kind));
    let looked_into: BTreeSet<&str> = seven.map(|artifact| artifact.path.as_str()).collect();
    let mut contents = BTreeMap::new();
    let mut listed = BTreeSet::from([manifest_path]);
    for file in &manifest.integrity.file_hashes {
        let path = file.path.as_str();
        if let Err(error) = path.parse::<PackPath>() {
            findings.add(error.to_string());
            continue;
        }
        if !listed.insert(path) {
            findings.add(format!("listed twice: {path}"));
            continue;
        }
        match shelf.read(path, LOG_BYTES) {
            Err(error) => findings.add(format!("artifact read failed for {path}: {error}")),
            Ok(bytes) => {
                findings.checked += 1;
                findings.unless(Digest::of_bytes(&bytes) == file.hash, || format!("hash mismatch for {path}"));
                if looked_into.contains(path) {
                    contents.insert(path.to_owned(), bytes);
                }
            }
        }
    }
    let root = Digest::of_json(&manifest.integrity.file_hashes);
    findings.unless(root.is_ok_and(|root| root == manifest.integrity.root_hash), || "root hash mismatch".into());
    if manifest.verifier_mode == VerifierMode::OfflineStrict {
        match shelf.names() {
            Err(error) => findings.add(format!("the pack cannot be listed: {error}")),
            Ok(names) => {
                for name in names.iter().filter(|name| !listed.contains(name.as_str())) {
                    findings.add(format!("unlisted file {}", name.escape_debug()));
                }
            }
        }
    }
    contents
}

/// What the manifest says of its files in two places must be the same, and nothing a pack needs may be missing.
fn artifacts(manifest: &Written, contents: &BTreeMap<String, Vec<u8>>, findings: &mut Findings) {
    let mut hashes: BTreeMap<&str, Digest> =
        manifest.integrity.file_hashes.iter().map(|file| (file.path.as_str(), file.hash)).collect();
    for artifact in &manifest.artifacts {
        let path = artifact.path.as_str();
        match hashes.remove(path) {
            None => findings.add(format!("artifact without file hash: {}", path.escape_debug())),
            Some(hash) if hash != artifact.hash => {
                findings.add(format!("artifact hash differs from file hash for {path}"));
            }
            Some(_) => {}
        }
        let own = path
            .parse::<PackPath>()
            .is_ok_and(|path| artifact.artifact_id == path.as_str() || artifact.artifact_id == path.stem());
        findings.unless(own, || format!("artifact_id is not its path's for {}", path.escape_debug()));
        findings.unless(artifact.content_type == "application/json", || format!("content type is wrong for {path}"));
        let seven = ArtifactKind::SEVEN.contains(&artifact.kind) || artifact.kind == ArtifactKind::VerifierReport;
        findings.unless(artifact.required || !seven, || format!("must be required: {path}"));
    }
    for path in hashes.keys() {
        findings.add(format!("file hash without artifact: {}", path.escape_debug()));
    }
    for kind in ArtifactKind::SEVEN {
        let count = manifest.artifacts.iter().filter(|artifact| artifact.kind == kind).count();
        findings.unless(count > 0, || format!("required artifact missing: {}", kind.as_str()));
        findings.unless(count < 2, || format!("more than one artifact: {}", kind.as_str()));
    }
    let reports = manifest.artifacts.iter().filter(|one| one.kind == ArtifactKind::VerifierReport).count();
    findings.unless(reports < 2, || "more than one artifact: verifier_report".into());
    let spec = manifest.path_of(ArtifactKind::ScenarioSpec).and_then(|path| contents.get(path));
    let matches = spec.is_none_or(|bytes| Digest::of_bytes(bytes) == manifest.spec_hash);
    findings.unless(matches, || "spec_hash is not that of the scenario_spec artifact".into());
}
