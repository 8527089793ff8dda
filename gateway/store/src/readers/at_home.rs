//! Keeps a pool on the runtime it was made on: connections opened on a server's worker would die with that worker.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::policies::Dialect;
use gateway_core::ports::{ReadLimits, ReadOnlyDatabase, Rows, StoreError, TableInfo};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::failure::unavailable;

pub struct AtHome<D> {
    database: Arc<D>,
    home: Handle,
}

/// Who stops waiting also stops the work.
struct Work<T>(JoinHandle<T>);

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<D: ReadOnlyDatabase + 'static> AtHome<D> {
    /// To be called on the runtime that outlives everything that reads.
    pub fn new(database: D) -> Self {
        Self { database: Arc::new(database), home: Handle::current() }
    }

    async fn done<T, W>(&self, work: impl FnOnce(Arc<D>) -> W + Send) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let mut work = Work(self.home.spawn(work(Arc::clone(&self.database))));
        (&mut work.0).await.unwrap_or_else(|error| Err(unavailable(error)))
    }
}

#[async_trait]
impl<D: ReadOnlyDatabase + 'static> ReadOnlyDatabase for AtHome<D> {
    fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.done(|database| async move { database.ping().await }).await
    }

    async fn tables(&self) -> Result<Vec<TableInfo>, StoreError> {
        self.done(|database| async move { database.tables().await }).await
    }

    async fn explain(&self, sql: &str) -> Result<(), StoreError> {
        let sql = sql.to_owned();
        self.done(|database| async move { database.explain(&sql).await }).await
    }

    async fn query(&self, sql: &str, limits: ReadLimits) -> Result<Rows, StoreError> {
        let sql = sql.to_owned();
        self.done(move |database| async move { database.query(&sql, limits).await }).await
    }
}
