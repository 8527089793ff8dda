//! `audit verify`: walks every chain, or one agent's, and names the first trace that does not hold.

use clap::{Args, Subcommand};
use gateway_core::trace::ChainReport;
use gateway_core::{AgentId, TenantId};
use gateway_store::verify_chain;
use serde::Serialize;

use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};

#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// Recomputes the chains; ends with 1 and the first broken trace if one does not hold
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Only this agent's chain; without it every chain, that of unauthenticated callers included
    #[arg(long, value_name = "ID")]
    agent: Option<AgentId>,
    /// Only this tenant's chains, by its name or id
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct Verified {
    valid: bool,
    chains: Vec<VerifiedChain>,
}

#[derive(Serialize)]
struct VerifiedChain {
    /// The tenant's id; null holds what nobody in particular did.
    tenant: Option<TenantId>,
    agent: AgentId,
    #[serde(flatten)]
    report: ChainReport,
}

pub async fn run(verb: AuditVerb) -> Result<(), Failure> {
    let AuditVerb::Verify(args) = verb;
    let store = args.common.store().await?;
    let tenant = match &args.tenant {
        Some(name) => Some(tenant_named(&store, name).await?.id),
        None => None,
    };
    let ledger = store.ledger();
    let mut chains = Vec::new();
    for (owner, agent) in ledger.chains().await? {
        if is_meant(owner, &agent, tenant, args.agent.as_ref()) {
            let report = verify_chain(&*ledger, owner, &agent, None).await?;
            chains.push(VerifiedChain { tenant: owner, agent, report });
        }
    }
    if let (Some(agent), true) = (&args.agent, chains.is_empty()) {
        // An agent that has done nothing yet has an empty chain, and that one holds; one that never was is a mistake.
        chains.push(empty_chain(&store, tenant, agent).await?);
    }
    let verified = Verified { valid: chains.iter().all(|chain| chain.report.valid), chains };
    args.common.output().answer(&verified, || lines(&verified))?;
    store.close().await;
    let broken = verified.chains.iter().find(|chain| !chain.report.valid);
    broken.map_or(Ok(()), |chain| Err(Failure::new(break_of(chain))))
}

fn is_meant(owner: Option<TenantId>, agent: &AgentId, tenant: Option<TenantId>, wanted: Option<&AgentId>) -> bool {
    (tenant.is_none() || tenant == owner) && wanted.is_none_or(|wanted| wanted == agent)
}

async fn empty_chain(
    store: &gateway_store::Store,
    tenant: Option<TenantId>,
    agent: &AgentId,
) -> Result<VerifiedChain, Failure> {
    let owner = match tenant {
        Some(tenant) => store.tenants().agent(tenant, agent).await?.tenant,
        None => store.tenants().find_agent_anywhere(agent).await?.tenant,
    };
    let report = verify_chain(&*store.ledger(), Some(owner), agent, None).await?;
    Ok(VerifiedChain { tenant: Some(owner), agent: agent.clone(), report })
}

fn lines(verified: &Verified) -> String {
    if verified.chains.is_empty() {
        return "There are no chains yet.".into();
    }
    verified.chains.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(chain: &VerifiedChain) -> String {
    let (word, rest) = match &chain.report.broken_at {
        None => (painted(Colour::Green, "valid"), String::new()),
        Some(trace) => (painted(Colour::Red, "BROKEN"), format!(" at {}", plain(trace))),
    };
    format!("{word}  {}  {} traces{rest}", name(chain), chain.report.chain_length)
}

fn name(chain: &VerifiedChain) -> String {
    let tenant = chain.tenant.map_or("-".into(), |tenant| tenant.to_string());
    format!("{tenant}/{}", plain(chain.agent.as_str()))
}

fn break_of(chain: &VerifiedChain) -> String {
    let trace = chain.report.broken_at.as_deref().unwrap_or("an unknown trace");
    format!("the chain of {} is broken at {}", name(chain), plain(trace))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn chain(broken_at: Option<&str>) -> VerifiedChain {
        let report = ChainReport {
            valid: broken_at.is_none(),
            chain_length: 3,
            checked: 3,
            first_trace: Some("trc_1".into()),
            last_trace: Some("trc_3".into()),
            broken_at: broken_at.map(String::from),
        };
        VerifiedChain { tenant: None, agent: AgentId::unauthenticated(), report }
    }

    #[test]
    fn one_line_a_chain_names_the_break() {
        let verified = Verified { valid: false, chains: vec![chain(None), chain(Some("trc_2"))] };
        let told = lines(&verified);
        assert_eq!(told, "valid  -/unauthenticated  3 traces\nBROKEN  -/unauthenticated  3 traces at trc_2");
        assert_eq!(break_of(&chain(Some("trc_2"))), "the chain of -/unauthenticated is broken at trc_2");
    }

    #[test]
    fn the_document_is_flat() {
        let document = serde_json::to_value(Verified { valid: true, chains: vec![chain(None)] }).unwrap();
        assert_eq!(document.pointer("/chains/0/broken_at"), Some(&json!(null)));
        assert_eq!(document.pointer("/chains/0/agent"), Some(&json!("unauthenticated")));
    }

    #[test]
    fn flags_narrow_what_is_walked() {
        let (one, other) = (TenantId(Uuid::from_u128(1)), TenantId(Uuid::from_u128(2)));
        let agent: AgentId = "a".parse().unwrap();
        for (owner, tenant, wanted, meant) in [
            (Some(one), None, None, true),
            (None, None, None, true),
            (None, Some(one), None, false),
            (Some(other), Some(one), None, false),
            (Some(one), Some(one), Some("a"), true),
            (Some(one), Some(one), Some("b"), false),
        ] {
            let wanted: Option<AgentId> = wanted.map(|id: &str| id.parse().unwrap());
            assert_eq!(is_meant(owner, &agent, tenant, wanted.as_ref()), meant, "{owner:?} {tenant:?} {wanted:?}");
        }
    }
}
