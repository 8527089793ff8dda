//! The system's clock and fresh identities.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use gateway_core::ports::Clock;
use jiff::Timestamp;
use uuid::Uuid;

pub struct SystemClock;

impl Clock for SystemClock {
    /// Whole milliseconds: what is hashed into a chain must come back from every database as it went in.
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    fn fresh_id(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn pause(&self, time: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(time).boxed()
    }
}
