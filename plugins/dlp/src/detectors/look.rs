//! Reads a text in every way it may be meant.

use std::cmp::Reverse;
use std::ops::Range;

use smallvec::SmallVec;

use super::near::Lead;
use super::seen::{Marks, Seen};
use super::{Detectors, Spoken, View, near};
use crate::cuts::Pieces;
use crate::mapped::{Mapped, small};
use crate::spots::{Spot, spots};
use crate::{Action, cuts, dump, encoded, escapes, fold};

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
pub(super) const SMALL_CHANGE: usize = 4096;

/// Signs that fill up what was encoded: two in base64, six in base32.
const MOST_PADDING: usize = 6;

#[derive(Clone, Copy)]
pub(super) struct Layers {
    peel: u8,
    decode: u8,
}

type Runs = SmallVec<[Range<usize>; 8]>;

/// What a text holds that has to be read in another way.
pub(super) struct Leads {
    /// How much had been found before, elsewhere.
    pub first: usize,
    /// May be encoded texts.
    runs: Runs,
    /// Bytes that are written one by one.
    pairs: Runs,
    /// Numbers with signs between their groups that numbers do not have.
    pub apart: Runs,
    /// Values that something cuts.
    pub cut: SmallVec<[Pieces; 2]>,
    /// Brackets around one sign, and what makes a text of a list of numbers.
    pub signs: Runs,
}

impl Detectors {
    /// Everything in a text that something is done about (`action`), sorted, not overlapping.
    pub(crate) fn look(
        &self,
        text: &str,
        key: Option<&str>,
        action: impl Fn(u16) -> Option<Action>,
        out: &mut Vec<Found>,
    ) {
        let first = out.len();
        let mut budget = text.len().saturating_mul(BUDGET).saturating_add(SMALL_CHANGE);
        let layers = Layers { peel: PEELED_LAYERS, decode: DECODED_LAYERS };
        self.read(text, key, View::Plain, layers, &mut budget, out);
        // Before anything is settled: what nobody asks for must not take the place of what somebody does.
        let mut at = 0;
        out.retain(|one| {
            at += 1;
            at <= first || action(one.rule).is_some()
        });
        if out.len() - first > 1 {
            self.settle(out, first, action);
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
            for one in out.iter_mut().skip(first) {
                one.end = small(fold::shown_end(text, one.range()));
            }
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
        let leads = self.plain(text, key, view, out);
        self.again(text, key, &leads, layers, budget, out);
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
                for one in out.iter_mut().skip(first) {
                    one.end = small(escapes::line_end(text, one.range(), &one.value));
                }
            }
        }
        for run in leads.runs {
            self.decoded(text, run, key, layers, budget, out);
        }
        let mut behind = 0;
        for range in leads.pairs {
            if range.start < behind {
                continue;
            }
            let (range, written) = dump::whole(text, &range);
            behind = range.end;
            if let Some(inner) = encoded::of_pairs(&written) {
                self.beside(text, &inner, range, key, layers, budget, out);
            }
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
            let mut range = run.start + range.start..run.start + range.end;
            let padding = text.as_bytes().get(range.end..).unwrap_or_default();
            range.end += padding.iter().take(MOST_PADDING).take_while(|byte| **byte == b'=').count();
            self.within(&inner, range, view, key, layers, budget, out);
        });
    }

    /// What a decoded text holds, found in the place of what it was decoded from.
    #[expect(clippy::too_many_arguments, reason = "one reading, all of which is passed on")]
    pub(super) fn within(
        &self,
        inner: &str,
        range: Range<usize>,
        view: View,
        key: Option<&str>,
        layers: Layers,
        budget: &mut usize,
        out: &mut Vec<Found>,
    ) {
        if !self.suspects(inner.as_bytes()) {
            return;
        }
        if layers.decode == 0 || inner.len() > *budget {
            out.push(self.unread(range, inner));
            return;
        }
        *budget -= inner.len();
        let mut within = Vec::new();
        let layers = Layers { decode: layers.decode - 1, ..layers };
        self.read(inner, key, View::Plain, layers, budget, &mut within);
        let strongest = within.into_iter().max_by_key(|one| (self.severity(one.rule), one.end - one.start));
        if let Some(strongest) = strongest {
            out.push(Found { start: small(range.start), end: small(range.end), view, ..strongest });
        }
    }

    fn unread(&self, range: Range<usize>, text: &str) -> Found {
        let rule = u16::try_from(self.rules.len().saturating_sub(1)).unwrap_or(u16::MAX);
        Found { rule, start: small(range.start), end: small(range.end), view: View::Unread, value: text.into() }
    }

    /// The text as it stands. Returns what has to be read in another way.
    pub(super) fn plain(&self, text: &str, key: Option<&str>, view: View, out: &mut Vec<Found>) -> Leads {
        let first = out.len();
        let mut seen =
            Seen { set: self, text, key, view, out, marks: Marks::new(), spoken: None, may: None, tables: None };
        let mut cut: SmallVec<[Pieces; 2]> = SmallVec::new();
        let mut signs = Runs::new();
        self.literals.each(text.as_bytes(), |literal, start, end| {
            if let Some(pieces) = cuts::pieces(text.as_bytes(), &(start..end))
                && cut.last().is_none_or(|last| last.first_cut() < pieces.first_cut())
            {
                cut.push(pieces);
            }
            let begun = self.begun.get(literal).map(Vec::as_slice).unwrap_or_default();
            let sign = text.as_bytes().get(start..end).unwrap_or_default();
            if matches!(sign, [b'[' | b'(' | b'{', ..] | [.., b'(' | b'[']) {
                signs.push(start..end);
            }
            for detector in begun {
                seen.try_at(*detector, start..end);
            }
            true
        });
        for word in self.words.iter().flat_map(|words| words.find_overlapping_iter(text)) {
            seen.word(word.pattern().as_usize(), word.start()..word.end());
        }
        for detector in &self.everywhere {
            seen.try_everywhere(*detector);
        }
        let mut runs = Runs::new();
        let mut pairs = Runs::new();
        let mut apart = Runs::new();
        spots(text.as_bytes(), &self.least, |spot| {
            match spot {
                Spot::At(at) => self.at.iter().for_each(|detector| seen.try_at(*detector, at..at + 1)),
                Spot::Colons { start, end, count } if seen.anything_near(&(start..end), Lead::Number) => {
                    for (least, detector) in &self.colons {
                        if count >= *least && seen.may_match(*detector) {
                            seen.try_near(*detector, start..end, Lead::Number);
                        }
                    }
                }
                Spot::Digits(run) => seen.digits(run),
                Spot::Run { start, end } => {
                    if end - start >= self.shortest_run && seen.anything_near(&(start..end), Lead::LongWord) {
                        for (least, detector) in &self.runs {
                            if end - start >= *least && seen.may_match(*detector) {
                                seen.try_near(*detector, start..end, Lead::LongWord);
                            }
                        }
                    }
                    join_lines(text.as_bytes(), &mut runs, start..end);
                }
                Spot::Pairs { start, end } => pairs.push(start..end),
                Spot::Apart { start, end } => apart.push(start..end),
                Spot::Colons { .. } | Spot::Encoded(_) => {}
            }
            true
        });
        runs.retain(|run| encoded::plausible(text.as_bytes().get(run.clone()).unwrap_or_default()));
        Leads { first, runs, pairs, apart, cut, signs }
    }

    /// Whose words stand in a text or its key, wherever.
    pub(super) fn spoken(&self, text: &str, key: Option<&str>) -> Spoken {
        let nobody = || SmallVec::from_elem(0, self.compiled.len().div_ceil(64));
        let mut spoken = Spoken { asked: nobody(), denied: nobody() };
        let Some(words) = &self.words_nearby else { return spoken };
        for part in [Some(text), key].into_iter().flatten() {
            words.each(part.as_bytes(), |word, _, _| {
                if let Some(nearby) = self.nearby.get(word) {
                    nearby.asked_by.iter().for_each(|index| near::set(&mut spoken.asked, *index));
                    nearby.denied_by.iter().for_each(|index| near::set(&mut spoken.denied, *index));
                }
                true
            });
        }
        spoken
    }

    /// Of two that overlap the surer stays, or the one with the stricter action, or the more severe, or the longer, or the one of the
    /// first tier, or the one written first; it takes the other's place too. Length alone says nothing: an address may hold a key.
    fn settle(&self, out: &mut Vec<Found>, first: usize, action: impl Fn(u16) -> Option<Action>) {
        let mut all = out.split_off(first.min(out.len()));
        all.sort_by_key(|one| (one.start, Reverse(one.end), Reverse(self.severity(one.rule)), one.rule, one.view));
        // Where the one that stays really lies: the place of all of them may be longer.
        let mut own = 0;
        for one in all {
            match out.get_mut(first..).and_then(<[Found]>::last_mut) {
                Some(last) if one.start < last.end => {
                    let (start, end) = (last.start, last.end.max(one.end));
                    let weight = |found: &Found, length: u32| {
                        let sure = self.compiled.get(usize::from(found.rule)).is_some_and(|detector| detector.sure);
                        let tier = self.rule(found.rule).map_or(u8::MAX, |rule| rule.tier);
                        (sure, action(found.rule), self.severity(found.rule), length, Reverse(tier))
                    };
                    let length = one.end - one.start;
                    if weight(&one, length) > weight(last, own) {
                        own = length;
                        *last = one;
                    }
                    (last.start, last.end) = (start, end);
                }
                _ => {
                    own = one.end - one.start;
                    out.push(one);
                }
            }
        }
    }
}

pub(super) fn map_back(out: &mut [Found], first: usize, map: &Mapped) {
    for one in out.iter_mut().skip(first) {
        let range = map.origin(one.range());
        (one.start, one.end) = (small(range.start), small(range.end));
    }
}

/// With what indents or quotes the next line.
fn is_line_break(gap: &[u8]) -> bool {
    const WIDEST: usize = 24;
    let gap = gap.strip_prefix(b"\r").unwrap_or(gap);
    gap.len() <= WIDEST && gap.strip_prefix(b"\n").is_some_and(|gap| gap.iter().all(|byte| b" \t>".contains(byte)))
}

/// Mail breaks base64 into lines; they are one run.
fn join_lines(text: &[u8], runs: &mut Runs, run: Range<usize>) {
    if let Some(last) = runs.last_mut() {
        let gap = text.get(last.end..run.start).unwrap_or_default();
        let lines = text.get(last.clone()).unwrap_or_default();
        let line = lines.iter().rev().take_while(|byte| !byte.is_ascii_whitespace() && **byte != b'>').count();
        // Lines are broken at a width, in the middle of nothing: a token of its own with a word in the next line is no part of one.
        if is_line_break(gap) && (40..=128).contains(&line) && line.is_multiple_of(4) {
            last.end = run.end;
            return;
        }
    }
    runs.push(run);
}
