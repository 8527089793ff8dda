//! `subscriptions/listen` before an upstream that has no such thing: fed by the session's own stream, and by
//! `resources/subscribe` for the resources that are named.

use std::sync::Arc;

use async_stream::stream;
use futures::StreamExt;
use gateway_core::ports::{Answered, Content, UpstreamError};
use gateway_protocol::era::{self, Filter};
use gateway_protocol::{Id, Message};
use tokio::sync::broadcast;

use super::live::{Live, News};
use super::modern::event;

/// Gives the subscriptions back when the client goes.
struct Subscribed {
    live: Arc<Live>,
    uris: Vec<String>,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        if !self.live.is_gone() {
            self.live.unsubscribe(std::mem::take(&mut self.uris));
        }
    }
}

/// A stream that says first what it will tell, then tells it.
pub(super) async fn listen(live: Arc<Live>, id: Id, wanted: &Filter) -> Result<Answered, UpstreamError> {
    // From here on nothing is missed.
    let mut news = live.listener();
    let mut filter = wanted.within(live.greeting());
    let mut subscribed = Subscribed { live: Arc::clone(&live), uris: Vec::new() };
    for uri in std::mem::take(&mut filter.uris) {
        if live.subscribe(&uri).await? {
            subscribed.uris.push(uri);
        }
    }
    filter.uris.clone_from(&subscribed.uris);
    let items = stream! {
        yield Ok(event(&Message::Notification(era::acknowledged(&filter, &id))));
        while !subscribed.live.is_gone() {
            match news.recv().await {
                Ok(News::Told(told)) if filter.wants(&told) => {
                    yield Ok(event(&Message::Notification(era::tagged(told, &id))));
                }
                Ok(News::Told(_)) => {}
                // Whoever was away for so long learns of the next change.
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Ok(News::Ended) | Err(broadcast::error::RecvError::Closed) => break,
            }
        }
        yield Ok(event(&Message::result(id.clone(), era::listened(&id))));
    };
    Ok(Answered { status: 200, session: None, content: Content::Stream(items.boxed()) })
}
