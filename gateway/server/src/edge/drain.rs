//! What is under way, and how to wait for it to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

/// Counts requests in flight; once draining, long-lived streams end and connections are not kept.
pub struct Drain {
    busy: AtomicUsize,
    draining: watch::Sender<bool>,
}

/// One request in flight.
pub struct Busy(Arc<Drain>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drain {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { busy: AtomicUsize::new(0), draining: watch::Sender::new(false) })
    }

    pub fn enter(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }

    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Resolves when draining begins.
    pub async fn begun(&self) {
        let mut watch = self.draining.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = watch.wait_for(|draining| *draining).await;
    }

    pub fn begin(&self) {
        self.draining.send_replace(true);
    }

    /// Says no to what is new and waits for what is under way, at most `patience`. True when all of it finished.
    pub async fn drain(&self, patience: Duration) -> bool {
        self.begin();
        let deadline = tokio::time::Instant::now() + patience;
        while self.busy.load(Ordering::Acquire) > 0 {
            if tokio::time::Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        true
    }
}
