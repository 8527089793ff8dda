//! What was used once, remembered in this process until it would have expired anyway.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use gateway_core::ports::{Once, StoreError};
use jiff::Timestamp;
use uuid::Uuid;

/// Between two looks for what has expired.
const LOOK_EVERY: usize = 1000;

#[derive(Default)]
pub(crate) struct MemoryOnce {
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    until: HashMap<Uuid, Timestamp>,
    since_look: usize,
}

#[async_trait]
impl Once for MemoryOnce {
    async fn spend(&self, token: Uuid, until: Timestamp) -> Result<bool, StoreError> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.since_look += 1;
        if spent.since_look >= LOOK_EVERY {
            let now = Timestamp::now();
            spent.until.retain(|_, until| *until > now);
            spent.since_look = 0;
        }
        Ok(spent.until.insert(token, until).is_none())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jiff::SignedDuration;

    use super::*;

    #[tokio::test]
    async fn a_token_is_spent_once_and_forgotten_after_its_time() {
        let once = MemoryOnce::default();
        let later = Timestamp::now() + SignedDuration::from_mins(5);
        let token = Uuid::from_u128(1);
        assert!(once.spend(token, later).await.unwrap());
        assert!(!once.spend(token, later).await.unwrap(), "the second time");
        let past = Timestamp::now() - SignedDuration::from_mins(5);
        for other in 2..2 + LOOK_EVERY as u128 {
            assert!(once.spend(Uuid::from_u128(other), past).await.unwrap());
        }
        assert!(once.spent.lock().unwrap().until.len() < LOOK_EVERY, "what has expired is forgotten");
        assert!(!once.spend(token, later).await.unwrap(), "what has not is remembered");
    }
}
