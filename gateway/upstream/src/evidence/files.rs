//! `json`: values out of JSON and YAML files below one root. Whoever can write there decides what the gates see, so the
//! root belongs where no agent's tools reach.

mod below;

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use below::{Root, Unopened};
use gateway_core::gate::Comparator;
use gateway_core::gate::contracts::{CheckContract, ValueKind};
use gateway_core::gate::digest::canonical;
use gateway_core::gate::evidence::{EvidenceRef, EvidenceResult};
use gateway_core::ports::{EvidenceAsked, EvidenceProvider};
use serde_json::{Value, json};
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

use super::jsonpath::{Missed, Path};
use super::params::Params;
use super::{Switches, contract};

const LONGEST_PATH: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    pub root: PathBuf,
    /// What anchors call the root; its real name is nobody's business.
    pub root_id: String,
    pub max_bytes: u64,
    pub allow_yaml: bool,
}

impl FileSettings {
    pub const MAX_BYTES: u64 = 1024 * 1024;
}

pub struct Files {
    shelf: Arc<Shelf>,
    checks: Vec<CheckContract>,
}

struct Shelf {
    root: Root,
    settings: FileSettings,
}

/// What was asked for, and not yet looked at.
struct Wanted {
    file: String,
    jsonpath: Option<String>,
}

type Failed = (&'static str, String);

impl Files {
    pub fn new(settings: FileSettings, switches: Switches) -> Result<Self, String> {
        let root = Root::open(&settings.root)
            .map_err(|error| format!("root `{}` cannot be opened: {error}", settings.root.display()))?;
        let fits = Arc::new(|params: &Value| match Wanted::read(params)?.jsonpath {
            Some(text) => Path::read(&text).map(|_| ()),
            None => Ok(()),
        });
        let checks = vec![contract("path", ValueKind::Any, switches.left(Comparator::ALL), Some(fits))];
        Ok(Self { shelf: Arc::new(Shelf { root, settings }), checks })
    }
}

#[async_trait]
impl EvidenceProvider for Files {
    fn checks(&self) -> &[CheckContract] {
        &self.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        let wanted =
            match asked.query.params.as_ref().ok_or_else(|| "`file` is missing".to_owned()).and_then(Wanted::read) {
                Ok(wanted) => wanted,
                Err(words) => return EvidenceResult::failed("params_invalid", words),
            };
        let shelf = Arc::clone(&self.shelf);
        let looked = tokio::task::spawn_blocking(move || shelf.answer(&wanted)).await;
        looked.unwrap_or_else(|_| EvidenceResult::failed("provider_failed", "the file could not be looked at"))
    }
}

impl Wanted {
    fn read(params: &Value) -> Result<Self, String> {
        let params = Params::of(params, &["file", "jsonpath"])?;
        let file = params.text("file")?.to_owned();
        if file.is_empty() || file.len() > LONGEST_PATH || file.contains('\0') {
            return Err(format!("`file` must be a path of 1 to {LONGEST_PATH} bytes"));
        }
        Ok(Self { file, jsonpath: params.maybe_text("jsonpath")?.map(str::to_owned) })
    }
}

impl Shelf {
    fn answer(&self, wanted: &Wanted) -> EvidenceResult {
        let root_id = &self.settings.root_id;
        let answer = match self.found(wanted) {
            Ok(value) => EvidenceResult::json(value, "application/json"),
            Err((code, words)) => EvidenceResult::failed(code, words),
        };
        let Ok(anchor) = canonical(&json!({ "path": wanted.file, "root_id": root_id })) else {
            return answer;
        };
        let evidence_ref = Some(EvidenceRef { uri: format!("dg+file://{root_id}/{}", wanted.file) });
        EvidenceResult { evidence_ref, ..answer.anchored("file_path_rooted", String::from_utf8_lossy(&anchor)) }
    }

    fn found(&self, wanted: &Wanted) -> Result<Value, Failed> {
        let path = match &wanted.jsonpath {
            Some(text) => Some(Path::read(text).map_err(|words| ("invalid_jsonpath", words))?),
            None => None,
        };
        let document = self.document(&wanted.file)?;
        let Some(path) = path else { return Ok(document) };
        path.find(&document).map_err(|missed| match missed {
            Missed::Nothing => ("jsonpath_not_found", "nothing in the file fits `jsonpath`".into()),
            Missed::TooMany => ("size_limit_exceeded", "too much of the file fits `jsonpath`".into()),
        })
    }

    fn document(&self, file: &str) -> Result<Value, Failed> {
        let yaml = is_yaml(file);
        if yaml && !self.settings.allow_yaml {
            return Err(("yaml_disabled", "YAML files are switched off for this provider".into()));
        }
        let bytes = self.bytes(file)?;
        if !yaml {
            let broken = |error: serde_json::Error| {
                // Its place is enough; its words might repeat the file's.
                ("invalid_json", format!("the file is not JSON: line {}, column {}", error.line(), error.column()))
            };
            return serde_json::from_slice(&bytes).map_err(broken);
        }
        let text = String::from_utf8(bytes).map_err(|_| ("invalid_yaml", "the file is not UTF-8".to_owned()))?;
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: 64, max_nodes: 100_000, max_documents: 1 },
            duplicate_keys: DuplicateKeyPolicy::Error,
            merge_keys: MergeKeyPolicy::Error,
            strict_booleans: true,
            non_finite_float_policy: NonFiniteFloatPolicy::Reject,
            with_snippet: false,
        };
        serde_saphyr::from_str_with_options::<Value>(&text, options)
            .map_err(|_| ("invalid_yaml", "the file is not YAML that can be read as JSON".into()))
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, Failed> {
        let outside = || ("path_outside_root", "`file` leads out of the root".to_owned());
        if path.starts_with(['/', '\\']) {
            return Err(("absolute_path_forbidden", "`file` must be relative to the root".into()));
        }
        if path.split(['/', '\\']).any(|step| step == "..") {
            return Err(outside());
        }
        if path.split('/').any(|step| step.is_empty() || step == ".") {
            return Err(("file_not_found", "`file` must be written without empty steps".into()));
        }
        let file = self.root.file(path).map_err(|unopened| match unopened {
            Unopened::Outside => outside(),
            Unopened::NotFound => ("file_not_found", "there is no such file".into()),
            Unopened::Unreadable(error) => ("file_unreadable", format!("the file cannot be read: {}", error.kind())),
        })?;
        let most = self.settings.max_bytes;
        let mut bytes = Vec::new();
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| ("file_unreadable", format!("the file cannot be read: {}", error.kind())))?;
        if bytes.len() as u64 > most {
            return Err(("size_limit_exceeded", format!("the file has more than {most} bytes")));
        }
        Ok(bytes)
    }
}

fn is_yaml(file: &str) -> bool {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("yaml" | "yml"))
}

#[cfg(test)]
mod tests;
