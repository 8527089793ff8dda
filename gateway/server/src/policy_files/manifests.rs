//! `manifests/<namespace>.yaml`: the five fields of each tool, and beside them how its calls are handled.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::dlp::DlpHandling;
use gateway_core::gate::Scenario;
use gateway_core::injection::InjectionAction;
use gateway_core::manifest::GOVERNANCE;
use gateway_core::policies::{ClassifiedTool, Handling, Raise, SqlArgument, ToolMetadata};
use gateway_core::rules::Condition;
use gateway_core::sql::SqlHandling;
use gateway_core::{Classification, DecisionType, Namespace, Reversibility, Risk, RiskLevel, ToolManifest, ToolName};
use serde::Deserialize;
use serde_json::Value;

use super::scenarios::{self, ScenarioFiles};
use crate::config::{BUILT_IN, Problems, nearest, parse, read};

/// What changes what agents may do is decided by people.
const SELF_MODIFYING: Classification =
    Classification { decision_type: DecisionType::D4, risk: Risk::R3, reversibility: Reversibility::Partial };

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
    classification: Option<Classification>,
    /// What kind of act a call is, for policies.
    action_type: Option<String>,
    /// It changes what agents may do: D4, whatever its level.
    self_modifying: bool,
    /// Which argument is SQL, or `off`; a call counts as what its statements do.
    sql: Option<Value>,
    /// Read one by one, like manifests.
    raise: Vec<Value>,
    /// What policies know an argument by, and where it is.
    context: BTreeMap<String, String>,
    /// What is done about personal data and secrets.
    dlp: DlpHandling,
    /// Whether arguments and results are held against its schemas.
    schema: Switch,
    /// What happens to answers of it that read like instructions.
    injection: Option<InjectionAction>,
    /// The run that must be where it says before a call may pass.
    gate: Option<Value>,
}

/// `on` or `off`; readers of YAML differ in whether these are words or truths.
#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(try_from = "Value")]
enum Switch {
    #[default]
    On,
    Off,
}

impl TryFrom<Value> for Switch {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, &'static str> {
        match value {
            Value::Bool(true) => Ok(Self::On),
            Value::Bool(false) => Ok(Self::Off),
            Value::String(word) if word == "on" => Ok(Self::On),
            Value::String(word) if word == "off" => Ok(Self::Off),
            _ => Err("must be `on` or `off`"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRaise {
    when: Value,
    to: RiskLevel,
    #[serde(default)]
    classification: Option<Classification>,
}

/// What stands beside the manifests of one file, tool by tool and as it is written.
#[derive(Default)]
pub struct Beside {
    pub handling: BTreeMap<String, Value>,
    pub metadata: BTreeMap<String, Value>,
}

impl Beside {
    /// Of a file that could be loaded: what is wrong with it is told elsewhere.
    pub fn of(text: &str) -> Self {
        let mut told = Problems::of("");
        let written: Option<WrittenFile> = parse(text, &mut told).and_then(|tree| read(tree, "", &mut told));
        let WrittenFile { handling, metadata, .. } = written.unwrap_or_default();
        Self { handling, metadata }
    }
}

/// The tools of all files read so far.
#[derive(Default)]
pub struct Manifests {
    pub tools: BTreeMap<ToolName, ClassifiedTool>,
    /// Those that a gate may name without their hash.
    scenarios: BTreeMap<String, Arc<Scenario>>,
}

impl Manifests {
    pub fn knowing(scenarios: &ScenarioFiles) -> Self {
        Self { tools: BTreeMap::new(), scenarios: scenarios.all().clone() }
    }

    /// The same for tools of the gateway's own: what an operator's file says of one of them comes first.
    pub fn fill_in(&mut self, namespace: &str, text: &str, problems: &mut Problems) {
        let mut own = Self { tools: BTreeMap::new(), scenarios: self.scenarios.clone() };
        own.read_file(namespace, text, problems);
        for (id, tool) in own.tools {
            self.tools.entry(id).or_insert(tool);
        }
    }

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
                let mut wanted = handling.classification;
                if let (Some(manifest), Some(wanted)) = (manifest, wanted) {
                    check_raises(manifest, wanted, &path, problems);
                }
                if handling.self_modifying {
                    wanted = Some(wanted.map_or(SELF_MODIFYING, |wanted| wanted.raised_to(SELF_MODIFYING)));
                }
                let handled = soundly(handling, manifest, &self.scenarios, &path, problems);
                raised.insert(id, (wanted, handled));
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
            let (classification, handling) = raised.remove(manifest.id.as_str()).unwrap_or_default();
            let id = manifest.id.clone();
            let tool = ClassifiedTool::new(manifest, classification);
            let tool = tool.described(described.remove(id.as_str())).handled(handling);
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

/// The handling without what could be wrong in it.
fn soundly(
    written: WrittenHandling,
    manifest: Option<&ToolManifest>,
    scenarios: &BTreeMap<String, Arc<Scenario>>,
    path: &str,
    problems: &mut Problems,
) -> Handling {
    let mut raises = Vec::new();
    for (place, tree) in written.raise.into_iter().enumerate() {
        let at = format!("{path}.raise[{place}]");
        let Some(WrittenRaise { when, to, classification }) = read::<WrittenRaise>(tree, &at, problems) else {
            continue;
        };
        if let Some(level) = manifest.map(|manifest| manifest.risk_level).filter(|level| to <= *level) {
            problems
                .say(format!("{at}.to"), format!("{to} is no higher than {level}, which every call of it is already"));
        }
        match Condition::compile(&when, &format!("{at}.when")) {
            Ok(when) => raises.push(Raise { when, to, classification }),
            Err(error) => problems.say(error.field, error.what),
        }
    }
    if written.action_type.as_ref().is_some_and(|kind| kind.trim().is_empty()) {
        problems.say(format!("{path}.action_type"), "must not be empty");
    }
    for (key, argument) in &written.context {
        if key.trim().is_empty() || argument.split('.').any(|step| step.trim().is_empty()) {
            problems.say(format!("{path}.context.{key}"), "must name an argument, as `total` or `total.value`");
        }
    }
    let sql = written.sql.map_or(SqlHandling::Unsaid, |sql| read_sql(sql, &format!("{path}.sql"), problems));
    let gate = written.gate.and_then(|gate| {
        let at = format!("{path}.gate");
        if manifest.is_some_and(ToolManifest::governs) {
            problems.say(&at, "no gate stands before the gateway's own tools: they are what opens it");
        }
        scenarios::binding(gate, scenarios, &at, problems).map(Arc::new)
    });
    let WrittenHandling { action_type, self_modifying, context, dlp, schema, injection, .. } = written;
    let schema_off = schema == Switch::Off;
    Handling { action_type, raises, sql, context, self_modifying, dlp, schema_off, injection, gate }
}

/// `off` (which YAML may read as false), or which arguments it is. What cannot be read stays what is found by name.
fn read_sql(written: Value, path: &str, problems: &mut Problems) -> SqlHandling {
    if written == "off" || written == false {
        return SqlHandling::Off;
    }
    let Some(sql) = read::<SqlArgument>(written, path, problems) else { return SqlHandling::Unsaid };
    if let Some(what) = sql.argument.problem() {
        problems.say(format!("{path}.argument"), what);
    }
    for (field, names) in
        [("allowed_tables", sql.allowed_tables.as_deref().unwrap_or_default()), ("functions", &sql.functions)]
    {
        for (place, _) in names.iter().enumerate().filter(|(_, name)| name.trim().is_empty()) {
            problems.say(format!("{path}.{field}[{place}]"), "must not be empty");
        }
    }
    SqlHandling::Argument(sql)
}
