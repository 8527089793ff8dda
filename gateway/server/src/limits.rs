//! How often an agent may ask, and how many streams it may keep open. Counted on this node, in memory; nothing here waits.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use gateway_core::ports::{Limited, StreamSlot, Usage};
use gateway_core::{AgentId, Principal, TenantId};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

type Key = (Option<TenantId>, AgentId);
type PerAgent = DefaultKeyedRateLimiter<Key>;
type OpenStreams = Arc<Mutex<HashMap<Key, usize>>>;

/// A stream is closed by its reader, who may take a while to notice.
const STREAM_RETRY_MS: u64 = 1000;

/// Requests per minute and agent, the whole minute of which may be spent at once; and streams per agent.
pub struct RateLimits {
    clock: DefaultClock,
    per_agent: ArcSwapOption<(NonZeroU32, PerAgent)>,
    streams: AtomicUsize,
    open: OpenStreams,
}

impl RateLimits {
    pub fn new(per_minute: Option<NonZeroU32>, streams: usize) -> Self {
        let limits = Self {
            clock: DefaultClock::default(),
            per_agent: ArcSwapOption::empty(),
            streams: AtomicUsize::new(streams),
            open: OpenStreams::default(),
        };
        limits.set(per_minute, streams);
        limits
    }

    /// A changed rate starts counting afresh; the same one keeps its counts. Streams that are open stay open.
    pub fn set(&self, per_minute: Option<NonZeroU32>, streams: usize) {
        self.streams.store(streams, Ordering::Relaxed);
        let now = self.per_agent.load().as_ref().map(|limits| limits.0);
        if now != per_minute {
            let limiter = per_minute.map(|limit| Arc::new((limit, RateLimiter::keyed(Quota::per_minute(limit)))));
            self.per_agent.store(limiter);
        }
    }
}

fn key(principal: &Principal) -> Key {
    (principal.tenant, principal.agent.clone())
}

impl Usage for RateLimits {
    fn take(&self, principal: &Principal) -> Result<(), Limited> {
        let limits = self.per_agent.load();
        let Some((limit, limiter)) = limits.as_deref() else {
            return Ok(());
        };
        limiter.check_key(&key(principal)).map_err(|over| {
            let wait = over.wait_time_from(self.clock.now());
            Limited {
                rule: "agent_per_minute",
                message: format!("more than {limit} requests a minute; wait and try again"),
                retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
            }
        })
    }

    fn open_stream(&self, principal: &Principal) -> Result<StreamSlot, Limited> {
        let limit = self.streams.load(Ordering::Relaxed);
        let key = key(principal);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(key.clone()).or_default();
        if *count >= limit {
            return Err(Limited {
                rule: "streams",
                message: format!("{limit} streams are open already; close one and try again"),
                retry_after_ms: STREAM_RETRY_MS,
            });
        }
        *count += 1;
        Ok(StreamSlot::new(OpenStream { key, open: Arc::clone(&self.open) }))
    }
}

struct OpenStream {
    key: Key,
    open: OpenStreams,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = open.get_mut(&self.key) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            open.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn agent(name: &str) -> Principal {
        Principal { agent: name.parse().unwrap(), ..Principal::anonymous() }
    }

    // acceptance 31: the hundred and first is refused with retry information, and nobody else notices.
    #[test]
    fn each_agent_has_its_own_minute() {
        let limits = RateLimits::new(NonZeroU32::new(100), 1);
        let (one, other) = (agent("one"), agent("other"));
        for call in 1..=100 {
            assert_eq!(limits.take(&one), Ok(()), "call {call}");
        }
        assert!(limits.take(&one).unwrap_err().retry_after_ms > 0);
        assert_eq!(limits.take(&other), Ok(()));
        limits.set(None, 1);
        assert_eq!(limits.take(&one), Ok(()), "no limit");
    }

    #[test]
    fn each_agent_has_room_for_so_many_streams() {
        let limits = RateLimits::new(None, 2);
        let (one, other) = (agent("one"), agent("other"));
        let first = limits.open_stream(&one).unwrap();
        let _second = limits.open_stream(&one).unwrap();
        assert_eq!(limits.open_stream(&one).unwrap_err().rule, "streams");
        let theirs = limits.open_stream(&other).unwrap();
        drop(first);
        let _third = limits.open_stream(&one).unwrap();
        assert!(limits.open_stream(&one).is_err(), "one was closed, one was opened");
        limits.set(None, 3);
        assert!(limits.open_stream(&one).is_ok(), "a wider limit counts at once");
        drop(theirs);
        assert_eq!(limits.open.lock().unwrap().len(), 1, "who has none open leaves no trace");
    }
}
