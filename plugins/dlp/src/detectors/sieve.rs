//! Identifiers, times, digests and amounts: half of what is pointed at in an answer, and nothing can match in it.
//!
//! What points at a string in a raw message points at the same place when the string is read, as long as nothing in it has to be
//! decoded. So most of them need not be read: what is left over by what a pattern cannot do without (`kinds`) goes through the
//! automata of `near`, and only a string that they name somebody for is looked at.

use smallvec::SmallVec;

use super::kinds::{self, Kinds, Needs};
use super::near::{self, Bits, Groups, Lead, LedTo, Near};
use super::seen::{Marks, Seen, beginnings};
use super::shapes::Shapes;
use super::{Compiled, Detectors, Spoken, View, digits};
use crate::escapes;
use crate::mapped::small;
use crate::spots::DigitRun;

/// Why a place of a raw message deserves a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It must be read before anybody can say.
    Any,
    /// A literal in the middle of a word, where nobody's match begins with it.
    Shut,
    /// A literal that some detectors wait for.
    Literal(u16),
    Digits {
        count: u8,
        dots: u8,
    },
    Run(u16),
    Colons(u8),
}

/// A place of a raw message that deserves a look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pointer {
    pub start: u32,
    pub end: u32,
    /// Which of several sets of detectors says so.
    pub set: u8,
    pub why: Why,
}

/// The most of each that stands in one place; for a detector, the least that leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Points {
    pub digits: u32,
    pub dots: u32,
    pub run: u32,
    pub colons: u32,
}

impl Points {
    pub const NONE: Self = Self { digits: 0, dots: 0, run: 0, colons: 0 };
    pub const NEVER: Self = Self { digits: u32::MAX, dots: u32::MAX, run: u32::MAX, colons: u32::MAX };

    /// `false` where numbers say nothing.
    pub fn add(&mut self, why: Why) -> bool {
        match why {
            Why::Any => return false,
            Why::Shut | Why::Literal(_) => {}
            // A count that is full may be any.
            Why::Digits { count: u8::MAX, .. } | Why::Run(u16::MAX) | Why::Colons(u8::MAX) => return false,
            Why::Digits { count, dots } => {
                self.digits = self.digits.max(count.into());
                self.dots = self.dots.max(dots.into());
            }
            Why::Run(length) => self.run = self.run.max(length.into()),
            Why::Colons(count) => self.colons = self.colons.max(count.into()),
        }
        true
    }
}

/// Built once for a set of detectors.
pub(super) struct Sieve {
    led: Vec<Led>,
    shapes: Shapes,
    /// What every detector cannot do without; `None` where it may begin in one text and end in another.
    needs: Vec<Option<Needs>>,
    /// The kinds of the words that somebody waits for, of those that need the fewest: a text without all of any has no word.
    asked: Vec<Kinds>,
    /// Fewer digits in a row are no number of anybody's.
    least_window: u32,
    /// Somebody who looks for numbers waits for words.
    numbers_wait: bool,
    /// A value that goes on until something ends it may begin anywhere: everything is read.
    closed: bool,
}

/// Whom the names around a value speak of.
pub(crate) struct Named {
    of: Bits,
    /// Of those that a number or a long word leads to: a bit for each, as they stand in the sieve.
    waiting: SmallVec<[u64; 4]>,
}

/// The same, and whom the value itself speaks of, where it may speak at all.
struct Heard<'n> {
    named: Option<&'n Named>,
    said: Option<Bits>,
}

impl Heard<'_> {
    /// Whether it is one of these detectors of a part of the sieve.
    fn any_of(&self, waiting: u64, part: usize, led: &Led) -> bool {
        let named = self.named.and_then(|named| named.waiting.get(part)).copied().unwrap_or_default();
        let said =
            |said: &Bits| led.of.iter().enumerate().any(|(at, own)| waiting & 1 << at != 0 && near::has(said, *own));
        waiting & named != 0 || self.said.as_ref().is_some_and(said)
    }

    fn all(self) -> Bits {
        let named = self.named.map(|named| named.of.as_slice()).unwrap_or_default();
        let mut all = self.said.unwrap_or_default();
        all.resize(named.len().max(all.len()), 0);
        for (bits, named) in all.iter_mut().zip(named) {
            *bits |= named;
        }
        all
    }
}

/// As many detectors as a number has bits. Whom a text may lead to is looked up for all of them at once.
#[derive(Default)]
struct Led {
    of: Vec<u16>,
    lengths: Steps,
    digits: Steps,
    dots: Steps,
    runs: Steps,
    colons: Steps,
    /// Who needs some of the kinds that a text lacks: for each eight kinds, by the bits of those.
    lacking: Vec<[u64; 256]>,
    needs_words: u64,
    /// By the places of their automata.
    groups: Vec<u64>,
    /// Of whom no automaton knows anything.
    alone: u64,
}

/// From so much of something on, these; a place for each number, and the last for all beyond.
#[derive(Default)]
struct Steps(Vec<u64>);

impl Steps {
    /// Longer runs are counted as this long: they lead to more, never to fewer.
    const MOST: u32 = 127;

    fn new(least: &(impl Iterator<Item = u32> + Clone)) -> Self {
        let reached = |count: u32| mask(least.clone().map(|least| least < u32::MAX && least.min(Self::MOST) <= count));
        Self((0..=Self::MOST).map(reached).collect())
    }

    #[inline]
    fn reached(&self, count: u32) -> u64 {
        self.0.get(count.min(Self::MOST) as usize).copied().unwrap_or(u64::MAX)
    }
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "the table has a place for every byte")]
fn at_byte(table: &[u64; 256], byte: u8) -> u64 {
    table[byte as usize]
}

/// A bit for each that is so.
fn mask(all: impl Iterator<Item = bool>) -> u64 {
    all.enumerate().fold(0, |mask, (place, is_so)| mask | u64::from(is_so) << place)
}

impl Led {
    fn new(led_to: &[LedTo], near: &Near) -> Self {
        let needs: Vec<Needs> = led_to.iter().map(|one| Needs::of(&one.pattern)).collect();
        let in_group = |one: &LedTo, place: usize| near.groups_of(one.index) & 1 << place != 0;
        let who_needs = |some: Kinds| mask(needs.iter().map(|needs| needs.kinds & some != 0));
        let lacking = (0..Kinds::BITS / 8).map(|eight| {
            let mut table = [0; 256];
            for (some, who) in (0..).zip(&mut table) {
                *who = who_needs(some << (8 * eight));
            }
            table
        });
        Self {
            of: led_to.iter().map(|one| one.index).collect(),
            lengths: Steps::new(&needs.iter().map(|needs| u32::try_from(needs.length).unwrap_or(u32::MAX - 1))),
            digits: Steps::new(&led_to.iter().map(|one| one.least.digits)),
            dots: Steps::new(&led_to.iter().map(|one| one.least.dots)),
            runs: Steps::new(&led_to.iter().map(|one| one.least.run)),
            colons: Steps::new(&led_to.iter().map(|one| one.least.colons)),
            lacking: lacking.collect(),
            needs_words: mask(led_to.iter().map(|one| one.needs_words)),
            groups: (0..near.count()).map(|place| mask(led_to.iter().map(|one| in_group(one, place)))).collect(),
            alone: mask(led_to.iter().map(|one| near.is_unknown(one.index))),
        }
    }

    /// Those that may match in a text.
    fn possible(&self, held: Kinds, length: usize, points: &Points) -> u64 {
        let led = self.digits.reached(points.digits)
            | self.dots.reached(points.dots)
            | self.runs.reached(points.run)
            | self.colons.reached(points.colons);
        let mut possible = led & self.lengths.reached(u32::try_from(length).unwrap_or(u32::MAX));
        if possible != 0 {
            for (table, eight) in self.lacking.iter().zip((!held).to_le_bytes()) {
                possible &= !at_byte(table, eight);
            }
        }
        possible
    }
}

impl Led {
    /// Which of these automata name some of these.
    fn groups_of(&self, some: u64, of: Groups) -> Groups {
        let mut groups = 0;
        let mut left = of;
        while left != 0 {
            let place = left.trailing_zeros();
            left &= left - 1;
            if self.groups.get(place as usize).is_some_and(|own| own & some != 0) {
                groups |= 1 << place;
            }
        }
        groups
    }
}

impl Sieve {
    pub fn new<'w>(
        led_to: &[LedTo],
        near: &Near,
        compiled: &[Compiled],
        patterns: &[Option<String>],
        asked: impl Iterator<Item = &'w String>,
    ) -> Self {
        let asked: Vec<Kinds> =
            asked.map(|word| kinds::of_word(word)).filter(|word| word & kinds::OTHER == 0).collect();
        let fewest = |word: &Kinds| !asked.iter().any(|other| other != word && other & !word == 0);
        let mut asked: Vec<Kinds> = asked.iter().copied().filter(fewest).collect();
        asked.sort_unstable();
        asked.dedup();
        let needs = |(one, pattern): (&Compiled, &Option<String>)| {
            pattern.as_deref().filter(|_| one.until.is_none()).map(Needs::of)
        };
        Self {
            led: led_to.chunks(u64::BITS as usize).map(|some| Led::new(some, near)).collect(),
            shapes: Shapes::new(near),
            needs: compiled.iter().zip(patterns).map(needs).collect(),
            asked,
            least_window: compiled
                .iter()
                .filter_map(|one| one.window)
                .map(|(least, _)| least)
                .min()
                .unwrap_or(u32::MAX),
            numbers_wait: compiled
                .iter()
                .any(|one| one.window.is_some() && one.context.as_ref().is_some_and(|context| context.required)),
            closed: compiled.iter().any(|one| one.until.is_some() && !one.begins_with_anchor),
        }
    }
}

impl Sieve {
    pub fn named(&self, of: Bits) -> Named {
        let waiting = |led: &Led| led.needs_words & mask(led.of.iter().map(|index| near::has(&of, *index)));
        Named { waiting: self.led.iter().map(waiting).collect(), of }
    }
}

impl Detectors {
    /// Whether `look` finds nothing in a text that these point at, and nothing else does; the text begins at `offset` of the message,
    /// and `named` says whom the names around it speak of. May be wrong in saying no.
    pub(crate) fn leads_nowhere<'n>(
        &self,
        text: &str,
        offset: usize,
        set: u8,
        pointers: &[Pointer],
        named: impl FnOnce() -> Option<&'n Named>,
    ) -> bool {
        let mut points = Points::NONE;
        if self.sieve.closed || !self.everywhere.is_empty() || !pointers.iter().all(|one| points.add(one.why)) {
            return false;
        }
        let held = kinds::held(text.as_bytes());
        if held & kinds::OTHER != 0 {
            return false;
        }
        let own = pointers.iter().filter(|one| one.set == set);
        let literals = own.filter_map(|one| if let Why::Literal(literal) = one.why { Some(literal) } else { None });
        let mut softened = false;
        for literal in literals {
            let begun = self.begun_by(literal);
            softened |= begun.is_empty();
            if self.may_begin(begun, held, text.len()) {
                return false;
            }
        }
        // Nothing in a UUID is a number.
        let shape = self.sieve.shapes.groups_in(text.as_bytes());
        let uuid = text.len() == digits::UUID && (shape.is_some() || digits::is_uuid(text.as_bytes()));
        if uuid {
            (points.digits, points.dots) = (0, 0);
        }
        let place = |at: u32| (at as usize).saturating_sub(offset).min(text.len());
        let mut heard: Option<Heard<'n>> = None;
        let (known, mut named) = if softened { (named(), None) } else { (None, Some(named)) };
        let mut hear = || self.heard_in(text, held, named.take().map_or(known, |named| named()));
        let in_shape = shape.unwrap_or(Groups::MAX);
        let mut groups: Groups = 0;
        for (part, led) in self.sieve.led.iter().enumerate() {
            let possible = led.possible(held, text.len(), &points);
            let waiting = possible & led.needs_words;
            if waiting != 0 && heard.get_or_insert_with(&mut hear).any_of(waiting, part, led) {
                return false;
            }
            let possible = possible & !waiting;
            if possible & led.alone != 0 {
                return false;
            }
            if possible != 0 {
                groups |= led.groups_of(possible, in_shape & !groups);
            }
        }
        if points.digits >= self.sieve.least_window {
            // Who waits for no words needs none to be heard.
            let spoken = if self.sieve.numbers_wait { Some(heard.unwrap_or_else(&mut hear).all()) } else { None };
            let runs = pointers.iter().filter_map(|one| match one.why {
                Why::Digits { count, dots } if one.set == set => {
                    let (start, end) = (place(one.start), place(one.end));
                    Some(DigitRun { start, end, count: count.into(), dots: dots.into() })
                }
                _ => None,
            });
            if self.holds_number(text, runs, spoken) {
                return false;
            }
        }
        let parts = pointers.iter().filter_map(|one| {
            let lead = match one.why {
                Why::Run(_) => Lead::LongWord,
                Why::Digits { .. } if uuid => return None,
                Why::Digits { .. } | Why::Colons(_) => Lead::Number,
                Why::Any | Why::Shut | Why::Literal(_) => return None,
            };
            Some((beginnings(&(place(one.start)..place(one.end))), lead))
        });
        (groups == 0 || self.near.names_nobody(text, parts, groups))
            && (!softened || self.peels_to_nothing(text, known))
    }

    /// The same for what a text in quoted-printable says: `page=20` in a query is one, and says no more than it did.
    fn peels_to_nothing(&self, text: &str, named: Option<&Named>) -> bool {
        // How the message writes a sign is not how it reads.
        if text.contains('\\') {
            return false;
        }
        let Some(peeled) = escapes::peeled(text) else { return true };
        let inner = peeled.text();
        if !inner.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            return false;
        }
        let mut pointers: SmallVec<[Pointer; 8]> = SmallVec::new();
        self.suspicious(inner.as_bytes(), |place, why| {
            pointers.push(Pointer { start: small(place.start), end: small(place.end), set: 0, why });
            true
        });
        // One layer is enough for a setting that looks like one.
        let again = |one: &Pointer| matches!(one.why, Why::Literal(literal) if self.begun_by(literal).is_empty());
        if pointers.iter().any(again) {
            return false;
        }
        pointers.sort_by_key(|one| one.start);
        self.leads_nowhere(inner, 0, 0, &pointers, || named)
    }

    fn begun_by(&self, literal: u16) -> &[u16] {
        self.begun.get(usize::from(literal)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a match of one of these fits into a text with these kinds of bytes.
    fn may_begin(&self, begun: &[u16], held: Kinds, length: usize) -> bool {
        let fits = |index: &u16| match self.sieve.needs.get(usize::from(*index)) {
            Some(Some(needs)) => needs.kinds & !held == 0 && needs.length <= length,
            _ => true,
        };
        begun.iter().any(fits)
    }

    /// Whose words stand in the text, or in the names around it.
    fn heard_in<'n>(&self, text: &str, held: Kinds, named: Option<&'n Named>) -> Heard<'n> {
        let speaks = self.sieve.asked.iter().any(|word| word & !held == 0);
        Heard { named, said: speaks.then(|| self.spoken(text, None).asked) }
    }

    /// Whether some of these digits are somebody's number.
    fn holds_number(&self, text: &str, mut runs: impl Iterator<Item = DigitRun>, spoken: Option<Bits>) -> bool {
        let mut found = Vec::new();
        // Of words that deny only those in the text itself count here, and each is looked for where it would stand.
        let spoken = spoken.map(|asked| Spoken { denied: SmallVec::from_elem(u64::MAX, asked.len()), asked });
        let mut seen = Seen {
            set: self,
            text,
            key: None,
            view: View::Plain,
            out: &mut found,
            marks: Marks::new(),
            spoken,
            may: None,
            tables: None,
        };
        runs.any(|run| seen.takes_window(run))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::WrittenDetector;
    use crate::detectors::near::tests::{shipped, texts};

    /// Whether the sieve lets go of a text that has this name.
    fn let_go(set: &Detectors, text: &str, name: &str) -> bool {
        let mut pointers = Vec::new();
        set.suspicious(text.as_bytes(), |place, why| {
            let (start, end) = (u32::try_from(place.start).unwrap(), u32::try_from(place.end).unwrap());
            pointers.push(Pointer { start, end, set: 0, why });
            true
        });
        let named = set.spoken_in(name);
        set.leads_nowhere(text, 0, 0, &pointers, || Some(&named))
    }

    #[test]
    fn nothing_is_found_in_what_is_let_go() {
        let set = shipped(true);
        let config = ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() };
        let names = proptest::sample::select(vec!["", "id:", "phone number:", "passport:", "ssn:", "api_key:"]);
        proptest!(config, |(text in texts(), name in names)| {
            let mut hits = Vec::new();
            set.scan(&text, Some(name), &mut hits);
            prop_assert!(hits.is_empty() || !let_go(&set, &text, name), "{name} {text}");
        });
    }

    #[test]
    fn identifiers_times_and_digests_are_let_go_unless_somebody_looks_for_them() {
        let uuid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
        let shipped = shipped(true);
        let digest = "9e3779b97f4a7c15f39cc0605cedc834120a2ced";
        let page = "https://docs.example.com/a/b?page=20";
        for text in [uuid, "2026-11-16T13:05:07.123Z", digest, "1731763199", "3237.25", page] {
            assert!(let_go(&shipped, text, "created_at:"), "{text}");
        }
        for (text, name) in [
            ("4155552671", "phone number:"),
            ("4111111111111111", "id:"),
            ("+41 44 668 18 00", "id:"),
            ("jo.doe=40a.example", "id:"),
        ] {
            assert!(!let_go(&shipped, text, name), "{name} {text}");
        }
        let own = Detectors::compile(vec![WrittenDetector {
            id: "ticket".into(),
            pattern: Some("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}".into()),
            anchors: vec!["<run:36>".into()],
            ..WrittenDetector::default()
        }])
        .unwrap();
        assert!(!let_go(&own, uuid, "id:") && let_go(&own, "2026-11-16T13:05:07.123Z", "id:"));
    }
}
