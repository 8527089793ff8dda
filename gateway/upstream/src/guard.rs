//! How long a call may take: until its answer begins, between its messages, and as a whole.
//!
//! A caller may ask for less patience, or for more up to the maximum. Streams that only bring news have no end of their own and
//! are left alone. A person may take long over a question, so a call that has asked one may be silent as long as it may wait.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use gateway_core::ports::{Answered, Content, Spoken, StreamItem, Upstream, UpstreamError};
use gateway_core::{Ask, Exchange, Namespace, Permit};
use gateway_protocol::headers::Mirrored;
use gateway_protocol::{Message, ReplyKind};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep};

use crate::vitals::Vitals;

/// A request's own limit, in milliseconds.
const TIMEOUT: &str = "io.portreeve/timeoutMs";
/// How long saying "never mind" may take.
const FAREWELL: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(crate) struct Patience {
    /// Until an answer begins, and between its messages.
    pub(crate) timeout: Duration,
    /// The whole of a call.
    pub(crate) longest: Duration,
    /// How long a question may wait for its answer.
    pub(crate) hold: Duration,
}

pub struct Guard {
    inner: Arc<dyn Upstream>,
    namespace: Namespace,
    patience: Patience,
    /// Until when questions on a session's own stream excuse silent calls.
    excused: Arc<Mutex<Option<Instant>>>,
    vitals: Arc<Vitals>,
}

impl Guard {
    pub(crate) fn new(inner: Arc<dyn Upstream>, namespace: Namespace, patience: Patience, vitals: Arc<Vitals>) -> Self {
        Self { inner, namespace, patience, excused: Arc::default(), vitals }
    }

    /// What this request may take between two signs of life.
    fn timeout(&self, exchange: &Exchange) -> Duration {
        let asked =
            exchange.message().and_then(Message::meta).and_then(|meta| meta.get(TIMEOUT)).and_then(Value::as_u64);
        asked.map_or(self.patience.timeout, Duration::from_millis).min(self.patience.longest)
    }

    fn expired(&self, permit: &Permit) -> UpstreamError {
        self.vitals.timed_out();
        if let Some(cancel) = cancellation(permit) {
            say(Arc::clone(&self.inner), cancel);
        }
        UpstreamError::TimedOut(self.namespace.clone())
    }

    fn watched(&self, permit: &Permit, started: Instant, timeout: Duration, items: Items) -> Items {
        let now = Instant::now();
        let last = started + self.patience.longest;
        Watched {
            items: Some(items),
            inner: Arc::clone(&self.inner),
            namespace: self.namespace.clone(),
            cancel: cancellation(permit),
            excused: Arc::clone(&self.excused),
            silence: timeout,
            hold: self.patience.hold,
            heard: now,
            last,
            timer: Box::pin(tokio::time::sleep_until(last.min(now + timeout))),
        }
        .boxed()
    }

    /// A stream of news is not timed, but a question on it explains why a call is silent.
    fn noting(&self, items: Items) -> Items {
        let (excused, hold) = (Arc::clone(&self.excused), self.patience.hold);
        let note = move |item: &Result<StreamItem, UpstreamError>| {
            if let Ok(item) = item
                && is_question(item)
            {
                *excused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + hold);
            }
        };
        items.inspect(note).boxed()
    }
}

type Items = BoxStream<'static, Result<StreamItem, UpstreamError>>;

#[async_trait]
impl Upstream for Guard {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        if let Ask::Listen { .. } = exchange.ask {
            let mut answered = self.inner.call(permit).await?;
            if let Content::Stream(items) = answered.content {
                answered.content = Content::Stream(self.noting(items));
            }
            return Ok(answered);
        }
        if exchange.method() == Some("subscriptions/listen") {
            return self.inner.call(permit).await;
        }
        let started = Instant::now();
        let timeout = self.timeout(exchange);
        let mut answered = match tokio::time::timeout(timeout, self.inner.call(permit)).await {
            Ok(Ok(answered)) => answered,
            // A transport may lose its patience first; the upstream is to be told all the same.
            Ok(Err(UpstreamError::TimedOut(_))) | Err(_) => return Err(self.expired(permit)),
            Ok(Err(error)) => return Err(error),
        };
        if let Content::Stream(items) = answered.content {
            answered.content = Content::Stream(self.watched(permit, started, timeout, items));
        }
        Ok(answered)
    }

    fn observes_unclassified(&self) -> bool {
        self.inner.observes_unclassified()
    }

    async fn definition(&self, asked_for: &Exchange, tool: &str) -> Result<Option<Arc<Value>>, UpstreamError> {
        self.inner.definition(asked_for, tool).await
    }

    fn known_mirrors(&self, asked_for: &Exchange, tool: &str) -> Option<Arc<[Mirrored]>> {
        self.inner.known_mirrors(asked_for, tool)
    }

    fn spoken(&self) -> Spoken {
        self.inner.spoken()
    }

    async fn stop(&self) {
        self.inner.stop().await;
    }
}

/// A call's stream while it is timed.
struct Watched {
    items: Option<Items>,
    inner: Arc<dyn Upstream>,
    namespace: Namespace,
    cancel: Option<Permit>,
    excused: Arc<Mutex<Option<Instant>>>,
    silence: Duration,
    hold: Duration,
    heard: Instant,
    /// The end of the call, whatever happens.
    last: Instant,
    /// Set again only when it fires: a lively stream costs one look at the clock per message.
    timer: Pin<Box<Sleep>>,
}

impl Watched {
    fn deadline(&self) -> Instant {
        let excused = *self.excused.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = self.heard + self.silence;
        self.last.min(excused.map_or(silent, |excused| excused.max(silent)))
    }
}

impl Stream for Watched {
    type Item = Result<StreamItem, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(items) = this.items.as_mut() else { return Poll::Ready(None) };
        if let Poll::Ready(item) = items.poll_next_unpin(context) {
            this.heard = Instant::now();
            if let Some(Ok(item)) = &item
                && is_question(item)
            {
                this.silence = this.silence.max(this.hold.saturating_add(this.silence));
            }
            if item.is_none() {
                this.items = None;
            }
            // A stream that never pauses must still come to its end.
            if this.heard < this.last || item.is_none() {
                return Poll::Ready(item);
            }
        } else {
            loop {
                if this.timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                let deadline = this.deadline();
                if Instant::now() >= deadline {
                    break;
                }
                this.timer.as_mut().reset(deadline);
            }
        }
        this.items = None;
        if let Some(cancel) = this.cancel.take() {
            say(Arc::clone(&this.inner), cancel);
        }
        Poll::Ready(Some(Err(UpstreamError::TimedOut(this.namespace.clone()))))
    }
}

fn is_question(item: &StreamItem) -> bool {
    matches!(item, StreamItem::Event { reply: Some(reply), .. } if reply.kind() == ReplyKind::Request)
}

/// How a legacy upstream is told that nobody waits any more. In the modern era closing the stream says it, and a handshake may not
/// be cancelled.
fn cancellation(permit: &Permit) -> Option<Permit> {
    let exchange = permit.exchange();
    let Some(Message::Request(request)) = exchange.message() else { return None };
    if exchange.is_modern() || request.method == "initialize" {
        return None;
    }
    let params = json!({ "requestId": Value::from(&request.id), "reason": "it took too long" });
    let message = Message::notification("notifications/cancelled", params.as_object().cloned());
    permit.for_own(message, exchange.session.clone())
}

fn say(upstream: Arc<dyn Upstream>, permit: Permit) {
    tokio::spawn(async move {
        // Nothing depends on it.
        let _ = tokio::time::timeout(FAREWELL, upstream.call(&permit)).await;
    });
}

#[cfg(test)]
mod tests;
