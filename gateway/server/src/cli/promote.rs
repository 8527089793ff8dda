//! `agent history` and `agent promote`: what an agent has shown, and one step up for it.

use clap::Args;
use gateway_core::desk::Promotion;
use gateway_core::{AgentId, Autonomy};

use super::kill::operator;
use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};
use crate::desk;
use crate::policy_files::load_for;

#[derive(Debug, Args)]
pub struct HistoryArgs {
    agent_id: AgentId,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct PromoteArgs {
    agent_id: AgentId,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    /// The next autonomy: one step above what it has
    #[arg(long)]
    to: Autonomy,
    #[command(flatten)]
    common: Common,
}

pub async fn history(args: &HistoryArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let loaded = load_for(&config)?;
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?.id;
    let desk = desk::with_rules(&store, &config, loaded).await?;
    let record = desk.track_record(&operator(), tenant, &args.agent_id).await.map_err(|error| Failure::of(&error))?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for tier in &record.tiers {
        let counts = [tier.calls, tier.ok, tier.denied, tier.errors].map(|count| count.to_string());
        rows.push([vec![tier.risk_level.clone(), tier.risk.clone()], counts.to_vec()].concat());
    }
    let head = ["LEVEL", "RISK", "CALLS", "OK", "DENIED", "ERRORS"];
    let missing = record.next.as_ref().map(|next| next.missing.join("; ")).unwrap_or_default();
    let empty = format!("{} has made no calls since {}", plain(args.agent_id.as_str()), record.since);
    args.common.output().table(&record, &head, rows, &empty)?;
    if !missing.is_empty() {
        eprintln!("not yet promoted: {missing}");
    }
    store.close().await;
    Ok(())
}

pub async fn promote(args: &PromoteArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let loaded = load_for(&config)?;
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?.id;
    let desk = desk::with_rules(&store, &config, loaded).await?;
    let promotion = desk.promote(&operator(), tenant, &args.agent_id, args.to).await;
    let promotion = promotion.map_err(|error| Failure::of(&error))?;
    let told = || match &promotion {
        Promotion::ApprovalRequired { approval_id, deadline, .. } => format!(
            "{}: approval {approval_id} was requested and waits until {deadline}; once it is given, promote again",
            painted(Colour::Yellow, "waits for a human")
        ),
        Promotion::Promoted { agent, from, to, mode, .. } => {
            format!("{} {} from {from} to {to} ({mode})", painted(Colour::Green, "promoted"), plain(agent.as_str()))
        }
    };
    args.common.output().answer(&promotion, told)?;
    store.close().await;
    Ok(())
}
