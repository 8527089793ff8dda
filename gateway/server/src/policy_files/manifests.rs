//! `manifests/<namespace>.yaml`: the five fields of each tool, and beside them how its calls are handled.

use std::collections::BTreeMap;

use gateway_core::manifest::GOVERNANCE;
use gateway_core::policies::{ClassifiedTool, ToolMetadata};
use gateway_core::{Classification, Namespace, ToolManifest, ToolName};
use serde::Deserialize;
use serde_json::Value;

use crate::config::{BUILT_IN, Problems, nearest, parse, read};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WrittenFile {
    /// Read one by one, so that a fault in one does not hide the faults of the others.
    manifests: Vec<Value>,
    handling: BTreeMap<String, Value>,
    metadata: BTreeMap<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WrittenHandling {
    /// Checked here so that a mistake shows now; the SQL guard is who will read it.
    sql: Option<WrittenSql>,
    classification: Option<Classification>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSql {
    argument: String,
    #[serde(rename = "dialect")]
    _dialect: Dialect,
    /// Absent: any table.
    allowed_tables: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dialect {
    Postgres,
    Sqlite,
    Mysql,
    Generic,
}

/// The tools of all files read so far.
#[derive(Default)]
pub struct Manifests {
    pub tools: BTreeMap<ToolName, ClassifiedTool>,
}

impl Manifests {
    pub fn read_file(&mut self, namespace: &str, text: &str, problems: &mut Problems) {
        if let Err(error) = namespace.parse::<Namespace>() {
            problems.say("", format!("is named after a namespace, and {error}"));
        }
        let Some(tree) = parse(text, problems) else { return };
        let written: WrittenFile = read(tree, "", problems).unwrap_or_default();
        let mut here: Vec<(ToolManifest, String)> = Vec::new();
        let mut unread = false;
        for (place, tree) in written.manifests.into_iter().enumerate() {
            let path = format!("manifests[{place}]");
            match read::<ToolManifest>(tree, &path, problems) {
                Some(manifest) => here.push((manifest, path)),
                None => unread = true,
            }
        }
        let mut raised = BTreeMap::new();
        for (id, tree) in written.handling {
            let path = format!("handling.{id}");
            let manifest = manifest_of(&id, &here, unread, &path, problems);
            if let Some(handling) = read::<WrittenHandling>(tree, &path, problems) {
                check_sql(handling.sql.as_ref(), &path, problems);
                if let (Some(manifest), Some(wanted)) = (manifest, handling.classification) {
                    check_raises(manifest, wanted, &path, problems);
                    raised.insert(id, wanted);
                }
            }
        }
        let mut described = BTreeMap::new();
        for (id, tree) in written.metadata {
            let path = format!("metadata.{id}");
            manifest_of(&id, &here, unread, &path, problems);
            if let Some(metadata) = read::<ToolMetadata>(tree, &path, problems) {
                check_metadata(&metadata, &path, problems);
                described.insert(id, metadata);
            }
        }
        for (manifest, path) in here {
            check_manifest(&manifest, namespace, &path, problems);
            let classification = raised.get(manifest.id.as_str()).copied();
            let id = manifest.id.clone();
            let tool = ClassifiedTool::new(manifest, classification).described(described.remove(id.as_str()));
            if self.tools.insert(id.clone(), tool).is_some() {
                problems.say(format!("{path}.id"), format!("`{id}` has a manifest already"));
            }
        }
    }
}

/// The manifest that a section beside them is about.
fn manifest_of<'a>(
    id: &str,
    here: &'a [(ToolManifest, String)],
    unread: bool,
    path: &str,
    problems: &mut Problems,
) -> Option<&'a ToolManifest> {
    let found = here.iter().map(|(manifest, _)| manifest).find(|manifest| manifest.id.as_str() == id);
    // The manifest it belongs to may be one of those that could not be read.
    if found.is_none() && !unread {
        let known = here.iter().map(|(manifest, _)| manifest.id.as_str());
        let hint = nearest(id, known).map_or(String::new(), |likely| format!("; did you mean `{likely}`?"));
        problems.say(path, format!("no manifest in this file has this id{hint}"));
    }
    found
}

fn check_metadata(metadata: &ToolMetadata, path: &str, problems: &mut Problems) {
    for (key, text) in [("category", &metadata.category), ("description", &metadata.description)] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            problems.say(format!("{path}.{key}"), "must not be empty");
        }
    }
    for (place, tag) in metadata.tags.iter().enumerate() {
        if tag.trim().is_empty() {
            problems.say(format!("{path}.tags[{place}]"), "must not be empty");
        }
    }
}

fn check_manifest(manifest: &ToolManifest, namespace: &str, path: &str, problems: &mut Problems) {
    let id = &manifest.id;
    if id.namespace() != namespace {
        let what = format!("`{id}` belongs in manifests/{}.yaml; this file is for `{namespace}/...`", id.namespace());
        problems.say(format!("{path}.id"), what);
    }
    // Governance tools are not gated by mode: claimed by an upstream, the word would open its door to every agent.
    if manifest.domain == GOVERNANCE && !BUILT_IN.contains(&id.namespace()) {
        problems.say(
            format!("{path}.domain"),
            format!("`{GOVERNANCE}` is for the built-in tools of {}", BUILT_IN.join(" and ")),
        );
    }
    for found in manifest.contradictions() {
        problems.say(format!("{path}.{}", found.field), found.what);
    }
}

/// A policy may call a tool worse than its risk level does, never better.
fn check_raises(manifest: &ToolManifest, wanted: Classification, path: &str, problems: &mut Problems) {
    let (level, least) = (manifest.risk_level, manifest.risk_level.classification());
    let mut lower = |axis: &str, wanted: &str, least: &str, is_lower: bool| {
        if is_lower {
            let what = format!("{wanted} is below {least}, the least a {level} tool counts as; it may only be raised");
            problems.say(format!("{path}.classification.{axis}"), what);
        }
    };
    let kind = (wanted.decision_type, least.decision_type);
    lower("decision_type", kind.0.as_str(), kind.1.as_str(), kind.0 < kind.1);
    lower("risk", wanted.risk.as_str(), least.risk.as_str(), wanted.risk < least.risk);
    let back = (wanted.reversibility, least.reversibility);
    lower("reversibility", back.0.as_str(), back.1.as_str(), back.0 < back.1);
}

fn check_sql(sql: Option<&WrittenSql>, path: &str, problems: &mut Problems) {
    let Some(sql) = sql else { return };
    if sql.argument.trim().is_empty() {
        problems.say(format!("{path}.sql.argument"), "must name the argument that holds the SQL");
    }
    for (place, table) in sql.allowed_tables.iter().flatten().enumerate() {
        if table.trim().is_empty() {
            problems.say(format!("{path}.sql.allowed_tables[{place}]"), "must not be empty");
        }
    }
}
