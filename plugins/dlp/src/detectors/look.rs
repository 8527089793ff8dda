//! Reads a text in every way it may be meant.

use std::cmp::Reverse;
use std::ops::Range;

use regex_automata::{Anchored, Input};
use smallvec::SmallVec;

use super::{Boundary, Compiled, Detectors, View, digits};
use crate::mapped::{Mapped, small};
use crate::spots::{DigitRun, Spot, spots};
use crate::{encoded, escapes, fold};

/// Something found, with its value as a reader would write it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub rule: u16,
    pub start: u32,
    pub end: u32,
    pub view: View,
    pub value: Box<str>,
}

impl Found {
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Texts in base64 in base64: three are followed.
const DECODED_LAYERS: u8 = 3;
/// Escapes of escapes shrink with every layer, so more of them are.
const PEELED_LAYERS: u8 = 6;
/// All readings of a text together may be so many times as long as it.
const BUDGET: usize = 4;
/// Short texts may be read more often.
const SMALL_CHANGE: usize = 4096;
/// How far before its anchor a match may begin, and how far behind it it may end.
const BEFORE: usize = 320;
const BEHIND: usize = 16 * 1024;
/// The same for anchors that are much of the match themselves: digits, colons, runs.
const SHORTLY_BEFORE: usize = 32;
const SHORTLY_BEHIND: usize = 512;
/// Matches near one anchor that turn out to be nothing, before it is given up.
const TRIES: usize = 8;

#[derive(Clone, Copy)]
struct Layers {
    peel: u8,
    decode: u8,
}

type Done = SmallVec<[(u16, usize); 8]>;
type Runs = SmallVec<[Range<usize>; 8]>;

impl Detectors {
    /// Everything in a text, sorted, not overlapping.
    pub(crate) fn look(&self, text: &str, key: Option<&str>, out: &mut Vec<Found>) {
        let first = out.len();
        let mut budget = text.len().saturating_mul(BUDGET).saturating_add(SMALL_CHANGE);
        let layers = Layers { peel: PEELED_LAYERS, decode: DECODED_LAYERS };
        self.read(text, key, View::Plain, layers, &mut budget, out);
        if out.len() - first > 1 {
            self.settle(out, first);
        }
    }

    fn read(
        &self,
        text: &str,
        key: Option<&str>,
        view: View,
        layers: Layers,
        budget: &mut usize,
        out: &mut Vec<Found>,
    ) {
        if let Some(folded) = fold::folded(text) {
            let view = if view == View::Plain { View::Folded } else { view };
            let first = out.len();
            self.read_folded(folded.text(), key, view, layers, budget, out);
            map_back(out, first, &folded);
        } else {
            self.read_folded(text, key, view, layers, budget, out);
        }
    }

    fn read_folded(
        &self,
        text: &str,
        key: Option<&str>,
        view: View,
        layers: Layers,
        budget: &mut usize,
        out: &mut Vec<Found>,
    ) {
        let runs = self.plain(text, key, view, out);
        if let Some(peeled) = escapes::peeled(text) {
            let inner = peeled.text();
            if layers.peel == 0 || inner.len() > *budget {
                out.push(self.unread(0..text.len(), text));
            } else {
                *budget -= inner.len();
                let first = out.len();
                let layers = Layers { peel: layers.peel - 1, ..layers };
                self.read(inner, key, View::Escaped, layers, budget, out);
                map_back(out, first, &peeled);
            }
        }
        for run in runs {
            self.decoded(text, run, key, layers, budget, out);
        }
    }

    /// What a run of letters says if it is base64 or hexadecimal. All of it is found as one: nothing inside can be cut out.
    fn decoded(
        &self,
        text: &str,
        run: Range<usize>,
        key: Option<&str>,
        layers: Layers,
        budget: &mut usize,
        out: &mut Vec<Found>,
    ) {
        let Some(letters) = text.get(run.clone()) else {
            return;
        };
        encoded::readings(letters, |range, view, inner| {
            if !self.suspects(inner.as_bytes()) {
                return;
            }
            let mut range = run.start + range.start..run.start + range.end;
            let padding = text.as_bytes().get(range.end..).unwrap_or_default();
            range.end += padding.iter().take(2).take_while(|byte| **byte == b'=').count();
            if layers.decode == 0 || inner.len() > *budget {
                out.push(self.unread(range, letters));
                return;
            }
            *budget -= inner.len();
            let mut within = Vec::new();
            let layers = Layers { decode: layers.decode - 1, ..layers };
            self.read(&inner, key, View::Plain, layers, budget, &mut within);
            let strongest = within.into_iter().max_by_key(|one| (self.severity(one.rule), one.end - one.start));
            if let Some(strongest) = strongest {
                out.push(Found { start: small(range.start), end: small(range.end), view, ..strongest });
            }
        });
    }

    fn unread(&self, range: Range<usize>, text: &str) -> Found {
        let rule = u16::try_from(self.rules.len().saturating_sub(1)).unwrap_or(u16::MAX);
        Found { rule, start: small(range.start), end: small(range.end), view: View::Unread, value: text.into() }
    }

    /// The text as it stands. Returns the runs that may be encoded texts.
    fn plain(&self, text: &str, key: Option<&str>, view: View, out: &mut Vec<Found>) -> Runs {
        let mut seen = Seen { set: self, text, key, view, out, done: Done::new() };
        for literal in self.literals.find_overlapping_iter(text) {
            let begun = self.begun.get(literal.pattern().as_usize());
            for detector in begun.into_iter().flatten() {
                seen.try_at(*detector, literal.start()..literal.end(), BEFORE);
            }
        }
        for word in self.words.iter().flat_map(|words| words.find_overlapping_iter(text)) {
            seen.word(word.pattern().as_usize(), word.start()..word.end());
        }
        for detector in &self.everywhere {
            seen.try_everywhere(*detector);
        }
        let mut runs = Runs::new();
        spots(text.as_bytes(), &self.least, |spot| {
            match spot {
                Spot::At(at) => self.at.iter().for_each(|detector| seen.try_at(*detector, at..at + 1, BEFORE)),
                Spot::Colons { start, end, count } => {
                    for (_, detector) in self.colons.iter().filter(|(least, _)| count >= *least) {
                        seen.try_at(*detector, start..end, SHORTLY_BEFORE);
                    }
                }
                Spot::Digits(run) => seen.digits(run),
                Spot::Run { start, end } => {
                    for (_, detector) in self.runs.iter().filter(|(least, _)| end - start >= *least) {
                        seen.try_at(*detector, start..end, SHORTLY_BEFORE);
                    }
                    join_lines(text.as_bytes(), &mut runs, start..end);
                }
                Spot::Encoded(_) => {}
            }
            true
        });
        runs.retain(|run| encoded::plausible(text.as_bytes().get(run.clone()).unwrap_or_default()));
        runs
    }

    /// Of two that overlap the longer stays, or the more severe, or the one written first; it takes the other's place too.
    fn settle(&self, out: &mut Vec<Found>, first: usize) {
        let mut all = out.split_off(first.min(out.len()));
        all.sort_by_key(|one| (one.start, Reverse(one.end), Reverse(self.severity(one.rule)), one.rule, one.view));
        for one in all {
            match out.get_mut(first..).and_then(<[Found]>::last_mut) {
                Some(last) if one.start < last.end => {
                    let (start, end) = (last.start, last.end.max(one.end));
                    let weight = |found: &Found| (found.end - found.start, self.severity(found.rule));
                    if weight(&one) > weight(last) {
                        *last = one;
                    }
                    (last.start, last.end) = (start, end);
                }
                _ => out.push(one),
            }
        }
    }
}

fn map_back(out: &mut [Found], first: usize, map: &Mapped) {
    for one in out.iter_mut().skip(first) {
        let range = map.origin(one.range());
        (one.start, one.end) = (small(range.start), small(range.end));
    }
}

/// Mail breaks base64 into lines; they are one run.
fn join_lines(text: &[u8], runs: &mut Runs, run: Range<usize>) {
    const SHORTEST_LINE: usize = 40;
    if let Some(last) = runs.last_mut() {
        let gap = text.get(last.end..run.start).unwrap_or_default();
        if (gap == b"\n" || gap == b"\r\n") && last.len() >= SHORTEST_LINE {
            last.end = run.end;
            return;
        }
    }
    runs.push(run);
}

/// One text being looked at.
struct Seen<'s> {
    set: &'s Detectors,
    text: &'s str,
    key: Option<&'s str>,
    view: View,
    out: &'s mut Vec<Found>,
    /// Where each detector's last match ended: an anchor inside it begins nothing new.
    done: Done,
}

impl<'s> Seen<'s> {
    fn try_at(&mut self, index: u16, anchor: Range<usize>, before: usize) {
        let set: &'s Detectors = self.set;
        let Some(detector) = set.compiled.get(usize::from(index)) else {
            return;
        };
        let Some(pattern) = &detector.pattern else {
            return;
        };
        let done = self.done.iter().find(|(of, _)| *of == index).map_or(0, |(_, end)| *end);
        if anchor.start < done {
            return;
        }
        // Nobody looks further than a match can reach, or every number would cost the rest of the text.
        let behind = if before == SHORTLY_BEFORE { SHORTLY_BEHIND } else { BEHIND };
        let end = (anchor.end + behind).min(self.text.len());
        let input = Input::new(self.text);
        if detector.begins_with_anchor {
            if let Some(found) = pattern.search(&input.span(anchor.start..end).anchored(Anchored::Yes)) {
                self.take(index, detector, found.range());
            }
            return;
        }
        let mut start = anchor.start.saturating_sub(before).max(done);
        let mut tries = TRIES;
        while tries > 0 {
            let Some(found) = pattern.search(&Input::new(self.text).span(start..end)) else {
                return;
            };
            if found.start() >= anchor.end {
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

    fn try_everywhere(&mut self, index: u16) {
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

    fn word(&mut self, word: usize, range: Range<usize>) {
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

    fn digits(&mut self, run: DigitRun) {
        let set: &'s Detectors = self.set;
        let bytes = self.text.as_bytes();
        if digits::in_uuid(bytes, run) {
            return;
        }
        for (_, detector) in set.digits.iter().filter(|(least, _)| run.count >= *least) {
            self.try_at(*detector, run.start..run.end, SHORTLY_BEFORE);
        }
        for (_, detector) in set.dots.iter().filter(|(least, _)| run.dots >= *least) {
            self.try_at(*detector, run.start..run.end, SHORTLY_BEFORE);
        }
        for (index, detector, wanted) in set.windowed() {
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
        match self.done.iter_mut().find(|(of, _)| *of == index) {
            Some((_, end)) => *end = matched.end,
            None => self.done.push((index, matched.end)),
        }
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
    let joins = |byte: Option<&u8>| {
        byte.is_some_and(|byte| match boundary {
            Boundary::Word => byte.is_ascii_alphanumeric(),
            Boundary::Token => byte.is_ascii_alphanumeric() || *byte == b'_',
            Boundary::Digit => byte.is_ascii_digit(),
            Boundary::None => false,
        })
    };
    !joins(range.start.checked_sub(1).and_then(|before| text.get(before))) && !joins(text.get(range.end))
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
