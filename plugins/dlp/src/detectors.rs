//! Compiled detectors: where to begin to look, and what must hold there.

mod again;
mod block;
mod bounds;
mod compile;
mod context;
mod digits;
mod kinds;
mod look;
mod near;
mod seen;
mod shapes;
mod sieve;
mod words;

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use regex_automata::meta::Regex;

use crate::spots::{self, Least, Spot};
use crate::{Action, Boundary, Check, Keep, Severity, WrittenDetector, encoded};
pub(crate) use block::{GAP, LONGEST, RUN};
use context::Context;
use near::Bits;
pub(crate) use sieve::{Named, Pointer, Why};
use words::Words;

/// What is wrong with a written detector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("detector `{id}`: {field}: {problem}")]
pub struct Problem {
    pub id: String,
    pub field: &'static str,
    pub problem: String,
}

/// What others may know of a detector.
#[derive(Debug, Clone)]
pub struct Rule {
    pub id: Arc<str>,
    pub title: Box<str>,
    pub tier: u8,
    pub severity: Severity,
    pub tags: Box<[String]>,
    pub label: Box<str>,
    pub keep: Keep,
    /// What is done unless somebody says otherwise.
    pub action: Option<Action>,
}

/// How a hit was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// As it is.
    Plain,
    /// With letters that look or count like others, or with invisible ones between them.
    Folded,
    /// With escapes, entities or percent signs.
    Escaped,
    Base64,
    Hex,
    /// Not read to its end: nested or encoded beyond what is followed.
    Unread,
}

/// Something found. Offsets are bytes of the text that was scanned; what is encoded as a whole is hit as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub rule: u16,
    pub start: u32,
    pub end: u32,
    pub view: View,
}

/// The rule of everything that is encoded more often than anybody follows; every set has it, as its last.
pub const UNREAD: &str = "too_deep";

pub struct Detectors {
    rules: Vec<Rule>,
    compiled: Vec<Compiled>,
    digest: String,
    /// Literal anchors and the signs of quoted-printable.
    literals: Words,
    /// Those that nothing begins with behind a letter or a digit.
    shut: Vec<bool>,
    /// What each literal begins; nobody for a sign.
    begun: Vec<Vec<u16>>,
    words: Option<AhoCorasick>,
    /// The detector of each word, and the word as it must be written if that counts.
    of_word: Vec<(u16, Option<Box<str>>)>,
    at: Vec<u16>,
    /// With the least number of digits, dots, letters, colons.
    digits: Vec<(u32, u16)>,
    dots: Vec<(u32, u16)>,
    runs: Vec<(usize, u16)>,
    colons: Vec<(u32, u16)>,
    /// Runs that are shorter lead to nobody.
    shortest_run: usize,
    windows: Vec<u16>,
    /// Those that go on until something ends them.
    blocks: Vec<u16>,
    /// The words that mean something nearby, all in one, and to whom each does.
    words_nearby: Option<Words>,
    nearby: Vec<Nearby>,
    /// Tenants' patterns that no anchor leads to.
    everywhere: Vec<u16>,
    near: near::Near,
    sieve: sieve::Sieve,
    least: Least,
}

/// Whom a word nearby means something to.
#[derive(Default)]
struct Nearby {
    /// They wait for it.
    asked_by: Vec<u16>,
    /// For them it makes something else of what they found.
    denied_by: Vec<u16>,
}

/// Whose words stand in a text or its key.
struct Spoken {
    asked: Bits,
    denied: Bits,
}

struct Compiled {
    pattern: Option<Regex>,
    /// The pattern is how it begins, and this how it ends.
    until: Option<Regex>,
    /// Every match begins with one of the anchors, so there is one place to try.
    begins_with_anchor: bool,
    /// The pattern has groups: the first that takes part is the value.
    grouped: bool,
    /// Nothing says how long a match may be.
    open: bool,
    /// A checksum of a hundred to one: no other reading of the same letters is as likely.
    sure: bool,
    /// A check may leave out what stands around a value.
    narrows: bool,
    window: Option<(u32, u32)>,
    boundary: Boundary,
    checks: Vec<Check>,
    context: Option<Context>,
    unless: Option<Context>,
}

impl Detectors {
    /// All problems at once, or none.
    pub fn compile(written: Vec<WrittenDetector>) -> Result<Self, Vec<Problem>> {
        compile::compile(written)
    }

    /// The same for the same detectors in the same order.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// In the order they were written; the last is always [`UNREAD`].
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether anything in a raw message deserves a look. `false` means that `scan` of any string in it finds nothing.
    pub fn suspects(&self, raw: &[u8]) -> bool {
        let mut any = false;
        self.suspicious(raw, |_, why| {
            any = why != Why::Shut;
            !any
        });
        any
    }

    /// Everything in a text, however it is written; sorted and not overlapping. `key` is the JSON member it is the value of.
    pub fn scan(&self, text: &str, key: Option<&str>, out: &mut Vec<Hit>) {
        let mut found = Vec::new();
        self.look(text, key, |_| Some(Action::Mask), &mut found);
        out.extend(found.iter().map(|one| Hit { rule: one.rule, start: one.start, end: one.end, view: one.view }));
    }

    /// Places of a raw message that deserve a look and why, until `found` says enough. Not in order.
    pub(crate) fn suspicious(&self, raw: &[u8], mut found: impl FnMut(Range<usize>, Why) -> bool) {
        if !self.everywhere.is_empty() && !found(0..0, Why::Any) {
            return;
        }
        let mut enough = false;
        spots::spots(raw, &self.least, |spot| {
            let goes_on = match spot {
                Spot::At(at) | Spot::Encoded(at) | Spot::Apart { start: at, .. } => found(at..at + 1, Why::Any),
                Spot::Digits(run) => {
                    found(run.start..run.end, Why::Digits { count: full(run.count), dots: full(run.dots) })
                }
                Spot::Colons { start, end, count } => found(start..end, Why::Colons(full(count))),
                Spot::Pairs { start, end } => {
                    let pairs = raw.get(start..end).and_then(|pairs| std::str::from_utf8(pairs).ok());
                    pairs.and_then(encoded::of_pairs).is_none() || found(start..end, Why::Any)
                }
                Spot::Run { start, end } => {
                    if encoded::plausible(raw.get(start..end).unwrap_or_default()) {
                        found(start..end, Why::Any)
                    } else {
                        end - start < self.shortest_run
                            || found(start..end, Why::Run(u16::try_from(end - start).unwrap_or(u16::MAX)))
                    }
                }
            };
            enough |= !goes_on;
            goes_on
        });
        if enough {
            return;
        }
        self.literals.each(raw, |literal, start, end| {
            let inside = self.shut.get(literal) == Some(&true) && in_word(raw, start);
            let why = if inside { Why::Shut } else { u16::try_from(literal).map_or(Why::Any, Why::Literal) };
            enough = !found(start..end, why);
            !enough
        });
        if enough {
            return;
        }
        for word in self.words.iter().flat_map(|words| words.find_iter(raw)) {
            if !found(word.start()..word.end(), Why::Any) {
                return;
            }
        }
    }

    /// Whose words stand in the names around a value.
    pub(crate) fn spoken_in(&self, names: &str) -> Named {
        self.sieve.named(self.spoken(names, None).asked)
    }

    /// Whether a literal that some detector begins with stands in these bytes.
    pub(crate) fn has_literal(&self, raw: &[u8]) -> bool {
        self.literals.any(raw)
    }

    pub(crate) fn reads_everything(&self) -> bool {
        !self.everywhere.is_empty()
    }

    /// Whether a text holds words that some detector waits for.
    pub(crate) fn context_in(&self, text: &str) -> bool {
        let contexts = self.compiled.iter().filter_map(|one| one.context.as_ref());
        contexts.filter(|context| context.required).any(|context| context.speaks(text.as_bytes(), 0..text.len()))
    }

    pub(crate) fn rule(&self, rule: u16) -> Option<&Rule> {
        self.rules.get(usize::from(rule))
    }

    fn severity(&self, rule: u16) -> Severity {
        self.rule(rule).map_or(Severity::High, |rule| rule.severity)
    }
}

/// What is too many to be told is as many as can be.
fn full(count: u32) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

/// Whether a letter or a digit stands before a place, and is itself when everything is decoded: `xBE8`, but not `\nBE8` or `%20BE8`.
fn in_word(raw: &[u8], at: usize) -> bool {
    /// No escape has as many letters behind its sign.
    const LONGEST_ESCAPE: usize = 16;
    let before = raw.get(at.saturating_sub(LONGEST_ESCAPE)..at).unwrap_or_default();
    let letters = before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let sign = before.len().checked_sub(letters + 1).and_then(|at| before.get(at));
    letters > 0 && !sign.is_some_and(|sign| matches!(sign, b'\\' | b'%' | b'=' | b'&' | b'#'))
}
