//! `dlp list|add|remove`: what a tenant looks for in content beyond the operator's detectors, and does about it.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gateway_core::desk::DlpLine;
use gateway_core::ports::NewDlpConfig;
use serde::Deserialize;
use serde_json::json;

use super::kill::operator;
use super::output::{Colour, painted, plain};
use super::policy::opened;
use super::{Common, Failure, tenant_named};
use crate::config::{Problems, parse, read};

#[derive(Debug, Subcommand)]
pub enum DlpVerb {
    /// What a tenant looks for itself
    List(OfTenant),
    /// Adds the configs of a file; they are in force at once
    Add(AddConfigs),
    /// Takes a config away
    Remove(OneConfig),
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
pub struct AddConfigs {
    /// YAML or JSON: `dlp: [{name, severity, patterns}]`, as policies/dlp/README.md shows
    file: PathBuf,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct OneConfig {
    /// Its name or its id
    #[arg(value_name = "CONFIG")]
    which: String,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConfigs {
    dlp: Vec<NewDlpConfig>,
}

pub async fn run(verb: DlpVerb) -> Result<(), Failure> {
    match verb {
        DlpVerb::List(args) => list(&args).await,
        DlpVerb::Add(args) => add(&args).await,
        DlpVerb::Remove(args) => remove(&args).await,
    }
}

async fn list(args: &OfTenant) -> Result<(), Failure> {
    let (store, desk) = opened(&args.common).await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let lines = desk.dlp_of(&operator(), tenant.id).await.map_err(|error| Failure::of(&error))?;
    let head = ["NAME", "SEVERITY", "PATTERNS", "STATE"];
    let empty =
        format!("{} looks for nothing of its own: portreeve dlp add FILE --tenant {}", tenant.name, tenant.name);
    args.common.output().table(&lines, &head, lines.iter().map(row).collect(), &empty)?;
    store.close().await;
    Ok(())
}

fn row(line: &DlpLine) -> Vec<String> {
    let state = match (&line.broken, line.active) {
        (Some(why), _) => painted(Colour::Red, &format!("broken: {}", plain(why))),
        (None, true) => "active".into(),
        (None, false) => "off".into(),
    };
    let patterns = line.patterns.as_array().map_or(0, Vec::len).to_string();
    vec![plain(&line.name), plain(&line.severity), patterns, state]
}

async fn add(args: &AddConfigs) -> Result<(), Failure> {
    let written = read_file(&args.file)?;
    let (store, desk) = opened(&args.common).await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let who = operator();
    let mut added = Vec::new();
    for config in &written {
        let line = desk.add_dlp(&who, tenant.id, config).await;
        added.push(line.map_err(|error| Failure::new(format!("{}: {error}", plain(&config.name))))?);
    }
    let told = || {
        let names: Vec<_> = added.iter().map(|line| plain(&line.name)).collect();
        format!("in force on every node within a second: {}", names.join(", "))
    };
    args.common.output().answer(&json!({ "added": added }), told)?;
    store.close().await;
    Ok(())
}

fn read_file(path: &Path) -> Result<Vec<NewDlpConfig>, Failure> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::new(format!("{shown}: {error}")))?;
    let mut told = Problems::of(shown.as_str());
    let written: Option<WrittenConfigs> = parse(&text, &mut told).and_then(|tree| read(tree, "", &mut told));
    match written {
        Some(written) if written.dlp.is_empty() => {
            Err(Failure::new(format!("{shown}: holds nothing to look for; expected `dlp: [{{name, patterns}}]`")))
        }
        Some(written) => Ok(told.or(written.dlp)?),
        None => Err(told.into_found().into()),
    }
}

async fn remove(args: &OneConfig) -> Result<(), Failure> {
    let (store, desk) = opened(&args.common).await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let removed = desk.remove_dlp(&operator(), tenant.id, &args.which).await;
    let removed = removed.map_err(|error| Failure::of(&error).with_hint("`portreeve dlp list` names them all"))?;
    args.common.output().answer(&removed, || format!("{} is no longer in force", plain(&removed.name)))?;
    store.close().await;
    Ok(())
}
