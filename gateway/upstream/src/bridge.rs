//! Any upstream in the client's era: what both speak goes straight through, the rest is translated on the way.
//!
//! Translation itself is `gateway_protocol::era`; here is what must be remembered for it: what an upstream speaks (`eras`), the
//! sessions of legacy clients in front of a modern upstream (`legacy`, `sessions`, `rounds`, `news`), and the sessions the
//! gateway holds with a legacy upstream for modern clients (`modern`, `pool`, `live`), with the calls under way in them (`running`,
//! `errands`), those that wait for an answer (`held`) and what was subscribed to (`listen`).

mod eras;
mod errands;
mod held;
mod legacy;
mod listen;
mod live;
mod mirrors;
mod modern;
mod news;
mod pool;
mod rounds;
mod running;
mod sessions;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod testing_modern;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use gateway_core::ports::{Answered, Clock, Content, Spoken, StreamItem, Upstream, UpstreamError};
use gateway_core::{Exchange, Namespace, Permit};
use gateway_protocol::era::Handshake;
use gateway_protocol::{Message, Reply, ReplyKind, Revision, code};
use serde_json::Value;

use crate::commons::Commons;
use crate::stack::Protocol;
use eras::{Eras, Way};
use legacy::LegacyOverModern;
use modern::ModernOverLegacy;

/// A handshake's answer comes within this many events, or the upstream is not speaking MCP.
const HANDSHAKE_EVENTS: usize = 16;

#[derive(Debug, Clone)]
pub(crate) struct BridgeSettings {
    pub(crate) namespace: Namespace,
    /// What to offer a legacy upstream; `None` offers the newest.
    pub(crate) revision: Option<Revision>,
    /// How long a call waits for its caller to answer a question.
    pub(crate) hold: Duration,
    pub(crate) held_per_principal: usize,
    pub(crate) longest: Duration,
    /// Where sessions and calls live between the calls of their clients.
    pub(crate) commons: Commons,
}

pub struct Bridge {
    eras: Arc<Eras>,
    straight: Arc<dyn Upstream>,
    modern: ModernOverLegacy,
    legacy: LegacyOverModern,
}

impl Bridge {
    pub(crate) fn new(
        inner: Arc<dyn Upstream>,
        protocol: Protocol,
        settings: BridgeSettings,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let eras = Arc::new(Eras::new(settings.namespace.clone(), protocol, clock));
        Self {
            modern: ModernOverLegacy::new(Arc::clone(&inner), settings.clone()),
            legacy: LegacyOverModern::new(Arc::clone(&inner), Arc::clone(&eras), settings),
            straight: inner,
            eras,
        }
    }

    async fn straight(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        let modern = exchange.is_modern();
        if !modern && exchange.method() == Some("initialize") {
            return self.introduce(permit).await;
        }
        let answered = self.straight.call(permit).await;
        self.eras.heard(modern, &answered);
        answered
    }

    /// A legacy client's handshake, which is also how the upstream is asked for its era. One that is turned round has reached the
    /// upstream already: it made no session there, or it was refused.
    async fn introduce(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let mut answered = self.straight.call(permit).await?;
        let heard = hear(&mut answered).await;
        if let Heard::Greeted { revision } = &heard {
            self.eras.speaks_legacy(*revision);
        }
        let exchange = permit.exchange();
        let turns = match heard {
            // Without a session it has no way to ask this client anything, and may act unasked; its other era can ask.
            Heard::Greeted { .. } => answered.session.is_none() && must_be_asked(exchange),
            Heard::Refused => true,
            Heard::Other => false,
        };
        if !turns || self.eras.is_fixed() {
            return Ok(answered);
        }
        match self.eras.greeting(&*self.straight, exchange).await {
            Ok(Some(_)) => {
                if matches!(heard, Heard::Refused) {
                    self.eras.refused_legacy();
                }
                self.legacy.call(permit).await
            }
            // It has answered in its own way, and that is what it has to say.
            Ok(None) | Err(_) => Ok(answered),
        }
    }
}

#[async_trait]
impl Upstream for Bridge {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        match self.eras.way(&*self.straight, permit).await? {
            Way::Straight => self.straight(permit).await,
            Way::LegacyOverModern => self.legacy.call(permit).await,
            Way::ModernOverLegacy => {
                let answered = self.modern.call(permit).await;
                if answered.is_err() {
                    // It failed in both eras: what it refused it may have refused for another reason.
                    self.eras.forget();
                }
                answered
            }
        }
    }

    fn observes_unclassified(&self) -> bool {
        self.straight.observes_unclassified()
    }

    async fn definition(&self, asked_for: &Exchange, tool: &str) -> Result<Option<Arc<Value>>, UpstreamError> {
        self.straight.definition(asked_for, tool).await
    }

    fn spoken(&self) -> Spoken {
        let Spoken { transport, seen_at, health, .. } = self.straight.spoken();
        let spoken = self.eras.spoken();
        Spoken { transport, seen_at, health, legacy: spoken.legacy.or_else(|| self.modern.settled()), ..spoken }
    }

    async fn stop(&self) {
        self.modern.stop().await;
        self.legacy.stop();
        self.straight.stop().await;
    }
}

/// What a legacy handshake was answered with.
enum Heard {
    Greeted {
        revision: Option<Revision>,
    },
    /// As those refuse who do not know `initialize`, or not its revision.
    Refused,
    Other,
}

async fn hear(answered: &mut Answered) -> Heard {
    if matches!(answered.status, 404..=406) {
        return Heard::Refused;
    }
    let Some(reply) = first_answer(&mut answered.content).await else {
        let refused = answered.status == 400 && matches!(answered.content, Content::Foreign { .. } | Content::Nothing);
        return if refused { Heard::Refused } else { Heard::Other };
    };
    match reply.kind() {
        ReplyKind::Result { .. } => Heard::Greeted { revision: reply.settled() },
        ReplyKind::Error { code } if refuses_handshake(code) => Heard::Refused,
        _ => Heard::Other,
    }
}

fn refuses_handshake(code: i64) -> bool {
    let about_versions = code::UNSUPPORTED_VERSION..=code::HEADER_MISMATCH;
    matches!(code, code::METHOD_NOT_FOUND | code::INVALID_PARAMS | code::INVALID_REQUEST)
        || about_versions.contains(&code)
}

/// The final answer; of a stream what was read to find it is put back.
async fn first_answer(content: &mut Content) -> Option<Reply> {
    let items = match content {
        Content::One(reply) => return Some(reply.clone()),
        Content::Stream(items) => items,
        Content::Nothing | Content::Foreign { .. } => return None,
    };
    let (mut read, mut found) = (Vec::new(), None);
    while read.len() < HANDSHAKE_EVENTS {
        let Some(item) = items.next().await else { break };
        if let Ok(StreamItem::Event { reply: Some(reply), .. }) = &item
            && reply.is_final()
        {
            found = Some(reply.clone());
        }
        let over = found.is_some() || item.is_err();
        read.push(item);
        if over {
            break;
        }
    }
    let rest = std::mem::replace(items, futures::stream::empty().boxed());
    *items = futures::stream::iter(read).chain(rest).boxed();
    found
}

fn must_be_asked(exchange: &Exchange) -> bool {
    let params = exchange.message().and_then(Message::params);
    params.map(Handshake::of_initialize).is_some_and(|client| client.can_be_asked() || client.predates_forms())
}
