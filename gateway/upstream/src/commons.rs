//! Where work runs that belongs to no single client: a program that several talk to, a stream that brings news for all of
//! them, the clock over what rests between calls.
//!
//! A client's connection stays on one thread with all that is done for it. What others use as well would stall with that
//! thread and end with it, so it has a runtime of its own, which whoever composes the gateway hands in.

use std::future::Future;

use gateway_core::BoxError;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

/// Unless it is told where: on the runtime of whoever asks, for processes that have only one.
#[derive(Debug, Clone, Default)]
pub struct Commons(Option<Handle>);

impl Commons {
    pub fn on(runtime: Handle) -> Self {
        Self(Some(runtime))
    }

    pub(crate) fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        match &self.0 {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        }
    }

    /// For what opens a socket or starts a program: they belong to the runtime on which that is done. Given up when nobody
    /// waits for it any more.
    pub(crate) async fn run<F>(&self, work: F) -> Result<F::Output, BoxError>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        Ok(AbortOnDropHandle::new(self.spawn(work)).await?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::thread;
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_is_done_where_it_was_said() {
        let home = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let here = thread::current().id();
        let own = Commons::default().run(async { thread::current().id() }).await.unwrap();
        let shared = Commons::on(home.handle().clone()).run(async { thread::current().id() }).await.unwrap();
        assert_eq!(own, here);
        assert_ne!(shared, here);
        home.shutdown_background();
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_given_up() {
        let (sender, dropped) = oneshot::channel::<()>();
        let commons = Commons::default();
        let work = commons.run(async move {
            let _sender = sender;
            std::future::pending::<()>().await;
        });
        assert!(tokio::time::timeout(Duration::from_millis(10), work).await.is_err());
        assert!(dropped.await.is_err());
    }
}
