//! Work that takes a while and waits for nothing.

use async_trait::async_trait;

use crate::BoxError;

/// Somewhere else to do it: the thread that serves a call serves others, too.
#[async_trait]
pub trait Aside: Send + Sync {
    /// Returns when it is done. Fails where nobody can say that it was.
    async fn take(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), BoxError>;
}
