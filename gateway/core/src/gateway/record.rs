//! How a call is written down: the trace when it is decided, the row when it is over.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use gateway_protocol::{Id, Malformed, Reply, ReplyKind, ResultKind};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::decision::{decision_draft, redaction_draft};
use super::{Caller, Gateway};
use crate::canonical::Canonical;
use crate::chain::{Chain, Ruling};
use crate::content::Found;
use crate::exchange::{Ask, Exchange};
use crate::identity::Principal;
use crate::names::TraceId;
use crate::outcome::{AuditRow, JsonText, Status};
use crate::ports::{AuditBuffer, AuthError, Clock, LedgerError, Limited};
use crate::refusal::{self, Answer};
use crate::trace::{EventType, TraceDraft};
use crate::verdict::{Decision, Reason};

/// Room in the audit queue, taken before anything happens and given back if nothing did.
struct Room {
    audit: Arc<dyn AuditBuffer>,
    left: usize,
}

impl Room {
    fn reserve(audit: &Arc<dyn AuditBuffer>) -> Result<Self, LedgerError> {
        audit.reserve()?;
        Ok(Self { audit: Arc::clone(audit), left: 2 })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.left > 0 {
            self.audit.release(self.left);
        }
    }
}

/// One call's record in the making. Dropped unfinished, it closes as cancelled: the client went away.
pub(crate) struct Story {
    room: Option<Room>,
    row: Option<AuditRow>,
    clock: Arc<dyn Clock>,
    began: Timestamp,
    redacted: Option<Redacted>,
}

/// What was found in an answer so far, and the trace that will say so.
struct Redacted {
    audit: Arc<dyn AuditBuffer>,
    exchange: Box<Exchange>,
    found: Found,
}

impl Story {
    /// Handshakes and lists leave no record unless they are refused.
    pub(super) fn open(
        audit: &Arc<dyn AuditBuffer>,
        clock: &Arc<dyn Clock>,
        exchange: &Exchange,
    ) -> Result<Self, LedgerError> {
        let began = exchange.at;
        let room = Room::reserve(audit)?;
        let recorded = exchange.is_governed() || exchange.tool().is_some();
        let row = recorded.then(|| Self::row(exchange, began));
        Ok(Self { room: Some(room), row, clock: Arc::clone(clock), began, redacted: None })
    }

    fn row(exchange: &Exchange, began: Timestamp) -> AuditRow {
        AuditRow {
            trace_id: exchange.trace_id.clone(),
            tenant: exchange.principal.tenant,
            agent: exchange.principal.agent.clone(),
            tool: exchange.tool().map(|tool| tool.name.clone()).or_else(|| exchange.about.clone()),
            input: None,
            output: None,
            classification: Some(exchange.classification()),
            execution_time_ms: 0,
            status: Status::Cancelled,
            timestamp: began,
        }
    }

    /// What was asked, once the chain has taken out of it what the record may not hold.
    pub(super) fn asked(&mut self, exchange: &Exchange, chain: &Chain) {
        if let Some(row) = &mut self.row {
            row.input = input(exchange).map(|asked| match exchange.content.found.is_clean() {
                true => JsonText::from_checked(asked),
                false => JsonText::of(asked, chain.recorder().as_ref(), &exchange.rules),
            });
        }
    }

    /// The exchange was admitted: one that leaves no record gives its room back, however long its stream stays open.
    pub(super) fn admitted(&mut self) {
        if self.row.is_none() {
            self.room = None;
        }
    }

    /// How it ends if nobody stays to see it: a call that is refused was refused, even if its client has left.
    pub(super) fn ends_as(&mut self, status: Status) {
        if let Some(row) = &mut self.row {
            row.status = status;
        }
    }

    /// Nothing was decided and nothing was done: there is no outcome to write.
    pub(super) fn forget(&mut self) {
        self.row = None;
    }

    /// Puts the decision into the agent's chain.
    pub(super) async fn decide(&mut self, exchange: &Exchange, ruling: &Ruling, wait: bool) -> Result<(), LedgerError> {
        let draft = decision_draft(exchange, ruling, self.began);
        let appended = match &mut self.room {
            Some(room) => {
                room.left = room.left.saturating_sub(1);
                room.audit.append(draft, wait).await
            }
            None => return Err(LedgerError::Full),
        };
        if let Err(error) = appended {
            // Nothing was done, so there is no outcome to write either.
            self.forget();
            tracing::error!(error = &error as &dyn std::error::Error, "a decision could not be recorded: {error}");
            return Err(error);
        }
        Ok(())
    }

    /// Writes the outcome; a second call does nothing.
    pub(crate) fn close(&mut self, status: Status, output: Option<JsonText>) {
        self.tell_found();
        let (Some(mut row), Some(room)) = (self.row.take(), &mut self.room) else {
            return;
        };
        row.status = status;
        row.output = output;
        row.execution_time_ms =
            i64::try_from(self.clock.now().duration_since(self.began).as_millis()).unwrap_or(i64::MAX);
        room.left = room.left.saturating_sub(1);
        room.audit.settle(row);
    }
}

/// What was taken out of an answer.
impl Story {
    /// Counted until the record is closed. Lists leave no trace of their own, and their findings none either.
    pub(super) fn found(&mut self, audit: &Arc<dyn AuditBuffer>, exchange: &Exchange, found: &Found) {
        let told = exchange.is_governed() || matches!(exchange.ask, Ask::Listen { .. });
        if found.is_empty() || !told {
            return;
        }
        let redacted = self.redacted.get_or_insert_with(|| {
            let (audit, exchange) = (Arc::clone(audit), Box::new(exchange.clone()));
            Redacted { audit, exchange, found: Found::default() }
        });
        redacted.found.join(found);
    }

    /// Nobody waits for it, and without room it is only logged: the decision itself is in the chain.
    fn tell_found(&mut self) {
        let Some(Redacted { audit, exchange, found }) = self.redacted.take() else { return };
        let trace_id = TraceId::from_uuid(self.clock.fresh_id());
        let draft = redaction_draft(&exchange, &found, trace_id, self.clock.now());
        let appended = match audit.reserve() {
            Ok(()) => {
                audit.release(1);
                audit.append(draft, false).now_or_never().unwrap_or(Err(LedgerError::Full))
            }
            Err(full) => Err(full),
        };
        if let Err(error) = appended {
            tracing::warn!(trace = %exchange.trace_id, "what was taken out of an answer could not be recorded: {error}");
        }
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        let status = self.row.as_ref().map_or(Status::Cancelled, |row| row.status);
        self.close(status, None);
    }
}

fn input(exchange: &Exchange) -> Option<Bytes> {
    let params = exchange.message()?.params()?;
    let asked = match (params.get("inputResponses"), exchange.arguments()) {
        (Some(responses), Some(arguments)) => {
            serde_json::to_vec(&json!({ "arguments": arguments, "inputResponses": actions(responses) }))
        }
        (Some(responses), None) => {
            let mut told = params.clone();
            told.remove("requestState");
            told.insert("inputResponses".into(), actions(responses));
            serde_json::to_vec(&told)
        }
        (None, Some(arguments)) => serde_json::to_vec(arguments),
        (None, None) => serde_json::to_vec(params),
    };
    asked.ok().map(Into::into)
}

/// What was answered, never in which words: a person may have typed anything into a form.
fn actions(responses: &Value) -> Value {
    let said = |response: &Value| match response.get("action").and_then(Value::as_str) {
        Some(action @ ("accept" | "decline" | "cancel")) => Value::from(action),
        _ => Value::from("answered"),
    };
    responses.as_object().into_iter().flatten().map(|(key, response)| (key.clone(), said(response))).collect()
}

/// Refusals before there is an exchange.
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
        match self.record_refusal(&stranger, &trace_id, Status::Unauthenticated, &reason).await {
            Ok(()) => refusal::unauthenticated(&trace_id, error, metadata_url),
            Err(_) => refusal::unrecorded(&trace_id, None),
        }
    }

    pub(super) async fn refuse_malformed(&self, caller: &Caller, malformed: &Malformed) -> Answer {
        let trace_id = TraceId::from_uuid(self.ports.clock.fresh_id());
        let reason = Reason::new("protocol", "malformed", kept(&malformed.message));
        match self.record_refusal(&caller.principal, &trace_id, Status::Malformed, &reason).await {
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
    ) -> Answer {
        let reason = Reason::new("limits", limited.rule, limited.message.clone());
        match self.record_refusal(&caller.principal, &trace_id, Status::Limited, &reason).await {
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
    ) -> Answer {
        let reason = Reason::new("gateway", "not_found", what);
        match self.record_refusal(&caller.principal, trace_id, Status::NotFound, &reason).await {
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
    ) -> Result<(), LedgerError> {
        let mut room = Room::reserve(&self.ports.audit)?;
        let now = self.ports.clock.now();
        let live = self.ports.live.load();
        let hidden = self.chain.load().recorder().text(live.rules_of(principal.tenant), &reason.message);
        let reason = &Reason::new(&reason.plugin, &reason.rule, hidden.unwrap_or_else(|| reason.message.clone()));
        let draft = TraceDraft {
            tenant: principal.tenant,
            agent: principal.agent.clone(),
            trace_id: trace_id.clone(),
            event_type: EventType::Decision,
            classification: None,
            description: Some(format!("refused: {}", status.as_str())),
            reasoning: Some(reason.message.clone()),
            authorization: Canonical::null(),
            context: Canonical::of(&json!({ "decision": Decision::Deny, "reason": reason }))
                .unwrap_or_else(|_| Canonical::null()),
            timestamp: now,
        };
        room.left = room.left.saturating_sub(1);
        room.audit.append(draft, true).await?;
        room.left = room.left.saturating_sub(1);
        room.audit.settle(AuditRow {
            trace_id: trace_id.clone(),
            tenant: principal.tenant,
            agent: principal.agent.clone(),
            tool: None,
            input: None,
            output: None,
            classification: None,
            execution_time_ms: 0,
            status,
            timestamp: now,
        });
        Ok(())
    }
}

/// A refusal's words as the chain keeps them: some of them are the caller's, who may have chosen a great many.
fn kept(words: &str) -> String {
    words.chars().take(1000).map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// What an answer's final message means for the row.
pub(crate) fn status_of(reply: &Reply) -> Status {
    match reply.kind() {
        ReplyKind::Error { .. } => Status::RpcError,
        ReplyKind::Result { tool_error: true, .. } => Status::ToolError,
        ReplyKind::Result { kind: ResultKind::InputRequired, .. } => Status::InputRequired,
        _ => Status::Ok,
    }
}
