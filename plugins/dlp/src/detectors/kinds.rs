//! Kinds of bytes: which of them a text holds, and which a pattern cannot do without.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// One bit for each kind; a byte is of several.
pub(super) type Kinds = u32;

const DIGIT: Kinds = 1;
const LETTER: Kinds = 1 << 1;
const CAPITAL: Kinds = 1 << 2;
const SMALL: Kinds = 1 << 3;
/// A letter that no hexadecimal number has.
const BEYOND_HEX: Kinds = 1 << 4;
/// Signs that stand in numbers, times, names and addresses of pages, each of its own kind.
const SIGNS: &[u8; 26] = b"-:._/+ (),#~@=?!;'$*|<>^`}";
const FIRST_SIGN: u32 = 5;
/// Everything else: quotes, what begins a document or an escape, what is no ASCII.
pub(super) const OTHER: Kinds = 1 << 31;

static KINDS: [Kinds; 256] = kinds();

#[expect(clippy::indexing_slicing, reason = "computed when compiled; the tables have a place for every index")]
const fn kinds() -> [Kinds; 256] {
    let mut table = [OTHER; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        if byte.is_ascii_digit() {
            table[at] = DIGIT;
        } else if byte.is_ascii_alphabetic() {
            let case = if byte.is_ascii_uppercase() { CAPITAL } else { SMALL };
            let beyond = if byte.is_ascii_hexdigit() { 0 } else { BEYOND_HEX };
            table[at] = LETTER | case | beyond;
        }
        at += 1;
    }
    let mut sign = 0;
    while sign < SIGNS.len() {
        table[SIGNS[sign] as usize] = 1 << (FIRST_SIGN + sign as u32);
        sign += 1;
    }
    table
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "the table has a place for every byte")]
fn kind(byte: u8) -> Kinds {
    KINDS[byte as usize]
}

/// Every kind that stands in a text.
pub(super) fn held(text: &[u8]) -> Kinds {
    text.iter().fold(0, |held, byte| held | kind(*byte))
}

/// Every kind of a word, however its letters are written.
pub(super) fn of_word(word: &str) -> Kinds {
    held(word.as_bytes()) & !(CAPITAL | SMALL)
}

/// What a text must have to hold a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needs {
    pub kinds: Kinds,
    pub length: usize,
}

impl Needs {
    /// Nothing at all where the pattern says nothing.
    pub fn of(pattern: &str) -> Self {
        let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern);
        parsed.map_or(Self { kinds: 0, length: 0 }, |hir| Self {
            kinds: needed(&hir),
            length: hir.properties().minimum_len().unwrap_or(0),
        })
    }
}

/// Kinds that every match has at least one byte of.
fn needed(hir: &Hir) -> Kinds {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => held(&literal.0),
        HirKind::Class(class) => shared(class),
        HirKind::Repetition(repeated) => {
            if repeated.min == 0 {
                0
            } else {
                needed(&repeated.sub)
            }
        }
        HirKind::Capture(group) => needed(&group.sub),
        HirKind::Concat(parts) => parts.iter().fold(0, |all, part| all | needed(part)),
        HirKind::Alternation(ways) => ways.iter().map(needed).reduce(|one, other| one & other).unwrap_or(0),
    }
}

/// What all letters of a class have in common.
fn shared(class: &Class) -> Kinds {
    let bytes: Vec<(u8, u8)> = match class {
        Class::Bytes(bytes) => bytes.iter().map(|range| (range.start(), range.end())).collect(),
        Class::Unicode(letters) => {
            let byte = |letter: char| u8::try_from(letter).ok().filter(u8::is_ascii);
            let ranges = letters.iter().map(|range| Some((byte(range.start())?, byte(range.end())?)));
            ranges.collect::<Option<_>>().unwrap_or_default()
        }
    };
    let kinds = bytes.into_iter().flat_map(|(first, last)| (first..=last).map(kind));
    kinds.reduce(|one, other| one & other).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_needs_what_all_its_matches_have() {
        for (pattern, text, length) in [
            ("SK[0-9a-f]{32}", "SK", 34),
            ("[0-9a-f]{32}-[0-9a-f]{8}", "-", 41),
            ("(?i:[A-Z]{6}[0-9L]{2})", "", 8),
            ("[0-9]{3}(?:-[0-9]{2}-| [0-9]{2} )?[0-9]{4}", "0", 7),
            ("a?(b|c)x*", "b", 1),
            ("(?u)[0-9é]z", "z", 2),
            ("[0-9]{15}\\|", "0|", 16),
        ] {
            let needs = Needs::of(pattern);
            assert_eq!(needs.length, length, "{pattern}");
            assert_eq!(needs.kinds & held(text.as_bytes()), held(text.as_bytes()), "{pattern} needs all of `{text}`");
        }
        assert_eq!(Needs::of("(?i:[A-Z]{6})").kinds, LETTER, "in either case");
        assert_eq!(Needs::of("(?:a|1)").kinds, 0);
        assert_eq!(Needs::of("[").kinds, 0);
    }

    #[test]
    fn what_has_to_be_decoded_is_of_no_known_kind() {
        for byte in [b'%', b'\\', b'&', b'"', b'{', b'[', b'\n', 0, 0x7f, 0x80, 0xff] {
            assert_eq!(held(&[byte]), OTHER, "{byte:#x}");
        }
        assert_eq!(held(b"2026-11-16T13:05:07.123Z") & OTHER, 0);
    }
}
