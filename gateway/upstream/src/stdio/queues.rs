//! The queues of the sessions one child serves: where it is heard when no request is under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mailbox::Mailbox;

/// By session, oldest first; they outlive the child.
#[derive(Default)]
pub(super) struct Queues(Mutex<Vec<(String, Arc<Mailbox>)>>);

impl Queues {
    fn list(&self) -> MutexGuard<'_, Vec<(String, Arc<Mailbox>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, session: &str, queue: Arc<Mailbox>) {
        self.list().push((session.into(), queue));
    }

    /// Says whether it was the last. By the queue and not by the id: a session that was forgotten may have come back.
    pub(super) fn remove(&self, queue: &Arc<Mailbox>) -> bool {
        let mut list = self.list();
        list.retain(|(_, known)| !Arc::ptr_eq(known, queue));
        list.is_empty()
    }

    pub(super) fn all(&self) -> Vec<Arc<Mailbox>> {
        self.list().iter().map(|(_, queue)| Arc::clone(queue)).collect()
    }

    pub(super) fn newest(&self) -> Option<(String, Arc<Mailbox>)> {
        self.list().last().cloned()
    }
}
