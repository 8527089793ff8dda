//! Reads tool definitions as somebody who does not trust them: characters nobody sees, names and letters that look like
//! others, texts that speak to the model instead of describing the tool.
//!
//! What is looked for is code where it is a fact of Unicode or of the accepted definitions, and data
//! (`policies/scan.yaml`) where it is a matter of words. What a finding leads to is data too.

mod characters;
mod drift;
mod encoded;
mod escapes;
mod fold;
mod harmless;
mod hidden_text;
mod learned;
mod lettering;
mod names;
mod phrases;
mod places;
mod sense;
mod sets;
mod shadow;

use std::collections::BTreeMap;

use gateway_core::definitions::{Accepted, Finding, ScanAction, Scanner};
use serde::Deserialize;
use serde_json::Value;

use harmless::Harmless;
use learned::Learned;
use phrases::{Phrases, WrittenPhrase};
use places::{Kind, places};
use sense::{Sense, WrittenConcept, WrittenSign};

pub const DRIFT: &str = "drift";
pub const HIDDEN_CHARACTERS: &str = "hidden_characters";
pub const LOOKALIKE_NAME: &str = "lookalike_name";
pub const LOOKALIKE_TEXT: &str = "lookalike_text";
pub const IMPERSONATION: &str = "impersonation";
pub const HIDDEN_TEXT: &str = "hidden_text";
pub const INSTRUCTIONS: &str = "instructions";
pub const UNREADABLE: &str = "unreadable";

/// Every rule, and what its findings lead to where nobody says otherwise.
pub const RULES: [(&str, ScanAction); 8] = [
    (DRIFT, ScanAction::Block),
    (HIDDEN_CHARACTERS, ScanAction::Block),
    (LOOKALIKE_NAME, ScanAction::Block),
    (LOOKALIKE_TEXT, ScanAction::Block),
    (IMPERSONATION, ScanAction::Flag),
    (HIDDEN_TEXT, ScanAction::Flag),
    (INSTRUCTIONS, ScanAction::Flag),
    (UNREADABLE, ScanAction::Block),
];

/// A definition larger than this is not read but refused: nobody would read it either.
const LARGEST: usize = 1 << 20;
/// More findings than this of one definition tell nothing new.
const MOST_FINDINGS: usize = 50;

/// `scan.yaml` as it is written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenScan {
    /// What the findings of a rule lead to.
    pub rules: BTreeMap<String, ScanAction>,
    /// Words with one meaning, to be used in patterns as `<name>`.
    pub terms: BTreeMap<String, String>,
    pub phrases: Vec<WrittenPhrase>,
    /// What a sentence can be about.
    pub concepts: BTreeMap<String, WrittenConcept>,
    /// Which concepts should not meet in one.
    pub signs: Vec<WrittenSign>,
    /// What is taken out before anything is read.
    pub harmless: Vec<String>,
}

impl WrittenScan {
    /// An operator's file on top of the shipped one. What both say is said once, in the operator's words: a copy of the
    /// shipped file changes nothing, and a phrase with another weight has that weight.
    #[must_use]
    pub fn with(mut self, own: Self) -> Self {
        self.rules.extend(own.rules);
        self.terms.extend(own.terms);
        self.concepts.extend(own.concepts);
        self.phrases.retain(|phrase| !own.phrases.iter().any(|other| other.pattern == phrase.pattern));
        self.phrases.extend(own.phrases);
        self.signs.retain(|sign| !own.signs.iter().any(|other| other.all == sign.all));
        self.signs.extend(own.signs);
        self.harmless.retain(|clause| !own.harmless.contains(clause));
        self.harmless.extend(own.harmless);
        self
    }
}

/// What is wrong with a `scan.yaml`, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanProblem {
    pub path: String,
    pub what: String,
}

pub struct DefinitionScanner {
    actions: BTreeMap<&'static str, ScanAction>,
    phrases: Phrases,
    sense: Sense,
    harmless: Harmless,
    learned: Learned,
}

impl DefinitionScanner {
    pub fn new(written: &WrittenScan) -> Result<Self, Vec<ScanProblem>> {
        let mut problems = Vec::new();
        for name in written.rules.keys().filter(|name| !RULES.iter().any(|(rule, _)| rule == name)) {
            let known: Vec<_> = RULES.iter().map(|(rule, _)| *rule).collect();
            problems.push(ScanProblem {
                path: format!("rules.{name}"),
                what: format!("there is no such rule; there are {}", known.join(", ")),
            });
        }
        let action = |(rule, usual): (&'static str, ScanAction)| (rule, *written.rules.get(rule).unwrap_or(&usual));
        let phrases = Phrases::compile(&written.terms, &written.phrases, &mut problems);
        let sense = Sense::compile(&written.concepts, &written.signs, &mut problems);
        let harmless = Harmless::compile(&written.harmless, &mut problems);
        if problems.is_empty() {
            let actions = RULES.into_iter().map(action).collect();
            Ok(Self { actions, phrases, sense, harmless, learned: Learned::default() })
        } else {
            Err(problems)
        }
    }

    /// Whether a pattern's own samples are told apart; for the test of the shipped file.
    pub fn score(&self, text: &str) -> u32 {
        self.phrases.score([text], &self.harmless)
    }

    /// The patterns that a text answers to, for whoever writes new ones.
    pub fn heard(&self, text: &str) -> Vec<&str> {
        self.phrases.heard(text, &self.harmless)
    }

    /// The clues of every passage of a definition, for whoever learns weights from them (`plugins/training`).
    pub fn clues(&self, tool: &Value) -> Vec<Vec<String>> {
        let places = places(tool);
        let reading = self.sense.read(tool, &places, &[], "", &self.harmless);
        let heard = |text: &str| self.phrases.families(text, &self.harmless);
        self.learned.clues(&reading, &self.sense, heard).into_iter().map(|(_, clues)| clues).collect()
    }
}

/// Where the rules put what they find.
pub(crate) struct Findings<'a> {
    actions: &'a BTreeMap<&'static str, ScanAction>,
    found: Vec<Finding>,
    /// So much was heard that nobody talks it down.
    certain: bool,
}

impl Findings<'_> {
    fn say(&mut self, rule: &'static str, path: &str, message: impl Into<String>) {
        let action = *self.actions.get(rule).unwrap_or(&ScanAction::Block);
        if action == ScanAction::Allow || self.found.len() >= MOST_FINDINGS {
            return;
        }
        if !self.found.iter().any(|other| other.rule == rule && other.path == path) {
            self.found.push(Finding { rule: rule.into(), path: path.into(), message: message.into(), action });
        }
    }
}

impl Scanner for DefinitionScanner {
    fn scan(&self, server: &str, tool: &Value, accepted: &[Accepted<'_>]) -> Vec<Finding> {
        let mut findings = Findings { actions: &self.actions, found: Vec::new(), certain: false };
        let Some(name) = tool.get("name").and_then(Value::as_str) else {
            findings.say(UNREADABLE, "/name", "a tool is an object with a `name`");
            return findings.found;
        };
        let places = places(tool);
        if places.iter().map(|place| place.text.len()).sum::<usize>() > LARGEST {
            findings.say(UNREADABLE, "", format!("its texts are longer than {LARGEST} bytes together"));
            return findings.found;
        }
        drift::compare(server, name, tool, accepted, &mut findings);
        names::look_at(server, name, accepted, &mut findings);
        shadow::look_at(server, name, tool, accepted, &mut findings);
        let mut hidden = Vec::new();
        for place in &places {
            characters::look_at(place, &mut findings);
            match place.kind {
                Kind::Name | Kind::Key => names::look_at_letters(place, &mut findings),
                Kind::Prose => lettering::look_at(place, &mut findings),
            }
            let decoded = if place.kind == Kind::Prose { encoded::decoded(place.text) } else { Vec::new() };
            hidden_text::look_at(place, &decoded, &mut findings);
            shadow::listen(place, accepted, server, &mut findings);
            if !decoded.is_empty() {
                hidden.push((place.path.clone(), decoded));
            }
        }
        self.phrases.look_at(&places, accepted, server, &self.harmless, &mut findings);
        let mut reading = self.sense.read(tool, &places, accepted, server, &self.harmless);
        self.sense.read_hidden(&hidden, &mut reading);
        self.sense.look_at(&reading, &mut findings);
        let heard = |text: &str| self.phrases.families(text, &self.harmless);
        self.learned.look_at(&reading, &self.sense, heard, &mut findings);
        findings.found
    }
}
