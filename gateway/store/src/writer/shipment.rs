//! What one append carries, and whoever waits for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use gateway_core::ports::{LedgerError, Record};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::sift::Sifted;
use super::{Answer, Entry, Refusing};

pub(super) type Landed = Result<Sifted, LedgerError>;

/// An append under way.
pub(super) struct Attempt {
    pub task: JoinHandle<Landed>,
    pub began: Instant,
    pub cargo: Cargo,
}

pub(super) enum Cargo {
    Fresh(Shipment),
    /// From the spool, up to this place.
    Spooled {
        records: Arc<Vec<Record>>,
        end: u64,
    },
    /// Spooled in the meantime: whatever comes back only says that the store is there.
    Overtaken,
}

pub(super) async fn finished(attempt: &mut Option<Attempt>) -> Landed {
    match attempt {
        None => std::future::pending().await,
        Some(attempt) => (&mut attempt.task).await.unwrap_or_else(|error| Err(LedgerError::Unavailable(error.into()))),
    }
}

/// Records in their order, the places somebody waits for, and the marks of `flush` behind them.
pub(super) struct Shipment {
    pub records: Arc<Vec<Record>>,
    waiters: Vec<(usize, oneshot::Sender<Answer>)>,
    marks: Vec<oneshot::Sender<Answer>>,
}

impl Shipment {
    /// Takes the oldest entries. `records` is empty and only lends its memory.
    pub fn load(pending: &mut VecDeque<Entry>, most: usize, mut records: Vec<Record>) -> Self {
        let count = most.min(pending.len());
        records.reserve(count);
        let (mut waiters, mut marks) = (Vec::new(), Vec::new());
        for Entry { record, waiter } in pending.drain(..count) {
            match record {
                Some(record) => {
                    waiters.extend(waiter.map(|waiter| (records.len(), waiter)));
                    records.push(record);
                }
                None => marks.extend(waiter),
            }
        }
        Self { records: Arc::new(records), waiters, marks }
    }

    /// Whose receipts somebody waits for.
    pub fn awaited(&self) -> Vec<usize> {
        self.waiters.iter().map(|(place, _)| *place).collect()
    }

    /// In the store, but for what was refused. Gives back the memory, empty, unless the store still holds it.
    pub fn stored(self, sifted: Sifted) -> Vec<Record> {
        let (mut receipts, mut refused) =
            (sifted.receipts.into_iter().peekable(), sifted.refused.into_iter().peekable());
        for (place, waiter) in self.waiters {
            while receipts.next_if(|(stored, _)| *stored < place).is_some() {}
            while refused.next_if(|(refused, _)| *refused < place).is_some() {}
            let _ = waiter.send(match refused.next_if(|(refused, _)| *refused == place) {
                Some((_, error)) => Err(error),
                None => Ok(receipts.next_if(|(stored, _)| *stored == place).map(|(_, receipt)| receipt)),
            });
        }
        self.marks.into_iter().for_each(|mark| drop(mark.send(Ok(None))));
        let mut records = Arc::into_inner(self.records).unwrap_or_default();
        records.clear();
        records
    }

    /// Durable on the second device: whoever waited may go on, without a receipt.
    pub fn spooled(self) {
        let told = self.waiters.into_iter().map(|(_, waiter)| waiter).chain(self.marks);
        told.for_each(|waiter| drop(waiter.send(Ok(None))));
    }

    /// Neither device took it. Whoever waits is told so and does not act, so that record is dropped; what nobody waited for
    /// is given back.
    pub fn failed(self) -> Vec<Entry> {
        let mut waiters = self.waiters.into_iter().peekable();
        let mut kept = Vec::with_capacity(self.records.len());
        for (place, record) in self.records.iter().enumerate() {
            match waiters.next_if(|(waiting, _)| *waiting == place) {
                Some((_, waiter)) => drop(waiter.send(Err(LedgerError::Unavailable(Refusing::SpoolBroken.into())))),
                None => kept.push(Entry { record: Some(record.clone()), waiter: None }),
            }
        }
        kept.extend(self.marks.into_iter().map(|mark| Entry { record: None, waiter: Some(mark) }));
        kept
    }

    /// The records that were taken without anybody waiting for them.
    pub fn unawaited(&self) -> impl Iterator<Item = &Record> {
        let waited = |place: usize| self.waiters.iter().any(|(waiting, _)| *waiting == place);
        self.records.iter().enumerate().filter(move |(place, _)| !waited(*place)).map(|(_, record)| record)
    }
}
