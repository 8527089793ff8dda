//! What is done about a finding, and what is remembered of it: rule and number, never the value.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Ordered: of two that apply the stricter wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Observe,
    Partial,
    Hash,
    Mask,
    Block,
}

impl Action {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Partial => "partial",
            Self::Hash => "hash",
            Self::Mask => "mask",
            Self::Block => "block",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    #[default]
    Medium,
    High,
    Critical,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// The action of every rule of every set of a [`crate::Redaction`], in the same order; resolved once, when policies are read.
#[derive(Debug, Clone)]
pub struct Actions {
    sets: SmallVec<[Arc<[Action]>; 2]>,
    /// For rules nobody named, and for what is found because it could not be read to its end.
    otherwise: Action,
}

impl Actions {
    /// The same for every rule.
    pub fn all(action: Action) -> Self {
        Self { sets: SmallVec::new(), otherwise: action }
    }

    /// One list per set of detectors, in the order of its rules; a rule beyond its list gets `otherwise`.
    pub fn new(sets: impl IntoIterator<Item = Arc<[Action]>>, otherwise: Action) -> Self {
        Self { sets: sets.into_iter().collect(), otherwise }
    }

    pub fn of(&self, set: usize, rule: u16) -> Action {
        self.sets.get(set).and_then(|rules| rules.get(usize::from(rule))).copied().unwrap_or(self.otherwise)
    }

    pub fn otherwise(&self) -> Action {
        self.otherwise
    }
}

/// How often a rule was found, and what was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    pub rule: Arc<str>,
    pub action: Action,
    pub count: u32,
}

/// What was found in one message or many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    found: SmallVec<[Count; 4]>,
    edited: SmallVec<[String; 2]>,
    edited_bytes: usize,
    edited_more: bool,
}

/// Edited places beyond this many, or this long, are not remembered by name; only that there were more.
const MOST_PATHS: usize = 4096;
const MOST_PATH_BYTES: usize = 1 << 20;

impl Counts {
    pub fn add(&mut self, rule: &Arc<str>, action: Action, count: u32) {
        match self.found.iter_mut().find(|one| one.rule == *rule && one.action == action) {
            Some(one) => one.count = one.count.saturating_add(count),
            None => self.found.push(Count { rule: rule.clone(), action, count }),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Count> {
        self.found.iter()
    }

    /// JSON pointers of what was changed (not of what was only observed), as many as are kept.
    pub fn edited(&self) -> &[String] {
        &self.edited
    }

    /// Whether more was changed than is remembered by name.
    pub fn edited_more(&self) -> bool {
        self.edited_more
    }

    pub(crate) fn edited_at(&mut self, pointer: impl FnOnce() -> String) {
        if self.edited_more {
            return;
        }
        let pointer = pointer();
        // Several things found in one place come one after the other.
        if self.edited.last() == Some(&pointer) {
            return;
        }
        if self.edited.len() >= MOST_PATHS || self.edited_bytes + pointer.len() > MOST_PATH_BYTES {
            self.edited_more = true;
            return;
        }
        self.edited_bytes += pointer.len();
        self.edited.push(pointer);
    }
}

/// A rule says that the whole message stays where it is. Names rule and place, never the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` at `{path}`")]
pub struct Blocked {
    pub rule: Arc<str>,
    /// A JSON pointer; empty for a bare text.
    pub path: String,
}
