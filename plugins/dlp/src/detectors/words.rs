//! Many words looked for at once, in either case.
//!
//! A table of states and nothing else: one step for each byte, and no question but whether a word has ended. Texts are read like
//! this before anything else, so a step is all that most of them cost.

use std::collections::{HashMap, HashSet};

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::{Builder, DFA};
use aho_corasick::{Anchored, BuildError};

pub(super) struct Words {
    /// For each byte its column; all that no word holds share one.
    columns: Box<[u8; 256]>,
    /// Row by row, a row for each state: where the row of the next state begins.
    steps: Vec<u32>,
    /// From this row on a word ends in every state.
    first_end: u32,
    start: u32,
    width: u32,
    /// For each of those rows the words that end there: their places in the list, and how long they are.
    ends: Vec<Vec<(usize, usize)>>,
}

impl Words {
    pub fn new(words: &[String]) -> Result<Self, BuildError> {
        let automaton = Builder::new().prefilter(false).ascii_case_insensitive(true).build(words)?;
        // An automaton that is built like this has such a state.
        let start = automaton.start_state(Anchored::No).unwrap_or_default();
        Ok(Self::of(&automaton, words, start))
    }

    /// The same automaton, written so that a step asks for nothing but its row.
    fn of(automaton: &DFA, words: &[String], start: StateID) -> Self {
        let held: HashSet<u8> =
            words.iter().flat_map(|word| word.bytes()).map(|byte| byte.to_ascii_lowercase()).collect();
        let is_held = |byte: u8| held.contains(&byte.to_ascii_lowercase());
        // A byte that no word holds, if there is one, stands for all of those.
        let mut letters: Vec<u8> = (0..=u8::MAX).filter(|byte| !is_held(*byte)).take(1).collect();
        let mut columns = Box::new([0; 256]);
        for (byte, column) in (0..=u8::MAX).zip(columns.iter_mut()).filter(|(byte, _)| is_held(*byte)) {
            let own = letters.iter().position(|letter| letter.eq_ignore_ascii_case(&byte) && is_held(*letter));
            *column = u8::try_from(own.unwrap_or(letters.len())).unwrap_or_default();
            if own.is_none() {
                letters.push(byte);
            }
        }
        let mut states = vec![start];
        let mut seen = HashSet::from([start]);
        let mut next = 0;
        while let Some(state) = states.get(next).copied() {
            next += 1;
            for letter in &letters {
                let to = automaton.next_state(Anchored::No, state, *letter);
                if seen.insert(to) {
                    states.push(to);
                }
            }
        }
        // Those in which a word ends come last, so that one comparison tells them.
        states.sort_by_key(|state| automaton.is_match(*state));
        let width = u32::try_from(letters.len()).unwrap_or(u32::MAX);
        let rows: HashMap<StateID, u32> = states.iter().copied().zip((0..).map(|row| row * width)).collect();
        let row = |state: StateID| rows.get(&state).copied().unwrap_or_default();
        let steps = states
            .iter()
            .flat_map(|state| letters.iter().map(|letter| row(automaton.next_state(Anchored::No, *state, *letter))));
        let steps: Vec<u32> = steps.collect();
        let end = |state: &StateID, index: usize| {
            let word = automaton.match_pattern(*state, index);
            (word.as_usize(), automaton.pattern_len(word))
        };
        let ending = states.iter().filter(|state| automaton.is_match(**state));
        let ends: Vec<Vec<_>> =
            ending.map(|state| (0..automaton.match_len(*state)).map(|index| end(state, index)).collect()).collect();
        let first_end = u32::try_from(states.len() - ends.len()).unwrap_or(u32::MAX).saturating_mul(width);
        Self { columns, steps, first_end, start: row(start), width, ends }
    }

    /// Every word that stands in a text, also inside another, by its place in the list and where it begins and ends, until `found`
    /// says enough.
    #[inline]
    pub fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize, usize) -> bool) {
        let mut state = self.start;
        let mut rest = text;
        while let Some(behind) = self.next(&mut state, rest) {
            rest = behind;
            let end = text.len() - behind.len();
            let row = state.saturating_sub(self.first_end) / self.width;
            for (word, length) in self.ends.get(row as usize).into_iter().flatten() {
                if !found(*word, end - length, end) {
                    return;
                }
            }
        }
    }

    /// What stands behind the end of the next word. On its own, so that nothing but the step is in the loop.
    #[inline(never)]
    fn next<'t>(&self, state: &mut u32, text: &'t [u8]) -> Option<&'t [u8]> {
        let (columns, steps, first_end) = (&*self.columns, self.steps.as_slice(), self.first_end);
        let step = |now: u32, byte: u8| steps.get(now as usize + column(columns, byte)).copied();
        let mut now = *state;
        let mut rest = text;
        let behind = loop {
            // Four at once: half of a step would be to ask whether the text goes on.
            if let [one, two, three, four, more @ ..] = rest {
                now = step(now, *one)?;
                if now >= first_end {
                    break rest.get(1..);
                }
                now = step(now, *two)?;
                if now >= first_end {
                    break rest.get(2..);
                }
                now = step(now, *three)?;
                if now >= first_end {
                    break rest.get(3..);
                }
                now = step(now, *four)?;
                if now >= first_end {
                    break Some(more);
                }
                rest = more;
            } else if let [one, more @ ..] = rest {
                rest = more;
                now = step(now, *one)?;
                if now >= first_end {
                    break Some(rest);
                }
            } else {
                break None;
            }
        };
        *state = now;
        behind
    }

    pub fn any(&self, text: &[u8]) -> bool {
        let mut any = false;
        self.each(text, |_, _, _| {
            any = true;
            false
        });
        any
    }
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "the table has a place for every byte")]
fn column(columns: &[u8; 256], byte: u8) -> usize {
    usize::from(columns[byte as usize])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn words_inside_words_are_found_where_they_stand() {
        let words = Words::new(&["token".to_owned(), "ken".to_owned(), "auth_token".to_owned()]).unwrap();
        let mut found = Vec::new();
        words.each(b"my AUTH_token, kEn", |word, start, end| {
            found.push((word, start, end));
            true
        });
        found.sort_unstable();
        assert_eq!(found, [(0, 8, 13), (1, 10, 13), (1, 15, 18), (2, 3, 13)]);
        assert!(words.any(b"broken") && !words.any(b"toke n") && !words.any(b""));
    }
}
