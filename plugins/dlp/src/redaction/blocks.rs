//! Private keys that are given line by line: a list of lines, or of objects with a line each, is read as the text it was.
//!
//! From the string that a key begins in, all that stand at the same name belong to it until one ends it; of others only what can
//! be nothing but a key. A key that does not end takes with it what looks like its lines.

use std::ops::Range;

use super::edits::escaped;
use super::place::Place;
use super::string::{holds_document, unescaped};
use super::walk::{Walk, Walked};
use super::{Finding, Kind};
use crate::detectors::{LONGEST, RUN};
use crate::mapped::Mapped;
use crate::material;

/// Strings that one key may be cut into.
const MOST_STRINGS: usize = 4096;
/// Of a key that does not end, and beside one: runs so long are no words of anybody's.
const LONG_RUN: usize = 40;
/// Strings in a row that hold nothing of it, before a key that does not end is over.
const MISSES: usize = 4;

/// A key that has begun.
pub(super) struct Block {
    set: usize,
    rule: u16,
    key: Option<String>,
    /// Where it begins, in the first string as it is read.
    begins: usize,
    strings: Vec<Line>,
    bytes: usize,
}

/// One of its strings, as it lies between quotes.
struct Line {
    raw: Range<usize>,
    own: bool,
    pointer: String,
}

impl<'w> Walk<'w, '_> {
    /// Every string of a document passes here, in order.
    pub(super) fn through_block(&mut self, raw: Range<usize>, place: &Place<'_>, pointed_at: bool) -> Walked {
        if self.block.is_none() && !pointed_at {
            return Ok(());
        }
        let text = self.text;
        let written = text.get(raw.clone()).unwrap_or_default();
        if self.block.is_none() && !self.may_begin(written) {
            return Ok(());
        }
        let decoded = unescaped(written);
        let shown = decoded.as_ref().map_or(written, Mapped::text);
        let opened = if pointed_at { self.opened(shown) } else { None };
        let Some(block) = &mut self.block else {
            self.begin(opened, raw, place);
            return Ok(());
        };
        let end = self.redaction.sets.get(block.set).and_then(|set| set.end_of_block(block.rule, shown));
        // Another one that begins before this one ends: it has an end of its own.
        let begun = opened.as_ref().map(|(_, _, begins)| *begins);
        if end.is_none() && begun.is_some() {
            self.end_block(None, place)?;
            self.begin(opened, raw, place);
            return Ok(());
        }
        block.bytes += raw.len();
        let own = place.key() == block.key.as_deref();
        block.strings.push(Line { raw: raw.clone(), own, pointer: place.pointer() });
        let too_long = block.bytes > LONGEST || block.strings.len() > MOST_STRINGS;
        if end.is_some() || too_long {
            self.end_block(end, place)?;
        }
        if end.is_some() {
            self.begin(opened, raw, place);
        }
        Ok(())
    }

    /// Told without reading it as JSON does: its first line is plain, unless somebody hides it.
    fn may_begin(&self, raw: &str) -> bool {
        self.redaction.sets.iter().any(|set| set.begins_block(raw)) || raw.contains("\\u00")
    }

    fn opened(&self, shown: &str) -> Option<(usize, u16, usize)> {
        let open = |(set, detectors): (usize, &&crate::Detectors)| {
            detectors.open_block(shown).map(|(rule, head)| (set, rule, head.start))
        };
        self.redaction.sets.iter().enumerate().find_map(open)
    }

    fn begin(&mut self, opened: Option<(usize, u16, usize)>, raw: Range<usize>, place: &Place<'_>) {
        if let Some((set, rule, begins)) = opened {
            let first = Line { raw, own: true, pointer: place.pointer() };
            let key = place.key().map(str::to_owned);
            self.block = Some(Block { set, rule, key, begins, strings: vec![first], bytes: 0 });
        }
    }

    /// Takes out the block that is open: all of it up to `end` in its last string, or what is surely its own.
    pub(super) fn end_block(&mut self, end: Option<usize>, place: &Place<'_>) -> Walked {
        let Some(block) = self.block.take() else { return Ok(()) };
        let last = block.strings.len() - 1;
        let mut taken: Vec<(Range<usize>, usize)> = Vec::new();
        let mut value = String::new();
        let mut missed = 0;
        for (index, line) in block.strings.iter().enumerate() {
            let raw = self.text.get(line.raw.clone()).unwrap_or_default();
            let decoded = unescaped(raw);
            let shown = decoded.as_ref().map_or(raw, Mapped::text);
            let from = if index == 0 { block.begins } else { 0 };
            let until = end.filter(|_| index == last).unwrap_or(shown.len());
            let part = shown.get(from..until).unwrap_or_default();
            let whole = end.is_some() && line.own && !holds_document(shown);
            let ranges: Vec<Range<usize>> = if whole {
                std::iter::once(from..until).collect()
            } else {
                // What is in the first string was found there.
                let least = if end.is_some() && line.own { RUN } else { LONG_RUN };
                let runs = material::runs(part, least).filter(|_| index > 0);
                runs.map(|run| from + run.start..from + run.end).collect()
            };
            missed = if ranges.is_empty() && line.own && index > 0 { missed + 1 } else { 0 };
            if end.is_none() && missed > MISSES {
                break;
            }
            for range in ranges.into_iter().filter(|range| !range.is_empty()) {
                value.push_str(shown.get(range.clone()).unwrap_or_default());
                let origin = decoded.as_ref().map_or(range.clone(), |map| map.origin(range));
                taken.push((line.raw.start + origin.start..line.raw.start + origin.end, index));
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        let one = Finding { set: block.set, rule: block.rule, start: 0, end: 0, value: value.into(), passes: false };
        let with =
            self.redaction.replacement(&one, Kind::Text, self.found).map_err(|rule| self.blocked(rule, place))?;
        let Some(with) = with.map(escaped) else { return Ok(()) };
        for (place, (range, line)) in taken.into_iter().enumerate() {
            let with = if place == 0 { with.clone() } else { String::new() };
            self.edits.add_wide(range, with, one.which());
            if let Some(line) = block.strings.get(line).filter(|_| self.nested == 0) {
                self.found.edited_at(|| line.pointer.clone());
            }
        }
        Ok(())
    }
}
