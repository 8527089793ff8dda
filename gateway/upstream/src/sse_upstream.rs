//! An MCP server of the first transport, HTTP+SSE of 2024-11-05: one stream of events per session, and POSTs beside it.
//!
//! The stream lives in this process, so its sessions are pinned here. Answers are found by their ids; a server may only name
//! an address of its own for the POSTs, or it could have the gateway write to anybody.

mod link;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use gateway_core::ports::{Answered, Content, NewSession, Spoken, StreamItem, Upstream, UpstreamError};
use gateway_core::{Ask, BoxError, Exchange, Namespace, Permit};
use gateway_protocol::{Message, RpcError, code};
use moka::sync::Cache;
use uuid::Uuid;

use crate::commons::Commons;
use crate::http::carrier::Carrier;
use crate::http::{HttpUpstreamConfig, HttpUpstreamError};
use link::{Items, Link, Opened};

/// What every session id of this transport begins with.
pub(crate) const SESSION_PREFIX: &str = "sse-";
/// Streams that are kept open, and for how long without use.
const MOST_LINKS: u64 = 10_000;
const IDLE: Duration = Duration::from_secs(6 * 60 * 60);

pub struct SseUpstream {
    namespace: Namespace,
    carrier: Arc<Carrier>,
    observe: bool,
    timeout: Duration,
    max_depth: usize,
    links: Cache<String, Arc<Link>>,
    commons: Commons,
}

impl SseUpstream {
    pub fn new(config: &HttpUpstreamConfig) -> Result<Self, HttpUpstreamError> {
        Ok(Self {
            namespace: config.namespace.clone(),
            carrier: Arc::new(Carrier::new(&config.url, &config.headers, config.connect_timeout)?),
            observe: config.unclassified_observe,
            timeout: config.request_timeout,
            max_depth: config.max_depth,
            links: Cache::builder().max_capacity(MOST_LINKS).time_to_idle(IDLE).build(),
            commons: config.commons.clone(),
        })
    }

    fn link(&self, exchange: &Exchange) -> Result<Option<Arc<Link>>, UpstreamError> {
        let Some(session) = &exchange.session else {
            return Ok(None);
        };
        match self.links.get(session.upstream_id()) {
            Some(link) if !link.is_over() => Ok(Some(link)),
            _ => Err(UpstreamError::SessionGone(self.namespace.clone())),
        }
    }

    async fn answer(&self, exchange: &Exchange) -> Result<Answered, UpstreamError> {
        let message = match &exchange.ask {
            Ask::Message(message) => message,
            Ask::Listen { .. } => {
                let Some(link) = self.link(exchange)? else {
                    return Ok(Answered::nothing(405));
                };
                return Ok(streaming(link.listen()));
            }
            Ask::EndSession => {
                if let Some(session) = &exchange.session {
                    // Dropping the link closes its stream, which is how this transport says goodbye.
                    self.links.invalidate(session.upstream_id());
                }
                return Ok(Answered::nothing(204));
            }
        };
        if message.method() == Some("initialize") {
            return self.open(exchange, message).await;
        }
        match self.link(exchange)? {
            Some(link) => self.ask(&link, exchange, message).await,
            None => Ok(not_initialized(message)),
        }
    }

    async fn open(&self, exchange: &Exchange, message: &Message) -> Result<Answered, UpstreamError> {
        // Its session may be used over any connection, and by whoever comes after this one.
        let opening = Link::open(self.namespace.clone(), Arc::clone(&self.carrier), self.max_depth);
        let opened = self.commons.run(opening).await.map_err(|error| self.unreachable(error))?;
        let link = match opened? {
            Opened::Link(link) => Arc::new(*link),
            Opened::Refused(status) => return Ok(Answered::nothing(status)),
        };
        let mut answered = self.ask(&link, exchange, message).await?;
        let id = format!("{SESSION_PREFIX}{}", Uuid::new_v4());
        self.links.insert(id.clone(), link);
        answered.session = Some(NewSession { id, pinned: true });
        Ok(answered)
    }

    async fn ask(&self, link: &Arc<Link>, exchange: &Exchange, message: &Message) -> Result<Answered, UpstreamError> {
        // Waiting begins before asking, or a quick answer would find nobody.
        let items = link.expect(message);
        let status = link.post(message, &exchange.carried).await?;
        if !(200..300).contains(&status) {
            return match status {
                404 | 410 => Err(UpstreamError::SessionGone(self.namespace.clone())),
                _ => Ok(Answered::nothing(status)),
            };
        }
        let Some(mut items) = items else {
            return Ok(Answered::nothing(202));
        };
        match items.next().await {
            Some(Ok(StreamItem::Event { reply: Some(reply), .. })) if reply.is_final() => {
                Ok(Answered { status: 200, session: None, content: Content::One(reply) })
            }
            Some(Ok(first)) => Ok(streaming(futures::stream::iter([Ok(first)]).chain(items).boxed())),
            Some(Err(error)) => Err(error),
            None => Err(self.unreachable("the stream ended".into())),
        }
    }

    fn unreachable(&self, error: BoxError) -> UpstreamError {
        UpstreamError::Unreachable(self.namespace.clone(), error)
    }
}

#[async_trait]
impl Upstream for SseUpstream {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        match tokio::time::timeout(self.timeout, self.answer(permit.exchange())).await {
            Ok(answered) => answered,
            Err(_) => Err(UpstreamError::TimedOut(self.namespace.clone())),
        }
    }

    fn observes_unclassified(&self) -> bool {
        self.observe
    }

    fn spoken(&self) -> Spoken {
        Spoken { transport: "sse", modern: Some(false), ..Spoken::default() }
    }

    async fn stop(&self) {
        self.links.invalidate_all();
    }
}

fn streaming(items: Items) -> Answered {
    Answered { status: 200, session: None, content: Content::Stream(items) }
}

fn not_initialized(message: &Message) -> Answered {
    match message {
        Message::Request(request) => {
            let error = RpcError::new(code::NOT_INITIALIZED, "Server not initialized");
            Answered::one(400, &Message::error(Some(request.id.clone()), error))
        }
        _ => Answered::nothing(202),
    }
}
