//! Which eras one upstream speaks: found by asking, remembered, forgotten when it contradicts itself, or fixed by the operator.
//!
//! Asking never risks a call: a server that keeps no sessions would carry out a request of the other era, and a second try would
//! carry it out twice. So a modern client's first request waits for `server/discover`, and a legacy client's `initialize` is
//! itself the question.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gateway_core::ports::{Clock, Content, Spoken, Upstream, UpstreamError};
use gateway_core::{Ask, Exchange, Namespace, Permit, Subject};
use gateway_protocol::era::Greeting;
use gateway_protocol::{Message, Outcome, ReplyKind, Revision, RpcError, code};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tracing::info;

use super::sessions;
use crate::stack::Protocol;
use crate::{ask, probe};

/// How long an upstream may take to say whether it speaks the modern revision. Some old programs never answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a refusal, and what a server said of itself, is believed.
const BELIEVED: Duration = Duration::from_secs(600);

/// How a client's message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Straight,
    ModernOverLegacy,
    LegacyOverModern,
}

const MODERN: u8 = 1;
const NOT_MODERN: u8 = 2;
const NOT_LEGACY: u8 = 4;

pub(super) struct Eras {
    namespace: Namespace,
    clock: Arc<dyn Clock>,
    protocol: Protocol,
    /// What the straight way needs to know, so that it takes no lock.
    known: AtomicU8,
    learned: Mutex<Learned>,
    /// One question at a time, however many clients wait for its answer.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Learned {
    greeting: Option<(Greeting, Instant)>,
    not_modern: Option<Instant>,
    not_legacy: Option<Instant>,
    sessions_gone: u8,
    spoken: Spoken,
}

impl Eras {
    pub(super) fn new(namespace: Namespace, protocol: Protocol, clock: Arc<dyn Clock>) -> Self {
        let (known, modern, legacy) = match protocol {
            Protocol::Auto => (0, None, None),
            Protocol::Modern => (MODERN | NOT_LEGACY, Some(true), None),
            Protocol::Legacy(revision) => (NOT_MODERN, Some(false), revision),
        };
        let spoken = Spoken { modern, legacy, fixed: protocol != Protocol::Auto, ..Spoken::default() };
        let learned = Mutex::new(Learned { spoken, ..Learned::default() });
        Self { namespace, clock, protocol, known: AtomicU8::new(known), learned, asking: tokio::sync::Mutex::default() }
    }

    fn learned(&self) -> MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_fixed(&self) -> bool {
        self.protocol != Protocol::Auto
    }

    pub(super) fn spoken(&self) -> Spoken {
        self.learned().spoken.clone()
    }

    /// The way of this message. Asks the upstream if that depends on what nobody knows yet.
    pub(super) async fn way(&self, inner: &dyn Upstream, permit: &Permit) -> Result<Way, UpstreamError> {
        let exchange = permit.exchange();
        let known = self.known.load(Ordering::Relaxed);
        if !exchange.is_modern() {
            return Ok(self.legacy_way(exchange, known));
        }
        if known & MODERN != 0 || exchange.message().is_none() {
            return Ok(Way::Straight);
        }
        let greeting = self.greeting(inner, exchange).await?;
        Ok(if greeting.is_some() { Way::Straight } else { Way::ModernOverLegacy })
    }

    fn legacy_way(&self, exchange: &Exchange, known: u8) -> Way {
        match exchange.session.as_ref().map(|session| session.upstream_id()) {
            // Whatever was learned since: such a session lives here and nowhere else.
            Some(id) if id.starts_with(sessions::PREFIX) => Way::LegacyOverModern,
            None if known & NOT_LEGACY != 0 && self.refuses_legacy() => Way::LegacyOverModern,
            _ => Way::Straight,
        }
    }

    fn refuses_legacy(&self) -> bool {
        self.protocol == Protocol::Modern || is_believed(self.learned().not_legacy)
    }

    /// What the upstream says of itself in the modern era; `None` if it does not speak it.
    pub(super) async fn greeting(
        &self,
        inner: &dyn Upstream,
        asked_for: &Exchange,
    ) -> Result<Option<Greeting>, UpstreamError> {
        if let Some(known) = self.remembered() {
            return Ok(known);
        }
        let _alone = self.asking.lock().await;
        // Whoever was first has asked meanwhile.
        if let Some(known) = self.remembered() {
            return Ok(known);
        }
        let found = match tokio::time::timeout(PATIENCE, self.discover(inner, asked_for)).await {
            Ok(found) => found?,
            Err(_) => None,
        };
        self.learn(found.as_ref());
        Ok(found)
    }

    fn remembered(&self) -> Option<Option<Greeting>> {
        let learned = self.learned();
        match &learned.greeting {
            Some((greeting, since)) if is_believed(Some(*since)) => Some(Some(greeting.clone())),
            _ if matches!(self.protocol, Protocol::Legacy(_)) || is_believed(learned.not_modern) => Some(None),
            _ => None,
        }
    }

    async fn discover(&self, inner: &dyn Upstream, asked_for: &Exchange) -> Result<Option<Greeting>, UpstreamError> {
        let mut outcome = self.ask_once(inner, asked_for).await?;
        if matches!(&outcome, Some(Outcome::Error(error)) if offers_modern(error)) {
            // It refuses the version and names the same one: as every client must, we take it at its second word.
            outcome = self.ask_once(inner, asked_for).await?;
        }
        let Some(Outcome::Result(mut result)) = outcome else { return Ok(None) };
        if let Value::Object(members) = &mut result {
            members.entry("capabilities").or_insert_with(|| json!({}));
        }
        Ok(Greeting::of_discover(&result))
    }

    /// `None`: it answered in a way that only a server of the other era does.
    async fn ask_once(&self, inner: &dyn Upstream, asked_for: &Exchange) -> Result<Option<Outcome>, UpstreamError> {
        let params = Map::from_iter([("_meta".into(), Value::Object(probe::own_meta()))]);
        let message = Message::request(ask::own_id(), "server/discover", Some(params));
        let Some(permit) = own(asked_for, message) else { return Ok(None) };
        let answered = match inner.call(&permit).await {
            Ok(answered) => answered,
            Err(error @ UpstreamError::Unreachable(..)) => return Err(error),
            // Older servers refuse in many ways.
            Err(_) => return Ok(None),
        };
        if matches!(answered.status, 401 | 403) {
            return Err(ask::not_mcp(&self.namespace, &format!("HTTP status {}", answered.status)));
        }
        match ask::outcome_of(&self.namespace, answered).await {
            Ok(outcome) => Ok(Some(outcome)),
            Err(error @ UpstreamError::Unreachable(..)) => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn learn(&self, found: Option<&Greeting>) {
        let namespace = &self.namespace;
        let mut learned = self.learned();
        let now = Instant::now();
        if learned.spoken.modern != Some(found.is_some()) {
            let speaks = if found.is_some() { "speaks" } else { "does not speak" };
            info!(%namespace, "{namespace} {speaks} {}", Revision::LATEST);
        }
        learned.greeting = found.map(|greeting| (greeting.clone(), now));
        learned.not_modern = found.is_none().then_some(now);
        learned.spoken.found_at = Some(self.clock.now());
        if !self.is_fixed() {
            learned.spoken.modern = Some(found.is_some());
            self.mark(if found.is_some() { MODERN } else { NOT_MODERN }, MODERN | NOT_MODERN);
        }
    }

    /// A legacy client's handshake was answered in its own era.
    pub(super) fn speaks_legacy(&self, revision: Option<Revision>) {
        let namespace = &self.namespace;
        let mut learned = self.learned();
        if let Some(revision) = revision.filter(|revision| learned.spoken.legacy != Some(*revision)) {
            info!(%namespace, "{namespace} speaks {revision}");
        }
        learned.spoken.legacy = revision.or(learned.spoken.legacy);
        learned.spoken.found_at = Some(self.clock.now());
        learned.not_legacy = None;
        learned.sessions_gone = 0;
        if !self.is_fixed() {
            self.mark(0, NOT_LEGACY);
        }
    }

    /// A legacy client's handshake was refused by an upstream that speaks the other era.
    pub(super) fn refused_legacy(&self) {
        let mut learned = self.learned();
        learned.not_legacy = Some(Instant::now());
        if !self.is_fixed() {
            learned.spoken.legacy = None;
            self.mark(NOT_LEGACY, NOT_LEGACY);
        }
    }

    /// What an upstream's answer on the straight way says against what is believed of it.
    pub(super) fn heard(&self, modern: bool, answered: &Result<gateway_core::ports::Answered, UpstreamError>) {
        match answered {
            Ok(answered) if modern => {
                if let Content::One(reply) = &answered.content
                    && let ReplyKind::Error { code } = reply.kind()
                {
                    self.told(code);
                }
            }
            Err(UpstreamError::SessionGone(_)) => {
                let again = {
                    let mut learned = self.learned();
                    learned.sessions_gone = learned.sessions_gone.saturating_add(1);
                    learned.sessions_gone > 1
                };
                if again {
                    self.forget();
                }
            }
            _ => {}
        }
    }

    /// An error that answered a modern request: some mean that the upstream does not speak that era (any more).
    pub(super) fn told(&self, code: i64) {
        if matches!(code, code::NOT_INITIALIZED | code::UNSUPPORTED_VERSION) {
            self.forget();
        }
    }

    /// Everything is asked anew; what the operator fixed stays.
    pub(super) fn forget(&self) {
        if self.is_fixed() {
            return;
        }
        *self.learned() = Learned::default();
        self.known.store(0, Ordering::Relaxed);
    }

    fn mark(&self, set: u8, among: u8) {
        let _ = self.known.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |known| Some((known & !among) | set));
    }
}

/// A refusal of the version that names a modern one as welcome.
fn offers_modern(error: &RpcError) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported")).and_then(Value::as_array);
    let modern = |said: &Value| said.as_str().and_then(|said| said.parse().ok()).is_some_and(Revision::is_modern);
    error.code == code::UNSUPPORTED_VERSION && supported.is_some_and(|supported| supported.iter().any(modern))
}

fn is_believed(since: Option<Instant>) -> bool {
    since.is_some_and(|since| since.elapsed() < BELIEVED)
}

/// A modern question of the gateway's own, asked because of what a client wants.
pub(super) fn own(asked_for: &Exchange, message: Message) -> Option<Permit> {
    Permit::for_discovery(Exchange {
        ask: Ask::Message(message),
        revision: Some(Revision::LATEST),
        session: None,
        subject: Subject::Plain,
        ..asked_for.clone()
    })
}

#[cfg(test)]
mod tests;
