//! How often an agent may ask. Counted on this node, in memory; nothing here waits.

use std::num::NonZeroU32;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use gateway_core::ports::{Limited, Usage};
use gateway_core::{AgentId, Principal, TenantId};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

type PerAgent = DefaultKeyedRateLimiter<(Option<TenantId>, AgentId)>;

/// Requests per minute and agent; the whole minute may be spent at once.
pub struct RateLimits {
    clock: DefaultClock,
    per_agent: ArcSwapOption<(NonZeroU32, PerAgent)>,
}

impl RateLimits {
    pub fn new(per_minute: Option<NonZeroU32>) -> Self {
        let limits = Self { clock: DefaultClock::default(), per_agent: ArcSwapOption::empty() };
        limits.set(per_minute);
        limits
    }

    /// A changed limit starts counting afresh; the same one keeps its counts.
    pub fn set(&self, per_minute: Option<NonZeroU32>) {
        let now = self.per_agent.load().as_ref().map(|limits| limits.0);
        if now != per_minute {
            let limiter = per_minute.map(|limit| Arc::new((limit, RateLimiter::keyed(Quota::per_minute(limit)))));
            self.per_agent.store(limiter);
        }
    }
}

impl Usage for RateLimits {
    fn take(&self, principal: &Principal) -> Result<(), Limited> {
        let limits = self.per_agent.load();
        let Some((limit, limiter)) = limits.as_deref() else {
            return Ok(());
        };
        let key = (principal.tenant, principal.agent.clone());
        limiter.check_key(&key).map_err(|over| {
            let wait = over.wait_time_from(self.clock.now());
            Limited {
                rule: "agent_per_minute",
                message: format!("more than {limit} requests a minute; wait and try again"),
                retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // acceptance 31: the hundred and first is refused with retry information, and nobody else notices.
    #[test]
    fn each_agent_has_its_own_minute() {
        let limits = RateLimits::new(NonZeroU32::new(100));
        let agent = |name: &str| Principal { agent: name.parse().unwrap(), ..Principal::anonymous() };
        let (one, other) = (agent("one"), agent("other"));
        for call in 1..=100 {
            assert_eq!(limits.take(&one), Ok(()), "call {call}");
        }
        assert!(limits.take(&one).unwrap_err().retry_after_ms > 0);
        assert_eq!(limits.take(&other), Ok(()));
        limits.set(None);
        assert_eq!(limits.take(&one), Ok(()), "no limit");
    }
}
