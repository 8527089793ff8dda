//! Lists that were asked for a moment ago are not asked for again, and what a tool looks like is known when it is called.
//!
//! This stands below everything that decides what a caller is shown: a list is kept as the upstream gave it, and filtered
//! for each caller anew. It is kept for the caller it was given to, unless the upstream calls it public or the operator
//! says that all may share it; and only for as long as the upstream allows, or as the operator says instead.

mod flights;
mod reader;
mod shelf;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use gateway_core::exchange::{Ask, Subject};
use gateway_core::ports::{Answered, Clock, Content, Spoken, StreamItem, Upstream, UpstreamError};
use gateway_core::{Exchange, Namespace, Permit};
use gateway_protocol::headers::Mirrored;
use gateway_protocol::revision::meta;
use gateway_protocol::{Message, Outcome, Reply, ReplyKind, ResultKind};
use serde_json::{Value, json};

use crate::ask;
use crate::commons::Commons;
use crate::stack::CacheRule;
use flights::{First, Flights};
use reader::{Area, Page, Reader};
use shelf::{Defined, Edition, Habit, Shelf};
use watch::Watch;

/// How long a call waits for a definition that must be asked for.
const DEFINITION_TIME: Duration = Duration::from_secs(10);

pub struct Catalogue {
    inner: Arc<dyn Upstream>,
    namespace: Namespace,
    rule: Option<CacheRule>,
    shelf: Arc<Shelf>,
    listing: Flights<Page>,
    defining: Flights<Reader>,
    watch: Watch,
}

/// What becomes of a list when it arrives.
#[derive(Clone)]
struct Wanted {
    page: Page,
    edition: Edition,
    rule: Option<CacheRule>,
}

impl Catalogue {
    pub fn new(
        inner: Arc<dyn Upstream>,
        namespace: Namespace,
        rule: Option<CacheRule>,
        clock: Arc<dyn Clock>,
        commons: Commons,
    ) -> Self {
        let shelf = Arc::new(Shelf::new(Arc::clone(&clock)));
        let watch = Watch::new(Arc::clone(&shelf), clock, commons);
        Self { inner, namespace, rule, shelf, listing: Flights::new(), defining: Flights::new(), watch }
    }

    /// The upstream has announced a change: `notifications/tools/list_changed` and its kin. Anything else is no news.
    pub fn changed(&self, method: &str) {
        if let Some(area) = Area::of_news(method) {
            self.shelf.changed(area);
        }
    }

    fn shared(&self) -> bool {
        self.rule.is_some_and(|rule| rule.shared)
    }

    /// The answer from memory.
    fn kept(&self, permit: &Permit, page: &Page) -> Option<Answered> {
        let public = || page.public().and_then(|public| self.shelf.find(&public));
        let (result, left) = self.shelf.find(page).or_else(public)?;
        let mut result = Value::clone(&result);
        if permit.exchange().is_modern()
            && let Some(members) = result.as_object_mut()
        {
            // In whole milliseconds, and never so few that it would mean "not at all".
            let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
            members.insert("ttlMs".into(), left.into());
        }
        let id = permit.exchange().message()?.id()?.clone();
        Some(Answered::one(200, &Message::result(id, result)))
    }

    /// Waits for whoever is asking for the same list, where lists of its kind are kept at all.
    async fn turn(&self, page: &Page) -> Option<First<Page>> {
        let key = match self.shelf.habit(page.area()?) {
            Habit::NotKept => return None,
            Habit::KeptForOne => page.clone(),
            Habit::KeptForAll => page.public().unwrap_or_else(|| page.clone()),
        };
        self.listing.join(key).await
    }

    async fn ask_for_tools(&self, asked_for: &Exchange) -> Result<Vec<Value>, UpstreamError> {
        let described = asked_for.message().and_then(Message::meta).map(|given| {
            let mut described = given.clone();
            described.remove(meta::PROGRESS_TOKEN);
            described
        });
        let permit = |message| {
            let question = Exchange { ask: Ask::Message(message), subject: Subject::Plain, ..asked_for.clone() };
            Permit::for_discovery(Exchange { carried: Vec::new(), ..question })
        };
        let asking = ask::tools(self.inner.as_ref(), &self.namespace, described.as_ref(), permit);
        match tokio::time::timeout(DEFINITION_TIME, asking).await {
            Ok(listed) => listed,
            Err(_) => Err(UpstreamError::TimedOut(self.namespace.clone())),
        }
    }
}

#[async_trait]
impl Upstream for Catalogue {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let page = Page::asked_by(permit, self.shared());
        let kept = || page.as_ref().and_then(|page| self.kept(permit, page));
        if let Some(answered) = kept() {
            return Ok(answered);
        }
        let mut first = None;
        if let Some(page) = &page {
            first = self.turn(page).await;
            // Somebody may have got it meanwhile.
            if let Some(answered) = kept() {
                return Ok(answered);
            }
        }
        let wanted = page.and_then(|page| {
            let edition = self.shelf.edition(page.area()?);
            Some(Wanted { page, edition, rule: self.rule })
        });
        let answered = self.inner.call(permit).await?;
        let content = match answered.content {
            Content::One(reply) => {
                let kept = wanted.and_then(|wanted| wanted.arrived(&self.shelf, &reply));
                if let Some(lifetime) = kept {
                    self.watch.begin(&self.inner, permit, lifetime);
                }
                Content::One(reply)
            }
            Content::Stream(items) => {
                let shelf = Arc::clone(&self.shelf);
                let heard = items.inspect(move |item| {
                    let Ok(StreamItem::Event { reply: Some(reply), .. }) = item else { return };
                    heard(&shelf, reply, wanted.as_ref());
                    first.take_if(|_| reply.is_final());
                });
                Content::Stream(heard.boxed())
            }
            other => other,
        };
        Ok(Answered { content, ..answered })
    }

    fn observes_unclassified(&self) -> bool {
        self.inner.observes_unclassified()
    }

    async fn definition(&self, asked_for: &Exchange, tool: &str) -> Result<Option<Arc<Value>>, UpstreamError> {
        let reader = Reader::of(asked_for, self.shared());
        match self.shelf.defined(&reader, tool) {
            Defined::As(definition) => return Ok(Some(definition)),
            Defined::Nowhere => return Ok(None),
            Defined::Unknown => {}
        }
        let _first = self.defining.join(reader.clone()).await;
        match self.shelf.defined(&reader, tool) {
            Defined::As(definition) => return Ok(Some(definition)),
            Defined::Nowhere => return Ok(None),
            Defined::Unknown => {}
        }
        let edition = self.shelf.edition(Area::Tools);
        let tools = self.ask_for_tools(asked_for).await.inspect_err(|error| {
            tracing::debug!(namespace = %self.namespace, "what `{tool}` looks like is not known: {error}");
        })?;
        self.shelf.define(&reader, edition, &tools, true);
        if let Defined::As(definition) = self.shelf.defined(&reader, tool) {
            return Ok(Some(definition));
        }
        // A list that changed while it was read is not kept, and was read all the same.
        let named = |listed: &&Value| listed.get("name").and_then(Value::as_str) == Some(tool);
        Ok(tools.iter().find(named).cloned().map(Arc::new))
    }

    fn known_mirrors(&self, asked_for: &Exchange, tool: &str) -> Option<Arc<[Mirrored]>> {
        self.shelf.mirrors(&Reader::of(asked_for, self.shared()), tool)
    }

    fn spoken(&self) -> Spoken {
        self.inner.spoken()
    }

    async fn stop(&self) {
        self.watch.stop();
        self.inner.stop().await;
    }
}

/// One message of a stream: news, or the list itself.
fn heard(shelf: &Shelf, reply: &Reply, wanted: Option<&Wanted>) {
    match reply.kind() {
        ReplyKind::Notification => {
            if let Some(area) = reply.method().and_then(Area::of_news) {
                shelf.changed(area);
            }
        }
        ReplyKind::Result { .. } => {
            wanted.and_then(|wanted| wanted.clone().arrived(shelf, reply));
        }
        _ => {}
    }
}

impl Wanted {
    /// Keeps what may be kept, and says for how long.
    fn arrived(self, shelf: &Shelf, reply: &Reply) -> Option<Duration> {
        if !matches!(reply.kind(), ReplyKind::Result { kind: ResultKind::Complete, .. }) {
            return None;
        }
        let Ok(Message::Response(response)) = reply.message() else { return None };
        let Outcome::Result(result) = response.outcome else { return None };
        let Self { page, edition, rule } = self;
        let area = page.area()?;
        if let (Area::Tools, Some(Value::Array(tools))) = (area, result.get("tools")) {
            // A first page that is also the last one is all there is.
            let whole = page.beginning().is_none() && result.get("nextCursor").is_none();
            shelf.define(&page.reader, edition, tools, whole);
        }
        let given = result.get("ttlMs").and_then(Value::as_u64).map(Duration::from_millis);
        let lifetime = rule.and_then(|rule| rule.lifetime).or(given).filter(|lifetime| !lifetime.is_zero());
        let public = result.get("cacheScope") == Some(&json!("public"));
        shelf.usually(
            area,
            match lifetime {
                None => Habit::NotKept,
                Some(_) if public => Habit::KeptForAll,
                Some(_) => Habit::KeptForOne,
            },
        );
        let lifetime = lifetime?;
        let page = if public { page.public().unwrap_or(page) } else { page };
        shelf.keep(&page, edition, &result, lifetime).then_some(lifetime)
    }
}
