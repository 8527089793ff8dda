//! Clauses that mean the opposite of what their words would: advice to keep secrets, to ask first, to distrust results.
//!
//! They are taken out before a text is read. Each is short and says one thing, so nothing else hides behind it.

use regex::{Regex, RegexBuilder};

use super::ScanProblem;
use super::fold::pattern_as_read;

const LARGEST: usize = 8 << 20;

#[derive(Default)]
pub struct Harmless(Vec<Regex>);

impl Harmless {
    pub fn compile(written: &[String], problems: &mut Vec<ScanProblem>) -> Self {
        let mut patterns = Vec::new();
        for (at, pattern) in written.iter().enumerate() {
            match RegexBuilder::new(&pattern_as_read(pattern)).size_limit(LARGEST).build() {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => {
                    problems.push(ScanProblem { path: format!("harmless[{at}]"), what: error.to_string() });
                }
            }
        }
        Self(patterns)
    }

    /// A readable text without them.
    pub fn taken_out(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for pattern in &self.0 {
            if let std::borrow::Cow::Owned(shorter) = pattern.replace_all(&text, " ") {
                text = shorter;
            }
        }
        text
    }
}
