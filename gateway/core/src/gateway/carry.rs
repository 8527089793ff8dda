//! A request whose state lives in another process: carried there, or told that it is gone.
//!
//! Carrying comes before judging, so that exactly one node judges, limits and records. What cannot be carried is rebuilt here
//! where the session says how it began, and refused where it does not.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gateway_protocol::{Body, Id, Malformed, Message, headers};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::rounds::{self, Rounds};
use super::{Caller, Gateway, Inbound, Shown, Verb, Wire};
use crate::crossing::{Arrival, CARRIED, Expected};
use crate::exchange::Route;
use crate::home::Home;
use crate::identity::Credential;
use crate::lists::ListFilter;
use crate::names::TraceId;
use crate::ports::{Carried, PeerError};
use crate::refusal::{self, Answer};
use crate::resume;

/// A node that was gone a moment ago is not asked again for each request.
const GONE_FOR: SignedDuration = SignedDuration::from_secs(10);

/// Nodes that did not answer, and when.
#[derive(Default)]
pub(super) struct Gone {
    nodes: Mutex<HashMap<Uuid, Timestamp>>,
}

impl Gone {
    fn is(&self, node: Uuid, now: Timestamp) -> bool {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.get(&node).is_some_and(|noticed| now.duration_since(*noticed) < GONE_FOR)
    }

    fn notice(&self, node: Uuid, now: Timestamp) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|_, noticed| now.duration_since(*noticed) < GONE_FOR);
        nodes.insert(node, now);
    }
}

impl Gateway {
    /// What the label says, if the request bears one. Of a request that a peer brought, the credential in the label is the
    /// caller's, and no other.
    pub(super) fn arrived(&self, inbound: &mut Inbound) -> Arrival {
        let Some(place) = inbound.carried.iter().position(|(name, _)| name.eq_ignore_ascii_case(CARRIED)) else {
            return Arrival::Unlabelled;
        };
        let (_, sealed) = inbound.carried.swap_remove(place);
        let mut arrival = self.crossings.arrive(&sealed, &inbound.to_carried());
        if let Arrival::Brought(arrived) = &mut arrival {
            inbound.credential = std::mem::replace(&mut arrived.credential, Credential::None);
            if arrived.messages {
                inbound.wire = Wire::Messages;
            }
        }
        arrival
    }

    /// Who asks: what the label hides where a peer brought the request, what the caller showed where nobody did.
    pub fn shown_by(&self, inbound: &Inbound) -> Credential {
        let label = inbound.carried.iter().find(|(name, _)| name.eq_ignore_ascii_case(CARRIED));
        let hidden = label.and_then(|(_, sealed)| self.crossings.credential(sealed));
        hidden.unwrap_or_else(|| inbound.credential.clone())
    }

    /// The other process that holds what this request is about, if one does.
    pub(super) fn elsewhere(&self, caller: &Caller, parsed: Option<&Result<Body, Malformed>>) -> Option<Home> {
        let is_another = |home: &Home| home.node != self.ports.home.node;
        match (&caller.session, parsed) {
            (Shown::Open(session), _) => {
                let resumes = caller.headers.last_event_id.as_deref().filter(|_| parsed.is_none());
                let kept = || resume::kept_at(resumes?, self.ports.seal.as_ref());
                session.home().cloned().or_else(kept).filter(is_another)
            }
            (_, Some(Ok(Body::One(Message::Request(request))))) => {
                let rounds = Rounds::new(&self.ports, Duration::ZERO);
                rounds.home_of(&caller.principal, &caller.route, request).filter(is_another)
            }
            _ => None,
        }
    }

    /// `None`: the node is gone, and what it held may be rebuilt here. Never after it may have acted: then the call would be
    /// made twice.
    pub(super) async fn carry(
        &self,
        caller: &Caller,
        home: &Home,
        (request, expected): (Carried, Expected),
        id: Option<&Id>,
    ) -> Option<Answer> {
        let now = self.ports.clock.now();
        // At our own address there is only us: whoever was there before has been restarted.
        let reachable = home.at.is_some() && home.at != self.ports.home.at && !self.memory.gone.is(home.node, now);
        if reachable {
            let only_listens = request.method == "GET";
            match self.ports.peers.carry(home, request).await {
                Ok(answer) => {
                    if let Some(answer) = self.crossings.believe(&expected, answer) {
                        return Some(answer);
                    }
                    tracing::warn!(node = %home.node, "the address of a node gave an answer that is not that node's");
                    self.memory.gone.notice(home.node, now);
                    // Whoever answered may stand before the node, and the node may have acted.
                    if !only_listens {
                        return Some(refusal::node_failed(id.cloned()));
                    }
                }
                Err(error @ PeerError::Broken(_)) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, node = %home.node, "{error}");
                    return Some(refusal::node_failed(id.cloned()));
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, node = %home.node, "{error}");
                    self.memory.gone.notice(home.node, now);
                }
            }
        }
        match &caller.session {
            // Without a home it was only a stream that lived there; the session goes on at any node.
            Shown::Open(session) if session.home().is_none() || session.handshake().is_some() => None,
            Shown::Open(_) => {
                let trace_id = TraceId::from_uuid(self.ports.clock.fresh_id());
                let answer = refusal::session_gone(id.cloned());
                let span = self.follow_unread(&caller.principal, &caller.route, &caller.carried, &trace_id);
                Some(self.refuse_missing(caller, &trace_id, "the session's node is gone", answer, span).await)
            }
            Shown::Nothing | Shown::Gone => Some(self.refuse_unread(caller, &rounds::invalid().answering(id)).await),
        }
    }

    /// The request as a peer gets it, with the label that says whose it is and keeps it from being carried on.
    pub(super) fn to_carried(&self, inbound: &Inbound, to: &Home) -> (Carried, Expected) {
        let mut carried = inbound.to_carried();
        let messages = inbound.wire == Wire::Messages;
        let expected = self.crossings.send(to, &inbound.credential, messages, &mut carried);
        (carried, expected)
    }
}

impl Inbound {
    /// The same request, on its way to another node, without a word on who asks.
    pub fn to_carried(&self) -> Carried {
        let (method, body) = match &self.verb {
            Verb::Post(body) => ("POST", body.clone()),
            Verb::Get => ("GET", Bytes::new()),
            Verb::Delete => ("DELETE", Bytes::new()),
        };
        let mut path = match &self.route {
            Route::One(namespace) => format!("/{namespace}/mcp"),
            Route::All => "/mcp".to_owned(),
        };
        path.push_str(&query(&self.filter));
        let own = &self.headers;
        let mut headers: Vec<(String, String)> = [
            (headers::PROTOCOL_VERSION, &own.protocol_version),
            (headers::SESSION_ID, &own.session_id),
            (headers::METHOD, &own.method),
            (headers::NAME, &own.name),
            (headers::LAST_EVENT_ID, &own.last_event_id),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)))
        .collect();
        let mirrored =
            own.params.iter().map(|(name, value)| (format!("{}{name}", headers::PARAM_PREFIX), value.clone()));
        headers.extend(mirrored.chain(self.carried.iter().cloned()));
        Carried { method, path, body, headers }
    }
}

/// The filter of a list, as the door reads it.
fn query(filter: &ListFilter) -> String {
    let level = filter.risk_level.map(|level| level.as_str().to_owned());
    let wanted = [("category", filter.category.clone()), ("risk_level", level)];
    let mut query = String::new();
    for (name, value) in wanted {
        let Some(value) = value else { continue };
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(name);
        query.push('=');
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => query.push(char::from(byte)),
                // Writing to memory cannot fail.
                _ => drop(write!(query, "%{byte:02X}")),
            }
        }
    }
    query
}

#[cfg(test)]
mod tests;
