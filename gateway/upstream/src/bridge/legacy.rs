//! A legacy client in front of a modern upstream: the gateway holds the session, answers what the modern era no longer has, and
//! describes the client anew with every request that goes up.

use std::sync::Arc;

use futures::StreamExt;
use gateway_core::ports::{Answered, Content, NewSession, Upstream, UpstreamError};
use gateway_core::{Ask, Exchange, Permit};
use gateway_protocol::era::{Handshake, Level, up};
use gateway_protocol::revision::meta;
use gateway_protocol::{Id, Message, Notification, Request, Response, Revision, RpcError, code};
use serde_json::{Value, json};

use super::BridgeSettings;
use super::eras::Eras;
use super::mirrors::Mirrors;
use super::news::News;
use super::rounds::Call;
use super::sessions::{Bridged, Sessions};
use crate::ask;

pub(super) struct LegacyOverModern {
    inner: Arc<dyn Upstream>,
    eras: Arc<Eras>,
    mirrors: Arc<Mirrors>,
    sessions: Sessions,
    settings: BridgeSettings,
}

impl LegacyOverModern {
    pub(super) fn new(inner: Arc<dyn Upstream>, eras: Arc<Eras>, settings: BridgeSettings) -> Self {
        Self { inner, eras, mirrors: Arc::new(Mirrors::new()), sessions: Sessions::new(), settings }
    }

    pub(super) async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        match &exchange.ask {
            Ask::Message(Message::Request(request)) if request.method == "initialize" => {
                self.initialize(exchange, request).await
            }
            Ask::Message(Message::Request(request)) => self.request(permit, request).await,
            Ask::Message(Message::Notification(notification)) => self.notification(exchange, notification),
            Ask::Message(Message::Response(response)) => self.response(permit, response),
            Ask::Listen { .. } => self.listen(exchange).await,
            Ask::EndSession => {
                let session = self.session(exchange)?.ok_or_else(|| self.gone())?;
                self.sessions.end(&session);
                Ok(Answered::nothing(204))
            }
        }
    }

    pub(super) fn stop(&self) {
        self.sessions.end_all();
    }

    fn gone(&self) -> UpstreamError {
        UpstreamError::SessionGone(self.settings.namespace.clone())
    }

    /// `None` outside a session; an id nobody can tell anything of is a session that is gone.
    fn session(&self, exchange: &Exchange) -> Result<Option<Arc<Bridged>>, UpstreamError> {
        match &exchange.session {
            None => Ok(None),
            Some(_) => self.sessions.find(exchange).map(Some).ok_or_else(|| self.gone()),
        }
    }

    async fn initialize(&self, exchange: &Exchange, request: &Request) -> Result<Answered, UpstreamError> {
        let greeting = self.eras.greeting(&*self.inner, exchange).await?;
        let unspoken = || ask::not_mcp(&self.settings.namespace, &format!("it does not speak {}", Revision::LATEST));
        let greeting = greeting.ok_or_else(unspoken)?;
        let params = request.params.clone().unwrap_or_default();
        let (revision, result) = greeting.to_initialize(params.get("protocolVersion").and_then(Value::as_str));
        let handshake = Handshake { revision, ..Handshake::of_initialize(&params) };
        let session = self.sessions.open(&exchange.principal, handshake);
        let opened = NewSession { id: session.id().into(), pinned: true };
        Ok(Answered { session: Some(opened), ..Answered::one(200, &Message::result(request.id.clone(), result)) })
    }

    async fn request(&self, permit: &Permit, request: &Request) -> Result<Answered, UpstreamError> {
        let Some(session) = self.session(permit.exchange())? else {
            let error = RpcError::new(code::NOT_INITIALIZED, "Server not initialized");
            return Ok(Answered::one(400, &Message::error(Some(request.id.clone()), error)));
        };
        let text = |key: &str| request.params.as_ref().and_then(|params| params.get(key)).and_then(Value::as_str);
        match request.method.as_str() {
            "ping" => Ok(done(request)),
            "logging/setLevel" => Ok(match text("level").and_then(|level| level.parse::<Level>().ok()) {
                Some(level) => {
                    session.set_level(level);
                    done(request)
                }
                None => refused(request, code::INVALID_PARAMS, "`level` is not a log level"),
            }),
            method @ ("resources/subscribe" | "resources/unsubscribe") => Ok(match text("uri") {
                Some(uri) => {
                    session.subscribe(uri, method == "resources/subscribe").await;
                    done(request)
                }
                None => refused(request, code::INVALID_PARAMS, "`uri` is missing"),
            }),
            // No session of a legacy revision has these, and tasks do not cross.
            "server/discover" | "subscriptions/listen" => Ok(unknown(request)),
            method if method.starts_with("tasks/") => Ok(unknown(request)),
            _ => self.up(permit, request, session).await,
        }
    }

    async fn up(&self, permit: &Permit, request: &Request, session: Arc<Bridged>) -> Result<Answered, UpstreamError> {
        let token = request.params.as_ref().and_then(|params| params.get("_meta")?.get(meta::PROGRESS_TOKEN));
        let token = token.and_then(|token| Id::try_from(token.clone()).ok());
        let level = Some(session.level());
        let raised = up::request(request, ask::own_id(), token.as_ref(), session.handshake(), level);
        let Some(permit) = permit.in_era(Message::Request(raised.clone()), Revision::LATEST, None) else {
            return Ok(refused(request, code::INTERNAL, "this cannot be said in the upstream's revision"));
        };
        let call = Call {
            inner: Arc::clone(&self.inner),
            namespace: self.settings.namespace.clone(),
            eras: Arc::clone(&self.eras),
            mirrors: Arc::clone(&self.mirrors),
            running: session.start(&request.id),
            session,
            id: request.id.clone(),
            raised,
            permit,
            hold: self.settings.hold,
        };
        call.answer().await
    }

    /// Of all that a legacy client may announce, only a cancelled call means something to a modern upstream: dropping the
    /// call's stream is how that is said.
    fn notification(&self, exchange: &Exchange, notification: &Notification) -> Result<Answered, UpstreamError> {
        if let Some(session) = self.session(exchange)?
            && notification.method == "notifications/cancelled"
            && let Some(id) = notification.params.as_ref().and_then(|params| params.get("requestId"))
            && let Ok(id) = Id::try_from(id.clone())
        {
            session.cancel(&id);
        }
        Ok(Answered::nothing(202))
    }

    fn response(&self, permit: &Permit, response: &Response) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        if let (Some(session), Some(id)) = (self.session(exchange)?, &response.id) {
            session.answer(id, permit.in_session(exchange.session.clone()));
        }
        Ok(Answered::nothing(202))
    }

    async fn listen(&self, exchange: &Exchange) -> Result<Answered, UpstreamError> {
        let Some(session) = self.session(exchange)? else {
            return Ok(Answered::nothing(405));
        };
        let Some(greeting) = self.eras.greeting(&*self.inner, exchange).await? else {
            return Ok(Answered::nothing(405));
        };
        let news = News { inner: Arc::clone(&self.inner), session, greeting, asked_for: exchange.clone() };
        Ok(Answered { status: 200, session: None, content: Content::Stream(news.stream().boxed()) })
    }
}

fn done(request: &Request) -> Answered {
    Answered::one(200, &Message::result(request.id.clone(), json!({})))
}

fn unknown(request: &Request) -> Answered {
    refused(request, code::METHOD_NOT_FOUND, "Method not found")
}

/// In a session a refusal is an answer like any other: its HTTP status is 200.
fn refused(request: &Request, code: i64, what: &str) -> Answered {
    Answered::one(200, &Message::error(Some(request.id.clone()), RpcError::new(code, what)))
}

#[cfg(test)]
mod tests;
