//! The life of a call, read top to bottom.
//!
//! `handle` authenticates, reads, and tells each message's story in `exchange`: limits, facts, chain, ledger, upstream,
//! replies. Every way out that is not the answer itself goes through `refusal` and is recorded first.

mod approve;
mod asking;
mod batch;
mod candidate;
mod carry;
mod carry_out;
mod decision;
mod definitions;
mod describe;
mod doors;
mod fallen;
mod follow;
mod gates;
mod members;
mod mirrors;
mod notices;
mod opening;
mod parts;
mod record;
mod replies;
mod rounds;
mod runs;
mod standing;
mod tasks;
mod turned_away;

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use gateway_protocol::headers::McpHeaders;
use gateway_protocol::{Body, Id, Message, Revision, message};

use crate::agents::RunStep;
use crate::chain::Chain;
use crate::crossing::{Arrival, Crossings};
use crate::exchange::{Ask, Route};
use crate::home::Passage;
use crate::identity::{Credential, Principal};
use crate::lists::ListFilter;
use crate::names::TraceId;
use crate::ports::{AuthError, ExecutionEngine, Limited, StreamSlot};
use crate::refusal::{self, Answer};
use crate::resume::Replays;
use crate::session::Session;

use carry_out::{Errand, Telling};
use fallen::Fallen;
pub use parts::{Inbound, Ports, Settings, Verb, Wire};
use record::Story;

pub struct Gateway {
    chain: ArcSwap<Chain>,
    /// Judged beside the chain and never obeyed.
    candidate: ArcSwapOption<Chain>,
    engine: ArcSwap<Arc<dyn ExecutionEngine>>,
    settings: ArcSwap<Settings>,
    ports: Arc<Ports>,
    memory: Arc<Memory>,
    crossings: Arc<Crossings>,
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
    run: Option<Arc<RunStep>>,
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
            candidate: ArcSwapOption::empty(),
            engine: ArcSwap::from_pointee(engine),
            settings: ArcSwap::from_pointee(settings),
            crossings: Arc::new(Crossings::new(Arc::clone(&ports.seal), Arc::clone(&ports.clock), ports.home.node)),
            ports: Arc::new(ports),
            memory: Arc::default(),
        }
    }

    /// How requests go from node to node, for doors that carry them before anybody looks inside.
    pub fn crossings(&self) -> Arc<Crossings> {
        Arc::clone(&self.crossings)
    }

    /// Messages already under way finish under the chain they began with.
    pub fn replace_chain(&self, chain: Chain) {
        self.chain.store(Arc::new(chain));
    }

    /// The chain in force, for whoever explains or proves it.
    pub fn chain(&self) -> Arc<Chain> {
        self.chain.load_full()
    }

    pub fn replace_candidate(&self, candidate: Option<Chain>) {
        self.candidate.store(candidate.map(Arc::new));
    }

    /// What is judged beside the chain, where anything is.
    pub fn candidate(&self) -> Option<Arc<Chain>> {
        self.candidate.load_full()
    }

    /// What is reached now, for whoever asks before it calls.
    pub fn engine(&self) -> Arc<dyn ExecutionEngine> {
        Arc::clone(&**self.engine.load())
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

    pub async fn handle(self: &Arc<Self>, mut inbound: Inbound) -> Answer {
        match self.arrived(&mut inbound) {
            Arrival::Unlabelled => self.answer(inbound, None).await,
            Arrival::Misdirected => Answer::empty(421),
            Arrival::Brought(arrived) => {
                let answer = self.answer(inbound, Some(arrived.passage)).await;
                self.crossings.answer(&arrived, answer)
            }
        }
    }

    async fn answer(self: &Arc<Self>, mut inbound: Inbound, passage: Option<Passage>) -> Answer {
        let fallen = Fallen::new(&self.ports);
        // Identity comes before parsing, so that even an unreadable body is written into somebody's chain.
        let principal = match self.admit_door(&inbound.credential, inbound.metadata_url.as_deref()).await {
            Ok(principal) => principal,
            Err(refused) => return refused,
        };
        let fallen = fallen.of(&principal);
        let parsed = match &inbound.verb {
            Verb::Post(body) => Some(message::parse(body, self.settings.load().max_depth)),
            Verb::Get | Verb::Delete => None,
        };
        let caller = Arc::new(Caller { passage, ..self.caller(&mut inbound, principal) });
        // What was carried once stays where it came: no request goes round in circles. A run's limits do not travel, so its
        // calls stay too.
        if passage.is_none()
            && caller.run.is_none()
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
        // Each message answers for itself.
        drop(fallen);
        match (inbound.verb, parsed) {
            (Verb::Delete, _) => self.exchange(&caller, Ask::EndSession).await,
            (_, Some(Ok(Body::One(message)))) => self.exchange(&caller, Ask::Message(message)).await,
            (_, Some(Ok(Body::Batch(messages)))) => self.batch(&caller, messages).await,
            (_, Some(Err(malformed))) => self.refuse_unread(&caller, &malformed).await,
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
            run: inbound.run.take(),
        }
    }

    /// One message from question to answer.
    async fn exchange(self: &Arc<Self>, caller: &Arc<Caller>, ask: Ask) -> Answer {
        if let Ask::Message(Message::Response(response)) = &ask
            && let Some(heard) = Box::pin(self.hear_answer(caller, response)).await
        {
            return heard;
        }
        let fresh = || TraceId::from_uuid(self.ports.clock.fresh_id());
        let trace_id = runs::trace_of(caller.run.as_deref(), &ask).unwrap_or_else(fresh);
        let fallen = Fallen::new(&self.ports).with(&caller.principal, &trace_id);
        let id = request_id(&ask);
        let mut span = self.follow(caller, &ask, &trace_id);
        if id.is_some()
            && let Err(limited) = self.ports.usage.take(&caller.principal)
        {
            return self.refuse_limited(caller, trace_id, id, &limited, span).await;
        }
        let slot = match self.stream_slot(caller, &ask) {
            Ok(slot) => slot,
            Err(limited) => return self.refuse_limited(caller, trace_id, id, &limited, span).await,
        };

        let chain = self.chain.load_full();
        let engine = self.engine.load_full();
        let Some(upstream) = engine.upstream(&caller.route) else {
            let names: Vec<_> = engine.namespaces().iter().map(ToString::to_string).collect();
            let answer = refusal::unknown_route(id, &names);
            return self.refuse_missing(caller, &trace_id, "no upstream has this namespace", answer, span).await;
        };
        let described = self.describe(caller, ask, trace_id.clone(), &chain, engine.as_ref().as_ref());
        let describe::Described { mut exchange, spend, resumes } = match described {
            Ok(described) => described,
            Err(describe::Indescribable::SessionGone) => {
                let (why, answer) = ("the session is not this caller's or is gone", refusal::session_gone(id));
                return self.refuse_missing(caller, &trace_id, why, answer, span).await;
            }
            Err(describe::Indescribable::Malformed(malformed)) => {
                return self.refuse_malformed(caller, &malformed, span).await;
            }
        };

        let mirrored = match mirrors::checked(caller, &exchange, upstream.as_ref()).await {
            Ok(mirrored) => mirrored,
            Err(malformed) => return self.refuse_malformed(caller, &malformed, span).await,
        };
        if let Some(span) = &mut span {
            span.stands_before(&mut exchange);
        }
        let unread = self.known(&mut exchange, upstream.as_ref()).await.err();
        let Ok(story) = Story::open(&self.ports, &exchange, span, fallen) else {
            return refusal::unrecorded(&exchange.trace_id, id);
        };
        let caller = Arc::clone(caller);
        let errand = Box::new(Errand { id, caller, chain, upstream, story, spend, slot, mirrored, resumes, unread });
        self.settle(errand, exchange, Telling::Ask).await
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
}

/// The id that an answer must carry: only requests have one.
fn request_id(ask: &Ask) -> Option<Id> {
    match ask {
        Ask::Message(Message::Request(request)) => Some(request.id.clone()),
        _ => None,
    }
}
