//! A second voice on what reads like instructions: what sentences of poisoned definitions have in common and those of honest
//! ones have not, learned from both.
//!
//! A linear model and nothing more. A passage of a sentence has clues (`learned/clues.rs`), each clue has a weight, and what they come
//! to decides in two cases: phrases and concepts alone are not believed where the passages of a definition sound honest, and a
//! passage that sounds like nothing else is a finding without them. The weights are a file for people to read
//! (`learned/weights.txt`, made by `plugins/training`).

mod clues;

use std::collections::HashMap;
use std::sync::OnceLock;

use super::sense::{Reading, Sense, Sentence};
use super::{Findings, INSTRUCTIONS};
use clues::{name_words, passages};

const WEIGHTS: &str = include_str!("learned/weights.txt");
/// What every passage starts from.
const START: &str = "=start";
/// Below this a definition sounds honest, whatever words it uses.
const QUIET: &str = "=quiet";
/// Above this it does not, even where no rule knows its words.
const LOUD: &str = "=loud";
/// How a clue begins that is not words but what they are about.
const MEANING: char = '@';
/// How a clue begins that a phrase or a sign of `policies/scan.yaml` gave.
const RULES: [char; 2] = ['!', '%'];
/// As many clues are named in a finding.
const NAMED: usize = 4;
/// Of a sentence that is reported for its sound alone.
const FEWEST_WORDS: usize = 7;
const LONGEST_SHOWN: usize = 160;

/// Read when the first definition is: few commands scan.
#[derive(Default)]
pub struct Learned(OnceLock<Weights>);

struct Weights {
    of: HashMap<&'static str, f32>,
    start: f32,
    quiet: f32,
    loud: f32,
}

impl Weights {
    fn read(text: &'static str) -> Self {
        let known = text.lines().filter(|line| !line.starts_with("# ")).filter_map(|line| line.split_once('\t'));
        let of: HashMap<_, f32> =
            known.filter_map(|(weight, clue)| Some((clue, weight.trim().parse().ok()?))).collect();
        let said = |name, otherwise| of.get(name).copied().unwrap_or(otherwise);
        // Without limits this voice changes nothing.
        let (quiet, loud) = (said(QUIET, f32::NEG_INFINITY), said(LOUD, f32::INFINITY));
        Self { start: said(START, 0.0), quiet, loud, of }
    }

    /// Clues that are known share what they say: many of them make a passage long, not worse. Words share with words, and
    /// meanings with meanings; what rules heard counts in full.
    fn score(&self, clues: &[String]) -> f32 {
        let (mut words, mut meanings, mut rules) = (Voice::default(), Voice::default(), 0.0);
        for clue in clues {
            let Some(weight) = self.of.get(clue.as_str()) else { continue };
            if clue.starts_with(RULES) {
                rules += *weight;
            } else if clue.starts_with(MEANING) {
                meanings.hear(*weight);
            } else {
                words.hear(*weight);
            }
        }
        self.start + words.says() + meanings.says() + rules
    }

    fn heaviest<'c>(&self, clues: &'c [String]) -> Vec<&'c str> {
        let mut known: Vec<_> =
            clues.iter().filter_map(|clue| Some((*self.of.get(clue.as_str())?, clue.as_str()))).collect();
        known.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
        known.into_iter().take(NAMED).map(|(_, clue)| clue).collect()
    }
}

/// What several clues come to.
#[derive(Default)]
struct Voice {
    sum: f32,
    many: u16,
}

impl Voice {
    fn hear(&mut self, weight: f32) {
        self.sum += weight;
        self.many = self.many.saturating_add(1);
    }

    fn says(&self) -> f32 {
        self.sum / f32::from(self.many.max(1)).sqrt()
    }
}

impl Learned {
    fn weights(&self) -> &Weights {
        self.0.get_or_init(|| Weights::read(WEIGHTS))
    }

    /// Every passage of a definition: the sentence it is of, and its clues.
    pub fn clues<'r, 'p>(
        &self,
        reading: &'r Reading<'p>,
        sense: &Sense,
        heard: impl Fn(&str) -> Vec<String>,
    ) -> Vec<(&'r Sentence<'p>, Vec<String>)> {
        let called = name_words(&reading.called);
        let of = |sentence: &'r Sentence<'p>| {
            let own = (!sentence.states).then_some(&called);
            let mut rules = heard(sentence.text);
            rules.extend(sense.families(sentence).into_iter().map(|family| format!("%{family}")));
            let cut = passages(sentence.text, &sense.named(sentence), own);
            cut.into_iter().map(move |mut clues| {
                clues.extend(rules.iter().cloned());
                (sentence, clues)
            })
        };
        reading.sentences.iter().flat_map(of).collect()
    }

    /// Takes back what only sounds like an order, and adds what nobody else heard.
    pub fn look_at(
        &self,
        reading: &Reading<'_>,
        sense: &Sense,
        heard: impl Fn(&str) -> Vec<String>,
        findings: &mut Findings<'_>,
    ) {
        let weights = self.weights();
        let scored =
            self.clues(reading, sense, heard).into_iter().map(|(of, clues)| (weights.score(&clues), of, clues));
        let mut scored: Vec<_> = scored.collect();
        scored.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
        let quiet = scored.first().is_some_and(|(score, ..)| *score < weights.quiet);
        if quiet && !findings.certain {
            findings.found.retain(|finding| finding.rule != INSTRUCTIONS);
        }
        let heard = scored.iter().find(|(_, sentence, _)| !is_brief(sentence.text));
        let Some((score, sentence, clues)) = heard else { return };
        if *score > weights.loud && !findings.found.iter().any(|finding| finding.rule == INSTRUCTIONS) {
            let shown: String = sentence.text.trim().chars().take(LONGEST_SHOWN).collect();
            let named = weights.heaviest(clues).join(", ");
            findings.say(
                INSTRUCTIONS,
                sentence.path,
                format!("reads like an order to the model: \"{shown}\" ({named})"),
            );
        }
    }
}

/// Titles and headings are short and have no context: a few words are an order to nobody. Scripts without blanks are not counted.
fn is_brief(text: &str) -> bool {
    text.is_ascii() && text.split_whitespace().count() < FEWEST_WORDS
}
