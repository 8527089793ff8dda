//! What still has to be said to an upstream when nobody waits for it any more: answers, refusals, farewells.

use std::sync::Arc;
use std::time::Duration;

use gateway_core::Permit;
use gateway_core::ports::Upstream;
use tokio::sync::watch;
use tracing::debug;

/// An upstream that takes longer over a farewell has its own reasons; ours is said.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(super) struct Errands {
    inner: Arc<dyn Upstream>,
    under_way: watch::Sender<usize>,
}

/// Counted as long as it lives, however its task ends.
struct Errand(watch::Sender<usize>);

impl Drop for Errand {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Errands {
    pub(super) fn new(inner: Arc<dyn Upstream>) -> Self {
        Self { inner, under_way: watch::Sender::new(0) }
    }

    /// Says these in order. `until_said` is let go afterwards: a program that is told to stop working on a request must still
    /// know which one is meant.
    pub(super) fn run(&self, permits: Vec<Permit>, until_said: impl Send + 'static) {
        // Without a runtime the process is ending, and its connections with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        self.under_way.send_modify(|count| *count += 1);
        let errand = Errand(self.under_way.clone());
        let inner = Arc::clone(&self.inner);
        runtime.spawn(async move {
            for permit in &permits {
                match tokio::time::timeout(PATIENCE, inner.call(permit)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => debug!("an upstream could not be told: {error}"),
                    Err(_) => debug!("an upstream did not take what it was told"),
                }
            }
            drop(until_said);
            drop(errand);
        });
    }

    pub(super) async fn all_done(&self) {
        // The sender is ours, so this cannot fail before it is true.
        let _ = self.under_way.subscribe().wait_for(|count| *count == 0).await;
    }
}
