//! `policy list|add|mode|remove|check`: what the tenant's policies say, and what their word is worth.

mod trial;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use gateway_core::Chain;
use gateway_core::desk::{Desk, PolicyLine};
use gateway_core::live::Live;
use gateway_core::ports::{NewAccessPolicy, PolicyKind, RuleType};
use gateway_core::rules::WrittenPolicy;
use gateway_core::verdict::PolicyMode;
use gateway_store::Store;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kill::operator;
use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};
use crate::config::{Problems, parse, read};
use crate::desk;
use crate::policy_files::{load_for, load_policies};

#[derive(Debug, Subcommand)]
pub enum PolicyVerb {
    /// The policies of a tenant, and everybody's
    List(OfTenant),
    /// Adds the policies of a file; they start in shadow
    Add(AddPolicies),
    /// What a policy's word is worth: shadow, advisory or enforce
    Mode(SetMode),
    /// Takes a policy out of force
    Remove(OnePolicy),
    /// Loads a directory of policies and says what is wrong with it
    Check(CheckDirectory),
}

#[derive(Debug, Args)]
pub struct OfTenant {
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct AddPolicies {
    /// YAML or JSON: `policies: [..]` as in policies/rules, `access: [{name, rule_type, rule_definition}]`; or a .rego module
    file: PathBuf,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct SetMode {
    /// Its policy_id, its name or its id
    policy: String,
    mode: PolicyMode,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    /// Do not ask before a policy is enforced
    #[arg(long)]
    yes: bool,
    /// Try it on the calls from this time on, as 2026-11-16T00:00:00Z; otherwise on those of the last seven days
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct OnePolicy {
    /// Its policy_id, its name or its id
    policy: String,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct CheckDirectory {
    /// A directory such as policies/
    dir: PathBuf,
    #[command(flatten)]
    common: Common,
}

/// What a file may add.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenPolicies {
    policies: Vec<WrittenPolicy>,
    access: Vec<WrittenAccess>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAccess {
    name: String,
    rule_type: RuleType,
    rule_definition: Value,
}

pub async fn run(verb: PolicyVerb) -> Result<(), Failure> {
    match verb {
        PolicyVerb::List(args) => list(&args).await,
        PolicyVerb::Add(args) => add(&args).await,
        PolicyVerb::Mode(args) => set_mode(&args).await,
        PolicyVerb::Remove(args) => remove(&args).await,
        PolicyVerb::Check(args) => check(&args),
    }
}

/// A desk that can read what tenants write, though it judges nothing.
pub(super) async fn opened(common: &Common) -> Result<(Store, Desk), Failure> {
    let config = common.place.config()?;
    let policies = Arc::new(load_for(&config)?.policies);
    let store = common.store().await?;
    let (chain, live) = (Arc::new(Chain::new(Vec::new(), policies)), Arc::new(Live::empty()));
    let desk = desk::desk(&store, &config, Arc::new(move || (Arc::clone(&chain), Arc::clone(&live))));
    Ok((store, desk))
}

async fn list(args: &OfTenant) -> Result<(), Failure> {
    let (store, desk) = opened(&args.common).await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let lines = desk.policies_of(&operator(), tenant.id).await.map_err(|error| Failure::of(&error))?;
    let head = ["POLICY", "NAME", "KIND", "SEVERITY", "MODE", "STATE"];
    let empty =
        format!("{} has no policies of its own: portreeve policy add FILE --tenant {}", tenant.name, tenant.name);
    args.common.output().table(&lines, &head, lines.iter().map(row).collect(), &empty)?;
    store.close().await;
    Ok(())
}

fn row(line: &PolicyLine) -> Vec<String> {
    let mode = match line.mode {
        PolicyMode::Enforce => painted(Colour::Green, line.mode.as_str()),
        PolicyMode::Advisory => painted(Colour::Yellow, line.mode.as_str()),
        PolicyMode::Shadow => line.mode.to_string(),
    };
    let state = match (&line.broken, line.active, line.global) {
        (Some(why), true, _) => painted(Colour::Red, &format!("broken: {}", plain(why))),
        (_, false, _) => "removed".into(),
        (None, true, true) => "everybody's".into(),
        (None, true, false) => "active".into(),
    };
    let kind = match line.kind {
        PolicyKind::Agent => "agent".to_owned(),
        PolicyKind::Access => plain(line.category.as_deref().unwrap_or("access")),
    };
    let severity = plain(line.severity.as_deref().unwrap_or("-"));
    vec![plain(&line.policy), plain(&line.name), kind, severity, mode, state]
}

async fn add(args: &AddPolicies) -> Result<(), Failure> {
    let written = read_file(&args.file)?;
    let (store, desk) = opened(&args.common).await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let who = operator();
    let mut added = Vec::new();
    for policy in &written.policies {
        let line = desk.add_agent_policy(&who, tenant.id, policy).await;
        added.push(line.map_err(|error| Failure::new(format!("{}: {error}", policy.policy_id)))?);
    }
    for WrittenAccess { name, rule_type, rule_definition } in written.access {
        let policy = NewAccessPolicy { name, rule_type, rule_definition };
        let line = desk.add_access_policy(&who, tenant.id, &policy).await;
        added.push(line.map_err(|error| Failure::new(format!("{}: {error}", policy.name)))?);
    }
    let told = || {
        let names: Vec<_> = added.iter().map(|line| plain(&line.policy)).collect();
        format!(
            "added in shadow: {}\nlook at what they say, then: portreeve policy mode POLICY enforce",
            names.join(", ")
        )
    };
    args.common.output().answer(&json!({ "added": added }), told)?;
    store.close().await;
    Ok(())
}

fn read_file(path: &Path) -> Result<WrittenPolicies, Failure> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::new(format!("{shown}: {error}")))?;
    if path.extension().is_some_and(|ending| ending == "rego") {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let access = vec![WrittenAccess { name, rule_type: RuleType::Abac, rule_definition: json!({ "rego": text }) }];
        return Ok(WrittenPolicies { policies: Vec::new(), access });
    }
    let mut told = Problems::of(shown.as_str());
    let written: Option<WrittenPolicies> = parse(&text, &mut told).and_then(|tree| read(tree, "", &mut told));
    match written {
        Some(written) if written.policies.is_empty() && written.access.is_empty() => {
            Err(Failure::new(format!("{shown}: holds no policies; expected `policies: [..]` or `access: [..]`")))
        }
        Some(written) => Ok(told.or(written)?),
        None => Err(told.into_found().into()),
    }
}

async fn set_mode(args: &SetMode) -> Result<(), Failure> {
    let (store, desk) = opened(&args.common).await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let unknown = |error| Failure::of(&error).with_hint("`portreeve policy list` names them all");
    let found = desk.policy_named(&operator(), tenant.id, &args.policy).await.map_err(unknown)?;
    // One that cannot be followed is refused below, and one that is obeyed already changes nothing.
    let is_news = args.mode == PolicyMode::Enforce && found.mode != PolicyMode::Enforce && found.broken.is_none();
    let tried = match is_news {
        true => Some(trial::tried(&store, &desk, &args.common, &found, (tenant.id, args.since)).await?),
        false => None,
    };
    if let Some(report) = tried.as_ref().filter(|_| !args.yes) {
        trial::agreed(&found.policy, report)?;
    }
    let changed = desk.set_policy_mode(&operator(), tenant.id, &args.policy, args.mode).await.map_err(unknown)?;
    let document = trial::beside(&changed, tried.as_ref())?;
    args.common.output().answer(&document, || {
        let turned = tried.as_ref().map(|report| format!("{}\n", super::replay::told(report))).unwrap_or_default();
        format!("{turned}{} is in {}", plain(&changed.policy), changed.mode)
    })?;
    store.close().await;
    Ok(())
}

async fn remove(args: &OnePolicy) -> Result<(), Failure> {
    let (store, desk) = opened(&args.common).await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let removed = desk.remove_policy(&operator(), tenant.id, &args.policy).await;
    let removed = removed.map_err(|error| Failure::of(&error).with_hint("`portreeve policy list` names them all"))?;
    args.common.output().answer(&removed, || format!("{} is no longer in force", plain(&removed.policy)))?;
    store.close().await;
    Ok(())
}

fn check(args: &CheckDirectory) -> Result<(), Failure> {
    let loaded = load_policies(Some(&args.dir))?.policies;
    let (rules, access, tools) = (loaded.rules.policies().len(), loaded.access.len(), loaded.tools.len());
    let document = json!({ "digest": loaded.digest, "policies": rules, "access": access, "tools": tools });
    let told = || format!("{} policies, {} rules in Rego, {} tools: all of it can be read", rules, access, tools);
    args.common.output().answer(&document, told)
}
