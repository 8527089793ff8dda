//! `manifest suggest`: asks a live upstream for its tools and drafts the manifest file an operator would start from.
//!
//! The draft follows what the server says of its own tools, which is a hint and not a fact: it is printed, or written where
//! somebody says. A hint may raise what is in force already and never lowers it; of a server that is not `trusted` it lowers
//! nothing at all.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

use gateway_core::manifest::{Suggested, suggested};
use gateway_core::ports::ToolDefinition;
use gateway_core::{Classification, Namespace, Policies, Principal, RiskLevel, ToolManifest, ToolName};
use gateway_upstream::{Commons, list_tools};
use serde_json::{Value, json};

use super::Failure;
use super::manifest::SuggestArgs;
use super::output::{plain, print};
use crate::config::Config;
use crate::policy_files::{Beside, beside_manifests, load_for};

pub async fn run(args: &SuggestArgs) -> Result<(), Failure> {
    let config = args.place.config()?;
    let Some(upstream) = config.upstreams.get(&args.namespace) else {
        let known: Vec<_> = config.upstreams.keys().map(Namespace::as_str).collect();
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        return Err(Failure::new(format!("the configuration has no upstream `{}`; it has {known}", args.namespace)));
    };
    refuse_emptied(&config, &args.namespace)?;
    let server =
        crate::compose::transport_for(&args.namespace, upstream, &config, upstream.timeout, &Commons::default())
            .map_err(|error| Failure::of(&error))?;
    let principal = Arc::new(Principal::anonymous());
    let tools = list_tools(&*server, &args.namespace, &principal).await.map_err(|error| Failure::of(&error))?;
    let loaded = load_for(&config)?;
    let beside = beside_manifests(&config, &args.namespace);
    let draft = draft(&args.namespace, &tools, &loaded.policies, &beside, upstream.trusted);
    let Some(out) = &args.out else { return print(draft.trim_end()) };
    put(out, &draft).map_err(|error| Failure::new(format!("`{}` cannot be written: {error}", out.display())))?;
    eprintln!("{} tools drafted in {}: read it before it is served", tools.len(), out.display());
    Ok(())
}

/// A shell's `>` empties the file before anybody reads it. What stood there is gone, and a draft made without it would look
/// as if nothing had ever been decided.
fn refuse_emptied(config: &Config, namespace: &Namespace) -> Result<(), Failure> {
    let Some(dir) = &config.policies else { return Ok(()) };
    let file = dir.join("manifests").join(format!("{namespace}.yaml"));
    if fs::metadata(&file).is_ok_and(|data| data.len() == 0) {
        let what = format!("`{}` is empty, so what was decided of these tools cannot be kept", file.display());
        let hint = "`>` empties a file before it is read: put the old one back, or remove it if there was none, and use `--out FILE`";
        return Err(Failure::new(what).with_hint(hint));
    }
    Ok(())
}

/// The old text or the new one, never half of it. Hidden until it is whole, so that nobody loads it as a policy.
fn put(out: &Path, text: &str) -> io::Result<()> {
    // Through a symbolic link, the file that it names is the one to replace.
    let out = &fs::canonicalize(out).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(out.to_owned()),
        _ => Err(error),
    })?;
    let name =
        out.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it is not the name of a file"))?;
    if out.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    let whole = out.with_file_name(format!(".{}.{}", name.to_string_lossy(), uuid::Uuid::new_v4().simple()));
    let written = write_new(&whole, out, text).and_then(|()| fs::rename(&whole, out));
    if written.is_err() {
        let _ = fs::remove_file(&whole);
    }
    written
}

fn write_new(whole: &Path, out: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(whole)?;
    // Whoever could read the old file can read the new one.
    if let Ok(old) = fs::metadata(out) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn draft(
    namespace: &Namespace,
    tools: &[ToolDefinition],
    policies: &Policies,
    beside: &Beside,
    trusted: bool,
) -> String {
    let mut manifests = String::new();
    let mut handling = String::new();
    for tool in tools {
        let Suggested { manifest, classification, notes } = suggested(
            &tool.name,
            tool.definition.get("annotations"),
            policies.tool(&tool.name).map(|known| &**known),
            trusted,
        );
        let about = tool.definition.get("description").and_then(Value::as_str).map(comment);
        manifests += &entry(&manifest, about.into_iter().chain(notes));
        handling += &handled(tool, &manifest, classification, beside);
    }
    // What is known of a tool that the server does not show now is still what somebody decided about it.
    let is_listed = |name: &ToolName| tools.iter().any(|tool| tool.name == *name);
    let own = policies.tools.iter().filter(|(name, _)| name.namespace() == namespace.as_str());
    for (name, known) in own.filter(|(name, _)| !is_listed(name)) {
        manifests += &entry(&known.manifest, ["the server does not list it".to_owned()]);
        if let Some(written) = beside.handling.get(name.as_str()) {
            handling += &said(name.as_str(), written);
        }
    }
    let is_known = |name: &str| tools.iter().any(|tool| tool.name.as_str() == name) || is_own(policies, name);
    let metadata = beside.metadata.iter().filter(|(name, _)| is_known(name));
    let metadata: String = metadata.map(|(name, written)| said(name, written)).collect();
    let manifests = if manifests.is_empty() { "manifests: []\n".into() } else { format!("manifests:\n{manifests}") };
    let section = |name: &str, lines: String| if lines.is_empty() { lines } else { format!("{name}:\n{lines}") };
    format!("{}{manifests}{}{}", heading(namespace), section("handling", handling), section("metadata", metadata))
}

fn is_own(policies: &Policies, name: &str) -> bool {
    name.parse().is_ok_and(|name| policies.tool(&name).is_some())
}

fn entry(manifest: &ToolManifest, notes: impl IntoIterator<Item = String>) -> String {
    let notes: String = notes.into_iter().map(|note| format!("  # {note}\n")).collect();
    let modes: Vec<_> = manifest.allowed_modes.iter().map(|mode| mode.as_str()).collect();
    format!(
        "{notes}  - id: {}\n    domain: {}\n    risk_level: {}\n    side_effects: {}\n    allowed_modes: [{}]\n",
        scalar(manifest.id.as_str()),
        scalar(&manifest.domain),
        manifest.risk_level,
        manifest.side_effects,
        modes.join(", "),
    )
}

/// What was written of the tool's calls, and what its hints add.
fn handled(tool: &ToolDefinition, manifest: &ToolManifest, found: Classification, beside: &Beside) -> String {
    let mut written = beside.handling.get(tool.name.as_str()).cloned().unwrap_or_else(|| json!({}));
    let Some(fields) = written.as_object_mut() else { return String::new() };
    // Only what is stricter than the risk level needs saying, and only that may be said.
    let least = manifest.risk_level.classification();
    let raised = least.raised_to(found);
    fields.remove("classification");
    if raised != least {
        let Classification { decision_type, risk, reversibility } = raised;
        let raised = json!({"decision_type": decision_type, "risk": risk, "reversibility": reversibility});
        fields.insert("classification".into(), raised);
    }
    // Where every call counts as that much already, nothing raises one to it.
    if let Some(raises) = fields.get_mut("raise").and_then(Value::as_array_mut) {
        let to = |raise: &Value| raise.get("to").and_then(Value::as_str).and_then(|to| to.parse::<RiskLevel>().ok());
        raises.retain(|raise| to(raise).is_none_or(|to| to > manifest.risk_level));
    }
    // What is sent to the open world leaves the house, unless somebody said that it does not.
    if tool.definition.pointer("/annotations/openWorldHint").and_then(Value::as_bool).unwrap_or(true) {
        let dlp = fields.entry("dlp").or_insert_with(|| json!({}));
        if let Some(dlp) = dlp.as_object_mut() {
            dlp.entry("egress").or_insert(true.into());
        }
    }
    said(tool.name.as_str(), &written)
}

/// One tool's part of a section, a line for each of its fields.
fn said(name: &str, written: &Value) -> String {
    let fields = written.as_object().into_iter().flatten();
    let lines: String = fields.map(|(key, value)| format!("    {}: {value}\n", scalar(key))).collect();
    if lines.is_empty() { lines } else { format!("  {}:\n{lines}", scalar(name)) }
}

fn heading(namespace: &Namespace) -> String {
    format!(
        "# A draft of policies/manifests/{namespace}.yaml, made from the hints that the server `{namespace}` gives of its own tools.\n\
         # They are hints, not facts: a server may be wrong or lie. Read each tool, correct its risk level, then save the file.\n\
         # A tool that gave no hint counts as HIGH_WRITE; one that reaches the open world counts as at least R2, and personal data\n\
         # and secrets are masked on their way to it. Nothing is below what is in force now, and a server that is not marked\n\
         # `trusted` in the configuration lowers nothing.\n"
    )
}

/// Plain where YAML has no second thoughts about it, quoted otherwise.
fn scalar(text: &str) -> String {
    let simple = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    if text.chars().all(simple) { text.to_owned() } else { Value::from(text).to_string() }
}

/// The first words of a description. It comes from the server: it must not be able to end the comment.
fn comment(text: &str) -> String {
    const LONGEST: usize = 100;
    let line = plain(text);
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", words.get(..cut).unwrap_or_default()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::policy_files::load_policies;
    use gateway_core::AgentMode;
    fn load(draft: &str) -> Policies {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("manifests")).unwrap();
        fs::write(dir.path().join("manifests/notes.yaml"), draft).unwrap();
        load_policies(Some(dir.path())).unwrap_or_else(|problems| panic!("{problems:?}\n{draft}")).policies
    }

    // `>` would have emptied it first: with `--out` the file is read, and then replaced whole.
    #[test]
    fn a_draft_takes_the_place_of_the_file_it_was_drafted_from() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("notes.yaml"), dir.path().join("link.yaml"));
        put(&file, "manifests: []\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        put(&link, "manifests:\n").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "manifests:\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(put(&dir.path().join("absent/notes.yaml"), "").is_err());
        assert!(put(dir.path(), "").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left lying about");
    }

    #[test]
    fn an_emptied_file_is_not_drafted_over() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("pol/manifests");
        fs::create_dir_all(&place).unwrap();
        let config = Config::parse("policies: pol", Some(&dir.path().join("p.yaml")), &|_| None).unwrap();
        let namespace = "notes".parse().unwrap();
        assert_eq!(refuse_emptied(&config, &namespace), Ok(()), "none yet");
        fs::write(place.join("notes.yaml"), "").unwrap();
        let told = format!("{:?}", refuse_emptied(&config, &namespace));
        assert!(told.contains("notes.yaml` is empty") && told.contains("--out"), "{told}");
        fs::write(place.join("notes.yaml"), "manifests: []").unwrap();
        assert_eq!(refuse_emptied(&config, &namespace), Ok(()));
    }

    // acceptance 109: the suggestion follows the annotations, and the draft is a policy file as it stands.
    #[test]
    fn a_draft_loads_as_it_is_printed() {
        let namespace: Namespace = "notes".parse().unwrap();
        let hostile = "Reads.\nmanifests: []\u{2028}  - id: notes/evil\u{1b}[2J";
        let tool = |name: &str, annotations: Value| ToolDefinition {
            name: format!("notes/{name}").parse().unwrap(),
            definition: json!({"name": name, "description": hostile, "annotations": annotations}),
        };
        let tools = [
            tool("search", json!({"readOnlyHint": true})),
            tool("peek", json!({"readOnlyHint": true, "openWorldHint": false})),
            tool("label", json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false})),
            tool("odd: \"name\" #1", json!({})),
        ];
        let none = load("manifests: []");
        let policies = load(&draft(&namespace, &tools, &none, &Beside::default(), true));
        for (tool, level, code) in [
            ("notes/search", "READ_ONLY", "D1-R2-total"),
            ("notes/peek", "READ_ONLY", "D1-R1-total"),
            // A server cannot talk its tool down: below the level's own classification nothing is suggested.
            ("notes/label", "LOW_WRITE", "D2-R2-partial"),
            ("notes/odd: \"name\" #1", "HIGH_WRITE", "D3-R3-irreversible"),
        ] {
            let found = policies.tool(&tool.parse().unwrap()).unwrap();
            assert_eq!(
                (found.manifest.risk_level.as_str(), found.classification.code().as_str()),
                (level, code),
                "{tool}"
            );
        }
        assert_eq!(policies.tools.keys().filter(|tool| tool.namespace() == "notes").count(), 4);
        assert!(
            load(&draft(&namespace, &[], &none, &Beside::default(), true))
                .tools
                .keys()
                .all(|tool| tool.namespace() != "notes")
        );
    }

    // A hint raises and never lowers: not what is in force, and nothing at all for a server that nobody vouches for.
    #[test]
    fn a_hint_never_lowers() {
        let namespace: Namespace = "notes".parse().unwrap();
        let tool = |name: &str, annotations: Value| ToolDefinition {
            name: format!("notes/{name}").parse().unwrap(),
            definition: json!({"name": name, "annotations": annotations}),
        };
        let tools = [
            tool("wipe", json!({"readOnlyHint": true, "openWorldHint": false})),
            tool("peek", json!({"destructiveHint": true})),
            tool("new", json!({"readOnlyHint": true, "openWorldHint": false})),
            tool("label", json!({"destructiveHint": false})),
            tool("shown", json!({"destructiveHint": true})),
        ];
        let shipped = load(
            "manifests:\n  - { id: notes/wipe, domain: notes, risk_level: HIGH_WRITE, side_effects: true, allowed_modes: [FULL_AUTO] }\n  \
             - { id: notes/peek, domain: notes, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW, ADVISORY, PARTIAL_AUTO, FULL_AUTO] }\n  \
             - { id: notes/label, domain: records, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW, FULL_AUTO] }\n  \
             - { id: notes/shown, domain: notes, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }\n",
        );
        for (trusted, new) in [(true, "READ_ONLY"), (false, "HIGH_WRITE")] {
            let text = draft(&namespace, &tools, &shipped, &Beside::default(), trusted);
            let drafted = load(&text);
            let level = |name: &str| drafted.tool(&name.parse().unwrap()).unwrap().manifest.risk_level.as_str();
            assert_eq!(
                (level("notes/wipe"), level("notes/peek"), level("notes/new")),
                ("HIGH_WRITE", "HIGH_WRITE", new)
            );
            let label = &drafted.tool(&"notes/label".parse().unwrap()).unwrap().manifest;
            assert_eq!((label.risk_level.as_str(), label.domain.as_str()), ("LOW_WRITE", "records"));
            assert_eq!(label.allowed_modes, [AgentMode::FullAuto], "no wider than it was");
            assert!(text.contains("# no mode is left of SHADOW"), "{text}");
            assert!(text.contains("# the server says READ_ONLY; HIGH_WRITE stays"), "{text}");
            assert_eq!(text.contains("# the server says READ_ONLY; it is not marked `trusted`"), !trusted, "{text}");
        }
    }

    // What an operator wrote of a tool's calls is in the next draft too, also of tools that are not shown today.
    #[test]
    fn a_draft_keeps_what_was_written_beside() {
        let namespace: Namespace = "notes".parse().unwrap();
        let tool = |name: &str, annotations: Value| ToolDefinition {
            name: format!("notes/{name}").parse().unwrap(),
            definition: json!({"name": name, "annotations": annotations}),
        };
        let manifest = |name: &str| {
            format!(
                "  - {{ id: notes/{name}, domain: notes, risk_level: LOW_WRITE, side_effects: true, allowed_modes: [PARTIAL_AUTO, FULL_AUTO] }}\n"
            )
        };
        let file = format!(
            "manifests:\n{}{}{}handling:\n  \
             notes/send:\n    action_type: external_communication\n    dlp: {{ result: {{ aws_access_key: block }}, egress: false }}\n    \
             raise: [{{ when: {{ count: {{ gt: 10 }} }}, to: HIGH_WRITE }}]\n  \
             notes/gone:\n    sql: {{ argument: q, dialect: postgres }}\n    context: {{ amount: total.value }}\n  \
             notes/label:\n    classification: {{ decision_type: D3, risk: R2, reversibility: partial }}\n    injection: block\n\
             metadata:\n  notes/label: {{ category: labels, tags: [\"a: b\"] }}\n",
            manifest("send"),
            manifest("gone"),
            manifest("label"),
        );
        let (before, beside) = (load(&file), Beside::of(&file));
        let tools = [
            tool("send", json!({"destructiveHint": false})),
            tool("label", json!({"destructiveHint": false, "openWorldHint": false})),
        ];
        let text = draft(&namespace, &tools, &before, &beside, true);
        let after = load(&text);
        for name in ["notes/send", "notes/gone", "notes/label"] {
            let name = name.parse().unwrap();
            let (was, is) = (before.tool(&name).unwrap(), after.tool(&name).unwrap());
            assert_eq!(was.handling, is.handling, "{name}\n{text}");
            assert_eq!((&was.manifest, &was.metadata), (&is.manifest, &is.metadata), "{name}\n{text}");
            assert!(is.classification.raised_to(was.classification) == is.classification, "{name}\n{text}");
        }
        assert!(text.contains("# the server does not list it\n  - id: notes/gone"), "{text}");
        let worse = [tool("send", json!({"destructiveHint": true}))];
        let worse = load(&draft(&namespace, &worse, &before, &beside, true));
        let send = worse.tool(&"notes/send".parse().unwrap()).unwrap();
        assert_eq!((send.manifest.risk_level.as_str(), send.handling.raises.len()), ("HIGH_WRITE", 0));
        // What was drafted is drafted again, word for word.
        assert_eq!(draft(&namespace, &tools, &after, &Beside::of(&text), true), text);
    }
}
