//! Callers of one run wait for each other inside a node, so that at most one of each node races for the next version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures::lock::OwnedMutexGuard;
use gateway_core::TenantId;
use gateway_core::gate::Id;

type Line = futures::lock::Mutex<()>;

/// Past this many, lines that nobody stands in are forgotten.
const SWEEP: usize = 1024;

#[derive(Default)]
pub(super) struct Queues {
    lines: Mutex<HashMap<(TenantId, Id), Weak<Line>>>,
}

impl Queues {
    /// The caller's turn, until it is dropped.
    pub(super) async fn turn(&self, tenant: TenantId, run: &Id) -> OwnedMutexGuard<()> {
        self.line(tenant, run).lock_owned().await
    }

    fn line(&self, tenant: TenantId, run: &Id) -> Arc<Line> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant, run.clone());
        if let Some(line) = lines.get(&key).and_then(Weak::upgrade) {
            return line;
        }
        if lines.len() >= SWEEP {
            lines.retain(|_, line| line.strong_count() > 0);
        }
        let line = Arc::new(Line::new(()));
        lines.insert(key, Arc::downgrade(&line));
        line
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gate::fakes::tenant;

    #[tokio::test]
    async fn one_at_a_time_for_each_run_and_tenant() {
        let queues = Queues::default();
        let (run, other) = (Id::try_from("run").unwrap(), Id::try_from("other").unwrap());
        let first = queues.turn(tenant(1), &run).await;
        assert!(queues.line(tenant(1), &run).try_lock().is_none());
        assert!(queues.line(tenant(1), &other).try_lock().is_some());
        assert!(queues.line(tenant(2), &run).try_lock().is_some());
        drop(first);
        assert!(queues.line(tenant(1), &run).try_lock().is_some());
    }

    #[tokio::test]
    async fn lines_nobody_stands_in_are_forgotten() {
        let queues = Queues::default();
        for number in 0..SWEEP * 3 {
            drop(queues.turn(tenant(1), &Id::try_from(number.to_string()).unwrap()).await);
        }
        assert!(queues.lines.lock().unwrap().len() <= SWEEP);
    }
}
