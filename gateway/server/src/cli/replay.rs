//! `replay`: what other policies would have said of the calls that were made.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gateway_core::desk::ReplayScope;
use gateway_core::replay::{Flip, Report};
use jiff::Timestamp;

use super::kill::operator;
use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};
use crate::desk;
use crate::policy_files::load_other;

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The candidate: a directory such as policies/
    #[arg(long, value_name = "DIR", required_unless_present = "live")]
    policies: Option<PathBuf>,
    /// What the candidate of the configuration said while it ran beside the policies in force
    #[arg(long, conflicts_with = "policies")]
    live: bool,
    /// Only calls from this time on, as 2026-11-16T00:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Only this tenant, by name or id
    #[arg(long)]
    tenant: Option<String>,
    /// Whether tenants' own rows are heard beside the candidate
    #[arg(long, value_enum, default_value_t = Rows::Own)]
    rules: Rows,
    /// End with 1 where anything would have been decided otherwise
    #[arg(long)]
    fail_on_flips: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rows {
    /// In their modes
    Own,
    /// As if all of them were enforced
    Enforced,
    /// Not at all
    None,
}

pub async fn run(args: ReplayArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let dir = match args.live {
        true => config.candidate.as_deref().ok_or_else(|| {
            Failure::new(
                "no candidate runs beside the policies: name its directory in the configuration, as `candidate: DIR`",
            )
        })?,
        false => args.policies.as_deref().ok_or_else(|| Failure::new("--policies: name a directory"))?,
    };
    let loaded = load_other(dir, &config)?;
    let store = args.common.store().await?;
    let tenant = match &args.tenant {
        Some(name) => Some(tenant_named(&store, name).await?.id),
        None => None,
    };
    let (who, scope) = (operator(), ReplayScope { tenant, since: args.since });
    let desk = desk::without_rules(&store, &config);
    let report = if args.live {
        desk.replay_beside(&who, &scope, &loaded.policies.digest).await
    } else {
        let (chain, live) = match args.rules {
            Rows::Own => desk::judging(&store, loaded).await?,
            Rows::Enforced => desk::judging_enforced(&store, loaded).await?,
            Rows::None => (desk::judging(&store, loaded).await?.0, gateway_core::Live::none()),
        };
        desk.replay(&who, &scope, (&chain, &live)).await
    };
    let report = report.map_err(|error| Failure::of(&error))?;
    args.common.output().answer(&report, || told(&report))?;
    store.close().await;
    match args.fail_on_flips && !report.flips.is_empty() {
        true => Err(Failure::new("some calls would have been decided otherwise")),
        false => Ok(()),
    }
}

pub(super) fn told(report: &Report) -> String {
    let mut lines: Vec<_> = report.flips.iter().map(flip).collect();
    lines.push(format!("{} calls judged again, {} unchanged", report.replayed, report.unchanged));
    lines.extend(report.skipped.iter().map(|skipped| format!("{} left out: {}", skipped.count, skipped.why)));
    lines.join("\n")
}

fn flip(flip: &Flip) -> String {
    let to = flip.to.map_or("failed", |to| to.as_str());
    let looser = flip.to.is_some_and(|to| to < flip.from);
    let arrow = format!("{} to {to}", flip.from.as_str()).to_uppercase();
    let arrow = painted(if looser { Colour::Red } else { Colour::Yellow }, &arrow);
    let why = flip.reasons.first().map_or(String::new(), |reason| format!(": {}", plain(&reason.message)));
    format!("{arrow}  {} x {} {} ({}){why}", flip.count, plain(&flip.agent), plain(&flip.tool), flip.example)
}
