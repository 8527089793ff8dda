//! Batches: many messages in one body, each judged and sent by itself.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use gateway_protocol::{Malformed, Message, Revision, code, sse};

use super::{Caller, Gateway, Shown};
use crate::exchange::Ask;
use crate::refusal::{Answer, AnswerBody};

impl Gateway {
    /// Only the revision of 2025-03-26 has batches; each member is judged and sent by itself.
    pub(super) async fn batch(self: &Arc<Self>, caller: &Arc<Caller>, messages: Vec<Message>) -> Answer {
        if let Err(malformed) = allowed(caller, &messages) {
            return self.refuse_unread(caller, &malformed).await;
        }
        let members = messages.into_iter().map(|message| self.exchange(caller, Ask::Message(message)));
        let answers = futures::future::join_all(members).await;
        if answers.iter().any(|answer| matches!(answer.body, AnswerBody::Events(_))) {
            let streams = answers.into_iter().filter_map(|answer| match answer.body {
                AnswerBody::Empty => None,
                AnswerBody::Events(stream) => Some(stream),
                AnswerBody::Json(json) => {
                    Some(futures::stream::once(async move { sse::Frame::Event(sse::Event::message(json)) }).boxed())
                }
            });
            let merged = futures::stream::select_all(streams).boxed();
            return Answer { status: 200, headers: Vec::new(), body: AnswerBody::Events(merged) };
        }
        let bodies: Vec<Bytes> = answers
            .into_iter()
            .filter_map(|answer| if let AnswerBody::Json(json) = answer.body { Some(json) } else { None })
            .collect();
        if bodies.is_empty() {
            return Answer::empty(202);
        }
        let array = [b"[".as_slice(), &bodies.join(b",".as_slice()), b"]"].concat();
        Answer { status: 200, headers: Vec::new(), body: AnswerBody::Json(array.into()) }
    }
}

/// A batch is one body, so the session decides for all of its members.
fn allowed(caller: &Caller, messages: &[Message]) -> Result<(), Malformed> {
    let refuse = |what: &str| Err(Malformed::new(code::INVALID_REQUEST, what));
    if messages.iter().any(|message| message.method() == Some("initialize")) {
        return refuse("`initialize` cannot be part of a batch");
    }
    let said = caller.headers.protocol_version.as_deref().map(str::parse::<Revision>);
    let revision = match (&caller.session, said) {
        (Shown::Open(session), _) => session.revision(),
        (_, Some(said)) => said.ok(),
        // Without a header the specification has us assume the first Streamable HTTP revision, which has batches.
        (_, None) => Some(Revision::V2025_03_26),
    };
    match revision.is_some_and(Revision::has_batches) {
        true => Ok(()),
        false => refuse("batches exist only in revision 2025-03-26: send one message at a time"),
    }
}
