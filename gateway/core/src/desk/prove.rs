//! Showing that the rules in force keep their promises, and writing down that it was shown.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Desk, DeskError, Note, Who, own};
use crate::chain::{Chain, PluginMode};
use crate::classification::{Classification, DecisionType, Reversibility, Risk};
use crate::digest;
use crate::live::Live;
use crate::manifest::AgentMode;
use crate::names::{TenantId, ToolName, TraceId};
use crate::ports::{AgentRecord, Proof};
use crate::prove::{Asked, Reached, Shown, prove};

/// The form of a proof; another one would be another number.
const VERSION: u32 = 1;

/// Of whom it is to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProofScope {
    /// `None`: of every tenant. An administrator's is always its own.
    pub tenant: Option<TenantId>,
    /// Only agents of this mode.
    pub mode: Option<AgentMode>,
}

/// A proof, and what each mode reaches, which is for looking at and not kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proved {
    #[serde(flatten)]
    pub proof: Proof,
    pub reach: Vec<Reached>,
}

#[derive(Serialize)]
struct Told<'a> {
    by: &'a str,
    counterexample: Option<&'a str>,
    digests: &'a Value,
    holds: bool,
    proof: &'a str,
    scope: &'a Value,
}

impl Desk {
    pub async fn prove(&self, who: &Who, scope: &ProofScope) -> Result<Proved, DeskError> {
        self.prove_with(who, scope, |_| {}).await
    }

    /// The same as if the agents were others: before one is promoted.
    pub(super) async fn prove_with(
        &self,
        who: &Who,
        scope: &ProofScope,
        change: impl FnOnce(&mut Vec<AgentRecord>) + Send,
    ) -> Result<Proved, DeskError> {
        let scope = ProofScope { tenant: who.tenant().or(scope.tenant), ..scope.clone() };
        let tenants = match scope.tenant {
            Some(tenant) => {
                own(who, tenant)?;
                vec![tenant]
            }
            None => self.tenants.tenants().await?.into_iter().map(|tenant| tenant.id).collect(),
        };
        let (mut agents, mut seen) = (Vec::new(), Vec::new());
        for tenant in &tenants {
            agents.extend(self.tenants.agents(*tenant).await?);
            let registered = self.registry.registered(*tenant).await?;
            let names = registered.iter().filter_map(|tool| tool.name.parse::<ToolName>().ok());
            seen.extend(names.map(|name| (*tenant, name)));
        }
        change(&mut agents);
        let (chain, live) = self.in_force();
        let watched = (self.watched)();
        let mode = scope.mode;
        let asked = Asked {
            chain: &chain,
            live: &live,
            tenants: &tenants,
            agents: &agents,
            seen: &seen,
            watched: &watched,
            mode,
        };
        let shown = prove(&asked);
        let digests = digests(&chain, &live, &tenants, &agents, &self.program);
        self.keep(who, &scope, shown, digests).await
    }

    /// Policies that cannot be read at all: no proof, and that is written down too.
    pub async fn prove_unreadable(
        &self,
        who: &Who,
        scope: &ProofScope,
        problems: &[String],
    ) -> Result<Proved, DeskError> {
        let scope = ProofScope { tenant: who.tenant().or(scope.tenant), ..scope.clone() };
        let digests = json!({ "program": self.program, "problems": hash(&problems) });
        self.keep(who, &scope, Shown::unreadable(problems), digests).await
    }

    /// The newest proof of the caller's tenant, or (an operator's) of the whole gateway.
    pub async fn latest_proof(&self, who: &Who) -> Result<Proof, DeskError> {
        let latest = self.proofs.latest(who.tenant()).await?;
        latest.ok_or_else(|| DeskError::NotFound("a proof".into()))
    }

    async fn keep(&self, who: &Who, scope: &ProofScope, shown: Shown, digests: Value) -> Result<Proved, DeskError> {
        let id = self.clock.fresh_id();
        let trace_id = TraceId::from_uuid(id);
        let holds = shown.holds();
        let proof = Proof {
            id,
            version: VERSION,
            tenant: scope.tenant,
            at: self.clock.now(),
            scope: json!({ "tenant": scope.tenant, "mode": scope.mode }),
            digests,
            cells: shown.cells,
            invariants: shown.invariants,
            holds,
            counterexample: shown.counterexample,
            trace_id: Some(trace_id.clone()),
        };
        let (by, number) = (who.written(), id.to_string());
        let told = Told {
            by: &by,
            counterexample: proof.counterexample.as_deref(),
            digests: &proof.digests,
            holds,
            proof: &number,
            scope: &proof.scope,
        };
        let description =
            if holds { "the policies in force were proved" } else { "the policies in force were disproved" };
        let note = Note {
            trace_id: Some(trace_id),
            classification: Some(Classification::new(DecisionType::D1, Risk::R1, Reversibility::Total)),
            reasoning: proof.counterexample.as_deref(),
            ..Note::new(scope.tenant, description)
        };
        self.write_down(note, &told).await?;
        self.proofs.keep(&proof).await?;
        Ok(Proved { proof, reach: shown.reach })
    }
}

/// Names everything that was proved: another proof with the same digests would say the same.
fn digests(chain: &Chain, live: &Arc<Live>, tenants: &[TenantId], agents: &[AgentRecord], program: &str) -> Value {
    let rows = |tenant: &TenantId| (*tenant, Arc::clone(&live.rules_of(Some(*tenant)).enforced));
    let rules: Vec<_> = tenants.iter().map(rows).collect();
    let of = |record: &AgentRecord| {
        let agent = &record.agent;
        let status = record.status;
        (record.tenant, agent.agent_id.clone(), agent.autonomy, agent.allowed_types.clone(), agent.max_risk, status)
    };
    let mut agents: Vec<_> = agents.iter().map(of).collect();
    agents.sort_by(|one, other| (one.0.0, one.1.as_str()).cmp(&(other.0.0, other.1.as_str())));
    let mut tools: Vec<_> = chain.policies().tools.iter().map(|(name, tool)| (None, name, &tool.digest)).collect();
    for tenant in tenants {
        let own = live.rules_of(Some(*tenant)).tools.iter();
        tools.extend(own.map(|(name, tool)| (Some(*tenant), name, &tool.digest)));
    }
    tools.sort_by_key(|(tenant, name, _)| (tenant.map(|tenant| tenant.0), *name));
    let modes: Vec<(&str, PluginMode)> = chain.modes().collect();
    json!({
        "policies": chain.policies().digest,
        "rules": hash(&rules),
        "agents": hash(&agents),
        "tools": hash(&tools),
        "chain": hash(&modes),
        "program": program,
    })
}

fn hash(value: &impl Serialize) -> String {
    // Plain data: serialising it cannot fail.
    digest::named(&serde_json_canonicalizer::to_vec(value).unwrap_or_default())
}
