//! One reading of a text, and what each detector makes of it.

use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};
use smallvec::SmallVec;

use super::bounds::{bounded, joins_before, whole_letters};
use super::context::Tables;
use super::look::Found;
use super::near::{Beginnings, Lead};
use super::{Compiled, Detectors, Spoken, View, block, digits, near};
use crate::Check;
use crate::mapped::small;
use crate::spots::DigitRun;

/// How far before its anchor a match may begin, and how far behind it it may end.
const BEFORE: usize = 320;
const BEHIND: usize = 16 * 1024;
/// The same for anchors that are much of the match themselves: digits, colons, runs.
const SHORTLY_BEFORE: usize = 32;
const SHORTLY_BEHIND: usize = 512;
/// How far a token may go on without a blank, and how often that is tried in vain: text that only looks like one costs no more.
const FAR: usize = 256 * 1024;
const MOST_FAR: u8 = 4;
/// What matches around one anchor that turn out to be nothing may cost before it is given up: a long one its length, a short one
/// a little, so that a row of near misses hides nothing and one endless token is not read from each of its letters.
const PATIENCE: usize = 4096;
const SHORT_MISS: usize = 64;
/// After so many anchors in vain the next search looks for all beginnings at once, and what it passes is known to be barren.
const STRIKES: u8 = 4;

/// Where a match may begin that holds some of a number or of a long word.
pub(super) fn beginnings(anchor: &Range<usize>) -> Range<usize> {
    anchor.start.saturating_sub(SHORTLY_BEFORE)..anchor.end
}

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
    /// An anchor, and how far every beginning before it and in it has been tried: the next anchor begins there.
    tried: (usize, usize),
    /// Anchors in a row that began nothing.
    strikes: u8,
}

#[cfg(test)]
thread_local! {
    static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Bytes that patterns were asked to read; tests compare them with the length of a text.
#[cfg(test)]
fn work(bytes: usize) {
    WORK.with(|work| work.set(work.get() + bytes));
}

#[cfg(not(test))]
fn work(_: usize) {}

pub(super) type Marks = SmallVec<[Mark; 8]>;

/// A match around an anchor reaches no further beyond it, where it is known that none does up to there.
const REACH: usize = 256;

/// No telephone number has more digits.
const LONGEST_DIALLED: usize = 15;

/// One text being looked at.
pub(super) struct Seen<'s> {
    pub set: &'s Detectors,
    pub text: &'s str,
    pub key: Option<&'s str>,
    pub view: View,
    pub out: &'s mut Vec<Found>,
    pub marks: Marks,
    /// Whose words stand anywhere in the text or its key; found out when first asked.
    pub spoken: Option<Spoken>,
    /// The same for those that can match at all beside a number or a long word.
    pub may: Option<near::Sorted>,
    /// How columns are named here, if they are.
    pub tables: Option<Tables>,
}

impl<'s> Seen<'s> {
    /// Whether a detector's words can be near anything here. Most texts hold nobody's, and are done with at once.
    fn is_spoken_of(&mut self, index: u16, detector: &Compiled) -> bool {
        if detector.context.as_ref().is_none_or(|context| !context.required) {
            return true;
        }
        let (set, text, key) = (self.set, self.text, self.key);
        let spoken = self.spoken.get_or_insert_with(|| set.spoken(text, key));
        near::has(&spoken.asked, index)
    }

    /// Whether words that make something else of what a detector found can be near anything here.
    fn may_be_denied(&self, index: u16) -> bool {
        self.spoken.as_ref().is_none_or(|spoken| near::has(&spoken.denied, index))
    }

    #[expect(clippy::indexing_slicing, reason = "the place was just found, or made")]
    fn mark(&mut self, index: u16) -> &mut Mark {
        let at = match self.marks.iter().position(|mark| mark.index == index) {
            Some(at) => at,
            None => {
                self.marks.push(Mark { index, matched: (0, 0), barren: (0, 0), far: 0, tried: (0, 0), strikes: 0 });
                self.marks.len() - 1
            }
        };
        &mut self.marks[at]
    }

    /// Whether any detector can match around this number or long word, or around one before it.
    pub fn anything_near(&mut self, anchor: &Range<usize>, lead: Lead) -> bool {
        let (set, text, key) = (self.set, self.text, self.key);
        let spoken = &mut self.spoken;
        let may = self.may.get_or_insert_with(|| {
            let spoken = spoken.get_or_insert_with(|| set.spoken(text, key));
            set.near.sorted(text, &spoken.asked)
        });
        set.near.sort_out(text, beginnings(anchor), lead, may);
        !may.is_empty()
    }

    /// Whether a detector is one of those that may match around the place that was asked for last.
    #[inline]
    pub fn may_match(&self, index: u16) -> bool {
        self.may.as_ref().is_some_and(|may| may.has(index))
    }

    /// Around a number or a long word.
    pub fn try_near(&mut self, index: u16, anchor: Range<usize>, lead: Lead) {
        let Some(may) = &self.may else { return };
        let from = may.beginnings(index, lead, &beginnings(&anchor));
        self.try_from(index, anchor, SHORTLY_BEFORE, &from);
    }

    /// Around a literal or a sign.
    pub fn try_at(&mut self, index: u16, anchor: Range<usize>) {
        self.try_from(index, anchor, BEFORE, &Beginnings::Anywhere);
    }

    fn try_from(&mut self, index: u16, anchor: Range<usize>, before: usize, from: &Beginnings) {
        let set: &'s Detectors = self.set;
        let Some(detector) = set.compiled.get(usize::from(index)) else {
            return;
        };
        let Some(pattern) = &detector.pattern else {
            return;
        };
        if detector.begins_with_anchor && joins_before(self.text.as_bytes(), detector.boundary, anchor.start) {
            return;
        }
        if !self.is_spoken_of(index, detector) {
            return;
        }
        let Mark { matched, barren, tried, strikes, .. } = *self.mark(index);
        // Anchors of different kinds do not come in order: only what is behind this one says where it may begin.
        let floor = if matched.1 <= anchor.start { matched.1 } else { 0 };
        let floor = if tried.0 <= anchor.start { floor.max(tried.1) } else { floor };
        let before = if detector.begins_with_anchor { 0 } else { before };
        let start = anchor.start.saturating_sub(before).max(floor);
        if (matched.0..matched.1).contains(&anchor.start) || (barren.0 <= start && anchor.end <= barren.1) {
            return;
        }
        if detector.begins_with_anchor {
            self.try_beginning(index, detector, pattern, anchor, strikes);
            return;
        }
        match from {
            Beginnings::Anywhere => self.try_around(index, detector, pattern, anchor, start, before),
            Beginnings::At(places) => self.try_each(index, detector, pattern, anchor, start, places),
        }
    }

    /// There is one place where a match can begin.
    fn try_beginning(&mut self, index: u16, detector: &Compiled, pattern: &Regex, anchor: Range<usize>, strikes: u8) {
        let length = self.text.len();
        let span = anchor.start..(anchor.end + BEHIND).min(length);
        if detector.open && strikes >= STRIKES {
            // What has no longest match may read far before it fails. As far again as a match may reach, so that nothing is called
            // barren that a search of its own would find.
            let end = (anchor.start + 2 * BEHIND).min(length);
            work(end - anchor.start);
            let next = pattern.search(&Input::new(self.text).span(anchor.start..end)).map(|found| found.start());
            let known = if end == length { end } else { end - BEHIND };
            let first = next.unwrap_or(known);
            if first > anchor.start {
                self.mark(index).barren = (anchor.start, first);
                return;
            }
        }
        work(if detector.open { span.len() } else { 0 });
        let found = self.beginning(index, pattern, span);
        let taken = found.is_some_and(|found| self.take(index, detector, found));
        let mark = self.mark(index);
        mark.strikes = if taken { 0 } else { mark.strikes.saturating_add(1) };
    }

    /// A match may begin anywhere before its anchor.
    fn try_around(
        &mut self,
        index: u16,
        detector: &Compiled,
        pattern: &Regex,
        anchor: Range<usize>,
        mut start: usize,
        before: usize,
    ) {
        // Nobody looks further than a match can reach, or every number would cost the rest of the text.
        let behind = if before == SHORTLY_BEFORE { SHORTLY_BEHIND } else { BEHIND };
        let end = (anchor.end + behind).min(self.text.len());
        let least = if before == SHORTLY_BEFORE { 1 } else { SHORT_MISS };
        let mut patience = PATIENCE.saturating_add(anchor.len().saturating_mul(8));
        // An anchor that another, longer one holds was read with it.
        while patience > 0 && start < end {
            let Some(found) = pattern.search(&Input::new(self.text).span(start..end)) else {
                work(end - start);
                let known = if end == self.text.len() { end } else { end.saturating_sub(REACH) };
                self.mark(index).barren = (start, known);
                break;
            };
            work(found.end() - start);
            if found.start() >= anchor.end {
                self.mark(index).barren = (start, found.start());
                break;
            }
            let taken = if found.end() > anchor.start { self.taken(index, detector, found.range()) } else { None };
            if let Some(taken) = taken {
                // Two numbers with a blank between them are one run of digits.
                start = taken.max(start + 1);
                continue;
            }
            // Somebody else's, with an anchor of its own, costs nothing: it is not met again.
            if found.end() > anchor.start {
                let length = found.end() - found.start();
                patience = patience.saturating_sub(if length > SHORT_MISS { length } else { least });
            }
            // A later beginning may still be something.
            start = found.start() + 1;
        }
        self.mark(index).tried = (anchor.start, start);
    }

    /// A match begins at one of these places or nowhere: the same as `try_around`, without looking for them.
    fn try_each(
        &mut self,
        index: u16,
        detector: &Compiled,
        pattern: &Regex,
        anchor: Range<usize>,
        mut start: usize,
        places: &[usize],
    ) {
        let end = (anchor.end + SHORTLY_BEHIND).min(self.text.len());
        let mut patience = PATIENCE.saturating_add(anchor.len().saturating_mul(8));
        for place in places {
            if *place < start || patience == 0 {
                continue;
            }
            let input = Input::new(self.text).span(*place..end).anchored(Anchored::Yes);
            let Some(found) = pattern.search(&input) else { continue };
            work(found.end() - place);
            start = place + 1;
            if found.end() <= anchor.start {
                continue;
            }
            match self.taken(index, detector, found.range()) {
                Some(taken) => start = taken.max(start),
                None => {
                    let length = found.end() - found.start();
                    patience = patience.saturating_sub(if length > SHORT_MISS { length } else { 1 });
                }
            }
        }
        self.mark(index).tried = (anchor.start, start);
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
        if self.anything_near(&(run.start..run.end), Lead::Number) {
            for (least, detector) in &set.digits {
                if run.count >= *least && self.may_match(*detector) {
                    self.try_near(*detector, run.start..run.end, Lead::Number);
                }
            }
            for (least, detector) in &set.dots {
                if run.dots >= *least && self.may_match(*detector) {
                    self.try_near(*detector, run.start..run.end, Lead::Number);
                }
            }
        }
        self.windows(run);
    }

    fn windows(&mut self, run: DigitRun) {
        let set: &'s Detectors = self.set;
        for (index, detector, wanted) in set.windowed() {
            if run.count < wanted.0 || !self.is_spoken_of(index, detector) {
                continue;
            }
            digits::windows(self.text, run, wanted, |window| self.window(index, detector, window));
        }
    }

    /// Whether some of a run's digits are a number, or may be one because of the words around it.
    pub fn takes_window(&mut self, run: DigitRun) -> bool {
        let set: &'s Detectors = self.set;
        let waits = |detector: &Compiled| detector.context.as_ref().is_some_and(|context| context.required);
        for (index, detector, wanted) in set.windowed() {
            if waits(detector) && run.count >= wanted.0 && self.is_spoken_of(index, detector) {
                return true;
            }
        }
        self.windows(run);
        !self.out.is_empty()
    }

    /// A window with the signs before it that belong to a number, or without them.
    fn window(&mut self, index: u16, detector: &Compiled, window: Range<usize>) -> bool {
        let before = self.text.as_bytes().get(..window.start).unwrap_or_default();
        let signs = before.iter().rev().take(2).take_while(|byte| matches!(byte, b'+' | b'(')).count();
        let extended = window.start - signs..window.end;
        if signs > 0 && self.fits(detector, extended.clone()) && self.take(index, detector, extended) {
            return true;
        }
        // Behind a `+` stands a telephone number, unless it is longer than any.
        let dialled = before.last() == Some(&b'+') && window.len() <= LONGEST_DIALLED;
        !dialled && self.fits(detector, window.clone()) && self.take(index, detector, window)
    }

    fn fits(&self, detector: &Compiled, window: Range<usize>) -> bool {
        // A checksum costs less than a pattern, and says no more often.
        let passes = |check: &Check| check.narrows() || check.fitting(self.text, window.clone()).is_some();
        if !detector.grouped && !detector.checks.iter().all(passes) {
            return false;
        }
        let Some(pattern) = &detector.pattern else {
            return true;
        };
        let input = Input::new(self.text).span(window.clone()).anchored(Anchored::Yes);
        pattern.search(&input).is_some_and(|found| found.end() == window.end)
    }

    /// Whether what was matched is what was meant; then it is found.
    fn take(&mut self, index: u16, detector: &Compiled, matched: Range<usize>) -> bool {
        self.taken(index, detector, matched).is_some()
    }

    /// Where what was found ends: a check may leave out what stands around a value.
    fn taken(&mut self, index: u16, detector: &Compiled, matched: Range<usize>) -> Option<usize> {
        let at_bounds = |range: &Range<usize>| bounded(self.text.as_bytes(), detector.boundary, range);
        let matched = match &detector.until {
            Some(_) if at_bounds(&matched) => block::reach(self.text, &matched, detector)?,
            Some(_) => return None,
            None => matched,
        };
        // Where no check moves them, the bounds say no sooner than any check.
        if detector.until.is_none() && !detector.narrows && !at_bounds(&matched) {
            return None;
        }
        let whole = whole_letters(self.text, self.value_of(detector, matched.clone()));
        let mut range = whole.clone();
        for check in &detector.checks {
            range = check.fitting(self.text, range)?;
        }
        let narrowed = range != whole;
        let matched = if narrowed { matched.start.max(range.start)..matched.end.min(range.end) } else { matched };
        if detector.until.is_none() && !at_bounds(&matched) {
            return None;
        }
        let value = self.text.get(range.clone()).filter(|value| !value.is_empty())?;
        let context = detector.context.as_ref().filter(|context| context.required);
        let unless = detector.unless.as_ref().filter(|_| self.may_be_denied(index));
        if context.is_some() || unless.is_some() {
            let tables = *self.tables.get_or_insert_with(|| Tables::of(self.text));
            if context.is_some_and(|context| !context.holds(self.text, &matched, self.key, tables)) {
                return None;
            }
            if unless.is_some_and(|unless| unless.denies(self.text, &matched, self.key, tables)) {
                return None;
            }
        }
        self.mark(index).matched = (matched.start, matched.end);
        self.out.push(Found {
            rule: index,
            start: small(range.start),
            end: small(range.end),
            view: self.view,
            value: value.into(),
        });
        Some(matched.end)
    }

    fn value_of(&self, detector: &Compiled, matched: Range<usize>) -> Range<usize> {
        let Some(pattern) = detector.pattern.as_ref().filter(|_| detector.grouped) else {
            return matched;
        };
        let mut groups = pattern.create_captures();
        let input = Input::new(self.text).span(matched.clone()).anchored(Anchored::Yes);
        pattern.search_captures(&input, &mut groups);
        let group = (1..groups.group_len()).find_map(|group| groups.get_group(group));
        group.map_or(matched, |group| group.range())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::WrittenDetector;

    fn set(pattern: &str, anchors: &[&str], check: Vec<Check>) -> Detectors {
        Detectors::compile(vec![WrittenDetector {
            id: "one".into(),
            pattern: Some(pattern.into()),
            anchors: anchors.iter().map(|anchor| (*anchor).to_owned()).collect(),
            check,
            ..WrittenDetector::default()
        }])
        .unwrap()
    }

    /// What is found, and how often the text was read for it.
    fn found(set: &Detectors, text: &str) -> (Vec<String>, usize) {
        WORK.with(|work| work.set(0));
        let mut hits = Vec::new();
        set.scan(text, None, &mut hits);
        let values =
            hits.iter().map(|hit| text.get(hit.start as usize..hit.end as usize).unwrap().to_owned()).collect();
        (values, WORK.with(std::cell::Cell::get) / text.len())
    }

    #[test]
    fn a_token_that_never_ends_is_not_read_from_each_of_its_beginnings() {
        let set = set(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", &["eyj"], Vec::new());
        let vain = "-eyJ".repeat(60_000);
        let (values, times) = found(&set, &vain);
        assert!(values.is_empty() && times < 16, "read {times} times");

        let token = format!("eyJ{}.{}", "a".repeat(9_000), "b".repeat(20));
        let (values, times) = found(&set, &format!("{vain} {token} {vain}"));
        assert_eq!(values, [token]);
        assert!(times < 16, "read {times} times");
    }

    #[test]
    fn a_row_of_near_misses_hides_nothing() {
        let mail = set(r"[a-z0-9.]+@[a-z0-9]+\.[a-z]+", &["@"], vec![Check::Email]);
        let address = set(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}", &["<dots:3>"], vec![Check::Ipv4]);
        for misses in [8, 40, 4_000] {
            let (values, times) = found(&mail, &format!("{}jane@example.org", "icon@2x.png ".repeat(misses)));
            assert_eq!(values, ["jane@example.org"], "behind {misses}");
            assert!(times < 40, "read {times} times");
            let (values, times) = found(&address, &format!("{}203.0.113.9", "999.1.1.1 ".repeat(misses)));
            assert_eq!(values, ["203.0.113.9"], "behind {misses}");
            assert!(times < 40, "read {times} times");
        }
        // It begins inside one that was nothing.
        assert_eq!(found(&mail, "x@y.png@example.org").0, ["y.png@example.org"]);
    }
}
