//! What a gateway is given: the message to handle, its settings, its ports.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateway_protocol::headers::McpHeaders;

use crate::agents::RunStep;
use crate::approvals::Terms;
use crate::definitions::Definitions;
use crate::exchange::Route;
use crate::home::Home;
use crate::identity::Credential;
use crate::lists::ListFilter;
use crate::live::LiveHandle;
use crate::ports::{
    Approvals, Aside, AuditBuffer, Clock, Directory, GateStore, Notices, Once, Peers, Seal, Spans, ToolRegistry, Usage,
};
use crate::refusal::Manner;

/// What the edge read off the wire, bounded and not yet understood.
pub struct Inbound {
    pub route: Route,
    pub verb: Verb,
    pub headers: McpHeaders,
    /// `traceparent` and its kin, carried on as they came unless a span of ours stands between.
    pub carried: Vec<(String, String)>,
    pub credential: Credential,
    pub wire: Wire,
    /// Where a caller without a good credential learns how to get one.
    pub metadata_url: Option<String>,
    /// What of a list the caller wants to see.
    pub filter: ListFilter,
    /// The step of a tool agent's run that this is. Only the runner says so; whatever reads a wire leaves it out.
    pub run: Option<Arc<RunStep>>,
}

/// How a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// With headers of its own, which must agree with it.
    Http,
    /// On a wire that carries messages alone: what they say of themselves is all there is.
    Messages,
}

pub enum Verb {
    Post(Bytes),
    Get,
    Delete,
}

#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Every trace is durable before its answer goes out, not only those that matter most.
    pub wait_for_all: bool,
    pub manner: Manner,
    pub max_depth: usize,
    /// How long a question to a caller stays open.
    pub hold: Duration,
    pub approvals: Terms,
}

/// The ports, by name, so that the composition root reads like a list. What can be replaced while running is not here.
pub struct Ports {
    pub directory: Arc<dyn Directory>,
    pub usage: Arc<dyn Usage>,
    pub audit: Arc<dyn AuditBuffer>,
    pub registry: Arc<dyn ToolRegistry>,
    pub clock: Arc<dyn Clock>,
    pub seal: Arc<dyn Seal>,
    pub peers: Arc<dyn Peers>,
    pub once: Arc<dyn Once>,
    pub approvals: Arc<dyn Approvals>,
    /// Whoever is told what policies would have people know.
    pub notices: Arc<dyn Notices>,
    /// The runs that gates on traffic are bound to.
    pub runs: Arc<dyn GateStore>,
    /// The rows that take effect while running.
    pub live: Arc<LiveHandle>,
    pub definitions: Arc<Definitions>,
    /// Where definitions are read that were not looked at when they came.
    pub aside: Arc<dyn Aside>,
    /// Who draws calls as spans; `None`: nobody, and no call is asked about it.
    pub spans: Option<Arc<dyn Spans>>,
    /// This process, as its peers know it.
    pub home: Home,
}
