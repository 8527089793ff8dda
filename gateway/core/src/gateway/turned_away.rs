//! Refusals before there is an exchange: nobody was judged, and it is written down all the same.

use gateway_protocol::{Id, Malformed};
use jiff::Timestamp;
use serde_json::json;

use super::follow::Followed;
use super::record::Room;
use super::{Caller, Gateway};
use crate::canonical::Canonical;
use crate::identity::Principal;
use crate::names::{AgentId, TenantId, TraceId};
use crate::outcome::{AuditRow, Status};
use crate::ports::{AuthError, LedgerError, Limited};
use crate::refusal::{self, Answer};
use crate::trace::{EventType, TraceDraft};
use crate::verdict::{Decision, Reason};

impl Gateway {
    pub(super) async fn refuse_stranger(&self, error: &AuthError, metadata_url: Option<&str>) -> Answer {
        // Nobody was refused: nobody could be asked who this is.
        if let AuthError::Unavailable(cause) = error {
            tracing::error!(cause = cause.as_ref() as &dyn std::error::Error, "{error}");
            return refusal::identity_unavailable(error);
        }
        let trace_id = TraceId::from_uuid(self.ports.clock.fresh_id());
        let stranger = Principal::anonymous();
        // All strangers share one measure: beyond it they are turned away without filling the ledger.
        if let Err(limited) = self.ports.usage.take(&stranger) {
            return refusal::limited(&trace_id, &limited, None);
        }
        let reason = Reason::new("identity", "credential", error.to_string());
        let span = self.follow_stranger(&stranger, &trace_id);
        match self.record_refusal(&stranger, &trace_id, Status::Unauthenticated, &reason, span).await {
            Ok(()) => refusal::unauthenticated(&trace_id, error, metadata_url),
            Err(_) => refusal::unrecorded(&trace_id, None),
        }
    }

    /// A body of which nothing is known but whose it is.
    pub(super) async fn refuse_unread(&self, caller: &Caller, malformed: &Malformed) -> Answer {
        let trace_id = TraceId::from_uuid(self.ports.clock.fresh_id());
        let span = self.follow_unread(&caller.principal, &caller.route, &caller.carried, &trace_id);
        self.refuse_malformed(caller, malformed, span).await
    }

    pub(super) async fn refuse_malformed(&self, caller: &Caller, malformed: &Malformed, span: Followed) -> Answer {
        let trace_id = TraceId::from_uuid(self.ports.clock.fresh_id());
        let reason = Reason::new("protocol", "malformed", kept(&malformed.message));
        match self.record_refusal(&caller.principal, &trace_id, Status::Malformed, &reason, span).await {
            Ok(()) => refusal::malformed(malformed),
            Err(_) => refusal::unrecorded(&trace_id, malformed.id.clone()),
        }
    }

    pub(super) async fn refuse_limited(
        &self,
        caller: &Caller,
        trace_id: TraceId,
        id: Option<Id>,
        limited: &Limited,
        span: Followed,
    ) -> Answer {
        let reason = Reason::new("limits", limited.rule, limited.message.clone());
        match self.record_refusal(&caller.principal, &trace_id, Status::Limited, &reason, span).await {
            Ok(()) => refusal::limited(&trace_id, limited, id),
            Err(_) => refusal::unrecorded(&trace_id, id),
        }
    }

    /// A door or a session that is not there.
    pub(super) async fn refuse_missing(
        &self,
        caller: &Caller,
        trace_id: &TraceId,
        what: &str,
        answer: Answer,
        span: Followed,
    ) -> Answer {
        let reason = Reason::new("gateway", "not_found", what);
        match self.record_refusal(&caller.principal, trace_id, Status::NotFound, &reason, span).await {
            Ok(()) => answer,
            Err(_) => refusal::unrecorded(trace_id, None),
        }
    }

    pub(super) async fn record_refusal(
        &self,
        principal: &Principal,
        trace_id: &TraceId,
        status: Status,
        reason: &Reason,
        span: Followed,
    ) -> Result<(), LedgerError> {
        let mut room = Room::reserve(&self.ports.audit)?;
        let now = self.ports.clock.now();
        let live = self.ports.live.load();
        let hidden = self.chain.load().recorder().text(live.rules_of(principal.tenant), &reason.message);
        let reason = &Reason::new(&reason.plugin, &reason.rule, hidden.unwrap_or_else(|| reason.message.clone()));
        let draft = refusal_draft(principal.tenant, &principal.agent, trace_id, status, reason, now);
        room.left = room.left.saturating_sub(1);
        let receipt = room.audit.append(draft, true).await?;
        room.left = room.left.saturating_sub(1);
        room.audit.settle(refused_row(principal.tenant, &principal.agent, trace_id, status, now));
        if let Some(span) = span {
            span.turned_away(trace_id, reason, receipt.as_ref(), status);
        }
        Ok(())
    }
}

/// Nothing was judged: what is said of it is the gateway's own word.
pub(super) fn refusal_draft(
    tenant: Option<TenantId>,
    agent: &AgentId,
    trace_id: &TraceId,
    status: Status,
    reason: &Reason,
    at: Timestamp,
) -> TraceDraft {
    TraceDraft {
        tenant,
        agent: agent.clone(),
        trace_id: trace_id.clone(),
        event_type: EventType::Decision,
        classification: None,
        description: Some(format!("refused: {}", status.as_str())),
        reasoning: Some(reason.message.clone()),
        authorization: Canonical::null(),
        context: Canonical::of(&json!({ "decision": Decision::Deny, "reason": reason }))
            .unwrap_or_else(|_| Canonical::null()),
        timestamp: at,
    }
}

pub(super) fn refused_row(
    tenant: Option<TenantId>,
    agent: &AgentId,
    trace_id: &TraceId,
    status: Status,
    at: Timestamp,
) -> AuditRow {
    AuditRow {
        trace_id: trace_id.clone(),
        tenant,
        agent: agent.clone(),
        tool: None,
        input: None,
        output: None,
        classification: None,
        execution_time_ms: 0,
        status,
        timestamp: at,
    }
}

/// A refusal's words as the chain keeps them: some of them are the caller's, who may have chosen a great many.
fn kept(words: &str) -> String {
    words.chars().take(1000).map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
