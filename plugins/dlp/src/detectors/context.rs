//! Words near a match that make it believable.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Match};

use crate::ContextWords;

pub(super) struct Context {
    words: AhoCorasick,
    within: usize,
    after: usize,
    pub required: bool,
    also_key: bool,
}

/// A longer word may be followed by more letters: `passports`, `passportNumber`.
const STEM: usize = 5;

impl Context {
    pub fn new(written: &ContextWords) -> Result<Self, String> {
        if written.words.is_empty() || written.words.iter().any(|word| word.trim().is_empty()) {
            return Err("`words` must not be empty".into());
        }
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(written.words.iter().map(|word| word.to_lowercase()))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            words,
            within: written.within.into(),
            after: written.after.into(),
            required: written.required,
            also_key: written.also_key,
        })
    }

    pub fn holds(&self, text: &str, found: &Range<usize>, key: Option<&str>) -> bool {
        if self.also_key && key.is_some_and(|key| self.speaks(key.as_bytes(), 0..key.len())) {
            return true;
        }
        let bytes = text.as_bytes();
        self.speaks(bytes, found.start.saturating_sub(self.within)..found.start)
            || (self.after > 0 && self.speaks(bytes, found.end..(found.end + self.after).min(bytes.len())))
            || (self.also_key && header(text, found.start).is_some_and(|head| self.speaks(bytes, head)))
    }

    /// Whether one of the words stands in this part of the text.
    pub fn speaks(&self, text: &[u8], range: Range<usize>) -> bool {
        let part = text.get(range.clone()).unwrap_or_default();
        self.words.find_overlapping_iter(part).any(|word| is_word(text, range.start, word))
    }
}

/// `Pin` in `userPin` and `pin_code` is a word; `pin` in `shipping` is none.
fn is_word(text: &[u8], offset: usize, word: Match) -> bool {
    let byte = |at: usize| text.get(at).copied().unwrap_or(b' ');
    let (start, end) = (offset + word.start(), offset + word.end());
    let starts = match start.checked_sub(1).map(byte) {
        Some(before) if before.is_ascii_alphabetic() => before.is_ascii_lowercase() && byte(start).is_ascii_uppercase(),
        _ => true,
    };
    let after = byte(end);
    let ends = !after.is_ascii_lowercase()
        || word.len() >= STEM
        || (after == b's' && !byte(end + 1).is_ascii_alphabetic())
        || !byte(end.saturating_sub(1)).is_ascii_alphabetic();
    starts && ends
}

/// In a table with a first line of names: the name of the column that `at` lies in.
fn header(text: &str, at: usize) -> Option<Range<usize>> {
    const LONGEST_LINE: usize = 2048;
    let first_end = memchr::memchr(b'\n', text.as_bytes())?;
    if at <= first_end || first_end > LONGEST_LINE {
        return None;
    }
    let first = text.get(..first_end)?;
    let sign = ['\t', '|', ';', ','].into_iter().find(|sign| first.contains(*sign))?;
    let line_start = memchr::memrchr(b'\n', text.as_bytes().get(..at)?)? + 1;
    let line = text.get(line_start..at)?;
    if line.len() > LONGEST_LINE {
        return None;
    }
    let column = columns(line, sign);
    let mut start = 0;
    for (index, name) in first.split(sign).enumerate() {
        if index == column {
            return is_name(name).then(|| start..start + name.len());
        }
        start += name.len() + sign.len_utf8();
    }
    None
}

/// The first line of prose or of code has commas too; the head of a column is a name and no more.
fn is_name(head: &str) -> bool {
    const LONGEST: usize = 48;
    let head = head.trim().trim_matches(['"', '\'', '`']);
    head.len() <= LONGEST && head.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | '#'))
}

/// Signs outside quotes.
fn columns(line: &str, sign: char) -> usize {
    let mut quoted = false;
    let mut count = 0;
    for c in line.chars() {
        if c == '"' {
            quoted = !quoted;
        } else if c == sign && !quoted {
            count += 1;
        }
    }
    count
}
