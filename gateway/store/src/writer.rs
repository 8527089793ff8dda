//! The queue in front of the ledger.
//!
//! Pushing a record is a lock and a move; the writer's task takes what has gathered every few milliseconds, or at once when
//! somebody waits. Room is counted in records and given back when they are durable. `courier` decides between the store
//! and the spool.

mod courier;
mod shipment;
mod sift;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::outcome::AuditRow;
use gateway_core::ports::{AuditBuffer, Ledger, LedgerError, Receipt, Record, StoreError};
use gateway_core::trace::TraceDraft;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use crate::spool::Spool;
use courier::Courier;

#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Records that may be on their way at once.
    pub capacity: usize,
    /// How often what nobody waits for is written. A commit costs as much as some fifty records, so it should have more than
    /// that to write; what a crash may take with it is bounded by this, too.
    pub tick: Duration,
    pub spool_dir: PathBuf,
    /// Past this size, or this age, calls are refused.
    pub spool_bytes: u64,
    pub spool_seconds: u64,
    /// How long the store may take before the spool does its work.
    pub store_patience: Duration,
}

impl WriterOptions {
    pub fn new(spool_dir: impl Into<PathBuf>) -> Self {
        Self {
            capacity: 65_536,
            tick: Duration::from_millis(50),
            spool_dir: spool_dir.into(),
            spool_bytes: 64 * 1024 * 1024,
            spool_seconds: 300,
            store_patience: Duration::from_secs(2),
        }
    }
}

type Answer = Result<Option<Receipt>, LedgerError>;

/// One record on its way; without one, a mark that `flush` waits for.
struct Entry {
    record: Option<Record>,
    waiter: Option<oneshot::Sender<Answer>>,
}

#[derive(Default)]
struct Queue {
    entries: Vec<Entry>,
    closed: bool,
}

/// Why there is no room at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
enum Refusing {
    #[error("nothing is refused")]
    Nothing,
    #[error("the store is away and the local spool has reached its limit")]
    SpoolFull,
    #[error("the store is away and the local spool cannot be written")]
    SpoolBroken,
    #[error("the audit writer has stopped")]
    Stopped,
}

struct Shared {
    queue: Mutex<Queue>,
    room: AtomicUsize,
    wake: Notify,
    refusing: AtomicU8,
    stopping: AtomicBool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, records: usize) {
        self.room.fetch_add(records, Ordering::AcqRel);
    }

    fn refuse(&self, why: Refusing) {
        self.refusing.store(why as u8, Ordering::Release);
    }

    fn check(&self) -> Result<(), LedgerError> {
        let why = match self.refusing.load(Ordering::Acquire) {
            0 => return Ok(()),
            1 => Refusing::SpoolFull,
            2 => Refusing::SpoolBroken,
            _ => Refusing::Stopped,
        };
        Err(LedgerError::Unavailable(why.into()))
    }

    /// Gives the entry back when the writer has stopped.
    fn push(&self, entry: Entry) -> Option<Entry> {
        let mut queue = self.queue();
        if queue.closed {
            return Some(entry);
        }
        queue.entries.push(entry);
        None
    }
}

/// The only way into the ledger for everything that serves requests.
pub struct AuditWriter {
    shared: Arc<Shared>,
    courier: Mutex<Option<JoinHandle<()>>>,
}

impl AuditWriter {
    /// Starts the writer's task on the current runtime, beginning with what an earlier process left in the spool.
    pub fn start(ledger: Arc<dyn Ledger>, options: WriterOptions) -> Result<Arc<Self>, StoreError> {
        let spool = Spool::open(&options.spool_dir).map_err(|error| {
            StoreError::Invalid(format!("the spool folder `{}` cannot be used: {error}", options.spool_dir.display()))
        })?;
        Ok(Self::with_spool(ledger, options, spool))
    }

    fn with_spool(ledger: Arc<dyn Ledger>, options: WriterOptions, spool: Spool) -> Arc<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            room: AtomicUsize::new(options.capacity),
            wake: Notify::new(),
            refusing: AtomicU8::new(Refusing::Nothing as u8),
            stopping: AtomicBool::new(false),
        });
        let courier = Courier::new(Arc::clone(&shared), ledger, options, spool);
        let task = tokio::spawn(courier.run());
        Arc::new(Self { shared, courier: Mutex::new(Some(task)) })
    }

    /// Returns when everything given so far is durable, in the store or in the spool.
    pub async fn flush(&self) {
        let (waiter, answer) = oneshot::channel();
        if self.shared.push(Entry { record: None, waiter: Some(waiter) }).is_none() {
            self.shared.wake.notify_one();
            let _ = answer.await;
        }
    }

    /// Writes everything out and stops. What the store does not take stays in the spool for the next start.
    pub async fn shutdown(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.shared.wake.notify_one();
        let task = self.courier.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }

    /// Room that is left, in records.
    pub fn room(&self) -> usize {
        self.shared.room.load(Ordering::Acquire)
    }
}

#[async_trait]
impl AuditBuffer for AuditWriter {
    fn reserve(&self) -> Result<(), LedgerError> {
        self.shared.check()?;
        self.shared
            .room
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |room| room.checked_sub(2))
            .map(|_| ())
            .map_err(|_| LedgerError::Full)
    }

    fn release(&self, records: usize) {
        self.shared.give_back(records);
    }

    /// The place is used up whether or not this succeeds.
    async fn append(&self, draft: TraceDraft, wait: bool) -> Result<Option<Receipt>, LedgerError> {
        if let Err(refused) = self.shared.check() {
            self.shared.give_back(1);
            return Err(refused);
        }
        let (waiter, answer) = if wait { Some(oneshot::channel()).unzip() } else { (None, None) };
        if self.shared.push(Entry { record: Some(Record::Trace(draft)), waiter }).is_some() {
            self.shared.give_back(1);
            return Err(LedgerError::Unavailable(Refusing::Stopped.into()));
        }
        let Some(answer) = answer else {
            return Ok(None);
        };
        self.shared.wake.notify_one();
        // The sender is dropped unanswered only if the writer died.
        answer.await.unwrap_or_else(|_| Err(LedgerError::Unavailable(Refusing::Stopped.into())))
    }

    fn settle(&self, row: AuditRow) {
        if let Some(Entry { record: Some(record), .. }) =
            self.shared.push(Entry { record: Some(Record::Row(row)), waiter: None })
        {
            self.shared.give_back(1);
            let text = serde_json::to_string(&record).unwrap_or_default();
            tracing::error!(record = %text, "the audit writer has stopped; this row goes to the log only");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::AtomicU64;

    use gateway_core::trace::{EventType, Head, Trace};
    use gateway_core::{AgentId, TenantId, TraceId};

    use super::*;
    use gateway_core::canonical::Canonical;

    /// Fails until it is up, and takes its time.
    #[derive(Default)]
    struct Late {
        up: AtomicBool,
        takes: Duration,
        batches: AtomicU64,
        stored: AtomicU64,
    }

    #[async_trait]
    impl Ledger for Late {
        async fn append_batch(&self, records: &[Record]) -> Result<Vec<Receipt>, LedgerError> {
            if !self.up.load(Ordering::SeqCst) {
                return Err(LedgerError::Unavailable("away".into()));
            }
            tokio::time::sleep(self.takes).await;
            self.batches.fetch_add(1, Ordering::SeqCst);
            self.stored.fetch_add(records.len() as u64, Ordering::SeqCst);
            Ok(Vec::new())
        }

        async fn head(&self, _: Option<TenantId>, _: &AgentId) -> Result<Head, LedgerError> {
            Ok(Head::default())
        }

        async fn traces(&self, _: Option<TenantId>, _: &AgentId, _: i64, _: i64) -> Result<Vec<Trace>, LedgerError> {
            Ok(Vec::new())
        }

        async fn newest(&self, _: TenantId, _: i64) -> Result<Vec<Trace>, LedgerError> {
            Ok(Vec::new())
        }

        async fn chains(&self) -> Result<Vec<(Option<TenantId>, AgentId)>, LedgerError> {
            Ok(Vec::new())
        }
    }

    fn draft() -> TraceDraft {
        TraceDraft {
            tenant: None,
            agent: "a-1".parse().unwrap(),
            trace_id: TraceId::from_uuid(uuid::Uuid::now_v7()),
            event_type: EventType::Decision,
            classification: None,
            description: None,
            reasoning: None,
            authorization: Canonical::null(),
            context: Canonical::null(),
            timestamp: "2026-02-23T00:00:00Z".parse().unwrap(),
        }
    }

    #[tokio::test]
    async fn what_nobody_waits_for_shares_a_commit() {
        let folder = tempfile::tempdir().unwrap();
        let takes = Duration::from_millis(10);
        let ledger = Arc::new(Late { up: AtomicBool::new(true), takes, ..Late::default() });
        let mut options = WriterOptions::new(folder.path());
        options.tick = Duration::from_millis(200);
        let (tick, began) = (options.tick, std::time::Instant::now());
        let writer = AuditWriter::start(Arc::clone(&ledger) as Arc<dyn Ledger>, options).unwrap();
        for _ in 0..200 {
            writer.reserve().unwrap();
            writer.append(draft(), false).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let ticks = began.elapsed().as_millis() / tick.as_millis() + 2;
        let batches = ledger.batches.load(Ordering::SeqCst);
        assert!(u128::from(batches) <= ticks, "{batches} commits in {ticks} ticks");
        writer.append(draft(), true).await.unwrap();
        assert_eq!(
            ledger.batches.load(Ordering::SeqCst),
            batches + 1,
            "whoever waits is written for at once, with all before"
        );
        writer.shutdown().await;
    }

    // Neither store nor spool: whoever waits is told, calls are refused, and what nobody waited for arrives later.
    #[tokio::test]
    async fn a_spool_that_cannot_be_written_is_told_to_whoever_waits() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Arc::new(Late::default());
        let spool = Spool::unwritable(folder.path()).unwrap();
        let writer =
            AuditWriter::with_spool(Arc::clone(&ledger) as Arc<dyn Ledger>, WriterOptions::new(folder.path()), spool);
        writer.reserve().unwrap();
        writer.append(draft(), false).await.unwrap();
        assert!(writer.append(draft(), true).await.is_err());
        assert!(matches!(writer.reserve(), Err(LedgerError::Unavailable(_))));
        ledger.up.store(true, Ordering::SeqCst);
        let mut tries = 0;
        while ledger.stored.load(Ordering::SeqCst) == 0 || writer.reserve().is_err() {
            tries += 1;
            assert!(tries < 500, "the store is back, the writer is not");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        writer.release(2);
        writer.shutdown().await;
        assert_eq!((ledger.stored.load(Ordering::SeqCst), writer.room()), (1, 65_536));
    }
}
