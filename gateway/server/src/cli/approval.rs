//! `approval list`, `approval approve`, `approval reject`: what waits for a human, and the human's answer.

use clap::{Args, Subcommand};
use gateway_core::approvals::{ApprovalQuery, ApprovalRecord, ApprovalStatus, Via};
use gateway_core::desk::Who;
use uuid::Uuid;

use super::kill::operator;
use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};
use crate::desk;

/// Rows of one answer.
const MOST: i64 = 200;

#[derive(Debug, Subcommand)]
pub enum ApprovalVerb {
    /// What waits, and what was decided; newest first
    List(ListArgs),
    /// Says yes: the same call, made again, runs once
    Approve(DecideArgs),
    /// Says no
    Reject(DecideArgs),
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only those that are pending, approved, rejected, expired or used
    #[arg(long)]
    status: Option<ApprovalStatus>,
    /// Only this tenant's, by name or id
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct DecideArgs {
    /// The approval, as the caller was told it
    id: Uuid,
    /// Who decides; without it, the user of this machine
    #[arg(long)]
    by: Option<String>,
    /// Why; the chain keeps it
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub async fn run(verb: ApprovalVerb) -> Result<(), Failure> {
    match verb {
        ApprovalVerb::List(args) => list(args).await,
        ApprovalVerb::Approve(args) => decide(args, true).await,
        ApprovalVerb::Reject(args) => decide(args, false).await,
    }
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let tenant = match &args.tenant {
        Some(name) => Some(tenant_named(&store, name).await?.id),
        None => None,
    };
    let query = ApprovalQuery { tenant, status: args.status, agent: None, limit: MOST };
    let found = desk::without_rules(&store, &config).approvals(&operator(), query).await;
    let found = found.map_err(|error| Failure::of(&error))?;
    let rows = found.iter().map(row).collect();
    let head = ["ID", "STATUS", "AGENT", "TOOL", "CLASS", "UNTIL", "DECIDED BY"];
    args.common.output().table(&found, &head, rows, "Nothing waits for anybody.")?;
    store.close().await;
    Ok(())
}

fn row(found: &ApprovalRecord) -> Vec<String> {
    let asked = &found.asked;
    let colour = match found.status {
        ApprovalStatus::Pending => Colour::Yellow,
        ApprovalStatus::Approved | ApprovalStatus::Used => Colour::Green,
        ApprovalStatus::Rejected | ApprovalStatus::Expired => Colour::Red,
    };
    vec![
        asked.id.to_string(),
        painted(colour, found.status.as_str()),
        plain(asked.agent.as_str()),
        plain(asked.tool.as_ref().map_or(asked.kind.as_str(), |tool| tool.as_str())),
        asked.classification.code(),
        asked.deadline.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        plain(found.decided_by.as_deref().unwrap_or("-")),
    ]
}

async fn decide(args: DecideArgs, approve: bool) -> Result<(), Failure> {
    let who = match args.by {
        Some(name) if name.trim().is_empty() || name.chars().any(char::is_control) => {
            return Err(Failure::new("--by: must be a name, without control characters"));
        }
        Some(name) => Who::Operator(name),
        None => operator(),
    };
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let decided = desk::without_rules(&store, &config).decide(&who, Via::Cli, args.id, approve, args.note).await;
    let decided = decided.map_err(|error| {
        Failure::of(&error).with_hint("`portreeve approval list --status pending` shows what waits")
    })?;
    let what = decided.asked.tool.as_ref().map_or_else(|| decided.asked.kind.to_string(), ToString::to_string);
    let told = match (approve, decided.use_by) {
        (true, Some(until)) => format!(
            "{} is approved for {}: the same call, made again before {}, runs once",
            plain(&what),
            plain(decided.asked.agent.as_str()),
            until.strftime("%H:%M:%SZ")
        ),
        _ => format!("{} is rejected for {}", plain(&what), plain(decided.asked.agent.as_str())),
    };
    args.common.output().answer(&decided, || told)?;
    store.close().await;
    Ok(())
}
