//! The embedded engine: one file, one connection that writes the ledger, one that writes the rest, a few that read.

mod agents;
mod append;
mod approvals;
mod gate;
mod history;
mod ledger;
mod live;
mod pins;
mod policies;
mod rows;
mod scribe;
mod standing;
mod tenants;
mod tool_ids;
mod tools;
mod versions;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use gateway_core::ports::StoreError;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

pub(crate) use agents::SqliteToolAgents;
pub(crate) use approvals::SqliteApprovals;
pub(crate) use gate::SqliteGate;
pub(crate) use history::{SqliteHistory, SqliteProofs};
pub(crate) use ledger::SqliteLedger;
pub(crate) use live::SqliteLive;
pub(crate) use pins::SqlitePins;
pub(crate) use policies::SqlitePolicies;
pub(crate) use standing::SqliteStanding;
pub(crate) use tenants::SqliteTenants;
pub(crate) use tools::SqliteTools;

use crate::failure::unavailable;
use scribe::{CHECKPOINT_PAGES, Scribe};

const READERS: u32 = 4;
/// SQLite's word for a file that somebody else has for himself.
const BUSY: &str = "5";

/// SQLite lets one connection write at a time; queueing for it here is fairer than colliding in the file. The ledger has its own,
/// but takes its turn with the rest.
#[derive(Clone)]
pub(crate) struct SqlitePools {
    pub writer: SqlitePool,
    pub readers: SqlitePool,
    pub ledger: Scribe,
}

impl SqlitePools {
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        make_private(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            // Only a new file takes it. Records are many and some are long: with SQLite's own 4 KiB every one of them is several
            // writes into the log and several out of it.
            .page_size(16 * 1024)
            .journal_mode(SqliteJournalMode::Wal)
            // A trace that somebody waited for must outlive a power cut, not only a crash.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            .foreign_keys(true)
            .pragma("cache_size", "-2000")
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
            .disable_statement_logging();
        let writing = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(10))
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None);
        let writer = connect(&writing, &options, path).await?;
        migrate(&writer, path).await?;
        let reading = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(Duration::from_secs(10))
            .test_before_acquire(false);
        let readers = connect(&reading, &options.pragma("query_only", "ON"), path).await?;
        let ledger = Scribe::start(path).await.map_err(|error| {
            StoreError::Invalid(format!("the database `{}` cannot be opened: {error}", path.display()))
        })?;
        Ok(Self { writer, readers, ledger })
    }

    /// Made by whoever asks first; everybody gets the same.
    pub async fn secret(&self, name: &str, fresh: &[u8]) -> Result<Vec<u8>, StoreError> {
        sqlx::query("INSERT INTO gateway_secrets (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
            .bind(name)
            .bind(fresh)
            .execute(&self.writer)
            .await
            .map_err(unavailable)?;
        sqlx::query_scalar("SELECT value FROM gateway_secrets WHERE name = ?1")
            .bind(name)
            .fetch_one(&self.writer)
            .await
            .map_err(unavailable)
    }

    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1 FROM tenants LIMIT 1").fetch_optional(&self.readers).await.map_err(unavailable)?;
        Ok(())
    }

    pub async fn close(&self) {
        self.ledger.close().await;
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// The file holds the gateway's own keys, so nobody else on the machine may read it. SQLite gives the files beside it the same
/// permissions.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let made = |error| StoreError::Invalid(format!("the database `{}` cannot be made: {error}", path.display()));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(made)?;
    }
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map_err(made)?;
    Ok(())
}

/// Making a new file what it is to be takes it for a moment, and SQLite does not wait for that as it waits for writers: of two
/// processes that start together one may have to try again.
async fn connect(
    pool: &SqlitePoolOptions,
    options: &SqliteConnectOptions,
    path: &Path,
) -> Result<SqlitePool, StoreError> {
    let mut tries = 0;
    loop {
        let error = match pool.clone().connect_with(options.clone()).await {
            Ok(pool) => return Ok(pool),
            Err(error) => error,
        };
        tries += 1;
        let is_taken = matches!(&error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code == BUSY));
        if tries == 50 || !is_taken {
            return Err(StoreError::Invalid(format!("the database `{}` cannot be opened: {error}", path.display())));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// SQLite knows no lock around migrations, so of two processes that start together one may lose a race for a step; on
/// its next try that step is done.
async fn migrate(pool: &SqlitePool, path: &Path) -> Result<(), StoreError> {
    let mut tries = 0;
    loop {
        let Err(error) = crate::migrations::sqlite().run(pool).await else {
            return Ok(());
        };
        tries += 1;
        if tries == 50 {
            return Err(StoreError::Invalid(format!(
                "the database `{}` cannot be brought up to date: {error}",
                path.display()
            )));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
