//! Recorded calls under other rules.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Desk, DeskError, Who, own};
use crate::chain::Chain;
use crate::live::Live;
use crate::names::TenantId;
use crate::ports::{CallCursor, RecordedCall};
use crate::replay::{Candidate, Report, Tally, replay, replay_against, told_beside};

const PAGE: i64 = 500;

/// Which calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayScope {
    /// `None`: every tenant's. An administrator's is always its own.
    pub tenant: Option<TenantId>,
    pub since: Option<Timestamp>,
}

impl Desk {
    /// Every recorded call is judged by the candidate; nothing is called and nothing is written down.
    pub async fn replay(
        &self,
        who: &Who,
        scope: &ReplayScope,
        (chain, live): (&Chain, &Arc<Live>),
    ) -> Result<Report, DeskError> {
        let watched = (self.watched)();
        let candidate = Candidate::new(chain, live, &watched);
        let tally = Tally::new(chain.policies().digest.clone(), scope.since.map(|since| since.to_string()));
        self.each_call(who, scope, tally, |call, tally| replay(&candidate, call, tally)).await
    }

    /// The same, but what counts is what the candidate says otherwise than the rules in force: `chain` under other rows.
    pub async fn replay_against(
        &self,
        who: &Who,
        scope: &ReplayScope,
        chain: &Chain,
        (now, then): (&Arc<Live>, &Arc<Live>),
    ) -> Result<Report, DeskError> {
        let watched = (self.watched)();
        let now = Candidate::new(chain, now, &watched);
        let then = Candidate::new(chain, then, &watched);
        let tally = Tally::new(chain.policies().digest.clone(), scope.since.map(|since| since.to_string()));
        self.each_call(who, scope, tally, |call, tally| replay_against(&now, &then, call, tally)).await
    }

    /// What the candidate of this digest said while it ran beside the rules in force.
    pub async fn replay_beside(&self, who: &Who, scope: &ReplayScope, digest: &str) -> Result<Report, DeskError> {
        let tally = Tally::new(digest.to_owned(), scope.since.map(|since| since.to_string()));
        self.each_call(who, scope, tally, |call, tally| told_beside(digest, call, tally)).await
    }

    async fn each_call(
        &self,
        who: &Who,
        scope: &ReplayScope,
        mut tally: Tally,
        mut hear: impl FnMut(&RecordedCall, &mut Tally) + Send,
    ) -> Result<Report, DeskError> {
        let only = who.tenant().or(scope.tenant);
        if let Some(tenant) = only {
            own(who, tenant)?;
        }
        for (tenant, agent) in self.ledger.chains().await? {
            // Strangers and the operators' own chain hold no calls of an agent.
            if agent.is_reserved() || tenant.is_none() || only.is_some_and(|only| tenant != Some(only)) {
                continue;
            }
            let mut cursor = CallCursor { tenant, agent, since: scope.since, after: None };
            loop {
                let page = self.history.calls(&cursor, PAGE).await?;
                for call in &page {
                    hear(call, &mut tally);
                }
                match page.last() {
                    Some(last) if page.len() as i64 == PAGE => {
                        cursor.after = Some(crate::names::TraceId::from_stored(&last.trace.event.trace_id));
                    }
                    _ => break,
                }
            }
        }
        Ok(tally.report())
    }
}
