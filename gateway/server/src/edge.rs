//! The MCP listener: pingora accepts, this reads one bounded request, hands it to the gateway and writes the answer.
//!
//! Pingora's own proxying is not used: the whole request must be known before an upstream can be chosen, and every reply
//! is judged on its way back.

pub mod admission;
pub mod bounded;
pub mod closing;
pub mod console;
pub mod conversation;
pub mod door;
pub mod doorstep;
pub mod drain;
pub mod request;
pub mod respond;
pub mod sse;
pub mod stay;
pub mod threads;
pub mod websocket;
pub mod well_known;
pub mod wire;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use gateway_core::Gateway;
use gateway_core::gateway::{Inbound, Verb};
use gateway_core::identity::Principal;
use gateway_core::names::TraceId;
use gateway_core::ports::{StreamSlot, Usage};
use gateway_core::refusal::{self, Answer, AnswerBody};
use gateway_protocol::json::DEFAULT_MAX_DEPTH;
use gateway_protocol::{Body, Message, RpcError, code, era, message, sse as events};
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_core::server::ShutdownWatch;
use tokio::time::timeout;
use uuid::Uuid;

use admission::Admission;
use bounded::{EdgeLimits, Unreadable};
use door::Door;
use drain::Drain;
use request::Asked;
use sse::Conversations;
use stay::Stay;
use well_known::Resource;

/// How long a call may go on after its client has left.
const ABANDONED_TIME: Duration = Duration::from_secs(300);

/// When to ask again: elsewhere, or the node that comes after this one.
const RETRY_AFTER: &str = "1";

/// Whether the node can serve: asked by `/ready`.
pub type Readiness = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

pub struct McpEdge {
    pub gateway: Arc<Gateway>,
    pub limits: EdgeLimits,
    pub admission: Admission,
    pub resource: Resource,
    pub usage: Arc<dyn Usage>,
    pub conversations: Conversations,
    pub drain: Arc<Drain>,
    pub readiness: Readiness,
    pub options: HttpServerOptions,
}

#[async_trait]
impl HttpServerApp for McpEdge {
    async fn process_new_http(
        self: &Arc<Self>,
        mut session: ServerSession,
        _shutdown: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        if !bounded::begin(&mut session, &self.limits).await {
            return None;
        }
        let _busy = self.drain.enter();
        let late = self.drain.is_refusing();
        if self.drain.is_draining() {
            session.set_keepalive(None);
        }
        let whole = self.serve(&mut session, late).await;
        bounded::end(session, whole).await
    }

    fn h2_options(&self) -> Option<H2Options> {
        Some(self.limits.h2_options())
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }
}

impl McpEdge {
    /// False when the connection cannot be used again. What is `late` is still read: it would not see its answer otherwise.
    async fn serve(self: &Arc<Self>, session: &mut ServerSession, late: bool) -> bool {
        let asked = match request::read(session, self).await {
            Ok(asked) => asked,
            Err(Unreadable::Gone) => return false,
            Err(Unreadable::Refused { status, message }) => {
                bounded::refuse(session, status, message).await;
                return false;
            }
        };
        match asked {
            Asked::Health => respond::json(session, 200, Bytes::from_static(b"{\"status\":\"ok\"}")).await,
            Asked::Ready => self.ready(session).await,
            _ if late => self.turn_away(session).await,
            Asked::Metadata(document) => respond::json(session, 200, document.to_string().into()).await,
            Asked::Mcp { inbound, modern } => self.exchange(session, *inbound, modern).await,
            Asked::Events(door) => sse::serve(self, session, *door).await,
            Asked::Posted(posted) => {
                let (door, posted) = *posted;
                sse::post(self, session, door, posted).await
            }
            Asked::Socket(opening) => {
                let (door, upgrade) = *opening;
                websocket::serve(self, session, door, &upgrade).await
            }
        }
    }

    async fn ready(&self, session: &mut ServerSession) -> bool {
        let ready = match self.drain.ready() {
            Ok(()) => (self.readiness)().await,
            draining => draining,
        };
        let (status, body) = match ready {
            Ok(()) => (200, serde_json::json!({ "status": "ready" })),
            Err(why) => (503, serde_json::json!({ "status": "not ready", "why": why })),
        };
        respond::json(session, status, body.to_string().into()).await
    }

    /// Too late for this node.
    async fn turn_away(&self, session: &mut ServerSession) -> bool {
        let said = serde_json::json!({ "error": "the gateway is stopping; ask again" }).to_string();
        let answer = Answer { status: 503, headers: Vec::new(), body: AnswerBody::Json(said.into()) };
        let written = respond::answer(session, answer.with("Retry-After", RETRY_AFTER), None).await;
        matches!(written, respond::Written::Whole)
    }

    /// Who opens a stream before anything is asked on it, and room for that stream.
    async fn admit(&self, door: &Door) -> Result<(Arc<Principal>, StreamSlot), Answer> {
        let principal = self.gateway.admit_door(&door.credential, door.metadata_url.as_deref()).await?;
        self.gateway.admit_standing(&principal, &door.route).await?;
        self.gateway.behind_door(&principal, &door.route).await?;
        match self.usage.open_stream(&principal) {
            Ok(slot) => Ok((principal, slot)),
            Err(limited) => Err(refusal::limited(&TraceId::from_uuid(Uuid::now_v7()), &limited, None)),
        }
    }

    async fn exchange(self: &Arc<Self>, session: &mut ServerSession, inbound: Inbound, modern: bool) -> bool {
        let gateway = Arc::clone(&self.gateway);
        let listens = inbound.headers.method.as_deref() == Some("subscriptions/listen");
        let listening = matches!(inbound.verb, Verb::Get) || (modern && listens);
        let last = last_word(&inbound, modern && listens);
        let stay =
            listening.then(|| Stay::new(&self.drain, &self.gateway, &self.gateway.shown_by(&inbound)).saying(last));
        let mut work = Box::pin(async move { handled(&gateway, inbound).await });
        let answer = tokio::select! {
            biased;
            answer = &mut work => answer,
            // Pingora reports both a close and stray bytes after the body here; either way nobody reads this answer.
            _ = session.read_body_or_idle(true) => {
                self.abandoned(work.boxed(), modern || listening);
                return false;
            }
        };
        match respond::answer(session, answer, stay.as_ref()).await {
            respond::Written::Whole => true,
            respond::Written::Broken => false,
            respond::Written::Left(rest) => {
                let rest = Answer { status: 200, headers: Vec::new(), body: AnswerBody::Events(rest) };
                self.abandoned(async move { rest }.boxed(), modern || listening);
                false
            }
        }
    }

    /// The client is gone. In the stateless era that means stop, and so it does for a stream that only listens; a call of
    /// the session eras goes on, because its answer is still wanted by somebody, but not for ever.
    fn abandoned(&self, work: BoxFuture<'static, Answer>, stop: bool) {
        if stop {
            return;
        }
        let busy = self.drain.enter();
        tokio::spawn(async move {
            let _busy = busy;
            let finish = async {
                if let Answer { body: AnswerBody::Events(mut events), .. } = work.await {
                    while events.next().await.is_some() {}
                }
            };
            if timeout(ABANDONED_TIME, finish).await.is_err() {
                tracing::warn!("a call whose client had left did not end and was cut off");
            }
        });
    }
}

/// What the stateless era's listener is told when we end its stream: that it is complete, as an answer to its question.
fn last_word(inbound: &Inbound, listens: bool) -> Option<events::Frame> {
    let Verb::Post(body) = &inbound.verb else { return None };
    let Body::One(Message::Request(request)) = listens.then(|| message::parse(body, DEFAULT_MAX_DEPTH).ok())?? else {
        return None;
    };
    let answer = Message::result(request.id.clone(), era::listened(&request.id));
    Some(events::Frame::Event(events::Event::message(answer.to_vec())))
}

/// The gateway's answer, even if it loses its head over the question.
async fn handled(gateway: &Arc<Gateway>, inbound: Inbound) -> Answer {
    let handled = AssertUnwindSafe(gateway.handle(inbound)).catch_unwind().await;
    handled.unwrap_or_else(|_| {
        tracing::error!("handling a request panicked");
        internal_error()
    })
}

fn internal_error() -> Answer {
    let error = RpcError::new(code::INTERNAL, "the gateway failed; the operator's log says why");
    Answer::message(500, &Message::error(None, error))
}
