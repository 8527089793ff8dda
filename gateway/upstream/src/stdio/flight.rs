//! One client's request under way in a child: sent under our number, answered under the client's, taken back when dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::{Stream, StreamExt, stream};
use gateway_core::Namespace;
use gateway_core::ports::{Answered, Content, StreamItem, UpstreamError};
use gateway_protocol::{Message, Reply, ReplyKind, Request, code};
use serde_json::{Map, json};

use super::board::ClientRequest;
use super::mailbox::{Mailbox, event};
use super::process::{Launch, Process};
use super::rewrite;

pub(super) struct Flight {
    namespace: Namespace,
    process: Arc<Process>,
    number: u64,
    mailbox: Arc<Mailbox>,
    /// The final answer was given out, or the child is gone.
    over: bool,
    /// Going away means taking the request back: so it is in the modern era, and for whoever waited too long.
    cancels: bool,
}

impl Flight {
    pub(super) async fn start(
        launch: &Launch,
        process: Arc<Process>,
        session: Option<&str>,
        request: &Request,
        modern: bool,
    ) -> Result<Answered, UpstreamError> {
        let mailbox = Arc::new(Mailbox::default());
        let number = process.board().enter(ClientRequest {
            session: session.map(Into::into),
            id: request.id.clone(),
            token: rewrite::token(request),
            mailbox: Arc::clone(&mailbox),
        });
        let namespace = launch.namespace().clone();
        let mut flight = Self { namespace, process, number, mailbox, over: false, cancels: modern };
        let first = async {
            if !flight.process.send(&rewrite::inward(request, number)).await {
                flight.over = true;
                return Err(flight.lost());
            }
            match flight.next().await {
                Some(first) => first,
                None => Err(flight.lost()),
            }
        };
        let first = tokio::time::timeout(launch.config.request_timeout, first).await;
        let Ok(first) = first else {
            flight.cancels = true;
            return Err(UpstreamError::TimedOut(flight.namespace.clone()));
        };
        let (status, content) = match first? {
            StreamItem::Event { reply: Some(reply), .. } if reply.is_final() => {
                (status(&reply, modern), Content::One(reply))
            }
            first => (200, Content::Stream(stream::once(async { Ok(first) }).chain(flight).boxed())),
        };
        Ok(Answered { status, session: None, content })
    }

    fn lost(&self) -> UpstreamError {
        UpstreamError::Unreachable(self.namespace.clone(), "the program ended before it answered".into())
    }
}

/// The modern era says in the status what kind of error the body holds.
fn status(reply: &Reply, modern: bool) -> u16 {
    match reply.kind() {
        ReplyKind::Error { code: code::METHOD_NOT_FOUND } if modern => 404,
        ReplyKind::Error { code: code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION }
            if modern =>
        {
            400
        }
        _ => 200,
    }
}

impl Stream for Flight {
    type Item = Result<StreamItem, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        let taken = ready!(self.mailbox.poll_take(context));
        self.over = taken.as_ref().is_none_or(Reply::is_final);
        Poll::Ready(Some(match taken {
            Some(reply) => Ok(event(reply)),
            None => Err(self.lost()),
        }))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.process.board().leave(self.number) || self.over || !self.cancels {
            return;
        }
        let params = Map::from_iter([("requestId".into(), json!(self.number))]);
        self.process.send_now(&Message::notification("notifications/cancelled", Some(params)));
    }
}
