//! The phrases of `injection.yaml`, and the score of a text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use gateway_core::digest;
use gateway_core::injection::{AnswerReader, InjectionAction, Suspicion};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::passages::{Cues, QUOTES, unquoted};
use crate::scan::{DefinitionScanner, ScanProblem};

/// What is read of one text.
const LONGEST_TEXT: usize = 64 << 10;
/// What is skimmed of one answer.
const LONGEST_ANSWER: usize = 4 << 20;
/// What a phrase loses where it is only quoted.
const QUOTED: u32 = 2;
/// Said to a model and not of one.
const ADDRESSED: &str = "addressed";

/// `injection.yaml` as it is written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenInjection {
    pub action: Option<InjectionAction>,
    /// From which score on an answer counts.
    pub score: Option<u32>,
    /// Words of the trade: where no two of them stand close together nothing is read.
    pub cues: Vec<String>,
    /// Words with one meaning, to be used in patterns as `<name>`.
    pub terms: BTreeMap<String, String>,
    pub phrases: Vec<WrittenPhrase>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenPhrase {
    /// What such a phrase is for; of each family the heaviest phrase counts.
    pub family: String,
    pub weight: u32,
    /// A regular expression over the text in small letters, without accents, with one space between words.
    pub pattern: String,
    /// Texts that it must find, and texts that it must not; a test holds it to them.
    #[serde(default)]
    pub must: Vec<String>,
    #[serde(default)]
    pub must_not: Vec<String>,
}

pub struct Reader {
    written: WrittenInjection,
    digest: String,
    cues: Cues,
    /// Compiled when the first suspicious answer comes, unless somebody prepares for it.
    phrases: OnceLock<Option<DefinitionScanner>>,
}

impl Reader {
    pub fn new(written: WrittenInjection) -> Result<Self, Vec<ScanProblem>> {
        let mut problems = Vec::new();
        for (place, cue) in written.cues.iter().enumerate().filter(|(_, cue)| cue.trim().len() < 2) {
            let what = format!("`{cue}` is too short to be a cue");
            problems.push(ScanProblem { path: format!("cues[{place}]"), what });
        }
        let cues = Cues::compile(&written.cues).map_err(|what| vec![ScanProblem { path: "cues".into(), what }]);
        let bytes = serde_json::to_vec(&written).unwrap_or_default();
        match cues {
            Ok(cues) if problems.is_empty() => {
                Ok(Self { digest: digest::named(&bytes), written, cues, phrases: OnceLock::new() })
            }
            Ok(_) => Err(problems),
            Err(more) => Err(more),
        }
    }

    /// Whether every pattern compiles; takes a moment.
    pub fn check(&self) -> Result<(), Vec<ScanProblem>> {
        compile(&self.written).map(drop)
    }

    fn phrases(&self) -> Option<&DefinitionScanner> {
        let phrases = self.phrases.get_or_init(|| match compile(&self.written) {
            Ok(phrases) => Some(phrases),
            // What was loaded was checked, so that this is ours.
            Err(problems) => {
                tracing::error!(?problems, "the phrases of injected instructions do not compile");
                None
            }
        });
        phrases.as_ref()
    }

    /// The best of each family, and what it is worth, in one passage.
    fn heard(&self, passage: &str) -> BTreeMap<&str, u32> {
        let mut best = BTreeMap::new();
        for pattern in self.phrases().into_iter().flat_map(|phrases| phrases.heard(passage)) {
            for phrase in self.written.phrases.iter().filter(|phrase| phrase.pattern == pattern) {
                let weight = best.entry(phrase.family.as_str()).or_default();
                *weight = phrase.weight.max(*weight);
            }
        }
        best
    }

    /// Being spoken to adds to what is said, and says nothing alone.
    fn worth(heard: &BTreeMap<&str, u32>) -> u32 {
        let said = heard.iter().filter(|(family, _)| **family != ADDRESSED);
        let sum = said.map(|(_, weight)| *weight).fold(0, u32::saturating_add);
        if sum > 0 && heard.contains_key(ADDRESSED) { sum + 1 } else { sum }
    }

    fn text(&self, text: &str) -> Suspicion {
        let passages = self.cues.passages(text).into_iter();
        passages.map(|passage| self.passage(passage)).max_by_key(|found| found.score).unwrap_or_default()
    }

    fn passage(&self, passage: &str) -> Suspicion {
        let heard = self.heard(passage);
        let mut score = Self::worth(&heard);
        if score > 0 && passage.contains(QUOTES) {
            let plain = Self::worth(&self.heard(&unquoted(passage)));
            score = plain.max(score.saturating_sub(QUOTED));
        }
        Suspicion { score, families: heard.into_keys().map(str::to_owned).collect() }
    }
}

impl AnswerReader for Reader {
    fn prepare(&self) {
        self.phrases();
    }

    fn suspects(&self, json: &[u8]) -> bool {
        self.cues.any(json.get(..LONGEST_ANSWER).unwrap_or(json))
    }

    fn read(&self, texts: &mut dyn Iterator<Item = &str>) -> Suspicion {
        let mut worst = Suspicion::default();
        for text in texts {
            let mut end = text.len().min(LONGEST_TEXT);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let text = text.get(..end).unwrap_or_default();
            let found = match written_out(text) {
                // JSON in a text: what stands between its quotation marks is not a quotation.
                Some(inner) => {
                    let mut texts = Vec::new();
                    super::gather(&inner, &mut texts);
                    texts.into_iter().map(|text| self.text(text)).max_by_key(|found| found.score).unwrap_or_default()
                }
                None => self.text(text),
            };
            if found.score > worst.score {
                worst = found;
            }
        }
        worst
    }

    fn digest(&self) -> &str {
        &self.digest
    }
}

/// The tree of a text that is JSON, as tools give that know no other way to say something structured.
fn written_out(text: &str) -> Option<Value> {
    let json = text.trim_start().starts_with(['{', '[']);
    if json { serde_json::from_str(text).ok() } else { None }
}

/// The scanner of definitions reads phrases through every disguise that it knows; here it is given other ones to look for.
fn compile(written: &WrittenInjection) -> Result<DefinitionScanner, Vec<ScanProblem>> {
    let phrases: Vec<_> = written
        .phrases
        .iter()
        .map(|phrase| json!({ "family": phrase.family, "weight": phrase.weight, "pattern": phrase.pattern }))
        .collect();
    let unread = |error: serde_json::Error| vec![ScanProblem { path: "phrases".into(), what: error.to_string() }];
    let written = serde_json::from_value(json!({ "terms": written.terms, "phrases": phrases })).map_err(unread)?;
    DefinitionScanner::new(&written)
}

impl WrittenInjection {
    /// An operator's file on top of the shipped one.
    #[must_use]
    pub fn with(mut self, own: Self) -> Self {
        self.action = own.action.or(self.action);
        self.score = own.score.or(self.score);
        self.terms.extend(own.terms);
        // A copy of the shipped file says nothing new.
        let known: BTreeSet<_> = self.phrases.iter().map(|phrase| phrase.pattern.clone()).collect();
        self.phrases.extend(own.phrases.into_iter().filter(|phrase| !known.contains(&phrase.pattern)));
        let cues: BTreeSet<_> = self.cues.drain(..).chain(own.cues).collect();
        self.cues = cues.into_iter().collect();
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nobody_waits_for_what_was_prepared() {
        let reader = Reader::new(WrittenInjection::default()).unwrap();
        assert!(reader.phrases.get().is_none(), "who never serves need not pay for it");
        reader.prepare();
        assert!(reader.phrases.get().is_some());
    }
}
