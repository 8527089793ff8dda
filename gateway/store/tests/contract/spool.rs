//! The store goes away, gets stuck, comes back, and the process dies in between: nothing that was promised is lost.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_core::ports::{AuditBuffer, Ledger, LedgerError, Receipt};
use gateway_store::{AuditWriter, WriterOptions};
use tempfile::TempDir;

use crate::fickle::{FAILING, Fickle, HANGING, LATE, PANICKING, UP};
use crate::people::{draft, row};

fn options(folder: &TempDir) -> WriterOptions {
    WriterOptions { store_patience: Duration::from_millis(300), ..WriterOptions::new(folder.path()) }
}

fn start(store: &Arc<Fickle>, options: WriterOptions) -> Arc<AuditWriter> {
    AuditWriter::start(Arc::clone(store) as Arc<dyn Ledger>, options).unwrap()
}

async fn append(writer: &AuditWriter, n: u128, wait: bool) -> Result<Option<Receipt>, LedgerError> {
    writer.reserve()?;
    writer.release(1);
    writer.append(draft(None, "a-1", n), wait).await
}

fn spooled(folder: &Path) -> usize {
    std::fs::read(folder.join("audit.spool")).unwrap().iter().filter(|byte| **byte == b'\n').count()
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

// acceptance 70: durable without the store, replayed in order, and what comes meanwhile goes behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_fails_is_replaced_by_the_spool_and_caught_up() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    let writer = start(&store, options(&folder));
    assert!(append(&writer, 1, true).await.unwrap().is_some());
    store.set(FAILING);
    for n in 2..=40 {
        assert_eq!(append(&writer, n, n % 3 == 0).await.unwrap(), None);
    }
    writer.flush().await;
    assert_eq!((store.traces(), spooled(folder.path())), (vec![1], 39));
    store.set(UP);
    for n in 41..=80 {
        append(&writer, n, n % 3 == 0).await.unwrap();
    }
    until("caught up", || store.traces().len() == 80).await;
    assert_eq!(store.traces(), (1..=80).collect::<Vec<_>>());
    until("emptied", || spooled(folder.path()) == 0).await;
    assert!(append(&writer, 81, true).await.unwrap().is_some(), "receipts come again");
    writer.shutdown().await;
    assert_eq!(writer.room(), 65_536);
    assert!(writer.reserve().is_err() && append(&writer, 82, true).await.is_err());
}

// acceptance 70: a stuck store costs its patience once, then nothing; reads never wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_hangs_costs_its_patience_once() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    let writer = start(&store, options(&folder));
    store.set(HANGING);
    let began = Instant::now();
    for n in 1..=100 {
        append(&writer, n, false).await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    assert_eq!(append(&writer, 101, true).await.unwrap(), None);
    let first = began.elapsed();
    assert!(first >= Duration::from_millis(250) && first < Duration::from_millis(900), "{first:?}");
    let began = Instant::now();
    for n in 102..=110 {
        append(&writer, n, true).await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    store.set(UP);
    until("caught up", || store.traces().len() == 110).await;
    assert_eq!(store.traces(), (1..=110).collect::<Vec<_>>());
    writer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_commits_late_is_not_written_twice() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    let writer = start(&store, options(&folder));
    store.set(LATE);
    writer.reserve().unwrap();
    writer.settle(row(None, "a-1", 1, "notes/search"));
    assert_eq!(writer.append(draft(None, "a-1", 1), true).await.unwrap(), None);
    store.set(UP);
    append(&writer, 2, true).await.unwrap();
    until("caught up", || spooled(folder.path()) == 0).await;
    assert_eq!(store.traces(), [1, 2]);
    assert_eq!(store.stored.lock().unwrap().len(), 3);
    writer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adapter_that_panics_is_a_store_that_is_away() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    let writer = start(&store, options(&folder));
    store.set(PANICKING);
    assert_eq!(append(&writer, 1, true).await.unwrap(), None);
    store.set(UP);
    until("caught up", || store.traces() == [1]).await;
    writer.shutdown().await;
}

// acceptance 70: graceful stop; the next process begins with what is left, in front of everything new.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_behind_is_replayed_by_the_next_process() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    store.set(FAILING);
    let writer = start(&store, options(&folder));
    for n in 1..=30 {
        append(&writer, n, false).await.unwrap();
    }
    writer.shutdown().await;
    assert_eq!((store.traces().len(), spooled(folder.path())), (0, 30));
    drop(writer);
    // The power failed in the middle of a batch that nobody was told about.
    let mut file = std::fs::OpenOptions::new().append(true).open(folder.path().join("audit.spool")).unwrap();
    file.write_all(b"0000009c 3f2a11ab5c6d7e8f {\"kind\":\"trace\",\"ten").unwrap();
    drop(file);
    store.set(UP);
    let writer = start(&store, options(&folder));
    append(&writer, 31, true).await.unwrap();
    assert_eq!(store.traces(), (1..=31).collect::<Vec<_>>());
    assert_eq!(spooled(folder.path()), 0);
    writer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_inside_the_spool_costs_only_what_is_damaged() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    store.set(FAILING);
    let writer = start(&store, options(&folder));
    for n in 1..=3 {
        append(&writer, n, true).await.unwrap();
    }
    writer.shutdown().await;
    drop(writer);
    let path = folder.path().join("audit.spool");
    let text = std::fs::read_to_string(&path).unwrap().replacen("vendor B", "vendor C", 1);
    let changed = text.lines().next().unwrap().contains("vendor C");
    assert!(changed);
    std::fs::write(&path, text).unwrap();
    store.set(UP);
    let writer = start(&store, options(&folder));
    until("the whole ones", || store.traces() == [2, 3]).await;
    let kept = std::fs::read_dir(folder.path())
        .unwrap()
        .any(|file| file.unwrap().file_name().to_string_lossy().contains("damaged"));
    assert!(kept, "people can still look at it");
    writer.shutdown().await;
}

// Past its limit the gateway refuses rather than forgets, and recovers by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_spool_refuses_until_the_store_is_back() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    store.set(FAILING);
    let writer = start(&store, WriterOptions { spool_bytes: 20_000, ..options(&folder) });
    let mut accepted = Vec::new();
    for n in 1..=100 {
        match append(&writer, n, true).await {
            Ok(_) => accepted.push(n),
            Err(error) => {
                assert!(matches!(error, LedgerError::Unavailable(_)));
                break;
            }
        }
    }
    assert!((10..60).contains(&accepted.len()), "{}", accepted.len());
    assert!(writer.reserve().is_err());
    store.set(UP);
    until("room again", || writer.reserve().is_ok()).await;
    writer.release(2);
    until("caught up", || store.traces() == accepted).await;
    writer.shutdown().await;

    let old = tempfile::tempdir().unwrap();
    store.set(FAILING);
    let writer = start(&store, WriterOptions { spool_seconds: 0, ..options(&old) });
    assert!(append(&writer, 200, true).await.is_ok());
    until("too old", || writer.reserve().is_err()).await;
    writer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses_before_anything_happens() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    store.set(HANGING);
    let writer =
        start(&store, WriterOptions { capacity: 10, store_patience: Duration::from_secs(60), ..options(&folder) });
    for n in 1..=5 {
        writer.reserve().unwrap();
        writer.append(draft(None, "a-1", n), false).await.unwrap();
        writer.settle(row(None, "a-1", n, "notes/search"));
    }
    assert!(matches!(writer.reserve(), Err(LedgerError::Full)));
    store.set(UP);
    until("room again", || writer.reserve().is_ok()).await;
    writer.release(2);
    writer.shutdown().await;
    assert_eq!((store.traces().len(), writer.room()), (5, 10));
}

/// A node and its successor use one folder at a time; what one leaves behind, whoever starts next replays.
#[tokio::test]
async fn gateways_in_one_folder_spool_apart_and_inherit() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    store.set(FAILING);
    let old = start(&store, options(&folder));
    let new = start(&store, options(&folder));
    for (writer, n) in [(&old, 1), (&new, 2)] {
        writer.reserve().unwrap();
        writer.append(draft(None, "a-1", n), true).await.unwrap();
        writer.release(1);
    }
    old.shutdown().await;
    new.shutdown().await;
    drop((old, new));
    assert_eq!(store.traces().len(), 0);
    store.set(UP);
    let next = start(&store, options(&folder));
    until("both are replayed", || store.traces().len() == 2).await;
    next.shutdown().await;
}

#[test]
fn a_runtime_that_goes_away_leaves_nobody_waiting_and_loses_nothing() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(Fickle::default()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    store.set(HANGING);
    let patient = WriterOptions { store_patience: Duration::from_secs(60), ..options(&folder) };
    let writer = runtime.block_on(async { start(&store, patient) });
    let other = tokio::runtime::Runtime::new().unwrap();
    let waiting = {
        let writer = Arc::clone(&writer);
        other.spawn(async move {
            append(&writer, 1, false).await.unwrap();
            append(&writer, 2, true).await
        })
    };
    std::thread::sleep(Duration::from_millis(100));
    runtime.shutdown_background();
    let answer = other.block_on(async { tokio::time::timeout(Duration::from_secs(5), waiting).await });
    assert!(answer.unwrap().unwrap().is_err());
    assert!(spooled(folder.path()) >= 1);
}
