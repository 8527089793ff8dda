//! The HTTP+SSE transport of 2024-11-05: one stream of events to the client, and its messages as POSTs beside it.
//!
//! The address for the POSTs carries a sealed token: which conversation, whose, and on which node. It opens nothing by
//! itself; every POST shows its own credential, and another agent's finds no conversation there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::{StreamExt, stream};
use gateway_core::crossing::{Arrival, Crossings};
use gateway_core::exchange::Route;
use gateway_core::home::Home;
use gateway_core::identity::Credential;
use gateway_core::ports::{Carried, PeerError, Peers, Seal};
use gateway_core::refusal::{Answer, AnswerBody};
use gateway_protocol::sse;
use pingora_core::protocols::http::ServerSession;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::conversation::{Conversation, Held};
use super::door::{self, Door};
use super::request::CARRIED;
use super::stay::Stay;
use super::{McpEdge, respond};

/// Messages to the client that may wait for it to read.
const OUTGOING: usize = 256;
/// Longer than any token of ours.
const LONGEST_TOKEN: usize = 4 * 1024;

/// The conversations whose streams this node serves, and how to find those of others.
pub struct Conversations {
    live: Mutex<HashMap<Uuid, Arc<Conversation>>>,
    seal: Arc<dyn Seal>,
    peers: Arc<dyn Peers>,
    crossings: Arc<Crossings>,
    home: Home,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Token {
    conversation: Uuid,
    home: Home,
    binding: String,
    route: String,
}

/// Leaves the list when the stream ends.
struct Listed<'a> {
    conversations: &'a Conversations,
    id: Uuid,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.conversations.lock().remove(&self.id);
    }
}

/// A POST to a conversation.
pub struct Posted {
    pub token: String,
    pub body: Bytes,
    /// As it was asked for, to be asked for again at another node.
    pub path: String,
    /// Another node brought it: it must not go any further.
    pub brought: bool,
}

impl Posted {
    /// As one node sends it to another.
    fn to_carried(&self) -> Carried {
        Carried { method: "POST", path: self.path.clone(), body: self.body.clone(), headers: Vec::new() }
    }
}

impl Conversations {
    pub fn new(seal: Arc<dyn Seal>, peers: Arc<dyn Peers>, crossings: Arc<Crossings>, home: Home) -> Self {
        Self { live: Mutex::default(), seal, peers, crossings, home }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Conversation>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self, conversation: Uuid, binding: String, route: &Route) -> String {
        let path = door::path(route, "sse");
        let token = Token { conversation, home: self.home.clone(), binding, route: path.clone() };
        // Plain data: serialising it cannot fail.
        let sealed = self.seal.seal(&serde_json::to_vec(&token).unwrap_or_default());
        format!("{path}?session={sealed}")
    }

    /// `None` for a forged token, another principal's, or another route's.
    fn open(&self, token: &str, binding: &str, route: &Route) -> Option<Token> {
        if token.len() > LONGEST_TOKEN {
            return None;
        }
        let token: Token = serde_json::from_slice(&self.seal.open(token)?).ok()?;
        (token.binding == binding && token.route == door::path(route, "sse")).then_some(token)
    }

    async fn post(&self, door: Door, binding: &str, posted: Posted) -> Answer {
        let gone = || said(404, "this conversation is not here; open a new stream");
        let Some(token) = self.open(&posted.token, binding, &door.route) else {
            return gone();
        };
        if token.home.node != self.home.node {
            // The same address under another name is this node before it was started anew.
            if posted.brought || token.home.at == self.home.at {
                return gone();
            }
            let mut request = posted.to_carried();
            let expected = self.crossings.send(&token.home, &door.credential, true, &mut request);
            let broken = || said(502, "the node of this conversation did not answer; it may have taken this");
            return match self.peers.carry(&token.home, request).await {
                Ok(answer) => self.crossings.believe(&expected, answer).unwrap_or_else(broken),
                Err(PeerError::Broken(_)) => broken(),
                Err(_) => gone(),
            };
        }
        let conversation = self.lock().get(&token.conversation).cloned();
        match conversation.map(|conversation| conversation.take(posted.body)) {
            Some(Ok(())) => Answer::empty(202),
            Some(Err(_)) => said(429, "too many messages of this conversation are waiting").with("Retry-After", "1"),
            None => gone(),
        }
    }
}

fn said(status: u16, message: &str) -> Answer {
    let body = serde_json::json!({ "error": message }).to_string();
    Answer { status, headers: Vec::new(), body: AnswerBody::Json(body.into()) }
}

/// The stream: first the address for the POSTs, then everything the gateway has to say.
pub async fn serve(edge: &Arc<McpEdge>, session: &mut ServerSession, door: Door) -> bool {
    let (principal, slot) = match edge.admit(&door).await {
        Ok(admitted) => admitted,
        Err(refused) => return matches!(respond::answer(session, refused, None).await, respond::Written::Whole),
    };
    let id = Uuid::new_v4();
    let address = edge.conversations.address(id, principal.binding(), &door.route);
    let stay = Stay::new(&edge.drain, &edge.gateway, &door.credential).of(&principal, &door.route);
    let (out, mut outgoing) = mpsc::channel(OUTGOING);
    let held = Held(Conversation::new(&edge.gateway, door, out, &edge.drain));
    let listed = Listed { conversations: &edge.conversations, id };
    edge.conversations.lock().insert(id, Arc::clone(&held.0));
    let endpoint = stream::iter([sse::Frame::Event(sse::Event::message(address).named("endpoint"))]);
    let messages = stream::poll_fn(move |context| outgoing.poll_recv(context));
    let messages = messages.map(|data| sse::Frame::Event(sse::Event::message(data).named("message")));
    let body = AnswerBody::Events(endpoint.chain(messages).boxed());
    let written = respond::answer(session, Answer { status: 200, headers: Vec::new(), body }, Some(&stay)).await;
    // Off the list first: nothing may be taken in by a conversation that has ended.
    drop(listed);
    drop(held);
    drop(slot);
    matches!(written, respond::Written::Whole)
}

/// One message of the client, taken in or refused; what it says is answered on the stream.
pub async fn post(edge: &Arc<McpEdge>, session: &mut ServerSession, mut door: Door, mut posted: Posted) -> bool {
    let crossings = &edge.conversations.crossings;
    let label = door.carried.iter().find(|(name, _)| CARRIED == name.as_str());
    let arrival = label.map_or(Arrival::Unlabelled, |(_, sealed)| crossings.arrive(sealed, &posted.to_carried()));
    let answer = match arrival {
        Arrival::Unlabelled => taken_in(edge, door, posted).await,
        Arrival::Misdirected => Answer::empty(421),
        Arrival::Brought(mut arrived) => {
            door.credential = std::mem::replace(&mut arrived.credential, Credential::None);
            posted.brought = true;
            crossings.answer(&arrived, taken_in(edge, door, posted).await)
        }
    };
    matches!(respond::answer(session, answer, None).await, respond::Written::Whole)
}

async fn taken_in(edge: &McpEdge, door: Door, posted: Posted) -> Answer {
    match edge.gateway.admit_door(&door.credential, door.metadata_url.as_deref()).await {
        Ok(principal) => edge.conversations.post(door, &principal.binding(), posted).await,
        Err(refused) => refused,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateway_core::home::NoPeers;

    use super::*;
    use crate::clock::SystemClock;
    use crate::seal::AeadSeal;

    fn conversations() -> Conversations {
        let home = Home { node: Uuid::new_v4(), at: Some("http://10.0.0.7:8080".into()) };
        let seal: Arc<dyn Seal> = Arc::new(AeadSeal::new(&[7; 32]));
        let crossings = Arc::new(Crossings::new(Arc::clone(&seal), Arc::new(SystemClock), home.node));
        Conversations::new(seal, Arc::new(NoPeers), crossings, home)
    }

    #[test]
    fn a_conversation_is_its_principals_at_its_door() {
        let here = conversations();
        let notes = Route::One("notes".parse().unwrap());
        let address = here.address(Uuid::nil(), "agent:t:a".into(), &notes);
        let token = address.strip_prefix("/notes/sse?session=").unwrap();
        assert!(here.open(token, "agent:t:a", &notes).is_some_and(|token| token.home == here.home));
        assert_eq!(here.open(token, "agent:t:b", &notes), None, "another agent");
        assert_eq!(here.open(token, "agent:t:a", &Route::All), None, "another door");
        assert_eq!(here.open(&format!("{token}x"), "agent:t:a", &notes), None, "forged");
        let elsewhere = conversations();
        assert!(elsewhere.open(token, "agent:t:a", &notes).is_some(), "any node of the cluster can read it");
    }
}
