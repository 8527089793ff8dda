//! Characters that are there and that nobody sees.

use gateway_core::definitions::{is_hidden_space, name_of};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_script::{Script, UnicodeScript};

use super::places::{Kind, Place};
use super::{Findings, HIDDEN_CHARACTERS};

pub fn look_at(place: &Place<'_>, findings: &mut Findings<'_>) {
    if place.text.bytes().all(|byte| (b' '..0x7F).contains(&byte)) {
        return;
    }
    let characters: Vec<char> = place.text.chars().collect();
    for (at, &character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| characters.get(before)).copied();
        let after = characters.get(at + 1).copied();
        let hides = is_hidden(character, place.kind) && !belongs(character, before, after, &characters);
        if hides || overwrites(&characters, at) {
            let name = name_of(character).map_or(String::new(), |name| format!(" {name}"));
            let what = format!("hides U+{:04X}{name} after {at} characters", u32::from(character));
            findings.say(HIDDEN_CHARACTERS, &place.path, what);
            return;
        }
    }
    if piled(&characters) {
        findings.say(HIDDEN_CHARACTERS, &place.path, "piles up marks that make its letters unreadable");
    }
}

fn is_hidden(character: char, kind: Kind) -> bool {
    use GeneralCategory as Is;
    let blank = match kind {
        Kind::Prose => matches!(character, '\t' | '\n' | '\r'),
        Kind::Name | Kind::Key => false,
    };
    match get_general_category(character) {
        Is::Control => !blank,
        Is::Format | Is::PrivateUse | Is::Surrogate | Is::LineSeparator | Is::ParagraphSeparator => true,
        Is::Unassigned => {
            is_noncharacter(character) || matches!(u32::from(character), 0xE0000..=0xE0FFF | 0xFFF0..=0xFFF8)
        }
        Is::SpaceSeparator => is_hidden_space(character),
        _ => matches!(
            u32::from(character),
            0x34F | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x2800 | 0x3164 | 0xFE00..=0xFE0F | 0xFFA0
                | 0xE0100..=0xE01EF | 0x1D159 | 0xFFFC
        ),
    }
}

/// A carriage return that ends no line: what follows is shown over what stands before it.
fn overwrites(characters: &[char], at: usize) -> bool {
    match characters.get(at..).unwrap_or_default() {
        // Some files have been given their line ends twice.
        ['\r'] | ['\r', '\n', ..] | ['\r', '\r', '\n', ..] => false,
        ['\r', ..] => true,
        _ => false,
    }
}

fn is_noncharacter(character: char) -> bool {
    let code = u32::from(character);
    (0xFDD0..=0xFDEF).contains(&code) || code & 0xFFFE == 0xFFFE
}

/// More variants of ideographs than this in one text could spell something themselves.
const MOST_VARIANTS: usize = 8;

/// Some writing needs characters that nobody sees: emoji are put together with them, and some scripts join letters.
fn belongs(character: char, before: Option<char>, after: Option<char>, all: &[char]) -> bool {
    match character {
        '\u{FE0E}' | '\u{FE0F}' => before.is_some_and(|base| is_pictograph(base) || is_keycap(base, after)),
        '\u{200D}' => {
            (before.is_some_and(ends_pictograph) && after.is_some_and(is_pictograph)) || joins_letters(before, after)
        }
        '\u{200C}' => joins_letters(before, after),
        // Which form of an ideograph is meant, as in names of people and places.
        '\u{E0100}'..='\u{E01EF}' => {
            before.is_some_and(|letter| letter.script() == Script::Han)
                && all.iter().filter(|other| matches!(other, '\u{E0100}'..='\u{E01EF}')).count() <= MOST_VARIANTS
        }
        // The flags of England, Scotland and Wales are a black flag and letters that nobody sees.
        '\u{E0020}'..='\u{E007F}' => is_flag(all),
        // Blanks of their own that some scripts set type with.
        '\u{3000}' => [before, after].into_iter().flatten().any(is_east_asian),
        '\u{A0}' | '\u{202F}' => sets_french(before, after),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => all.iter().any(|letter| is_right_to_left(*letter)),
        _ => false,
    }
}

fn is_pictograph(character: char) -> bool {
    matches!(u32::from(character), 0xA9 | 0xAE | 0x203C | 0x2049 | 0x2122 | 0x2139 | 0x2190..=0x21FF | 0x2300..=0x27BF
        | 0x2900..=0x297F | 0x2B00..=0x2BFF | 0x3030 | 0x303D | 0x3297 | 0x3299 | 0x1F000..=0x1FAFF)
}

fn ends_pictograph(character: char) -> bool {
    is_pictograph(character) || character == '\u{FE0F}'
}

fn is_keycap(base: char, after: Option<char>) -> bool {
    (base.is_ascii_digit() || matches!(base, '#' | '*')) && after == Some('\u{20E3}')
}

fn joins_letters(before: Option<char>, after: Option<char>) -> bool {
    let joining = |letter: Option<char>| {
        letter.is_some_and(|letter| {
            matches!(
                letter.script(),
                Script::Arabic
                    | Script::Syriac
                    | Script::Mongolian
                    | Script::Devanagari
                    | Script::Bengali
                    | Script::Gurmukhi
                    | Script::Gujarati
                    | Script::Oriya
                    | Script::Tamil
                    | Script::Telugu
                    | Script::Kannada
                    | Script::Malayalam
                    | Script::Sinhala
                    | Script::Khmer
            ) || letter == '\u{94D}'
        })
    };
    // At the end of a word as well: a consonant that has lost its vowel is written with one.
    let ends = || before.is_some_and(is_virama) && after.is_none_or(|next| !next.is_alphanumeric());
    (joining(before) && joining(after)) || ends()
}

/// The sign that takes a consonant's vowel away.
fn is_virama(mark: char) -> bool {
    matches!(
        u32::from(mark),
        0x94D | 0x9CD | 0xA4D | 0xACD | 0xB4D | 0xBCD | 0xC4D | 0xCCD | 0xD3B | 0xD3C | 0xD4D | 0xDCA
    )
}

fn is_flag(all: &[char]) -> bool {
    const ENDINGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
    let tags: String = all
        .iter()
        .filter(|tag| ('\u{E0020}'..='\u{E007E}').contains(*tag))
        .filter_map(|tag| char::from_u32(u32::from(*tag) - 0xE0000))
        .collect();
    let flags = all.iter().filter(|flag| **flag == '\u{1F3F4}').count();
    flags > 0
        && tags.len() == 5 * flags
        && tags.as_bytes().chunks(5).all(|flag| ENDINGS.iter().any(|known| known.as_bytes() == flag))
}

fn is_east_asian(letter: char) -> bool {
    matches!(letter.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo)
        || matches!(u32::from(letter), 0x3001..=0x303F | 0xFF00..=0xFFEF)
}

/// French sets a narrow blank before some marks and inside its quotation marks, and numbers are grouped with one.
fn sets_french(before: Option<char>, after: Option<char>) -> bool {
    before == Some('«')
        || matches!(after, Some('»' | ':' | ';' | '!' | '?' | '%' | '€'))
        || (before.is_some_and(|digit| digit.is_ascii_digit()) && after.is_some_and(|digit| digit.is_ascii_digit()))
}

fn is_right_to_left(letter: char) -> bool {
    letter.is_alphabetic()
        && matches!(letter.script(), Script::Arabic | Script::Hebrew | Script::Syriac | Script::Thaana | Script::Nko)
}

/// Three marks on one letter, or Latin letters struck through one after the other.
fn piled(characters: &[char]) -> bool {
    let is_mark = |character: &char| {
        matches!(get_general_category(*character), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
            && matches!(character.script(), Script::Inherited)
            && !('\u{FE00}'..='\u{FE0F}').contains(character)
    };
    characters.windows(3).any(|three| three.iter().all(is_mark))
        || characters.iter().filter(|mark| matches!(u32::from(**mark), 0x305 | 0x332..=0x338 | 0x20D0..=0x20F0)).count()
            > 3
            && !characters.contains(&'\u{20E3}')
}
