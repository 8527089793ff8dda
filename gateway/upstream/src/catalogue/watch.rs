//! A stream of our own on which an upstream announces that its lists have changed.
//!
//! Only where it pays: for lists that are kept for a while, from upstreams whose news would otherwise reach us only by
//! chance, and only in the stateless era. A session has one such stream, and that is its client's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use gateway_core::Permit;
use gateway_core::ports::{Clock, Content, StreamItem, Upstream};
use gateway_protocol::Message;
use gateway_protocol::revision::meta;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

use super::heard;
use super::shelf::Shelf;
use crate::ask;
use crate::commons::Commons;

/// A list that is gone sooner is not worth a stream.
const WORTH: Duration = Duration::from_secs(5);
/// Before an upstream that would not be watched, or hung up, is tried again.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

pub(super) struct Watch {
    shelf: Arc<Shelf>,
    clock: Arc<dyn Clock>,
    commons: Commons,
    running: Mutex<Option<Running>>,
}

struct Running {
    task: AbortHandle,
    since: Timestamp,
}

impl Watch {
    pub(super) fn new(shelf: Arc<Shelf>, clock: Arc<dyn Clock>, commons: Commons) -> Self {
        Self { shelf, clock, commons, running: Mutex::new(None) }
    }

    /// Listens on behalf of the one whose list is kept, unless somebody listens already.
    pub(super) fn begin(&self, inner: &Arc<dyn Upstream>, permit: &Permit, lifetime: Duration) {
        let remote = matches!(inner.spoken().transport, "streamable_http" | "sse");
        if lifetime <= WORTH || !remote || !permit.exchange().is_modern() {
            return;
        }
        let now = self.clock.now();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = |running: &Running| !running.task.is_finished() || now.duration_since(running.since) < PAUSE;
        if running.as_ref().is_some_and(busy) {
            return;
        }
        let Some(permit) = listening(permit) else { return };
        let (inner, shelf) = (Arc::clone(inner), Arc::clone(&self.shelf));
        let task = self.commons.spawn(async move {
            let Ok(answered) = inner.call(&permit).await else { return };
            let Content::Stream(mut items) = answered.content else { return };
            while let Some(Ok(item)) = items.next().await {
                if let StreamItem::Event { reply: Some(reply), .. } = item {
                    heard(&shelf, &reply, None);
                }
            }
        });
        *running = Some(Running { task: task.abort_handle(), since: now });
    }

    pub(super) fn stop(&self) {
        if let Some(running) = self.running.lock().unwrap_or_else(PoisonError::into_inner).take() {
            running.task.abort();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

fn listening(permit: &Permit) -> Option<Permit> {
    let mut described: Map<String, Value> = permit.exchange().message()?.meta()?.clone();
    described.remove(meta::PROGRESS_TOKEN);
    let news = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
    let params = Map::from_iter([("_meta".to_owned(), Value::Object(described)), ("notifications".to_owned(), news)]);
    permit.for_own(Message::request(ask::own_id(), "subscriptions/listen", Some(params)), None)
}
