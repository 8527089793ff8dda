//! The connections that nobody uses just now.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use tokio::runtime::Id;

use super::{KEEP_IDLE, Line};

/// By the runtime that opened them: used from another, a connection would wake the threads of both for everything it brings.
/// The oldest first; the youngest is used next, so that what is no longer needed grows old.
pub(super) struct Idle {
    lines: HashMap<Id, VecDeque<(Box<Line>, Instant)>>,
    count: usize,
    most: usize,
}

/// No longer kept. Whoever gets them drops them without the lock: closing a connection asks the system.
pub(super) type Closed = Vec<(Box<Line>, Instant)>;

impl Idle {
    pub(super) fn keeping(most: usize) -> Self {
        Self { lines: HashMap::new(), count: 0, most }
    }

    pub(super) fn take(&mut self, home: Id) -> Option<(Box<Line>, Instant)> {
        let youngest = self.lines.get_mut(&home)?.pop_back()?;
        self.count -= 1;
        Some(youngest)
    }

    /// Where there is no room, whoever keeps the most gives up the oldest: a burst on one runtime leaves the others theirs.
    pub(super) fn put(&mut self, home: Id, line: Box<Line>) -> Closed {
        self.lines.entry(home).or_default().push_back((line, Instant::now()));
        self.count += 1;
        if self.count <= self.most {
            return Closed::new();
        }
        let richest = self.lines.values_mut().max_by_key(|lines| lines.len());
        let closed: Closed = richest.and_then(VecDeque::pop_front).into_iter().collect();
        self.count -= closed.len();
        closed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn close_old(&mut self) -> Closed {
        let mut closed = Closed::new();
        for lines in self.lines.values_mut() {
            while let Some(old) = lines.pop_front_if(|(_, since)| since.elapsed() >= KEEP_IDLE) {
                closed.push(old);
            }
        }
        self.count -= closed.len();
        self.lines.retain(|_, lines| !lines.is_empty());
        closed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tests::{lines, runtime};
    use super::*;

    #[test]
    fn a_burst_on_one_runtime_leaves_the_others_theirs() {
        let (busy, quiet) = (runtime(), runtime());
        let (_listener, lines) = busy.block_on(lines());
        let open = || busy.block_on(lines.open()).unwrap();
        let (busy_id, quiet_id) = (busy.handle().id(), quiet.handle().id());
        let mut idle = Idle::keeping(4);
        for _ in 0..6 {
            idle.put(busy_id, open());
        }
        assert_eq!(idle.put(quiet_id, open()).len(), 1, "closed by whoever let go of the lock");
        let kept = |idle: &Idle, home| idle.lines.get(&home).map_or(0, VecDeque::len);
        assert_eq!((kept(&idle, busy_id), kept(&idle, quiet_id), idle.count), (3, 1, 4));
        assert!(idle.take(quiet_id).is_some(), "it is there for its own");
        assert!(idle.close_old().is_empty());
        assert_eq!((kept(&idle, busy_id), idle.count), (3, 3));
    }
}
