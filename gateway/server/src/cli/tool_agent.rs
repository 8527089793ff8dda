//! `tool-agent`: what organizations let run by configuration, the runs, and what those made.

mod progress;
mod run;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Subcommand};
use gateway_core::AgentId;
use gateway_core::agents::{NewToolAgent, ToolAgent};
use gateway_core::desk::{Asker, DeskError};
use gateway_store::Store;
use gateway_tools::agents::descriptor;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::kill::operator;
use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};
use crate::desk;

/// What a record or a payload may weigh; the API takes no more either.
const LARGEST_FILE: u64 = 1024 * 1024;

#[derive(Debug, Subcommand)]
pub enum ToolAgentVerb {
    /// Adds a tool agent from its JSON record, or changes the one of that slug
    Apply(ApplyArgs),
    /// Runs a tool agent here and now; every call passes the rules in force
    Run(run::RunArgs),
    /// The tool agents of all tenants or of one
    List(ListArgs),
    /// One tool agent, whole
    Show(ShowArgs),
    /// One run: its steps, each with its trace
    Task(TaskArgs),
    /// What a run made: the newest version, or another
    #[command(disable_version_flag = true)]
    Deliverable(DeliverableArgs),
}

#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// The record, as `POST /api/admin/agents` takes it; `-` is standard input
    file: PathBuf,
    /// The registered agent that its runs act as where no agent's key starts them; without it, one of its own at A1
    #[arg(long = "as", value_name = "AGENT_ID")]
    acts_as: Option<AgentId>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only this tenant's, by name or id
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    #[arg(value_name = "ORG/SLUG")]
    agent: Named,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct TaskArgs {
    #[arg(value_name = "ORG/SLUG")]
    agent: Named,
    id: Uuid,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct DeliverableArgs {
    id: Uuid,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[arg(long)]
    version: Option<i32>,
    #[command(flatten)]
    common: Common,
}

/// A tool agent as people name it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    organization: String,
    slug: String,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((organization, slug)) if !organization.is_empty() && !slug.is_empty() && !slug.contains('/') => {
                Ok(Self { organization: organization.into(), slug: slug.into() })
            }
            _ => Err(format!("`{text}` is not ORG/SLUG, such as `demo/supabase-agent`")),
        }
    }
}

pub async fn run(verb: ToolAgentVerb) -> Result<(), Failure> {
    match verb {
        ToolAgentVerb::Apply(args) => apply(args).await,
        ToolAgentVerb::Run(args) => run::run(args).await,
        ToolAgentVerb::List(args) => list(args).await,
        ToolAgentVerb::Show(args) => show(args).await,
        ToolAgentVerb::Task(args) => task(args).await,
        ToolAgentVerb::Deliverable(args) => deliverable(args).await,
    }
}

async fn apply(args: ApplyArgs) -> Result<(), Failure> {
    let record: NewToolAgent = json_file(&args.file)?;
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let applied =
        desk::without_rules(&store, &config).put_tool_agent(&operator(), &record, args.acts_as.as_ref()).await;
    store.close().await;
    let (agent, is_new) = applied.map_err(|error| refused(&args.file, &error))?;
    // It is kept all the same: what a descriptor means is found when it is run.
    match descriptor::read(&record.yaml) {
        Ok(read) if read.unknown.is_empty() => {}
        Ok(read) => eprintln!("nothing here reads {}", plain(&read.unknown.join(", "))),
        Err(error) => eprintln!("it cannot be run yet: {}", plain(&error.to_string())),
    }
    args.common.output().answer(&agent, || {
        let acts_as = agent.acts_as.as_ref().map_or("nobody", |agent| agent.as_str());
        format!("{} is {}, acting as {acts_as}", plain(&agent.path()), if is_new { "added" } else { "changed" })
    })
}

fn refused(file: &Path, error: &DeskError) -> Failure {
    match error {
        DeskError::Invalid(what) => Failure::new(format!("{}: {what}", file.display())),
        DeskError::NotFound(_) => Failure::of(error).with_hint("`portreeve tenant list` names the organizations"),
        _ => Failure::of(error),
    }
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let found = of_tenants(&store, &desk::without_rules(&store, &config), args.tenant.as_deref()).await;
    store.close().await;
    let found = found?;
    let row = |agent: &ToolAgent| {
        let colour = if agent.agent.status == "active" { Colour::Green } else { Colour::Yellow };
        vec![
            plain(&agent.path()),
            painted(colour, &plain(&agent.agent.status)),
            plain(&agent.agent.agent_type),
            plain(agent.acts_as.as_ref().map_or("-", |agent| agent.as_str())),
            plain(&agent.agent.display_name),
        ]
    };
    let rows = found.iter().map(row).collect();
    let head = ["AGENT", "STATUS", "TYPE", "ACTS AS", "NAME"];
    args.common.output().table(&found, &head, rows, "There are no tool agents.")
}

async fn of_tenants(
    store: &Store,
    desk: &gateway_core::desk::Desk,
    tenant: Option<&str>,
) -> Result<Vec<ToolAgent>, Failure> {
    let tenants = match tenant {
        Some(name) => vec![tenant_named(store, name).await?],
        None => store.tenants().tenants().await?,
    };
    let mut found = Vec::new();
    for tenant in tenants {
        found.extend(desk.tool_agents(&operator(), tenant.id).await.map_err(|error| Failure::of(&error))?);
    }
    Ok(found)
}

async fn show(args: ShowArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let Named { organization, slug } = &args.agent;
    let desk = desk::without_rules(&store, &config);
    let found = desk.tool_agent(&Asker::Desk(operator()), organization, slug).await;
    store.close().await;
    let found = found.map_err(|error| Failure::of(&error))?;
    args.common.output().answer(&found, || {
        let agent = &found.agent;
        let acts_as = found.acts_as.as_ref().map_or("nobody", |agent| agent.as_str());
        let mut lines = vec![
            format!("{}  {}", plain(&found.path()), plain(&agent.display_name)),
            format!("{} {}, acting as {acts_as}", plain(&agent.status), plain(&agent.agent_type)),
        ];
        match descriptor::read(&agent.yaml) {
            Ok(read) => {
                let stops = if read.stop_on_error { "stops at the first error" } else { "goes on after an error" };
                lines.push(format!("{}, {stops}", read.mode));
                lines.extend(read.tools.iter().map(|tool| format!("  {}", plain(tool))));
            }
            Err(error) => lines.push(format!("it cannot be run: {}", plain(&error.to_string()))),
        }
        lines.join("\n")
    })
}

async fn task(args: TaskArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let Named { organization, slug } = &args.agent;
    let desk = desk::without_rules(&store, &config);
    let found = desk.tool_task(&Asker::Desk(operator()), organization, slug, args.id).await;
    store.close().await;
    let found = found.map_err(|error| Failure::of(&error))?;
    args.common.output().answer(&found, || {
        let mut lines = vec![format!(
            "{}  {organization}/{slug} as {}, started by {} at {}",
            found.status,
            plain(found.acts_as.as_str()),
            plain(&found.started_by),
            found.started_at
        )];
        lines.extend(found.error.iter().map(|error| plain(error)));
        lines.extend(found.steps.iter().map(|step| {
            let became = step.error.as_ref().map_or("ok".to_owned(), |error| format!("failed: {}", plain(error)));
            format!("  {}  {}  {became}", plain(&step.tool), step.trace_id)
        }));
        lines.extend(found.deliverable.iter().map(|made| format!("deliverable {} version {}", made.id, made.version)));
        lines.join("\n")
    })
}

async fn deliverable(args: DeliverableArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?.id;
    let desk = desk::without_rules(&store, &config);
    let found = desk.deliverable(&Asker::Desk(operator()), tenant, args.id, args.version).await;
    store.close().await;
    let found = found.map_err(|error| Failure::of(&error))?;
    args.common.output().answer(&found, || found.content.clone())
}

/// One JSON document; what is wrong with it is told with its place.
fn json_file<T: DeserializeOwned>(file: &Path) -> Result<T, Failure> {
    let wrong = |what: String| Failure::new(format!("{}: {what}", file.display()));
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().take(LARGEST_FILE + 1).read_to_string(&mut text),
        false => std::fs::File::open(file).and_then(|open| open.take(LARGEST_FILE + 1).read_to_string(&mut text)),
    };
    read.map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(wrong(format!("is larger than {} KiB", LARGEST_FILE / 1024)));
    }
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_agent_is_named_by_its_organization_and_slug() {
        let named: Named = "demo/supabase-agent".parse().unwrap();
        assert_eq!((named.organization.as_str(), named.slug.as_str()), ("demo", "supabase-agent"));
        for wrong in ["demo", "/x", "demo/", "a/b/c"] {
            assert!(wrong.parse::<Named>().unwrap_err().contains("ORG/SLUG"), "{wrong}");
        }
    }

    #[test]
    fn a_file_that_is_no_record_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"slug": "s"}"#).unwrap();
        let failure = format!("{:?}", json_file::<NewToolAgent>(file.path()).unwrap_err());
        assert!(failure.contains("missing field") && failure.contains(file.path().to_str().unwrap()), "{failure}");
    }
}
