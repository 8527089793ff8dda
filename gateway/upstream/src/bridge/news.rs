//! A legacy session's GET stream in front of a modern upstream: while somebody reads, one `subscriptions/listen` feeds it.
//!
//! No task and no queue: the stream that the client reads is the one that listens.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use gateway_core::Exchange;
use gateway_core::ports::{Answered, Content, StreamItem, Upstream, UpstreamError};
use gateway_protocol::era::{Filter, Greeting, down_results, up};
use gateway_protocol::{Message, Reply, Request, sse};
use serde_json::Map;

use super::eras;
use super::sessions::{Bridged, Wanted};
use crate::ask;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

type Items = BoxStream<'static, Result<StreamItem, UpstreamError>>;

pub(super) struct News {
    pub(super) inner: Arc<dyn Upstream>,
    pub(super) session: Arc<Bridged>,
    pub(super) greeting: Greeting,
    /// On whose behalf it is listened.
    pub(super) asked_for: Exchange,
}

/// What came of one wait.
enum Turn {
    Heard(Box<StreamItem>),
    Quiet,
    Changed,
    Ended,
}

impl News {
    pub(super) fn stream(self) -> impl Stream<Item = Result<StreamItem, UpstreamError>> + Send {
        // Now, not when it is first polled: whoever subscribes next must find a reader.
        let mut reading = self.session.read();
        async_stream::stream! {
            let mut pause = FIRST_PAUSE;
            while let Some(wanted) = reading.wanted() {
                let opened = tokio::select! {
                    biased;
                    () = reading.changed() => continue,
                    opened = self.open(&wanted) => opened,
                };
                if let Some(mut items) = opened {
                    let changed = loop {
                        let turn = tokio::select! {
                            biased;
                            () = reading.changed() => Turn::Changed,
                            item = items.next() => self.turn(item, &wanted),
                        };
                        match turn {
                            Turn::Heard(item) => {
                                pause = FIRST_PAUSE;
                                yield Ok(*item);
                            }
                            Turn::Quiet => {}
                            Turn::Changed => break true,
                            Turn::Ended => break false,
                        }
                    };
                    if changed {
                        continue;
                    }
                }
                tokio::select! {
                    () = reading.changed() => {}
                    () = tokio::time::sleep(pause) => pause = LONGEST_PAUSE.min(pause * 2),
                }
            }
        }
    }

    /// All that a legacy client is told without asking, and the resources it subscribed to.
    fn filter(&self, wanted: &Wanted) -> Filter {
        let all = Filter { tools: true, prompts: true, resources: true, uris: Vec::new() };
        Filter { uris: wanted.uris.clone(), ..all.within(&self.greeting) }
    }

    async fn open(&self, wanted: &Wanted) -> Option<Items> {
        let filter = self.filter(wanted);
        if filter == Filter::default() {
            // It has no news to tell: nothing comes until the client subscribes to something.
            self.session.settle(wanted.version);
            return Some(futures::stream::pending().boxed());
        }
        let params = Map::from_iter([("notifications".to_owned(), filter.to_value())]);
        let id = ask::own_id();
        let request = Request { id: id.clone(), method: "subscriptions/listen".into(), params: Some(params) };
        let request = up::request(&request, id, None, self.session.handshake(), None);
        let permit = eras::own(&self.asked_for, Message::Request(request))?;
        match self.inner.call(&permit).await {
            Ok(Answered { status: 200, content: Content::Stream(items), .. }) => Some(items),
            Ok(answered) => {
                tracing::debug!(status = answered.status, "an upstream has no news to tell");
                None
            }
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "cannot listen for news: {error}");
                None
            }
        }
    }

    fn turn(&self, item: Option<Result<StreamItem, UpstreamError>>, wanted: &Wanted) -> Turn {
        let reply = match item {
            None | Some(Err(_)) => return Turn::Ended,
            Some(Ok(comment @ StreamItem::Comment(_))) => return Turn::Heard(Box::new(comment)),
            Some(Ok(StreamItem::Event { reply: None, .. })) => return Turn::Quiet,
            Some(Ok(StreamItem::Event { reply: Some(reply), .. })) => reply,
        };
        if reply.is_final() {
            return Turn::Ended;
        }
        if reply.method() == Some("notifications/subscriptions/acknowledged") {
            self.session.settle(wanted.version);
        }
        let Ok(Message::Notification(notification)) = reply.message() else { return Turn::Quiet };
        match down_results::notification(notification, self.session.handshake().revision) {
            Some(news) => Turn::Heard(Box::new(event(&Message::Notification(news)))),
            None => Turn::Quiet,
        }
    }
}

/// A message as an event of a stream.
pub(super) fn event(message: &Message) -> StreamItem {
    let reply = Reply::from_message(message);
    StreamItem::Event { frame: sse::Event::message(reply.raw().clone()), reply: Some(reply) }
}
