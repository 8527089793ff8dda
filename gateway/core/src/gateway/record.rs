//! How a call is written down: the trace when it is decided, the row when it is over.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use gateway_protocol::{Reply, ReplyKind, ResultKind};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::decision::{decision_draft, redaction_draft};
use super::fallen::Fallen;
use super::follow::Followed;
use super::parts::Ports;
use crate::chain::{Chain, Ruling};
use crate::content::Found;
use crate::exchange::Exchange;
use crate::names::TraceId;
use crate::outcome::{AuditRow, JsonText, Status};
use crate::ports::{AuditBuffer, Clock, LedgerError};

/// Room in the audit queue, taken before anything happens and given back if nothing did.
pub(super) struct Room {
    pub(super) audit: Arc<dyn AuditBuffer>,
    pub(super) left: usize,
}

impl Room {
    pub(super) fn reserve(audit: &Arc<dyn AuditBuffer>) -> Result<Self, LedgerError> {
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

/// One call's record in the making. Dropped unfinished, it closes as cancelled: the client went away. Dropped by a panic, it
/// says that the gateway failed, even of what leaves no record otherwise.
pub(crate) struct Story {
    /// Until it is over.
    fallen: Option<Fallen>,
    room: Option<Room>,
    row: Option<AuditRow>,
    clock: Arc<dyn Clock>,
    began: Timestamp,
    redacted: Option<Redacted>,
    span: Followed,
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
        ports: &Ports,
        exchange: &Exchange,
        span: Followed,
        fallen: Fallen,
    ) -> Result<Self, LedgerError> {
        let began = exchange.at;
        let room = Room::reserve(&ports.audit)?;
        let recorded = exchange.is_governed() || exchange.tool().is_some();
        let row = recorded.then(|| Self::row(exchange, began));
        let (fallen, clock) = (Some(fallen), Arc::clone(&ports.clock));
        Ok(Self { fallen, room: Some(room), row, clock, began, redacted: None, span })
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
        if let Some(span) = &mut self.span {
            span.ends_as(status);
        }
    }

    /// Nothing was decided and nothing was done: there is no outcome to write.
    pub(super) fn forget(&mut self) {
        self.fallen = None;
        self.row = None;
        self.span = None;
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
        match appended {
            Ok(receipt) => {
                if let Some(fallen) = &mut self.fallen {
                    fallen.decided();
                }
                if let Some(span) = &mut self.span {
                    span.decided(exchange, ruling, receipt.as_ref());
                }
                Ok(())
            }
            Err(error) => {
                // Nothing was done, so there is no outcome to write either.
                self.forget();
                tracing::error!(error = &error as &dyn std::error::Error, "a decision could not be recorded: {error}");
                Err(error)
            }
        }
    }

    /// Writes the outcome; a second call does nothing.
    pub(crate) fn close(&mut self, status: Status, output: Option<JsonText>) {
        self.fallen = None;
        self.tell_found();
        if let Some(span) = self.span.take() {
            span.end(status);
        }
        let Some(row) = self.row.take() else { return };
        let row = AuditRow { status, output, execution_time_ms: self.lasted(), ..row };
        let Some(room) = &mut self.room else { return };
        room.left = room.left.saturating_sub(1);
        room.audit.settle(row);
    }

    fn lasted(&self) -> i64 {
        i64::try_from(self.clock.now().duration_since(self.began).as_millis()).unwrap_or(i64::MAX)
    }

    /// Hands over what is known of the call; the record is written when this is gone.
    fn fall(&mut self, mut fallen: Fallen) {
        if let Some(span) = self.span.take() {
            span.end(Status::GatewayFailed);
        }
        let row = self.row.take();
        fallen.left(row.map(|row| AuditRow { status: Status::GatewayFailed, execution_time_ms: self.lasted(), ..row }));
        // What it had kept free, it needs now.
        self.room = None;
    }
}

/// What was taken out of an answer.
impl Story {
    /// Counted until the record is closed. A list or an opening leaves no trace of its own, but what was found in it does.
    pub(super) fn found(&mut self, audit: &Arc<dyn AuditBuffer>, exchange: &Exchange, found: &Found) {
        if found.is_empty() {
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
        if let Some(fallen) = self.fallen.take_if(|_| std::thread::panicking()) {
            self.fall(fallen);
        }
        let follows = self.span.as_ref().map(|span| span.status());
        let status = self.row.as_ref().map(|row| row.status).or(follows).unwrap_or(Status::Cancelled);
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

/// What an answer's final message means for the row.
pub(crate) fn status_of(reply: &Reply) -> Status {
    match reply.kind() {
        ReplyKind::Error { .. } => Status::RpcError,
        ReplyKind::Result { tool_error: true, .. } => Status::ToolError,
        ReplyKind::Result { kind: ResultKind::InputRequired, .. } => Status::InputRequired,
        _ => Status::Ok,
    }
}
