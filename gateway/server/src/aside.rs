//! Work that takes a while, on the threads that the runtime keeps for it.

use async_trait::async_trait;
use gateway_core::BoxError;
use gateway_core::ports::Aside;

pub struct OtherThreads;

#[async_trait]
impl Aside for OtherThreads {
    async fn take(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), BoxError> {
        Ok(tokio::task::spawn_blocking(work).await?)
    }
}
