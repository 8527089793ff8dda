//! An answer that is a stream: each event is reviewed and passed on when it arrives.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use gateway_protocol::{Id, Reply, sse};

use super::Review;
use super::held::{Given, Held};
use crate::chain::Passing;
use crate::content::Found;
use crate::gateway::record::{Story, status_of};
use crate::outcome::Status;
use crate::ports::{StreamItem, StreamSlot, UpstreamError};
use crate::refusal;
use crate::resume::Recording;
use crate::verdict::Reason;

/// The only event there is behind the first one of a stream.
const MESSAGE: &str = "message";
/// Longer ones are more than a place in a stream.
const LONGEST_ID: usize = 1024;

type Items = BoxStream<'static, Result<StreamItem, UpstreamError>>;

/// An upstream's event stream on its way to the client.
pub(super) struct Replies {
    items: Option<Items>,
    review: Arc<Review>,
    story: Story,
    /// The question has its final answer; what follows is not ours to judge complete or broken.
    answered: bool,
    tape: Option<Recording>,
    /// What one plugin keeps back, where one does.
    held: Option<Held>,
    /// Reviewed, and on its way.
    ready: VecDeque<sse::Frame>,
    /// Ends once its reader is stopped.
    ended: BoxFuture<'static, ()>,
    _slot: Option<StreamSlot>,
}

impl Stream for Replies {
    type Item = sse::Frame;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<sse::Frame>> {
        let this = &mut *self;
        loop {
            if this.items.is_some() && this.ended.as_mut().poll(context).is_ready() {
                // Dropping the upstream's stream is how it learns that nobody listens any more.
                this.items = None;
                this.ready.clear();
                return Poll::Ready(this.banish());
            }
            if let Some(frame) = this.ready.pop_front() {
                return Poll::Ready(Some(frame));
            }
            let Some(items) = this.items.as_mut() else {
                return Poll::Ready(None);
            };
            match items.as_mut().poll_next(context) {
                Poll::Pending => {
                    // What was held long enough goes on without what it was held for.
                    let over = this.held.as_mut().is_some_and(|held| held.is_over(context));
                    if !over {
                        return Poll::Pending;
                    }
                    this.release();
                }
                Poll::Ready(Some(Ok(StreamItem::Event { reply: Some(reply), .. }))) if !this.review.answers(&reply) => {
                    tracing::warn!("an upstream put the answer to another question into a stream; it is left out");
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(Some(Ok(StreamItem::Event { reply: Some(reply), .. })))
                    if this.review.is_not_for(&reply) =>
                {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(Some(Ok(item))) => this.take(item),
                Poll::Ready(Some(Err(error))) => {
                    this.items = None;
                    this.release();
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "an upstream failed in mid-stream: {error}"
                    );
                    let failed = this.fail(&error);
                    this.ready.extend(failed);
                }
                Poll::Ready(None) => {
                    this.items = None;
                    this.release();
                    this.tape = None;
                    // A GET stream simply ends; a call whose answer never came has failed.
                    let status =
                        if this.answered || this.review.id.is_none() { Status::Ok } else { Status::UpstreamFailed };
                    this.story.close(status, None);
                }
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
        let held = Held::open(&review.chain, &review.exchange, &review.ports.clock);
        let ready = VecDeque::new();
        Self { items: Some(items), review, story, answered: false, tape, held, ready, ended, _slot: slot }
    }

    /// Its reader was stopped: a question that was still open is answered with that, and the stream is over.
    fn banish(&mut self) -> Option<sse::Frame> {
        self.tape = None;
        self.story.close(Status::Denied, None);
        let id = self.review.id.clone().filter(|_| !self.answered)?;
        Some(sse::Frame::Event(sse::Event::message(self.review.withheld(Some(id)).raw().clone())))
    }

    fn take(&mut self, item: StreamItem) {
        match item {
            // It is a sign of life, and its words are nobody's to read.
            StreamItem::Comment(_) => self.ready.push_back(sse::Frame::Comment(Bytes::new())),
            StreamItem::Event { frame, reply: None } => {
                let mut found = Found::default();
                let given = match &mut self.held {
                    Some(held) => held.bare(frame, &mut found),
                    None => vec![(frame, None)],
                };
                self.forward(given, &found);
            }
            StreamItem::Event { frame, reply: Some(mut reply) } => {
                self.review.list(&mut reply);
                let Some(held) = &mut self.held else {
                    return self.forward(vec![(frame, Some(reply.into()))], &Found::default());
                };
                let mut found = Found::default();
                let (kind, id) = (reply.is_final(), reply.id().cloned());
                let (given, refused) = held.next(frame, reply, &mut found);
                self.forward(given, &found);
                if let Some((frame, reason)) = refused {
                    self.refuse(frame, kind.then_some(id).flatten(), &reason);
                }
            }
        }
    }

    /// Whatever is held goes on.
    fn release(&mut self) {
        let mut found = Found::default();
        let given = self.held.as_mut().map(|held| held.end(&mut found)).unwrap_or_default();
        self.forward(given, &found);
    }

    /// `found` is what was found in all of them.
    fn forward(&mut self, given: Vec<Given>, found: &Found) {
        let done = self.held.as_ref().map(Held::plugin);
        // Before any of them goes on: with the last one the record is closed.
        self.story.found(&self.review.ports.audit, &self.review.exchange, found);
        for (frame, passing) in given {
            let Some(Passing { mut reply, edited: mut own }) = passing else {
                let kept = self.kept(frame);
                self.ready.push_back(kept);
                continue;
            };
            let reviewed = self.review.chain.review_rest(&self.review.exchange, &mut reply, done, &mut own);
            self.story.found(&self.review.ports.audit, &self.review.exchange, &own);
            match reviewed {
                Ok(()) => self.send(frame, reply),
                Err(reason) => self.refuse(frame, reply.id().cloned().filter(|_| reply.is_final()), &reason),
            }
        }
    }

    /// An answer is replaced by an error; what nobody waits for is left out.
    fn refuse(&mut self, frame: sse::Event, id: Option<Id>, reason: &Reason) {
        if id.is_none() {
            let trace = &self.review.exchange.trace_id;
            tracing::info!(%trace, plugin = reason.plugin, "left out a message: {}", reason.message);
            return;
        }
        let message = refusal::kept_back(&self.review.exchange, reason, self.review.manner, id);
        self.send(frame, Reply::from_message(&message));
    }

    fn send(&mut self, mut frame: sse::Event, mut reply: Reply) {
        self.review.seal(&mut reply);
        if reply.is_final() && self.review.id.is_some() {
            self.answered = true;
            self.story.close(status_of(&reply), Some(self.review.recorded(&reply, &Found::default())));
        }
        frame.data = Bytes::clone(reply.raw());
        let kept = self.kept(frame);
        self.ready.push_back(kept);
    }

    /// An upstream that numbers its events can resume its streams itself, and its numbers are not ours to change. Other events
    /// than messages mean nothing to a client, so no other name goes on.
    fn kept(&mut self, mut frame: sse::Event) -> sse::Frame {
        if frame.id.is_some() {
            self.tape = None;
        }
        frame.id = frame.id.filter(|id| is_number(id));
        frame.event = frame.event.filter(|name| name == MESSAGE);
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

/// Whether this may be the place of an event: a word to be given back, as a cursor is, and no text.
fn is_number(id: &str) -> bool {
    id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_graphic())
}
