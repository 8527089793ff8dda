//! Walks one agent's chain through the ledger, page by page, and says whether it holds.
//!
//! The rules of a single step are in `trace`; here is only the reading: where to begin, when to stop, and what counts as
//! missing while other nodes go on appending.

use crate::names::{AgentId, TenantId};
use crate::ports::{Ledger, LedgerError};
use crate::trace::{ChainReport, ChainWalk, Trace};

/// Few enough to hold in memory, enough that a long chain is not a thousand questions.
const PAGE: i64 = 500;

/// Checks the newest `limit` traces in the order they were written, the first of them also against the one before it;
/// without a limit, all. What is appended after the walk began is left for the next one.
pub async fn verify_chain(
    ledger: &dyn Ledger,
    tenant: Option<TenantId>,
    agent: &AgentId,
    limit: Option<i64>,
) -> Result<ChainReport, LedgerError> {
    let head = ledger.head(tenant, agent).await?;
    let start = limit.map_or(0, |limit| (head.seq - limit.max(0)).max(0));
    let mut walk = match start {
        0 => ChainWalk::from_start(),
        _ => match one(ledger, tenant, agent, start).await? {
            Some(before) => ChainWalk::after(&before),
            // Its predecessor is gone: nothing that follows can fit the start of a chain, so the first step breaks.
            None => ChainWalk::from_start(),
        },
    };
    let mut after = start;
    while after < head.seq && !walk.is_broken() {
        let page = ledger.traces(tenant, agent, after, PAGE.min(head.seq - after)).await?;
        let before = after;
        for trace in page.iter().take_while(|trace| trace.seq <= head.seq) {
            walk.step(trace);
            after = trace.seq;
        }
        if after == before {
            break;
        }
    }
    let last = if head.seq > 0 { one(ledger, tenant, agent, head.seq).await? } else { None };
    let mut report = walk.finish(&head, last.map(|trace| trace.event.trace_id));
    if report.valid
        && let Some(stray) = beyond(ledger, tenant, agent, head.seq).await?
    {
        report.valid = false;
        report.broken_at = Some(stray.event.trace_id);
    }
    Ok(report)
}

/// The trace at exactly this place.
async fn one(
    ledger: &dyn Ledger,
    tenant: Option<TenantId>,
    agent: &AgentId,
    seq: i64,
) -> Result<Option<Trace>, LedgerError> {
    let found = ledger.traces(tenant, agent, seq - 1, 1).await?;
    Ok(found.into_iter().next().filter(|trace| trace.seq == seq))
}

/// A trace behind the head's back: traces and head move in one commit, so the head, asked again, must have passed it.
async fn beyond(
    ledger: &dyn Ledger,
    tenant: Option<TenantId>,
    agent: &AgentId,
    seq: i64,
) -> Result<Option<Trace>, LedgerError> {
    let Some(newer) = ledger.traces(tenant, agent, seq, 1).await?.into_iter().next() else {
        return Ok(None);
    };
    let head = ledger.head(tenant, agent).await?;
    Ok((head.seq < newer.seq).then_some(newer))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use async_trait::async_trait;
    use futures::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::canonical::Canonical;
    use crate::names::TraceId;
    use crate::ports::{Receipt, Record};
    use crate::trace::{EventType, Head, TraceDraft};

    struct Stored {
        traces: Vec<Trace>,
        head: Head,
    }

    #[async_trait]
    impl Ledger for Stored {
        async fn append_batch(&self, _: &[Record]) -> Result<Vec<Receipt>, LedgerError> {
            Ok(Vec::new())
        }

        async fn head(&self, _: Option<TenantId>, _: &AgentId) -> Result<Head, LedgerError> {
            Ok(self.head.clone())
        }

        async fn traces(
            &self,
            _: Option<TenantId>,
            _: &AgentId,
            after: i64,
            limit: i64,
        ) -> Result<Vec<Trace>, LedgerError> {
            let limit = usize::try_from(limit).unwrap();
            Ok(self.traces.iter().filter(|trace| trace.seq > after).take(limit).cloned().collect())
        }

        async fn newest(&self, _: TenantId, _: i64) -> Result<Vec<Trace>, LedgerError> {
            Ok(Vec::new())
        }

        async fn chains(&self) -> Result<Vec<(Option<TenantId>, AgentId)>, LedgerError> {
            Ok(Vec::new())
        }
    }

    fn stored(length: u128) -> Stored {
        let mut head = Head::default();
        let link = |n| {
            let draft = TraceDraft {
                tenant: None,
                agent: "a".parse().unwrap(),
                trace_id: TraceId::from_uuid(uuid::Uuid::from_u128(n)),
                event_type: EventType::Decision,
                classification: None,
                description: None,
                reasoning: None,
                authorization: Canonical::of(&json!({ "required": false })).unwrap(),
                context: Canonical::of(&json!({})).unwrap(),
                timestamp: "2026-02-23T00:00:00Z".parse().unwrap(),
            };
            head.link(&draft).unwrap()
        };
        let traces = (1..=length).map(link).collect();
        Stored { traces, head }
    }

    fn report(ledger: &Stored, limit: Option<i64>) -> ChainReport {
        let agent = "a".parse().unwrap();
        verify_chain(ledger, None, &agent, limit).now_or_never().unwrap().unwrap()
    }

    fn id(n: u128) -> Option<String> {
        Some(TraceId::from_uuid(uuid::Uuid::from_u128(n)).as_str().into())
    }

    // acceptance 23: keys of the report, the empty chain, and the limit.
    #[test]
    fn a_whole_chain_is_valid_over_pages_and_under_any_limit() {
        let ledger = stored(1_203);
        for (limit, checked, first) in [(None, 1_203, id(1)), (Some(100), 100, id(1_104)), (Some(5_000), 1_203, id(1))]
        {
            let report = report(&ledger, limit);
            assert!(report.valid, "{report:?}");
            assert_eq!((report.chain_length, report.checked, report.first_trace), (1_203, checked, first));
            assert_eq!((report.last_trace, report.broken_at), (id(1_203), None));
        }
        let empty = report(&stored(0), Some(10));
        assert_eq!((empty.valid, empty.chain_length, empty.checked), (true, 0, 0));
        assert_eq!((empty.first_trace, empty.last_trace, empty.broken_at), (None, None, None));
    }

    // acceptance 20, acceptance 21: the first break is named, wherever the walk began.
    #[test]
    fn what_was_done_to_the_rows_shows() {
        type Case = (&'static str, fn(&mut Stored), Option<i64>, Option<String>);
        let cases: [Case; 7] = [
            ("nested change", |s| s.traces[2].event.authorization["required"] = json!(true), None, id(3)),
            ("third row gone", |s| drop(s.traces.remove(2)), None, id(4)),
            ("predecessor gone", |s| drop(s.traces.remove(2)), Some(2), id(4)),
            ("outside the limit", |s| s.traces[0].event.context = json!(1), Some(2), None),
            ("tail gone", |s| drop(s.traces.pop()), None, id(4)),
            (
                "all gone but the head",
                |s| s.traces.clear(),
                None,
                Some("the chain is empty but its head is not".into()),
            ),
            (
                "head put back",
                |s| s.head = Head { seq: 4, event_hash: Some(s.traces[3].event_hash.clone()) },
                None,
                id(5),
            ),
        ];
        for (what, harm, limit, broken_at) in cases {
            let mut ledger = stored(5);
            harm(&mut ledger);
            let report = report(&ledger, limit);
            assert_eq!((report.valid, report.broken_at), (broken_at.is_none(), broken_at), "{what}");
        }
    }
}
