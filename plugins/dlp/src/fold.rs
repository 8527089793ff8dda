//! Letters that are read like others, and letters that are not seen at all.
//!
//! Only what ends in ASCII is folded: every decimal digit, full-width, mathematical, circled and raised letters, dashes and blanks of
//! all widths. Invisible characters vanish. Everything else stays as it is, so that ordinary prose is never copied.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use crate::alike;
use crate::mapped::Mapped;

pub(crate) enum Folded {
    Keep,
    Drop,
    One(char),
    Many([u8; 4], usize),
}

/// The zeros of decimal digits beyond ASCII; nine more follow each.
const ZEROS: [u32; 61] = [
    0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0de6, 0x0e50,
    0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136,
    0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0,
    0x11f50, 0x16a60, 0x16ac0, 0x16b50, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

pub(crate) fn fold(c: char) -> Folded {
    let code = u32::from(c);
    match code {
        0..=8 | 0x0e..=0x1f | 0x7f => Folded::Drop,
        9..=0x9f => Folded::Keep,
        // Marks over letters of ASCII with the other invisible ones: letters that have a form of their own keep it.
        0xad
        | 0x300..=0x36f
        | 0x483..=0x489
        | 0x61c
        | 0x115f
        | 0x1160
        | 0x17b4
        | 0x17b5
        | 0x180b..=0x180f
        | 0x200b..=0x200f
        | 0x202a..=0x202e
        | 0x2060..=0x206f
        | 0x20d0..=0x20f0
        | 0x3164
        | 0xfe00..=0xfe0f
        | 0xfeff
        | 0xffa0
        | 0xfff9..=0xfffb
        | 0x1d173..=0x1d17a
        | 0xe0000..=0xe0fff => Folded::Drop,
        0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000 => Folded::One(' '),
        0x2010..=0x2015 | 0x2043 | 0x2212 | 0xfe58 | 0xfe63 | 0xff0d => Folded::One('-'),
        0xb7 | 0x2022 | 0x2024 | 0x2027 | 0x2219 | 0x22c5 | 0x3002 | 0x30fb | 0xff61 | 0xff65 => Folded::One('.'),
        0x2044 | 0x2215 => Folded::One('/'),
        0x2236 | 0xa789 | 0xfe13 => Folded::One(':'),
        0xff01..=0xff5e => char::from_u32(code - 0xfee0).map_or(Folded::Keep, Folded::One),
        // Circled digits that have no other form.
        0x24ff => digit(0),
        0x24f5..=0x24fd => digit(code - 0x24f4),
        0x2776..=0x277e | 0x2780..=0x2788 | 0x278a..=0x2792 => digit((code - 0x2775) % 10),
        0xaa
        | 0xb2
        | 0xb3
        | 0xb9
        | 0xba
        | 0x17f
        | 0x2070..=0x209c
        | 0x2100..=0x214f
        | 0x2460..=0x24ff
        | 0xfb00..=0xfb06
        | 0xfe50..=0xfe6b
        | 0x1d400..=0x1d7ff
        | 0x1f100..=0x1f189 => compatible(c),
        0x660.. => {
            let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code));
            zero.map_or(Folded::Keep, |zero| digit(code - zero))
        }
        _ => Folded::Keep,
    }
}

/// Letters of other scripts that look like a digit; they are meant as one beside one.
fn drawn_like(c: char) -> Option<char> {
    match c {
        '\u{41e}' | '\u{43e}' | '\u{39f}' | '\u{3bf}' | '\u{555}' | '\u{585}' => Some('0'),
        '\u{406}' | '\u{456}' | '\u{4c0}' | '\u{4cf}' | '\u{399}' => Some('1'),
        '\u{417}' | '\u{437}' | '\u{4e0}' => Some('3'),
        '\u{427}' => Some('4'),
        '\u{405}' => Some('5'),
        '\u{431}' => Some('6'),
        _ => None,
    }
}

fn is_unseen(c: char) -> bool {
    c.is_ascii() && matches!(fold(c), Folded::Drop)
}

/// The digit that a letter is drawn like, if a digit stands beside it.
fn as_drawn(c: char, before: &str, behind: Option<&str>) -> char {
    let Some(digit) = drawn_like(c) else { return c };
    let last = before.bytes().next_back().is_some_and(|byte| byte.is_ascii_digit());
    let next = behind.and_then(|behind| behind.bytes().next()).is_some_and(|byte| byte.is_ascii_digit());
    if last || next { digit } else { c }
}

fn is_between_digits(before: &str, behind: Option<&str>) -> bool {
    let digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
    digit(before.bytes().next_back()) && digit(behind.and_then(|behind| behind.bytes().next()))
}

fn digit(value: u32) -> Folded {
    char::from_digit(value, 10).map_or(Folded::Keep, Folded::One)
}

/// What the standard calls compatible, if that is letters or digits of ASCII.
fn compatible(c: char) -> Folded {
    let mut letters = [0; 4];
    let mut length = 0;
    for letter in std::iter::once(c).nfkc() {
        match (u8::try_from(letter), letters.get_mut(length)) {
            (Ok(byte), Some(place)) if byte.is_ascii_graphic() => *place = byte,
            _ => return Folded::Keep,
        }
        length += 1;
    }
    Folded::Many(letters, length)
}

/// How many bytes the character at `at` has, and whether it is folded. What is no character counts as folded: it must be looked at.
pub(crate) fn at(text: &[u8], at: usize) -> (usize, bool) {
    let length = match text.get(at) {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => return (1, true),
    };
    let character =
        text.get(at..at + length).and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(|s| s.chars().next());
    match character {
        Some(character) => {
            let is_digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
            let drawn = drawn_like(character).is_some() && (is_digit(at.checked_sub(1)) || is_digit(Some(at + length)));
            let folds = drawn || !matches!(fold(character), Folded::Keep);
            (length, folds || alike::is_put_in(text, at..at + length, character))
        }
        None => (1, true),
    }
}

/// Where a range ends that what is not seen follows: it belongs to nobody.
pub(crate) fn shown_end(text: &str, range: Range<usize>) -> usize {
    let shown = text.get(range.clone()).unwrap_or_default();
    range.start + shown.trim_end_matches(|c| matches!(fold(c), Folded::Drop)).len()
}

/// The text as it is read; `None` where it is read as it is written.
pub(crate) fn folded(text: &str) -> Option<Mapped> {
    // Nearly all texts are done with here, so nothing is asked between one byte and the next.
    let is_odd = |byte: &u8| !matches!(byte, b' '..=b'~' | b'\t'..=b'\r');
    if !text.as_bytes().chunks(64).any(|some| some.iter().fold(false, |odd, byte| odd | is_odd(byte))) {
        return None;
    }
    let (first, _) =
        text.char_indices().find(|(at, c)| !c.is_ascii() && self::at(text.as_bytes(), *at).1 || is_unseen(*c))?;
    let mut word = alike::word(text.as_bytes(), first);
    let first = word.as_ref().map_or(first, |word| word.start.min(first));
    let mut out = Mapped::same(text.get(..first)?, text.len());
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < first) {
        match fold(c) {
            Folded::Keep => {
                let behind = text.get(at + c.len_utf8()..);
                if alike::drawn_like(c).is_some() && word.as_ref().is_none_or(|word| word.end <= at) {
                    word = alike::word(text.as_bytes(), at);
                }
                let put_in = word.as_ref().is_some_and(|word| word.contains(&at));
                let letter = alike::drawn_like(c).filter(|_| put_in && !is_between_digits(out.text(), behind));
                out.push(letter.unwrap_or_else(|| as_drawn(c, out.text(), behind)), at);
            }
            Folded::Drop => {}
            Folded::One(c) => out.push(c, at),
            Folded::Many(letters, length) => {
                for letter in letters.iter().take(length) {
                    out.push(char::from(*letter), at);
                }
            }
        }
    }
    out.end(text.len());
    Some(out)
}
