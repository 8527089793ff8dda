//! The writer's task: carries records to the store, or, while that is away, to the spool and from there to the store.
//!
//! At most one append is under way. What it carries is spooled when it fails or takes longer than the patience; if it
//! commits after all, the replay recognises its traces. While anything is in the spool, nothing newer reaches the store.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gateway_core::ports::{Ledger, LedgerError, Record};

use super::shipment::{Attempt, Cargo, Landed, Shipment, finished};
use super::sift::{Sifted, append_sifted};
use super::{Entry, Refusing, Shared, WriterOptions};
use crate::spool::Spool;

/// Records per transaction: enough to share the cost of a commit, few enough to keep it short.
const BATCH: usize = 2048;
/// Room for entries that is kept between batches; what a backlog needed beyond that is given back when it is gone.
const KEPT: usize = 2 * BATCH;
/// An append that has not come back after this is given up.
const GIVE_UP: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(super) struct Courier {
    shared: Arc<Shared>,
    ledger: Arc<dyn Ledger>,
    options: WriterOptions,
    /// Absent only while a blocking thread works on it.
    spool: Option<Spool>,
    pending: VecDeque<Entry>,
    /// The last batch's, emptied: memory that is asked for anew each time is also cleared each time.
    spare: Vec<Record>,
    /// When the oldest pending entry was met.
    waiting_since: Instant,
    /// The tick has come since the last batch left.
    due: bool,
    /// Somebody waits for something that is pending.
    awaited: bool,
    attempt: Option<Attempt>,
    store_up: bool,
    spool_broken: bool,
    spool_at: Instant,
    retry_at: Instant,
    pause: Duration,
}

impl Courier {
    pub fn new(shared: Arc<Shared>, ledger: Arc<dyn Ledger>, options: WriterOptions, spool: Spool) -> Self {
        Self {
            shared,
            ledger,
            options,
            spool: Some(spool),
            pending: VecDeque::new(),
            spare: Vec::new(),
            waiting_since: Instant::now(),
            due: false,
            awaited: false,
            attempt: None,
            store_up: true,
            spool_broken: false,
            spool_at: Instant::now(),
            retry_at: Instant::now(),
            pause: FIRST_PAUSE,
        }
    }

    pub async fn run(mut self) {
        let mut tick = tokio::time::interval(self.options.tick);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let shared = Arc::clone(&self.shared);
        loop {
            tokio::select! {
                biased;
                landed = finished(&mut self.attempt) => self.land(landed).await,
                () = shared.wake.notified() => {}
                _ = tick.tick() => self.due = true,
            }
            self.collect();
            self.overtake().await;
            self.dispatch().await;
            self.tell_limits();
            if shared.stopping.load(Ordering::Acquire) && self.is_done() {
                return;
            }
        }
    }

    fn collect(&mut self) {
        let mut queue = self.shared.queue();
        if queue.entries.is_empty() {
            return;
        }
        if self.pending.is_empty() {
            self.waiting_since = Instant::now();
        }
        self.awaited |= queue.entries.iter().any(|entry| entry.waiter.is_some());
        self.pending.extend(queue.entries.drain(..));
        queue.entries.shrink_to(KEPT);
    }

    /// What came back from the store.
    async fn land(&mut self, landed: Landed) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        match (attempt.cargo, landed) {
            (Cargo::Fresh(shipment), Ok(sifted)) => {
                self.store_answers();
                self.set_aside_refused(&shipment.records, &sifted);
                self.shared.give_back(shipment.records.len());
                self.spare = shipment.stored(sifted);
                self.pending.shrink_to(KEPT);
            }
            (Cargo::Fresh(shipment), Err(error)) => {
                self.store_failed(&error);
                self.spool(shipment).await;
            }
            (Cargo::Spooled { records, end }, Ok(sifted)) => {
                self.replayed(&records, &sifted, end).await;
            }
            (Cargo::Overtaken, Ok(_)) => self.retry_at = Instant::now(),
            (Cargo::Spooled { .. } | Cargo::Overtaken, Err(error)) => self.store_failed(&error),
        }
    }

    /// An append that takes too long keeps running, but nobody waits for it any longer.
    async fn overtake(&mut self) {
        let Some(attempt) = &mut self.attempt else {
            return;
        };
        let taken = attempt.began.elapsed();
        if taken > GIVE_UP && !matches!(attempt.cargo, Cargo::Fresh(_)) {
            attempt.task.abort();
            self.attempt = None;
            self.store_failed(&LedgerError::Unavailable("the store does not answer".into()));
        } else if taken > self.options.store_patience {
            let cargo = match &mut attempt.cargo {
                fresh @ Cargo::Fresh(_) => std::mem::replace(fresh, Cargo::Overtaken),
                Cargo::Spooled { .. } | Cargo::Overtaken => {
                    self.store_up = false;
                    return;
                }
            };
            self.store_failed(&LedgerError::Unavailable("the store takes too long".into()));
            if let Cargo::Fresh(shipment) = cargo {
                self.spool(shipment).await;
            }
        }
    }

    async fn dispatch(&mut self) {
        let overdue = self.waiting_since.elapsed() > self.options.store_patience;
        let spoolable = !self.spool_broken || Instant::now() >= self.spool_at;
        if !self.pending.is_empty() && (overdue || !self.store_up) && spoolable {
            let shipment = self.load(usize::MAX);
            self.spool(shipment).await;
        }
        if self.attempt.is_some() {
            return;
        }
        if !self.store_up && Instant::now() < self.retry_at {
            return;
        }
        if self.spool.as_ref().is_some_and(|spool| !spool.is_empty()) {
            if self.spool_broken && Instant::now() < self.spool_at {
                return;
            }
            match self.on_spool(|spool| spool.next(BATCH)).await {
                Ok(piece) => {
                    let records = Arc::new(piece.records);
                    self.send(Arc::clone(&records), Vec::new(), Cargo::Spooled { records, end: piece.end });
                }
                Err(error) => self.spool_failed(&error),
            }
        } else if self.may_leave() {
            let shipment = self.load(BATCH);
            self.send(Arc::clone(&shipment.records), shipment.awaited(), Cargo::Fresh(shipment));
        }
    }

    /// What nobody waits for stays until the tick, also when the batch before it has just landed: a commit writes whole pages,
    /// however little of them is new.
    fn may_leave(&self) -> bool {
        let pressing = self.due || self.awaited || self.pending.len() >= BATCH;
        !self.pending.is_empty() && (pressing || self.shared.stopping.load(Ordering::Acquire))
    }

    fn send(&mut self, records: Arc<Vec<Record>>, awaited: Vec<usize>, cargo: Cargo) {
        let ledger = Arc::clone(&self.ledger);
        let task = tokio::spawn(async move { append_sifted(ledger.as_ref(), &records, awaited).await });
        self.attempt = Some(Attempt { task, began: Instant::now(), cargo });
    }

    fn load(&mut self, most: usize) -> Shipment {
        self.waiting_since = Instant::now();
        self.due = false;
        let shipment = Shipment::load(&mut self.pending, most, std::mem::take(&mut self.spare));
        self.awaited &= !self.pending.is_empty();
        shipment
    }

    async fn spool(&mut self, shipment: Shipment) {
        let records = Arc::clone(&shipment.records);
        let count = records.len();
        let written = self.on_spool(move |spool| spool.append(&records.iter().collect::<Vec<_>>())).await;
        let Err(error) = written else {
            self.spool_broken = false;
            self.shared.give_back(count);
            shipment.spooled();
            return;
        };
        self.spool_failed(&error);
        let kept = shipment.failed();
        self.shared.give_back(count - kept.iter().filter(|entry| entry.record.is_some()).count());
        self.waiting_since = Instant::now();
        kept.into_iter().rev().for_each(|entry| self.pending.push_front(entry));
    }

    async fn replayed(&mut self, records: &[Record], sifted: &Sifted, end: u64) {
        self.store_answers();
        self.set_aside_refused(records, sifted);
        match self.on_spool(move |spool| spool.advance(end)).await {
            Ok(()) => self.spool_broken = false,
            Err(error) => self.spool_failed(&error),
        }
    }

    /// Kept for people before anybody is answered.
    fn set_aside_refused(&self, records: &[Record], sifted: &Sifted) {
        for (place, error) in &sifted.refused {
            let Some(record) = records.get(*place) else {
                continue;
            };
            let trace = match record {
                Record::Trace(draft) => &draft.trace_id,
                Record::Row(row) => &row.trace_id,
            };
            let why = why(error);
            if let Some(Ok(())) = self.spool.as_ref().map(|spool| spool.set_aside(record)) {
                tracing::error!(trace.id = %trace, why, "the store refuses the record of {trace}; it is kept in `audit.refused`");
            } else {
                tracing::error!(trace.id = %trace, why, ?record, "the store refuses the record of {trace}");
            }
        }
    }

    /// File work belongs on a thread that may block.
    async fn on_spool<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Spool) -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        let Some(mut spool) = self.spool.take() else {
            return Err(std::io::Error::other("the spool is closed"));
        };
        let worked = tokio::task::spawn_blocking(move || {
            let outcome = work(&mut spool);
            (spool, outcome)
        });
        let (spool, outcome) = worked.await.map_err(std::io::Error::other)?;
        self.spool = Some(spool);
        outcome
    }

    /// It may yet turn out that the spool cannot be written, but until it is needed nothing is refused for that.
    fn store_answers(&mut self) {
        if !self.store_up {
            tracing::info!("the store takes audit records again");
        }
        self.store_up = true;
        self.spool_broken = false;
        self.pause = FIRST_PAUSE;
    }

    fn store_failed(&mut self, error: &LedgerError) {
        if self.store_up {
            tracing::error!(why = why(error), "the store takes no audit records; they go to the local spool");
        }
        self.store_up = false;
        self.retry_at = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn spool_failed(&mut self, error: &std::io::Error) {
        if !self.spool_broken {
            tracing::error!(%error, "the audit spool cannot be used: {error}");
        }
        self.spool_broken = true;
        self.spool_at = Instant::now() + FIRST_PAUSE;
    }

    fn tell_limits(&self) {
        let limit = Duration::from_secs(self.options.spool_seconds);
        let full = |spool: &Spool| spool.bytes() >= self.options.spool_bytes || spool.age() > limit;
        self.shared.refuse(match &self.spool {
            None => Refusing::SpoolBroken,
            Some(_) if self.spool_broken => Refusing::SpoolBroken,
            Some(spool) if full(spool) => Refusing::SpoolFull,
            Some(_) => Refusing::Nothing,
        });
    }

    /// Nothing is left that this process must still do; from then on the queue takes nothing.
    fn is_done(&self) -> bool {
        let carried = matches!(&self.attempt, Some(Attempt { cargo: Cargo::Fresh(_) | Cargo::Spooled { .. }, .. }));
        let replayable = self.store_up && self.spool.as_ref().is_some_and(|spool| !spool.is_empty());
        if !self.pending.is_empty() && !self.spool_broken || carried && self.store_up || replayable {
            return false;
        }
        let mut queue = self.shared.queue();
        queue.closed = queue.entries.is_empty();
        queue.closed
    }
}

/// However the task ends, nobody is left waiting for it.
impl Drop for Courier {
    fn drop(&mut self) {
        self.shared.refuse(Refusing::Stopped);
        let mut queue = self.shared.queue();
        queue.closed = true;
        self.pending.extend(queue.entries.drain(..));
        drop(queue);
        let carried = self.attempt.take().map(|attempt| {
            attempt.task.abort();
            attempt.cargo
        });
        // Whoever waits hears that it failed, once this is over; the rest was taken in good faith and is not forgotten.
        let mut kept: Vec<&Record> = Vec::new();
        if let Some(Cargo::Fresh(shipment)) = &carried {
            kept.extend(shipment.unawaited());
        }
        kept.extend(
            self.pending.iter().filter(|entry| entry.waiter.is_none()).filter_map(|entry| entry.record.as_ref()),
        );
        let saved = self.spool.as_mut().map(|spool| if kept.is_empty() { Ok(()) } else { spool.append(&kept) });
        if !kept.is_empty() && !matches!(saved, Some(Ok(()))) {
            tracing::error!(
                "{} audit records are lost: the writer stopped and the spool cannot be written",
                kept.len()
            );
        }
    }
}

/// An error with everything behind it, for the log.
fn why(error: &LedgerError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
