//! One open session with a legacy upstream, held on behalf of one principal whose client knows no sessions.
//!
//! It outlives the calls made in it. Its own stream brings news for whoever listens, and questions for the call that was
//! started last: a legacy server does not always say which call it asks for. The last one to let go of it ends it.

mod stream;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use gateway_core::ports::{Upstream, UpstreamError};
use gateway_core::session::Session;
use gateway_core::{Ask, Exchange, OwnAnswer, Permit, Subject};
use gateway_protocol::era::{Described, Greeting, InputKind, Level};
use gateway_protocol::{Id, Message, Notification, Outcome, Revision, RpcError, code};
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::BridgeSettings;
use super::errands::Errands;
use crate::ask;

/// A listener that is this far behind misses some; they all say "look again".
const NEWS: usize = 256;
/// What one call may leave unread of its session's own stream.
const OVERHEARD: usize = 64;

/// What reaches listeners.
#[derive(Debug, Clone)]
pub(super) enum News {
    Told(Notification),
    /// There will be no more.
    Ended,
}

pub(super) struct Live {
    inner: Arc<dyn Upstream>,
    settings: BridgeSettings,
    errands: Errands,
    greeting: Greeting,
    session: Session,
    /// What this session's server believes its client can be asked.
    capabilities: Map<String, Value>,
    /// Ends the session, and is what everything else the gateway says in it is derived from.
    farewell: Permit,
    news: broadcast::Sender<News>,
    calls: Mutex<BTreeMap<u64, Caller>>,
    next_call: AtomicU64,
    subscribed: tokio::sync::Mutex<HashMap<String, usize>>,
    level: tokio::sync::Mutex<Option<Level>>,
    gone: AtomicBool,
    last_used: Mutex<Instant>,
    tender: OnceLock<AbortHandle>,
}

struct Caller {
    may_ask: bool,
    mailbox: mpsc::Sender<Message>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    /// The handshake, then the session's own stream.
    pub(super) async fn open(
        inner: &Arc<dyn Upstream>,
        errands: &Errands,
        settings: &BridgeSettings,
        exchange: &Exchange,
        described: &Described,
    ) -> Result<Arc<Self>, UpstreamError> {
        let namespace = &settings.namespace;
        let not_ours = || ask::not_mcp(namespace, "a session the gateway may not hold");
        let handshake = described.handshake(settings.revision.unwrap_or(Revision::LATEST_LEGACY));
        let stranger = farewell(exchange, handshake.revision, None).ok_or_else(not_ours)?;
        let hello = Message::request(ask::own_id(), "initialize", Some(handshake.to_params()));
        let (id, result) = match ask::question(inner.as_ref(), namespace, stranger.for_own(hello, None)).await? {
            (id, Outcome::Result(result)) => (id.unwrap_or_default(), result),
            (_, Outcome::Error(error)) => return Err(ask::refused(namespace, &error)),
        };
        let greeting = Greeting::of_initialize(&result)
            .ok_or_else(|| ask::not_mcp(namespace, "a handshake that settles on no version known here"))?;
        let session = Session::new(&exchange.principal, &exchange.route, Some(greeting.revision), id);
        let live = Arc::new(Self {
            inner: Arc::clone(inner),
            settings: settings.clone(),
            errands: errands.clone(),
            farewell: farewell(exchange, greeting.revision, Some(session.clone())).ok_or_else(not_ours)?,
            greeting,
            session,
            capabilities: handshake.capabilities,
            news: broadcast::Sender::new(NEWS),
            calls: Mutex::default(),
            next_call: AtomicU64::new(1),
            subscribed: tokio::sync::Mutex::default(),
            level: tokio::sync::Mutex::default(),
            gone: AtomicBool::new(false),
            last_used: Mutex::new(Instant::now()),
            tender: OnceLock::new(),
        });
        if let Some(ready) = live.own(Message::notification("notifications/initialized", None)) {
            inner.call(&ready).await?;
        }
        live.listen().await;
        Ok(live)
    }

    pub(super) fn inner(&self) -> &Arc<dyn Upstream> {
        &self.inner
    }

    pub(super) fn settings(&self) -> &BridgeSettings {
        &self.settings
    }

    pub(super) fn errands(&self) -> &Errands {
        &self.errands
    }

    pub(super) fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// Whether its server may ask this of the client behind it.
    pub(super) fn may_ask(&self, kind: InputKind, params: Option<&Map<String, Value>>) -> bool {
        kind.may_ask(params, &self.capabilities)
    }

    /// The upstream no longer knows it; whoever listens is told.
    pub(super) fn lose(&self) {
        self.gone.store(true, Ordering::Relaxed);
        self.end_news();
    }

    pub(super) fn end_news(&self) {
        // Nobody may be listening.
        let _ = self.news.send(News::Ended);
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(super) fn touch(&self) {
        *locked(&self.last_used) = Instant::now();
    }

    pub(super) fn idle(&self) -> Duration {
        locked(&self.last_used).elapsed()
    }

    pub(super) fn listener(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    pub(super) fn tell(&self, notification: Notification) {
        let _ = self.news.send(News::Told(notification));
    }

    /// A call begins; gives its number, and what the session's own stream has for it.
    pub(super) fn enter(&self, may_ask: bool) -> (u64, mpsc::Receiver<Message>) {
        let (mailbox, receiver) = mpsc::channel(OVERHEARD);
        let number = self.next_call.fetch_add(1, Ordering::Relaxed);
        locked(&self.calls).insert(number, Caller { may_ask, mailbox });
        (number, receiver)
    }

    pub(super) fn leave(&self, number: u64) {
        locked(&self.calls).remove(&number);
        self.touch();
    }

    /// Makes the server at least this talkative. It is never made quieter, since another call may want to hear it.
    pub(super) async fn raise(&self, wanted: Level) {
        let mut level = self.level.lock().await;
        if !self.greeting.capabilities.contains_key("logging") || level.is_some_and(|level| level <= wanted) {
            return;
        }
        let params = Map::from_iter([("level".to_owned(), json!(wanted.as_str()))]);
        // A server that will not change its level is heard at the one it has.
        if self.question("logging/setLevel", params).await.is_ok() {
            *level = Some(wanted);
        }
    }

    /// Counted: the server is asked when the first one wants it.
    pub(super) async fn subscribe(&self, uri: &str) -> Result<bool, UpstreamError> {
        let mut subscribed = self.subscribed.lock().await;
        if !subscribed.contains_key(uri) {
            let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
            if let Outcome::Error(error) = self.question("resources/subscribe", params).await? {
                if is_session_gone(error.code) {
                    return Err(UpstreamError::SessionGone(self.settings.namespace.clone()));
                }
                tracing::debug!(
                    code = error.code,
                    words = error.message.len(),
                    "an upstream will not tell of a resource"
                );
                return Ok(false);
            }
        }
        *subscribed.entry(uri.to_owned()).or_default() += 1;
        Ok(true)
    }

    /// The server is told when the last one no longer wants it.
    pub(super) fn unsubscribe(self: &Arc<Self>, uris: Vec<String>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let live = Arc::clone(self);
        runtime.spawn(async move {
            let mut subscribed = live.subscribed.lock().await;
            for uri in uris {
                let Some(count) = subscribed.get_mut(&uri) else { continue };
                *count = count.saturating_sub(1);
                if *count == 0 {
                    subscribed.remove(&uri);
                    let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
                    // Told once more than wanted is no harm.
                    let _ = live.question("resources/unsubscribe", params).await;
                }
            }
        });
    }

    async fn question(&self, method: &str, params: Map<String, Value>) -> Result<Outcome, UpstreamError> {
        let permit = self.own(Message::request(ask::own_id(), method, Some(params)));
        ask::question(self.inner.as_ref(), &self.settings.namespace, permit).await.map(|(_, outcome)| outcome)
    }

    fn own(&self, message: Message) -> Option<Permit> {
        self.farewell.for_own(message, Some(self.session.clone()))
    }

    /// The gateway's own answer to the server's question.
    pub(super) fn answer(&self, id: Id, answer: OwnAnswer) {
        let permit = self.farewell.own_answer(id, answer, Some(self.session.clone()));
        self.errands.run(vec![permit], ());
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(tender) = self.tender.get() {
            tender.abort();
        }
        if !self.is_gone() && !self.session.upstream_id().is_empty() {
            self.errands.run(vec![self.farewell.in_session(Some(self.session.clone()))], ());
        }
    }
}

/// Servers that do not say 404 have one of these for a session they do not know.
pub(super) fn is_session_gone(error: i64) -> bool {
    const NO_SUCH_SESSION: i64 = -32001;
    matches!(error, code::NOT_INITIALIZED | NO_SUCH_SESSION)
}

pub(super) fn not_declared(method: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("this client does not answer `{method}` here"))
}

fn farewell(exchange: &Exchange, revision: Revision, session: Option<Session>) -> Option<Permit> {
    // What travelled with one call's body says nothing of the session.
    let carried = Vec::new();
    let (ask, subject, revision) = (Ask::EndSession, Subject::Plain, Some(revision));
    Permit::for_discovery(Exchange { ask, subject, revision, session, carried, ..exchange.clone() })
}
