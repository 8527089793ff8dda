//! One reading of a text, and what each detector makes of it.

use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};
use smallvec::SmallVec;

use super::look::Found;
use super::{Boundary, Compiled, Detectors, View, block, digits, near};
use crate::mapped::small;
use crate::spots::DigitRun;

/// How far before its anchor a match may begin, and how far behind it it may end.
pub(super) const BEFORE: usize = 320;
const BEHIND: usize = 16 * 1024;
/// The same for anchors that are much of the match themselves: digits, colons, runs.
const SHORTLY_BEFORE: usize = 32;
const SHORTLY_BEHIND: usize = 512;
/// How far a token may go on without a blank, and how often that is tried in vain: text that only looks like one costs no more.
const FAR: usize = 256 * 1024;
const MOST_FAR: u8 = 4;
/// Matches near one anchor that turn out to be nothing, before it is given up.
const TRIES: usize = 8;

/// How far a detector has read.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    index: u16,
    /// Its last match: an anchor inside it begins nothing new.
    matched: (usize, usize),
    /// Nothing begins in here, so that a word that stands everywhere is not searched around everywhere.
    barren: (usize, usize),
    /// How often it was looked far ahead for nothing.
    far: u8,
}

pub(super) type Marks = SmallVec<[Mark; 8]>;

/// A match around an anchor reaches no further beyond it, where it is known that none does up to there.
const REACH: usize = 256;

/// One text being looked at.
pub(super) struct Seen<'s> {
    pub set: &'s Detectors,
    pub text: &'s str,
    pub key: Option<&'s str>,
    pub view: View,
    pub out: &'s mut Vec<Found>,
    pub marks: Marks,
    /// A bit for each detector whose words stand anywhere in the text or its key; found out when first asked.
    pub spoken: Option<SmallVec<[u64; 16]>>,
    /// The same for those that can match at all beside a number or a long word.
    pub may: Option<near::Bits>,
}

impl<'s> Seen<'s> {
    /// Whether a detector's words can be near anything here. Most texts hold nobody's, and are done with at once.
    fn is_spoken_of(&mut self, index: u16, detector: &Compiled) -> bool {
        if detector.context.as_ref().is_none_or(|context| !context.required) {
            return true;
        }
        let (set, text, key) = (self.set, self.text, self.key);
        let spoken = self.spoken.get_or_insert_with(|| set.spoken(text, key));
        spoken.get(usize::from(index / 64)).is_some_and(|bits| bits & (1 << (index % 64)) != 0)
    }

    #[expect(clippy::indexing_slicing, reason = "the place was just found, or made")]
    fn mark(&mut self, index: u16) -> &mut Mark {
        let at = match self.marks.iter().position(|mark| mark.index == index) {
            Some(at) => at,
            None => {
                self.marks.push(Mark { index, matched: (0, 0), barren: (0, 0), far: 0 });
                self.marks.len() - 1
            }
        };
        &mut self.marks[at]
    }

    /// Whether any detector can match around a number or a long word of this text.
    pub fn anything_near(&mut self) -> bool {
        let (set, text, key) = (self.set, self.text, self.key);
        let spoken = &mut self.spoken;
        let may = self.may.get_or_insert_with(|| {
            let spoken = spoken.get_or_insert_with(|| set.spoken(text, key));
            set.near.may_match(text, spoken)
        });
        may.iter().any(|bits| *bits != 0)
    }

    /// Around a number or a long word.
    pub fn try_near(&mut self, index: u16, anchor: Range<usize>) {
        if self.may.as_ref().is_none_or(|may| near::has(may, index)) {
            self.try_at(index, anchor, SHORTLY_BEFORE);
        }
    }

    pub fn try_at(&mut self, index: u16, anchor: Range<usize>, before: usize) {
        let set: &'s Detectors = self.set;
        let Some(detector) = set.compiled.get(usize::from(index)) else {
            return;
        };
        let Some(pattern) = &detector.pattern else {
            return;
        };
        if detector.begins_with_anchor && joins(self.text.as_bytes(), detector.boundary, anchor.start.checked_sub(1)) {
            return;
        }
        if !self.is_spoken_of(index, detector) {
            return;
        }
        let Mark { matched, barren, .. } = *self.mark(index);
        // Anchors of different kinds do not come in order: only what is behind this one says where it may begin.
        let floor = if matched.1 <= anchor.start { matched.1 } else { 0 };
        let mut start = anchor.start.saturating_sub(before).max(floor);
        if (matched.0..matched.1).contains(&anchor.start) || (barren.0 <= start && anchor.end <= barren.1) {
            return;
        }
        // Nobody looks further than a match can reach, or every number would cost the rest of the text.
        let behind = if before == SHORTLY_BEFORE { SHORTLY_BEHIND } else { BEHIND };
        let end = (anchor.end + behind).min(self.text.len());
        if detector.begins_with_anchor {
            if let Some(found) = self.beginning(index, pattern, anchor.start..end) {
                self.take(index, detector, found);
            }
            return;
        }
        let mut tries = TRIES;
        while tries > 0 {
            let Some(found) = pattern.search(&Input::new(self.text).span(start..end)) else {
                let known = if end == self.text.len() { end } else { end.saturating_sub(REACH) };
                self.mark(index).barren = (start, known);
                return;
            };
            if found.start() >= anchor.end {
                self.mark(index).barren = (start, found.start());
                return;
            }
            tries -= 1;
            if found.end() <= anchor.start {
                // Somebody else's: it has an anchor of its own.
                start = found.end().max(start + 1);
            } else if self.take(index, detector, found.range()) {
                // Two numbers with a blank between them are one run of digits.
                start = found.end().max(start + 1);
                tries = TRIES;
            } else {
                // A later beginning may still be something.
                start = found.start() + 1;
            }
        }
    }

    /// A match that begins where the span does. One that the end of the span may have cut is looked for once more, further on: a token
    /// has no longest form.
    fn beginning(&mut self, index: u16, pattern: &Regex, span: Range<usize>) -> Option<Range<usize>> {
        let search = |end: usize| {
            let input = Input::new(self.text).span(span.start..end).anchored(Anchored::Yes);
            pattern.search(&input).map(|found| found.range())
        };
        let near = search(span.end);
        let whole = span.end >= self.text.len() || near.as_ref().is_some_and(|near| near.end < span.end);
        let read = self.text.as_bytes().get(span.clone()).unwrap_or_default();
        if whole || self.far(index) >= MOST_FAR || read.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b'"') {
            return near;
        }
        let far = search(span.end.saturating_add(FAR).min(self.text.len()));
        if far.is_none() {
            self.mark(index).far += 1;
        }
        far.or(near)
    }

    fn far(&mut self, index: u16) -> u8 {
        self.mark(index).far
    }

    pub fn try_everywhere(&mut self, index: u16) {
        let set: &'s Detectors = self.set;
        let Some(detector) = set.compiled.get(usize::from(index)) else {
            return;
        };
        if let Some(pattern) = &detector.pattern {
            for found in pattern.find_iter(self.text).filter(|found| !found.is_empty()) {
                self.take(index, detector, found.range());
            }
        }
    }

    pub fn word(&mut self, word: usize, range: Range<usize>) {
        let set: &'s Detectors = self.set;
        let Some((index, exact)) = set.of_word.get(word) else {
            return;
        };
        let Some(detector) = set.compiled.get(usize::from(*index)) else {
            return;
        };
        if exact.as_deref().is_none_or(|exact| self.text.get(range.clone()) == Some(exact)) {
            self.take(*index, detector, range);
        }
    }

    pub fn digits(&mut self, run: DigitRun) {
        let set: &'s Detectors = self.set;
        let bytes = self.text.as_bytes();
        if digits::in_uuid(bytes, run) {
            return;
        }
        if self.anything_near() {
            for (_, detector) in set.digits.iter().filter(|(least, _)| run.count >= *least) {
                self.try_near(*detector, run.start..run.end);
            }
            for (_, detector) in set.dots.iter().filter(|(least, _)| run.dots >= *least) {
                self.try_near(*detector, run.start..run.end);
            }
        }
        for (index, detector, wanted) in set.windowed() {
            if run.count < wanted.0 || !self.is_spoken_of(index, detector) {
                continue;
            }
            digits::windows(self.text, run, wanted, |window| self.window(index, detector, window));
        }
    }

    /// A window with the signs before it that belong to a number, or without them.
    fn window(&mut self, index: u16, detector: &Compiled, window: Range<usize>) -> bool {
        let before = self.text.as_bytes().get(..window.start).unwrap_or_default();
        let signs = before.iter().rev().take(2).take_while(|byte| matches!(byte, b'+' | b'(')).count();
        let extended = window.start - signs..window.end;
        if signs > 0 && self.fits(detector, extended.clone()) && self.take(index, detector, extended) {
            return true;
        }
        self.fits(detector, window.clone()) && self.take(index, detector, window)
    }

    fn fits(&self, detector: &Compiled, window: Range<usize>) -> bool {
        let Some(pattern) = &detector.pattern else {
            return true;
        };
        let input = Input::new(self.text).span(window.clone()).anchored(Anchored::Yes);
        pattern.search(&input).is_some_and(|found| found.end() == window.end)
    }

    /// Whether what was matched is what was meant; then it is found.
    fn take(&mut self, index: u16, detector: &Compiled, matched: Range<usize>) -> bool {
        if !bounded(self.text.as_bytes(), detector.boundary, &matched) {
            return false;
        }
        let matched = match &detector.until {
            None => matched,
            Some(_) => match block::reach(self.text, &matched, detector) {
                Some(whole) => whole,
                None => return false,
            },
        };
        let range = whole_letters(self.text, self.value_of(detector, matched.clone()));
        let Some(value) = self.text.get(range.clone()).filter(|value| !value.is_empty()) else {
            return false;
        };
        if !detector.checks.iter().all(|check| check.passes(value)) {
            return false;
        }
        let context = detector.context.as_ref().filter(|context| context.required);
        if context.is_some_and(|context| !context.holds(self.text, &matched, self.key)) {
            return false;
        }
        self.mark(index).matched = (matched.start, matched.end);
        self.out.push(Found {
            rule: index,
            start: small(range.start),
            end: small(range.end),
            view: self.view,
            value: value.into(),
        });
        true
    }

    fn value_of(&self, detector: &Compiled, matched: Range<usize>) -> Range<usize> {
        let Some(pattern) = detector.pattern.as_ref().filter(|_| detector.grouped) else {
            return matched;
        };
        let mut groups = pattern.create_captures();
        let input = Input::new(self.text).span(matched.clone()).anchored(Anchored::Yes);
        pattern.search_captures(&input, &mut groups);
        groups.get_group(1).map_or(matched, |group| group.range())
    }
}

fn bounded(text: &[u8], boundary: Boundary, range: &Range<usize>) -> bool {
    !joins(text, boundary, range.start.checked_sub(1)) && !joins(text, boundary, Some(range.end))
}

/// Whether what stands there would belong to the match.
fn joins(text: &[u8], boundary: Boundary, at: Option<usize>) -> bool {
    at.and_then(|at| text.get(at)).is_some_and(|byte| match boundary {
        Boundary::Word => byte.is_ascii_alphanumeric(),
        Boundary::Token => byte.is_ascii_alphanumeric() || *byte == b'_',
        Boundary::Digit => byte.is_ascii_digit(),
        Boundary::None => false,
    })
}

/// A pattern of bytes may end inside a character; the character is taken whole.
fn whole_letters(text: &str, range: Range<usize>) -> Range<usize> {
    let mut start = range.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = range.end.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}
