//! From written detectors to compiled ones.

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use aho_corasick::AhoCorasick;
use regex_automata::meta::{self, Regex};
use regex_automata::util::syntax;
use regex_syntax::hir::literal::Extractor;
use sha2::{Digest, Sha256};

use super::near::{LedTo, Near};
use super::sieve::{Points, Sieve};
use super::words::Words;
use super::{Compiled, Context, Detectors, Nearby, Problem, Rule, UNREAD};
use crate::aside;
use crate::escapes::quoted_printable_signs;
use crate::spots::Least;
use crate::{Boundary, Check, ContextWords, Severity, WrittenDetector};

/// Larger patterns are refused: 1 MiB of automaton.
const LARGEST_PATTERN: usize = 1 << 20;
const SHORTEST_LITERAL: usize = 3;
/// As many as a `u16` tells apart, one of them ours.
const MOST_RULES: usize = 60_000;

enum Anchor {
    Literal(String),
    At,
    Digits(u32),
    Dots(u32),
    Run(usize),
    Colons(u32),
}

#[derive(Default)]
struct Gathered {
    problems: Vec<Problem>,
    rules: Vec<Rule>,
    compiled: Vec<Compiled>,
    patterns: Vec<Option<String>>,
    literals: BTreeMap<String, Vec<u16>>,
    words: Vec<String>,
    of_word: Vec<(u16, Option<Box<str>>)>,
    at: Vec<u16>,
    digits: Vec<(u32, u16)>,
    dots: Vec<(u32, u16)>,
    runs: Vec<(usize, u16)>,
    colons: Vec<(u32, u16)>,
    windows: Vec<u16>,
    blocks: Vec<u16>,
    everywhere: Vec<u16>,
    led_to: Vec<LedTo>,
    /// Words that some wait for, and words that make something else of what others found.
    words_nearby: BTreeMap<String, Nearby>,
}

pub(super) fn compile(written: Vec<WrittenDetector>) -> Result<Detectors, Vec<Problem>> {
    let mut all = Gathered::default();
    let mut digest = Sha256::new();
    if written.len() > MOST_RULES {
        return Err(vec![problem("", "id", format!("more than {MOST_RULES} detectors"))]);
    }
    for (index, one) in written.into_iter().enumerate() {
        digest.update(serde_json::to_vec(&one).unwrap_or_default());
        digest.update([0]);
        all.take(u16::try_from(index).unwrap_or(u16::MAX), one);
    }
    all.rules.push(unread());
    all.build(hex::encode(digest.finalize()))
}

fn unread() -> Rule {
    Rule {
        id: UNREAD.into(),
        title: "encoded more often than is followed".into(),
        tier: 1,
        severity: Severity::High,
        tags: Box::default(),
        label: "UNREAD".into(),
        keep: crate::Keep::default(),
        action: None,
    }
}

fn problem(id: &str, field: &'static str, problem: impl Into<String>) -> Problem {
    Problem { id: id.into(), field, problem: problem.into() }
}

impl Gathered {
    fn take(&mut self, index: u16, one: WrittenDetector) {
        let id = one.id.clone();
        let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if id.is_empty() || id == UNREAD || !id.chars().all(named) {
            self.problems.push(problem(&id, "id", "small letters, digits and `_`; `too_deep` is taken"));
        }
        if self.rules.iter().any(|rule| *rule.id == *id) {
            self.problems.push(problem(&id, "id", "there are two of it"));
        }
        if one.pattern.is_none() && one.dictionary.is_none() && one.digits.is_none() {
            self.problems.push(problem(&id, "pattern", "say a `pattern`, a `dictionary` or `digits`"));
        }
        let anchors = self.anchors(&id, &one.anchors);
        let literals: Vec<&str> = anchors
            .iter()
            .filter_map(|anchor| if let Anchor::Literal(text) = anchor { Some(text.as_str()) } else { None })
            .collect();
        let begins_with_anchor =
            literals.len() == anchors.len() && one.pattern.as_deref().is_some_and(|text| begins_with(text, &literals));
        let pattern = one.pattern.as_deref().and_then(|text| self.regex(&id, "pattern", text));
        let until = one.until.as_deref().and_then(|text| self.regex(&id, "until", text));
        if until.is_some() {
            if pattern.is_none() || anchors.is_empty() {
                self.problems.push(problem(&id, "until", "say in `pattern` how it begins, and give it an anchor"));
            }
            self.blocks.push(index);
        }
        let context = self.context(&id, "context", one.context.as_ref());
        let unless = self.context(&id, "unless", one.unless.as_ref());
        for word in one.context.iter().filter(|context| context.required).flat_map(|context| &context.words) {
            self.words_nearby.entry(word.to_ascii_lowercase()).or_default().asked_by.push(index);
        }
        for word in one.unless.iter().flat_map(|unless| &unless.words) {
            self.words_nearby.entry(word.to_ascii_lowercase()).or_default().denied_by.push(index);
        }
        if let Some((least, most)) = one.digits {
            if least < 4 || most < least || most > 64 {
                self.problems.push(problem(&id, "digits", "from 4 to 64, the smaller number first"));
            }
            self.windows.push(index);
        }
        for word in one.dictionary.iter().flat_map(|dictionary| &dictionary.words) {
            if word.trim().len() < 2 {
                self.problems.push(problem(&id, "dictionary", format!("`{word}` is too short")));
            }
            let exact = one.dictionary.as_ref().is_some_and(|dictionary| dictionary.case_sensitive);
            self.of_word.push((index, exact.then(|| word.as_str().into())));
            self.words.push(word.clone());
        }
        if pattern.is_some() && anchors.is_empty() && one.digits.is_none() {
            self.everywhere.push(index);
        }
        let by_place = anchors.iter().any(|anchor| !matches!(anchor, Anchor::Literal(_) | Anchor::At));
        if let Some(text) = one.pattern.as_ref().filter(|_| pattern.is_some() && by_place) {
            let needs_words = context.as_ref().is_some_and(|context| context.required);
            let narrows = one.check.iter().any(Check::narrows);
            let pattern = text.clone();
            let least = least_of(&anchors);
            self.led_to.push(LedTo { index, boundary: one.boundary, pattern, needs_words, narrows, least });
        }
        for anchor in anchors {
            match anchor {
                Anchor::Literal(text) => self.literals.entry(text).or_default().push(index),
                Anchor::At => self.at.push(index),
                Anchor::Digits(least) => self.digits.push((least, index)),
                Anchor::Dots(least) => self.dots.push((least, index)),
                Anchor::Run(least) => self.runs.push((least, index)),
                Anchor::Colons(least) => self.colons.push((least, index)),
            }
        }
        self.patterns.push(one.pattern.clone());
        self.compiled.push(Compiled {
            begins_with_anchor,
            grouped: pattern.as_ref().is_some_and(|pattern| pattern.captures_len() > 1),
            open: one.pattern.as_deref().is_none_or(is_open),
            sure: one.check.iter().any(Check::is_sure),
            narrows: one.check.iter().any(Check::narrows),
            pattern,
            until,
            window: one.digits.map(|(least, most)| (u32::from(least), u32::from(most))),
            boundary: one.boundary,
            checks: one.check.clone(),
            context,
            unless,
        });
        self.rules.push(rule(one));
    }

    fn regex(&mut self, id: &str, field: &'static str, text: &str) -> Option<Regex> {
        regex(text).inspect_err(|reason| self.problems.push(problem(id, field, reason.as_str()))).ok()
    }

    fn context(&mut self, id: &str, field: &'static str, written: Option<&ContextWords>) -> Option<Context> {
        match Context::new(written?) {
            Ok(context) => Some(context),
            Err(reason) => {
                self.problems.push(problem(id, field, reason));
                None
            }
        }
    }

    fn anchors(&mut self, id: &str, written: &[String]) -> Vec<Anchor> {
        let mut anchors = Vec::new();
        for text in written {
            match anchor(text) {
                Some(anchor) => anchors.push(anchor),
                None => self.problems.push(problem(
                    id,
                    "anchors",
                    format!(
                        "`{text}` is neither three bytes nor `@`, `<digits:N>`, `<run:N>`, `<dots:N>` or `<colons:N>`"
                    ),
                )),
            }
        }
        anchors
    }

    fn build(self, digest: String) -> Result<Detectors, Vec<Problem>> {
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let mut begun: Vec<Vec<u16>> = Vec::new();
        let mut needles: Vec<String> = Vec::new();
        for (text, detectors) in self.literals {
            needles.push(text);
            begun.push(detectors);
        }
        let shut = begun.iter().map(|begun| begun.iter().all(|index| only_begins_words(&self.compiled, *index)));
        let mut shut: Vec<bool> = shut.collect();
        let known: Vec<String> = needles.clone();
        let signs = quoted_printable_signs().chain(aside::SIGNS.iter().map(|sign| (*sign).to_owned()));
        for sign in signs.filter(|sign| !known.contains(sign)) {
            shut.push(false);
            needles.push(sign);
            begun.push(Vec::new());
        }
        let built = |error: aho_corasick::BuildError| vec![problem("", "anchors", error.to_string())];
        let literals = Words::new(&needles).map_err(built)?;
        let words = if self.words.is_empty() {
            None
        } else {
            Some(AhoCorasick::builder().ascii_case_insensitive(true).build(&self.words).map_err(built)?)
        };
        let nearby: Vec<String> = self.words_nearby.keys().cloned().collect();
        let words_nearby = if nearby.is_empty() { None } else { Some(Words::new(&nearby).map_err(built)?) };
        let asked = self.words_nearby.iter().filter(|(_, who)| !who.asked_by.is_empty()).map(|(word, _)| word);
        let windows = self.compiled.iter().filter_map(|one| one.window).map(|(least, _)| least);
        let least = Least {
            digits: self.digits.iter().map(|(least, _)| *least).chain(windows).min().unwrap_or(u32::MAX),
            dots: self.dots.iter().map(|(least, _)| *least).min().unwrap_or(u32::MAX),
            colons: self.colons.iter().map(|(least, _)| *least).min().unwrap_or(u32::MAX),
            run: self.runs.iter().map(|(least, _)| *least).min().unwrap_or(usize::MAX).min(Least::NOTHING.run),
            at: !self.at.is_empty(),
        };
        let near = Near::new(&self.led_to, self.compiled.len());
        Ok(Detectors {
            sieve: Sieve::new(&self.led_to, &near, &self.compiled, &self.patterns, asked),
            near,
            shortest_run: self.runs.iter().map(|(least, _)| *least).min().unwrap_or(usize::MAX),
            rules: self.rules,
            compiled: self.compiled,
            digest,
            literals,
            shut,
            begun,
            words,
            of_word: self.of_word,
            at: self.at,
            digits: self.digits,
            dots: self.dots,
            runs: self.runs,
            colons: self.colons,
            windows: self.windows,
            blocks: self.blocks,
            words_nearby,
            nearby: self.words_nearby.into_values().collect(),
            everywhere: self.everywhere,
            least,
        })
    }
}

/// Whether a detector's matches all begin with an anchor, and never behind a letter or a digit.
fn only_begins_words(compiled: &[Compiled], index: u16) -> bool {
    compiled.get(usize::from(index)).is_some_and(|detector| {
        detector.begins_with_anchor && matches!(detector.boundary, Boundary::Word | Boundary::Token)
    })
}

/// The least of each kind of place that leads to a detector.
fn least_of(anchors: &[Anchor]) -> Points {
    let mut least = Points::NEVER;
    for anchor in anchors {
        match anchor {
            Anchor::Digits(count) => least.digits = least.digits.min(*count),
            Anchor::Dots(count) => least.dots = least.dots.min(*count),
            Anchor::Run(length) => least.run = least.run.min(u32::try_from(*length).unwrap_or(u32::MAX)),
            Anchor::Colons(count) => least.colons = least.colons.min(*count),
            Anchor::Literal(_) | Anchor::At => {}
        }
    }
    least
}

fn rule(one: WrittenDetector) -> Rule {
    let label = if one.label.is_empty() { one.id.to_ascii_uppercase() } else { one.label };
    Rule {
        id: one.id.into(),
        title: one.title.into(),
        tier: one.tier,
        severity: one.severity,
        tags: one.tags.into(),
        label: label.into(),
        keep: one.keep,
        action: one.action,
    }
}

fn anchor(text: &str) -> Option<Anchor> {
    if text == "@" {
        return Some(Anchor::At);
    }
    if let Some((kind, number)) =
        text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).and_then(|inner| inner.split_once(':'))
    {
        let number: u32 = number.parse().ok().filter(|number| *number > 0)?;
        return match kind {
            "digits" => Some(Anchor::Digits(number)),
            "dots" => Some(Anchor::Dots(number)),
            "run" => Some(Anchor::Run(usize::try_from(number).ok()?)),
            "colons" => Some(Anchor::Colons(number)),
            _ => None,
        };
    }
    (text.len() >= SHORTEST_LITERAL).then(|| Anchor::Literal(text.to_ascii_lowercase()))
}

/// Bytes, not characters: what is looked for is ASCII, and a pattern that wants more says `(?u)`.
fn regex(text: &str) -> Result<Regex, String> {
    let build = || {
        Regex::builder()
            .syntax(syntax::Config::new().unicode(false).utf8(false).nest_limit(64))
            .configure(meta::Config::new().utf8_empty(false).nfa_size_limit(Some(LARGEST_PATTERN)))
            .build(text)
            .map_err(Box::new)
    };
    match catch_unwind(build) {
        Ok(Ok(regex)) => Ok(regex),
        Ok(Err(error)) => Err(match (error.size_limit(), error.syntax_error()) {
            (Some(_), _) => "it is too large; ask for less repetition".into(),
            (None, Some(syntax)) => syntax.to_string().lines().last().unwrap_or_default().to_owned(),
            (None, None) => error.to_string(),
        }),
        Err(_) => Err("it cannot be compiled; write it in a simpler way".into()),
    }
}

/// Whether a match may be longer than any number.
fn is_open(pattern: &str) -> bool {
    let parsed = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern);
    parsed.is_ok_and(|hir| hir.properties().maximum_len().is_none())
}

/// Whether every match begins with one of the literals.
fn begins_with(pattern: &str, literals: &[&str]) -> bool {
    // In small letters only: case is nothing to an anchor, and all ways to write a word are too many to be listed.
    let plain = pattern.replace("(?i:", "(?:");
    let parsed = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(&plain);
    let Ok(hir) = parsed else {
        return false;
    };
    // Ninety countries with a digit behind each are still few enough.
    let prefixes = Extractor::new().limit_total(2048).extract(&hir);
    let Some(found) = prefixes.literals() else {
        return false;
    };
    !found.is_empty()
        && found.iter().all(|prefix| {
            let start = prefix.as_bytes().to_ascii_lowercase();
            literals.iter().any(|literal| start.starts_with(literal.as_bytes()))
        })
}
