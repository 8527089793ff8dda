//! The policy directory: manifests, matrix and the judges' modes, loaded whole or not at all.
//!
//! Without a directory the shipped policies apply, which are the files of `policies/` built into the program. The
//! built-in tools' manifests apply even where a directory does not repeat them.

mod access;
mod chain;
mod dlp;
mod dlp_rules;
mod embedded;
mod injection;
mod manifests;
mod matrix;
mod promotion;
mod rules;
mod scan;
mod scenarios;
mod sql;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateway_core::chain::PluginMode;
use gateway_core::matrix::Matrix;
use gateway_core::policies::{ClassifiedTool, PromotionRules};
use gateway_core::ports::ManifestRow;
use gateway_core::rules::RuleSet;
use gateway_core::{Namespace, Policies};
use gateway_tools::supabase;
use serde_json::json;

use crate::config::{Config, Problem, Problems, nearest};
use access::AccessFiles;
pub use dlp::load_detectors;
use dlp_rules::DlpFiles;
pub use manifests::Beside;
use manifests::Manifests;
use rules::RuleFiles;
pub use scan::Scanning;
use scenarios::ScenarioFiles;
use sql::SqlFiles;

/// Large enough for thousands of tools; a larger file was put there by mistake.
const LARGEST_FILE: u64 = 4 << 20;
const TOP_LEVEL: [&str; 6] = ["matrix.yaml", "chain.yaml", "scan.yaml", "promotion.yaml", "dlp.yaml", "injection.yaml"];

/// What is read in each folder, by how its name ends.
const FOLDERS: [(&str, &[&str]); 6] = [
    ("access", &[".rego", "data.json"]),
    ("dlp", &[".yaml"]),
    ("manifests", &[".yaml"]),
    ("rules", &[".yaml"]),
    ("scenarios", &[".json"]),
    ("sql", &[".yaml"]),
];

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

/// Whose server answers to the name of the built-in one that an operator may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supabase {
    BuiltIn,
    /// Nothing is known of its tools but what the operator wrote: our manifests are of another server's.
    Configured,
}

impl Supabase {
    pub fn among<'a>(mut upstreams: impl Iterator<Item = &'a Namespace>) -> Self {
        match upstreams.any(|namespace| namespace.as_str() == supabase::NAMESPACE) {
            true => Self::Configured,
            false => Self::BuiltIn,
        }
    }
}

/// `None`: the shipped policies.
pub fn load_policies(dir: Option<&Path>) -> Result<LoadedPolicies, Vec<Problem>> {
    load(dir, Supabase::BuiltIn)
}

/// The policies of a configuration, for its upstreams.
pub fn load_for(config: &Config) -> Result<LoadedPolicies, Vec<Problem>> {
    load(config.policies.as_deref(), Supabase::among(config.upstreams.keys()))
}

/// What the configuration's file of this namespace says of its tools beside their manifests.
pub fn beside_manifests(config: &Config, namespace: &Namespace) -> Beside {
    let files = match config.policies.as_deref() {
        Some(dir) => files_of(dir, &mut Vec::new()),
        None => embedded::all(),
    };
    let file = files.iter().find(|file| file.within("manifests", ".yaml") == Some(namespace.as_str()));
    file.map(|file| Beside::of(&file.text)).unwrap_or_default()
}

/// Other policies than its own for the same upstreams.
pub fn load_other(dir: &Path, config: &Config) -> Result<LoadedPolicies, Vec<Problem>> {
    load(Some(dir), Supabase::among(config.upstreams.keys()))
}

fn load(dir: Option<&Path>, supabase: Supabase) -> Result<LoadedPolicies, Vec<Problem>> {
    let mut problems = Vec::new();
    let files = match dir {
        Some(dir) => files_of(dir, &mut problems),
        None => embedded::all(),
    };
    let loaded = read_files(&files, supabase, &mut problems);
    if problems.is_empty() { Ok(loaded) } else { Err(problems) }
}

/// The same from texts instead of a directory, each under the name it would have there.
pub fn load_texts(texts: BTreeMap<String, String>, supabase: Supabase) -> Result<LoadedPolicies, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut files = Vec::new();
    for (inside, text) in texts {
        let known = TOP_LEVEL.contains(&inside.as_str())
            || inside.split_once('/').is_some_and(|(folder, name)| {
                let endings = FOLDERS.iter().find(|(known, _)| *known == folder).map(|(_, endings)| *endings);
                !name.contains('/')
                    && endings.is_some_and(|endings| endings.iter().any(|ending| name.ends_with(ending)))
            });
        match known {
            true => files.push(PolicyFile { shown: inside.clone(), inside, text }),
            false => problems.push(Problem { file: inside, path: String::new(), what: "nothing reads this".into() }),
        }
    }
    with_built_in(&mut files);
    let loaded = read_files(&files, supabase, &mut problems);
    if problems.is_empty() { Ok(loaded) } else { Err(problems) }
}

fn with_built_in(files: &mut Vec<PolicyFile>) {
    let missing = |built_in: &PolicyFile| !files.iter().any(|file| file.inside == built_in.inside);
    let built_in: Vec<_> = embedded::built_in().into_iter().filter(missing).collect();
    files.extend(built_in);
}

/// One file on its way: where it was found, what it is called inside the directory, and its text.
struct PolicyFile {
    shown: String,
    /// `matrix.yaml`, or `manifests/notes.yaml`.
    inside: String,
    text: String,
}

impl PolicyFile {
    /// The name of a file of this folder, without this ending.
    fn within(&self, folder: &str, ending: &str) -> Option<&str> {
        self.inside.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(ending)
    }
}

fn read_files(files: &[PolicyFile], supabase: Supabase, problems: &mut Vec<Problem>) -> LoadedPolicies {
    // Before the others: manifests name them.
    let mut scenarios = ScenarioFiles::default();
    for file in files {
        if let Some(id) = file.within("scenarios", ".json") {
            let mut told = Problems::of(file.shown.as_str());
            scenarios.read_file(id, &file.text, &mut told);
            problems.extend(told.into_found());
        }
    }
    let mut manifests = Manifests::knowing(&scenarios);
    let mut matrix = Matrix::standard();
    let mut modes = BTreeMap::new();
    let mut scanning = Scanning::default();
    let mut promotion = PromotionRules::default();
    let mut injection = None;
    let (mut rules, mut access) = (RuleFiles::default(), AccessFiles::default());
    let (mut sql, mut dlp) = (SqlFiles::default(), DlpFiles::default());
    for file in files {
        let mut told = Problems::of(file.shown.as_str());
        match file.inside.as_str() {
            "matrix.yaml" => matrix = matrix::read_matrix(&file.text, &mut told).unwrap_or(matrix),
            "scan.yaml" => scanning = Scanning::read_file(&file.text, &mut told),
            "dlp.yaml" => dlp.read_settings(&file.text, &file.shown, &mut told),
            "chain.yaml" => modes = chain::read_modes(&file.text, &mut told),
            "promotion.yaml" => promotion = promotion::read_promotion(&file.text, &mut told).unwrap_or(promotion),
            "injection.yaml" => injection = injection::read_injection(&file.text, &mut told),
            "access/data.json" => access.add_data(&file.text, &mut told),
            inside => {
                if let Some(namespace) = file.within("manifests", ".yaml") {
                    manifests.read_file(namespace, &file.text, &mut told);
                } else if file.within("dlp", ".yaml").is_some() {
                    dlp.read_detectors(&file.text, &file.shown, &mut told);
                } else if file.within("rules", ".yaml").is_some() {
                    rules.read_file(inside, &file.text, &mut told);
                } else if let Some(dialect) = file.within("sql", ".yaml") {
                    sql.read_file(dialect, &file.text, &mut told);
                } else if let Some(name) = file.within("access", ".rego") {
                    access.add_module(name, &file.text, &file.shown);
                }
            }
        }
        problems.extend(told.into_found());
    }
    if supabase == Supabase::BuiltIn {
        let mut told = Problems::of("(built in) manifests/supabase.yaml");
        manifests.fill_in(supabase::NAMESPACE, supabase::MANIFESTS, &mut told);
        problems.extend(told.into_found());
    }
    let access = access.compile(problems);
    let tools = manifests.tools.into_iter().map(|(name, tool)| (name, Arc::new(tool)));
    let policies = Policies::new(tools, matrix).with_scenarios(scenarios.into_all());
    let policies = policies.with_rules(RuleSet::compile(rules.policies), access);
    let policies = policies.with_scan(scanning.rules()).with_promotion(promotion).with_sql(sql.reader());
    let mut policies = policies.with_injection(injection.unwrap_or_else(injection::shipped));
    if let Some(dlp) = dlp.compile(problems) {
        policies = policies.with_dlp(dlp);
    }
    let policies = policies.with_modes(modes.iter().map(|(plugin, mode)| (plugin.as_str(), *mode)));
    LoadedPolicies { policies, modes, scanning }
}

/// A tenant's manifest, read by the same rules as a file that holds nothing else.
pub fn read_manifest(row: &ManifestRow) -> Result<ClassifiedTool, String> {
    let beside = |part: &Option<serde_json::Value>| match part {
        Some(part) => json!({ row.tool.as_str(): part }),
        None => json!({}),
    };
    let (handling, metadata) = (beside(&row.handling), beside(&row.metadata));
    let file = json!({ "manifests": [row.manifest], "handling": handling, "metadata": metadata }).to_string();
    let (mut manifests, mut told) = (Manifests::default(), Problems::of(""));
    manifests.read_file(row.tool.namespace(), &file, &mut told);
    if let Some(Problem { path, what, .. }) = told.into_found().into_iter().next() {
        return Err(format!("{}: {what}", path.trim_start_matches("manifests[0].")));
    }
    manifests.tools.remove(&row.tool).ok_or_else(|| format!("id: must be `{}`", row.tool))
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
    for (folder, endings) in FOLDERS {
        let inside = dir.join(folder);
        if !inside.exists() {
            continue;
        }
        for (path, name) in entries(&inside, &mut told) {
            if endings.iter().any(|ending| name.ends_with(ending)) {
                files.extend(read_file(&path, format!("{folder}/{name}"), problems));
            } else if is_yaml(&name) || name.ends_with(".rego") || name.ends_with(".json") {
                told.say("", format!("nothing reads `{folder}/{name}`; call it `{}`", endings.join("` or `")));
            }
        }
    }
    problems.extend(told.into_found());
    with_built_in(&mut files);
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
