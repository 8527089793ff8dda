//! Values whose names stand elsewhere: beside them, at the head of their column, or before them in a pair.

use std::ops::Range;

use smallvec::SmallVec;

use super::place::Said;
use super::step::{Look, end_of_string};
use super::walk::Walk;

/// So much of an object is searched for the name of a value.
pub(super) const NEAR: usize = 4096;
const MOST_LABELS: usize = 3;
const MOST_COLUMNS: usize = 256;
/// Longer texts are no names.
const LONGEST_NAME: usize = 64;

const VALUES: [&str; 19] = [
    "value",
    "values",
    "val",
    "number",
    "num",
    "no",
    "nr",
    "content",
    "contents",
    "data",
    "text",
    "raw",
    "string",
    "plain",
    "plaintext",
    "secret",
    "default",
    "current",
    "body",
];
const LABELS: [&str; 15] = [
    "name",
    "key",
    "label",
    "field",
    "type",
    "kind",
    "property",
    "variable",
    "var",
    "header",
    "attribute",
    "attr",
    "param",
    "parameter",
    "setting",
];
const MEASURES: [&str; 26] = [
    "id",
    "ids",
    "count",
    "total",
    "size",
    "length",
    "index",
    "time",
    "timestamp",
    "ts",
    "date",
    "at",
    "on",
    "version",
    "price",
    "amount",
    "status",
    "zip",
    "postcode",
    "lat",
    "lng",
    "lon",
    "expires",
    "expiry",
    "port",
    "ttl",
];
const COLUMNS: [&str; 7] = ["columns", "cols", "fields", "headers", "header", "names", "keys"];
const ROWS: [&str; 5] = ["rows", "data", "values", "records", "results"];

/// Names that say nothing of what they name.
pub(super) fn is_value(name: &str) -> bool {
    const LETTERS: Letters = Letters::of(&VALUES);
    ends_in(name, &VALUES, &LETTERS)
}

/// Names of what is counted or measured, whatever is said above it.
pub(super) fn is_measure(name: &str) -> bool {
    const LETTERS: Letters = Letters::of(&MEASURES);
    ends_in(name, &MEASURES, &LETTERS)
}

pub(super) fn are_rows(name: &str) -> bool {
    const LETTERS: Letters = Letters::of(&ROWS);
    ends_in(name, &ROWS, &LETTERS)
}

/// What some words begin and end with: asked of every name, and most have other letters.
struct Letters {
    /// For each letter, a bit for each of them that ends with it, and one for each that begins with it.
    last: [u32; 32],
    first: [u32; 32],
}

impl Letters {
    #[expect(clippy::indexing_slicing, reason = "computed when compiled; no word is empty")]
    const fn of(words: &[&str]) -> Self {
        let mut letters = Self { last: [0; 32], first: [0; 32] };
        let mut at = 0;
        while at < words.len() {
            let word = words[at].as_bytes();
            letters.last[(word[word.len() - 1] & 0x1f) as usize] |= 1 << at;
            letters.first[(word[0] & 0x1f) as usize] |= 1 << at;
            at += 1;
        }
        letters
    }
}

fn of_letter(words: &[u32; 32], letter: u8) -> u32 {
    words.get(usize::from(letter & 0x1f)).copied().unwrap_or_default()
}

#[inline]
fn ends_in(name: &str, words: &[&str], letters: &Letters) -> bool {
    let own = name.as_bytes().last().map_or(0, |end| of_letter(&letters.last, *end));
    own != 0 && ends_in_one_of(name, own, words, letters)
}

/// Whether the last word is one of `own`.
fn ends_in_one_of(name: &str, own: u32, words: &[&str], letters: &Letters) -> bool {
    // Before anybody asks where the last word begins: nearly no name goes back to the first letter of one.
    let bytes = name.as_bytes();
    let mut fitting = 0;
    let mut left = own;
    while left != 0 {
        let word = left.trailing_zeros();
        left &= left - 1;
        let length = words.get(word as usize).map_or(0, |word| word.len());
        let first = bytes.len().checked_sub(length).and_then(|at| bytes.get(at));
        let begins = first.map_or(0, |letter| of_letter(&letters.first, *letter));
        fitting |= begins & (1 << word);
    }
    if fitting == 0 {
        return false;
    }
    let last = last_word(name);
    while fitting != 0 {
        if words.get(fitting.trailing_zeros() as usize).is_some_and(|word| last.eq_ignore_ascii_case(word)) {
            return true;
        }
        fitting &= fitting - 1;
    }
    false
}

/// `Number` of `documentNumber`, `no` of `passport_no`; nothing where it is longer than all words that are asked for.
fn last_word(name: &str) -> &str {
    const LONGEST: usize = 9;
    let bytes = name.as_bytes();
    let mut start = bytes.len();
    for (at, byte) in bytes.iter().enumerate().rev() {
        if !byte.is_ascii_alphabetic() {
            break;
        }
        if bytes.len() - at > LONGEST {
            return "";
        }
        start = at;
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        if byte.is_ascii_uppercase() && before.is_some_and(u8::is_ascii_lowercase) {
            break;
        }
    }
    name.get(start..).unwrap_or_default()
}

/// Names are short and made of words.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST_NAME
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ' | b'#' | b'/'))
}

impl<'w> Walk<'w, '_> {
    /// What the other members of the object that begins at `open` say that its value is.
    pub(super) fn siblings(&mut self, open: usize) -> SmallVec<[Said<'w>; MOST_LABELS]> {
        let mut said = SmallVec::new();
        let text = self.text;
        let near = text.as_bytes().get(..(open + NEAR).min(text.len())).unwrap_or_default();
        let mut look = Look { text: near, at: open };
        look.member(|name, value| {
            let is_label = text.get(name).is_some_and(|name| ends_in(name, &LABELS, const { &Letters::of(&LABELS) }));
            if is_label && text.as_bytes().get(value.start) == Some(&b'"') {
                let label = self.said(value.start + 1..value.end.saturating_sub(1));
                said.extend(Some(label).filter(|label| is_name(label.name)));
            }
            (said.len() == MOST_LABELS).then_some(())
        });
        self.ahead = self.ahead.saturating_sub(look.at.saturating_sub(open));
        said
    }

    /// The heads of the columns whose rows stand in the object that begins at `open`.
    pub(super) fn heads(&mut self, open: usize) -> Vec<Said<'w>> {
        let text = self.text;
        let mut look = Look { text: text.as_bytes(), at: open };
        let found = look.member(|name, value| {
            let is_list = text.as_bytes().get(value.start) == Some(&b'[');
            (is_list && text.get(name).is_some_and(|name| ends_in(name, &COLUMNS, const { &Letters::of(&COLUMNS) })))
                .then_some(value)
        });
        self.ahead = self.ahead.saturating_sub(look.at.saturating_sub(open));
        found.map(|list| self.names_in(list.start, true)).unwrap_or_default()
    }

    /// The names in the list that begins at `open`, as texts or as objects with a name each; none where it holds anything else.
    pub(super) fn names_in(&mut self, open: usize, objects: bool) -> Vec<Said<'w>> {
        let mut look = Look { text: self.text.as_bytes(), at: open + 1 };
        let heads = self.read_names(&mut look, objects);
        self.ahead = self.ahead.saturating_sub(look.at.saturating_sub(open));
        heads.unwrap_or_default()
    }

    /// The names in the first row of the table that the walk is at. In rows of two the first of each may be a name of its own.
    pub(super) fn first_row(&mut self) -> Vec<Said<'w>> {
        let mut heads = self.names_in(self.at, false);
        if let [first, _] = heads.as_mut_slice() {
            *first = Said { name: "", pointed_at: false };
        }
        heads
    }

    fn read_names(&mut self, look: &mut Look<'w>, objects: bool) -> Option<Vec<Said<'w>>> {
        let bytes = look.text;
        let mut heads = Vec::new();
        loop {
            look.blank();
            let start = look.at;
            let head = match bytes.get(start) {
                Some(b'"') => {
                    let end = end_of_string(bytes, start + 1)?;
                    look.at = end + 1;
                    self.said(start + 1..end)
                }
                Some(b'{') if objects => {
                    look.value()?;
                    self.siblings(start).first().copied()?
                }
                _ => return None,
            };
            heads.push(Some(head).filter(|head| is_name(head.name))?);
            look.blank();
            match bytes.get(look.at) {
                Some(b',') if heads.len() < MOST_COLUMNS => look.at += 1,
                Some(b']') => return Some(heads),
                _ => return None,
            }
        }
    }

    /// The first of two elements, where the other is all that follows it and the first is a name.
    pub(super) fn pair(&mut self, first: Range<usize>) -> Option<Said<'w>> {
        let text = self.text;
        let said = Some(self.said(first.clone())).filter(|said| is_name(said.name))?;
        let mut look = Look { text: text.as_bytes(), at: self.at };
        look.blank();
        let scalar = matches!(text.as_bytes().get(look.at), Some(b'"' | b'0'..=b'9' | b'-'));
        if !scalar {
            return None;
        }
        look.value()?;
        look.blank();
        self.ahead = self.ahead.saturating_sub(look.at - first.start);
        (text.as_bytes().get(look.at) == Some(&b']')).then_some(said)
    }

    fn said(&self, at: Range<usize>) -> Said<'w> {
        let name = self.text.get(at.clone()).unwrap_or_default();
        let pointed_at = !is_measure(name) && self.begins_rule(at.start.saturating_sub(1)..at.end + 1);
        Said { name, pointed_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_name_says_what_it_is() {
        for (name, word) in [
            ("documentNumber", "Number"),
            ("passport_no", "no"),
            ("VALUE", "VALUE"),
            ("created_at", "at"),
            ("userID", "ID"),
            ("x1", ""),
            ("identification", ""),
            ("", ""),
        ] {
            assert_eq!(last_word(name), word, "{name}");
        }
        let words = [&VALUES[..], &LABELS, &MEASURES, &COLUMNS, &ROWS].concat();
        assert!(words.iter().all(|word| last_word(word) == *word), "none is too long");
        assert!(is_value("documentNumber") && !is_value("cargo") && is_measure("createdAt") && !is_measure("chat"));
    }
}
