//! A bounded queue of messages for one reader. The child never waits for a slow client: when the queue is full, what only
//! informs is dropped, oldest first; answers never are.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::Stream;
use gateway_core::ports::{StreamItem, UpstreamError};
use gateway_protocol::{Reply, ReplyKind, sse};
use tracing::warn;

const MAX_MESSAGES: usize = 256;
const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub(super) struct Mailbox(Mutex<State>);

#[derive(Default)]
struct State {
    queue: VecDeque<Reply>,
    bytes: usize,
    waker: Option<Waker>,
    closed: bool,
    dropped: u64,
    /// Which reader is the current one; 0 when nobody reads.
    reader: u64,
    readers: u64,
}

impl Mailbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether there was room.
    pub(super) fn put(&self, reply: Reply) -> bool {
        let mut state = self.state();
        if state.closed {
            return false;
        }
        while state.is_full(&reply) && state.drop_oldest() {}
        if state.is_full(&reply) && !reply.is_final() {
            return false;
        }
        state.bytes += reply.raw().len();
        state.queue.push_back(reply);
        state.wake();
        true
    }

    /// What is queued can still be read; then it is over.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.wake();
    }

    pub(super) fn has_reader(&self) -> bool {
        self.state().reader != 0
    }

    pub(super) fn poll_take(&self, context: &mut Context<'_>) -> Poll<Option<Reply>> {
        let mut state = self.state();
        if let Some(reply) = state.queue.pop_front() {
            state.bytes = state.bytes.saturating_sub(reply.raw().len());
            return Poll::Ready(Some(reply));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl State {
    fn is_full(&self, next: &Reply) -> bool {
        !self.queue.is_empty() && (self.queue.len() >= MAX_MESSAGES || self.bytes + next.raw().len() > MAX_BYTES)
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(place) = self.queue.iter().position(|reply| reply.kind() == ReplyKind::Notification) else {
            return false;
        };
        let Some(reply) = self.queue.remove(place) else { return false };
        self.bytes = self.bytes.saturating_sub(reply.raw().len());
        self.dropped += 1;
        if self.dropped.is_power_of_two() {
            warn!(dropped = self.dropped, "a client reads too slowly: {} notifications dropped", self.dropped);
        }
        true
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// A message as an event of a stream.
pub(super) fn event(reply: Reply) -> StreamItem {
    StreamItem::Event { frame: sse::Event::message(reply.raw().clone()), reply: Some(reply) }
}

/// The stream of a session's own queue. A newer one takes over from an older.
pub(super) fn listen(mailbox: Arc<Mailbox>) -> impl Stream<Item = Result<StreamItem, UpstreamError>> + Send {
    let mut state = mailbox.state();
    state.readers += 1;
    state.reader = state.readers;
    state.wake();
    let reader = state.reader;
    drop(state);
    Listener { mailbox, reader }
}

struct Listener {
    mailbox: Arc<Mailbox>,
    reader: u64,
}

impl Stream for Listener {
    type Item = Result<StreamItem, UpstreamError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.mailbox.state().reader != self.reader {
            return Poll::Ready(None);
        }
        self.mailbox.poll_take(context).map(|taken| taken.map(|reply| Ok(event(reply))))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.mailbox.state();
        if state.reader == self.reader {
            state.reader = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use futures::StreamExt;
    use gateway_protocol::Message;
    use serde_json::json;

    use super::*;

    fn note(number: usize) -> Reply {
        let params = json!({ "data": number });
        Reply::from_message(&Message::notification("notifications/message", params.as_object().cloned()))
    }

    async fn drain(mailbox: &Mailbox) -> Vec<Reply> {
        let mut taken = Vec::new();
        while let Some(reply) = std::future::poll_fn(|context| mailbox.poll_take(context)).await {
            taken.push(reply);
        }
        taken
    }

    #[tokio::test]
    async fn drops_the_oldest_news_and_keeps_the_answer() {
        let mailbox = Mailbox::default();
        for number in 0..1_000 {
            assert!(mailbox.put(note(number)));
        }
        assert!(mailbox.put(Reply::from_message(&Message::result(1.into(), json!({})))));
        mailbox.close();
        let taken = drain(&mailbox).await;
        assert_eq!(taken.len(), MAX_MESSAGES);
        assert!(taken.last().unwrap().is_final());
        assert_eq!(taken.first().unwrap(), &note(1_000 - MAX_MESSAGES + 1));
        assert!(!mailbox.put(note(0)), "closed");
    }

    #[tokio::test]
    async fn questions_are_refused_rather_than_dropped() {
        let mailbox = Mailbox::default();
        let question = || Reply::from_message(&Message::request(1, "roots/list", None));
        for _ in 0..MAX_MESSAGES {
            assert!(mailbox.put(question()));
        }
        assert!(!mailbox.put(question()));
        assert!(mailbox.put(Reply::from_message(&Message::result(1.into(), json!({})))), "an answer always fits");
    }

    #[tokio::test]
    async fn a_newer_listener_takes_over() {
        let mailbox = Arc::new(Mailbox::default());
        let mut first = Box::pin(listen(Arc::clone(&mailbox)));
        let mut second = Box::pin(listen(Arc::clone(&mailbox)));
        mailbox.put(note(1));
        assert!(first.next().await.is_none());
        assert!(second.next().await.is_some());
        drop(first);
        assert!(mailbox.has_reader());
        drop(second);
        assert!(!mailbox.has_reader());
    }
}
