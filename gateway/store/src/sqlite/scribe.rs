//! The thread that writes the ledger, with a connection of its own.
//!
//! A record has some thirty values. Carrying each to the thread of a pooled connection costs more than storing it, so here the
//! whole batch crosses over as it is, and what is hashed is bound where it stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use gateway_core::ports::{Receipt, Record};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use super::append::Book;
use crate::failure::Failure;

/// Pages of the write-ahead log after which it is copied into the file. Every copy writes each page once, however often it
/// changed meanwhile, so a few large ones cost less than many small ones; whoever waits for one waits some tens of milliseconds.
pub(super) const CHECKPOINT_PAGES: &str = "1000";

type Appended = Result<Vec<(usize, Receipt)>, Failure>;

enum Job {
    Append { records: Arc<Vec<Record>>, awaited: Vec<usize>, answer: oneshot::Sender<Appended> },
    Close(oneshot::Sender<()>),
}

#[derive(Debug, thiserror::Error)]
#[error("the ledger's thread has stopped")]
struct Stopped;

#[derive(Clone)]
pub(crate) struct Scribe(Sender<Job>);

impl Scribe {
    /// The file must be there and up to date.
    pub async fn start(path: &Path) -> Result<Self, Failure> {
        let (sender, jobs) = channel();
        let (ready, opened) = oneshot::channel();
        let path: PathBuf = path.into();
        std::thread::Builder::new()
            .name("ledger".into())
            .spawn(move || match open(&path) {
                Ok(connection) => {
                    let _ = ready.send(Ok(()));
                    work(Book::new(connection), &jobs);
                }
                Err(error) => drop(ready.send(Err(error))),
            })
            .map_err(|error| Failure::Away(error.into()))?;
        opened.await.map_err(|_| Failure::Away(Stopped.into()))??;
        Ok(Self(sender))
    }

    /// Receipts for the traces at the places that are `awaited`.
    pub async fn append(&self, records: Arc<Vec<Record>>, awaited: Vec<usize>) -> Appended {
        let (answer, appended) = oneshot::channel();
        self.0.send(Job::Append { records, awaited, answer }).map_err(|_| Failure::Away(Stopped.into()))?;
        appended.await.map_err(|_| Failure::Away(Stopped.into()))?
    }

    /// Returns when the connection is closed.
    pub async fn close(&self) {
        let (answer, closed) = oneshot::channel();
        if self.0.send(Job::Close(answer)).is_ok() {
            let _ = closed.await;
        }
    }
}

fn open(path: &Path) -> Result<Connection, Failure> {
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    for (name, value) in [
        // A trace that somebody waited for must outlive a power cut, not only a crash.
        ("synchronous", "FULL"),
        // Tenants and tools are looked up once a batch instead of once a row; see `Book`.
        ("foreign_keys", "OFF"),
        // They are for others who write here: what comes this way are enums, bounded names and JSON we wrote ourselves.
        ("ignore_check_constraints", "ON"),
        ("cache_size", "-4000"),
        ("wal_autocheckpoint", CHECKPOINT_PAGES),
    ] {
        connection.pragma_update(None, name, value)?;
    }
    Ok(connection)
}

fn work(mut book: Book, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        match job {
            // Whoever gave up has spooled it, or will try again.
            Job::Append { answer, .. } if answer.is_closed() => {}
            Job::Append { records, awaited, answer } => {
                let appended = book.append(&records, &awaited);
                // Before the answer: whoever gets it holds the records alone again.
                drop(records);
                let _ = answer.send(appended);
            }
            Job::Close(answer) => {
                drop(book);
                let _ = answer.send(());
                return;
            }
        }
    }
}
