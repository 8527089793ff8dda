//! What was used once: one table for all nodes, cleared of what has expired every so often.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::ports::{Once, StoreError};
use jiff::Timestamp;
use sqlx::postgres::PgPool;
use uuid::Uuid;

use crate::failure::unavailable;
use crate::sqlite::SqlitePools;

/// Tokens spent between two looks for what has expired.
const LOOK_EVERY: usize = 1000;
/// A caller waits for this, so a store that hangs counts as one that is away.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct SqliteOnce {
    pools: SqlitePools,
    spent: AtomicUsize,
}

impl SqliteOnce {
    pub fn new(pools: SqlitePools) -> Self {
        Self { pools, spent: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Once for SqliteOnce {
    async fn spend(&self, token: Uuid, until: Timestamp) -> Result<bool, StoreError> {
        if is_time_to_look(&self.spent) {
            let past = "DELETE FROM spent_tokens WHERE expires_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
            patiently(sqlx::query(past).execute(&self.pools.writer)).await?;
        }
        let insert = "INSERT INTO spent_tokens (id, expires_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        // As SQLite writes it, so that the two compare as text.
        let until = until.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let done = sqlx::query(insert).bind(token.to_string()).bind(until).execute(&self.pools.writer);
        Ok(patiently(done).await?.rows_affected() == 1)
    }
}

pub(crate) struct PostgresOnce {
    pool: PgPool,
    spent: AtomicUsize,
}

impl PostgresOnce {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, spent: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Once for PostgresOnce {
    async fn spend(&self, token: Uuid, until: Timestamp) -> Result<bool, StoreError> {
        if is_time_to_look(&self.spent) {
            patiently(sqlx::query("DELETE FROM spent_tokens WHERE expires_at < now()").execute(&self.pool)).await?;
        }
        let insert = "INSERT INTO spent_tokens (id, expires_at) VALUES ($1::text::uuid, $2::text::timestamptz) ON CONFLICT DO NOTHING";
        let done = sqlx::query(insert).bind(token.to_string()).bind(until.to_string()).execute(&self.pool);
        Ok(patiently(done).await?.rows_affected() == 1)
    }
}

fn is_time_to_look(spent: &AtomicUsize) -> bool {
    spent.fetch_add(1, Ordering::Relaxed) % LOOK_EVERY == LOOK_EVERY - 1
}

pub(crate) async fn patiently<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, StoreError> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done.map_err(unavailable),
        Err(late) => Err(StoreError::Unavailable(late.into())),
    }
}
