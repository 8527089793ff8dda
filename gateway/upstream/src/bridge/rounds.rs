//! One call of a legacy client on a modern upstream, round after round: the upstream's questions go onto the call's own stream as
//! requests, the client's answers go up with the call asked again.
//!
//! Nothing runs but the stream itself: whoever reads it carries the call forward.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use gateway_core::ports::{Answered, Content, StreamItem, Upstream, UpstreamError};
use gateway_core::{Namespace, Permit};
use gateway_protocol::era::{Input, InputKind, InputRequired, down_results, input_required, question, up};
use gateway_protocol::{Id, Message, Outcome, Reply, ReplyKind, Request, ResultKind, Revision, RpcError, code, sse};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::eras::Eras;
use super::mirrors::Mirrors;
use super::news::event;
use super::sessions::{Bridged, Running, Waiting};
use crate::ask;

/// A server that asks more often than this about one call is not getting anywhere.
const MAX_ROUNDS: usize = 16;
/// A server that asks nothing wants to be asked again, but not at once.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Call {
    pub(super) inner: Arc<dyn Upstream>,
    pub(super) namespace: Namespace,
    pub(super) eras: Arc<Eras>,
    pub(super) mirrors: Arc<Mirrors>,
    pub(super) session: Arc<Bridged>,
    pub(super) running: Running,
    /// What the client's answer is answered under.
    pub(super) id: Id,
    /// The client's request in modern words, and the permit for it.
    pub(super) raised: Request,
    pub(super) permit: Permit,
    pub(super) hold: Duration,
}

/// Where one round's messages come from.
enum Source {
    One(Option<Reply>),
    Stream(BoxStream<'static, Result<StreamItem, UpstreamError>>),
}

enum Step {
    Say(StreamItem),
    Quiet,
    Final(Reply),
}

/// Why a call ends without the upstream's answer.
enum Ended {
    /// The client gave it up; it expects nothing more.
    Cancelled,
    Upstream(UpstreamError),
    Error(RpcError),
}

/// A question under the key its answer goes back with.
struct Open {
    key: String,
    kind: InputKind,
    waiting: Waiting,
}

enum Posed {
    Asked(Open, Request),
    /// The client cannot be asked; the upstream is told so.
    Answered(String, Value),
    Impossible(RpcError),
}

impl Call {
    pub(super) async fn answer(mut self) -> Result<Answered, UpstreamError> {
        let answered = tokio::select! {
            biased;
            () = self.running.stopped() => return Ok(stream(futures::stream::empty())),
            answered = self.mirrors.call(&*self.inner, &self.namespace, &mut self.permit) => answered?,
        };
        match answered.content {
            // A challenge is between the upstream and the operator.
            _ if matches!(answered.status, 401 | 403) => Ok(Answered { session: None, ..answered }),
            Content::One(reply) if !asks(&reply) => Ok(Answered::one(200, &self.told(&reply))),
            Content::One(reply) => Ok(stream(self.rounds(Source::One(Some(reply))))),
            Content::Stream(items) => Ok(stream(self.rounds(Source::Stream(items)))),
            // In a session 404 would mean that the session is gone.
            content => Ok(Answered {
                status: if answered.status < 400 { answered.status } else { 502 },
                session: None,
                content,
            }),
        }
    }

    fn rounds(mut self, first: Source) -> impl Stream<Item = Result<StreamItem, UpstreamError>> + Send {
        async_stream::stream! {
            if self.revision() >= Revision::V2025_11_25 {
                yield Ok(StreamItem::Event { frame: sse::Event::default(), reply: None });
            }
            let mut source = first;
            let mut round = 0;
            let ended = loop {
                let last = loop {
                    match self.step(&mut source).await {
                        Ok(Step::Say(item)) => yield Ok(item),
                        Ok(Step::Quiet) => {}
                        Ok(Step::Final(reply)) => break Ok(reply),
                        Err(ended) => break Err(ended),
                    }
                };
                let last = match last {
                    Ok(last) if asks(&last) => last,
                    Ok(last) => {
                        yield Ok(event(&self.told(&last)));
                        return;
                    }
                    Err(ended) => break ended,
                };
                round += 1;
                let Some(asked) = asked(&last).filter(|_| round <= MAX_ROUNDS) else {
                    let what = if round > MAX_ROUNDS { "the upstream asked too often" } else { "the upstream asked for what nobody here can answer" };
                    break Ended::Error(RpcError::new(code::INTERNAL, what));
                };
                let (mut open, mut answers, mut failed) = (Vec::new(), Map::new(), None);
                for input in asked.inputs {
                    match self.pose(input) {
                        Posed::Asked(question, request) => {
                            open.push(question);
                            yield Ok(event(&Message::Request(request)));
                        }
                        Posed::Answered(key, value) => drop(answers.insert(key, value)),
                        Posed::Impossible(error) => {
                            failed = Some(Ended::Error(error));
                            break;
                        }
                    }
                }
                let collected = match failed {
                    Some(ended) => Err(ended),
                    None if open.is_empty() && answers.is_empty() => self.pause().await.map(|()| Vec::new()),
                    None => self.collect(&mut open, &mut answers).await,
                };
                let next = match collected {
                    Ok(given) => self.again(answers, asked.state, &given).await,
                    Err(ended) => Err(ended),
                };
                // Nobody waits for these any more; the client may take its dialogs away.
                for question in open {
                    yield Ok(event(&withdrawn(&question.waiting.id)));
                }
                match next {
                    Ok(next) => source = next,
                    Err(ended) => break ended,
                }
            };
            match ended {
                Ended::Cancelled => {}
                Ended::Upstream(error) => yield Err(error),
                Ended::Error(error) => yield Ok(event(&Message::error(Some(self.id.clone()), error))),
            }
        }
    }

    fn revision(&self) -> Revision {
        self.session.handshake().revision
    }

    /// The next message of this round, in the client's words.
    async fn step(&mut self, source: &mut Source) -> Result<Step, Ended> {
        let item = match source {
            Source::One(reply) => return reply.take().map(Step::Final).ok_or_else(|| self.unanswered()),
            Source::Stream(items) => tokio::select! {
                biased;
                () = self.running.stopped() => return Err(Ended::Cancelled),
                item = items.next() => item,
            },
        };
        let reply = match item {
            None => return Err(self.unanswered()),
            Some(Err(error)) => return Err(Ended::Upstream(error)),
            Some(Ok(comment @ StreamItem::Comment(_))) => return Ok(Step::Say(comment)),
            Some(Ok(StreamItem::Event { reply: None, .. })) => return Ok(Step::Quiet),
            Some(Ok(StreamItem::Event { reply: Some(reply), .. })) => reply,
        };
        if reply.is_final() {
            return Ok(Step::Final(reply));
        }
        // A modern server has no requests of its own; one that sends some gets no answer.
        let Ok(Message::Notification(notification)) = reply.message() else { return Ok(Step::Quiet) };
        let told = down_results::notification(notification, self.revision());
        Ok(told.map_or(Step::Quiet, |told| Step::Say(event(&Message::Notification(told)))))
    }

    fn unanswered(&self) -> Ended {
        Ended::Upstream(ask::not_mcp(&self.namespace, "a stream without an answer"))
    }

    /// The upstream's last word, as the client's revision writes it.
    fn told(&self, reply: &Reply) -> Message {
        let id = Some(self.id.clone());
        let method = &self.raised.method;
        match reply.message() {
            Ok(Message::Response(response)) => match response.outcome {
                Outcome::Result(result) => {
                    self.mirrors.note(method, &result);
                    Message::result(self.id.clone(), down_results::result(method, result, self.revision()))
                }
                Outcome::Error(error) => {
                    self.eras.told(error.code);
                    Message::error(id, down_results::error(error))
                }
            },
            _ => Message::error(id, RpcError::new(code::INTERNAL, "the upstream's answer cannot be read")),
        }
    }

    fn pose(&self, (key, kind, params): Input) -> Posed {
        let handshake = self.session.handshake();
        let id = Id::Text(format!("q-{}", Uuid::new_v4()));
        let declared = kind.may_ask(params.as_ref(), &up::capabilities(handshake));
        let request = declared.then(|| question(kind, params.as_ref(), id.clone(), handshake.revision)).flatten();
        let waiting = request.is_some().then(|| self.session.ask(id)).flatten();
        if let (Some(request), Some(waiting)) = (request, waiting) {
            return Posed::Asked(Open { key, kind, waiting }, request);
        }
        let unable = RpcError::new(code::INTERNAL, format!("this client cannot be asked `{}`", kind.method()));
        match up::answer(kind, &Outcome::Error(unable)) {
            Ok(value) => Posed::Answered(key, value),
            Err(error) => Posed::Impossible(error),
        }
    }

    async fn pause(&mut self) -> Result<(), Ended> {
        tokio::select! {
            biased;
            () = self.running.stopped() => Err(Ended::Cancelled),
            () = tokio::time::sleep(PAUSE) => Ok(()),
        }
    }

    /// Waits until every question has its answer. What is left in `open` has none.
    async fn collect(&mut self, open: &mut Vec<Open>, answers: &mut Map<String, Value>) -> Result<Vec<Permit>, Ended> {
        let until = Instant::now() + self.hold;
        let mut given = Vec::with_capacity(open.len());
        while let Some(question) = open.first_mut() {
            let answered = tokio::select! {
                biased;
                () = self.running.stopped() => return Err(Ended::Cancelled),
                answered = tokio::time::timeout_at(until, &mut question.waiting.answered) => answered,
            };
            let Ok(Ok(permit)) = answered else {
                let what = format!("nobody answered `{}` in time", question.kind.method());
                return Err(Ended::Error(RpcError::new(code::INTERNAL, what)));
            };
            let question = open.remove(0);
            if let Some(Message::Response(response)) = permit.exchange().message() {
                let value = up::answer(question.kind, &response.outcome).map_err(Ended::Error)?;
                answers.insert(question.key, value);
            }
            given.push(permit);
        }
        Ok(given)
    }

    /// Asks once more, with what was answered.
    async fn again(
        &mut self,
        answers: Map<String, Value>,
        state: Option<String>,
        given: &[Permit],
    ) -> Result<Source, Ended> {
        let message = Message::Request(up::retry(&self.raised, ask::own_id(), answers, state));
        let permit = self.permit.with_inputs(message, &given.iter().collect::<Vec<_>>());
        // `None` only if the answers were not those of this caller, and then nothing may be sent.
        let refused = || Ended::Error(RpcError::new(code::INTERNAL, "the answers are not this caller's"));
        let permit = permit.ok_or_else(refused)?;
        let answered = tokio::select! {
            biased;
            () = self.running.stopped() => return Err(Ended::Cancelled),
            answered = self.inner.call(&permit) => answered.map_err(Ended::Upstream)?,
        };
        match answered.content {
            Content::One(reply) if !matches!(answered.status, 401 | 403) => Ok(Source::One(Some(reply))),
            Content::Stream(items) => Ok(Source::Stream(items)),
            _ => Err(Ended::Upstream(ask::not_mcp(&self.namespace, &format!("HTTP status {}", answered.status)))),
        }
    }
}

fn asks(reply: &Reply) -> bool {
    matches!(reply.kind(), ReplyKind::Result { kind: ResultKind::InputRequired, .. })
}

fn asked(reply: &Reply) -> Option<InputRequired> {
    match reply.message() {
        Ok(Message::Response(response)) => match response.outcome {
            Outcome::Result(result) => input_required(&result),
            Outcome::Error(_) => None,
        },
        _ => None,
    }
}

fn withdrawn(id: &Id) -> Message {
    let params = json!({ "requestId": Value::from(id), "reason": "the call has ended" });
    Message::notification("notifications/cancelled", params.as_object().cloned())
}

fn stream(items: impl Stream<Item = Result<StreamItem, UpstreamError>> + Send + 'static) -> Answered {
    Answered { status: 200, session: None, content: Content::Stream(items.boxed()) }
}
