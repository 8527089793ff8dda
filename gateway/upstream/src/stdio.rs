//! An MCP server that is a program: started by the gateway, spoken to in lines, shared or one per principal.
//!
//! Many clients' requests travel over one pair of pipes, so ids and progress tokens are replaced on the way in and restored
//! on the way out. The adapter holds the handshake: a child that died is started again and greeted again, and the client
//! does not notice. What is run comes from the operator alone.

mod board;
mod flight;
mod keeper;
mod lines;
mod mailbox;
mod process;
mod queues;
mod rewrite;
mod seat;
mod sessions;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::ports::{Answered, Content, NewSession, Spoken, Upstream, UpstreamError};
use gateway_core::{Ask, Exchange, Namespace, Permit, Principal};
use gateway_protocol::{Message, Notification, Outcome, Request, Response, RpcError, code};

use crate::commons::Commons;
use flight::Flight;
use process::Launch;
use seat::{Opening, SeatError};
use sessions::{ClientSession, Sessions};

/// Who talks to one and the same child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Nothing a child remembers of one principal can reach another.
    #[default]
    PerPrincipal,
    /// For programs that keep nothing. They are told of no client capabilities, and what cannot be attributed is dropped.
    Shared,
}

#[derive(Debug, Clone)]
pub struct StdioConfig {
    pub namespace: Namespace,
    pub command: String,
    pub args: Vec<String>,
    /// Beside `PATH`, `HOME`, the locale and the like, all that the child gets to see.
    pub env: Vec<(String, String)>,
    pub cwd: Option<PathBuf>,
    pub sharing: Sharing,
    /// Tools without a manifest are watched instead of refused.
    pub unclassified_observe: bool,
    /// Until the first message that answers a request; also for the handshake.
    pub request_timeout: Duration,
    /// How long a program may take over its handshake.
    pub start_timeout: Duration,
    /// After which an unused child of one principal is stopped. Its sessions stay.
    pub idle_timeout: Duration,
    pub max_children: usize,
    /// The longest message a child may write.
    pub max_line: usize,
    pub max_depth: usize,
    /// Where a child is started and attended to.
    pub commons: Commons,
}

impl StdioConfig {
    pub fn new(namespace: Namespace, command: impl Into<String>) -> Self {
        Self {
            namespace,
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            sharing: Sharing::default(),
            unclassified_observe: false,
            request_timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(600),
            max_children: 64,
            max_line: 16 * 1024 * 1024,
            max_depth: gateway_protocol::json::DEFAULT_MAX_DEPTH,
            commons: Commons::default(),
        }
    }
}

pub struct StdioUpstream {
    launch: Arc<Launch>,
    sessions: Sessions,
    unclassified_observe: bool,
}

impl StdioUpstream {
    /// Starts nothing yet: the first client does.
    pub fn new(config: StdioConfig) -> Self {
        let unclassified_observe = config.unclassified_observe;
        Self { launch: Arc::new(Launch::new(config)), sessions: Sessions::new(), unclassified_observe }
    }

    /// Stops every child; a later request starts one again.
    pub fn stop_children(&self) {
        self.launch.stop_all();
    }

    fn gone(&self) -> UpstreamError {
        UpstreamError::SessionGone(self.launch.namespace().clone())
    }

    /// `None` outside a session. One that is not known here lived in a process that is gone: it goes on with a child of its
    /// own here, greeted as the first one was. What that child knew is lost; without the handshake the session is, too.
    fn session(&self, exchange: &Exchange) -> Result<Option<Arc<ClientSession>>, UpstreamError> {
        let Some(session) = exchange.session.as_ref().filter(|session| !session.upstream_id().is_empty()) else {
            return Ok(None);
        };
        let known = self.sessions.get(session.upstream_id(), &exchange.principal);
        let adopted = || {
            let opening = Opening::handshake(session.handshake()?.to_params(), self.launch.sharing());
            let seat = || self.sessions.seat(&self.launch, &self.owner(&exchange.principal), opening);
            self.sessions.adopt(session.upstream_id(), &exchange.principal, seat)
        };
        known.or_else(adopted).map(Some).ok_or_else(|| self.gone())
    }

    fn owner(&self, principal: &Principal) -> String {
        match self.launch.sharing() {
            Sharing::PerPrincipal => principal.binding(),
            Sharing::Shared => "shared".into(),
        }
    }

    async fn request(&self, exchange: &Exchange, request: &Request) -> Result<Answered, UpstreamError> {
        if request.method == "initialize" {
            return self.initialize(exchange, request).await;
        }
        if exchange.is_modern() {
            return self.modern(exchange, request).await;
        }
        let Some(session) = self.session(exchange)? else { return Ok(not_initialized(request)) };
        match session.seat().process().await {
            Ok(process) => Flight::start(&self.launch, process, Some(session.id()), request, false).await,
            Err(SeatError::Upstream(error)) => Err(error),
            // It was greeted before, and now refuses: that conversation cannot go on.
            Err(SeatError::Refused(_)) => Err(self.gone()),
        }
    }

    async fn initialize(&self, exchange: &Exchange, request: &Request) -> Result<Answered, UpstreamError> {
        let params = request.params.clone().unwrap_or_default();
        let opening = Opening::handshake(params, self.launch.sharing());
        let Some(seat) = self.sessions.seat(&self.launch, &self.owner(&exchange.principal), opening) else {
            let error = RpcError::new(code::INVALID_PARAMS, "this caller has too many different handshakes open");
            return Ok(refused(request, 200, error));
        };
        match seat.process().await {
            Ok(_) => {
                let greeting = seat.greeting().await;
                let session = self.sessions.open(&exchange.principal, seat);
                let reply = Message::result(request.id.clone(), greeting);
                let opened = NewSession { id: session.id().into(), pinned: true };
                Ok(Answered { session: Some(opened), ..Answered::one(200, &reply) })
            }
            Err(SeatError::Refused(error)) => Ok(refused(request, 200, error)),
            Err(SeatError::Upstream(error)) => Err(error),
        }
    }

    async fn modern(&self, exchange: &Exchange, request: &Request) -> Result<Answered, UpstreamError> {
        if self.launch.is_known_legacy() {
            return Ok(not_initialized(request));
        }
        let Some(seat) = self.sessions.seat(&self.launch, &self.owner(&exchange.principal), Opening::Discover) else {
            return Ok(not_initialized(request));
        };
        match seat.process().await {
            Ok(process) => Flight::start(&self.launch, process, None, request, true).await,
            Err(SeatError::Refused(_)) => {
                if self.launch.is_known_legacy() {
                    self.sessions.forget_seat(&seat);
                }
                Ok(not_initialized(request))
            }
            Err(SeatError::Upstream(error)) => Err(error),
        }
    }

    async fn notification(&self, exchange: &Exchange, notification: &Notification) -> Result<Answered, UpstreamError> {
        let Some(session) = self.session(exchange)? else { return Ok(accepted()) };
        // A child that is not running has nothing to be told.
        let Some(process) = session.seat().running() else { return Ok(accepted()) };
        let message = match notification.method.as_str() {
            // The adapter has said it already, once for all sessions of this child.
            "notifications/initialized" => None,
            "notifications/cancelled" => process.board().cancelled(session.id(), notification),
            // One client's news would be everybody's.
            _ if self.launch.sharing() == Sharing::Shared => None,
            _ => Some(Message::Notification(notification.clone())),
        };
        if let Some(message) = message {
            process.send(&message).await;
        }
        Ok(accepted())
    }

    /// The client's answer to the child's question.
    async fn response(&self, exchange: &Exchange, response: &Response) -> Result<Answered, UpstreamError> {
        let Some(session) = self.session(exchange)? else { return Ok(accepted()) };
        let Some(process) = session.seat().running() else { return Ok(accepted()) };
        let asked = response.id.as_ref().and_then(|id| process.board().answered(session.id(), id));
        if let Some(original) = asked {
            let outcome: Outcome = response.outcome.clone();
            process.send(&Message::Response(Response { id: Some(original), outcome })).await;
        }
        Ok(accepted())
    }

    fn listen(&self, exchange: &Exchange) -> Result<Answered, UpstreamError> {
        let Some(session) = self.session(exchange)? else {
            return Ok(Answered::nothing(405));
        };
        let stream = mailbox::listen(Arc::clone(session.queue()));
        Ok(Answered { status: 200, session: None, content: Content::Stream(Box::pin(stream)) })
    }

    fn end_session(&self, exchange: &Exchange) -> Result<Answered, UpstreamError> {
        let session = self.session(exchange)?.ok_or_else(|| self.gone())?;
        let last = self.sessions.close(&session);
        if last && self.launch.sharing() == Sharing::PerPrincipal {
            session.seat().stop();
            self.sessions.forget_seat(session.seat());
        }
        Ok(Answered::nothing(204))
    }
}

#[async_trait]
impl Upstream for StdioUpstream {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        match &exchange.ask {
            Ask::Message(Message::Request(request)) => self.request(exchange, request).await,
            Ask::Message(Message::Notification(notification)) => self.notification(exchange, notification).await,
            Ask::Message(Message::Response(response)) => self.response(exchange, response).await,
            Ask::Listen { .. } => self.listen(exchange),
            Ask::EndSession => self.end_session(exchange),
        }
    }

    fn observes_unclassified(&self) -> bool {
        self.unclassified_observe
    }

    fn spoken(&self) -> Spoken {
        Spoken { transport: "stdio", ..Spoken::default() }
    }

    async fn stop(&self) {
        self.stop_children();
    }
}

impl Drop for StdioUpstream {
    fn drop(&mut self) {
        self.stop_children();
    }
}

fn accepted() -> Answered {
    Answered::nothing(202)
}

/// A dual-era client takes it as the sign to say `initialize`.
fn not_initialized(request: &Request) -> Answered {
    refused(request, 400, RpcError::new(code::NOT_INITIALIZED, "Server not initialized"))
}

fn refused(request: &Request, status: u16, error: RpcError) -> Answered {
    Answered::one(status, &Message::error(Some(request.id.clone()), error))
}
