//! The sessions legacy clients hold with the gateway in front of a modern upstream: what such a client says once, kept for every
//! request to come, and the questions and calls that wait in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gateway_core::{Exchange, Permit, Principal};
use gateway_protocol::Id;
use gateway_protocol::era::{Handshake, Level};
use moka::sync::Cache;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

/// How the ids of these sessions begin, so that they are told from an upstream's own.
pub(super) const PREFIX: &str = "br-";
const MAX_SESSIONS: u64 = 10_000;
const IDLE: Duration = Duration::from_secs(6 * 3600);
/// Questions that may wait for one client at once.
const MAX_QUESTIONS: usize = 64;
/// How long a change of subscriptions may take to be in force; the client is answered then in any case.
const SETTLING: Duration = Duration::from_secs(2);

pub(super) struct Sessions {
    open: Cache<String, Arc<Bridged>>,
    /// Their ids still open, and must not bring them back.
    ended: Cache<String, ()>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            open: Cache::builder().max_capacity(MAX_SESSIONS).time_to_idle(IDLE).build(),
            ended: Cache::builder().max_capacity(MAX_SESSIONS).time_to_live(IDLE).build(),
        }
    }

    pub(super) fn open(&self, principal: &Principal, handshake: Handshake) -> Arc<Bridged> {
        let id = format!("{PREFIX}{}", Uuid::new_v4());
        let session = Arc::new(Bridged::new(id.clone(), principal, handshake));
        self.open.insert(id, Arc::clone(&session));
        session
    }

    /// The session of this exchange. One that another process held is adopted from the handshake in its id; what the client
    /// said afterwards (log level, subscriptions) is lost with that process.
    pub(super) fn find(&self, exchange: &Exchange) -> Option<Arc<Bridged>> {
        let known = exchange.session.as_ref()?;
        let id = known.upstream_id();
        if !id.starts_with(PREFIX) || self.ended.contains_key(id) {
            return None;
        }
        let found = match (self.open.get(id), known.handshake()) {
            (Some(found), _) => found,
            (None, Some(handshake)) => self
                .open
                .get_with_by_ref(id, || Arc::new(Bridged::new(id.to_owned(), &exchange.principal, handshake.clone()))),
            (None, None) => return None,
        };
        (found.owner == exchange.principal.binding()).then_some(found)
    }

    pub(super) fn end(&self, session: &Bridged) {
        self.ended.insert(session.id.clone(), ());
        self.open.invalidate(&session.id);
        session.end();
    }

    pub(super) fn end_all(&self) {
        self.open.iter().for_each(|(_, session)| session.end());
        self.open.invalidate_all();
    }
}

pub(super) struct Bridged {
    id: String,
    owner: String,
    handshake: Handshake,
    state: Mutex<State>,
    wanted: watch::Sender<Wanted>,
    /// The last version of `wanted` that the upstream has acknowledged.
    settled: watch::Sender<u64>,
}

struct State {
    level: Level,
    questions: HashMap<Id, oneshot::Sender<Permit>>,
    calls: HashMap<Id, (u64, oneshot::Sender<()>)>,
    serial: u64,
}

/// What the session's GET stream has to bring, and who reads it.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) uris: Vec<String>,
    pub(super) version: u64,
    /// The current reader; 0 when nobody reads.
    pub(super) reader: u64,
    readers: u64,
    pub(super) ended: bool,
}

impl Bridged {
    fn new(id: String, principal: &Principal, handshake: Handshake) -> Self {
        // Legacy servers log until told to be quieter; a modern one says nothing unless asked.
        let state = State { level: Level::Info, questions: HashMap::new(), calls: HashMap::new(), serial: 0 };
        Self {
            id,
            owner: principal.binding(),
            handshake,
            state: Mutex::new(state),
            wanted: watch::Sender::new(Wanted::default()),
            settled: watch::Sender::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    pub(super) fn level(&self) -> Level {
        self.state().level
    }

    pub(super) fn set_level(&self, level: Level) {
        self.state().level = level;
    }

    fn end(&self) {
        self.wanted.send_modify(|wanted| wanted.ended = true);
        let mut state = self.state();
        state.questions.clear();
        for (_, (_, stop)) in state.calls.drain() {
            let _ = stop.send(());
        }
    }

    /// Notes a call under the client's id, so that the client can cancel it.
    pub(super) fn start(self: &Arc<Self>, id: &Id) -> Running {
        let (stop, stopped) = oneshot::channel();
        let mut state = self.state();
        state.serial += 1;
        let serial = state.serial;
        state.calls.insert(id.clone(), (serial, stop));
        Running { session: Arc::clone(self), id: id.clone(), serial, stopped: Some(stopped) }
    }

    pub(super) fn cancel(&self, id: &Id) {
        if let Some((_, stop)) = self.state().calls.remove(id) {
            let _ = stop.send(());
        }
    }

    /// Notes a question that is about to be asked; `None` when too many are open.
    pub(super) fn ask(self: &Arc<Self>, id: Id) -> Option<Waiting> {
        let mut state = self.state();
        if state.questions.len() >= MAX_QUESTIONS {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        state.questions.insert(id.clone(), answer);
        Some(Waiting { session: Arc::clone(self), id, answered })
    }

    /// The client's answer to a question; one that nobody asked (any more) is dropped.
    pub(super) fn answer(&self, id: &Id, permit: Permit) {
        let waiting = self.state().questions.remove(id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(permit);
        }
    }

    /// Changes the subscriptions, and waits until whoever reads the news would bring them.
    pub(super) async fn subscribe(&self, uri: &str, on: bool) {
        self.wanted.send_if_modified(|wanted| {
            let there = wanted.uris.iter().any(|known| known == uri);
            match (there, on) {
                (false, true) => wanted.uris.push(uri.to_owned()),
                (true, false) => wanted.uris.retain(|known| known != uri),
                _ => return false,
            }
            wanted.version += 1;
            true
        });
        let (version, reader) = {
            let wanted = self.wanted.borrow();
            (wanted.version, wanted.reader)
        };
        if reader != 0 {
            let mut settled = self.settled.subscribe();
            let _ = tokio::time::timeout(SETTLING, settled.wait_for(|settled| *settled >= version)).await;
        }
    }

    pub(super) fn settle(&self, version: u64) {
        self.settled.send_modify(|settled| *settled = version.max(*settled));
    }

    /// A new reader of the news; an older one stops.
    pub(super) fn read(self: &Arc<Self>) -> Reading {
        let mut reader = 0;
        self.wanted.send_modify(|wanted| {
            wanted.readers += 1;
            wanted.reader = wanted.readers;
            reader = wanted.reader;
        });
        Reading { session: Arc::clone(self), reader, wanted: self.wanted.subscribe() }
    }
}

/// A call under way.
pub(super) struct Running {
    session: Arc<Bridged>,
    id: Id,
    serial: u64,
    stopped: Option<oneshot::Receiver<()>>,
}

impl Running {
    /// Comes to its end when the client cancels the call, or ends the session.
    pub(super) async fn stopped(&mut self) {
        if let Some(stopped) = &mut self.stopped
            && stopped.await.is_ok()
        {
            return;
        }
        // Another call took the same id: this one can no longer be cancelled.
        self.stopped = None;
        std::future::pending().await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.session.state();
        if state.calls.get(&self.id).is_some_and(|(serial, _)| *serial == self.serial) {
            state.calls.remove(&self.id);
        }
    }
}

/// A question that was asked and not answered yet.
pub(super) struct Waiting {
    session: Arc<Bridged>,
    pub(super) id: Id,
    pub(super) answered: oneshot::Receiver<Permit>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.session.state().questions.remove(&self.id);
    }
}

/// Somebody who reads the session's news.
pub(super) struct Reading {
    session: Arc<Bridged>,
    reader: u64,
    wanted: watch::Receiver<Wanted>,
}

impl Reading {
    /// What to bring now; `None` when this reader is no longer the one.
    pub(super) fn wanted(&mut self) -> Option<Wanted> {
        let wanted = self.wanted.borrow_and_update().clone();
        (wanted.reader == self.reader && !wanted.ended).then_some(wanted)
    }

    pub(super) async fn changed(&mut self) {
        // The session holds the sender, and this holds the session.
        let _ = self.wanted.changed().await;
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.session.wanted.send_if_modified(|wanted| {
            let current = wanted.reader == self.reader;
            if current {
                wanted.reader = 0;
            }
            current
        });
    }
}
