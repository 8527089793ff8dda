//! The MCP servers behind the gateway, and which of them stands behind a route.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use gateway_protocol::headers::Mirrored;
use gateway_protocol::{Message, Reply, Revision, sse};
use jiff::Timestamp;
use serde_json::Value;

use crate::BoxError;
use crate::chain::Permit;
use crate::exchange::{Exchange, Route};
use crate::names::{Namespace, ToolName};

#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    #[error("`{0}` is not reachable")]
    Unreachable(Namespace, #[source] BoxError),
    #[error("`{0}` did not answer in time")]
    TimedOut(Namespace),
    #[error("`{namespace}` answered with something that is not MCP: {what}")]
    NotMcp { namespace: Namespace, what: String },
    /// The session is gone upstream: the client must initialise again.
    #[error("the session with `{0}` is gone")]
    SessionGone(Namespace),
}

/// What an upstream gave back for one call.
pub struct Answered {
    pub status: u16,
    /// When a session was opened.
    pub session: Option<NewSession>,
    pub content: Content,
}

impl Answered {
    pub fn one(status: u16, message: &Message) -> Self {
        Self { status, session: None, content: Content::One(Reply::from_message(message)) }
    }

    pub fn nothing(status: u16) -> Self {
        Self { status, session: None, content: Content::Nothing }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The upstream's own id.
    pub id: String,
    /// Its state is in this process, so that other nodes must come here for it.
    pub pinned: bool,
}

/// What is known of how an upstream speaks, for people to look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spoken {
    /// `streamable_http`, `sse`, `stdio`; empty for what runs inside the gateway.
    pub transport: &'static str,
    /// Whether it speaks the stateless era; `None` until somebody asked.
    pub modern: Option<bool>,
    /// The session era's revision it settled on last.
    pub legacy: Option<Revision>,
    pub found_at: Option<Timestamp>,
    /// The configuration says so, and nobody asks.
    pub fixed: bool,
    /// When it last answered anything.
    pub seen_at: Option<Timestamp>,
    pub health: Health,
}

/// Whether an upstream answered when it was last asked. Nobody asks only to find out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Health {
    #[default]
    Unknown,
    Up,
    /// With what went wrong, in words for the operator.
    Down(String),
}

pub enum Content {
    /// Accepted, nothing to say (202, 204).
    Nothing,
    One(Reply),
    /// Events in the order they arrived; never collected.
    Stream(BoxStream<'static, Result<StreamItem, UpstreamError>>),
    /// Not a JSON-RPC message: an HTTP refusal in its own words. Only the status is told to the client.
    Foreign {
        content_type: String,
        body: Bytes,
    },
}

pub enum StreamItem {
    /// The event's frame fields, and its message unless the event carried none (a priming event).
    Event {
        frame: sse::Event,
        reply: Option<Reply>,
    },
    Comment(Bytes),
}

/// One MCP server, or all of them. Takes a [`Permit`] and nothing else.
#[async_trait]
pub trait Upstream: Send + Sync {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError>;
    /// What the operator said of tools without a manifest here: true means watch, false means refuse.
    fn observes_unclassified(&self) -> bool {
        false
    }
    /// The tool's definition as this caller would be shown it: from memory, else asked for. `None`: the list was read, and
    /// the tool is not in it.
    async fn definition(&self, _asked_for: &Exchange, _tool: &str) -> Result<Option<Arc<Value>>, UpstreamError> {
        Ok(None)
    }
    /// What that tool wants repeated in headers, if its definition is in memory: asked for every modern call.
    fn known_mirrors(&self, _asked_for: &Exchange, _tool: &str) -> Option<Arc<[Mirrored]>> {
        None
    }
    fn spoken(&self) -> Spoken {
        Spoken::default()
    }
    /// Whether what stands behind it can be reached, where that can be told without asking for its list.
    async fn available(&self) -> Result<(), UpstreamError> {
        Ok(())
    }
    /// The node ends: cancel what is parked, end sessions. Called after draining, given two seconds, and harmless twice.
    async fn stop(&self) {}
}

/// Where a call is executed: which upstream stands behind a route.
pub trait ExecutionEngine: Send + Sync {
    fn upstream(&self, route: &Route) -> Option<Arc<dyn Upstream>>;
    fn namespaces(&self) -> Vec<Namespace>;
    /// Which tool a name on the aggregated route means: `namespace/tool`, the listed form, or a built-in's own name.
    fn resolve(&self, listed: &str) -> Option<ToolName>;
    /// The same for a prompt: whose it is, and its name there.
    fn resolve_prompt(&self, _listed: &str) -> Option<(Namespace, String)> {
        None
    }
    /// The same for a resource.
    fn resolve_uri(&self, _listed: &str) -> Option<(Namespace, String)> {
        None
    }
    /// Whether reading this resource is looking at the gateway's own books: like the governance tools, that is no decision
    /// of an agent's, and writing it down would lengthen what is read.
    fn governs_uri(&self, _route: &Route, _uri: &str) -> bool {
        false
    }
    /// How each upstream speaks, as far as it is known.
    fn spoken(&self) -> Vec<(Namespace, Spoken)> {
        Vec::new()
    }

    /// Variables of the environment that a namespace waits for, also where it is not mounted for want of them.
    fn lacks(&self, _namespace: &Namespace) -> Option<&[String]> {
        None
    }

    /// Whether the operator only watches what is unclassified where this tool lives.
    fn watches(&self, tool: &ToolName) -> bool {
        let home = tool.namespace().parse().ok().and_then(|namespace| self.upstream(&Route::One(namespace)));
        home.is_some_and(|upstream| upstream.observes_unclassified())
    }
}
