//! Asks providers for evidence on behalf of runs, and believes and shows of it what the operator's rules allow.
//!
//! A desk does not change: whoever reloads makes another and puts it in this one's place.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;

use crate::gate::Refusal;
use crate::gate::contracts::{CheckContract, Contracts};
use crate::gate::evidence::{EvidenceContext, EvidenceResult};
use crate::gate::policies::{AnchorRules, Disclosure, Keyring, Trust};
use crate::gate::spec::{EvidenceQuery, Predicate};
use crate::names::{AgentId, TenantId};
use crate::ports::{AskingRun, EvidenceAsked, EvidenceProvider};

/// Questions of one step that are asked at the same time.
const AT_ONCE: usize = 8;

/// A provider, and how its word is taken.
#[derive(Clone)]
pub struct Provided {
    pub provider: Arc<dyn EvidenceProvider>,
    /// Without keys its word is taken as it comes.
    pub keys: Option<Arc<dyn Keyring + Send + Sync>>,
    /// Its values may be shown where that needs its consent.
    pub allow_raw: bool,
}

/// By the name that scenarios know them by.
pub type Providers = BTreeMap<String, Provided>;

pub struct EvidenceDesk {
    providers: Providers,
    anchors: AnchorRules,
    disclosure: Disclosure,
}

/// For whom, where and when something is asked.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    pub tenant: TenantId,
    pub by: &'a AgentId,
    pub context: &'a EvidenceContext,
    /// None for a look without a run, which must change nothing.
    pub run: Option<AskingRun>,
}

impl EvidenceDesk {
    pub fn new(providers: Providers, anchors: AnchorRules, disclosure: Disclosure) -> Self {
        Self { providers, anchors, disclosure }
    }

    /// What the engine holds the answers against once more, and what packs carry.
    pub fn anchors(&self) -> &AnchorRules {
        &self.anchors
    }

    /// The answers to what a step wants, in its order. Refused only where a value cannot be hashed or is too large.
    pub async fn collect(&self, wanted: &[&Predicate], asking: Asking<'_>) -> Result<Vec<EvidenceResult>, Refusal> {
        let mut collected = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(AT_ONCE) {
            let mut asked = Vec::with_capacity(some.len());
            for predicate in some {
                asked.push(self.believed(&predicate.query, asking));
            }
            for result in join_all(asked).await {
                collected.push(result?);
            }
        }
        Ok(collected)
    }

    /// One answer as it may be shown to whoever asks. Its hash is that of the value, shown or not.
    pub async fn shown(&self, query: &EvidenceQuery, asking: Asking<'_>) -> Result<EvidenceResult, Refusal> {
        let result = self.believed(query, asking).await?;
        let result = self.anchors.applied(&query.provider_id, result).recorded()?;
        let provider_allows = self.providers.get(&query.provider_id).is_some_and(|provided| provided.allow_raw);
        Ok(self.disclosure.applied(result, provider_allows))
    }

    async fn believed(&self, query: &EvidenceQuery, asking: Asking<'_>) -> Result<EvidenceResult, Refusal> {
        let Some(provided) = self.providers.get(&query.provider_id) else {
            let words = format!("there is no provider `{}`", query.provider_id);
            return Ok(EvidenceResult::failed("provider_missing", words));
        };
        // A scenario may be older than what its provider can be asked today, and a look names whatever it likes.
        if !provided.provider.checks().iter().any(|contract| contract.check == query.check) {
            let words = format!("provider `{}` has no check `{}`", query.provider_id, query.check);
            return Ok(EvidenceResult::failed("check_missing", words));
        }
        let Asking { tenant, by, context, run } = asking;
        let result = provided.provider.query(&EvidenceAsked { tenant, by, query, context, run }).await;
        let trust = match &provided.keys {
            None => Trust::Audit,
            Some(keys) => Trust::RequireSignature(keys.as_ref()),
        };
        trust.applied(result)
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
