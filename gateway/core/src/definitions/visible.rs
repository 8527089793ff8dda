//! Characters that nobody sees, written so that everybody does.

use std::fmt::Write as _;

/// The text with every character that is hidden, or that is not what it looks like, written as `\u{200B ZERO WIDTH SPACE}`.
///
/// Letters of other scripts stand as they are unless they stand among Latin ones: there they are what a look-alike is made of.
pub fn visible(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    for (place, &character) in characters.iter().enumerate() {
        let beside = |other: Option<&char>| other.is_some_and(char::is_ascii_alphanumeric);
        let among_latin =
            beside(place.checked_sub(1).and_then(|before| characters.get(before))) || beside(characters.get(place + 1));
        if matches!(character, '\n' | '\t') {
            out.push_str(if character == '\n' { "\\n" } else { "\\t" });
        } else if is_hidden(character) || (among_latin && imitates_latin(character)) {
            // Writing to a String cannot fail.
            let _ = match name_of(character) {
                Some(name) => write!(out, "\\u{{{:04X} {name}}}", u32::from(character)),
                None => write!(out, "\\u{{{:04X}}}", u32::from(character)),
            };
        } else {
            out.push(character);
        }
    }
    out
}

/// A blank that is not the space bar's.
pub fn is_hidden_space(character: char) -> bool {
    matches!(
        character,
        '\u{A0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200A}' | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
    )
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || is_hidden_space(character)
        || matches!(
            u32::from(character),
            0xAD | 0x34F
                | 0x600..=0x605
                | 0x61C
                | 0x6DD
                | 0x70F
                | 0x115F
                | 0x1160
                | 0x17B4
                | 0x17B5
                | 0x180B..=0x180F
                | 0x200B..=0x200F
                | 0x202A..=0x202E
                | 0x2060..=0x206F
                | 0x2800
                | 0x3164
                | 0xFE00..=0xFE0F
                | 0xFEFF
                | 0xFFA0
                | 0xFFF0..=0xFFFB
                | 0x1BCA0..=0x1BCA3
                | 0x1D173..=0x1D17A
                | 0xE000..=0xF8FF
                | 0xE0000..=0xE0FFF
                | 0xF0000..=0x10FFFF
        )
}

/// Letters of the blocks that look-alikes are usually taken from.
fn imitates_latin(character: char) -> bool {
    matches!(
        u32::from(character),
        0x131 | 0x251 | 0x261 | 0x370..=0x3FF | 0x400..=0x52F | 0x530..=0x58F | 0x13A0..=0x13FF | 0x1D00..=0x1D7F
            | 0x2100..=0x218F | 0x2460..=0x24FF | 0xFF01..=0xFF5E | 0x1D400..=0x1D7FF | 0x1F130..=0x1F189
    )
}

/// The name of a character that is often hidden in texts.
pub fn name_of(character: char) -> Option<&'static str> {
    Some(match u32::from(character) {
        0x00 => "NULL",
        0x08 => "BACKSPACE",
        0x0B => "LINE TABULATION",
        0x0C => "FORM FEED",
        0x0D => "CARRIAGE RETURN",
        0x1B => "ESCAPE",
        0x7F => "DELETE",
        0x85 => "NEXT LINE",
        0x9B => "CONTROL SEQUENCE INTRODUCER",
        0xA0 => "NO-BREAK SPACE",
        0xAD => "SOFT HYPHEN",
        0x34F => "COMBINING GRAPHEME JOINER",
        0x61C => "ARABIC LETTER MARK",
        0x115F => "HANGUL CHOSEONG FILLER",
        0x1160 => "HANGUL JUNGSEONG FILLER",
        0x1680 => "OGHAM SPACE MARK",
        0x17B4 => "KHMER VOWEL INHERENT AQ",
        0x17B5 => "KHMER VOWEL INHERENT AA",
        0x180B => "MONGOLIAN FREE VARIATION SELECTOR ONE",
        0x180C => "MONGOLIAN FREE VARIATION SELECTOR TWO",
        0x180D => "MONGOLIAN FREE VARIATION SELECTOR THREE",
        0x180E => "MONGOLIAN VOWEL SEPARATOR",
        0x2000 => "EN QUAD",
        0x2001 => "EM QUAD",
        0x2002 => "EN SPACE",
        0x2003 => "EM SPACE",
        0x2004 => "THREE-PER-EM SPACE",
        0x2005 => "FOUR-PER-EM SPACE",
        0x2006 => "SIX-PER-EM SPACE",
        0x2007 => "FIGURE SPACE",
        0x2008 => "PUNCTUATION SPACE",
        0x2009 => "THIN SPACE",
        0x200A => "HAIR SPACE",
        0x200B => "ZERO WIDTH SPACE",
        0x200C => "ZERO WIDTH NON-JOINER",
        0x200D => "ZERO WIDTH JOINER",
        0x200E => "LEFT-TO-RIGHT MARK",
        0x200F => "RIGHT-TO-LEFT MARK",
        0x2028 => "LINE SEPARATOR",
        0x2029 => "PARAGRAPH SEPARATOR",
        0x202A => "LEFT-TO-RIGHT EMBEDDING",
        0x202B => "RIGHT-TO-LEFT EMBEDDING",
        0x202C => "POP DIRECTIONAL FORMATTING",
        0x202D => "LEFT-TO-RIGHT OVERRIDE",
        0x202E => "RIGHT-TO-LEFT OVERRIDE",
        0x202F => "NARROW NO-BREAK SPACE",
        0x205F => "MEDIUM MATHEMATICAL SPACE",
        0x2060 => "WORD JOINER",
        0x2061 => "FUNCTION APPLICATION",
        0x2062 => "INVISIBLE TIMES",
        0x2063 => "INVISIBLE SEPARATOR",
        0x2064 => "INVISIBLE PLUS",
        0x2066 => "LEFT-TO-RIGHT ISOLATE",
        0x2067 => "RIGHT-TO-LEFT ISOLATE",
        0x2068 => "FIRST STRONG ISOLATE",
        0x2069 => "POP DIRECTIONAL ISOLATE",
        0x206A => "INHIBIT SYMMETRIC SWAPPING",
        0x206B => "ACTIVATE SYMMETRIC SWAPPING",
        0x206C => "INHIBIT ARABIC FORM SHAPING",
        0x206D => "ACTIVATE ARABIC FORM SHAPING",
        0x206E => "NATIONAL DIGIT SHAPES",
        0x206F => "NOMINAL DIGIT SHAPES",
        0x2800 => "BRAILLE PATTERN BLANK",
        0x3000 => "IDEOGRAPHIC SPACE",
        0x3164 => "HANGUL FILLER",
        0xFE00..=0xFE0F => "VARIATION SELECTOR",
        0xFEFF => "ZERO WIDTH NO-BREAK SPACE",
        0xFFA0 => "HALFWIDTH HANGUL FILLER",
        0xFFF9 => "INTERLINEAR ANNOTATION ANCHOR",
        0xFFFA => "INTERLINEAR ANNOTATION SEPARATOR",
        0xFFFB => "INTERLINEAR ANNOTATION TERMINATOR",
        0xE0001 => "LANGUAGE TAG",
        0xE0020..=0xE007E => "TAG CHARACTER",
        0xE007F => "CANCEL TAG",
        0xE0100..=0xE01EF => "VARIATION SELECTOR SUPPLEMENT",
        0xE000..=0xF8FF | 0xF0000..=0x10FFFF => "PRIVATE USE",
        0x430 => "CYRILLIC SMALL LETTER A",
        0x435 => "CYRILLIC SMALL LETTER IE",
        0x43E => "CYRILLIC SMALL LETTER O",
        0x440 => "CYRILLIC SMALL LETTER ER",
        0x441 => "CYRILLIC SMALL LETTER ES",
        0x443 => "CYRILLIC SMALL LETTER U",
        0x445 => "CYRILLIC SMALL LETTER HA",
        0x455 => "CYRILLIC SMALL LETTER DZE",
        0x456 => "CYRILLIC SMALL LETTER BYELORUSSIAN-UKRAINIAN I",
        0x458 => "CYRILLIC SMALL LETTER JE",
        0x3BF => "GREEK SMALL LETTER OMICRON",
        0x3B1 => "GREEK SMALL LETTER ALPHA",
        0x131 => "LATIN SMALL LETTER DOTLESS I",
        0x251 => "LATIN SMALL LETTER ALPHA",
        0x261 => "LATIN SMALL LETTER SCRIPT G",
        0x400..=0x52F => "CYRILLIC LETTER",
        0x370..=0x3FF => "GREEK LETTER",
        0xFF01..=0xFF5E => "FULLWIDTH FORM",
        0x1D400..=0x1D7FF => "MATHEMATICAL LETTER",
        _ => return None,
    })
}
