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

use super::places::{Kind, Place};
use super::{Findings, INSTRUCTIONS};
pub use clues::passages;

const WEIGHTS: &str = include_str!("learned/weights.txt");
/// What every passage starts from.
const START: &str = "=start";
/// Below this a definition sounds honest, whatever words it uses.
const QUIET: &str = "=quiet";
/// Above this it does not, even where no rule knows its words.
const LOUD: &str = "=loud";
/// As many clues are named in a finding.
const NAMED: usize = 4;
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

    /// Clues that are known share what they say: many of them make a passage long, not worse.
    fn score(&self, clues: &[String]) -> f32 {
        let known: Vec<f32> = clues.iter().filter_map(|clue| self.of.get(clue.as_str()).copied()).collect();
        let many = u16::try_from(known.len()).unwrap_or(u16::MAX).max(1);
        self.start + known.iter().sum::<f32>() / f32::from(many).sqrt()
    }

    fn heaviest<'c>(&self, clues: &'c [String]) -> Vec<&'c str> {
        let mut known: Vec<_> =
            clues.iter().filter_map(|clue| Some((*self.of.get(clue.as_str())?, clue.as_str()))).collect();
        known.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
        known.into_iter().take(NAMED).map(|(_, clue)| clue).collect()
    }
}

struct Worst<'p> {
    score: f32,
    path: &'p str,
    text: String,
    clues: Vec<String>,
}

impl Learned {
    fn weights(&self) -> &Weights {
        self.0.get_or_init(|| Weights::read(WEIGHTS))
    }

    /// Takes back what only sounds like an order, and adds what nobody else heard.
    pub fn look_at(&self, places: &[Place<'_>], findings: &mut Findings<'_>) {
        let weights = self.weights();
        let Some(worst) = worst(weights, places) else { return };
        if worst.score < weights.quiet {
            findings.found.retain(|finding| finding.rule != INSTRUCTIONS);
        }
        if worst.score > weights.loud && !findings.found.iter().any(|finding| finding.rule == INSTRUCTIONS) {
            let shown: String = worst.text.trim().chars().take(LONGEST_SHOWN).collect();
            let named = weights.heaviest(&worst.clues).join(", ");
            findings.say(INSTRUCTIONS, worst.path, format!("reads like an order to the model: \"{shown}\" ({named})"));
        }
    }
}

fn worst<'p>(weights: &Weights, places: &'p [Place<'p>]) -> Option<Worst<'p>> {
    let mut worst: Option<Worst<'p>> = None;
    for place in places.iter().filter(|place| place.kind == Kind::Prose && !place.is_formal()) {
        for (text, clues) in passages(place.text) {
            let score = weights.score(&clues);
            if worst.as_ref().is_none_or(|known| score > known.score) {
                worst = Some(Worst { score, path: &place.path, text: text.to_owned(), clues });
            }
        }
    }
    worst
}
