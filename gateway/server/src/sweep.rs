//! Looks after approvals once a second, on every node: what nobody decided in time ends, what was decided is in its chain,
//! and people hear of what waits. Each step is taken by one node, whoever comes first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use gateway_core::approvals::link;
use gateway_core::desk::Desk;
use gateway_core::ports::{Notifier, Seal};

const EVERY: Duration = Duration::from_secs(1);
/// How long a notice is one node's to send.
const LEASE: Duration = Duration::from_secs(10);
/// How often a store that is away is complained of.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// Whoever is told, which a changed configuration may change. `None`: nobody asked to be.
pub type ToTell = ArcSwap<Option<Arc<dyn Notifier>>>;

pub struct Sweep {
    pub desk: Desk,
    pub notifier: Arc<ToTell>,
    pub seal: Arc<dyn Seal>,
}

impl Sweep {
    pub async fn run(self) {
        let mut complained: Option<Instant> = None;
        loop {
            tokio::time::sleep(EVERY).await;
            if let Err(error) = self.desk.sweep().await
                && complained.is_none_or(|at| at.elapsed() > COMPLAIN_EVERY)
            {
                complained = Some(Instant::now());
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "approvals could not be looked after; their deadlines hold all the same: {error}"
                );
            }
            if let Some(notifier) = self.notifier.load_full().as_ref() {
                self.notify(notifier.as_ref()).await;
            }
        }
    }

    async fn notify(&self, notifier: &dyn Notifier) {
        let Desk { approvals, clock, .. } = &self.desk;
        // A store that is away was complained of above.
        let Ok(waiting) = approvals.to_notify(clock.now(), LEASE).await else { return };
        let told = waiting.iter().map(async |approval| {
            let id = approval.asked.id;
            let link = link(&self.desk.link, self.seal.as_ref(), id);
            match notifier.tell(approval, &link).await {
                Ok(()) => drop(approvals.notified(id, clock.now()).await),
                Err(error) => tracing::warn!(
                    approval = %id,
                    error = &error as &dyn std::error::Error,
                    "the notice of an approval was not taken and is sent again: {error}"
                ),
            }
        });
        futures::future::join_all(told).await;
    }
}
