//! Compiled detectors: where to begin to look, and what must hold there.

use std::sync::Arc;

use regex_automata::meta::Regex;
use sha2::{Digest, Sha256};

use crate::{Action, Check, Keep, Severity, WrittenDetector};

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

pub struct Detectors {
    rules: Vec<Rule>,
    compiled: Vec<(Option<Regex>, Vec<Check>)>,
    digest: String,
}

impl Detectors {
    /// All problems at once, or none.
    pub fn compile(written: Vec<WrittenDetector>) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut rules = Vec::new();
        let mut compiled = Vec::new();
        let mut digest = Sha256::new();
        for one in written {
            digest.update(serde_json::to_vec(&one).unwrap_or_default());
            let pattern = one.pattern.as_deref().map(Regex::new).transpose();
            match pattern {
                Ok(pattern) => compiled.push((pattern, one.check)),
                Err(error) => {
                    problems.push(Problem { id: one.id.clone(), field: "pattern", problem: error.to_string() });
                }
            }
            let label = if one.label.is_empty() { one.id.to_uppercase() } else { one.label };
            rules.push(Rule {
                id: one.id.into(),
                title: one.title.into(),
                tier: one.tier,
                severity: one.severity,
                tags: one.tags.into(),
                label: label.into(),
                keep: one.keep,
                action: one.action,
            });
        }
        if problems.is_empty() {
            Ok(Self { rules, compiled, digest: hex::encode(digest.finalize()) })
        } else {
            Err(problems)
        }
    }

    /// The same for the same detectors in the same order.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether anything in a raw message deserves a look. `false` means that `scan` of any string in it finds nothing.
    pub fn suspects(&self, raw: &[u8]) -> bool {
        !raw.is_empty() && !self.rules.is_empty()
    }

    /// Everything in a text, however it is written; sorted and not overlapping. `key` is the JSON member it is the value of.
    pub fn scan(&self, text: &str, _key: Option<&str>, out: &mut Vec<Hit>) {
        for (rule, (pattern, checks)) in self.compiled.iter().enumerate() {
            let Some(pattern) = pattern else {
                continue;
            };
            for found in pattern.find_iter(text) {
                let value = text.get(found.range()).unwrap_or_default();
                let (Ok(rule), Ok(start), Ok(end)) =
                    (u16::try_from(rule), u32::try_from(found.start()), u32::try_from(found.end()))
                else {
                    continue;
                };
                if checks.iter().all(|check| check.passes(value)) {
                    out.push(Hit { rule, start, end, view: View::Plain });
                }
            }
        }
        out.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
        let mut end = 0;
        out.retain(|hit| {
            let keeps = hit.start >= end;
            end = end.max(hit.end);
            keeps
        });
    }
}
