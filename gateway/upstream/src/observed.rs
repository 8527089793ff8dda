//! Looks at what an upstream says of its tools, before anything is translated: the layer next to the transport.
//!
//! It changes nothing. A list is held against what was accepted before it is handed on, so that whoever hears of a tool
//! hears of it under its standing.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use gateway_core::definitions::{Definitions, PinRule};
use gateway_core::ports::{Answered, Clock, Content, Spoken, StreamItem, Upstream, UpstreamError};
use gateway_core::{Exchange, Namespace, Permit};
use gateway_protocol::{Message, Outcome, Reply, ReplyKind, Revision};
use serde_json::Value;

const CHANGED: &str = "notifications/tools/list_changed";

pub struct Observed {
    inner: Arc<dyn Upstream>,
    eyes: Eyes,
}

#[derive(Clone)]
struct Eyes {
    namespace: Namespace,
    definitions: Arc<Definitions>,
    rule: PinRule,
    clock: Arc<dyn Clock>,
}

impl Observed {
    pub fn new(
        inner: Arc<dyn Upstream>,
        namespace: Namespace,
        definitions: Arc<Definitions>,
        rule: PinRule,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { inner, eyes: Eyes { namespace, definitions, rule, clock } }
    }
}

impl Eyes {
    async fn look_at(&self, reply: &Reply, absent: &'static [&'static str], lists: bool) {
        match reply.kind() {
            ReplyKind::Notification if reply.method() == Some(CHANGED) => self.definitions.stale(&self.namespace),
            ReplyKind::Result { .. } if lists => {
                let Ok(Message::Response(response)) = reply.message() else { return };
                let Outcome::Result(Value::Object(mut result)) = response.outcome else { return };
                let Some(Value::Array(tools)) = result.remove("tools") else { return };
                let eyes = self.clone();
                // What is new is read word by word, which is no work for a thread that others wait for.
                let looked = tokio::task::spawn_blocking(move || {
                    let now = eyes.clock.now();
                    eyes.definitions.saw(&eyes.namespace, eyes.rule, absent, &tools, now);
                });
                if let Err(error) = looked.await {
                    // What cannot be read is not fresh, and a call of it will be refused as unverified.
                    tracing::error!(namespace = %self.namespace, "a list could not be compared with what was accepted: {error}");
                    self.definitions.stale(&self.namespace);
                }
            }
            _ => {}
        }
    }
}

#[async_trait]
impl Upstream for Observed {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        let lists = exchange.message().and_then(Message::method) == Some("tools/list");
        let absent = missing_in(exchange.revision);
        let answered = self.inner.call(permit).await?;
        let content = match answered.content {
            Content::One(reply) => {
                self.eyes.look_at(&reply, absent, lists).await;
                Content::One(reply)
            }
            Content::Stream(items) => {
                let eyes = self.eyes.clone();
                let looked = items.then(move |item| {
                    let eyes = eyes.clone();
                    async move {
                        if let Ok(StreamItem::Event { reply: Some(reply), .. }) = &item {
                            eyes.look_at(reply, absent, lists).await;
                        }
                        item
                    }
                });
                Content::Stream(looked.boxed())
            }
            other => other,
        };
        Ok(Answered { content, ..answered })
    }

    fn observes_unclassified(&self) -> bool {
        self.inner.observes_unclassified()
    }

    async fn definition(&self, asked_for: &Exchange, tool: &str) -> Result<Option<Arc<Value>>, UpstreamError> {
        self.inner.definition(asked_for, tool).await
    }

    fn spoken(&self) -> Spoken {
        self.inner.spoken()
    }

    async fn stop(&self) {
        self.inner.stop().await;
    }
}

/// The members of a definition that a server speaking this revision may leave out only because they did not exist.
fn missing_in(revision: Option<Revision>) -> &'static [&'static str] {
    match revision {
        Some(spoken) if spoken < Revision::V2025_03_26 => &["annotations", "title", "outputSchema"],
        Some(spoken) if spoken < Revision::V2025_06_18 => &["title", "outputSchema"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::collections::HashSet;
    use std::sync::Mutex;

    use gateway_core::LiveHandle;
    use gateway_core::ToolName;
    use gateway_core::definitions::{NoScanner, Standing};
    use gateway_core::exchange::Route;
    use gateway_core::ports::{PinNews, PinRow, PinState, PinStore, StoreError};
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::testing::{Client, FakeUpstream, StillClock, one, space};

    #[derive(Default)]
    struct Noted(Mutex<Vec<PinNews>>);

    #[async_trait]
    impl PinStore for Noted {
        async fn pins(&self) -> Result<Vec<PinRow>, StoreError> {
            Ok(Vec::new())
        }

        fn note(&self, news: PinNews) {
            self.0.lock().unwrap().push(news);
        }

        async fn accept(&self, _: &ToolName, _: &str, _: &Value, _: &str, _: bool) -> Result<(), StoreError> {
            Ok(())
        }
    }

    struct Stage {
        live: Arc<LiveHandle>,
        noted: Arc<Noted>,
        definitions: Arc<Definitions>,
        observed: Observed,
    }

    impl Stage {
        fn new(upstream: FakeUpstream, rule: PinRule) -> Self {
            let (live, noted) = (Arc::new(LiveHandle::default()), Arc::new(Noted::default()));
            let sink = Arc::clone(&noted) as _;
            let definitions =
                Arc::new(Definitions::new(Arc::clone(&live), Arc::new(NoScanner), sink, SignedDuration::from_mins(10)));
            definitions.follow(|_| true);
            definitions.watch(HashSet::from([space("crm")]));
            let clock = Arc::new(StillClock);
            let observed = Observed::new(Arc::new(upstream), space("crm"), Arc::clone(&definitions), rule, clock);
            Self { live, noted, definitions, observed }
        }

        fn standing(&self, tool: &str) -> Standing {
            self.definitions.standing(&self.live.load().pins, &tool.parse().unwrap()).0
        }
    }

    // A list is held against what was accepted before anybody hears of it, and handed on as it came.
    #[tokio::test]
    async fn what_is_listed_is_seen_and_handed_on() {
        for (rule, standing, noted) in [
            (PinRule::FirstUse, Standing::Pinned, Some(PinState::Accepted)),
            (PinRule::Explicit, Standing::Quarantined, Some(PinState::Quarantined)),
            (PinRule::Off, Standing::Unpinned, None),
        ] {
            let stage = Stage::new(FakeUpstream::modern(&["find", "erase"]), rule);
            let client = Client::modern(Route::One(space("crm")));
            let answered = stage.observed.call(&client.request(1, "tools/list", json!({}))).await.unwrap();
            assert_eq!(one(&answered).pointer("/result/tools/1/name"), Some(&json!("erase")), "{rule:?}");
            assert_eq!((stage.standing("crm/find"), stage.standing("crm/erase")), (standing, standing), "{rule:?}");
            let states: HashSet<_> = stage.noted.0.lock().unwrap().iter().map(|news| news.state.as_str()).collect();
            assert_eq!(states, noted.iter().map(|state| state.as_str()).collect(), "{rule:?}");
            let fresh = stage.definitions.fresh(&"crm/find".parse().unwrap(), Timestamp::UNIX_EPOCH);
            assert_eq!(fresh, rule != PinRule::Off, "{rule:?}");
        }
    }

    // Only lists are looked at: what a tool answers may look like one.
    #[tokio::test]
    async fn answers_to_other_questions_are_no_lists() {
        let stage = Stage::new(FakeUpstream::modern(&["find"]), PinRule::FirstUse);
        let client = Client::modern(Route::One(space("crm")));
        let _ = stage.observed.call(&client.call_tool(1, "crm/find", json!({}))).await;
        assert_eq!(stage.standing("crm/find"), Standing::Unpinned);
        assert!(!stage.definitions.has_seen(&space("crm")));
    }

    // A list that could not be read leaves nothing behind, and its failure is the caller's to hear.
    #[tokio::test]
    async fn a_failure_is_handed_on() {
        let stage = Stage::new(FakeUpstream::dead(), PinRule::FirstUse);
        let client = Client::modern(Route::One(space("crm")));
        assert!(stage.observed.call(&client.request(1, "tools/list", json!({}))).await.is_err());
        assert!(!stage.definitions.has_seen(&space("crm")));
    }

    // An older server cannot leave out what its revision has.
    #[test]
    fn only_what_a_revision_lacks_may_be_missing() {
        assert_eq!(missing_in(Some(Revision::V2025_11_25)), &[] as &[&str]);
        assert_eq!(missing_in(Some(Revision::V2025_03_26)), ["title", "outputSchema"]);
        assert_eq!(missing_in(Some(Revision::V2024_11_05)), ["annotations", "title", "outputSchema"]);
        assert_eq!(missing_in(None), &[] as &[&str]);
    }
}
