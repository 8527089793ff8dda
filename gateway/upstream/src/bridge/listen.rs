//! `subscriptions/listen` before an upstream that has no such thing: fed by the session's own stream, and by
//! `resources/subscribe` for the resources that are named. It outlives the session: when the upstream no longer knows that
//! one, the reader is moved to the next and told to look again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_stream::stream;
use futures::StreamExt;
use gateway_core::Exchange;
use gateway_core::ports::{Answered, Content, UpstreamError};
use gateway_protocol::era::{self, Described, Filter};
use gateway_protocol::{Id, Message, Notification};
use serde_json::{Map, json};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::live::{Live, News};
use super::modern::event;
use super::pool::{NotOpen, Pool};

/// Between two tries to open a session again, and between two sessions that do not last.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Tries in a row, after which the reader is told that it is over.
const TRIES: u32 = 8;
/// A session that lasted this long was well.
const LASTED: Duration = Duration::from_secs(60);

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

/// Who listens and for what, so that it can go on elsewhere.
pub(super) struct Reader {
    /// Gone with the upstream's configuration; a reader does not keep it.
    pool: Weak<Pool>,
    exchange: Exchange,
    described: Described,
    wanted: Filter,
}

/// A reader in one session.
struct Place {
    subscribed: Subscribed,
    news: broadcast::Receiver<News>,
    filter: Filter,
    since: Instant,
}

impl Reader {
    pub(super) fn new(pool: &Arc<Pool>, exchange: &Exchange, described: &Described, wanted: &Filter) -> Self {
        let (exchange, described) = (exchange.clone(), described.clone());
        Self { pool: Arc::downgrade(pool), exchange, described, wanted: wanted.clone() }
    }

    async fn take_place(&self, live: Arc<Live>) -> Result<Place, UpstreamError> {
        // From here on nothing is missed.
        let news = live.listener();
        let mut filter = self.wanted.within(live.greeting());
        let mut subscribed = Subscribed { live: Arc::clone(&live), uris: Vec::new() };
        for uri in std::mem::take(&mut filter.uris) {
            if live.subscribe(&uri).await? {
                subscribed.uris.push(uri);
            }
        }
        filter.uris.clone_from(&subscribed.uris);
        Ok(Place { subscribed, news, filter, since: Instant::now() })
    }

    /// A place in the session that comes after one that is gone. `None` when the upstream is, too.
    async fn move_on(&self, lasted: Duration, pause: &mut Duration) -> Option<Place> {
        let (shortest, longest) = PAUSE;
        if lasted >= LASTED {
            *pause = Duration::ZERO;
        }
        for _ in 0..TRIES {
            tokio::time::sleep(*pause).await;
            *pause = (*pause * 2).clamp(shortest, longest);
            let pool = self.pool.upgrade().filter(|pool| !pool.is_closed())?;
            match pool.live(&self.exchange, &self.described).await {
                Ok(live) => match self.take_place(Arc::clone(&live)).await {
                    Ok(place) => return Some(place),
                    Err(UpstreamError::SessionGone(_)) => live.lose(),
                    Err(error) => tracing::debug!("a reader is not taken in again yet: {error}"),
                },
                Err(NotOpen::Full) => return None,
                Err(NotOpen::Failed(error)) => tracing::debug!("a session is not opened again yet: {error}"),
            }
        }
        None
    }
}

/// What happened between two sessions nobody knows, so all that was listened for may have changed.
fn look_again(filter: &Filter) -> Vec<Notification> {
    let lists = [("tools", filter.tools), ("prompts", filter.prompts), ("resources", filter.resources)];
    let lists = lists.into_iter().filter(|(_, wanted)| *wanted);
    let lists =
        lists.map(|(list, _)| Notification { method: format!("notifications/{list}/list_changed"), params: None });
    let updated = filter.uris.iter().map(|uri| Notification {
        method: "notifications/resources/updated".into(),
        params: Some(Map::from_iter([("uri".to_owned(), json!(uri))])),
    });
    lists.chain(updated).collect()
}

/// A stream that says first what it will tell, then tells it.
pub(super) async fn listen(live: Arc<Live>, id: Id, reader: Reader) -> Result<Answered, UpstreamError> {
    let mut place = reader.take_place(live).await?;
    let items = stream! {
        yield Ok(event(&Message::Notification(era::acknowledged(&place.filter, &id))));
        let mut pause = Duration::ZERO;
        loop {
            while !place.subscribed.live.is_gone() {
                match place.news.recv().await {
                    Ok(News::Told(told)) if place.filter.wants(&told) => {
                        yield Ok(event(&Message::Notification(era::tagged(told, &id))));
                    }
                    Ok(News::Told(_)) => {}
                    // Whoever was away for so long learns of the next change.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Ok(News::Ended) | Err(broadcast::error::RecvError::Closed) => break,
                }
            }
            if !place.subscribed.live.is_gone() {
                break;
            }
            match reader.move_on(place.since.elapsed(), &mut pause).await {
                Some(next) => place = next,
                None => break,
            }
            for told in look_again(&place.filter) {
                yield Ok(event(&Message::Notification(era::tagged(told, &id))));
            }
        }
        yield Ok(event(&Message::result(id.clone(), era::listened(&id))));
    };
    Ok(Answered { status: 200, session: None, content: Content::Stream(items.boxed()) })
}
