//! What a legacy server says while a call is under way, and what of it is for the client.

use gateway_core::OwnAnswer;
use gateway_core::ports::{Answered, Content, StreamItem, UpstreamError};
use gateway_protocol::era::{self, InputKind, Level};
use gateway_protocol::{Id, Message, Notification, Reply, ReplyKind, Request, RpcError, code};
use serde_json::Value;
use tokio::time::Instant;

use super::{Audience, Came, GATHER, Heard, MOST_OPEN, Question, Running, Source};
use crate::bridge::live::{is_session_gone, not_declared};

impl Running {
    pub(super) fn came(&mut self, came: Came, audience: &Audience) -> Option<Heard> {
        match came {
            Came::Answer(Ok(answered)) => Some(self.begun(answered)),
            Came::Answer(Err(UpstreamError::SessionGone(_))) => {
                self.end();
                Some(Heard::Gone(None))
            }
            Came::Answer(Err(error)) | Came::Item(Some(Err(error))) => {
                self.source = Source::Over;
                // One that is only late still works on it, and is told to stop.
                self.over = !matches!(error, UpstreamError::TimedOut(_));
                Some(Heard::Failed(error))
            }
            Came::Item(None) => self.ended_early(),
            Came::Rest(rest) => self.resumed(rest),
            Came::Item(Some(Ok(StreamItem::Event { frame, reply }))) => {
                self.polling.saw(&frame);
                let reply = reply?;
                match reply.is_final() {
                    true => self.is_answer(&reply).then(|| self.done(reply)),
                    false => reply.message().ok().and_then(|message| self.take(message, audience)),
                }
            }
            // Comments keep that connection alive, not the client's.
            Came::Item(Some(Ok(StreamItem::Comment(_)))) => None,
        }
    }

    fn begun(&mut self, answered: Answered) -> Heard {
        let Answered { status, session, content } = answered;
        match content {
            Content::Stream(items) => {
                self.source = Source::Open(items);
                Heard::Begun
            }
            Content::One(reply) if matches!(status, 401 | 403) => {
                self.end();
                Heard::Odd(Answered { status, session, content: Content::One(reply) })
            }
            Content::One(reply) if says_session_gone(status, &reply) => {
                self.end();
                Heard::Gone(Some(reply))
            }
            Content::One(reply) if reply.is_final() && self.is_answer(&reply) => self.done(reply),
            Content::One(_) => {
                self.end();
                Heard::Failed(self.not_mcp("the answer to another question"))
            }
            content => {
                self.end();
                Heard::Odd(Answered { status, session, content })
            }
        }
    }

    fn done(&mut self, reply: Reply) -> Heard {
        self.end();
        Heard::Done(reply)
    }

    fn is_answer(&self, reply: &Reply) -> bool {
        match reply.kind() {
            // An error may be unable to say what it is about.
            ReplyKind::Error { .. } => reply.id().is_none_or(|id| *id == self.request.id),
            _ => reply.id() == Some(&self.request.id),
        }
    }

    pub(super) fn take(&mut self, message: Message, audience: &Audience) -> Option<Heard> {
        match message {
            Message::Notification(notification) => self.told(notification, audience),
            Message::Request(request) => {
                self.question(request);
                None
            }
            Message::Response(_) => None,
        }
    }

    fn told(&mut self, notification: Notification, audience: &Audience) -> Option<Heard> {
        let param = |name: &str| notification.params.as_ref().and_then(|params| params.get(name));
        match notification.method.as_str() {
            "notifications/progress" => {
                let ours = param("progressToken").is_some_and(|token| *token == Value::from(&self.request.id));
                let token = audience.token.as_ref().filter(|_| ours)?;
                Some(Heard::Told(era::under_token(notification, token)))
            }
            "notifications/message" => {
                let loud = Level::of(&notification)? >= audience.level?;
                loud.then_some(Heard::Told(notification))
            }
            // The server takes a question back.
            "notifications/cancelled" => {
                let id = Id::try_from(param("requestId")?.clone()).ok()?;
                self.open.retain(|open| open.id != id);
                if self.open.is_empty() {
                    self.gather_until = None;
                }
                None
            }
            // For whoever listens.
            _ => {
                self.live.tell(notification);
                None
            }
        }
    }

    fn question(&mut self, request: Request) {
        let kind = InputKind::of(&request.method);
        let allowed =
            kind.filter(|kind| era::may_ask(&self.request.method) && self.live.may_ask(*kind, request.params.as_ref()));
        match allowed {
            Some(kind) if self.open.len() < MOST_OPEN => {
                let before = self.asked.iter().filter(|asked| **asked == kind).count();
                self.asked.push(kind);
                let key = format!("{}-{}", kind.capability(), before + 1);
                self.open.push(Question { key, kind, id: request.id, params: request.params });
                self.gather_until = Some(Instant::now() + GATHER);
            }
            Some(_) => {
                let error = RpcError::new(code::INTERNAL, "too many questions are open");
                self.live.answer(request.id, OwnAnswer::Refuse(error));
            }
            None if request.method == "ping" => self.live.answer(request.id, OwnAnswer::Pong),
            None => self.live.answer(request.id, OwnAnswer::Refuse(not_declared(&request.method))),
        }
    }
}

/// Said instead of looking at what was asked: 404 without these words is known to the transport already.
fn says_session_gone(status: u16, reply: &Reply) -> bool {
    let gone = |error: i64| is_session_gone(error) || error == code::INVALID_REQUEST;
    matches!(status, 400 | 404) && matches!(reply.kind(), ReplyKind::Error { code } if gone(code))
}
