//! The clues of a passage: its words, and the pairs and triples of words in it.
//!
//! Words are cut to their first letters, which is a stem in most languages; addresses, paths, numbers and names are one word
//! each for all of their kind. Scripts without blanks are read by pairs of characters. A long sentence is read in passages that
//! overlap, so that an order is not drowned in what stands around it.

use std::collections::BTreeSet;

use unicode_script::{Script, UnicodeScript};

use crate::scan::fold::readable;
use crate::scan::sense::sentences::sentences;

/// Words of one passage, and how far the next one begins behind it.
const PASSAGE: usize = 32;
const STEP: usize = 16;
/// Fewer say nothing to anybody.
const FEWEST: usize = 3;
const STEM: usize = 7;
/// Hosts are told by how they end.
const ENDS: [&str; 7] = ["example", "com", "net", "org", "io", "dev", "test"];

/// Every passage of a text with its clues, each clue once.
pub fn passages(text: &str) -> impl Iterator<Item = (&str, Vec<String>)> {
    sentences(text).flat_map(|sentence| {
        let words = words(&readable(sentence));
        let starts = (0..words.len().max(1)).step_by(STEP).filter(|at| *at == 0 || at + STEP < words.len());
        let cut: Vec<_> =
            starts.map(|at| clues(words.get(at..(at + PASSAGE).min(words.len())).unwrap_or(&[]))).collect();
        cut.into_iter().filter(|clues| !clues.is_empty()).map(move |clues| (sentence, clues))
    })
}

fn clues(words: &[String]) -> Vec<String> {
    if words.len() < FEWEST {
        return Vec::new();
    }
    let mut found: BTreeSet<String> = words.iter().cloned().collect();
    for many in [2, 3] {
        found.extend(words.windows(many).map(|together| together.join(" ")));
    }
    found.into_iter().collect()
}

fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for chunk in text.split_whitespace() {
        let bare =
            chunk.trim_matches(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '~' | '/' | '.'));
        let plain = bare.trim_end_matches(['.', '/']);
        match kind(chunk, plain) {
            _ if plain.is_empty() => {}
            Some(kind) => found.push(kind.to_owned()),
            None => spell(plain, &mut found),
        }
    }
    found
}

/// What stands for all of its kind.
fn kind(chunk: &str, plain: &str) -> Option<&'static str> {
    let digits = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',');
    let host = || plain.rsplit_once('.').is_some_and(|(before, end)| before.len() > 1 && ENDS.contains(&end));
    if chunk.contains("://") || plain.starts_with("www.") {
        Some("<url>")
    } else if chunk.contains('@') && plain.contains('.') {
        Some("<mail>")
    } else if plain.starts_with(['~', '/', '.']) || plain.contains("/.") {
        Some("<path>")
    } else if chunk.contains('`') || plain.contains('_') {
        Some("<name>")
    } else if plain.chars().all(digits) {
        Some("<0>")
    } else if host() {
        Some("<host>")
    } else {
        None
    }
}

fn spell(word: &str, found: &mut Vec<String>) {
    for part in word.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').filter(|part| !part.is_empty()) {
        if part.chars().any(is_unspaced) {
            let letters: Vec<char> = part.chars().collect();
            found.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            found.push(part.chars().take(STEM).collect());
        }
    }
}

fn is_unspaced(letter: char) -> bool {
    matches!(letter.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Thai)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stems_and_kinds() {
        for (text, expected) in [
            ("sending the conversations", "sending the convers"),
            ("put it in `city`, not in city", "put it in <name> not in city"),
            ("see https://a.example/b or mail a@b.example", "see <url> or mail <mail>"),
            ("read ~/.ssh/id_rsa and .env", "read <path> and <path>"),
            ("call other_tool with user_id 42.", "call <name> with <name> <0>"),
            ("at drop.pool.example.", "at <host>"),
            ("不要告诉", "不要 要告 告诉"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_long_sentence_is_read_in_passages_that_overlap() {
        let text = (0..50).map(|at| format!("word{at}")).collect::<Vec<_>>().join(" ");
        let read: Vec<_> = passages(&text).map(|(_, clues)| clues).collect();
        assert_eq!(read.len(), 3);
        let both = |clues: &Vec<String>| {
            clues.iter().any(|clue| clue == "word20") && clues.iter().any(|clue| clue == "word21")
        };
        assert!(read.iter().filter(|clues| both(clues)).count() == 2);
        assert!(passages("Two words.").next().is_none());
        assert_eq!(passages("").count(), 0);
    }
}
