//! A private key that arrives in pieces, of which the first had to go on before the last came.
//!
//! Whoever gives pieces away remembers that a key was open, and nothing follows it until the key ends, or until what comes is
//! plainly no key.

use std::ops::Range;

use crate::detectors::{GAP, LONGEST, RUN};
use crate::{Action, Counts, Redaction, Seam, mask, material};

/// So much of what came last is remembered: its end line may be cut, and a run of letters may be.
const TAIL: usize = 128;
/// Words in a row, none of which is a key's.
const PROSE: usize = 4;

/// A key that has begun and not ended.
#[derive(Debug, Clone)]
pub struct OpenKey {
    set: usize,
    rule: u16,
    tail: String,
    /// Bytes since something that can only be a key's.
    gap: usize,
    bytes: usize,
}

/// What becomes of a piece behind an open key.
#[derive(Debug, PartialEq, Eq)]
pub struct Rest {
    /// Bytes at its start that are the key's.
    pub taken: usize,
    /// The key is over, and what follows is a text like any other.
    pub over: bool,
}

impl Seam<'_, '_> {
    /// Where a key begins in a text that it does not end in, what stands in its place, and how to go on behind the text.
    /// `None` where none does, and where keys are let through.
    pub fn open_key(&self, text: &str, found: &mut Counts) -> Option<(usize, String, OpenKey)> {
        let redaction: &Redaction<'_> = self.redaction;
        let open = |(set, detectors): (usize, &&crate::Detectors)| {
            detectors.open_block(text).map(|(rule, head)| (set, rule, head))
        };
        let (set, rule, head): (usize, u16, Range<usize>) = redaction.sets.iter().enumerate().find_map(open)?;
        let action = redaction.actions.of(set, rule);
        let known = redaction.sets.get(set).and_then(|detectors| detectors.rule(rule))?;
        if action == Action::Observe {
            return None;
        }
        let mut key = OpenKey { set, rule, tail: String::new(), gap: 0, bytes: 0 };
        if self.go_on(&mut key, text.get(head.end..).unwrap_or_default()).over {
            return None;
        }
        found.add(&known.id, action, 1);
        let value = text.get(head.start..).unwrap_or_default();
        Some((head.start, mask::text(known, action, value, redaction.key), key))
    }

    /// The next piece of a text in which a key is open.
    pub fn go_on(&self, key: &mut OpenKey, piece: &str) -> Rest {
        let known = key.tail.len();
        let near = [key.tail.as_str(), piece].concat();
        let end = self.redaction.sets.get(key.set).and_then(|set| set.end_of_block(key.rule, &near));
        if let Some(end) = end {
            return Rest { taken: end.saturating_sub(known), over: true };
        }
        let mut last = None;
        for run in material::runs(&near, RUN) {
            let before = last.unwrap_or(0);
            if run.start.saturating_sub(before) > GAP {
                break;
            }
            last = Some(run.end);
        }
        key.gap = last.map_or(key.gap + piece.len(), |last| near.len() - last);
        key.bytes += piece.len();
        let rest = near.get(last.unwrap_or(known)..).unwrap_or_default();
        if key.gap > GAP || key.bytes > LONGEST || is_prose(rest) {
            return Rest { taken: last.unwrap_or(0).saturating_sub(known), over: true };
        }
        key.tail = near.get(near.ceil_char_boundary(near.len().saturating_sub(TAIL))..).unwrap_or_default().to_owned();
        Rest { taken: piece.len(), over: false }
    }
}

/// Some words with blanks between them; the lines of a key have none.
fn is_prose(text: &str) -> bool {
    let word = |word: &str| {
        let letters = word.trim_matches(|c: char| c.is_ascii_punctuation());
        letters.len() >= 2 && letters.len() < RUN && letters.chars().all(char::is_alphabetic)
    };
    let mut row = 0;
    text.split(' ').any(|part| {
        row = if word(part) { row + 1 } else { 0 };
        row >= PROSE
    })
}
