//! The chain's word and what follows it: the call is recorded and made, or recorded and refused.

use std::sync::Arc;

use gateway_protocol::Id;
use gateway_protocol::headers::Mirrored;

use super::record::Story;
use super::replies::Kept;
use super::rounds::{Approved, Spend};
use super::{Caller, Gateway};
use crate::approvals;
use crate::chain::{Chain, Permit, Ruling};
use crate::exchange::Exchange;
use crate::outcome::Status;
use crate::ports::{StoreError, StreamSlot, Upstream, UpstreamError};
use crate::refusal::{self, Answer, Refused, Waiting};
use crate::scopes::Scope;
use crate::verdict::Decision;

/// Everything that belongs to one message besides the message and the word on it. Whoever waits for a human owns all of it.
pub(super) struct Errand {
    pub(super) id: Option<Id>,
    pub(super) caller: Arc<Caller>,
    pub(super) chain: Arc<Chain>,
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) story: Story,
    /// The state it came with, to be used up when it is sent.
    pub(super) spend: Option<Spend>,
    pub(super) slot: Option<StreamSlot>,
    pub(super) mirrored: Arc<[Mirrored]>,
    /// The event of ours after which a broken stream is to go on.
    pub(super) resumes: Option<String>,
    /// Why what the tool looks like could not be found out; then it is not called either.
    pub(super) unread: Option<UpstreamError>,
}

/// Whether somebody who waits may be asked, or is only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Ask,
    Refuse,
}

impl Gateway {
    /// The chain's word on one exchange, and what follows it.
    pub(super) async fn settle(
        self: &Arc<Self>,
        mut errand: Box<Errand>,
        mut exchange: Box<Exchange>,
        telling: Telling,
    ) -> Answer {
        // Each time anew: a run may have moved on while a human was asked.
        let looked = self.look_at_gates(&errand.chain.policies().rules, &mut exchange).await;
        if let Err(error) = looked {
            return unknowable(errand, &exchange, &error);
        }
        match errand.chain.admit(exchange) {
            Ok((permit, mut ruling)) => {
                errand.story.asked(permit.exchange(), &errand.chain);
                self.announce(permit.exchange(), &mut ruling);
                self.compare(permit.exchange(), &mut ruling);
                self.carry_out(errand, permit, ruling).await
            }
            Err((exchange, mut ruling)) => {
                errand.story.asked(&exchange, &errand.chain);
                self.announce(&exchange, &mut ruling);
                self.compare(&exchange, &mut ruling);
                match ruling.decision {
                    // Apart, because few calls wait for a human and all would have to carry the room for it.
                    Decision::ApprovalRequired => Box::pin(self.approve(errand, exchange, ruling, telling)).await,
                    _ => self.turn_down(errand, &exchange, &ruling, None).await,
                }
            }
        }
    }

    /// An admitted message, from its record to its answer.
    pub(super) async fn carry_out(
        self: &Arc<Self>,
        mut errand: Box<Errand>,
        permit: Permit,
        mut ruling: Ruling,
    ) -> Answer {
        if let Some(spend) = errand.spend.take()
            && let Err(refused) = self.spend(&spend, permit.exchange(), &mut ruling, &mut errand.story).await
        {
            return refused;
        }
        let permit = if errand.mirrored.is_empty() { permit } else { permit.mirroring(&errand.mirrored) };
        errand.story.admitted();
        let wait = permit.exchange().has_side_effects() || self.settings.load().wait_for_all;
        // Recorded before it is sent: after a crash an unrecorded call cannot be told from one never made.
        if permit.exchange().is_governed() && errand.story.decide(permit.exchange(), &ruling, wait).await.is_err() {
            return refusal::unrecorded(&permit.exchange().trace_id, errand.id);
        }
        if let Some(event) = errand.resumes.take()
            && let Some(rest) = self.resumed(permit.exchange(), &event, &mut errand.slot)
        {
            return rest;
        }
        let called = match errand.unread.take() {
            Some(error) => Err(error),
            None => errand.upstream.call(&permit).await,
        };
        let Errand { id, caller, chain, mut story, slot, .. } = *errand;
        match called {
            Ok(answered) => {
                let bound = ruling.approval.and_then(|id| Some((id, approvals::binding(permit.exchange(), &ruling)?)));
                let approved = bound.map(|(id, binding)| Approved { id, binding });
                let kept = Kept { story, slot, advice: ruling.advice, approved };
                self.relay(&chain, &caller, permit, answered, kept).await
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "an upstream failed: {error}");
                story.close(Status::UpstreamFailed, None);
                self.note_failure(permit.exchange()).await;
                refusal::upstream_failed(&error, id)
            }
        }
    }

    /// The chain said no, or not yet; `waiting` is what a human was asked.
    pub(super) async fn turn_down(
        &self,
        errand: Box<Errand>,
        exchange: &Exchange,
        ruling: &Ruling,
        waiting: Option<Waiting>,
    ) -> Answer {
        let Errand { id, caller, mut story, .. } = *errand;
        let status = match ruling.decision {
            Decision::ApprovalRequired => Status::ApprovalRequired,
            _ => Status::Denied,
        };
        story.ends_as(status);
        // Refusals wait: an agent that was told no must find the no in its chain.
        if story.decide(exchange, ruling, true).await.is_err() {
            return refusal::unrecorded(&exchange.trace_id, id);
        }
        story.close(status, None);
        let refused = Refused {
            trace_id: &exchange.trace_id,
            decision: ruling.decision,
            reasons: &ruling.reasons,
            tool: exchange.tool().map(|tool| tool.name.as_str()),
            modern: exchange.is_modern(),
            waiting,
        };
        if ruling.needs_only_scope() {
            return refused.step_up(id, Scope::needed(exchange), caller.metadata_url.as_deref());
        }
        refused.answer(id, self.settings.load().manner)
    }
}

/// Nobody could be asked: nothing was decided, nothing runs.
pub(super) fn unknowable(errand: Box<Errand>, exchange: &Exchange, error: &StoreError) -> Answer {
    let Errand { id, mut story, .. } = *errand;
    tracing::error!(error = error as &dyn std::error::Error, "what decides over a call could not be asked: {error}");
    story.forget();
    refusal::unrecorded(&exchange.trace_id, id)
}
