//! Takes out what was found.

mod across;
mod blocks;
mod edits;
mod labels;
mod names;
mod pieces;
mod place;
mod scalars;
mod schema;
mod spoken;
mod step;
mod string;
mod tree;
mod walk;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use smallvec::SmallVec;

use crate::{Action, Actions, Blocked, Counts, Detectors, Paths, Seam, Severity, mask};
use edits::{Changed, Edits, Which, with_changes};
use string::About;
use walk::Walk;

pub(crate) use across::cut_between_blocks;

/// The rule of a document that is no JSON, or too deep: it cannot be let through unread.
pub const UNREADABLE: &str = "unreadable";

/// What to look for, what to do about it and where not to look.
#[derive(Clone)]
pub struct Redaction<'a> {
    pub sets: SmallVec<[&'a Detectors; 2]>,
    pub actions: &'a Actions,
    /// The tenant's; hashes are made with it.
    pub key: &'a [u8; 32],
    pub paths: &'a Paths,
}

/// Something found in a text, and what to do about it.
struct Finding {
    set: usize,
    rule: u16,
    start: usize,
    end: usize,
    value: Box<str>,
    /// It lies where only what is critical is taken out, so it is no more than counted.
    passes: bool,
}

impl Finding {
    fn which(&self) -> Which {
        Which { set: self.set, rule: self.rule }
    }
}

/// Bytes of a text that were taken out of it, and which rule said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub rule: Arc<str>,
    pub range: Range<usize>,
}

/// How the replacement is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
}

impl<'a> Redaction<'a> {
    /// A bare text; `None` where nothing is changed.
    pub fn text(&self, text: &str, found: &mut Counts) -> Result<Option<String>, Blocked> {
        let mut edits = Edits::default();
        self.string(text, About::default(), &mut edits, found).map_err(|rule| Blocked { rule, path: String::new() })?;
        Ok(edits.applied(text))
    }

    /// The same, and what was taken out where; what is only observed is left, and not told.
    pub fn told(&self, text: &str, found: &mut Counts) -> Result<(Option<String>, Vec<Taken>), Blocked> {
        let changes = self.edits_of(text, found)?;
        let taken = |(range, _, which): &Changed| {
            let rule = self.sets.get(which.set).and_then(|set| set.rule(which.rule));
            Taken { rule: rule.map_or_else(|| UNREADABLE.into(), |rule| rule.id.clone()), range: range.clone() }
        };
        let edited = if changes.is_empty() { None } else { Some(with_changes(text, &changes)) };
        Ok((edited, changes.iter().map(taken).collect()))
    }

    /// A JSON document, read without building it; `None` where nothing is changed, and what is not changed stays byte for byte.
    pub fn json(&self, raw: &Bytes, found: &mut Counts) -> Result<Option<Bytes>, Blocked> {
        let unreadable = || Blocked { rule: UNREADABLE.into(), path: String::new() };
        let text = std::str::from_utf8(raw).map_err(|_| unreadable())?;
        let mut edits = Edits::default();
        Walk::new(self, text, 0, found, &mut edits).document()?;
        Ok(edits.applied(text).map(Bytes::from))
    }

    /// A document that is a tree already, changed in place; whether it was changed.
    pub fn value(&self, value: &mut Value, found: &mut Counts) -> Result<bool, Blocked> {
        if !self.suspects_tree(value) {
            return Ok(false);
        }
        // Rare, so the tree is written out and read again: one walk knows all the rules.
        let unreadable = |_| Blocked { rule: UNREADABLE.into(), path: String::new() };
        let raw = Bytes::from(serde_json::to_vec(value).map_err(|_| unreadable(()))?);
        let Some(edited) = self.json(&raw, found)? else {
            return Ok(false);
        };
        *value = serde_json::from_slice(&edited).map_err(|_| unreadable(()))?;
        Ok(true)
    }

    /// What is changed in a text, in order and without overlaps.
    pub(crate) fn edits_of(&self, text: &str, found: &mut Counts) -> Result<Vec<Changed>, Blocked> {
        let mut edits = Edits::default();
        self.string(text, About::default(), &mut edits, found).map_err(|rule| Blocked { rule, path: String::new() })?;
        Ok(edits.merged())
    }

    /// For texts that arrive in pieces.
    pub fn seam(&self) -> Seam<'_, 'a> {
        Seam::new(self)
    }

    /// Everything of all sets; of two sets' findings in one place the stricter action's stays.
    fn findings(&self, text: &str, key: Option<&str>, critical_only: bool) -> Vec<Finding> {
        let mut all = self.found_in(text, key, critical_only);
        if critical_only {
            // Asked by itself: what passes must not stand in the way of what does not.
            let taken = all.len();
            for one in self.found_in(text, key, false) {
                let free = |known: &Finding| one.end <= known.start || known.end <= one.start;
                if all.iter().take(taken).all(free) {
                    all.push(Finding { passes: true, ..one });
                }
            }
        }
        all
    }

    fn found_in(&self, text: &str, key: Option<&str>, critical_only: bool) -> Vec<Finding> {
        let mut all: Vec<Finding> = Vec::new();
        for (set, detectors) in self.sets.iter().enumerate() {
            let asked = |rule: u16| {
                let severity = detectors.rule(rule).map_or(Severity::High, |rule| rule.severity);
                (!critical_only || severity == Severity::Critical).then(|| self.actions.of(set, rule))
            };
            let mut found = Vec::new();
            detectors.look(text, key, asked, &mut found);
            for one in found {
                let range = one.range();
                let (start, end) = (range.start, range.end);
                all.push(Finding { set, rule: one.rule, start, end, value: one.value, passes: false });
            }
        }
        if self.sets.len() > 1 {
            self.settle(&mut all);
        }
        all
    }

    fn settle(&self, all: &mut Vec<Finding>) {
        all.sort_by_key(|one| one.start);
        let mut kept: Vec<Finding> = Vec::with_capacity(all.len());
        for one in all.drain(..) {
            match kept.last_mut() {
                Some(last) if one.start < last.end => {
                    let (start, end) = (last.start, last.end.max(one.end));
                    let weight = |found: &Finding| (self.actions.of(found.set, found.rule), found.end - found.start);
                    if weight(&one) > weight(last) {
                        *last = one;
                    }
                    (last.start, last.end) = (start, end);
                }
                _ => kept.push(one),
            }
        }
        *all = kept;
    }

    /// Counts a finding and gives what stands in its place: nothing where it is only observed.
    fn replacement(&self, one: &Finding, kind: Kind, found: &mut Counts) -> Result<Option<String>, Arc<str>> {
        let Some(rule) = self.sets.get(one.set).and_then(|set| set.rule(one.rule)) else {
            return Ok(None);
        };
        let action = if one.passes { Action::Observe } else { self.actions.of(one.set, one.rule) };
        if action == Action::Block {
            found.add(&rule.id, action, 1);
            return Err(rule.id.clone());
        }
        found.add(&rule.id, action, 1);
        Ok(match (action, kind) {
            (Action::Observe, _) => None,
            (action, Kind::Text) => Some(mask::text(rule, action, &one.value, self.key)),
            (action, Kind::Number) => Some(mask::number(rule, action, &one.value, self.key)),
        })
    }
}
