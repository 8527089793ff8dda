//! The life of a call, read top to bottom.
//!
//! `handle` authenticates, reads, and tells each message's story in `exchange`: limits, facts, chain, ledger, upstream,
//! replies. Every way out that is not the answer itself goes through `refusal` and is recorded first.

mod carry;
mod decision;
mod describe;
mod doors;
mod members;
mod mirrors;
mod opening;
mod record;
mod replies;
mod rounds;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures::StreamExt;
use gateway_protocol::headers::McpHeaders;
use gateway_protocol::{Body, Id, Message, Revision, message, sse};

use crate::chain::Chain;
use crate::exchange::{Ask, Route};
use crate::home::{Home, Passage};
use crate::identity::{Credential, Principal};
use crate::lists::ListFilter;
use crate::names::TraceId;
use crate::outcome::Status;
use crate::ports::{
    AuditBuffer, AuthError, Clock, Directory, ExecutionEngine, Limited, Once, Peers, Seal, StreamSlot, ToolRegistry,
    Usage,
};
use crate::refusal::{self, Answer, AnswerBody, Manner, Refused};
use crate::resume::Replays;
use crate::scopes::Scope;
use crate::session::Session;
use crate::verdict::Decision;

pub use carry::CARRIED;
use record::Story;
use replies::Kept;

/// What the edge read off the wire, bounded and not yet understood.
pub struct Inbound {
    pub route: Route,
    pub verb: Verb,
    pub headers: McpHeaders,
    /// `traceparent` and its kin, carried on as they came.
    pub carried: Vec<(String, String)>,
    pub credential: Credential,
    pub wire: Wire,
    /// Where a caller without a good credential learns how to get one.
    pub metadata_url: Option<String>,
    /// What of a list the caller wants to see.
    pub filter: ListFilter,
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
    /// This process, as its peers know it.
    pub home: Home,
}

pub struct Gateway {
    chain: ArcSwap<Chain>,
    engine: ArcSwap<Arc<dyn ExecutionEngine>>,
    settings: ArcSwap<Settings>,
    ports: Arc<Ports>,
    memory: Arc<Memory>,
}

/// What this process remembers of what it has handed out.
#[derive(Default)]
struct Memory {
    tasks: tasks::Handed,
    replays: Replays,
    gone: carry::Gone,
}

/// Who asked, at which door, with which headers: the same for every message of a batch.
struct Caller {
    route: Route,
    headers: McpHeaders,
    carried: Vec<(String, String)>,
    principal: Arc<Principal>,
    wire: Wire,
    filter: ListFilter,
    metadata_url: Option<String>,
    session: Shown,
    passage: Option<Passage>,
}

/// The session id that a caller showed, opened once for all that ask.
#[expect(clippy::large_enum_variant, reason = "one for each request, and never moved about")]
enum Shown {
    Nothing,
    Open(Session),
    /// Forged, another's, or another door's.
    Gone,
}

impl Gateway {
    pub fn new(chain: Chain, engine: Arc<dyn ExecutionEngine>, ports: Ports, settings: Settings) -> Self {
        Self {
            chain: ArcSwap::from_pointee(chain),
            engine: ArcSwap::from_pointee(engine),
            settings: ArcSwap::from_pointee(settings),
            ports: Arc::new(ports),
            memory: Arc::default(),
        }
    }

    /// Messages already under way finish under the chain they began with.
    pub fn replace_chain(&self, chain: Chain) {
        self.chain.store(Arc::new(chain));
    }

    pub fn replace_engine(&self, engine: Arc<dyn ExecutionEngine>) {
        self.engine.store(Arc::new(engine));
    }

    pub fn replace_settings(&self, settings: Settings) {
        self.settings.store(Arc::new(settings));
    }

    /// Who knocks at a door that opens before anything is asked: a socket, or a stream of events.
    pub async fn admit_door(
        &self,
        credential: &Credential,
        metadata_url: Option<&str>,
    ) -> Result<Arc<Principal>, Answer> {
        match self.ports.directory.authenticate(credential).await {
            Ok(principal) => Ok(principal),
            Err(error) => Err(self.refuse_stranger(&error, metadata_url).await),
        }
    }

    /// Whether a stream opened with this credential may stay open. That nobody can be asked right now ends no stream.
    pub async fn still_valid(&self, credential: &Credential) -> bool {
        let known = self.ports.directory.authenticate(credential).await;
        matches!(known, Ok(_) | Err(AuthError::Unavailable(_)))
    }

    pub async fn handle(&self, mut inbound: Inbound) -> Answer {
        let passage = match self.arrived(&mut inbound) {
            Ok(passage) => passage,
            Err(misdirected) => return misdirected,
        };
        // Identity comes before parsing, so that even an unreadable body is written into somebody's chain.
        let principal = match self.admit_door(&inbound.credential, inbound.metadata_url.as_deref()).await {
            Ok(principal) => principal,
            Err(refused) => return refused,
        };
        let parsed = match &inbound.verb {
            Verb::Post(body) => Some(message::parse(body, self.settings.load().max_depth)),
            Verb::Get | Verb::Delete => None,
        };
        let caller = Caller { passage, ..self.caller(&mut inbound, principal) };
        // What was carried once stays where it came: no request goes round in circles.
        if passage.is_none()
            && let Some(home) = self.elsewhere(&caller, parsed.as_ref())
        {
            // Only what is carried is put together again: few requests are.
            let whole = Inbound { headers: caller.headers.clone(), carried: caller.carried.clone(), ..inbound };
            let request = self.to_carried(&whole, &home);
            let id = match &parsed {
                Some(Ok(Body::One(message))) => message.id(),
                _ => None,
            };
            if let Some(answer) = self.carry(&caller, &home, request, id).await {
                return answer;
            }
            inbound = whole;
        }
        match (inbound.verb, parsed) {
            (Verb::Delete, _) => self.exchange(&caller, Ask::EndSession).await,
            (_, Some(Ok(Body::One(message)))) => self.exchange(&caller, Ask::Message(message)).await,
            (_, Some(Ok(Body::Batch(messages)))) => self.batch(&caller, messages).await,
            (_, Some(Err(malformed))) => self.refuse_malformed(&caller, &malformed).await,
            (_, None) => {
                let last_event_id = caller.headers.last_event_id.clone();
                self.exchange(&caller, Ask::Listen { last_event_id }).await
            }
        }
    }

    fn caller(&self, inbound: &mut Inbound, principal: Arc<Principal>) -> Caller {
        let modern = inbound.headers.protocol_version.as_deref().and_then(|said| said.parse::<Revision>().ok());
        // The stateless era has no sessions; an id that is sent anyway means nothing.
        let shown = inbound.headers.session_id.as_deref().filter(|_| !modern.is_some_and(Revision::is_modern));
        let session = match shown {
            None => Shown::Nothing,
            Some(token) => match Session::open(token, self.ports.seal.as_ref(), &principal, &inbound.route) {
                Some(session) => Shown::Open(session),
                None => Shown::Gone,
            },
        };
        Caller {
            route: inbound.route.clone(),
            headers: std::mem::take(&mut inbound.headers),
            carried: std::mem::take(&mut inbound.carried),
            principal,
            wire: inbound.wire,
            filter: inbound.filter.clone(),
            metadata_url: inbound.metadata_url.take(),
            session,
            passage: None,
        }
    }

    /// One message from question to answer.
    async fn exchange(&self, caller: &Caller, ask: Ask) -> Answer {
        let trace_id = TraceId::from_uuid(self.ports.clock.fresh_id());
        let id = request_id(&ask);
        if id.is_some()
            && let Err(limited) = self.ports.usage.take(&caller.principal)
        {
            return self.refuse_limited(caller, trace_id, id, &limited).await;
        }
        let mut slot = match self.stream_slot(caller, &ask) {
            Ok(slot) => slot,
            Err(limited) => return self.refuse_limited(caller, trace_id, id, &limited).await,
        };

        let chain = self.chain.load_full();
        let engine = self.engine.load_full();
        let Some(upstream) = engine.upstream(&caller.route) else {
            let names: Vec<_> = engine.namespaces().iter().map(ToString::to_string).collect();
            let answer = refusal::unknown_route(id, &names);
            return self.refuse_missing(caller, &trace_id, "no upstream has this namespace", answer).await;
        };
        let described = self.describe(caller, ask, trace_id.clone(), &chain, engine.as_ref().as_ref());
        let describe::Described { exchange, spend, resumes } = match described {
            Ok(described) => described,
            Err(describe::Indescribable::SessionGone) => {
                let answer = refusal::session_gone(id);
                return self
                    .refuse_missing(caller, &trace_id, "the session is not this caller's or is gone", answer)
                    .await;
            }
            Err(describe::Indescribable::Malformed(malformed)) => {
                return self.refuse_malformed(caller, &malformed).await;
            }
        };

        let mirrored = match mirrors::checked(caller, &exchange, upstream.as_ref()).await {
            Ok(mirrored) => mirrored,
            Err(malformed) => return self.refuse_malformed(caller, &malformed).await,
        };
        let Ok(mut story) = Story::open(&self.ports.audit, &self.ports.clock, &exchange) else {
            return refusal::unrecorded(&exchange.trace_id, id);
        };
        let (permit, mut ruling) = match chain.admit(exchange) {
            Ok(admitted) => admitted,
            Err((exchange, ruling)) => {
                let status = match ruling.decision {
                    Decision::ApprovalRequired => Status::ApprovalRequired,
                    _ => Status::Denied,
                };
                story.ends_as(status);
                // Refusals wait: an agent that was told no must find the no in its chain.
                if story.decide(&exchange, &ruling, true).await.is_err() {
                    return refusal::unrecorded(&exchange.trace_id, id);
                }
                story.close(status, None);
                let refused = Refused {
                    trace_id: &exchange.trace_id,
                    decision: ruling.decision,
                    reasons: &ruling.reasons,
                    tool: exchange.tool().map(|tool| tool.name.as_str()),
                    modern: exchange.is_modern(),
                };
                if ruling.needs_only_scope() {
                    return refused.step_up(id, Scope::needed(&exchange), caller.metadata_url.as_deref());
                }
                return refused.answer(id, self.settings.load().manner);
            }
        };

        if let Some(spend) = spend
            && let Err(refused) = self.spend(&spend, permit.exchange(), &mut ruling, &mut story).await
        {
            return refused;
        }
        let permit = if mirrored.is_empty() { permit } else { permit.mirroring(&mirrored) };
        story.admitted();
        let wait = permit.exchange().has_side_effects() || self.settings.load().wait_for_all;
        // Recorded before it is sent: after a crash an unrecorded call cannot be told from one never made.
        if permit.exchange().is_governed() && story.decide(permit.exchange(), &ruling, wait).await.is_err() {
            return refusal::unrecorded(&permit.exchange().trace_id, id);
        }
        if let Some(event) = resumes
            && let Some(rest) = self.resumed(permit.exchange(), &event, &mut slot)
        {
            return rest;
        }
        match upstream.call(&permit).await {
            Ok(answered) => self.relay(&chain, caller, permit, answered, Kept { story, slot }).await,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "an upstream failed: {error}");
                story.close(Status::UpstreamFailed, None);
                refusal::upstream_failed(&error, id)
            }
        }
    }

    /// What only listens stays open for as long as its reader likes, so each caller has room for so many.
    fn stream_slot(&self, caller: &Caller, ask: &Ask) -> Result<Option<StreamSlot>, Limited> {
        let listens = match ask {
            Ask::Listen { .. } => true,
            Ask::Message(message) => message.method() == Some("subscriptions/listen"),
            Ask::EndSession => false,
        };
        listens.then(|| self.ports.usage.open_stream(&caller.principal)).transpose()
    }

    /// Only the revision of 2025-03-26 has batches; each member is judged and sent by itself.
    async fn batch(&self, caller: &Caller, messages: Vec<Message>) -> Answer {
        if let Err(malformed) = describe::batch_allowed(caller, &messages) {
            return self.refuse_malformed(caller, &malformed).await;
        }
        let members = messages.into_iter().map(|message| self.exchange(caller, Ask::Message(message)));
        let answers = futures::future::join_all(members).await;
        if answers.iter().any(|answer| matches!(answer.body, AnswerBody::Events(_))) {
            let streams = answers.into_iter().filter_map(|answer| match answer.body {
                AnswerBody::Empty => None,
                AnswerBody::Events(stream) => Some(stream),
                AnswerBody::Json(json) => {
                    Some(futures::stream::once(async move { sse::Frame::Event(sse::Event::message(json)) }).boxed())
                }
            });
            let merged = futures::stream::select_all(streams).boxed();
            return Answer { status: 200, headers: Vec::new(), body: AnswerBody::Events(merged) };
        }
        let bodies: Vec<Bytes> = answers
            .into_iter()
            .filter_map(|answer| if let AnswerBody::Json(json) = answer.body { Some(json) } else { None })
            .collect();
        if bodies.is_empty() {
            return Answer::empty(202);
        }
        let array = [b"[".as_slice(), &bodies.join(b",".as_slice()), b"]"].concat();
        Answer { status: 200, headers: Vec::new(), body: AnswerBody::Json(array.into()) }
    }
}

/// The id that an answer must carry: only requests have one.
fn request_id(ask: &Ask) -> Option<Id> {
    match ask {
        Ask::Message(Message::Request(request)) => Some(request.id.clone()),
        _ => None,
    }
}
