//! Sends what policies would have people know (`notify`) to whoever is told of approvals.
//!
//! No call waits for it: what cannot be queued, and what is not taken in a few tries, is lost and complained of. The trace is the
//! record.

use std::sync::Arc;
use std::time::Duration;

use gateway_core::ports::{Notice, Notices};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::sweep::ToTell;

const MOST_WAITING: usize = 1024;
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_secs(2);

pub struct Herald {
    waiting: mpsc::Sender<Notice>,
}

impl Herald {
    pub fn start(to_tell: Arc<ToTell>) -> (Self, AbortHandle) {
        let (waiting, notices) = mpsc::channel(MOST_WAITING);
        let going = tokio::spawn(tell_all(notices, to_tell)).abort_handle();
        (Self { waiting }, going)
    }
}

impl Notices for Herald {
    fn tell(&self, notice: Notice) {
        if let Err(error) = self.waiting.try_send(notice) {
            tracing::warn!("the notice of a policy is lost: {error}");
        }
    }
}

async fn tell_all(mut notices: mpsc::Receiver<Notice>, to_tell: Arc<ToTell>) {
    while let Some(notice) = notices.recv().await {
        for left in (0..TRIES).rev() {
            // Each time anew: a changed configuration may tell somebody else.
            let Some(notifier) = to_tell.load_full().as_ref().clone() else { break };
            let Err(error) = notifier.announce(&notice).await else { break };
            if left == 0 {
                tracing::warn!(
                    trace = %notice.trace,
                    error = &error as &dyn std::error::Error,
                    "the notice of a policy was not taken and is lost: {error}"
                );
            } else {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
