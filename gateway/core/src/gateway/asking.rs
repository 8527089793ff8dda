//! How a caller hears that its call waits for a human: asked in its own result (2026-07-28), asked on its stream (the session
//! eras), or refused with the approval's id.
//!
//! Who can send a person to a page is given the page. A form is shown only where the agent's own user may decide.

use std::sync::Arc;

use futures::future::{BoxFuture, select};
use futures::{FutureExt, StreamExt, stream};
use gateway_protocol::era::{self, InputKind};
use gateway_protocol::{Id, Message, Notification, Outcome, Reply, Request, Response, Revision, sse};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::Gateway;
use super::carry_out::{Errand, Telling};
use super::fallen::Fallen;
use super::record::Story;
use super::rounds::{Marks, Rounds};
use super::standing::stopped;
use crate::approvals::{self, ApprovalRecord, ApprovalStatus};
use crate::chain::Ruling;
use crate::content::Content;
use crate::exchange::{Exchange, Said, Subject, ToolSubject};
use crate::names::TraceId;
use crate::outcome::Status;
use crate::ports::{Seal, StreamSlot};
use crate::refusal::{self, Answer, AnswerBody, Refused};
use crate::session::{FORM, URL};

/// What our own question is called in a result.
pub(super) const KEY: &str = "approval";
/// Begins the id of our own question on a stream; what follows is sealed, so that no server can ask in our name.
const OURS: &str = "portreeve-approval:";

/// One question of ours to a caller's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) approval: Uuid,
    pub(super) form: bool,
}

impl Question {
    fn id(self, seal: &dyn Seal) -> Id {
        let plain = serde_json::to_vec(&("approval question", self)).unwrap_or_default();
        Id::Text(format!("{OURS}{}", seal.seal(&plain)))
    }

    /// `None` for an id that is not one of ours.
    pub(super) fn open(id: &Id, seal: &dyn Seal) -> Option<Self> {
        let Id::Text(text) = id else { return None };
        let plain = seal.open(text.strip_prefix(OURS)?)?;
        let (what, question): (String, Self) = serde_json::from_slice(&plain).ok()?;
        (what == "approval question").then_some(question)
    }

    /// What a client's answer says. One that could not ask anybody said nothing.
    pub(super) fn said(self, response: &Response) -> Option<Said> {
        match &response.outcome {
            Outcome::Result(result) => said(result),
            Outcome::Error(_) => None,
        }
    }
}

/// A person's answer, where it is one.
pub(super) fn said(answer: &Value) -> Option<Said> {
    match answer.get("action")?.as_str()? {
        "accept" => Some(Said::Accept),
        "decline" => Some(Said::Decline),
        "cancel" => Some(Said::Cancel),
        _ => None,
    }
}

impl Gateway {
    /// The call waits: whoever can be asked is asked, everybody else is refused and told the approval's id.
    pub(super) async fn tell(
        self: &Arc<Self>,
        errand: Box<Errand>,
        exchange: Box<Exchange>,
        ruling: Ruling,
        row: ApprovalRecord,
        telling: Telling,
    ) -> Answer {
        let question = self.question(&exchange, &row).filter(|_| telling == Telling::Ask);
        let (Some(question), Some(id)) = (question, errand.id.clone()) else {
            return self.turn_down(errand, &exchange, &ruling, Some(row.waiting())).await;
        };
        if exchange.is_modern() {
            return self.ask_in_result(errand, &exchange, &ruling, &row, question, id).await;
        }
        let Some(asked) = exchange.revision.and_then(|revision| self.request(&row, question, revision)) else {
            return self.turn_down(errand, &exchange, &ruling, Some(row.waiting())).await;
        };
        // It stays open for as long as somebody thinks about it.
        match self.ports.usage.open_stream(&exchange.principal) {
            Ok(slot) => self.ask_on_stream(errand, exchange, ruling, row, asked, slot).await,
            Err(_) => self.turn_down(errand, &exchange, &ruling, Some(row.waiting())).await,
        }
    }

    /// What this client can show its user, as far as it said so.
    fn question(&self, exchange: &Exchange, row: &ApprovalRecord) -> Option<Question> {
        let (form, url) = match &exchange.session {
            _ if exchange.is_modern() => {
                let declared = era::described(exchange.message()?)?.capabilities;
                let page = json!({ "mode": "url" });
                let asks = InputKind::Elicitation;
                (asks.may_ask(None, &declared), asks.may_ask(page.as_object(), &declared))
            }
            Some(session) => {
                let knows = exchange.revision.is_some_and(|revision| revision >= Revision::V2025_11_25);
                (session.may_ask(FORM), session.may_ask(URL) && knows)
            }
            None => return None,
        };
        let url = url && !self.settings.load().approvals.console.is_empty();
        let question = Question { approval: row.asked.id, form: !url };
        (url || (form && !row.asked.four_eyes)).then_some(question)
    }

    fn params(&self, row: &ApprovalRecord, question: Question) -> Map<String, Value> {
        let tool = row.asked.tool.as_ref().map_or("this call", |tool| tool.as_str());
        let why: String = row.asked.reasons.iter().map(|reason| format!(" {}.", reason.message)).collect();
        let message = format!("{tool} needs a human's approval.{why}");
        let params = if question.form {
            let schema = json!({ "type": "object", "properties": {} });
            json!({ "mode": "form", "message": message, "requestedSchema": schema })
        } else {
            let console = self.settings.load().approvals.console.clone();
            let url = approvals::link(&console, self.ports.seal.as_ref(), row.asked.id);
            json!({ "mode": "url", "message": message, "url": url })
        };
        params.as_object().cloned().unwrap_or_default()
    }

    fn request(&self, row: &ApprovalRecord, question: Question, revision: Revision) -> Option<(Question, Request)> {
        let mut params = self.params(row, question);
        if !question.form {
            params.insert("elicitationId".into(), row.asked.id.to_string().into());
        }
        let id = question.id(self.ports.seal.as_ref());
        Some((question, era::question(InputKind::Elicitation, Some(&params), id, revision)?))
    }

    /// The question is the result; the same call, made again with its state, is the answer.
    async fn ask_in_result(
        &self,
        errand: Box<Errand>,
        exchange: &Exchange,
        ruling: &Ruling,
        row: &ApprovalRecord,
        question: Question,
        id: Id,
    ) -> Answer {
        let Errand { mut story, .. } = *errand;
        if escalated(&mut story, exchange, ruling).await.is_err() {
            return refusal::unrecorded(&exchange.trace_id, Some(id));
        }
        let asked = json!({ KEY: { "method": InputKind::Elicitation.method(), "params": self.params(row, question) } });
        let result = json!({ "resultType": "input_required", "inputRequests": asked, "requestState": "" });
        let mut reply = Reply::from_message(&Message::result(id, result));
        let left = row.asked.deadline.duration_since(self.ports.clock.now());
        let rounds = Rounds::new(&self.ports, left.try_into().unwrap_or_default());
        rounds.close_with(exchange, Marks { asks: Some(question), ..Marks::default() }, &mut reply);
        Answer { status: 200, headers: Vec::new(), body: AnswerBody::Json(reply.raw().clone()) }
    }

    /// The question comes first on the stream; what comes of it, once somebody has decided, is the rest of the stream.
    async fn ask_on_stream(
        self: &Arc<Self>,
        errand: Box<Errand>,
        exchange: Box<Exchange>,
        ruling: Ruling,
        row: ApprovalRecord,
        (question, request): (Question, Request),
        slot: StreamSlot,
    ) -> Answer {
        let mut errand = errand;
        if escalated(&mut errand.story, &exchange, &ruling).await.is_err() {
            return refusal::unrecorded(&exchange.trace_id, errand.id);
        }
        let first = sse::Frame::Event(sse::Event::message(Message::Request(request).to_vec()));
        let gateway = Arc::clone(self);
        let rest = async move {
            let decided = gateway.wait(&exchange, &row).await;
            let told = decided.filter(|_| !question.form).map(completed);
            let answer = match decided {
                Some(_) => gateway.again(errand, exchange).await,
                None => gateway.still_waiting(errand, &exchange, &ruling, &row),
            };
            drop(slot);
            stream::iter(told).chain(frames(answer))
        };
        let events = stream::once(async move { first }).chain(stream::once(rest).flatten());
        Answer { status: 200, headers: Vec::new(), body: AnswerBody::Events(events.boxed()) }
    }

    /// Until somebody has decided or its caller was stopped: the approval's id. `None` if it waits still.
    async fn wait(&self, exchange: &Exchange, row: &ApprovalRecord) -> Option<Uuid> {
        let hold = self.settings.load().hold;
        let patience = self.ports.clock.now().checked_add(hold).unwrap_or(Timestamp::MAX);
        let decided = self.ports.approvals.decided(row.asked.id, patience.min(row.asked.deadline));
        let Exchange { principal, route, .. } = exchange;
        let tool = exchange.tool().map(|tool| tool.name.clone());
        let ended = stopped(Arc::clone(&self.ports.live), Arc::clone(principal), route.clone(), tool).boxed();
        let row = match select(decided, ended).await {
            futures::future::Either::Left((row, _)) => row.ok()?,
            futures::future::Either::Right(((), _)) => return Some(row.asked.id),
        };
        let due = row.asked.deadline <= self.ports.clock.now();
        (row.status != ApprovalStatus::Pending || due).then_some(row.asked.id)
    }

    /// The same call once more, judged under what holds now: a lot may have changed while somebody thought.
    fn again(self: Arc<Self>, errand: Box<Errand>, mut exchange: Box<Exchange>) -> BoxFuture<'static, Answer> {
        let Errand { id, caller, upstream, spend, slot, mirrored, resumes, unread, .. } = *errand;
        async move {
            let fresh = TraceId::from_uuid(self.ports.clock.fresh_id());
            exchange.continues = Some(std::mem::replace(&mut exchange.trace_id, fresh));
            exchange.at = self.ports.clock.now();
            exchange.content = Content::default();
            let chain = self.chain.load_full();
            let live = self.ports.live.load();
            exchange.rules = Arc::clone(live.rules_of(exchange.principal.tenant));
            if let Subject::Tool(tool) = &mut exchange.subject {
                let name = tool.name.clone();
                let known = exchange.rules.tool(&name).or_else(|| chain.policies().tool(&name)).cloned();
                let (standing, pin) = self.ports.definitions.standing(&live.pins, &name);
                *tool = ToolSubject { standing, pin, ..ToolSubject::new(name, known, tool.observed) };
            }
            exchange.live = live;
            let span = self.follow_on(&mut exchange);
            let fallen = Fallen::new(&self.ports).with(&exchange.principal, &exchange.trace_id);
            let Ok(story) = Story::open(&self.ports, &exchange, span, fallen) else {
                return refusal::unrecorded(&exchange.trace_id, id);
            };
            let errand =
                Box::new(Errand { id, caller, chain, upstream, story, spend, slot, mirrored, resumes, unread });
            self.settle(errand, exchange, Telling::Refuse).await
        }
        .boxed()
    }

    /// Nobody decided while the stream could be kept open. The escalation is written down already.
    fn still_waiting(&self, errand: Box<Errand>, exchange: &Exchange, ruling: &Ruling, row: &ApprovalRecord) -> Answer {
        let refused = Refused {
            trace_id: &exchange.trace_id,
            decision: ruling.decision,
            reasons: &ruling.reasons,
            tool: exchange.tool().map(|tool| tool.name.as_str()),
            modern: exchange.is_modern(),
            waiting: Some(row.waiting()),
        };
        refused.answer(errand.id, self.settings.load().manner)
    }
}

/// The escalation is an event of its own; the run that may follow is another.
async fn escalated(story: &mut Story, exchange: &Exchange, ruling: &Ruling) -> Result<(), ()> {
    story.ends_as(Status::ApprovalRequired);
    story.decide(exchange, ruling, true).await.map_err(drop)?;
    story.close(Status::ApprovalRequired, None);
    Ok(())
}

/// A client that sent its user to a page may stop showing it.
fn completed(approval: Uuid) -> sse::Frame {
    let params = json!({ "elicitationId": approval.to_string() }).as_object().cloned();
    let told = Notification { method: "notifications/elicitation/complete".into(), params };
    sse::Frame::Event(sse::Event::message(Message::Notification(told).to_vec()))
}

/// An answer as what is left of a stream.
fn frames(answer: Answer) -> stream::BoxStream<'static, sse::Frame> {
    match answer.body {
        AnswerBody::Empty => stream::empty().boxed(),
        AnswerBody::Json(json) => stream::once(async move { sse::Frame::Event(sse::Event::message(json)) }).boxed(),
        AnswerBody::Events(events) => events,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::PlainSeal;

    #[test]
    fn a_question_is_known_again_and_cannot_be_made_up() {
        let question = Question { approval: Uuid::from_u128(7), form: true };
        assert_eq!(Question::open(&question.id(&PlainSeal), &PlainSeal), Some(question));
        for id in ["portreeve-approval:00000000-0000-0000-0000-000000000007", "7", ""] {
            assert_eq!(Question::open(&Id::Text(id.into()), &PlainSeal), None, "{id}");
        }
        assert_eq!(Question::open(&Id::from(7), &PlainSeal), None);
    }

    #[test]
    fn answers_are_one_of_three() {
        for (answer, expected) in [
            (json!({ "action": "accept", "content": {} }), Some(Said::Accept)),
            (json!({ "action": "decline" }), Some(Said::Decline)),
            (json!({ "action": "cancel" }), Some(Said::Cancel)),
            (json!({ "action": "yes" }), None),
            (json!(null), None),
        ] {
            assert_eq!(said(&answer), expected, "{answer}");
        }
    }
}
