//! Texts that speak to the model: scored phrases, which are data.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use gateway_core::definitions::Accepted;
use regex::bytes::RegexSet;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::encoded::decoded;
use super::fold::{pattern_as_read, readable, unspelled};
use super::harmless::Harmless;
use super::places::{Kind, Place};
use super::sets::{LARGEST_SET, together};
use super::shadow::strangers_tools;
use super::{Findings, INSTRUCTIONS, ScanProblem};

/// From here on a definition is reported.
pub const ENOUGH: u32 = 2;
/// Loud phrases of so many families are an order, however honest the rest sounds.
const CERTAIN: usize = 3;
/// Nothing shorter says anything to anybody.
const SHORTEST: usize = 6;

/// One phrase as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenPhrase {
    /// What such a phrase is for; phrases of one family add up less than those of several.
    pub family: String,
    /// 2 and 3 are enough alone; 1 is a cue, and needs another of a different family in the same text.
    pub weight: u32,
    /// A cue that plain descriptions give too: where there is none but such, it takes three.
    #[serde(default)]
    pub weak: bool,
    /// A regular expression over the text in small letters, without accents, with one space between words.
    pub pattern: String,
    /// Where it may match: a parameter's name, or (the default) prose.
    #[serde(default)]
    pub names: bool,
    /// Texts it must find, and texts it must not; a test holds it to them.
    #[serde(default)]
    pub must: Vec<String>,
    #[serde(default)]
    pub must_not: Vec<String>,
}

pub struct Phrases {
    /// Of prose, and of parameters' names, each with the places of its patterns in `written`.
    prose: (RegexSet, Vec<usize>),
    names: (RegexSet, Vec<usize>),
    written: Vec<Known>,
    /// Another server's tool, named where something is demanded.
    demand: Option<Regex>,
}

struct Known {
    family: String,
    weight: u32,
    weak: bool,
    names: bool,
    pattern: String,
    /// Of a cue of prose, to see where it stands.
    place: Option<Cue>,
}

/// Compiled when it is first heard: most never are, and together they would take longer than all the rest of a start.
struct Cue {
    pattern: String,
    regex: OnceLock<Option<Regex>>,
}

impl Cue {
    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| RegexBuilder::new(&self.pattern).size_limit(LARGEST_SET).build().ok()).as_ref()
    }
}

/// How often words count that several cues know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overlaps {
    Once,
    Each,
}

impl Phrases {
    pub fn compile(
        terms: &BTreeMap<String, String>,
        phrases: &[WrittenPhrase],
        problems: &mut Vec<ScanProblem>,
    ) -> Self {
        let mut patterns = Vec::new();
        let mut written = Vec::new();
        for (place, phrase) in phrases.iter().enumerate() {
            let mut say =
                |key: &str, what: String| problems.push(ScanProblem { path: format!("phrases[{place}].{key}"), what });
            if !(1..=3).contains(&phrase.weight) {
                say("weight", format!("{} is not one of 1, 2, 3", phrase.weight));
            }
            let pattern = match spelled_out(&phrase.pattern, terms) {
                Ok(pattern) => pattern,
                Err(what) => {
                    say("pattern", what);
                    continue;
                }
            };
            let WrittenPhrase { family, weight, weak, names, pattern: as_written, .. } = phrase.clone();
            let pattern = pattern_as_read(&pattern);
            let cue = || Cue { pattern: pattern.clone(), regex: OnceLock::new() };
            let where_it_is = (weight == 1 && !names).then(cue);
            written.push(Known { family, weight, weak, names, pattern: as_written, place: where_it_is });
            patterns.push((place, pattern));
        }
        let mut set = |names: bool| {
            let chosen = || patterns.iter().zip(&written).enumerate().filter(|(_, (_, known))| known.names == names);
            let texts = chosen().map(|(_, ((_, pattern), _))| pattern);
            let set = together(texts).unwrap_or_else(|error| {
                let before = problems.len();
                // Together they do not say which of them it is.
                for (_, ((place, pattern), _)) in chosen() {
                    if let Err(error) = RegexBuilder::new(pattern).size_limit(LARGEST_SET).build() {
                        problems
                            .push(ScanProblem { path: format!("phrases[{place}].pattern"), what: error.to_string() });
                    }
                }
                if problems.len() == before {
                    problems.push(ScanProblem { path: "phrases".into(), what: error.to_string() });
                }
                RegexSet::empty()
            });
            (set, chosen().map(|(at, _)| at).collect::<Vec<usize>>())
        };
        let (prose, names) = (set(false), set(true));
        let demand = Regex::new(r"\b(?:must|always|never|instead|do not use|don't use|deprecated|before|rather than|first|whenever|every time|each time|replace[sd]?|avoid)\b").ok();
        Self { prose, names, written, demand }
    }

    pub fn score<'a>(&self, texts: impl IntoIterator<Item = &'a str>, harmless: &Harmless) -> u32 {
        let mut heard = Vec::new();
        for text in texts {
            heard.extend(self.matches(text, Kind::Prose, harmless, Overlaps::Once));
        }
        self.sum(&heard)
    }

    pub fn heard(&self, text: &str, harmless: &Harmless) -> Vec<&str> {
        let known =
            self.matches(text, Kind::Prose, harmless, Overlaps::Each).into_iter().filter_map(|at| self.written.get(at));
        known.map(|known| known.pattern.as_str()).collect()
    }

    /// What is heard in one sentence: families with their weight, `0` for a weak cue.
    pub fn families(&self, sentence: &str, harmless: &Harmless) -> Vec<String> {
        let heard = self.matches(sentence, Kind::Prose, harmless, Overlaps::Each);
        let known = heard.into_iter().filter_map(|at| self.written.get(at));
        let mut families: Vec<_> =
            known.map(|known| format!("!{}{}", known.family, if known.weak { 0 } else { known.weight })).collect();
        families.sort_unstable();
        families.dedup();
        families
    }

    pub fn look_at(
        &self,
        places: &[Place<'_>],
        accepted: &[Accepted<'_>],
        server: &str,
        harmless: &Harmless,
        findings: &mut Findings<'_>,
    ) {
        // Cues mean something only beside one another; what is loud counts wherever it stands.
        let mut heard = Vec::new();
        let mut loudest: Option<(u32, &str)> = None;
        for place in places {
            // What a tool is called says what it is for.
            if place.is_formal() || place.kind == Kind::Name {
                continue;
            }
            let here = self.matches(place.text, place.kind, harmless, Overlaps::Once);
            let loud =
                |at: &&usize| place.kind != Kind::Prose || self.written.get(**at).is_some_and(|known| known.weight > 1);
            heard.extend(here.iter().filter(loud).copied());
            let score = self.sum(&here) + self.names_another(place, accepted, server);
            // What a parameter is called is no sentence: how sentences sound does not speak for it.
            findings.certain |= place.kind == Kind::Key && score > ENOUGH;
            if score > loudest.map_or(0, |(most, _)| most) {
                loudest = Some((score, &place.path));
            }
        }
        let all = self.sum(&heard);
        let Some((most, path)) = loudest else { return };
        if all.max(most) >= ENOUGH {
            let mut families: Vec<_> =
                heard.iter().filter_map(|at| Some(self.written.get(*at)?.family.as_str())).collect();
            families.dedup();
            families.sort_unstable();
            families.dedup();
            findings.certain |= families.len() >= CERTAIN;
            let families = if families.is_empty() { "steering".into() } else { families.join(", ") };
            findings.say(INSTRUCTIONS, path, format!("speaks to the model rather than of the tool ({families})"));
        }
    }

    /// The phrases found in any reading of a text.
    fn matches(&self, text: &str, kind: Kind, harmless: &Harmless, overlaps: Overlaps) -> Vec<usize> {
        let (set, places) = if kind == Kind::Prose { &self.prose } else { &self.names };
        if kind == Kind::Prose && text.len() < SHORTEST {
            return Vec::new();
        }
        let heard = |text: &str| -> Vec<usize> {
            let found: Vec<_> = set.matches(text.as_bytes()).iter().filter_map(|at| places.get(at).copied()).collect();
            if kind == Kind::Prose && overlaps == Overlaps::Once { self.apart(found, text) } else { found }
        };
        let plain = harmless.taken_out(&readable(text));
        let mut found = heard(&plain);
        if kind == Kind::Prose {
            let hidden = decoded(text).into_iter().map(|hidden| readable(&hidden));
            for other in unspelled(&plain).into_iter().chain(hidden) {
                found.extend(heard(&other));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The same few words are one cue, however many patterns know them: what has no place of its own is left out.
    fn apart(&self, mut found: Vec<usize>, text: &str) -> Vec<usize> {
        let place =
            |at: usize| self.written.get(at).and_then(|known| Some((known.weak, known.place.as_ref()?.regex()?)));
        let mut cues: Vec<_> =
            found.iter().filter_map(|at| place(*at).map(|(weak, place)| (weak, *at, place))).collect();
        if cues.len() < 2 {
            return found;
        }
        // The stronger first, which is the one that stays.
        cues.sort_unstable_by_key(|(weak, at, _)| (*weak, *at));
        let (mut taken, mut left_out): (Vec<Range<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
        for (_, at, place) in cues {
            let own: Vec<_> = place.find_iter(text).map(|found| found.range()).collect();
            let free = |one: &Range<usize>| !taken.iter().any(|other| one.start < other.end && other.start < one.end);
            if own.iter().any(free) {
                taken.extend(own);
            } else {
                left_out.push(at);
            }
        }
        found.retain(|at| !left_out.contains(at));
        found
    }

    /// A cue counts once a family, and only where its family says nothing louder; everything else counts once.
    fn sum(&self, heard: &[usize]) -> u32 {
        let mut known: Vec<_> = heard.iter().filter_map(|at| Some((at, self.written.get(*at)?))).collect();
        known.sort_unstable_by_key(|(at, _)| **at);
        known.dedup_by_key(|(at, _)| **at);
        let loud = |family: &str| known.iter().any(|(_, other)| other.weight > 1 && other.family == family);
        let mut cues: Vec<(&str, bool)> = known
            .iter()
            .filter(|(_, one)| one.weight == 1 && !loud(&one.family))
            .map(|(_, one)| (one.family.as_str(), one.weak))
            .collect();
        // The stronger of a family first, which is the one that stays.
        cues.sort_unstable();
        cues.dedup_by_key(|(family, _)| *family);
        let spare = usize::from(cues.iter().all(|(_, weak)| *weak));
        let cues = u32::try_from(cues.len().saturating_sub(spare)).unwrap_or(u32::MAX);
        known.iter().filter(|(_, one)| one.weight > 1).map(|(_, one)| one.weight).fold(cues, u32::saturating_add)
    }

    /// A tool has no business with the tools of another server.
    fn names_another(&self, place: &Place<'_>, accepted: &[Accepted<'_>], server: &str) -> u32 {
        if place.kind != Kind::Prose || accepted.is_empty() {
            return 0;
        }
        let text = readable(place.text);
        let demands = || self.demand.as_ref().is_some_and(|demand| demand.is_match(&text));
        if strangers_tools(&text, accepted, server).next().is_some() && demands() { ENOUGH } else { 0 }
    }
}

/// The pattern with every `<term>` replaced by what it stands for; terms may use others.
fn spelled_out(pattern: &str, terms: &BTreeMap<String, String>) -> Result<String, String> {
    let mut text = pattern.to_owned();
    for _ in 0..4 {
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        let mut again = false;
        while let Some((before, after)) = rest.split_once('<') {
            out.push_str(before);
            match after.split_once('>') {
                Some((name, after))
                    if !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_') =>
                {
                    let meaning = terms
                        .get(name)
                        .ok_or_else(|| format!("there is no term `{name}`; a `<` of the text is written \\x3c"))?;
                    out.push_str("(?:");
                    out.push_str(meaning);
                    out.push(')');
                    again = true;
                    rest = after;
                }
                _ => {
                    out.push('<');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        text = out;
        if !again {
            return Ok(text);
        }
    }
    Err("its terms refer to one another too deeply".into())
}
