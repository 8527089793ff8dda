//! Whether an upstream is there: when it last answered, and what went wrong if it did not.
//!
//! Nothing is asked for it: what is noted are the answers to what callers asked. The note stands next to the transport, because
//! an answer from memory is no sign of life; only a deadline is noted from further out, by whoever lost patience.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use gateway_core::ports::{Answered, Clock, Content, Health, Spoken, Upstream, UpstreamError};
use gateway_core::{Exchange, Namespace, Permit};
use jiff::Timestamp;
use serde_json::Value;

const NEVER: i64 = i64::MIN;

pub(crate) struct Vitals {
    namespace: Namespace,
    clock: Arc<dyn Clock>,
    /// In milliseconds, so that the straight way takes no lock.
    seen: AtomicI64,
    is_down: AtomicBool,
    why: Mutex<Option<String>>,
}

impl Vitals {
    pub(crate) fn new(namespace: Namespace, clock: Arc<dyn Clock>) -> Arc<Self> {
        let (seen, is_down) = (AtomicI64::new(NEVER), AtomicBool::new(false));
        Arc::new(Self { namespace, clock, seen, is_down, why: Mutex::default() })
    }

    fn answered(&self) {
        self.seen.store(self.clock.now().as_millisecond(), Ordering::Relaxed);
        if self.is_down.load(Ordering::Relaxed) && self.is_down.swap(false, Ordering::Relaxed) {
            *self.why.lock().unwrap_or_else(PoisonError::into_inner) = None;
            tracing::info!(namespace = %self.namespace, "{} answers again", self.namespace);
        }
    }

    fn failed(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        self.is_down.store(true, Ordering::Relaxed);
    }

    /// Somebody waited for it as long as they wanted to.
    pub(crate) fn timed_out(&self) {
        self.failed("did not answer in time".into());
    }

    fn note(&self, answered: &Result<Answered, UpstreamError>) {
        match answered {
            Ok(answered) => match refusal(answered) {
                Some(why) => self.failed(why),
                None => self.answered(),
            },
            // It is there, and has forgotten somebody.
            Err(UpstreamError::SessionGone(_)) => self.answered(),
            Err(UpstreamError::TimedOut(_)) => self.timed_out(),
            Err(UpstreamError::Unreachable(..)) => self.failed("is not reachable".into()),
            Err(UpstreamError::NotMcp { what, .. }) => self.failed(format!("does not speak MCP: {what}")),
        }
    }

    fn health(&self) -> (Option<Timestamp>, Health) {
        let seen = self.seen.load(Ordering::Relaxed);
        let seen = (seen != NEVER).then(|| Timestamp::from_millisecond(seen).ok()).flatten();
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let health = match why {
            Some(why) => Health::Down(why),
            None if seen.is_some() => Health::Up,
            None => Health::Unknown,
        };
        (seen, health)
    }
}

/// What an answer says that no caller is to blame for.
fn refusal(answered: &Answered) -> Option<String> {
    match answered.status {
        status @ (401 | 403) => Some(format!("refuses the gateway's credentials (HTTP status {status})")),
        status @ 500.. if matches!(answered.content, Content::Foreign { .. } | Content::Nothing) => {
            Some(format!("answers with HTTP status {status}"))
        }
        _ => None,
    }
}

/// A transport whose answers are noted.
pub(crate) struct Watched {
    pub(crate) inner: Arc<dyn Upstream>,
    pub(crate) vitals: Arc<Vitals>,
}

#[async_trait]
impl Upstream for Watched {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let answered = self.inner.call(permit).await;
        self.vitals.note(&answered);
        answered
    }

    fn observes_unclassified(&self) -> bool {
        self.inner.observes_unclassified()
    }

    async fn definition(&self, asked_for: &Exchange, tool: &str) -> Result<Option<Arc<Value>>, UpstreamError> {
        self.inner.definition(asked_for, tool).await
    }

    fn spoken(&self) -> Spoken {
        let (seen_at, health) = self.vitals.health();
        Spoken { seen_at, health, ..self.inner.spoken() }
    }

    async fn stop(&self) {
        self.inner.stop().await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use gateway_protocol::{Message, RpcError};
    use serde_json::json;

    use super::*;
    use crate::testing::space;

    struct Minutes(AtomicI64);

    impl Clock for Minutes {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(60 * self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
        }

        fn fresh_id(&self) -> uuid::Uuid {
            uuid::Uuid::nil()
        }
    }

    #[test]
    fn what_was_heard_last_is_what_is_known() {
        let vitals = Vitals::new(space("crm"), Arc::new(Minutes(AtomicI64::new(1))));
        let minute = |minute: i64| Some(Timestamp::from_second(60 * minute).unwrap());
        assert_eq!(vitals.health(), (None, Health::Unknown));
        let result = || Ok(Answered::one(200, &Message::result(1.into(), json!({}))));
        let refused = || Ok(Answered::one(500, &Message::error(Some(1.into()), RpcError::new(-32603, "no"))));
        let down = |why: &str| Health::Down(why.into());
        for (heard, seen, health) in [
            (result(), minute(1), Health::Up),
            (
                Err(UpstreamError::Unreachable(space("crm"), "secret-host refused".into())),
                minute(1),
                down("is not reachable"),
            ),
            (Err(UpstreamError::TimedOut(space("crm"))), minute(1), down("did not answer in time")),
            (refused(), minute(2), Health::Up),
            (Ok(Answered::nothing(503)), minute(2), down("answers with HTTP status 503")),
            (Err(UpstreamError::SessionGone(space("crm"))), minute(3), Health::Up),
            (Ok(Answered::nothing(401)), minute(3), down("refuses the gateway's credentials (HTTP status 401)")),
            (Ok(Answered::nothing(202)), minute(4), Health::Up),
        ] {
            vitals.note(&heard);
            assert_eq!(vitals.health(), (seen, health));
        }
        vitals.timed_out();
        assert_eq!(vitals.health(), (minute(4), down("did not answer in time")));
    }
}
