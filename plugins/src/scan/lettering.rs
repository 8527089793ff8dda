//! Letters in a text that are not what they look like.

use unicode_general_category::{GeneralCategory, get_general_category};
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
    let (wide, formulas) = (sets_wide(place.text), has_mathematical_sign(place.text));
    for word in &words {
        let latin = word.chars().any(|letter| letter.is_ascii_alphabetic());
        let mut disguised = word.chars().filter(|letter| is_disguise(*letter) || (latin && is_neighbour(*letter)));
        let Some(letter) = disguised.next() else { continue };
        let count = 1 + disguised.count();
        let all = word.chars().count();
        let suspicious = match letter.script() {
            _ if letter == 'ı' && turkish => false,
            _ if formulas && is_term(word) => false,
            Script::Latin if wide && !latin && word.chars().filter(|letter| is_disguise(*letter)).all(is_wide) => false,
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

/// The width of ideographs, which Latin letters are given among them.
fn is_wide(letter: char) -> bool {
    matches!(letter, 'Ａ'..='Ｚ' | 'ａ'..='ｚ')
}

/// Whether wide letters are how this text sets a Latin word: they stand beside East Asian letters only, and are the fewer.
fn sets_wide(text: &str) -> bool {
    let letters: Vec<char> = text.chars().filter(|letter| letter.is_alphabetic()).collect();
    let wide = letters.iter().filter(|letter| is_wide(**letter)).count();
    let others = letters.iter().filter(|letter| is_east_asian(**letter)).count();
    let strange = |pair: &[char]| match pair {
        [one, other] if is_wide(*one) != is_wide(*other) => !is_east_asian(if is_wide(*one) { *other } else { *one }),
        _ => false,
    };
    wide > 0 && others >= wide && !letters.windows(2).any(strange)
}

fn has_mathematical_sign(text: &str) -> bool {
    let sign = |character: char| {
        !character.is_ascii() && get_general_category(character) == GeneralCategory::MathSymbol || character == '‖'
    };
    text.chars().any(sign)
}

/// `xᵢ`, `𝐴ᵀ𝐴`: a variable or two with what is raised or lowered beside them, too few letters for a word.
fn is_term(word: &str) -> bool {
    let raised = |letter: &char| matches!(u32::from(*letter), 0x1D2C..=0x1D6A | 0x1D9B..=0x1DBF | 0x2071 | 0x207F | 0x2090..=0x209C | 0x2C7C);
    let plain = word.chars().filter(char::is_ascii_alphabetic).count();
    let styled = word.chars().filter(|letter| matches!(u32::from(*letter), 0x1D400..=0x1D7CB)).count();
    let indices = word.chars().filter(raised).count();
    let all = word.chars().filter(|letter| letter.is_alphabetic()).count();
    all == plain + styled + indices && plain * 2 + styled <= 2 && (1..=2).contains(&indices)
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
    text.chars().any(is_east_asian)
}

fn is_east_asian(letter: char) -> bool {
    // The sign of a long vowel is of no script.
    letter == 'ー' || matches!(letter.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul)
}
