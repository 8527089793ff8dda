//! What a sentence is about: concepts that have no business with one another in the description of a tool.
//!
//! Phrases know how something is said; here only matters what is spoken of. A sentence in which somebody's passwords, a verb
//! of handing over and one of the tool's own parameters meet is a demand, however it is built and in whatever language.
//! Concepts and their unwelcome meetings are data; what depends on the tool (its parameters, its name) is seen here.

pub mod sentences;

use std::collections::BTreeMap;

use gateway_core::definitions::Accepted;
use regex::bytes::RegexSet;
use serde::Deserialize;
use serde_json::Value;

use super::fold::{pattern_as_read, readable};
use super::harmless::Harmless;
use super::places::{Kind, Place};
use super::sets::{LARGEST_SET, by_bytes, together};
use super::{Findings, INSTRUCTIONS, ScanProblem};
use sentences::{parameters, sentences, spoken, stands_alone, stands_as_field};

/// One bit a concept.
const MOST_CONCEPTS: usize = 56;
/// More parameters than this are not looked for by name.
const MOST_PARAMETERS: usize = 200;
/// A tool of one short word may be just a word.
const SHORTEST_NAME: usize = 5;

/// One of the tool's own parameters is named.
const SLOT: u64 = 1 << 63;
/// The sentence describes a parameter.
const PARAMETER: u64 = 1 << 62;
/// A tool of another server is named.
const STRANGER: u64 = 1 << 61;
/// Something was said before this sentence, so that it need not be the one which says what the tool does.
const BESIDE: u64 = 1 << 60;
/// It is not a sentence but the name of a parameter.
const NAME: u64 = 1 << 59;
/// It is in a title, which only says what the tool is called.
const TITLE: u64 = 1 << 58;
/// It describes what the tool gives back.
const RESULT: u64 = 1 << 57;
const SEEN_HERE: [(&str, u64); 7] = [
    ("slot", SLOT),
    ("parameter", PARAMETER),
    ("stranger", STRANGER),
    ("beside", BESIDE),
    ("name", NAME),
    ("title", TITLE),
    ("result", RESULT),
];

/// A concept as it is written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenConcept {
    /// Not counted for a tool whose name or purpose is just this.
    #[serde(default)]
    pub topical: bool,
    /// Not counted in the texts of a tool that takes just this in a parameter of its name.
    #[serde(default)]
    pub own: bool,
    /// Part of speaking to somebody: a first sentence with it is no statement of purpose.
    #[serde(default)]
    pub addresses: bool,
    /// Regular expressions over the text in small letters, without accents.
    pub any: Vec<String>,
}

/// Concepts that should not meet, as they are written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenSign {
    pub family: String,
    /// Each must be met; `a|b` is met by either.
    pub all: Vec<String>,
}

pub struct Sense {
    concepts: RegexSet,
    names: Vec<String>,
    topical: u64,
    own: u64,
    addresses: u64,
    signs: Vec<Sign>,
}

struct Sign {
    family: String,
    all: Vec<u64>,
}

/// A definition as it was understood.
pub struct Reading<'p> {
    /// What the tool is called, as one says it.
    pub called: String,
    pub sentences: Vec<Sentence<'p>>,
    /// Its parameters' names, with what they are about.
    names: Vec<(String, u64)>,
}

pub struct Sentence<'p> {
    pub path: &'p str,
    pub text: &'p str,
    /// It is the one that says what the tool does.
    pub states: bool,
    on: u64,
}

/// What the reading of one tool's sentences depends on.
struct Subject {
    /// Concepts that are its own business.
    topic: u64,
    /// Its parameters as they read, with what their names are about.
    parameters: Vec<(String, u64)>,
    strangers: Vec<String>,
}

fn faulty<'c>(name: &'c str, concept: &'c WrittenConcept) -> impl Iterator<Item = ScanProblem> + 'c {
    concept.any.iter().enumerate().filter_map(move |(at, part)| {
        let alone = regex::RegexBuilder::new(&pattern_as_read(part)).size_limit(LARGEST_SET).build();
        let path = format!("concepts.{name}.any[{at}]");
        alone.err().map(|error| ScanProblem { path, what: error.to_string() })
    })
}

impl Sense {
    pub fn compile(
        concepts: &BTreeMap<String, WrittenConcept>,
        signs: &[WrittenSign],
        problems: &mut Vec<ScanProblem>,
    ) -> Self {
        let mut say = |path: String, what: String| problems.push(ScanProblem { path, what });
        if concepts.len() > MOST_CONCEPTS {
            say("concepts".into(), format!("{} are too many; {MOST_CONCEPTS} are possible", concepts.len()));
        }
        let joined = |concept: &WrittenConcept| {
            let parts: Vec<_> =
                concept.any.iter().map(|part| format!("(?:{})", by_bytes(&pattern_as_read(part)))).collect();
            parts.join("|")
        };
        for (name, concept) in concepts {
            if concept.any.is_empty() {
                say(format!("concepts.{name}.any"), "a concept needs words".into());
            }
        }
        let known = |name: &str| {
            let seen = SEEN_HERE.iter().find(|(seen, _)| *seen == name).map(|(_, bit)| *bit);
            seen.or_else(|| concepts.keys().position(|concept| concept == name).and_then(bit))
        };
        let mut compiled = Vec::new();
        for (at, sign) in signs.iter().enumerate() {
            let mut all = Vec::new();
            for item in &sign.all {
                let mut met = 0;
                for name in item.split('|') {
                    match known(name.trim()) {
                        Some(bit) => met |= bit,
                        None => say(format!("signs[{at}].all"), format!("there is no concept `{name}`")),
                    }
                }
                all.push(met);
            }
            if all.is_empty() {
                say(format!("signs[{at}].all"), "a sign needs concepts that meet".into());
            }
            compiled.push(Sign { family: sign.family.clone(), all });
        }
        let of = |wanted: fn(&WrittenConcept) -> bool| {
            let wanted = concepts.values().enumerate().filter(|(_, concept)| wanted(concept));
            wanted.filter_map(|(at, _)| bit(at)).fold(0, |all, bit| all | bit)
        };
        let (topical, addresses) = (of(|concept| concept.topical), of(|concept| concept.addresses));
        let own = of(|concept| concept.own);
        let set = together(concepts.values().map(joined)).unwrap_or_else(|error| {
            // Together they do not say which of them it is, and one by one they take long.
            problems.extend(concepts.iter().flat_map(|(name, concept)| faulty(name, concept)));
            if problems.is_empty() {
                problems.push(ScanProblem { path: "concepts".into(), what: error.to_string() });
            }
            RegexSet::empty()
        });
        let names = concepts.keys().cloned().collect();
        Self { concepts: set, names, topical, own, addresses, signs: compiled }
    }

    /// Every sentence of the definition with what it is about.
    pub fn read<'p>(
        &self,
        tool: &Value,
        places: &'p [Place<'p>],
        accepted: &[Accepted<'_>],
        server: &str,
        harmless: &Harmless,
    ) -> Reading<'p> {
        let subject = self.subject(tool, accepted, server);
        let taken = subject.parameters.iter().fold(0, |all, (_, about)| all | about) & self.own;
        let mut read = Vec::new();
        for place in places.iter().filter(|place| place.kind == Kind::Prose && !place.is_formal()) {
            let parameter = place.parameter().map(|name| self.about(&spoken(name)));
            for (at, sentence) in sentences(place.text).enumerate() {
                let text = harmless.taken_out(&readable(sentence));
                let mut on = self.about(&text) & !(subject.topic | taken | parameter.unwrap_or(0) & self.topical);
                on |= if parameter.is_some() { PARAMETER } else { 0 };
                on |= if at > 0 { BESIDE } else { 0 };
                on |= if matches!(place.path.as_str(), "/title" | "/annotations/title") { TITLE } else { 0 };
                on |= if place.path.starts_with("/outputSchema") { RESULT } else { 0 };
                let private = on & self.topical;
                let slot = |(name, about): &(String, u64)| about & private == 0 && stands_as_field(&text, name);
                on |= if subject.parameters.iter().any(slot) { SLOT } else { 0 };
                on |= if subject.strangers.iter().any(|name| stands_alone(&text, name)) { STRANGER } else { 0 };
                let states = at == 0 && place.path == "/description";
                read.push(Sentence { path: &place.path, text: sentence, states, on });
            }
        }
        let names = subject.parameters.into_iter().map(|(name, about)| (name, about & !subject.topic | NAME)).collect();
        let called = spoken(tool.get("name").and_then(Value::as_str).unwrap_or_default());
        Reading { called, sentences: read, names }
    }

    /// Adds what stands in code, with the path of where it stands: nothing hidden belongs to a tool's purpose.
    pub fn read_hidden<'p>(&self, hidden: &'p [(String, Vec<String>)], reading: &mut Reading<'p>) {
        let texts = hidden.iter().flat_map(|(path, texts)| texts.iter().map(move |text| (path, text)));
        for (path, sentence) in texts.flat_map(|(path, text)| sentences(text).map(move |sentence| (path, sentence))) {
            let on = self.about(&readable(sentence)) | BESIDE;
            reading.sentences.push(Sentence { path: path.as_str(), text: sentence, states: false, on });
        }
    }

    /// Reports what should not have met.
    pub fn look_at(&self, reading: &Reading<'_>, findings: &mut Findings<'_>) {
        for (name, on) in &reading.names {
            self.judge(*on, "/inputSchema", &format!("`{name}`"), findings);
        }
        for sentence in &reading.sentences {
            self.judge(sentence.on, sentence.path, "it", findings);
        }
    }

    /// What a sentence is about, in the words of the file, in one order. That it is a title is left out: few honest texts that
    /// can be learned from have one, and it would count for more than it says.
    pub fn named(&self, sentence: &Sentence<'_>) -> Vec<&str> {
        let on = sentence.on & !TITLE;
        let seen = SEEN_HERE.iter().filter(|(_, bit)| on & bit != 0).map(|(name, _)| *name);
        let concepts =
            self.names.iter().enumerate().filter(|(at, _)| bit(*at).is_some_and(|bit| sentence.on & bit != 0));
        concepts.map(|(_, name)| name.as_str()).chain(seen).collect()
    }

    /// What met in a sentence and should not have.
    pub fn families(&self, sentence: &Sentence<'_>) -> Vec<&str> {
        self.met(sentence.on)
    }

    fn met(&self, on: u64) -> Vec<&str> {
        let met = self.signs.iter().filter(|sign| sign.all.iter().all(|met| on & met != 0));
        let mut families: Vec<_> = met.map(|sign| sign.family.as_str()).collect();
        families.sort_unstable();
        families.dedup();
        families
    }

    fn judge(&self, on: u64, path: &str, what: &str, findings: &mut Findings<'_>) {
        let families = self.met(on);
        if !families.is_empty() {
            // That another server's tool is meant is no matter of sound.
            findings.certain |= on & STRANGER != 0;
            let message = format!("{what} asks for more than the tool's purpose needs ({})", families.join(", "));
            findings.say(INSTRUCTIONS, path, message);
        }
    }

    fn about(&self, text: &str) -> u64 {
        self.concepts.matches(text.as_bytes()).iter().filter_map(bit).fold(0, |all, bit| all | bit)
    }

    fn subject(&self, tool: &Value, accepted: &[Accepted<'_>], server: &str) -> Subject {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut names = Vec::new();
        parameters(tool.get("inputSchema").unwrap_or(&Value::Null), MOST_PARAMETERS, &mut names);
        let parameters: Vec<_> =
            names.into_iter().map(|name| (readable(name), self.about(&spoken(name)) & self.topical)).collect();
        // What a tool says it does is its business, as long as it says so of itself and to nobody.
        let first = tool.get("description").and_then(Value::as_str).and_then(|text| sentences(text).next());
        let first = first.map(readable).unwrap_or_default();
        let purpose = self.about(&first);
        let states = purpose & self.addresses == 0 && !parameters.iter().any(|(name, _)| stands_as_field(&first, name));
        let topic = (self.about(&spoken(name)) | if states { purpose } else { 0 }) & self.topical;
        let strangers = accepted.iter().filter(|known| known.server != server);
        let strangers = strangers
            .filter_map(|known| known.definition.get("name").and_then(Value::as_str))
            .filter(|name| name.len() >= SHORTEST_NAME && name.contains(['_', '-', '.']))
            .map(str::to_lowercase)
            .collect();
        Subject { topic, parameters, strangers }
    }
}

fn bit(at: usize) -> Option<u64> {
    (at < MOST_CONCEPTS).then(|| 1_u64.checked_shl(u32::try_from(at).ok()?)).flatten()
}

#[cfg(test)]
mod tests;
