//! The policy directory: manifests, matrix and the judges' modes, loaded whole or not at all.
//!
//! Without a directory the shipped policies apply, which are the files of `policies/` built into the program. The
//! built-in tools' manifests apply even where a directory does not repeat them.

mod chain;
mod embedded;
mod manifests;
mod matrix;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateway_core::Policies;
use gateway_core::chain::PluginMode;
use gateway_core::matrix::Matrix;

use crate::config::{Problem, Problems, nearest};
use manifests::Manifests;
use scan::Scanning;

/// Large enough for thousands of tools; a larger file was put there by mistake.
const LARGEST_FILE: u64 = 4 << 20;
const TOP_LEVEL: [&str; 3] = ["matrix.yaml", "chain.yaml", "scan.yaml"];

/// Everything the directory says.
#[derive(Debug, Clone)]
pub struct LoadedPolicies {
    pub policies: Policies,
    /// Judges that the operator gave a mode; the others enforce.
    pub modes: BTreeMap<String, PluginMode>,
    pub scanning: Scanning,
}

impl LoadedPolicies {
    pub fn mode(&self, plugin: &str) -> PluginMode {
        self.modes.get(plugin).copied().unwrap_or_default()
    }
}

/// `None`: the shipped policies.
pub fn load_policies(dir: Option<&Path>) -> Result<LoadedPolicies, Vec<Problem>> {
    let mut problems = Vec::new();
    let files = match dir {
        Some(dir) => files_of(dir, &mut problems),
        None => embedded::all(),
    };
    let loaded = read_files(&files, &mut problems);
    if problems.is_empty() { Ok(loaded) } else { Err(problems) }
}

/// One file on its way: where it was found, what it is called inside the directory, and its text.
struct PolicyFile {
    shown: String,
    /// `matrix.yaml`, or `manifests/notes.yaml`.
    inside: String,
    text: String,
}

impl PolicyFile {
    fn namespace(&self) -> Option<&str> {
        self.inside.strip_prefix("manifests/")?.strip_suffix(".yaml")
    }
}

fn read_files(files: &[PolicyFile], problems: &mut Vec<Problem>) -> LoadedPolicies {
    let mut manifests = Manifests::default();
    let mut matrix = Matrix::standard();
    let mut modes = BTreeMap::new();
    let mut scanning = Scanning::default();
    for file in files {
        let mut told = Problems::of(file.shown.as_str());
        match (file.inside.as_str(), file.namespace()) {
            ("matrix.yaml", _) => matrix = matrix::read_matrix(&file.text, &mut told).unwrap_or(matrix),
            ("scan.yaml", _) => scanning = Scanning::read_file(&file.text, &mut told),
            ("chain.yaml", _) => modes = chain::read_modes(&file.text, &mut told),
            (_, Some(namespace)) => manifests.read_file(namespace, &file.text, &mut told),
            _ => {}
        }
        problems.extend(told.into_found());
    }
    let tools = manifests.tools.into_iter().map(|(name, tool)| (name, Arc::new(tool)));
    let policies = Policies::new(tools, matrix).with_scan(scanning.rules());
    LoadedPolicies { policies, modes, scanning }
}

/// Every file that means something, in the order of their names. A file that looks like a policy and would be ignored is
/// a problem: its author believes that it applies.
fn files_of(dir: &Path, problems: &mut Vec<Problem>) -> Vec<PolicyFile> {
    let mut told = Problems::of(dir.display().to_string());
    let mut files = Vec::new();
    for (path, name) in entries(dir, &mut told) {
        if TOP_LEVEL.contains(&name.as_str()) {
            files.extend(read_file(&path, name, problems));
        } else if is_yaml(&name) {
            let hint = nearest(&name, TOP_LEVEL).map_or(String::new(), |likely| format!("; did you mean `{likely}`?"));
            told.say("", format!("nothing reads `{name}`{hint}"));
        }
    }
    let manifests = dir.join("manifests");
    if manifests.exists() {
        for (path, name) in entries(&manifests, &mut told) {
            if name.ends_with(".yaml") {
                files.extend(read_file(&path, format!("manifests/{name}"), problems));
            } else if is_yaml(&name) {
                told.say("", format!("nothing reads `manifests/{name}`; call it `.yaml`"));
            }
        }
    }
    problems.extend(told.into_found());
    let missing = |built_in: &PolicyFile| !files.iter().any(|file| file.inside == built_in.inside);
    let built_in: Vec<_> = embedded::built_in_tools().into_iter().filter(missing).collect();
    files.extend(built_in);
    files
}

fn is_yaml(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with(".yaml") || lower.ends_with(".yml")
}

/// The plain files of a directory, hidden ones left out.
fn entries(dir: &Path, told: &mut Problems) -> Vec<(PathBuf, String)> {
    let listed = match std::fs::read_dir(dir) {
        Ok(listed) => listed,
        Err(error) => {
            told.say("", format!("cannot be read as a directory of policies: {error}"));
            return Vec::new();
        }
    };
    let named = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
        // Followed through symbolic links, which is how configuration is mounted into containers.
        entry.path().is_file().then(|| (entry.path(), name))
    };
    let mut found: Vec<_> = listed.filter_map(Result::ok).filter_map(named).collect();
    found.sort();
    found
}

fn read_file(path: &Path, inside: String, problems: &mut Vec<Problem>) -> Option<PolicyFile> {
    let shown = path.display().to_string();
    let size = std::fs::metadata(path).map_or(0, |data| data.len());
    let text = match size {
        size if size > LARGEST_FILE => Err(format!("is {size} bytes long; policies have at most {LARGEST_FILE}")),
        _ => std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}")),
    };
    match text {
        Ok(text) => Some(PolicyFile { shown, inside, text }),
        Err(what) => {
            problems.push(Problem { file: shown, path: String::new(), what });
            None
        }
    }
}
