//! `manifest suggest`: asks a live upstream for its tools and drafts the manifest file an operator would start from.
//!
//! The draft follows what the server says of its own tools, which is a hint and not a fact: it is printed, never applied. A
//! hint may raise what is in force already and never lowers it; of a server that is not `trusted` it lowers nothing at all.

use std::sync::Arc;

use gateway_core::manifest::suggest;
use gateway_core::ports::ToolDefinition;
use gateway_core::{Classification, Namespace, Policies, Principal, ToolManifest};
use gateway_upstream::list_tools;
use serde_json::Value;

use super::Failure;
use super::manifest::SuggestArgs;
use super::output::{plain, print};
use crate::policy_files::load_for;

pub async fn run(args: &SuggestArgs) -> Result<(), Failure> {
    let config = args.place.config()?;
    let Some(upstream) = config.upstreams.get(&args.namespace) else {
        let known: Vec<_> = config.upstreams.keys().map(Namespace::as_str).collect();
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        return Err(Failure::new(format!("the configuration has no upstream `{}`; it has {known}", args.namespace)));
    };
    let server = crate::compose::transport_for(&args.namespace, upstream, &config, upstream.timeout)
        .map_err(|error| Failure::of(&error))?;
    let principal = Arc::new(Principal::anonymous());
    let tools = list_tools(&*server, &args.namespace, &principal).await.map_err(|error| Failure::of(&error))?;
    let loaded = load_for(&config)?;
    print(draft(&args.namespace, &tools, &loaded.policies, upstream.trusted).trim_end())
}

fn draft(namespace: &Namespace, tools: &[ToolDefinition], policies: &Policies, trusted: bool) -> String {
    let mut manifests = String::new();
    let mut handling = String::new();
    for tool in tools {
        let Suggested { manifest, classification, notes } = suggested(namespace, tool, policies, trusted);
        let least = manifest.risk_level.classification();
        let modes: Vec<_> = manifest.allowed_modes.iter().map(|mode| mode.as_str()).collect();
        let id = scalar(manifest.id.as_str());
        if let Some(about) = tool.definition.get("description").and_then(Value::as_str) {
            manifests += &format!("  # {}\n", comment(about));
        }
        for note in notes {
            manifests += &format!("  # {note}\n");
        }
        manifests += &format!(
            "  - id: {id}\n    domain: {}\n    risk_level: {}\n    side_effects: {}\n    allowed_modes: [{}]\n",
            scalar(&manifest.domain),
            manifest.risk_level,
            manifest.side_effects,
            modes.join(", "),
        );
        // Only what is stricter than the risk level needs saying, and only that may be said.
        let raised = least.raised_to(classification);
        let mut said = String::new();
        if raised != least {
            said += &format!(
                "    classification: {{ decision_type: {}, risk: {}, reversibility: {} }}\n",
                raised.decision_type, raised.risk, raised.reversibility,
            );
        }
        // What is sent to the open world leaves the house.
        if tool.definition.pointer("/annotations/openWorldHint").and_then(Value::as_bool).unwrap_or(true) {
            said += "    dlp: { egress: true }\n";
        }
        if !said.is_empty() {
            handling += &format!("  {id}:\n{said}");
        }
    }
    let manifests = if manifests.is_empty() { "manifests: []\n".into() } else { format!("manifests:\n{manifests}") };
    let handling = if handling.is_empty() { handling } else { format!("handling:\n{handling}") };
    format!("{}{manifests}{handling}", heading(namespace))
}

struct Suggested {
    manifest: ToolManifest,
    classification: Classification,
    /// What the server claims and the draft does not follow.
    notes: Vec<String>,
}

/// The stricter of what the server says and what is known already.
fn suggested(namespace: &Namespace, tool: &ToolDefinition, policies: &Policies, trusted: bool) -> Suggested {
    let said = tool.definition.get("annotations");
    let (claimed, classification) = suggest(tool.name.clone(), namespace.as_str(), said);
    let Some(known) = policies.tool(&tool.name) else {
        // What nobody reviewed and nobody vouches for is taken for the worst, whatever it says of itself.
        let (worst, severest) = suggest(tool.name.clone(), namespace.as_str(), None);
        if trusted || claimed.risk_level >= worst.risk_level {
            return Suggested { manifest: claimed, classification, notes: Vec::new() };
        }
        let note = format!("the server says {}; it is not marked `trusted`", claimed.risk_level);
        return Suggested { manifest: worst, classification: severest, notes: vec![note] };
    };
    let mut notes = Vec::new();
    let manifest = if claimed.risk_level > known.manifest.risk_level {
        notes.push(format!("raised from {}: the server says {}", known.manifest.risk_level, claimed.risk_level));
        // A higher level opens a tool to nobody to whom it was closed, and policies find it by the same domain.
        let mut modes = claimed.allowed_modes.clone();
        modes.retain(|mode| known.manifest.allowed_modes.contains(mode));
        if modes.is_empty() {
            let before: Vec<_> = known.manifest.allowed_modes.iter().map(|mode| mode.as_str()).collect();
            notes.push(format!("no mode is left of {}: take the tool out, or choose anew", before.join(", ")));
            modes.clone_from(&claimed.allowed_modes);
        }
        ToolManifest { domain: known.manifest.domain.clone(), allowed_modes: modes, ..claimed }
    } else {
        if claimed.risk_level < known.manifest.risk_level {
            notes.push(format!("the server says {}; {} stays", claimed.risk_level, known.manifest.risk_level));
        }
        known.manifest.clone()
    };
    Suggested { manifest, classification: classification.raised_to(known.classification), notes }
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
    use gateway_core::AgentMode;
    use serde_json::json;

    use super::*;
    use crate::policy_files::load_policies;
    fn load(draft: &str) -> Policies {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("manifests")).unwrap();
        std::fs::write(dir.path().join("manifests/notes.yaml"), draft).unwrap();
        load_policies(Some(dir.path())).unwrap_or_else(|problems| panic!("{problems:?}\n{draft}")).policies
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
        let policies = load(&draft(&namespace, &tools, &none, true));
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
        assert!(load(&draft(&namespace, &[], &none, true)).tools.keys().all(|tool| tool.namespace() != "notes"));
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
            let text = draft(&namespace, &tools, &shipped, trusted);
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
}
