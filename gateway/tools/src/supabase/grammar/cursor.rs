//! A place in the words of a question.

use super::words::{Kind, Token};

const SMALL_NUMBERS: [&str; 20] = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

pub(super) struct Cursor<'t> {
    pub tokens: &'t [Token],
    pub at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(super) fn token(&self, ahead: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + ahead)
    }

    /// The word or sign here in lower case; nothing for a number, a date or a quoted text.
    pub(super) fn word(&self, ahead: usize) -> &'t str {
        match self.token(ahead) {
            Some(token) if matches!(token.kind, Kind::Word | Kind::Sign) => &token.lower,
            _ => "",
        }
    }

    pub(super) fn sees(&self, phrase: &str) -> bool {
        phrase.split(' ').enumerate().all(|(ahead, word)| self.word(ahead) == word)
    }

    pub(super) fn take(&mut self, phrase: &str) -> bool {
        let seen = self.sees(phrase);
        if seen {
            self.at += phrase.split(' ').count();
        }
        seen
    }

    pub(super) fn take_one(&mut self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.take(phrase))
    }

    pub(super) fn take_of<T: Copy>(&mut self, phrases: &[(&str, T)]) -> Option<T> {
        phrases.iter().find(|(phrase, _)| self.take(phrase)).map(|(_, meant)| *meant)
    }

    /// A whole number, in digits or as a word up to twenty.
    pub(super) fn number(&self, ahead: usize) -> Option<u32> {
        whole(self.token(ahead)?)
    }
}

pub(super) fn whole(token: &Token) -> Option<u32> {
    match token.kind {
        Kind::Number => token.text.parse().ok(),
        Kind::Word => {
            let place = SMALL_NUMBERS.iter().position(|word| *word == token.lower)?;
            u32::try_from(place + 1).ok()
        }
        _ => None,
    }
}
