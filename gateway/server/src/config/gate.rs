//! The Decision Gate's settings, sound.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use gateway_core::Namespace;
use gateway_core::gate::dispatch::DispatchRules;
use gateway_core::gate::policies::{AnchorRules, Disclosure};

use super::UpstreamConfig;
use super::problem::Problems;

#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Where some of this was written.
    pub file: Option<PathBuf>,
    /// Packs lie below these; relative ones below the first.
    pub runpacks: Vec<PathBuf>,
    pub disclosure: Disclosure,
    pub anchors: AnchorRules,
    pub dispatch: DispatchRules,
    pub lexicographic: bool,
    pub deep_equals: bool,
    pub providers: Vec<GateProvider>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GateProvider {
    pub name: String,
    pub source: EvidenceSource,
    /// Key files by their ids; `None`: its word is taken as it comes.
    pub keys: Option<BTreeMap<String, PathBuf>>,
    pub allow_raw: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EvidenceSource {
    Time {
        allow_logical: bool,
    },
    Environment {
        allowlist: BTreeSet<String>,
        denylist: BTreeSet<String>,
        overrides: Option<BTreeMap<String, String>>,
    },
    Files {
        root: PathBuf,
        root_id: String,
        max_bytes: u64,
        allow_yaml: bool,
    },
    Web {
        allowed_hosts: BTreeSet<String>,
        allow_http: bool,
        timeout: Duration,
        max_response_bytes: usize,
    },
    Adp,
    /// An MCP server that nobody is shown.
    Server {
        namespace: Namespace,
        upstream: Box<UpstreamConfig>,
        capabilities: PathBuf,
        newer: bool,
    },
}

impl Gate {
    /// What is named and not there.
    pub(super) fn missing(&self, problems: &mut Problems) {
        for (place, provider) in self.providers.iter().enumerate() {
            let at = format!("gate.providers[{place}]");
            for (id, file) in provider.keys.iter().flatten().filter(|(_, file)| !file.is_file()) {
                problems.say(format!("{at}.trust"), format!("key `{id}`: there is no file `{}`", file.display()));
            }
            match &provider.source {
                EvidenceSource::Files { root, .. } if !root.is_dir() => {
                    problems.say(format!("{at}.config.root"), format!("there is no directory `{}`", root.display()));
                }
                EvidenceSource::Server { capabilities, .. } if !capabilities.is_file() => {
                    let what = format!("there is no file `{}`", capabilities.display());
                    problems.say(format!("{at}.capabilities"), what);
                }
                _ => {}
            }
        }
    }
}
