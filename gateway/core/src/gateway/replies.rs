//! The way back: every message of an answer passes the chain, and the last one closes the record.
//!
//! A stream is never collected: each event is reviewed and passed on when it arrives.

mod held;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use gateway_protocol::{Id, Message, Outcome, Reply, ReplyKind, headers};
use serde_json::{Value, json};

use super::record::{Story, status_of};
use super::rounds::{Approved, Marks, Rounds};
use super::standing::{is_stopped, stopped};
use super::tasks::Tasks;
use super::{Caller, Gateway, Memory, Ports, gates, opening, request_id};
use crate::chain::{Chain, Permit};
use crate::content::Found;
use crate::exchange::{Ask, Exchange};
use crate::lists::{self, ListFilter};
use crate::names::TenantId;
use crate::outcome::{JsonText, Status};
use crate::ports::{Answered, Content, ExecutionEngine, StreamSlot, ToolDefinition};
use crate::refusal::{self, Answer, AnswerBody, Manner};
use crate::resume::{self, Recording};
use crate::verdict::Reason;

use stream::Replies;

/// Where an answer tells what advisory policies would have had its caller know.
const ADVICE: &str = "io.portreeve/advice";

impl Gateway {
    pub(super) async fn relay(
        &self,
        chain: &Arc<Chain>,
        caller: &Caller,
        permit: Permit,
        answered: Answered,
        kept: Kept,
    ) -> Answer {
        let Kept { mut story, slot, advice, approved } = kept;
        let exchange = permit.into_exchange();
        let id = request_id(&exchange.ask);
        let Answered { status, session, content } = answered;
        let (manner, hold) = {
            let settings = self.settings.load();
            (settings.manner, settings.hold)
        };
        let review = Arc::new(Review {
            chain: Arc::clone(chain),
            ports: Arc::clone(&self.ports),
            memory: Arc::clone(&self.memory),
            engine: self.engine.load_full(),
            manner,
            hold,
            filter: caller.filter.clone(),
            id,
            exchange,
            advice,
            approved,
        });
        let (content, negotiated) = match review.exchange.method() {
            Some("initialize") => opening::answer(content).await,
            _ => (content, None),
        };
        let mut answer = match content {
            // A question must be answered; an error without words is still an error, and not the caller's.
            Content::Nothing if status >= 400 || review.id.is_some() => {
                story.close(Status::UpstreamFailed, None);
                foreign(status, review.id.clone())
            }
            Content::Nothing => {
                story.close(Status::Ok, None);
                Answer::empty(status)
            }
            Content::Foreign { content_type, body } => {
                // An HTTP refusal in the upstream's own words may name its own authorization server: only the status goes on.
                tracing::warn!(
                    status,
                    content_type = known_media(&content_type),
                    bytes = body.len(),
                    "an upstream answered with something that is not MCP"
                );
                story.close(Status::UpstreamFailed, None);
                foreign(status, review.id.clone())
            }
            // A challenge in JSON-RPC form is still a challenge.
            Content::One(_) if matches!(status, 401 | 403) => {
                tracing::warn!(status, "an upstream refused the gateway's credentials");
                story.close(Status::UpstreamFailed, None);
                foreign(status, review.id.clone())
            }
            Content::One(reply) if !review.answers(&reply) => {
                tracing::warn!("an upstream answered another question than the one it was asked");
                story.close(Status::UpstreamFailed, None);
                foreign(502, review.id.clone())
            }
            Content::One(reply) if is_stopped(&self.ports.live, &review.exchange) => {
                story.close(Status::Denied, None);
                let withheld = review.withheld(reply.id().cloned());
                Answer { status, headers: Vec::new(), body: AnswerBody::Json(withheld.raw().clone()) }
            }
            Content::One(mut reply) => {
                let found = review.pass(&mut reply);
                story.found(&self.ports.audit, &review.exchange, &found);
                story.close(status_of(&reply), Some(review.recorded(&reply, &found)));
                gates::note(&review.ports, &review.exchange, &reply).await;
                Answer { status, headers: Vec::new(), body: AnswerBody::Json(reply.raw().clone()) }
            }
            Content::Stream(items) => {
                let tape = self.tape(&review.exchange);
                let Exchange { principal, route, .. } = &*review.exchange;
                let tool = review.exchange.tool().map(|tool| tool.name.clone());
                let ended = stopped(Arc::clone(&self.ports.live), Arc::clone(principal), route.clone(), tool).boxed();
                let replies = Replies::new(items, Arc::clone(&review), story, tape, ended, slot);
                let replies = match gates::stands_before(&review.exchange) {
                    true => gates::noting(replies.boxed(), Arc::clone(&review.ports), review.exchange.clone()),
                    false => replies.boxed(),
                };
                Answer { status, headers: Vec::new(), body: AnswerBody::Events(replies) }
            }
        };
        if let Some(opened) = session.filter(|_| review.exchange.method() == Some("initialize")) {
            let session = self.new_session(&review.exchange, opened, negotiated);
            answer = answer.with(headers::SESSION_ID, session.seal(self.ports.seal.as_ref()));
        }
        answer
    }
}

/// Streams that go on where they broke off.
impl Gateway {
    /// A call's stream in a session is kept while it goes on, and a little longer. A client of the stateless era has nothing
    /// to come back with, and streams that only listen have nothing that was promised.
    fn tape(&self, exchange: &Exchange) -> Option<Recording> {
        let session = exchange.session.as_ref().filter(|_| matches!(exchange.ask, Ask::Message(_)))?;
        let Ports { clock, seal, home, .. } = self.ports.as_ref();
        // A session that lives in a process leads there anyway.
        let mark = if session.home().is_none() { resume::mark(home, seal.as_ref()) } else { None };
        Some(self.memory.replays.open(&session.key(), clock.fresh_id(), mark, clock.now()))
    }

    /// What the client missed after this event was reviewed and recorded when it first came.
    pub(super) fn resumed(&self, exchange: &Exchange, event: &str, slot: &mut Option<StreamSlot>) -> Option<Answer> {
        let session = exchange.session.as_ref()?;
        let rest = self.memory.replays.after(&session.key(), event, self.ports.clock.now())?;
        let slot = slot.take();
        let rest = rest.inspect(move |_| {
            let _kept = &slot;
        });
        Some(Answer { status: 200, headers: Vec::new(), body: AnswerBody::Events(rest.boxed()) })
    }
}

/// What lives as long as the answer does.
pub(super) struct Kept {
    pub(super) story: Story,
    pub(super) slot: Option<StreamSlot>,
    /// What goes back with the answer besides.
    pub(super) advice: Vec<Reason>,
    /// The approval it ran by, for the rounds that may follow.
    pub(super) approved: Option<Approved>,
}

/// What must be known of the question while its replies arrive.
struct Review {
    chain: Arc<Chain>,
    ports: Arc<Ports>,
    memory: Arc<Memory>,
    engine: Arc<Arc<dyn ExecutionEngine>>,
    manner: Manner,
    hold: Duration,
    filter: ListFilter,
    id: Option<Id>,
    exchange: Box<Exchange>,
    advice: Vec<Reason>,
    approved: Option<Approved>,
}

impl Review {
    /// A final reply must carry the id that was asked, or an upstream could answer what another was asked. An error that
    /// could not tell which question it is about may come without an id.
    fn answers(&self, reply: &Reply) -> bool {
        match (&self.id, reply.kind()) {
            (Some(asked), ReplyKind::Result { .. }) => reply.id() == Some(asked),
            (Some(asked), ReplyKind::Error { .. }) => reply.id().is_none_or(|id| id == asked),
            _ => true,
        }
    }

    /// Lists are filtered where they were asked for, and where a resumed stream may bring one again.
    fn may_list_tools(&self) -> bool {
        match &self.exchange.ask {
            Ask::Message(message) => message.method() == Some("tools/list"),
            Ask::Listen { .. } => true,
            Ask::EndSession => false,
        }
    }

    /// Filters lists, then asks the chain; what it will not let through is replaced by an error.
    fn pass(&self, reply: &mut Reply) -> Found {
        self.list(reply);
        let mut found = Found::default();
        if let Err(reason) = self.chain.review(&self.exchange, reply, &mut found) {
            self.withhold(reply, &reason);
        }
        self.seal(reply);
        found
    }

    fn list(&self, reply: &mut Reply) {
        if matches!(reply.kind(), ReplyKind::Result { .. }) && self.may_list_tools() {
            self.govern_list(reply);
        }
    }

    fn withhold(&self, reply: &mut Reply, reason: &Reason) {
        let id = reply.id().cloned();
        tracing::info!(trace = %self.exchange.trace_id, plugin = reason.plugin, "withheld a reply: {}", reason.message);
        *reply = Reply::from_message(&refusal::kept_back(&self.exchange, reason, self.manner, id));
    }

    /// What goes into the record of it, in which some rules hide what they show to a client.
    fn recorded(&self, reply: &Reply, found: &Found) -> JsonText {
        if found.is_clean() {
            return JsonText::from_checked(reply.raw().clone());
        }
        JsonText::of(reply.raw().clone(), self.chain.recorder().as_ref(), &self.exchange.rules)
    }

    fn seal(&self, reply: &mut Reply) {
        if !self.advice.is_empty() && reply.is_final() {
            self.advise(reply);
        }
        // Last, because plugins judge what the server said and not what it is wrapped in.
        let marks = Marks { approved: self.approved.clone(), asks: None };
        Rounds::new(&self.ports, self.hold).close_with(&self.exchange, marks, reply);
        Tasks::new(&self.ports, &self.memory).close(&self.exchange, reply);
    }

    /// Whoever was stopped while the call was under way learns that, and nothing of the answer.
    fn withheld(&self, id: Option<Id>) -> Reply {
        let reason = Reason::new("standing", "suspended", "this was stopped while the call was under way");
        Reply::from_message(&refusal::withheld(&self.exchange.trace_id, &reason, self.manner, id))
    }

    /// Only where there is advice: every other answer stays as its server wrote it.
    fn advise(&self, reply: &mut Reply) {
        let Ok(Message::Response(mut response)) = reply.message() else { return };
        let Outcome::Result(Value::Object(result)) = &mut response.outcome else { return };
        if let Some(meta) = result.entry("_meta").or_insert_with(|| json!({})).as_object_mut() {
            meta.insert(ADVICE.into(), json!(self.advice));
        }
        *reply = Reply::from_message(&Message::Response(response));
    }

    /// What must not reach this client. One of the stateless era has nowhere to send an answer, so no question comes to it
    /// outside a result; and nobody hears of a task that is not theirs.
    fn is_not_for(&self, reply: &Reply) -> bool {
        match reply.kind() {
            ReplyKind::Request if self.exchange.is_modern() => {
                tracing::warn!("an upstream asked a client of the stateless era on its stream; it is left out");
                true
            }
            ReplyKind::Notification => Tasks::new(&self.ports, &self.memory).is_anothers(&self.exchange, reply),
            _ => false,
        }
    }

    fn govern_list(&self, reply: &mut Reply) {
        let engine = self.engine.as_ref().as_ref();
        match lists::govern_list(&self.exchange, &self.chain, engine, &self.ports.definitions, &self.filter, reply) {
            Ok(seen) => {
                if let (Some(tenant), false) = (self.exchange.principal.tenant, seen.is_empty()) {
                    self.remember(tenant, seen);
                }
            }
            Err(malformed) => *reply = Reply::from_message(&malformed.to_message()),
        }
    }

    fn remember(&self, tenant: TenantId, seen: Vec<ToolDefinition>) {
        let classified = seen.into_iter().map(|tool| {
            let known = self.exchange.rules.tool(&tool.name).or_else(|| self.chain.policies().tool(&tool.name));
            let level = known.map(|known| known.manifest.risk_level);
            (tool, level)
        });
        self.ports.registry.seen(tenant, classified.collect());
    }
}

/// A header is an upstream's word like any other; what is usual is told.
fn known_media(content_type: &str) -> &'static str {
    const USUAL: [&str; 6] = [
        "text/html",
        "text/plain",
        "text/event-stream",
        "application/json",
        "application/problem+json",
        "application/xml",
    ];
    USUAL.into_iter().find(|usual| content_type.eq_ignore_ascii_case(usual)).unwrap_or("another")
}

fn foreign(status: u16, id: Option<Id>) -> Answer {
    match (status, id) {
        // An upstream's own challenge is a matter between it and the operator.
        (401 | 403, id) => {
            let what = "the upstream refused the gateway's credentials";
            let error = gateway_protocol::RpcError::new(gateway_protocol::code::INTERNAL, what);
            Answer::message(502, &Message::error(id, error))
        }
        (status, None) => Answer::empty(status),
        (status, id) if status < 400 => {
            let what = "the upstream answered without a message";
            let error = gateway_protocol::RpcError::new(gateway_protocol::code::INTERNAL, what);
            Answer::message(502, &Message::error(id, error))
        }
        (status, id) => {
            let what = format!("the upstream answered with HTTP status {status} and no message");
            let error = gateway_protocol::RpcError::new(gateway_protocol::code::INTERNAL, what);
            Answer::message(status, &Message::error(id, error))
        }
    }
}
