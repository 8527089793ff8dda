//! Identifiers, times, digests and amounts: half of what is pointed at in an answer, and nothing can match in it.
//!
//! What points at a string in a raw message points at the same place when the string is read, as long as nothing in it has to be
//! decoded. So most of them need not be read: what is left over by what a pattern cannot do without (`kinds`) goes through the
//! automata of `near`, and only a string that they name somebody for is looked at.

use super::kinds::{self, Kinds, Needs};
use super::near::{self, Bits, LedTo, Near};
use super::seen::{Marks, Seen};
use super::{Compiled, Detectors, View, digits};
use crate::spots::{Spot, spots};

/// Why a place of a raw message deserves a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It must be read before anybody can say.
    Any,
    /// A literal in the middle of a word, where nobody's match begins with it.
    Shut,
    Digits {
        count: u8,
        dots: u8,
    },
    Run(u16),
    Colons(u8),
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
            Why::Shut => {}
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

    fn reach(&self, least: &Self) -> bool {
        self.digits >= least.digits || self.dots >= least.dots || self.run >= least.run || self.colons >= least.colons
    }
}

/// Built once for a set of detectors.
#[derive(Default)]
pub(super) struct Sieve {
    led: Vec<Led>,
    /// The kinds of the words that somebody waits for.
    asked: Vec<Kinds>,
    /// Fewer digits in a row are no number of anybody's.
    least_window: u32,
    /// A value that goes on until something ends it may begin anywhere: everything is read.
    closed: bool,
}

struct Led {
    index: u16,
    needs: Needs,
    least: Points,
    needs_words: bool,
    /// Its automaton; `None` where there is none.
    group: Option<usize>,
}

impl Sieve {
    pub fn new<'w>(
        led_to: &[LedTo],
        near: &Near,
        compiled: &[Compiled],
        asked: impl Iterator<Item = &'w String>,
    ) -> Self {
        let led = led_to.iter().map(|one| Led {
            index: one.index,
            needs: Needs::of(&one.pattern),
            least: one.least,
            needs_words: one.needs_words,
            group: near.group_of(one.index),
        });
        let mut asked: Vec<Kinds> = asked.map(|word| kinds::of_word(word)).collect();
        asked.sort_unstable();
        asked.dedup();
        Self {
            led: led.collect(),
            asked,
            least_window: compiled
                .iter()
                .filter_map(|one| one.window)
                .map(|(least, _)| least)
                .min()
                .unwrap_or(u32::MAX),
            closed: compiled.iter().any(|one| one.until.is_some() && !one.begins_with_anchor),
        }
    }
}

impl Detectors {
    /// Whether `look` finds nothing in a text that these point at, and nothing else does; the names around it were heard by `named`.
    /// May be wrong in saying no.
    pub(crate) fn leads_nowhere(&self, text: &str, points: Points, named: &Bits) -> bool {
        let held = kinds::held(text.as_bytes());
        if held & kinds::OTHER != 0 || self.sieve.closed || !self.everywhere.is_empty() {
            return false;
        }
        // Nothing in a UUID is a number.
        let uuid = digits::is_uuid(text.as_bytes());
        let points = if uuid { Points { digits: 0, dots: 0, ..points } } else { points };
        let mut own = None;
        let mut groups = 0_u32;
        for led in &self.sieve.led {
            let possible = led.needs.kinds & !held == 0 && led.needs.length <= text.len() && points.reach(&led.least);
            if !possible {
                continue;
            }
            if led.needs_words {
                let own: &Bits = own.get_or_insert_with(|| self.heard_in(text, held));
                if near::has(named, led.index) || near::has(own, led.index) {
                    return false;
                }
            } else if let Some(group) = led.group {
                groups |= 1 << group;
            } else {
                return false;
            }
        }
        if points.digits >= self.sieve.least_window && self.holds_number(text, named, held) {
            return false;
        }
        groups == 0 || self.near.names_nobody(text, groups)
    }

    /// Whose words stand in the text.
    fn heard_in(&self, text: &str, held: Kinds) -> Bits {
        if self.sieve.asked.iter().any(|word| word & !held == 0) { self.spoken(text, None) } else { Bits::new() }
    }

    /// Whether some digits in a row are somebody's number.
    fn holds_number(&self, text: &str, named: &Bits, held: Kinds) -> bool {
        let mut spoken = self.heard_in(text, held);
        spoken.resize(named.len().max(spoken.len()), 0);
        for (bits, named) in spoken.iter_mut().zip(named) {
            *bits |= named;
        }
        let mut found = Vec::new();
        let mut seen = Seen {
            set: self,
            text,
            key: None,
            view: View::Plain,
            out: &mut found,
            marks: Marks::new(),
            spoken: Some(spoken),
            may: None,
        };
        spots(text.as_bytes(), &self.least, |spot| match spot {
            Spot::Digits(run) => !seen.takes_window(run),
            _ => true,
        });
        !found.is_empty()
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
        let mut points = Points::NONE;
        let mut known = true;
        set.suspicious(text.as_bytes(), |_, why| {
            known &= points.add(why);
            true
        });
        known && set.leads_nowhere(text, points, &set.spoken_in(name))
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
        for text in
            [uuid, "2026-11-16T13:05:07.123Z", "9e3779b97f4a7c15f39cc0605cedc834120a2ced", "1731763199", "3237.25"]
        {
            assert!(let_go(&shipped, text, "created_at:"), "{text}");
        }
        for (text, name) in [("4155552671", "phone number:"), ("4111111111111111", "id:"), ("+41 44 668 18 00", "id:")]
        {
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
