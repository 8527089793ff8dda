//! The aggregated sessions of the legacy eras: what a client said in its handshake, and the members' sessions behind it.
//!
//! They live in this process. A client that lands elsewhere, or comes back after an idle hour, brings its handshake along in
//! its sealed session and finds a new one under the same id; without it, it initialises again.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use gateway_core::ports::{Answered, UpstreamError};
use gateway_core::session::Session;
use gateway_core::{Exchange, Permit, Principal, Route};
use gateway_protocol::era::Level;
use gateway_protocol::{Message, Revision};
use moka::sync::Cache;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{Member, levels};
use crate::ask;

const MAX_SESSIONS: u64 = 10_000;
const IDLE: Duration = Duration::from_secs(3600);
/// As long as a sealed session may be kept by its client.
const ENDED: Duration = Duration::from_secs(24 * 3600);

pub(super) struct Sessions {
    open: Cache<String, Arc<AggregateSession>>,
    /// A session that its client has ended does not come back.
    ended: Cache<String, ()>,
}

pub(super) struct AggregateSession {
    pub(super) id: String,
    pub(super) revision: Revision,
    owner: String,
    /// The client's own handshake, said again to every member: its capabilities are the members' to know.
    params: Map<String, Value>,
    /// By the member's place; none until the member is first needed.
    members: Vec<Mutex<Option<Session>>>,
    /// What members said they can do, by place, when their sessions were opened.
    greeted: std::sync::Mutex<HashMap<usize, Map<String, Value>>>,
    /// What the client said in `logging/setLevel`.
    level: std::sync::Mutex<Option<Level>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            open: Cache::builder().max_capacity(MAX_SESSIONS).time_to_idle(IDLE).build(),
            ended: Cache::builder().max_capacity(MAX_SESSIONS).time_to_live(ENDED).build(),
        }
    }

    pub(super) fn open(
        &self,
        exchange: &Exchange,
        mut params: Map<String, Value>,
        members: usize,
    ) -> Arc<AggregateSession> {
        let asked =
            params.get("protocolVersion").and_then(Value::as_str).and_then(|text| text.parse::<Revision>().ok());
        let revision = asked.filter(|revision| !revision.is_modern()).unwrap_or(Revision::LATEST_LEGACY);
        params.insert("protocolVersion".into(), json!(revision.as_str()));
        // It belongs to the client's request, which we answer ourselves.
        params.remove("_meta");
        let session = AggregateSession::new(Uuid::new_v4().to_string(), revision, &exchange.principal, params, members);
        self.open.insert(session.id.clone(), Arc::clone(&session));
        session
    }

    /// The session under an id that is not known here, from the handshake that was sealed with it.
    pub(super) fn adopt(
        &self,
        session: &Session,
        principal: &Principal,
        members: usize,
    ) -> Option<Arc<AggregateSession>> {
        let (id, handshake) = (session.upstream_id(), session.handshake()?);
        if self.open.contains_key(id) || self.ended.contains_key(id) {
            return None;
        }
        let params = handshake.to_params();
        let adopted = AggregateSession::new(id.into(), handshake.revision, principal, params, members);
        self.open.insert(id.into(), Arc::clone(&adopted));
        Some(adopted)
    }

    pub(super) fn get(&self, id: &str, principal: &Principal) -> Option<Arc<AggregateSession>> {
        self.open.get(id).filter(|session| session.owner == principal.binding())
    }

    pub(super) fn forget(&self, id: &str) {
        self.open.invalidate(id);
        self.ended.insert(id.into(), ());
    }
}

impl AggregateSession {
    fn new(
        id: String,
        revision: Revision,
        principal: &Principal,
        params: Map<String, Value>,
        members: usize,
    ) -> Arc<Self> {
        let members = (0..members).map(|_| Mutex::new(None)).collect();
        let owner = principal.binding();
        let (greeted, level) = (std::sync::Mutex::default(), std::sync::Mutex::default());
        Arc::new(Self { id, revision, owner, params, members, greeted, level })
    }

    /// What a member said of itself when its session was opened.
    pub(super) fn greeting(&self, place: usize) -> Option<Map<String, Value>> {
        self.greeted.lock().unwrap_or_else(PoisonError::into_inner).get(&place).cloned()
    }

    pub(super) fn level(&self) -> Option<Level> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_level(&self, level: Level) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// The member's session, opened now if it was not. Others who need it wait, and find it open.
    pub(super) async fn member(
        &self,
        place: usize,
        member: &Member,
        permit: &Permit,
    ) -> Result<Session, UpstreamError> {
        let Some(slot) = self.members.get(place) else {
            return Err(UpstreamError::SessionGone(member.namespace.clone()));
        };
        let mut slot = slot.lock().await;
        if let Some(session) = slot.as_ref() {
            return Ok(session.clone());
        }
        let (upstream, namespace) = (member.upstream.as_ref(), &member.namespace);
        let opened =
            ask::initialize(upstream, namespace, self.params.clone(), |message| permit.for_own(message, None)).await?;
        let revision = opened.revision.or(Some(self.revision));
        let session = Session::new(&permit.exchange().principal, &Route::One(namespace.clone()), revision, opened.id);
        let ready = Message::notification("notifications/initialized", None);
        if let Some(permit) = permit.for_own(ready, Some(session.clone())) {
            upstream.call(&permit).await?;
        }
        self.greeted.lock().unwrap_or_else(PoisonError::into_inner).insert(place, opened.capabilities);
        if let Some(level) = self.level() {
            levels::tell(self, place, member, permit, &session, level).await;
        }
        *slot = Some(session.clone());
        Ok(session)
    }

    /// Calls in the member's session. A session that is gone upstream took nothing in, so the call may be made once more.
    pub(super) async fn call(&self, place: usize, member: &Member, permit: &Permit) -> Result<Answered, UpstreamError> {
        let session = self.member(place, member, permit).await?;
        match member.upstream.call(&permit.in_session(Some(session.clone()))).await {
            Err(UpstreamError::SessionGone(_)) => {
                self.close(place, &session).await;
                let session = self.member(place, member, permit).await?;
                member.upstream.call(&permit.in_session(Some(session))).await
            }
            answered => answered,
        }
    }

    /// Forgets a member's session, unless somebody has already opened another.
    pub(super) async fn close(&self, place: usize, stale: &Session) {
        if let Some(slot) = self.members.get(place) {
            slot.lock().await.take_if(|session| session == stale);
        }
    }

    pub(super) async fn opened_at(&self, place: usize) -> Option<Session> {
        self.members.get(place)?.lock().await.clone()
    }

    /// The members' sessions that are open. One that is just being opened is not waited for.
    pub(super) fn opened(&self) -> Vec<(usize, Session)> {
        let open = |(place, slot): (usize, &Mutex<Option<Session>>)| Some((place, slot.try_lock().ok()?.clone()?));
        self.members.iter().enumerate().filter_map(open).collect()
    }
}
