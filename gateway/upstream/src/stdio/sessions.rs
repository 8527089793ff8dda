//! The sessions this process holds with stdio clients, and the seats behind them.
//!
//! A session is cheap and outlives its child, and the process too where its handshake travels in its id; it is forgotten when
//! the client ends it or stays away for hours.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use gateway_core::Principal;
use moka::sync::Cache;
use uuid::Uuid;

use super::mailbox::Mailbox;
use super::process::Launch;
use super::seat::{Opening, Seat};

const MAX_SESSIONS: u64 = 10_000;
const MAX_SEATS: u64 = 10_000;
/// Different handshakes one caller may keep children for.
const SEATS_PER_OWNER: usize = 8;
const IDLE: Duration = Duration::from_secs(6 * 3600);
/// As long as a sealed session may be kept by its client.
const ENDED: Duration = Duration::from_secs(24 * 3600);

pub(super) struct Sessions {
    sessions: Cache<String, Arc<ClientSession>>,
    /// Their ids still open, and must not bring them back.
    ended: Cache<String, ()>,
    seats: Cache<String, Arc<Seat>>,
}

pub(super) struct ClientSession {
    id: String,
    owner: String,
    seat: Arc<Seat>,
    queue: Arc<Mailbox>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            sessions: Cache::builder().max_capacity(MAX_SESSIONS).time_to_idle(IDLE).build(),
            ended: Cache::builder().max_capacity(MAX_SESSIONS).time_to_live(ENDED).build(),
            seats: Cache::builder().max_capacity(MAX_SEATS).time_to_idle(IDLE).build(),
        }
    }

    /// The seat for this owner and opening, the same one for all who ask alike. `None` when this owner has as many as one
    /// may: each is a process, and what a client asks for is its own choice.
    pub(super) fn seat(&self, launch: &Arc<Launch>, owner: &str, opening: Opening) -> Option<Arc<Seat>> {
        let key = opening.key(owner);
        if !self.seats.contains_key(&key) && self.seats_of(owner) >= SEATS_PER_OWNER {
            return None;
        }
        Some(self.seats.get_with_by_ref(&key, || Arc::new(Seat::new(Arc::clone(launch), key.clone(), opening))))
    }

    fn seats_of(&self, owner: &str) -> usize {
        // As `Opening::key` begins: a list whose first item is the owner.
        let start = format!("[{}", serde_json::Value::from(owner));
        self.seats.iter().filter(|(key, _)| key.starts_with(&start)).count()
    }

    pub(super) fn forget_seat(&self, seat: &Seat) {
        self.seats.invalidate(&seat.key);
    }

    pub(super) fn open(&self, principal: &Principal, seat: Arc<Seat>) -> Arc<ClientSession> {
        let mut hasher = DefaultHasher::new();
        seat.key.hash(&mut hasher);
        let id = format!("{:016x}.{}", hasher.finish(), Uuid::new_v4());
        let session = Arc::new(ClientSession::new(id, principal, seat));
        self.sessions.insert(session.id.clone(), Arc::clone(&session));
        session
    }

    /// A session that another process held, under the id that its client knows. `None` for one that was ended here, is
    /// another's, or finds no seat.
    pub(super) fn adopt(
        &self,
        id: &str,
        principal: &Principal,
        seat: impl FnOnce() -> Option<Arc<Seat>>,
    ) -> Option<Arc<ClientSession>> {
        if self.ended.contains_key(id) || self.sessions.contains_key(id) {
            return None;
        }
        let seat = seat()?;
        let adopted = self.sessions.get_with_by_ref(id, || Arc::new(ClientSession::new(id.into(), principal, seat)));
        (adopted.owner == principal.binding()).then_some(adopted)
    }

    pub(super) fn get(&self, id: &str, principal: &Principal) -> Option<Arc<ClientSession>> {
        self.sessions.get(id).filter(|session| session.owner == principal.binding())
    }

    /// Says whether it was the seat's last.
    pub(super) fn close(&self, session: &ClientSession) -> bool {
        self.ended.insert(session.id.clone(), ());
        self.sessions.invalidate(&session.id);
        session.queue.close();
        session.seat.queues().remove(&session.queue)
    }
}

impl ClientSession {
    fn new(id: String, principal: &Principal, seat: Arc<Seat>) -> Self {
        let queue = Arc::new(Mailbox::default());
        seat.queues().add(&id, Arc::clone(&queue));
        Self { id, owner: principal.binding(), seat, queue }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    pub(super) fn queue(&self) -> &Arc<Mailbox> {
        &self.queue
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.queue.close();
        self.seat.queues().remove(&self.queue);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::super::{Sharing, StdioConfig};
    use super::*;

    #[test]
    fn one_caller_cannot_take_every_seat() {
        let sessions = Sessions::new();
        let launch = Arc::new(Launch::new(StdioConfig::new("notes".parse().unwrap(), "never-started")));
        let ask = |owner: &str, n: usize| {
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "x": n } });
            let opening = Opening::handshake(params.as_object().cloned().unwrap(), Sharing::PerPrincipal);
            sessions.seat(&launch, owner, opening).is_some()
        };
        assert!((0..SEATS_PER_OWNER).all(|n| ask("one", n)));
        assert!(!ask("one", SEATS_PER_OWNER), "a ninth handshake");
        assert!(ask("one", 0), "a known one still sits where it sat");
        assert!(ask("one-more", 0), "another caller, whose name begins alike");
    }
}
