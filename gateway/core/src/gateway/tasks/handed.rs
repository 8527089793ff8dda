//! Which tasks this node has given to whom, so that lists and news show a caller its own and name them alike.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

const MOST: usize = 10_000;
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

#[derive(Default)]
pub(crate) struct Handed {
    tasks: Mutex<Tasks>,
}

/// Owner, door, and the server's own id.
type Key = (String, String, String);

#[derive(Default)]
struct Tasks {
    known: HashMap<Key, (String, Timestamp)>,
    /// Oldest first.
    order: VecDeque<Key>,
}

impl Handed {
    pub(super) fn remember(&self, owner: &str, door: &str, task: &str, token: &str, now: Timestamp) {
        let key = (owner.to_owned(), door.to_owned(), task.to_owned());
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.known.insert(key.clone(), (token.to_owned(), now)).is_none() {
            tasks.order.push_back(key);
        }
        if tasks.order.len() > MOST
            && let Some(oldest) = tasks.order.pop_front()
        {
            tasks.known.remove(&oldest);
        }
    }

    /// What the caller knows the task by. `None`: it was never given it here, or long ago.
    pub(super) fn token(&self, owner: &str, door: &str, task: &str, now: Timestamp) -> Option<String> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, at) = tasks.known.get(&(owner.to_owned(), door.to_owned(), task.to_owned()))?;
        (now.duration_since(*at) < LIFETIME).then(|| token.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_so_is_what_is_a_day_old() {
        let (handed, now) = (Handed::default(), Timestamp::UNIX_EPOCH);
        for n in 0..=MOST {
            handed.remember("a-1", "crm", &n.to_string(), "t", now);
        }
        assert_eq!(handed.token("a-1", "crm", "0", now), None);
        assert_eq!(handed.token("a-1", "crm", "1", now).as_deref(), Some("t"));
        assert_eq!(handed.token("a-2", "crm", "1", now), None, "another's");
        assert_eq!(handed.token("a-1", "notes", "1", now), None, "another door's");
        assert_eq!(handed.token("a-1", "crm", "1", now + LIFETIME), None);
    }
}
