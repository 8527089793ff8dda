//! The aggregated sessions of the legacy eras: what a client said in its handshake, and the members' sessions behind it.
//!
//! They live in this process: a client that lands elsewhere, or comes back after an idle hour, initialises again.

use std::sync::Arc;
use std::time::Duration;

use gateway_core::ports::{Answered, UpstreamError};
use gateway_core::session::Session;
use gateway_core::{Exchange, Permit, Principal, Route};
use gateway_protocol::{Message, Revision};
use moka::sync::Cache;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::Member;
use crate::ask;

const MAX_SESSIONS: u64 = 10_000;
const IDLE: Duration = Duration::from_secs(3600);

pub(super) struct Sessions(Cache<String, Arc<AggregateSession>>);

pub(super) struct AggregateSession {
    pub(super) id: String,
    pub(super) revision: Revision,
    owner: String,
    /// The client's own handshake, said again to every member: its capabilities are the members' to know.
    params: Map<String, Value>,
    /// By the member's place; none until the member is first needed.
    members: Vec<Mutex<Option<Session>>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self(Cache::builder().max_capacity(MAX_SESSIONS).time_to_idle(IDLE).build())
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
        let session = Arc::new(AggregateSession {
            id: Uuid::new_v4().to_string(),
            revision,
            owner: exchange.principal.binding(),
            params,
            members: (0..members).map(|_| Mutex::new(None)).collect(),
        });
        self.0.insert(session.id.clone(), Arc::clone(&session));
        session
    }

    pub(super) fn get(&self, id: &str, principal: &Principal) -> Option<Arc<AggregateSession>> {
        self.0.get(id).filter(|session| session.owner == principal.binding())
    }

    pub(super) fn forget(&self, id: &str) {
        self.0.invalidate(id);
    }
}

impl AggregateSession {
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
