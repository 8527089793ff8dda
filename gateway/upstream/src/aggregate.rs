//! Many upstreams shown as one: a single handshake, one list of tools, prompts, resources each under names that carry their
//! namespace, questions led to the member they belong to, the members' news on one stream.
//!
//! Members keep their own sessions, opened when first needed with what the client said in its handshake. A member that does
//! not answer is missing from a list and named there; it never spoils the rest.

mod answers;
mod cursor;
mod greeting;
mod levels;
mod listing;
mod names;
mod news;
mod relay;
mod sessions;
#[cfg(test)]
mod tests;
mod uris;

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use gateway_core::ports::{Answered, Upstream, UpstreamError};
use gateway_core::{Ask, Exchange, Namespace, Permit, ToolName};
use gateway_protocol::{Message, Notification, Request, Response, RpcError, code};
use serde_json::{Value, json};
use tokio::sync::watch;

use greeting::Greetings;
use listing::Kind;
use sessions::{AggregateSession, Sessions};

pub use answers::ServerInfo;
pub use names::{Member, Naming, resolve_name, resolve_prompt, resolve_uri};

pub struct Aggregate {
    /// Sorted by namespace: the order of everything that is listed.
    members: Vec<Member>,
    separator: String,
    server: ServerInfo,
    sessions: Sessions,
    greetings: Greetings,
    /// Another has taken this one's place: who listens here hears no more.
    retired: watch::Sender<bool>,
}

/// What stands behind a client's requests.
enum Standing {
    /// Every request describes itself.
    Modern,
    Session(Arc<AggregateSession>),
    /// A request of the session eras outside a session.
    Stranger,
}

impl Aggregate {
    pub fn new(mut members: Vec<Member>, tool_separator: &str, server: ServerInfo) -> Self {
        members.sort_by(|one, other| one.namespace.cmp(&other.namespace));
        let (sessions, greetings, retired) = (Sessions::new(), Greetings::new(), watch::Sender::new(false));
        Self { members, separator: tool_separator.into(), server, sessions, greetings, retired }
    }

    /// Ends the streams of news, so that whoever listens comes back and finds the members of today.
    pub fn retire(&self) {
        self.retired.send_replace(true);
    }

    fn gone(&self) -> UpstreamError {
        UpstreamError::SessionGone(self.server.name.clone())
    }

    fn standing(&self, exchange: &Exchange) -> Result<Standing, UpstreamError> {
        if exchange.is_modern() {
            return Ok(Standing::Modern);
        }
        let Some(session) = &exchange.session else { return Ok(Standing::Stranger) };
        let known = self.sessions.get(session.upstream_id(), &exchange.principal);
        let adopted = || self.sessions.adopt(session, &exchange.principal, self.members.len());
        known.or_else(adopted).map(Standing::Session).ok_or_else(|| self.gone())
    }

    fn member(&self, namespace: &str) -> Option<(usize, &Member)> {
        self.members.iter().enumerate().find(|(_, member)| member.namespace.as_str() == namespace)
    }

    /// Whose question it is, as it was judged.
    fn home(&self, exchange: &Exchange) -> Option<(usize, &Member)> {
        let tool = exchange.tool().map(|tool| tool.name.namespace());
        let member = exchange.member.as_ref().map(Namespace::as_str);
        let task = exchange.about.as_ref().map(ToolName::namespace);
        self.member(tool.or(member).or(task)?)
    }

    async fn request(&self, permit: &Permit, request: &Request) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        match request.method.as_str() {
            "initialize" => return Ok(self.initialize(permit, request).await),
            "ping" => return Ok(answers::empty(request)),
            "server/discover" => {
                let capabilities = self.capabilities(permit, &Standing::Modern).await;
                return Ok(answers::discovered(request, capabilities, &self.server));
            }
            _ => {}
        }
        let standing = self.standing(exchange)?;
        if matches!(standing, Standing::Stranger) {
            return Ok(answers::not_initialized(request));
        }
        if let Some(kind) = Kind::of(&request.method) {
            return Ok(self.list(kind, permit, request, &standing).await);
        }
        let modern = exchange.is_modern();
        match request.method.as_str() {
            "subscriptions/listen" if modern => Ok(self.subscribe(permit, request).await),
            "tools/call" | "prompts/get" | "resources/read" | "completion/complete" => {
                self.lead(permit, request, &standing).await
            }
            "logging/setLevel" => match &standing {
                Standing::Session(session) => Ok(self.set_level(permit, request, session).await),
                Standing::Modern | Standing::Stranger => Ok(answers::unknown_method(request, modern)),
            },
            "resources/subscribe" | "resources/unsubscribe" if !modern => self.lead(permit, request, &standing).await,
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" if self.home(exchange).is_some() => {
                self.lead(permit, request, &standing).await
            }
            _ => Ok(answers::unknown_method(request, modern)),
        }
    }

    async fn initialize(&self, permit: &Permit, request: &Request) -> Answered {
        let params = request.params.clone().unwrap_or_default();
        let session = self.sessions.open(permit.exchange(), params, self.members.len());
        let capabilities = self.capabilities(permit, &Standing::Session(Arc::clone(&session))).await;
        answers::initialized(request, &session, capabilities, &self.server)
    }

    /// To the member it belongs to, in that member's session.
    async fn lead(&self, permit: &Permit, request: &Request, standing: &Standing) -> Result<Answered, UpstreamError> {
        let Some((place, member)) = self.home(permit.exchange()) else {
            let unknown = match request.method.as_str() {
                "tools/call" => "Unknown tool",
                "prompts/get" => "Unknown prompt",
                "completion/complete" => "Unknown reference",
                _ => "Resource not found",
            };
            let mut error = RpcError::new(code::INVALID_PARAMS, unknown);
            let uri = request.params.as_ref().and_then(|params| params.get("uri"));
            error.data = uri.map(|uri| json!({ "uri": uri }));
            return Ok(answers::refused(request, 200, error));
        };
        let answered = match standing {
            Standing::Session(session) => session.call(place, member, permit).await?,
            Standing::Modern | Standing::Stranger => member.upstream.call(&permit.in_session(None)).await?,
        };
        Ok(relay::outward(&member.speaker(), answered))
    }

    async fn notification(&self, permit: &Permit, notification: &Notification) -> Result<Answered, UpstreamError> {
        let Standing::Session(session) = self.standing(permit.exchange())? else { return Ok(answers::accepted()) };
        if notification.method == "notifications/cancelled" {
            // Whose request it was is not remembered; a member that does not know the id ignores it.
            let message = || Message::Notification(notification.clone());
            let each = session.opened().into_iter().filter_map(|(place, member_session)| {
                let member = self.members.get(place)?;
                let permit = permit.for_own(message(), Some(member_session))?;
                Some(async move { member.upstream.call(&permit).await })
            });
            join_all(each).await;
        }
        Ok(answers::accepted())
    }

    /// The client's answer to a member's question.
    async fn response(&self, permit: &Permit, response: &Response) -> Result<Answered, UpstreamError> {
        let Standing::Session(session) = self.standing(permit.exchange())? else { return Ok(answers::accepted()) };
        let Some((namespace, id)) = response.id.as_ref().and_then(relay::inward) else {
            return Ok(answers::accepted());
        };
        let Some((place, member)) = self.member(&namespace) else { return Ok(answers::accepted()) };
        let Some(member_session) = session.opened_at(place).await else { return Ok(answers::accepted()) };
        if let Some(permit) = permit.answering(id, Some(member_session)) {
            member.upstream.call(&permit).await?;
        }
        Ok(answers::accepted())
    }

    async fn end_session(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let Standing::Session(session) = self.standing(permit.exchange())? else { return Err(self.gone()) };
        self.sessions.forget(&session.id);
        let each = session.opened().into_iter().filter_map(|(place, member_session)| {
            let member = self.members.get(place)?;
            let permit = permit.in_session(Some(member_session));
            Some(async move { tokio::time::timeout(listing::MEMBER_TIMEOUT, member.upstream.call(&permit)).await })
        });
        join_all(each).await;
        Ok(answers::ended())
    }

    fn listen(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        match self.standing(permit.exchange())? {
            Standing::Session(session) => Ok(self.news(permit, &session)),
            Standing::Modern | Standing::Stranger => Ok(answers::no_stream()),
        }
    }
}

#[async_trait]
impl Upstream for Aggregate {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        match &permit.exchange().ask {
            Ask::Message(Message::Request(request)) => self.request(permit, request).await,
            Ask::Message(Message::Notification(notification)) => self.notification(permit, notification).await,
            Ask::Message(Message::Response(response)) => self.response(permit, response).await,
            Ask::Listen { .. } => self.listen(permit),
            Ask::EndSession => self.end_session(permit).await,
        }
    }

    async fn definition(&self, asked_for: &Exchange, tool: &str) -> Result<Option<Arc<Value>>, UpstreamError> {
        let Some((_, member)) = self.home(asked_for) else { return Ok(None) };
        member.upstream.definition(asked_for, tool).await
    }

    /// Each tool is asked of its own upstream; here nobody answers for all.
    fn observes_unclassified(&self) -> bool {
        false
    }
}

/// Only for messages: `namespace` is part of what a member is called in logs.
fn log_failure(namespace: &Namespace, error: &UpstreamError) {
    tracing::warn!(namespace = %namespace, "left {namespace} out of the list: {error}");
}
