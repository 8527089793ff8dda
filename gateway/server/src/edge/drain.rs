//! What is under way, and how a node comes to its end without cutting it off.
//!
//! First all that comes is still served, though its connection is closed with the answer. Then what is new is refused, so
//! that what is under way can come to its end. Then nobody listens any more, and those who were let in hear the same no.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use pingora_core::server::ShutdownWatch;
use tokio::sync::watch;
use tokio::time::Instant;

/// When nothing has come for this long, those who send have gone elsewhere.
const QUIET: Duration = Duration::from_millis(100);
/// How long callers that do not take no for an answer are told so while nothing else is left to do.
const INSISTING: Duration = Duration::from_secs(1);
const LOOKS: Duration = Duration::from_millis(10);

pub struct Drain {
    busy: AtomicUsize,
    entered: AtomicUsize,
    refusing: AtomicBool,
    draining: watch::Sender<bool>,
    closed: watch::Sender<bool>,
}

/// One request in flight.
pub struct Busy(Arc<Drain>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drain {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            busy: AtomicUsize::new(0),
            entered: AtomicUsize::new(0),
            refusing: AtomicBool::new(false),
            draining: watch::Sender::new(false),
            closed: watch::Sender::new(false),
        })
    }

    /// To be asked before `is_refusing`: then nothing is both let in and overlooked.
    pub fn enter(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::SeqCst);
        self.entered.fetch_add(1, Ordering::SeqCst);
        Busy(Arc::clone(self))
    }

    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Whether more should be sent here, as `/ready` has it.
    pub fn ready(&self) -> Result<(), String> {
        if self.is_draining() { Err("draining".into()) } else { Ok(()) }
    }

    /// What comes now is too late.
    pub fn is_refusing(&self) -> bool {
        self.refusing.load(Ordering::SeqCst)
    }

    /// Resolves when draining begins.
    pub async fn begun(&self) {
        let mut watch = self.draining.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = watch.wait_for(|draining| *draining).await;
    }

    /// Resolves when nobody is to listen any more.
    pub async fn closed(&self) {
        let mut watch = self.closed.subscribe();
        let _ = watch.wait_for(|closed| *closed).await;
    }

    /// Changes when draining begins, and at once for a connection that was opened later.
    pub fn leaving(&self) -> ShutdownWatch {
        let mut watch = self.draining.subscribe();
        if *watch.borrow() {
            watch.mark_changed();
        }
        watch
    }

    pub fn begin(&self) {
        self.draining.send_replace(true);
    }

    /// Ends with closed listeners, after `patience` at most. True when all that was let in has finished.
    pub async fn drain(&self, patience: Duration) -> bool {
        let began = Instant::now();
        self.begin();
        self.quiet(QUIET, began + patience / 2).await;
        self.refusing.store(true, Ordering::SeqCst);
        let finished = self.quiet(Duration::ZERO, began + patience).await;
        if finished {
            self.quiet(QUIET, Instant::now() + INSISTING).await;
        }
        self.closed.send_replace(true);
        finished
    }

    /// After the listeners are closed: those who still came through the door are refused, and hear it.
    pub async fn emptied(&self) {
        self.quiet(QUIET, Instant::now() + INSISTING).await;
    }

    /// Until nothing was under way and nothing came for so long. False when that did not happen in time.
    async fn quiet(&self, lasting: Duration, until: Instant) -> bool {
        let mut since = Instant::now();
        let mut entered = self.entered.load(Ordering::SeqCst);
        loop {
            let now = Instant::now();
            let (busy, latest) = (self.busy.load(Ordering::SeqCst), self.entered.load(Ordering::SeqCst));
            if busy == 0 && (latest == entered || lasting.is_zero()) {
                if now - since >= lasting {
                    return true;
                }
            } else {
                (since, entered) = (now, latest);
            }
            if now >= until {
                return false;
            }
            tokio::time::sleep(LOOKS).await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// One call under way for so long, and others that ask to enter for so long: whether all finished, when it was over, and
    /// when the first of the others was refused.
    async fn drained(busy_for: Duration, coming_for: Duration) -> (bool, Duration, Option<Duration>) {
        let drain = Drain::new();
        let began = Instant::now();
        let under_way = drain.enter();
        let ends = tokio::spawn(async move {
            tokio::time::sleep(busy_for).await;
            drop(under_way);
        });
        let door = Arc::clone(&drain);
        let comes = tokio::spawn(async move {
            let mut refused = None;
            while began.elapsed() < coming_for {
                let busy = door.enter();
                if door.is_refusing() {
                    refused.get_or_insert(began.elapsed());
                }
                drop(busy);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            refused
        });
        let finished = drain.drain(Duration::from_secs(2)).await;
        let took = began.elapsed();
        assert!(*drain.closed.borrow() && drain.is_draining());
        ends.await.unwrap();
        (finished, took, comes.await.unwrap())
    }

    #[tokio::test]
    async fn what_is_under_way_has_its_time_and_what_comes_late_is_refused() {
        let cases = [
            // Busy for, others come for; all finished, over after, refused: in milliseconds.
            (0, 0, true, 0, false),
            (600, 0, true, 600, false),
            (1400, 0, true, 1400, false),
            (0, 1500, true, 1500, true),
            (1400, 1500, true, 1500, true),
            (3000, 3000, false, 2000, true),
        ];
        let at_once = cases.map(|(busy, coming, ..)| {
            tokio::spawn(drained(Duration::from_millis(busy), Duration::from_millis(coming)))
        });
        for (case, drained) in cases.into_iter().zip(at_once) {
            let (all, took, refused) = drained.await.unwrap();
            let (.., finished, over, refuses) = case;
            let over = Duration::from_millis(over);
            assert_eq!(all, finished, "{case:?}");
            // The machine may be busy with other things.
            assert!(over <= took && took < over + Duration::from_millis(900), "{case:?}: {took:?}");
            assert_eq!(refused.is_some(), refuses, "{case:?}: {refused:?}");
            assert!(refused.is_none_or(|at| at >= Duration::from_secs(1)), "{case:?}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn a_connection_opened_late_is_told_at_once() {
        let drain = Drain::new();
        let mut early = drain.leaving();
        assert!(!early.has_changed().unwrap());
        drain.begin();
        early.changed().await.unwrap();
        assert!(drain.leaving().has_changed().unwrap());
    }
}
