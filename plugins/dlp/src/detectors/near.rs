//! Which detectors can match at all in a text, found in one pass for all of them.
//!
//! Numbers and long words lead to half a hundred patterns, and nearly all of them fail in nearly every text. Here they are one
//! automaton, begun wherever a match may begin; a detector that it does not name need not be tried. It may name too many.

use std::collections::BTreeSet;
use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::pool::{Pool, PoolGuard};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use smallvec::SmallVec;

use super::Boundary;
use super::sieve::Points;
use crate::mapped::small;

/// One bit for each detector.
pub(crate) type Bits = SmallVec<[u64; 16]>;
type Make = Box<dyn Fn() -> Cache + Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>;
type Caches = Pool<Cache, Make>;
type Held<'n> = PoolGuard<'n, Cache, Make>;

/// All beginnings together may read the text so many times; a text that asks for more is not sorted out.
const BUDGET: usize = 6;
const SMALL_CHANGE: usize = 1024;
/// A text this short is searched for somebody sooner than all beginnings of his are remembered.
const SHORT: usize = 512;
/// The same for those who were spoken of: sooner than it is read by the automata of all who wait to be.
const NOT_LONG: usize = 4096;

/// A detector that a number or a long word leads to.
pub(super) struct LedTo {
    pub index: u16,
    pub boundary: Boundary,
    pub pattern: String,
    pub needs_words: bool,
    /// What is found may begin later than its match.
    pub narrows: bool,
    /// So much of something leads to it.
    pub least: Points,
}

impl LedTo {
    /// Both may.
    fn is_led_by(&self, lead: Lead) -> bool {
        let Points { digits, dots, run, colons } = self.least;
        match lead {
            Lead::LongWord => run < u32::MAX,
            Lead::Number => digits.min(dots).min(colons) < u32::MAX,
        }
    }
}

/// The detectors that need the same surroundings.
struct Group {
    automaton: DFA,
    caches: Caches,
    /// Detectors, by their place in the automaton.
    of: Vec<u16>,
}

/// Who belongs to a group, and behind which bytes a match of theirs may begin.
type Kind = (fn(&LedTo) -> bool, fn(u8) -> bool);

/// A bit for each group.
pub(super) type Groups = u16;
const MOST_GROUPS: usize = 16;

/// What leads to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    LongWord,
    Number,
}

/// Built once for a set of detectors.
pub(super) struct Near {
    groups: Vec<Group>,
    /// For every two bytes, the groups that begin with them.
    first: First,
    /// For each byte, the groups that may begin behind it.
    behind: Box<[Groups; 256]>,
    /// Those that long words lead to.
    by_words: Groups,
    /// Those of detectors that need words nearby.
    waiting: Groups,
    /// Whom the automata say nothing about.
    unknown: Bits,
    /// Who needs words nearby.
    required: Bits,
}

/// Whom a text leads to, as far as it was read.
pub(super) struct Sorted {
    /// Whom every place may belong to: nothing is known of them, or the text is short and they were named in it.
    anywhere: Bits,
    /// Who is of no use, because nobody speaks of them.
    unasked: Bits,
    groups: Groups,
    budget: usize,
    /// Nothing was sorted out, because that would have taken too long.
    everybody: bool,
    by_words: Known,
    by_numbers: Known,
    /// Those that may match around the place that was asked for last.
    here: Bits,
}

/// What was read for one lead.
#[derive(Default)]
struct Known {
    part: Range<usize>,
    /// Where matches begin, and whose, in the order of their places.
    named: SmallVec<[Named; 8]>,
}

#[derive(Debug, Clone, Copy)]
struct Named {
    at: u32,
    index: u16,
}

impl Known {
    fn within(&self, part: &Range<usize>) -> impl Iterator<Item = Named> {
        let first = self.named.partition_point(|one| (one.at as usize) < part.start);
        let end = part.end;
        self.named.iter().skip(first).copied().take_while(move |one| (one.at as usize) < end)
    }

    fn add(&mut self, one: Named) {
        // What may end at several places is named at each.
        if self.named.iter().rev().take_while(|other| other.at == one.at).any(|other| other.index == one.index) {
            return;
        }
        // Nearly always the last: a text is read from its beginning.
        let place = match self.named.last() {
            Some(last) if last.at > one.at => self.named.partition_point(|other| other.at <= one.at),
            _ => self.named.len(),
        };
        self.named.insert(place, one);
    }
}

/// What is done with whom an automaton names.
enum Naming<'s> {
    /// They may match anywhere in the text.
    Once(&'s mut Bits),
    /// Each beginning is remembered, but of those who are of no use.
    Each(&'s Bits, &'s mut Known),
    /// One is enough.
    Nobody,
}

impl Naming<'_> {
    /// `false` says enough.
    fn name(&mut self, at: usize, index: u16) -> bool {
        match self {
            Self::Once(anywhere) => set(anywhere, index),
            Self::Each(unasked, _) if has(unasked, index) => {}
            Self::Each(_, known) => known.add(Named { at: small(at), index }),
            Self::Nobody => return false,
        }
        true
    }

    /// Whether an automaton has nobody left to name.
    fn knows_all(&self, group: &Group) -> bool {
        matches!(self, Self::Once(anywhere) if group.of.iter().all(|index| has(anywhere, *index)))
    }
}

/// How many bytes an automaton read, and whether it named anybody.
struct Walked {
    read: usize,
    named: bool,
}

/// Where matches of a detector may begin.
pub(super) enum Beginnings {
    Anywhere,
    At(SmallVec<[usize; 8]>),
}

impl Sorted {
    /// Whether a detector may match around the place that was asked for last.
    pub fn has(&self, index: u16) -> bool {
        self.everybody || has(&self.here, index)
    }

    pub fn is_empty(&self) -> bool {
        !self.everybody && self.here.iter().all(|bits| *bits == 0)
    }

    /// Where a detector's matches begin in a part that was sorted out.
    pub fn beginnings(&self, index: u16, lead: Lead, part: &Range<usize>) -> Beginnings {
        if self.everybody || has(&self.anywhere, index) {
            return Beginnings::Anywhere;
        }
        let own = self.known(lead).within(part).filter(|one| one.index == index);
        Beginnings::At(own.map(|one| one.at as usize).collect())
    }

    fn known(&self, lead: Lead) -> &Known {
        match lead {
            Lead::LongWord => &self.by_words,
            Lead::Number => &self.by_numbers,
        }
    }
}

impl Near {
    /// Those that a number or a long word leads to, of how many detectors.
    pub fn new(led_to: &[LedTo], detectors: usize) -> Self {
        let none: Bits = SmallVec::from_elem(0, detectors.div_ceil(64));
        let behind = Box::new([0; 256]);
        let (groups, first, unknown) = (Vec::new(), First::default(), none.clone());
        let mut near = Self { groups, first, behind, by_words: 0, waiting: 0, unknown, required: none };
        for one in led_to {
            set(&mut near.unknown, one.index);
            if one.needs_words {
                set(&mut near.required, one.index);
            }
        }
        let kinds: [Kind; MOST_GROUPS / 4] = [
            (
                |one| !one.narrows && matches!(one.boundary, Boundary::Word | Boundary::Token),
                |byte| !byte.is_ascii_alphanumeric(),
            ),
            (
                |one| !one.narrows && matches!(one.boundary, Boundary::Digit | Boundary::Number),
                |byte| !byte.is_ascii_digit(),
            ),
            // Apart, because these begin with few bytes and those with nearly all.
            (|one| one.narrows, |_| true),
            (|one| !one.narrows && matches!(one.boundary, Boundary::End | Boundary::None), |_| true),
        ];
        // Whoever asks for words nearby is seldom asked at all, and would keep the others' automata busy with every word.
        let ways = [(Lead::LongWord, false), (Lead::Number, false), (Lead::LongWord, true), (Lead::Number, true)];
        let each = kinds.into_iter().flat_map(|kind| ways.map(|way| (kind, way)));
        for ((belongs, behind), (lead, waits)) in each {
            let own = led_to.iter().filter(|one| belongs(one) && one.needs_words == waits && one.is_led_by(lead));
            let mut own: Vec<&LedTo> = own.collect();
            let together = automaton(&texts(&own)).or_else(|| {
                own.retain(|one| automaton(&[one.pattern.as_str()]).is_some());
                automaton(&texts(&own))
            });
            let Some(automaton) = together.filter(|_| !own.is_empty()) else { continue };
            let of: Vec<u16> = own.iter().map(|one| one.index).collect();
            let bit = 1 << near.groups.len();
            near.first.mark(&automaton, bit);
            for (byte, places) in (0..=u8::MAX).zip(near.behind.iter_mut()) {
                *places |= if behind(byte) { bit } else { 0 };
            }
            let for_caches = automaton.clone();
            let caches: Caches = Pool::new(Box::new(move || for_caches.create_cache()));
            near.by_words |= if lead == Lead::LongWord { bit } else { 0 };
            near.waiting |= if waits { bit } else { 0 };
            near.groups.push(Group { automaton, caches, of });
        }
        for one in led_to {
            let groups = near.groups_of(one.index);
            let by_words = !one.is_led_by(Lead::LongWord) || groups & near.by_words != 0;
            let by_numbers = !one.is_led_by(Lead::Number) || groups & !near.by_words != 0;
            if groups != 0 && by_words && by_numbers {
                clear(&mut near.unknown, one.index);
            }
        }
        near
    }

    /// Nothing is read yet. Of those who need words nearby only the ones that were spoken of are looked for.
    pub fn sorted(&self, text: &str, spoken: &Bits) -> Sorted {
        let waits_for_none = text.len() <= NOT_LONG;
        let (mut unasked, mut anywhere) = (self.required.clone(), self.unknown.clone());
        let mut waits = 0;
        for ((unasked, anywhere), spoken) in unasked.iter_mut().zip(anywhere.iter_mut()).zip(spoken) {
            let asked = *unasked & spoken;
            waits |= asked;
            *unasked &= !spoken;
            *anywhere = (*anywhere & !*unasked) | if waits_for_none { asked } else { 0 };
        }
        let mut groups = !self.waiting;
        if waits != 0 && !waits_for_none {
            let asked = |group: &Group| group.of.iter().any(|index| !has(&unasked, *index));
            let awake = self.groups.iter().enumerate().filter(|(_, group)| asked(group));
            groups = awake.fold(groups, |groups, (place, _)| groups | 1 << place);
        }
        let budget = budget(text);
        let (by_words, by_numbers) = (Known::default(), Known::default());
        Sorted { anywhere, unasked, groups, budget, everybody: false, by_words, by_numbers, here: Bits::new() }
    }

    /// Sorts out those that may match from a beginning in this part of the text, and that this leads to.
    pub fn sort_out(&self, text: &str, part: Range<usize>, lead: Lead, sorted: &mut Sorted) {
        let known = match lead {
            Lead::LongWord => &mut sorted.by_words.part,
            Lead::Number => &mut sorted.by_numbers.part,
        };
        let before = known.clone();
        if part.end < before.start || before.end < part.start {
            *known = part.clone();
            self.read(text.as_bytes(), part.clone(), lead, sorted);
        } else {
            *known = before.start.min(part.start)..before.end.max(part.end);
            self.read(text.as_bytes(), part.start..before.start, lead, sorted);
            self.read(text.as_bytes(), before.end..part.end, lead, sorted);
        }
        let mut here = std::mem::take(&mut sorted.here);
        here.clear();
        here.extend_from_slice(&sorted.anywhere);
        sorted.known(lead).within(&part).for_each(|one| set(&mut here, one.index));
        sorted.here = here;
    }

    /// The automata of a lead.
    fn led_by(&self, lead: Lead) -> Groups {
        if lead == Lead::LongWord { self.by_words } else { !self.by_words }
    }

    fn read(&self, text: &[u8], part: Range<usize>, lead: Lead, sorted: &mut Sorted) {
        let groups = sorted.groups & self.led_by(lead);
        if sorted.everybody {
            return;
        }
        let Sorted { anywhere, unasked, budget, by_words, by_numbers, .. } = sorted;
        let known = if lead == Lead::LongWord { by_words } else { by_numbers };
        let mut naming = if text.len() <= SHORT { Naming::Once(anywhere) } else { Naming::Each(unasked, known) };
        sorted.everybody = self.each(text, part, groups, budget, &mut naming).is_none();
    }

    /// Names whose match begins at each beginning in a part; `None` where that would take too long, or one is enough.
    fn each(
        &self,
        text: &[u8],
        part: Range<usize>,
        mut groups: Groups,
        budget: &mut usize,
        naming: &mut Naming<'_>,
    ) -> Option<()> {
        if groups == 0 || part.is_empty() {
            return Some(());
        }
        let mut before = part.start.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(b' ');
        let bytes = text.get(part.clone()).unwrap_or_default();
        let mut caches: SmallVec<[(usize, Held<'_>); 2]> = SmallVec::new();
        for (at, byte) in (part.start..).zip(bytes) {
            // The last byte of a text is a beginning like any other.
            let open = groups & at_byte(&self.behind, before);
            let behind = std::mem::replace(&mut before, *byte);
            if open == 0 {
                continue;
            }
            let first = text.get(at + 1).map_or(Groups::MAX, |next| self.first.groups(behind, *byte, *next));
            let mut left = open & first;
            while left != 0 {
                let place = left.trailing_zeros() as usize;
                left &= left - 1;
                let Some(group) = self.groups.get(place) else { continue };
                let held = caches.iter().position(|(of, _)| *of == place).unwrap_or_else(|| {
                    caches.push((place, group.caches.get()));
                    caches.len() - 1
                });
                let Some((_, cache)) = caches.get_mut(held) else { continue };
                let input = Input::new(text).span(at..text.len()).anchored(Anchored::Yes);
                let walked = group.walk(cache, &input, at, naming)?;
                *budget = budget.checked_sub(walked.read)?;
                if walked.named && naming.knows_all(group) {
                    groups &= !(1 << place);
                }
            }
        }
        Some(())
    }

    /// The automata that name somebody in some text of this shape, a set of bytes for each of its places. May name too many.
    pub fn names_some_in(&self, shape: &[&[u8]]) -> Groups {
        let mut groups = 0;
        for (place, group) in self.groups.iter().enumerate() {
            let bit = 1 << place;
            let opens = |at: &usize| {
                let before = at.checked_sub(1).and_then(|at| shape.get(at));
                before.is_none_or(|before| before.iter().any(|byte| at_byte(&self.behind, *byte) & bit != 0))
            };
            if (0..shape.len()).filter(opens).any(|at| group.may_match_in(shape, at)) {
                groups |= bit;
            }
        }
        groups
    }

    /// How many automata there are.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// A detector's automata.
    pub fn groups_of(&self, index: u16) -> Groups {
        let own = self.groups.iter().map(|group| group.of.contains(&index));
        own.enumerate().fold(0, |groups, (place, own)| groups | Groups::from(own) << place)
    }

    /// Whether nothing is known of a detector.
    pub fn is_unknown(&self, index: u16) -> bool {
        has(&self.unknown, index)
    }

    /// Whether none of these automata names anybody in these parts of the text.
    pub fn names_nobody(&self, text: &str, parts: impl Iterator<Item = (Range<usize>, Lead)>, groups: Groups) -> bool {
        let mut budget = budget(text);
        let mut read = [0, 0];
        for (part, lead) in parts {
            let known = if lead == Lead::LongWord { &mut read[0] } else { &mut read[1] };
            // What points at a text does so in order.
            let part = part.start.max(*known)..part.end;
            *known = part.end.max(*known);
            let groups = groups & self.led_by(lead);
            if self.each(text.as_bytes(), part, groups, &mut budget, &mut Naming::Nobody).is_none() {
                return false;
            }
        }
        true
    }
}

/// How much all beginnings together may read.
fn budget(text: &str) -> usize {
    text.len().saturating_mul(BUDGET).saturating_add(SMALL_CHANGE)
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "the table has a place for every byte")]
fn at_byte(table: &[Groups; 256], byte: u8) -> Groups {
    table[byte as usize]
}

impl Group {
    /// Whether a match begins at this place of some text of a shape: all of them are read at once.
    fn may_match_in(&self, shape: &[&[u8]], at: usize) -> bool {
        /// Where they lead to more states than this, nobody knows.
        const MOST_STATES: usize = 512;
        let mut cache = self.caches.get();
        cache.reset(&self.automaton);
        let mut states: BTreeSet<LazyStateID> = BTreeSet::new();
        let before = at.checked_sub(1).and_then(|at| shape.get(at));
        let befores = before.map_or_else(|| vec![None], |before| before.iter().copied().map(Some).collect());
        for before in befores {
            let text = [before.unwrap_or_default(), 0];
            let text = text.get(usize::from(before.is_none())..).unwrap_or_default();
            let input = Input::new(text).span(text.len() - 1..text.len()).anchored(Anchored::Yes);
            let Ok(start) = self.automaton.start_state_forward(&mut cache, &input) else { return true };
            states.insert(start);
        }
        for bytes in shape.get(at..).unwrap_or_default() {
            let mut next = BTreeSet::new();
            for (state, byte) in states.iter().flat_map(|state| bytes.iter().map(move |byte| (*state, *byte))) {
                match self.automaton.next_state(&mut cache, state, byte) {
                    Ok(state) if state.is_dead() => {}
                    Ok(state) if !state.is_tagged() || state.is_start() => {
                        next.insert(state);
                    }
                    _ => return true,
                }
            }
            // A cache that was cleared has forgotten what these were.
            if next.len() > MOST_STATES || cache.clear_count() > 0 {
                return true;
            }
            states = next;
        }
        states
            .into_iter()
            .any(|state| self.automaton.next_eoi_state(&mut cache, state).map_or(true, |state| !state.is_dead()))
    }

    /// Names every detector that matches from where the input begins, at this place. `None` where that is not known, or where one is
    /// enough.
    #[inline]
    fn walk(&self, cache: &mut Cache, input: &Input<'_>, at: usize, naming: &mut Naming<'_>) -> Option<Walked> {
        let text = input.haystack().get(input.start()..input.end())?;
        let mut named = false;
        let mut state = self.automaton.start_state_forward(cache, input).ok()?;
        for (read, byte) in (1..).zip(text) {
            state = self.automaton.next_state(cache, state, *byte).ok()?;
            if state.is_tagged() {
                if state.is_match() {
                    named = true;
                    self.name(cache, state, at, naming)?;
                } else if state.is_dead() {
                    return Some(Walked { read, named });
                } else if state.is_quit() {
                    return None;
                }
            }
        }
        let state = self.automaton.next_eoi_state(cache, state).ok()?;
        if state.is_match() {
            named = true;
            self.name(cache, state, at, naming)?;
        }
        Some(Walked { read: text.len() + 1, named })
    }

    #[cold]
    fn name(&self, cache: &Cache, state: LazyStateID, at: usize, naming: &mut Naming<'_>) -> Option<()> {
        for index in 0..self.automaton.match_len(cache, state) {
            let pattern = self.automaton.match_pattern(cache, state, index);
            let goes_on = self.of.get(pattern.as_usize()).is_none_or(|index| naming.name(at, *index));
            goes_on.then_some(())?;
        }
        Some(())
    }
}

pub(super) fn has(bits: &Bits, index: u16) -> bool {
    bits.get(usize::from(index / 64)).is_some_and(|bits| bits & (1 << (index % 64)) != 0)
}

pub(super) fn set(bits: &mut Bits, index: u16) {
    if let Some(bits) = bits.get_mut(usize::from(index / 64)) {
        *bits |= 1 << (index % 64);
    }
}

fn clear(bits: &mut Bits, index: u16) {
    if let Some(bits) = bits.get_mut(usize::from(index / 64)) {
        *bits &= !(1 << (index % 64));
    }
}

fn texts<'l>(led_to: &[&'l LedTo]) -> Vec<&'l str> {
    led_to.iter().map(|one| one.pattern.as_str()).collect()
}

fn automaton(patterns: &[&str]) -> Option<DFA> {
    DFA::builder()
        .configure(DFA::config().match_kind(MatchKind::All).cache_capacity(4 << 20))
        .syntax(syntax::Config::new().unicode(false).utf8(false).nest_limit(64))
        .thompson(thompson::Config::new().utf8(false).shrink(false))
        .build_many(patterns)
        .ok()
}

/// Every two bytes.
const PAIRS: usize = 1 << 16;

/// The automata that a match may begin in, by its first two bytes: many ask for the edge of a word, so there is a table for what
/// stands behind a letter, one for the rest, and one for where it is not known which.
#[derive(Default)]
struct First(Vec<Groups>);

/// Which of the tables: behind this byte.
static TABLES: [u8; 256] = tables();
const OUTSIDE: usize = 0;
const INSIDE: usize = 1;
const EITHER: usize = 2;

#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "computed when compiled")]
const fn tables() -> [u8; 256] {
    let mut tables = [OUTSIDE as u8; 256];
    let mut byte = 0;
    while byte < 256 {
        let own = byte as u8;
        if own >= 0x80 {
            tables[byte] = EITHER as u8;
        } else if own.is_ascii_alphanumeric() || own == b'_' {
            tables[byte] = INSIDE as u8;
        }
        byte += 1;
    }
    tables
}

impl First {
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the table has a place for every byte")]
    fn groups(&self, behind: u8, byte: u8, next: u8) -> Groups {
        let pair = usize::from(byte) << 8 | usize::from(next);
        let table = usize::from(TABLES[behind as usize]);
        self.0.get(table * PAIRS + pair).copied().unwrap_or(Groups::MAX)
    }

    fn mark(&mut self, automaton: &DFA, bit: Groups) {
        self.0.resize(3 * PAIRS, 0);
        let all = [None, Some(b' '), Some(b'\n'), Some(b'\r'), Some(b'a')];
        for (place, table) in self.0.chunks_exact_mut(PAIRS).enumerate() {
            let behind = match place {
                OUTSIDE => all.get(..4),
                INSIDE => all.get(4..),
                _ => Some(&all[..]),
            };
            mark_first_bytes(automaton, behind.unwrap_or(&all), bit, table);
        }
    }
}

/// Marks the bytes, two by two, that a match begins with. Asked of the automaton itself, behind every kind of byte that it tells apart.
fn mark_first_bytes(automaton: &DFA, behind: &[Option<u8>], bit: Groups, first: &mut [Groups]) {
    let mut cache = automaton.create_cache();
    for (byte, pairs) in (0..=u8::MAX).zip(first.chunks_exact_mut(256)) {
        let mut states: SmallVec<[LazyStateID; 8]> = SmallVec::new();
        for before in behind {
            let text = [before.unwrap_or(b' '), byte];
            let text = text.get(usize::from(before.is_none())..).unwrap_or_default();
            let input = Input::new(text).span(text.len() - 1..text.len()).anchored(Anchored::Yes);
            let start = automaton.start_state_forward(&mut cache, &input).ok();
            let Some(state) = start.and_then(|start| automaton.next_state(&mut cache, start, byte).ok()) else {
                // It cannot be asked: then everything is a beginning.
                pairs.iter_mut().for_each(|pair| *pair |= bit);
                continue;
            };
            if !state.is_dead() && !states.contains(&state) {
                states.push(state);
            }
        }
        for (next, pair) in (0..=u8::MAX).zip(pairs) {
            let goes_on = |state: &LazyStateID| {
                automaton.next_state(&mut cache, *state, next).map_or(true, |state| !state.is_dead())
            };
            *pair |= if states.iter().any(goes_on) { bit } else { 0 };
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
