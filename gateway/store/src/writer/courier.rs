//! The writer's task: carries records to the store, or, while that is away, to the spool and from there to the store.
//!
//! At most one append is under way. What it carries is spooled when it fails or takes longer than the patience; if it
//! commits after all, the replay recognises its traces. While anything is in the spool, nothing newer reaches the store.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gateway_core::ports::{Ledger, LedgerError, Record};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::sift::{Placed, append_sifted};
use super::{Answer, Entry, Refusing, Shared, WriterOptions};
use crate::spool::Spool;

/// Records per transaction: enough to share the cost of a commit, few enough to keep it short.
const BATCH: usize = 512;
/// An append that has not come back after this is given up.
const GIVE_UP: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

type Landed = Result<Vec<Placed>, LedgerError>;

struct Attempt {
    task: JoinHandle<Landed>,
    began: Instant,
    cargo: Cargo,
}

enum Cargo {
    Fresh(Shipment),
    /// From the spool, up to this place.
    Spooled { records: Arc<Vec<Record>>, end: u64 },
    /// Spooled in the meantime: whatever comes back only says that the store is there.
    Overtaken,
}

struct Shipment {
    records: Arc<Vec<Record>>,
    waiters: Vec<(usize, oneshot::Sender<Answer>)>,
    marks: Vec<oneshot::Sender<Answer>>,
}

pub(super) struct Courier {
    shared: Arc<Shared>,
    ledger: Arc<dyn Ledger>,
    options: WriterOptions,
    /// Absent only while a blocking thread works on it.
    spool: Option<Spool>,
    pending: VecDeque<Entry>,
    /// When the oldest pending entry was met.
    waiting_since: Instant,
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
            waiting_since: Instant::now(),
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
                _ = tick.tick() => {}
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
        self.pending.extend(queue.entries.drain(..));
    }

    /// What came back from the store.
    async fn land(&mut self, landed: Landed) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        match (attempt.cargo, landed) {
            (Cargo::Fresh(shipment), Ok(placed)) => {
                self.store_is(true);
                self.deliver(shipment, placed).await;
            }
            (Cargo::Fresh(shipment), Err(error)) => {
                self.store_failed(&error);
                self.spool(shipment).await;
            }
            (Cargo::Spooled { records, end }, Ok(placed)) => {
                self.replayed(&records, placed, end).await;
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
        let Some(spool) = &mut self.spool else {
            return;
        };
        let due = self.store_up || Instant::now() >= self.retry_at;
        if !due {
            return;
        }
        if !spool.is_empty() {
            match spool.next(BATCH) {
                Ok(piece) => {
                    let records = Arc::new(piece.records);
                    self.send(Arc::clone(&records), |_| Cargo::Spooled { records, end: piece.end });
                }
                Err(error) => self.spool_failed(&error),
            }
        } else if !self.pending.is_empty() {
            let shipment = self.load(BATCH);
            self.send(Arc::clone(&shipment.records), |_| Cargo::Fresh(shipment));
        }
    }

    fn send(&mut self, records: Arc<Vec<Record>>, cargo: impl FnOnce(()) -> Cargo) {
        let ledger = Arc::clone(&self.ledger);
        let task = tokio::spawn(async move { append_sifted(ledger.as_ref(), &records).await });
        self.attempt = Some(Attempt { task, began: Instant::now(), cargo: cargo(()) });
    }

    /// Takes the oldest pending entries.
    fn load(&mut self, most: usize) -> Shipment {
        let count = most.min(self.pending.len());
        let mut shipment = Shipment { records: Arc::default(), waiters: Vec::new(), marks: Vec::new() };
        let mut records = Vec::with_capacity(count);
        for Entry { record, waiter } in self.pending.drain(..count) {
            match (record, waiter) {
                (Some(record), waiter) => {
                    shipment.waiters.extend(waiter.map(|waiter| (records.len(), waiter)));
                    records.push(record);
                }
                (None, mark) => shipment.marks.extend(mark),
            }
        }
        self.waiting_since = Instant::now();
        shipment.records = Arc::new(records);
        shipment
    }

    async fn deliver(&mut self, shipment: Shipment, placed: Vec<Placed>) {
        let Shipment { records, waiters, marks } = shipment;
        let mut waiters = waiters.into_iter().peekable();
        for (place, (record, placed)) in records.iter().zip(placed).enumerate() {
            let answer = match placed {
                Placed::Stored(receipt) => Ok(receipt),
                Placed::Refused(error) => {
                    self.set_aside(record, &error);
                    Err(error)
                }
            };
            if let Some((_, waiter)) = waiters.next_if(|(waiting, _)| *waiting == place) {
                let _ = waiter.send(answer);
            }
        }
        self.shared.give_back(records.len());
        marks.into_iter().for_each(|mark| drop(mark.send(Ok(None))));
    }

    /// Durable on the second device: whoever waited may go on, without a receipt.
    async fn spool(&mut self, shipment: Shipment) {
        let records = Arc::clone(&shipment.records);
        let written = self.on_spool(move |spool| spool.append(&records.iter().collect::<Vec<_>>())).await;
        let Err(error) = written else {
            self.spool_broken = false;
            self.shared.give_back(shipment.records.len());
            let told = shipment.waiters.into_iter().map(|(_, waiter)| waiter).chain(shipment.marks);
            told.for_each(|waiter| drop(waiter.send(Ok(None))));
            return;
        };
        self.spool_failed(&error);
        self.keep_in_memory(shipment);
    }

    /// Neither device took it. Whoever waits is told so and does not act, so that record is dropped; what nobody waited
    /// for stays in memory, in its place.
    fn keep_in_memory(&mut self, shipment: Shipment) {
        let Shipment { records, waiters, marks } = shipment;
        let mut refused = waiters.into_iter().peekable();
        let mut kept = Vec::with_capacity(records.len());
        for (place, record) in records.iter().enumerate() {
            match refused.next_if(|(waiting, _)| *waiting == place) {
                Some((_, waiter)) => {
                    self.shared.give_back(1);
                    let _ = waiter.send(Err(LedgerError::Unavailable(Refusing::SpoolBroken.into())));
                }
                None => kept.push(Entry { record: Some(record.clone()), waiter: None }),
            }
        }
        kept.extend(marks.into_iter().map(|mark| Entry { record: None, waiter: Some(mark) }));
        self.waiting_since = Instant::now();
        for entry in kept.into_iter().rev() {
            self.pending.push_front(entry);
        }
    }

    async fn replayed(&mut self, records: &[Record], placed: Vec<Placed>, end: u64) {
        self.store_is(true);
        for (record, placed) in records.iter().zip(placed) {
            if let Placed::Refused(error) = placed {
                self.set_aside(record, &error);
            }
        }
        match self.on_spool(move |spool| spool.advance(end)).await {
            Ok(()) => self.spool_broken = false,
            Err(error) => self.spool_failed(&error),
        }
    }

    fn set_aside(&self, record: &Record, error: &LedgerError) {
        let kept = self.spool.as_ref().map(|spool| spool.set_aside(record));
        let trace = match record {
            Record::Trace(draft) => &draft.trace_id,
            Record::Row(row) => &row.trace_id,
        };
        let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
        match kept {
            Some(Ok(())) => tracing::error!(trace.id = %trace, error = source, "the store refuses the record of {trace}; it is kept in `audit.refused`"),
            _ => tracing::error!(trace.id = %trace, error = source, record = ?record, "the store refuses the record of {trace}"),
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

    fn store_is(&mut self, up: bool) {
        if up && !self.store_up {
            tracing::info!("the store takes audit records again");
        }
        self.store_up = up;
        self.pause = FIRST_PAUSE;
    }

    fn store_failed(&mut self, error: &LedgerError) {
        if self.store_up {
            let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            tracing::error!(error = source, "the store takes no audit records; they go to the local spool");
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
        let mut orphans = Vec::new();
        if let Some(Attempt { task, cargo, .. }) = self.attempt.take() {
            task.abort();
            if let Cargo::Fresh(Shipment { records, .. }) = cargo {
                orphans.push(records);
            }
        }
        // Whoever waits hears that it failed; the rest was taken in good faith and is not forgotten.
        let kept = self.pending.iter().filter(|entry| entry.waiter.is_none()).filter_map(|entry| entry.record.as_ref());
        let kept: Vec<&Record> = orphans.iter().flat_map(|records| records.iter()).chain(kept).collect();
        let saved = self.spool.as_mut().map(|spool| if kept.is_empty() { Ok(()) } else { spool.append(&kept) });
        if !kept.is_empty() && !matches!(saved, Some(Ok(()))) {
            tracing::error!("{} audit records are lost: the writer stopped and the spool cannot be written", kept.len());
        }
    }
}

async fn finished(attempt: &mut Option<Attempt>) -> Landed {
    match attempt {
        None => std::future::pending().await,
        Some(attempt) => (&mut attempt.task).await.unwrap_or_else(|error| Err(LedgerError::Unavailable(error.into()))),
    }
}
