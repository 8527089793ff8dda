//! Letters in a text that are not what they look like.

use unicode_script::{Script, UnicodeScript};

use super::fold::imitated;
use super::places::Place;
use super::{Findings, LOOKALIKE_TEXT};

pub fn look_at(place: &Place<'_>, findings: &mut Findings<'_>) {
    if place.text.is_ascii() {
        return;
    }
    let words: Vec<&str> =
        place.text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // A text that really is in another alphabet has words which no Latin letters could imitate.
    let foreign = |script: Script| {
        words.iter().any(|word| {
            word.chars().all(|letter| letter.script() == script)
                && word.chars().any(|letter| imitated(letter).is_none())
                && word.chars().count() > 1
        })
    };
    let turkish = place.text.contains(['ş', 'ğ', 'Ş', 'Ğ', 'İ']);
    for word in &words {
        let latin = word.chars().any(|letter| letter.is_ascii_alphabetic());
        let mut disguised = word.chars().filter(|letter| is_disguise(*letter) || (latin && is_neighbour(*letter)));
        let Some(letter) = disguised.next() else { continue };
        let count = 1 + disguised.count();
        let all = word.chars().count();
        let suspicious = match letter.script() {
            _ if letter == 'ı' && turkish => false,
            Script::Latin if is_styled(letter) => latin || count >= 3 || (all == count && !east_asian(place.text)),
            Script::Latin => true,
            Script::Greek if all == 1 => {
                matches!(letter, 'ο' | 'Ο' | 'ν' | 'Α' | 'Β' | 'Ε' | 'Ι' | 'Κ' | 'Μ' | 'Ν' | 'Τ' | 'Χ')
            }
            Script::Common => latin || count >= 3,
            script if latin => !(script == Script::Greek && is_quantity(word)),
            script => all == count && !foreign(script),
        };
        if suspicious {
            let looks = imitated(letter).map_or(String::new(), |looks| format!(" in place of `{looks}`"));
            let what = format!("`{word}` has U+{:04X}{looks}", u32::from(letter));
            findings.say(LOOKALIKE_TEXT, &place.path, what);
            return;
        }
    }
}

/// A letter that is not ASCII and reads as an ASCII one. Accented letters read as themselves.
fn is_disguise(letter: char) -> bool {
    !letter.is_ascii()
        && letter.is_alphabetic()
        && !matches!(letter, 'ª' | 'º' | 'þ' | 'Þ' | 'ß' | 'ℹ' | '™' | '№')
        && (is_styled(letter) || imitated(letter).is_some_and(|looks| looks.is_ascii_alphabetic()))
}

/// Alphabets that Latin letters are imitated with: none of their letters belongs into a Latin word.
fn is_neighbour(letter: char) -> bool {
    // Signs of pronunciation are Latin, and some of them look like nothing else.
    let phonetic = matches!(u32::from(letter), 0x250..=0x2AF);
    let scripts = [Script::Cyrillic, Script::Greek, Script::Armenian, Script::Cherokee, Script::Coptic, Script::Lisu];
    phonetic || scripts.contains(&letter.script())
}

/// Letters of mathematics, full width, in circles or squares, raised or lowered.
fn is_styled(letter: char) -> bool {
    matches!(u32::from(letter), 0x1D00..=0x1DBF | 0x2071 | 0x207F | 0x2090..=0x209C | 0x2100..=0x218F | 0x24B6..=0x24E9
        | 0x2C7C | 0xA730..=0xA731 | 0xFF21..=0xFF3A | 0xFF41..=0xFF5A | 0x1D400..=0x1D7FF | 0x1F110..=0x1F189)
        && !matches!(letter, 'ℹ' | '№' | '℃' | '℉' | 'Ω' | 'K' | 'Å')
}

/// `μs`, `kΩ`, `Δt`: a unit or a difference.
fn is_quantity(word: &str) -> bool {
    word.chars().count() <= 3
        && word
            .chars()
            .filter(|letter| matches!(letter, 'μ' | 'Ω' | 'Δ' | 'π' | 'σ' | 'λ' | 'α' | 'β' | 'θ' | 'ε'))
            .count()
            == 1
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter.script() == Script::Greek)
        && !word.contains(['ο', 'ν', 'α', 'ρ'])
}

fn east_asian(text: &str) -> bool {
    text.chars()
        .any(|letter| matches!(letter.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul))
}
