//! The clues of a passage: its words with their pairs and triples (`keep this`, `send _ user`), the words of the tool's name in it
//! (`own invoice`), and the concepts of the sentence with what meets there (`@secret@transfer`).
//!
//! Words are cut to their first letters, which is a stem in most languages; addresses, paths, numbers and names are one word
//! each for all of their kind. Scripts without blanks are read by pairs of characters. A long sentence is read in passages that
//! overlap, so that an order is not drowned in what stands around it.

use std::collections::BTreeSet;

use unicode_script::{Script, UnicodeScript};

use crate::scan::fold::readable;

/// Words of one passage, and how far the next one begins behind it.
const PASSAGE: usize = 32;
const STEP: usize = 16;
/// Fewer say nothing to anybody.
const FEWEST: usize = 3;
const STEM: usize = 7;
/// More words of the name than this in one passage say no more.
const MOST_OWN: usize = 2;
/// Hosts are told by how they end.
const ENDS: [&str; 7] = ["example", "com", "net", "org", "io", "dev", "test"];

/// The clues of each passage of a sentence, each clue once. `meant` is what the sentence is about; `called` are the words of the
/// tool's name, unless the sentence is the one that explains it.
pub fn passages(sentence: &str, meant: &[&str], called: Option<&BTreeSet<String>>) -> Vec<Vec<String>> {
    let words = words(&readable(sentence));
    if words.len() < FEWEST {
        return Vec::new();
    }
    let starts = (0..words.len()).step_by(STEP).filter(|at| *at == 0 || at + STEP < words.len());
    let cut = starts.filter_map(|at| words.get(at..(at + PASSAGE).min(words.len())));
    cut.map(|passage| {
        let mut found = of_words(passage);
        of_opening(passage, &mut found);
        of_name(passage, called, &mut found);
        of_meaning(meant, &mut found);
        found.into_iter().collect()
    })
    .collect()
}

/// The words of a tool's name, as they are met in sentences.
pub fn name_words(called: &str) -> BTreeSet<String> {
    called.split_whitespace().map(|word| word.chars().take(STEM).collect()).collect()
}

/// Words, words that follow one another, and pairs with one or two others between them.
fn of_words(words: &[String]) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = words.iter().cloned().collect();
    for many in [2, 3] {
        found.extend(words.windows(many).map(|together| together.join(" ")));
    }
    for apart in [2, 3] {
        let pairs = words.iter().zip(words.iter().skip(apart));
        found.extend(pairs.map(|(one, other)| format!("{one} _ {other}")));
    }
    found
}

/// How it begins, which tells an order from a remark.
fn of_opening(words: &[String], found: &mut BTreeSet<String>) {
    found.extend(words.first().map(|word| format!("^{word}")));
    if let [first, second, ..] = words {
        found.insert(format!("^{first} {second}"));
    }
}

/// Who speaks of a tool's own business uses the words of its name.
fn of_name(words: &[String], called: Option<&BTreeSet<String>>, found: &mut BTreeSet<String>) {
    let Some(called) = called else { return };
    let own = words.iter().filter(|word| called.contains(*word));
    found.insert(format!("#own{}", own.clone().count().min(MOST_OWN)));
    found.extend(own.map(|word| format!("own {word}")));
}

/// What a sentence is about, and what meets in it.
fn of_meaning(meant: &[&str], found: &mut BTreeSet<String>) {
    for (at, one) in meant.iter().enumerate() {
        found.insert(format!("@{one}"));
        found.extend(meant.iter().skip(at + 1).map(|other| format!("@{one}@{other}")));
    }
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
        let read = passages(&text, &[], None);
        assert_eq!(read.len(), 3);
        let both = |clues: &Vec<String>| {
            clues.iter().any(|clue| clue == "word20") && clues.iter().any(|clue| clue == "word21")
        };
        assert!(read.iter().filter(|clues| both(clues)).count() == 2);
        assert!(passages("Two words.", &["secret"], None).is_empty());
        assert!(passages("", &[], None).is_empty());
    }

    #[test]
    fn names_and_meanings_are_clues() {
        let called = name_words("send invoices");
        let read = passages("Send the key too", &["secret", "transfer"], Some(&called)).concat();
        for clue in ["send the", "send _ key", "send _ too", "own send", "#own1", "@secret", "@secret@transfer"] {
            assert!(read.iter().any(|found| found == clue), "{clue}: {read:?}");
        }
        assert!(passages("Send the key too", &[], None).concat().iter().all(|clue| !clue.contains("own")));
    }
}
