//! `manifest list`: the tools that agents have been shown, and which of them are classified.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gateway_core::manifest::{Suggested, suggested};
use gateway_core::ports::{RegisteredTool, Tenant};
use gateway_core::{Namespace, Policies, ToolName};
use serde_json::{Value, json};

use super::output::{Colour, painted, plain};
use super::{Common, Failure, Place, pins, tenant_named};
use crate::policy_files::load_for;

#[derive(Debug, Subcommand)]
pub enum ManifestVerb {
    /// The tools seen so far, each with its manifest or with a suggestion for one
    List(ListTools),
    /// Asks an upstream for its tools and drafts its manifest file, on the screen or with `--out` in its place
    Suggest(SuggestArgs),
    /// What is different between the definition that was accepted and the one that is held back
    Diff(pins::DiffArgs),
    /// Accepts the definition that is held back: the tool can be listed and called again
    Accept(pins::AcceptArgs),
}

#[derive(Debug, Args)]
pub struct ListTools {
    /// Only this tenant's, by its name or id
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct SuggestArgs {
    /// The upstream, as the configuration names it
    pub namespace: Namespace,
    /// Writes the draft there at once and whole, also over the file that it was drafted from
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) place: Place,
}

pub async fn run(verb: ManifestVerb) -> Result<(), Failure> {
    match verb {
        ManifestVerb::List(args) => list(&args).await,
        ManifestVerb::Suggest(args) => super::suggest::run(&args).await,
        ManifestVerb::Diff(args) => pins::diff(&args).await,
        ManifestVerb::Accept(args) => pins::accept(&args).await,
    }
}

async fn list(args: &ListTools) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let policies = load_for(&config)?.policies;
    let trusts = |name: &ToolName| {
        config.upstreams.iter().any(|(space, upstream)| upstream.trusted && space.as_str() == name.namespace())
    };
    let store = args.common.store().await?;
    let tenants = match &args.tenant {
        Some(name) => vec![tenant_named(&store, name).await?],
        None => store.tenants().tenants().await?,
    };
    let mut tools = Vec::new();
    for tenant in &tenants {
        // One line a tool: what was accepted of it is told beside it.
        let registered = store.registry().registered(tenant.id).await?;
        tools.extend(
            registered
                .iter()
                .filter(|tool| !tool.is_accepted_form())
                .filter_map(|tool| described(tenant, tool, &policies, &trusts)),
        );
    }
    let pinned = store.pins().pins().await?;
    for tool in &mut tools {
        pins::describe(tool, &pinned);
    }
    let head = ["TENANT", "TOOL", "STATE", "PIN", "FINDINGS", "RISK LEVEL", "CLASSIFICATION", "ALLOWED MODES"];
    let rows = tools.iter().map(row).collect();
    args.common.output().table(
        &tools,
        &head,
        rows,
        "No tools seen yet: they appear here once a client has listed them.",
    )?;
    store.close().await;
    Ok(())
}

/// One tool: what the policies say of it or, where they say nothing, what an operator might write.
fn described(
    tenant: &Tenant,
    tool: &RegisteredTool,
    policies: &Policies,
    trusts: &dyn Fn(&ToolName) -> bool,
) -> Option<Value> {
    let name: ToolName = tool.name.parse().ok()?;
    let about = |manifest: Value, code: String| json!({"manifest": manifest, "classification": code});
    let mut document = json!({"tenant": tenant.name, "tool": name, "active": tool.is_active});
    let (state, key, said) = match policies.tool(&name) {
        Some(known) => ("classified", "policy", about(json!(known.manifest), known.classification.code())),
        None => {
            let Suggested { manifest, classification, .. } =
                suggested(&name, tool.metadata.get("annotations"), None, trusts(&name));
            ("unclassified", "suggestion", about(json!(manifest), classification.code()))
        }
    };
    let fields = document.as_object_mut()?;
    fields.insert("state".into(), state.into());
    fields.insert(key.into(), said);
    Some(document)
}

fn row(tool: &Value) -> Vec<String> {
    let text = |pointer: &str| plain(tool.pointer(pointer).and_then(Value::as_str).unwrap_or("-"));
    let classified = tool.get("policy").is_some();
    let at = if classified { "/policy" } else { "/suggestion" };
    let modes = tool.pointer(&format!("{at}/manifest/allowed_modes")).and_then(Value::as_array);
    let modes: Vec<_> = modes.into_iter().flatten().filter_map(Value::as_str).collect();
    let guess = |text: String| if classified { text } else { format!("{text}?") };
    vec![
        text("/tenant"),
        text("/tool"),
        painted(if classified { Colour::Green } else { Colour::Yellow }, &text("/state")),
        text("/pin"),
        text("/findings"),
        guess(text(&format!("{at}/manifest/risk_level"))),
        guess(text(&format!("{at}/classification"))),
        guess(modes.join(",")),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateway_core::TenantId;
    use uuid::Uuid;

    use super::*;
    use crate::policy_files::load_policies;

    // acceptance 109: a tool without a manifest is shown to the operator with a suggestion from its annotations.
    #[test]
    fn a_tool_is_shown_with_its_manifest_or_with_a_suggestion() {
        let policies = load_policies(None).unwrap().policies;
        let tenant = Tenant { id: TenantId(Uuid::nil()), name: "t".into(), created_at: String::new() };
        for (name, annotations, state, level) in [
            ("crm/delete_contact", json!({"readOnlyHint": true}), "classified", "HIGH_WRITE"),
            ("notes/search", json!({"readOnlyHint": true}), "unclassified", "READ_ONLY?"),
            ("other/search", json!({"readOnlyHint": true}), "unclassified", "HIGH_WRITE?"),
            ("notes/drop", json!({}), "unclassified", "HIGH_WRITE?"),
        ] {
            let tool = RegisteredTool {
                id: Uuid::nil(),
                tenant: tenant.id,
                name: name.into(),
                version: "1".into(),
                is_recommended: false,
                schema: json!({}),
                metadata: json!({"annotations": annotations}),
                risk_level: "unclassified".into(),
                is_active: true,
            };
            let trusts = |name: &ToolName| name.namespace() == "notes";
            let shown = row(&described(&tenant, &tool, &policies, &trusts).unwrap());
            assert_eq!((shown.get(2).unwrap().as_str(), shown.get(5).unwrap().as_str()), (state, level), "{name}");
        }
    }
}
