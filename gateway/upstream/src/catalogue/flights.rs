//! One question at a time for one thing: whoever wants it while another is asking for it waits for that answer.
//!
//! Waiting promises nothing. The answer may be one that nobody may keep, and then each asks for itself.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// A reader who is slow over its answer does not hold up the others for longer.
const WAIT: Duration = Duration::from_secs(5);

type UnderWay<K> = Mutex<HashMap<K, watch::Receiver<()>>>;

pub(super) struct Flights<K>(Arc<UnderWay<K>>);

/// Nobody else asks for the same until this is dropped.
pub(super) struct First<K: Eq + Hash> {
    under_way: Arc<UnderWay<K>>,
    key: K,
    /// Goes with it, and that is what the others wait for.
    _over: watch::Sender<()>,
}

impl<K: Eq + Hash + Clone> Flights<K> {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }

    /// At once for the first to ask; `None` for the others, when the first has its answer or has given up.
    pub(super) async fn join(&self, key: K) -> Option<First<K>> {
        let mut waiting = {
            let mut under_way = locked(&self.0);
            match under_way.get(&key) {
                Some(over) => over.clone(),
                None => {
                    let (over, waiting) = watch::channel(());
                    under_way.insert(key.clone(), waiting);
                    return Some(First { under_way: Arc::clone(&self.0), key, _over: over });
                }
            }
        };
        let _ = tokio::time::timeout(WAIT, waiting.changed()).await;
        None
    }
}

impl<K: Eq + Hash> Drop for First<K> {
    fn drop(&mut self) {
        locked(&self.under_way).remove(&self.key);
    }
}

fn locked<K>(under_way: &UnderWay<K>) -> MutexGuard<'_, HashMap<K, watch::Receiver<()>>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}
