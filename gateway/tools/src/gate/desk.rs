//! Who is asked for evidence, and how far each is believed.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use gateway_core::gate::contracts::{CheckContract, Contracts};
use gateway_core::gate::evidence::{EvidenceContext, EvidenceResult};
use gateway_core::gate::policies::{Keyring, Trust};
use gateway_core::gate::spec::{EvidenceQuery, Predicate};
use gateway_core::gate::Refusal;
use gateway_core::ports::{AskingRun, EvidenceAsked, EvidenceProvider};
use gateway_core::{AgentId, TenantId};

/// So many providers are asked at once for one step.
const AT_ONCE: usize = 8;

/// One provider as it is configured.
#[derive(Clone)]
pub struct Provided {
    pub provider: Arc<dyn EvidenceProvider>,
    pub belief: Belief,
    /// Whether its values may be shown, where a provider must say so itself.
    pub allow_raw: bool,
}

/// How a provider's word is taken.
#[derive(Clone)]
pub enum Belief {
    /// As it comes, for the record.
    Audit,
    Signed(Arc<dyn Keyring + Send + Sync>),
}

impl Belief {
    fn applied(&self, result: EvidenceResult) -> Result<EvidenceResult, Refusal> {
        match self {
            Self::Audit => Trust::Audit.applied(result),
            Self::Signed(keys) => Trust::RequireSignature(&**keys).applied(result),
        }
    }
}

/// For whom something is asked.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub tenant: TenantId,
    pub by: &'a AgentId,
    pub context: &'a EvidenceContext,
    /// None: only a look, which changes nothing.
    pub run: Option<AskingRun>,
}

#[derive(Clone, Default)]
pub struct EvidenceDesk {
    providers: BTreeMap<String, Provided>,
}

impl EvidenceDesk {
    pub fn new(providers: BTreeMap<String, Provided>) -> Self {
        Self { providers }
    }

    pub(super) fn allows_raw(&self, provider: &str) -> bool {
        self.providers.get(provider).is_some_and(|provided| provided.allow_raw)
    }

    /// In the order of what is wanted. Trouble of a provider is its result's own error, and never the call's.
    pub(super) async fn collect(
        &self,
        wanted: &[&Predicate],
        asking: Asking<'_>,
    ) -> Result<Vec<EvidenceResult>, Refusal> {
        let mut collected = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(AT_ONCE) {
            let mut asked = Vec::with_capacity(some.len());
            for predicate in some {
                asked.push(self.ask(&predicate.query, asking));
            }
            for result in join_all(asked).await {
                collected.push(result?);
            }
        }
        Ok(collected)
    }

    pub(super) async fn ask(&self, query: &EvidenceQuery, asking: Asking<'_>) -> Result<EvidenceResult, Refusal> {
        // Defined while there was one; the configuration has changed since.
        let Some(provided) = self.providers.get(&query.provider_id) else {
            let words = format!("there is no provider `{}` any more", query.provider_id);
            return Ok(EvidenceResult::failed("provider_missing", words));
        };
        let Asking { tenant, by, context, run } = asking;
        let result = provided.provider.query(&EvidenceAsked { tenant, by, query, context, run }).await;
        provided.belief.applied(result)
    }
}

impl Contracts for EvidenceDesk {
    fn provider(&self, id: &str) -> bool {
        self.providers.contains_key(id)
    }

    fn check(&self, provider: &str, check: &str) -> Option<&CheckContract> {
        self.providers.get(provider)?.provider.checks().iter().find(|contract| contract.check == check)
    }

    fn known(&self) -> Vec<String> {
        self.providers.keys().cloned().collect()
    }
}
