//! Values that are cut: one begins in one event of a stream, or in one block of an answer, and ends in the next.

use std::ops::Range;

use crate::{Blocked, Counts, Redaction, cuts};

/// How much of a text may have to wait for what follows.
pub const LONGEST_TAIL: usize = 4096;

/// Signs between two digits of one number.
const WIDEST_GAP: usize = 8;

pub struct Seam<'r, 'a> {
    pub(crate) redaction: &'r Redaction<'a>,
}

impl<'r, 'a> Seam<'r, 'a> {
    pub(crate) fn new(redaction: &'r Redaction<'a>) -> Self {
        Self { redaction }
    }

    /// Where something may begin that is not over at the end of the text; `None` where the text may go on as it is.
    /// Never further back than 4 KiB.
    pub fn tail(&self, text: &str) -> Option<usize> {
        let floor = boundary(text, text.len().saturating_sub(LONGEST_TAIL));
        let near = text.get(floor..)?;
        let begins = |word: &[u8]| self.redaction.sets.iter().any(|set| set.has_literal(word));
        let open_in = |text: &str| {
            let value = open_value(text);
            let cut = || cuts::open(text, value.unwrap_or(text.len()), begins);
            self.open_block(text).or_else(cut).or(value).or_else(|| self.open_context(text))
        };
        let mut open = open_in(near)?;
        // What goes on is read up to here, so nothing may lie across: a value behind which a word is waiting, a key's last line,
        // the word that says what the value is which has begun.
        while let Some(before) = near.get(..open).and_then(open_in).filter(|before| *before < open) {
            open = before;
        }
        Some(floor + open)
    }

    /// Reads pieces of one text as one: everything in them is redacted, and what lies across a cut stands masked in the piece it
    /// begins in and is gone from the others. `None` where nothing is changed, else each piece as it is now.
    pub fn join(&self, pieces: &[&str], found: &mut Counts) -> Result<Option<Vec<String>>, Blocked> {
        let mut ends = Vec::with_capacity(pieces.len());
        let mut whole = String::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
        for piece in pieces {
            whole.push_str(piece);
            ends.push(whole.len());
        }
        let edits = self.redaction.edits_of(&whole, found)?;
        if edits.is_empty() {
            return Ok(None);
        }
        let mut out = vec![String::new(); pieces.len()];
        let mut at = 0;
        for (range, with, _) in edits {
            copy(&whole, at..range.start, &ends, &mut out);
            let begins_in = ends.iter().position(|end| range.start < *end).unwrap_or(0);
            if let Some(piece) = out.get_mut(begins_in) {
                piece.push_str(&with);
            }
            at = range.end;
        }
        copy(&whole, at..whole.len(), &ends, &mut out);
        Ok(Some(out))
    }

    /// A private key that has begun and not ended, or a line that may be its first.
    fn open_block(&self, text: &str) -> Option<usize> {
        let key = self.redaction.sets.iter().find_map(|set| set.open_block(text)).map(|(_, head)| head.start);
        key.or_else(|| open_armour(text))
    }

    /// The last words are some that make a number behind them believable.
    fn open_context(&self, text: &str) -> Option<usize> {
        const NEAR: usize = 48;
        let start = boundary(text, text.len().saturating_sub(NEAR));
        let last = text.get(start..)?;
        let waits = last.trim_end().ends_with([':', '=', '#']) || last.ends_with(char::is_whitespace);
        let speaks = waits && self.redaction.sets.iter().any(|set| set.context_in(last));
        speaks.then_some(start)
    }
}

/// Gives each piece what is its own of a part of the whole.
fn copy(whole: &str, range: Range<usize>, ends: &[usize], out: &mut [String]) {
    let mut start = range.start;
    for (piece, end) in out.iter_mut().zip(ends) {
        let stop = range.end.min(*end);
        if start < stop {
            piece.push_str(whole.get(start..stop).unwrap_or_default());
            start = stop;
        }
    }
}

/// Anything that begins as keys and certificates do, and has not ended.
fn open_armour(text: &str) -> Option<usize> {
    let begin = text.rfind("-----BEGIN")?;
    let rest = text.get(begin..)?;
    let closed =
        rest.find("-----END").is_some_and(|end| rest.get(end + 8..).is_some_and(|after| after.contains("-----")));
    (!closed).then_some(begin)
}

/// A word, a number or a token that the text ends in the middle of.
fn open_value(text: &str) -> Option<usize> {
    let mut start = text.len();
    let mut after: Option<char> = None;
    for (at, c) in text.char_indices().rev() {
        let blank_inside = c == ' ' && {
            let grouped =
                |c: char| c.is_ascii_digit() || c.is_ascii_uppercase() || matches!(c, '-' | '.' | '(' | ')' | ' ');
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            // A wider gap is none inside a number, whose groups may be letters (`GB82 WEST `); and looking further for each blank
            // would cost its square.
            let mut signs = text.get(..at).unwrap_or_default().bytes().rev().take(WIDEST_GAP);
            let number_before = signs
                .find(|byte| !matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'A'..=b'Z'))
                .is_some_and(|byte| byte.is_ascii_digit());
            before.is_some_and(grouped) && after.is_none_or(grouped) && number_before
        };
        if !(blank_inside || is_part(c)) {
            break;
        }
        start = at;
        after = Some(c);
    }
    let value = text.get(start..).filter(|value| !value.trim().is_empty())?;
    // A word with what ends a sentence is over; a full stop may as well stand in an address, and a colon begins one (`https:`).
    let over =
        value.ends_with([';', ')', '!']) && !value.contains(|c: char| c.is_ascii_digit() || c == '@' || c == '/');
    (!over).then_some(start)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || !c.is_ascii()
        || (c.is_ascii_graphic() && !matches!(c, ',' | '"' | '<' | '>' | '{' | '}' | '|' | '?'))
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
