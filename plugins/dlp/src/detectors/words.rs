//! Many words looked for at once, in either case.
//!
//! A table of states and nothing else: one step for each byte, and no question but whether a word has ended. Texts are read like
//! this before anything else, so a step is all that most of them cost.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::{Builder, DFA};
use aho_corasick::{Anchored, BuildError};

pub(super) struct Words {
    automaton: DFA,
}

impl Words {
    pub fn new(words: &[String]) -> Result<Self, BuildError> {
        let automaton = Builder::new().prefilter(false).ascii_case_insensitive(true).build(words)?;
        Ok(Self { automaton })
    }

    /// Every word that stands in a text, also inside another, by its place in the list and where it begins and ends, until `found`
    /// says enough.
    #[inline]
    pub fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize, usize) -> bool) {
        let Ok(mut state) = self.automaton.start_state(Anchored::No) else { return };
        let mut rest = text;
        while let Some(behind) = self.next(&mut state, rest) {
            rest = behind;
            let end = text.len() - behind.len();
            for index in 0..self.automaton.match_len(state) {
                let word = self.automaton.match_pattern(state, index);
                if !found(word.as_usize(), end - self.automaton.pattern_len(word), end) {
                    return;
                }
            }
        }
    }

    /// What stands behind the end of the next word. On its own, so that nothing but the step is in the loop.
    #[inline(never)]
    fn next<'t>(&self, state: &mut StateID, text: &'t [u8]) -> Option<&'t [u8]> {
        let automaton = &self.automaton;
        let mut now = *state;
        let mut bytes = text.iter();
        for byte in bytes.by_ref() {
            now = automaton.next_state(Anchored::No, now, *byte);
            if automaton.is_special(now) && automaton.is_match(now) {
                *state = now;
                return Some(bytes.as_slice());
            }
        }
        None
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
