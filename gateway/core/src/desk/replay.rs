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
        let candidate = Candidate { chain, live, watched: &watched };
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
        let now = Candidate { chain, live: now, watched: &watched };
        let then = Candidate { chain, live: then, watched: &watched };
        let tally = Tally::new(chain.policies().digest.clone(), scope.since.map(|since| since.to_string()));
        self.each_call(who, scope, tally, |call, tally| replay_against(&now, &then, call, tally)).await
    }

    /// What the candidate said that is configured to run beside the rules in force: only its objections were kept.
    pub async fn replay_beside(&self, who: &Who, scope: &ReplayScope) -> Result<Report, DeskError> {
        let tally = Tally::new("as configured".into(), scope.since.map(|since| since.to_string()));
        self.each_call(who, scope, tally, told_beside).await
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
