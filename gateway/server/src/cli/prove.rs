//! `prove`: that the policies in force keep their promises, or the shortest way in which they do not.

use clap::Args;
use gateway_core::AgentMode;
use gateway_core::desk::{ProofScope, Proved};

use super::kill::operator;
use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};
use crate::desk;
use crate::policy_files::load_for;

#[derive(Debug, Args)]
pub struct ProveArgs {
    /// Only agents of this mode: SHADOW, ADVISORY, PARTIAL_AUTO or FULL_AUTO
    #[arg(long)]
    mode: Option<AgentMode>,
    /// Only this tenant, by name or id
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub async fn run(args: ProveArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let tenant = match &args.tenant {
        Some(name) => Some(tenant_named(&store, name).await?.id),
        None => None,
    };
    let (who, scope) = (operator(), ProofScope { tenant, mode: args.mode });
    let proved = match load_for(&config) {
        Ok(loaded) => desk::with_rules(&store, &config, loaded).await?.prove(&who, &scope).await,
        // What cannot be read is not proved, and that is an answer.
        Err(problems) => {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            for problem in &problems {
                eprintln!("{problem}");
            }
            desk::without_rules(&store, &config).prove_unreadable(&who, &scope, &problems).await
        }
    };
    let proved = proved.map_err(|error| Failure::of(&error))?;
    args.common.output().answer(&proved, || told(&proved))?;
    store.close().await;
    match &proved.proof.counterexample {
        None => Ok(()),
        Some(broken) => Err(Failure::new(plain(broken))),
    }
}

fn told(proved: &Proved) -> String {
    let mut lines = Vec::new();
    for one in &proved.reach {
        let level = one.risk_level.map_or("unclassified", |level| level.as_str());
        let (mode, tool, decision) = (one.mode.as_str(), plain(one.tool.as_str()), one.decision.as_str());
        lines.push(format!("{mode:<13} {decision:<18} {tool} ({level})"));
    }
    let proof = &proved.proof;
    for promise in &proof.invariants {
        let word = if promise.holds { painted(Colour::Green, "holds") } else { painted(Colour::Red, "BROKEN") };
        lines.push(format!("{word}  {} ({} cells)", promise.id.replace('_', " "), promise.cells));
    }
    let end = if proof.holds { painted(Colour::Green, "proved") } else { painted(Colour::Red, "disproved") };
    let trace = proof.trace_id.as_ref().map_or("-", |trace| trace.as_str());
    lines.push(format!("{end}  {} cells, trace {trace}", proof.cells));
    lines.join("\n")
}
