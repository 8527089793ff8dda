//! One call as a span, from its arrival to its end, where somebody draws spans at all.
//!
//! Requests are followed: what nobody waits for has no length, and a stream that listens has no end worth drawing. A span
//! is told nowhere unless its record is: what was forgotten (`Story::forget`) was neither decided nor done.

use std::sync::Arc;

use gateway_protocol::Message;

use super::{Caller, Gateway};
use crate::chain::Ruling;
use crate::exchange::{Ask, Exchange, Route};
use crate::identity::Principal;
use crate::names::{Namespace, TraceId};
use crate::outcome::Status;
use crate::ports::{CallSpan, Place, Receipt, Spans};
use crate::verdict::{Decision, Reason};

const TRACEPARENT: &str = "traceparent";

/// `None` for most: nobody draws spans, or this call is not among those drawn.
pub(super) type Followed = Option<Box<Following>>;

pub(super) struct Following {
    spans: Arc<dyn Spans>,
    span: CallSpan,
}

impl Gateway {
    /// A request that has just come.
    pub(super) fn follow(&self, caller: &Caller, ask: &Ask, audit: &TraceId) -> Followed {
        self.ports.spans.as_ref()?;
        let Ask::Message(message @ Message::Request(_)) = ask else { return None };
        let named = traceparent(Some(message), &caller.carried);
        let mut follows = self.begin(&caller.principal, named, audit)?;
        follows.span.method = message.method().map(str::to_owned);
        follows.span.namespace = namespace(&caller.route);
        Some(follows)
    }

    /// Somebody who showed no good key. A stranger's word on where its trace goes on is not taken.
    pub(super) fn follow_stranger(&self, stranger: &Principal, audit: &TraceId) -> Followed {
        self.begin(stranger, None, audit)
    }

    /// A knock at a door that stays shut, or a body that nobody can read.
    pub(super) fn follow_unread(
        &self,
        principal: &Principal,
        route: &Route,
        carried: &[(String, String)],
        audit: &TraceId,
    ) -> Followed {
        let mut follows = self.begin(principal, traceparent(None, carried), audit)?;
        follows.span.namespace = namespace(route);
        Some(follows)
    }

    /// The same call once more, after somebody was asked: below the span that ended with the question.
    pub(super) fn follow_on(&self, exchange: &mut Exchange) -> Followed {
        self.ports.spans.as_ref()?;
        let named = traceparent(exchange.message(), &exchange.carried).map(str::to_owned);
        let mut follows = self.begin(&exchange.principal, named.as_deref(), &exchange.trace_id)?;
        follows.span.method = exchange.method().map(str::to_owned);
        follows.stands_before(exchange);
        Some(follows)
    }

    fn begin(&self, principal: &Principal, traceparent: Option<&str>, audit: &TraceId) -> Followed {
        let spans = self.ports.spans.as_ref()?;
        let place = Place::new(traceparent, audit, self.ports.clock.fresh_id());
        let began = spans.begin(&place)?;
        let span = CallSpan {
            place,
            began,
            method: None,
            tool: None,
            namespace: None,
            revision: None,
            tenant: principal.tenant,
            agent: principal.agent.clone(),
            classification: None,
            decision: Decision::Allow,
            reason: None,
            status: Status::Cancelled,
            audit: audit.clone(),
            seq: None,
            continues: None,
            run: None,
        };
        Some(Box::new(Following { spans: Arc::clone(spans), span }))
    }
}

impl Following {
    /// What the message turned out to be about; and whoever is called for it is told to go on below this span. A message
    /// that names its trace itself is sent as it is: nothing in it is ours to change.
    pub(super) fn stands_before(&mut self, exchange: &mut Exchange) {
        let tool = exchange.tool().map(|tool| tool.name.clone()).or_else(|| exchange.about.clone());
        let by_tool = tool.as_ref().and_then(|tool| tool.namespace().parse().ok());
        self.span.namespace = exchange.member.clone().or(by_tool).or(self.span.namespace.take());
        self.span.tool = tool;
        self.span.classification = Some(exchange.classification());
        self.span.revision = exchange.revision;
        self.span.continues.clone_from(&exchange.continues);
        self.span.run = exchange.run.as_ref().map(|run| run.task);
        if own_traceparent(exchange.message()).is_none() {
            exchange.carried.retain(|(name, _)| name != TRACEPARENT);
            exchange.carried.push((TRACEPARENT.into(), self.span.place.traceparent()));
        }
    }

    pub(super) fn decided(&mut self, exchange: &Exchange, ruling: &Ruling, receipt: Option<&Receipt>) {
        self.span.classification = Some(exchange.classification());
        self.span.continues.clone_from(&exchange.continues);
        self.span.decision = ruling.decision;
        self.span.reason = ruling.reasons.first().map(|reason| (reason.plugin.clone(), reason.rule.clone()));
        self.span.seq = receipt.map(|receipt| receipt.seq);
    }

    pub(super) fn ends_as(&mut self, status: Status) {
        self.span.status = status;
    }

    /// How it ends if nobody says otherwise.
    pub(super) fn status(&self) -> Status {
        self.span.status
    }

    pub(super) fn end(mut self: Box<Self>, status: Status) {
        self.span.status = status;
        self.spans.ended(self.span);
    }

    /// Refused before there was anything to judge; such a refusal may have got another trace in the ledger.
    pub(super) fn turned_away(
        mut self: Box<Self>,
        audit: &TraceId,
        reason: &Reason,
        receipt: Option<&Receipt>,
        status: Status,
    ) {
        self.span.audit = audit.clone();
        self.span.place = self.span.place.of(audit);
        self.span.decision = Decision::Deny;
        self.span.reason = Some((reason.plugin.clone(), reason.rule.clone()));
        self.span.seq = receipt.map(|receipt| receipt.seq);
        self.end(status);
    }
}

/// The message's own word first: over wires without headers it is the only one.
fn traceparent<'a>(message: Option<&'a Message>, carried: &'a [(String, String)]) -> Option<&'a str> {
    let header = || carried.iter().find(|(name, _)| name == TRACEPARENT).map(|(_, value)| value.as_str());
    own_traceparent(message).or_else(header)
}

fn own_traceparent(message: Option<&Message>) -> Option<&str> {
    message?.meta()?.get(TRACEPARENT)?.as_str()
}

fn namespace(route: &Route) -> Option<Namespace> {
    match route {
        Route::One(namespace) => Some(namespace.clone()),
        Route::All => None,
    }
}

#[cfg(test)]
mod tests;
