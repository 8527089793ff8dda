//! Texts written in escapes: percent signs, backslashes, HTML entities and tags, quoted-printable. All at once, because they are
//! mixed.

use std::ops::Range;

use crate::mapped::{Mapped, small};
use crate::markup;

/// The text with one layer of escapes taken off; `None` where there is none.
pub(crate) fn peeled(text: &str) -> Option<Mapped> {
    let bytes = text.as_bytes();
    let printable = quoted_printable(bytes);
    let tagged = memchr::memchr_iter(b'<', bytes).any(|at| markup::is_cut(bytes, at));
    let also = |sign: u8, is_one: bool| if is_one { memchr::memchr(sign, bytes) } else { None };
    let begins = [memchr::memchr3(b'%', b'\\', b'&', bytes), also(b'=', printable), also(b'<', tagged)];
    let mut at = begins.into_iter().flatten().min()?;
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut from: Vec<u32> = Vec::with_capacity(bytes.len() + 1);
    out.extend_from_slice(bytes.get(..at)?);
    from.extend((0..at).map(small));
    let mut changed = false;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let escape = match byte {
            b'%' => hex_byte(rest).map(|byte| (Letter::Byte(byte), 3)),
            b'\\' => backslash(rest),
            b'&' => entity(rest),
            b'=' if printable && !is_number(out.last(), rest) => soft(rest),
            b'<' if tagged => {
                markup::between(bytes, at).map(|tags| (tags.seen.map_or(Letter::Nothing, Letter::Byte), tags.length))
            }
            _ => None,
        };
        match escape {
            Some((letter, length)) => {
                changed = true;
                letter.write(&mut out);
                from.resize(out.len(), small(at));
                at += length;
            }
            None => {
                out.push(byte);
                from.push(small(at));
                at += 1;
            }
        }
    }
    changed.then(|| Mapped::of_bytes(out, from, text.len()))
}

/// Where a range ends that a broken line follows: the break is no part of a value that does not go on behind it.
pub(crate) fn line_end(text: &str, range: Range<usize>, value: &str) -> usize {
    let written = text.get(range.clone()).unwrap_or_default();
    let shown = if value.ends_with('\n') { written } else { written.trim_end_matches(['\n', '\r']) };
    range.start + shown.len()
}

enum Letter {
    Byte(u8),
    Char(char),
    Nothing,
}

impl Letter {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Byte(byte) => out.push(*byte),
            Self::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Self::Nothing => {}
        }
    }
}

fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn hex_byte(rest: &[u8]) -> Option<u8> {
    Some(nibble(*rest.first()?)? << 4 | nibble(*rest.get(1)?)?)
}

fn hex_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 6 {
        return None;
    }
    digits.iter().try_fold(0_u32, |sum, digit| Some(sum << 4 | u32::from(nibble(*digit)?)))
}

/// What follows a backslash; the length counts the backslash.
fn backslash(rest: &[u8]) -> Option<(Letter, usize)> {
    let letter = match rest.first()? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        // No blank: a blank may stand inside a number, and `suspects` does not look for these.
        b'b' | b'f' | b'v' => '\u{b}',
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'/' => '/',
        // So that a reader of Markdown sees the sign itself.
        b'_' => '_',
        b'x' | b'X' => return hex_byte(rest.get(1..)?).map(|byte| (Letter::Byte(byte), 4)),
        b'0'..=b'3' => return octal(rest).map(|byte| (Letter::Byte(byte), 4)),
        b'U' if long_code(rest).is_some() => return long_code(rest).map(|c| (Letter::Char(c), 10)),
        b'u' | b'U' => return unicode(rest.get(1..)?),
        _ => return None,
    };
    Some((Letter::Char(letter), 2))
}

/// Three digits: `\\152`.
fn octal(rest: &[u8]) -> Option<u8> {
    let digits = rest.get(..3)?;
    digits.iter().try_fold(0_u8, |sum, digit| {
        let value = digit.checked_sub(b'0').filter(|value| *value < 8)?;
        sum.checked_mul(8)?.checked_add(value)
    })
}

/// `U0000006a`: eight digits.
fn long_code(rest: &[u8]) -> Option<char> {
    let digits = rest.get(1..9)?;
    let (zeros, code) = digits.split_at_checked(2)?;
    if zeros != b"00" {
        return None;
    }
    char::from_u32(hex_number(code)?)
}

fn unicode(rest: &[u8]) -> Option<(Letter, usize)> {
    if rest.first() == Some(&b'{') {
        let close = rest.iter().take(8).position(|byte| *byte == b'}')?;
        let code = hex_number(rest.get(1..close)?)?;
        return char::from_u32(code).map(|c| (Letter::Char(c), close + 3));
    }
    let high = hex_number(rest.get(..4)?)?;
    if (0xd800..0xdc00).contains(&high) && rest.get(4..6) == Some(b"\\u") {
        let low = hex_number(rest.get(6..10)?)?;
        if (0xdc00..0xe000).contains(&low) {
            let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            return char::from_u32(code).map(|c| (Letter::Char(c), 12));
        }
    }
    Some((Letter::Char(char::from_u32(high).unwrap_or('?')), 6))
}

/// Entities that stand for signs which values are made of.
const ENTITIES: [(&[u8], char); 41] = [
    (b"amp", '&'),
    (b"lt", '<'),
    (b"gt", '>'),
    (b"quot", '"'),
    (b"apos", '\''),
    (b"nbsp", ' '),
    (b"commat", '@'),
    (b"period", '.'),
    (b"colon", ':'),
    (b"sol", '/'),
    (b"bsol", '\\'),
    (b"lowbar", '_'),
    (b"hyphen", '-'),
    (b"dash", '-'),
    (b"ndash", '-'),
    (b"mdash", '-'),
    (b"minus", '-'),
    (b"plus", '+'),
    (b"equals", '='),
    (b"num", '#'),
    (b"shy", '\u{ad}'),
    (b"zwnj", '\u{200c}'),
    (b"zwj", '\u{200d}'),
    (b"ZeroWidthSpace", '\u{200b}'),
    (b"NoBreak", '\u{2060}'),
    (b"lrm", '\u{200e}'),
    (b"rlm", '\u{200f}'),
    (b"NonBreakingSpace", ' '),
    (b"ensp", ' '),
    (b"emsp", ' '),
    (b"thinsp", ' '),
    (b"Tab", '\t'),
    (b"NewLine", '\n'),
    (b"middot", '.'),
    (b"centerdot", '.'),
    (b"bull", '.'),
    (b"comma", ','),
    (b"semi", ';'),
    (b"verbar", '|'),
    (b"vert", '|'),
    (b"ast", '*'),
];

/// What follows an ampersand; the length counts it.
fn entity(rest: &[u8]) -> Option<(Letter, usize)> {
    const LONGEST: usize = 18;
    let Some(close) = rest.iter().take(LONGEST).position(|byte| *byte == b';' || *byte == b'&') else {
        return unclosed(rest);
    };
    if rest.get(close) == Some(&b'&') {
        return unclosed(rest);
    }
    let name = rest.get(..close)?;
    let letter = match name {
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex_number(digits)?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((Letter::Char(letter), close + 2))
}

/// A number without its semicolon, as every reader takes it: `&#106&#97`.
fn unclosed(rest: &[u8]) -> Option<(Letter, usize)> {
    const MOST_DIGITS: usize = 7;
    let rest = rest.strip_prefix(b"#")?;
    let (digits, radix, sign) = match rest.strip_prefix(b"x").or(rest.strip_prefix(b"X")) {
        Some(digits) => (digits, 16, 1),
        None => (rest, 10, 0),
    };
    let count = digits.iter().take(MOST_DIGITS).take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let text = std::str::from_utf8(digits.get(..count)?).ok()?;
    let letter = char::from_u32(u32::from_str_radix(text, radix).ok()?)?;
    Some((Letter::Char(letter), 2 + sign + count))
}

/// Signs of quoted-printable; `a=40` in a query is one too, and harmless. `=C3=` begins most letters that
/// are none of ASCII. The last two are how JSON writes the two before them.
const SOFT: [&str; 10] = ["=3D", "=40", "=2E", "=2D", "=20", "=C3=", "=\r\n", "=\n", "=\\r", "=\\n"];

/// The signs, and two letters in a row of which the first is a digit or a letter.
pub(crate) fn quoted_printable_signs() -> impl Iterator<Item = String> {
    let rows = (3..=7_u8).flat_map(|high| (0..16_u8).map(move |low| format!("={high}{low:X}=")));
    SOFT.iter().map(|sign| (*sign).to_owned()).chain(rows)
}

fn quoted_printable(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'=', bytes).any(|at| {
        let rest = bytes.get(at..).unwrap_or_default();
        let row = matches!(rest, [_, b'3'..=b'7', low, b'=', ..] if low.is_ascii_hexdigit());
        row || SOFT.iter().any(|sign| rest.starts_with(sign.as_bytes()))
    })
}

/// `id=2458`, `port=5432`: behind the sign of a setting stands a number, and no letter in two digits and more of them.
/// Between digits it is a blank of a number: `4111=201111`.
fn is_number(before: Option<&u8>, rest: &[u8]) -> bool {
    if before.is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // In a row of letters the next one has a sign too.
    let letter = rest.get(digits).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'=');
    (digits >= 4 && !letter) || matches!(rest, [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'.' | b'%', b'0'..=b'9', ..])
}

/// What follows an equals sign of quoted-printable; the length counts the sign.
fn soft(rest: &[u8]) -> Option<(Letter, usize)> {
    match rest {
        [b'\n', ..] => Some((Letter::Nothing, 2)),
        [b'\r', b'\n', ..] => Some((Letter::Nothing, 3)),
        [a, b, ..] if !a.is_ascii_lowercase() && !b.is_ascii_lowercase() => {
            hex_byte(rest).map(|byte| (Letter::Byte(byte), 3))
        }
        _ => None,
    }
}
