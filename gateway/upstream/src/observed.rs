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

    async fn definition(&self, asked_for: &Exchange, tool: &str) -> Option<Arc<Value>> {
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
