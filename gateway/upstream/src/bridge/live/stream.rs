//! The session's own stream: news for whoever listens, and questions for the call that was started last.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::StreamExt;
use gateway_core::ports::{Answered, Content, StreamItem, Upstream, UpstreamError};
use gateway_core::{OwnAnswer, Permit};
use gateway_protocol::era::InputKind;
use gateway_protocol::{Message, Request, RpcError, code};
use tokio::sync::oneshot;

use super::{Live, locked, not_declared};

/// A server that asks on the session's own stream can do so only once that stream is open.
const STREAM_PATIENCE: Duration = Duration::from_secs(1);
const RECONNECT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

impl Live {
    /// Opens the session's own stream and waits for it a little.
    pub(super) async fn listen(self: &Arc<Self>) {
        let (opened, ready) = oneshot::channel();
        let stream = self.farewell.own_stream(self.session.clone());
        let tending = tend(Arc::downgrade(self), Arc::clone(&self.inner), stream, opened);
        let tender = self.settings.commons.spawn(tending);
        let _ = self.tender.set(tender.abort_handle());
        // Opened, refused or slow: a session works without it.
        let _ = tokio::time::timeout(STREAM_PATIENCE, ready).await;
    }

    /// Something on the session's own stream.
    fn overhear(&self, item: StreamItem) {
        let StreamItem::Event { reply: Some(reply), .. } = item else { return };
        match reply.message() {
            Ok(Message::Request(request)) => self.asked(request),
            Ok(Message::Notification(notification)) => match notification.method.as_str() {
                // Whose it is says its token.
                "notifications/progress" => {
                    for caller in locked(&self.calls).values() {
                        let _ = caller.mailbox.try_send(Message::Notification(notification.clone()));
                    }
                }
                "notifications/message" => {
                    if let Some(caller) = locked(&self.calls).values().next_back() {
                        let _ = caller.mailbox.try_send(Message::Notification(notification));
                    }
                }
                _ => self.tell(notification),
            },
            // An answer here belongs to a stream that was resumed, and ours never are.
            Ok(Message::Response(_)) | Err(_) => {}
        }
    }

    fn asked(&self, request: Request) {
        let answer = match InputKind::of(&request.method) {
            _ if request.method == "ping" => OwnAnswer::Pong,
            Some(kind) if self.may_ask(kind, request.params.as_ref()) => {
                let id = request.id.clone();
                let latest = locked(&self.calls)
                    .values()
                    .rev()
                    .find(|caller| caller.may_ask)
                    .map(|caller| caller.mailbox.clone());
                let given = latest.is_some_and(|mailbox| mailbox.try_send(Message::Request(request)).is_ok());
                if given {
                    return;
                }
                let error = RpcError::new(code::METHOD_NOT_FOUND, "no call is under way that could be asked for");
                return self.answer(id, OwnAnswer::Refuse(error));
            }
            _ => OwnAnswer::Refuse(not_declared(&request.method)),
        };
        self.answer(request.id, answer);
    }
}

/// Follows the session's own stream for as long as somebody holds the session.
async fn tend(live: Weak<Live>, inner: Arc<dyn Upstream>, stream: Permit, opened: oneshot::Sender<()>) {
    let mut opened = Some(opened);
    let (shortest, longest) = RECONNECT;
    let mut pause = shortest;
    loop {
        let answered = inner.call(&stream).await;
        drop(opened.take());
        match answered {
            Ok(Answered { content: Content::Stream(mut items), .. }) => {
                while let Some(Ok(item)) = items.next().await {
                    pause = shortest;
                    let Some(live) = live.upgrade() else { return };
                    live.overhear(item);
                }
            }
            // It has no such stream, which is its right.
            Ok(_) => return,
            Err(UpstreamError::SessionGone(_)) => {
                if let Some(live) = live.upgrade() {
                    live.lose();
                }
                return;
            }
            Err(error) => tracing::debug!("a session's own stream broke: {error}"),
        }
        tokio::time::sleep(pause).await;
        pause = longest.min(pause * 2);
    }
}
