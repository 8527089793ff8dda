//! Texts and names brought into one form, so that disguises fall off before anybody compares.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// The ASCII letter that a character of another alphabet imitates.
pub fn imitated(character: char) -> Option<char> {
    if character.is_ascii() {
        return None;
    }
    let mut text = [0; 4];
    let mut prototype = skeleton(character.encode_utf8(&mut text));
    let found = prototype.next().filter(char::is_ascii_alphanumeric)?;
    match prototype.next() {
        None => Some(found),
        // `m` is `rn` to everybody who compares skeletons.
        Some('n') if found == 'r' && prototype.next().is_none() => Some('m'),
        Some(_) => None,
    }
}

/// A text as it reads: compatible forms made plain, look-alikes Latin, accents and invisible characters gone, small
/// letters, one space between words.
pub fn readable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = true;
    for word in text.split(char::is_whitespace) {
        let folded = word_as_read(word);
        if folded.is_empty() {
            continue;
        }
        if !blank {
            out.push(' ');
        }
        out.push_str(&folded);
        blank = false;
    }
    out
}

/// A pattern whose letters are folded as the texts are that it is held against; its syntax, which is ASCII, stays.
pub fn pattern_as_read(pattern: &str) -> String {
    let folds = |character: char| !character.is_ascii() && character.is_alphabetic();
    let mut out = String::with_capacity(pattern.len());
    for character in pattern.chars() {
        if folds(character) {
            out.extend(character.nfkd().filter(|part| !is_unseen(*part)));
        } else {
            out.push(character);
        }
    }
    out
}

fn word_as_read(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let plain: String = word.nfkd().filter(|character| !is_unseen(*character)).collect();
    // A word of another alphabet is left alone unless every letter of it, or the rest of it, reads as Latin.
    let latin = plain.chars().any(|letter| letter.is_ascii_alphabetic());
    let others = || plain.chars().filter(|letter| !letter.is_ascii() && letter.is_alphabetic());
    // Small letters decide: capitals of other alphabets look Latin in many plain words.
    let looks_latin = |letter: char| letter.to_lowercase().all(|small| imitated(small).is_some());
    let disguised = others().next().is_some() && (latin || others().all(looks_latin));
    let plain = plain.chars().map(|character| match character {
        '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{2032}' => '\'',
        '\u{201C}' | '\u{201D}' | '\u{2033}' | '«' | '»' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other if disguised => imitated(other).unwrap_or(other),
        other => other,
    });
    plain.flat_map(char::to_lowercase).collect()
}

fn is_unseen(character: char) -> bool {
    use GeneralCategory as Is;
    matches!(
        get_general_category(character),
        Is::Format | Is::Control | Is::NonspacingMark | Is::EnclosingMark | Is::PrivateUse
    ) || matches!(u32::from(character), 0x115F | 0x1160 | 0x2800 | 0x3164 | 0xFFA0)
}

/// The same text with letters that stand apart put together and digits read as the letters they replace; `None` where
/// that changes nothing.
pub fn unspelled(readable: &str) -> Option<String> {
    let words: Vec<&str> = readable.split(' ').collect();
    let mut out = String::with_capacity(readable.len());
    let mut at = 0;
    let mut changed = false;
    while let Some(word) = words.get(at) {
        let spelled = words.iter().skip(at).take_while(|word| word.chars().count() == 1).count();
        if !out.is_empty() {
            out.push(' ');
        }
        if spelled >= 4 {
            out.extend(words.iter().skip(at).take(spelled).copied());
            changed = true;
            at += spelled;
            continue;
        }
        let replaced = unleet(word);
        changed |= replaced.is_some();
        out.push_str(replaced.as_deref().unwrap_or(word));
        at += 1;
    }
    changed.then_some(out)
}

/// `1gn0re`, `i.g.n.o.r.e`, `i-g-n-o-r-e`: a word of letters with digits or dots in between.
fn unleet(word: &str) -> Option<String> {
    let letters = word.chars().filter(|letter| letter.is_ascii_alphabetic()).count();
    let digits = word.chars().filter(|digit| matches!(digit, '0' | '1' | '3' | '4' | '5' | '7' | '@' | '$')).count();
    let dotted = word.split(['.', '-', '_', '*']).filter(|part| part.len() == 1).count();
    if dotted >= 4 {
        return Some(word.chars().filter(char::is_ascii_alphanumeric).collect());
    }
    if digits == 0 || letters < 3 || digits > letters || word.contains("://") {
        return None;
    }
    let plain = |character| match character {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    };
    Some(word.chars().map(plain).collect())
}

/// What a name is to somebody who reads it quickly: no case, no separators, one form for each group of look-alikes.
pub fn at_a_glance(name: &str) -> String {
    let plain: String = name.nfkd().filter(|character| !is_unseen(*character)).collect();
    let mut out = String::with_capacity(plain.len());
    for character in plain.chars() {
        let character = imitated(character).unwrap_or(character);
        for letter in character
            .to_lowercase()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, '|' | '!' | '@' | '$'))
        {
            out.push(match letter {
                '0' => 'o',
                '1' | 'i' | '|' | '!' => 'l',
                '3' => 'e',
                '4' | '@' => 'a',
                '5' | '$' => 's',
                '7' => 't',
                '8' => 'b',
                '9' | 'q' => 'g',
                '2' => 'z',
                'u' => 'v',
                other => other,
            });
        }
    }
    out.replace("vv", "w").replace("rn", "m").replace("cl", "d").replace("nn", "m")
}
