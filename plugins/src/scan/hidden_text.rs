//! Texts that a reader does not get to see: comments, text far off the page, text in code.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::places::{Kind, Place};
use super::{Findings, HIDDEN_TEXT};

/// Shorter codes are identifiers and examples.
const SHORTEST_CODE: usize = 32;
const MARKS: [(&str, &str); 12] = [
    ("<!--", "a comment that is not shown"),
    ("[//]: #", "a comment that is not shown"),
    ("[comment]:", "a comment that is not shown"),
    ("display:none", "text that is not shown"),
    ("display: none", "text that is not shown"),
    ("visibility:hidden", "text that is not shown"),
    ("font-size:0", "text that is not shown"),
    ("color:transparent", "text that is not shown"),
    ("\\u200b", "hidden characters in code"),
    ("&#8203;", "hidden characters in code"),
    ("&zwnj;", "hidden characters in code"),
    ("&#x200b", "hidden characters in code"),
];

pub fn look_at(place: &Place<'_>, findings: &mut Findings<'_>) {
    if place.kind != Kind::Prose {
        return;
    }
    let lower = place.text.to_ascii_lowercase();
    if let Some((_, what)) = MARKS.iter().find(|(mark, _)| lower.contains(mark)) {
        findings.say(HIDDEN_TEXT, &place.path, format!("has {what}"));
    }
    if text_far_off(place.text) {
        findings.say(HIDDEN_TEXT, &place.path, "continues far below or beside what is shown at first");
    }
    if decoded(place.text).next().is_some() {
        findings.say(HIDDEN_TEXT, &place.path, "has words in code (base64 or hex)");
    }
}

fn text_far_off(text: &str) -> bool {
    let (mut lines, mut blanks) = (0, 0);
    for character in text.trim().chars() {
        match character {
            '\n' => (lines, blanks) = (lines + 1, blanks + 1),
            space if space.is_whitespace() => blanks += 1,
            _ if lines >= 20 || blanks >= 120 => return true,
            _ => (lines, blanks) = (0, 0),
        }
    }
    false
}

/// What stands in code in a text, where it is words.
pub fn decoded(text: &str) -> impl Iterator<Item = String> + '_ {
    let code = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '/' | '-' | '_' | '=');
    let runs = text.split(move |letter: char| !code(letter)).filter(|run| run.len() >= SHORTEST_CODE);
    runs.filter_map(|run| {
        let run = run.trim_end_matches('=');
        let bytes = if run.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            from_hex(run)
        } else {
            STANDARD_NO_PAD.decode(run).or_else(|_| URL_SAFE_NO_PAD.decode(run)).ok()
        };
        String::from_utf8(bytes?).ok().filter(|text| is_words(text))
    })
}

fn from_hex(run: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        run.chars().filter_map(|digit| digit.to_digit(16)).filter_map(|digit| u8::try_from(digit).ok()).collect();
    Some(digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}

fn is_words(text: &str) -> bool {
    let letters = text.chars().filter(|letter| letter.is_alphabetic() || *letter == ' ').count();
    let all = text.chars().count();
    !text.chars().any(|letter| letter.is_control() && !matches!(letter, '\n' | '\t' | '\r'))
        && text.split_whitespace().count() >= 3
        && letters * 10 >= all * 8
}
