//! An answer that is a stream: each event is reviewed and passed on when it arrives.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use gateway_protocol::sse;

use super::Review;
use crate::gateway::record::{Story, status_of};
use crate::outcome::{JsonText, Status};
use crate::ports::{StreamItem, StreamSlot, UpstreamError};
use crate::refusal;
use crate::resume::Recording;

type Items = BoxStream<'static, Result<StreamItem, UpstreamError>>;

/// An upstream's event stream on its way to the client.
pub(super) struct Replies {
    items: Option<Items>,
    review: Arc<Review>,
    story: Story,
    /// The question has its final answer; what follows is not ours to judge complete or broken.
    answered: bool,
    tape: Option<Recording>,
    /// Ends once its reader is stopped.
    ended: BoxFuture<'static, ()>,
    _slot: Option<StreamSlot>,
}

impl Stream for Replies {
    type Item = sse::Frame;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<sse::Frame>> {
        let this = &mut *self;
        let Some(items) = this.items.as_mut() else {
            return Poll::Ready(None);
        };
        if this.ended.as_mut().poll(context).is_ready() {
            // Dropping the upstream's stream is how it learns that nobody listens any more.
            this.items = None;
            return Poll::Ready(this.banish());
        }
        match items.as_mut().poll_next(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(StreamItem::Event { reply: Some(reply), .. }))) if !this.review.answers(&reply) => {
                tracing::warn!("an upstream put the answer to another question into a stream; it is left out");
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(Some(Ok(StreamItem::Event { reply: Some(reply), .. }))) if this.review.is_not_for(&reply) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(Some(Ok(item))) => Poll::Ready(Some(this.forward(item))),
            Poll::Ready(Some(Err(error))) => {
                this.items = None;
                tracing::warn!(error = &error as &dyn std::error::Error, "an upstream failed in mid-stream: {error}");
                Poll::Ready(this.fail(&error))
            }
            Poll::Ready(None) => {
                this.items = None;
                this.tape = None;
                // A GET stream simply ends; a call whose answer never came has failed.
                let status =
                    if this.answered || this.review.id.is_none() { Status::Ok } else { Status::UpstreamFailed };
                this.story.close(status, None);
                Poll::Ready(None)
            }
        }
    }
}

impl Replies {
    pub(super) fn new(
        items: Items,
        review: Arc<Review>,
        story: Story,
        tape: Option<Recording>,
        ended: BoxFuture<'static, ()>,
        slot: Option<StreamSlot>,
    ) -> Self {
        Self { items: Some(items), review, story, answered: false, tape, ended, _slot: slot }
    }

    /// Its reader was stopped: a question that was still open is answered with that, and the stream is over.
    fn banish(&mut self) -> Option<sse::Frame> {
        self.tape = None;
        self.story.close(Status::Denied, None);
        let id = self.review.id.clone().filter(|_| !self.answered)?;
        Some(sse::Frame::Event(sse::Event::message(self.review.withheld(Some(id)).raw().clone())))
    }

    fn forward(&mut self, item: StreamItem) -> sse::Frame {
        let (mut frame, mut reply) = match item {
            StreamItem::Comment(comment) => return sse::Frame::Comment(comment),
            StreamItem::Event { frame, reply: None } => return self.kept(frame),
            StreamItem::Event { frame, reply: Some(reply) } => (frame, reply),
        };
        self.review.pass(&mut reply);
        if reply.is_final() && self.review.id.is_some() {
            self.answered = true;
            self.story.close(status_of(&reply), Some(JsonText::from_checked(reply.raw().clone())));
        }
        frame.data = Bytes::clone(reply.raw());
        self.kept(frame)
    }

    /// An upstream that numbers its events can resume its streams itself, and its numbers are not ours to change.
    fn kept(&mut self, mut frame: sse::Event) -> sse::Frame {
        if frame.id.is_some() {
            self.tape = None;
        }
        if let Some(tape) = &mut self.tape {
            tape.add(&mut frame);
        }
        sse::Frame::Event(frame)
    }

    /// The stream has begun, so the failure arrives inside it, as a JSON-RPC error.
    fn fail(&mut self, error: &UpstreamError) -> Option<sse::Frame> {
        self.story.close(Status::UpstreamFailed, None);
        let id = self.review.id.clone().filter(|_| !self.answered)?;
        let message = refusal::upstream_error(error, Some(id));
        let frame = self.kept(sse::Event::message(message.to_vec()));
        self.tape = None;
        Some(frame)
    }
}
