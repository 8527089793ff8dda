//! Texts that were encoded as a whole: base64 in both alphabets, base32, hexadecimal.

use std::ops::Range;

use smallvec::SmallVec;

use crate::View;
use crate::spots::SHORTEST_ENCODED;

/// Two hexadecimal digits a byte: eight bytes.
const SHORTEST_HEX: usize = 16;

/// What a run of token letters may be, if it is text: at most a few readings, each with the bytes of the run it is of.
pub(crate) fn readings(run: &str, mut found: impl FnMut(Range<usize>, View, String)) {
    let mut try_one = |range: Range<usize>| -> bool {
        let Some(piece) = run.get(range.clone()) else {
            return false;
        };
        if let Some(text) = text(hex_bytes(piece.as_bytes())) {
            found(range, View::Hex, text);
            return true;
        }
        let decoded = text(base64_bytes(piece.as_bytes()))
            .or_else(|| wide(base64_bytes(piece.as_bytes())))
            .or_else(|| text(base32_bytes(piece.as_bytes())));
        if let Some(text) = decoded {
            found(range, View::Base64, text);
            return true;
        }
        false
    };
    let mut start = 0;
    // `key=...` and `a==`: padding ends a value.
    for piece in run.split('=') {
        let range = start..start + piece.len();
        start = range.end + 1;
        if piece.len() < SHORTEST_ENCODED || try_one(range.clone()) {
            continue;
        }
        // Signs of the alphabet that may as well stand around a value: `/path/dmFsdWU`, `a-dmFsdWU`.
        for sign in ['/', '-', '_', '+'] {
            if !piece.contains(sign) {
                continue;
            }
            let mut inner = range.start;
            for part in piece.split(sign) {
                let place = inner..inner + part.len();
                inner = place.end + 1;
                if part.len() >= SHORTEST_ENCODED {
                    try_one(place);
                }
            }
        }
    }
}

/// Whether a run may be a text at all, told from its first letters and without allocating.
pub(crate) fn plausible(run: &[u8]) -> bool {
    // It is asked of every long word of a message, and few of them have any of these.
    let held = run.iter().fold(0, |held, byte| held | sign(*byte));
    if held & EQUALS == 0 {
        return is_plausible(run, held);
    }
    run.split(|byte| *byte == b'=').any(|piece| is_plausible(piece, held))
}

/// Of a piece of a run that holds these signs.
fn is_plausible(piece: &[u8], held: u8) -> bool {
    let begins = |piece: &[u8]| {
        begins_as_text(hex_bytes(piece))
            || begins_as_base64(piece)
            || (held & CAPITAL_A != 0 && may_be_wide(piece) && begins_wide(base64_bytes(piece)))
            || begins_as_text(base32_bytes(piece))
    };
    let parts = |sign: u8| piece.split(move |byte| *byte == sign).filter(|part| part.len() >= SHORTEST_ENCODED);
    let around = |(sign, own): (u8, u8)| held & own != 0 && parts(sign).any(begins);
    piece.len() >= SHORTEST_ENCODED
        && (begins(piece) || [(b'/', SLASH), (b'-', DASH), (b'_', LOW_LINE), (b'+', PLUS)].into_iter().any(around))
}

const EQUALS: u8 = 1;
const SLASH: u8 = 2;
const DASH: u8 = 4;
const LOW_LINE: u8 = 8;
const PLUS: u8 = 16;
const CAPITAL_A: u8 = 32;

static OF_SIGNS: [u8; 256] = of_signs();

#[expect(clippy::indexing_slicing, reason = "computed when compiled; the table has a place for every byte")]
const fn of_signs() -> [u8; 256] {
    let mut table = [0; 256];
    table[b'=' as usize] = EQUALS;
    table[b'/' as usize] = SLASH;
    table[b'-' as usize] = DASH;
    table[b'_' as usize] = LOW_LINE;
    table[b'+' as usize] = PLUS;
    table[b'A' as usize] = CAPITAL_A;
    table
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "the table has a place for every byte")]
fn sign(byte: u8) -> u8 {
    OF_SIGNS[byte as usize]
}

/// How many of the first bytes say whether it is text.
const ENOUGH: usize = 18;

/// The same as `begins_as_text` of `base64_bytes`, without their detours: it is asked of every long word of a message.
fn begins_as_base64(piece: &[u8]) -> bool {
    /// So many say no of nearly everything that is none.
    const SOON: usize = 4;
    if let [one, two, three, ..] = piece
        && let (Some(one), Some(two), Some(three)) = (value(*one), value(*two), value(*three))
        && !may_begin(one << 2 | two >> 4, (two << 4 | three >> 2) & 0xff)
    {
        return false;
    }
    let mut first = [0; ENOUGH];
    let mut count = 0;
    let mut bits: u32 = 0;
    let mut held = 0;
    for letter in piece {
        let Some(value) = value(*letter) else {
            if is_break(*letter) {
                continue;
            }
            return false;
        };
        bits = (bits << 6 | value) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            let byte = u8::try_from(bits >> held & 0xff).unwrap_or_default();
            if !is_shown(byte) {
                return false;
            }
            let Some(place) = first.get_mut(count) else { break };
            *place = byte;
            count += 1;
            if count == SOON && !begin_a_text(first.get(..count).unwrap_or_default()) {
                return false;
            }
            if count == ENOUGH {
                break;
            }
        }
    }
    begin_a_text(first.get(..count).unwrap_or_default())
}

/// The end of a line, and what indents or quotes the next one.
fn is_break(letter: u8) -> bool {
    matches!(letter, b'\r' | b'\n' | b' ' | b'\t' | b'>')
}

/// Told from the first two bytes: half of all identifiers and digests end here.
fn may_begin(first: u32, second: u32) -> bool {
    let begins = |byte: u32| matches!(byte, 9 | 10 | 13 | 0x20..=0x7e | 0xc2..=0xf4);
    let goes_on = if first < 0x80 { begins(second) } else { matches!(second, 0x80..=0xbf) };
    begins(first) && goes_on
}

fn is_shown(byte: u8) -> bool {
    (byte >= 0x20 && byte != 0x7f) || matches!(byte, b'\t' | b'\n' | b'\r')
}

/// A character that is cut at the end is none that is wrong.
fn begin_a_text(first: &[u8]) -> bool {
    !first.is_empty()
        && (first.is_ascii() || std::str::from_utf8(first).map_or_else(|error| error.error_len().is_none(), |_| true))
}

/// Looks at the first bytes only: in a hash or an image one of them is no text.
fn begins_as_text(bytes: impl Iterator<Item = Option<u8>>) -> bool {
    let mut first: SmallVec<[u8; ENOUGH]> = SmallVec::new();
    for byte in bytes.take(ENOUGH) {
        match byte {
            Some(byte) if is_shown(byte) => first.push(byte),
            _ => return false,
        }
    }
    begin_a_text(&first)
}

/// Text in two bytes a letter, most of them ASCII: what the shells of Windows take.
fn begins_wide(bytes: impl Iterator<Item = Option<u8>>) -> bool {
    const ENOUGH: usize = 16;
    const FEWEST: usize = 6;
    let mut first: SmallVec<[u8; ENOUGH]> = SmallVec::new();
    for byte in bytes.take(ENOUGH) {
        match byte {
            Some(byte) => first.push(byte),
            None => return false,
        }
    }
    let letters = first.chunks_exact(2);
    let count = letters.len();
    let plain = |pair: &&[u8]| matches!(pair, [low, 0] if low.is_ascii_graphic() || low.is_ascii_whitespace());
    count >= FEWEST && letters.filter(plain).count() * 2 >= count
}

/// Half of the high bytes are zero, and of three in a row at least one is written with an `A` of its own.
fn may_be_wide(piece: &[u8]) -> bool {
    memchr::memchr(b'A', piece).is_some()
}

fn wide(bytes: impl Iterator<Item = Option<u8>> + Clone) -> Option<String> {
    if !begins_wide(bytes.clone()) {
        return None;
    }
    let bytes = bytes.collect::<Option<Vec<u8>>>()?;
    let units = bytes.chunks_exact(2).map(|pair| match pair {
        [low, high] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    });
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}

/// `6a 61 6e`, `6a:61:6e`, `0x6a, 0x61, 0x6e`: a text byte by byte.
pub(crate) fn of_pairs(written: &str) -> Option<String> {
    let digits = written.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let bytes = digits.map(|part| u8::from_str_radix(part.strip_prefix("0x").unwrap_or(part), 16).ok());
    text(bytes)
}

fn text(bytes: impl Iterator<Item = Option<u8>> + Clone) -> Option<String> {
    if !begins_as_text(bytes.clone()) {
        return None;
    }
    let whole = String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()?;
    let shown = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    whole.chars().all(shown).then_some(whole)
}

/// Nothing at all where it is no hexadecimal number.
fn hex_bytes(piece: &[u8]) -> impl Iterator<Item = Option<u8>> + Clone + '_ {
    // `0x6a61..`, and `\\x6a61..` as a database shows its bytes.
    let piece = piece.strip_prefix(b"0x").or(piece.strip_prefix(b"x")).unwrap_or(piece);
    let piece = if piece.len() >= SHORTEST_HEX && piece.len().is_multiple_of(2) { piece } else { &[] };
    piece.chunks_exact(2).map(|pair| {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        u8::try_from(digit(pair.first()?)? << 4 | digit(pair.last()?)?).ok()
    })
}

/// Line breaks do not count; a letter too many at the end is left out.
fn base64_bytes(piece: &[u8]) -> impl Iterator<Item = Option<u8>> + Clone + '_ {
    let mut letters = piece.iter().filter(|letter| !is_break(**letter));
    let mut bits: u32 = 0;
    let mut held = 0;
    std::iter::from_fn(move || {
        while held < 8 {
            let Some(letter) = value(*letters.next()?) else {
                return Some(None);
            };
            bits = (bits << 6 | letter) & 0xffff;
            held += 6;
        }
        held -= 8;
        Some(u8::try_from(bits >> held & 0xff).ok())
    })
}

/// Nothing at all where it is no base32: capitals and 2 to 7.
fn base32_bytes(piece: &[u8]) -> impl Iterator<Item = Option<u8>> + Clone + '_ {
    const SHORTEST: usize = 16;
    let is_one = piece.len() >= SHORTEST && piece.iter().all(|letter| matches!(letter, b'A'..=b'Z' | b'2'..=b'7'));
    let mut letters = if is_one { piece } else { &[] }.iter();
    let mut bits: u32 = 0;
    let mut held = 0;
    std::iter::from_fn(move || {
        while held < 8 {
            let letter = letters.next()?;
            let value = if letter.is_ascii_digit() { letter - b'2' + 26 } else { letter - b'A' };
            bits = (bits << 5 | u32::from(value)) & 0xffff;
            held += 5;
        }
        held -= 8;
        Some(u8::try_from(bits >> held & 0xff).ok())
    })
}

/// The letters of base64, in both alphabets; what is none has a value beyond all.
static VALUES: [u8; 256] = values();
const NONE: u8 = 64;

#[expect(clippy::indexing_slicing, reason = "computed when compiled; the table has a place for every byte")]
const fn values() -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut at = 0;
    while at < 256 {
        let letter = at as u8;
        table[at] = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => NONE,
        };
        at += 1;
    }
    table
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "the table has a place for every byte")]
fn value(letter: u8) -> Option<u32> {
    let value = VALUES[letter as usize];
    (value < NONE).then_some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn all(run: &str) -> Vec<(Range<usize>, String)> {
        let mut found = Vec::new();
        readings(run, |range, _, text| found.push((range, text)));
        found
    }

    #[test]
    fn reads_text_and_nothing_else() {
        for (run, expected) in [
            ("am9AZXhhbXBsZS5vcmc", vec![(0..19, "jo@example.org")]),
            ("key=am9AZXhhbXBsZS5vcmc=", vec![(4..23, "jo@example.org")]),
            ("/v1/am9AZXhhbXBsZS5vcmc", vec![(4..23, "jo@example.org")]),
            ("6a6f406578616d706c652e6f7267", vec![(0..28, "jo@example.org")]),
            ("x6a6f406578616d706c652e6f7267", vec![(0..29, "jo@example.org")]),
            ("NJXUAZLYMFWXA3DFFZXXEZY", vec![(0..23, "jo@example.org")]),
            ("agBvAEAAZQB4AGEAbQBwAGwAZQAuAG8AcgBnAA", vec![(0..38, "jo@example.org")]),
            ("d41d8cd98f00b204e9800998ecf8427e", vec![]),
            ("internationalisation", vec![]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(range, text)| (range, text.to_owned())).collect();
            assert_eq!(all(run), expected, "{run}");
        }
    }

    #[test]
    fn the_short_way_to_base64_says_what_the_long_one_does() {
        let config = ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() };
        let encoded = "\\PC{1,30}".prop_map(|text| STANDARD.encode(text));
        proptest!(config, |(piece in prop_oneof!["[A-Za-z0-9+/_.\r\n >-]{0,40}", encoded])| {
            let piece = piece.as_bytes();
            prop_assert_eq!(begins_as_base64(piece), begins_as_text(base64_bytes(piece)), "{:?}", piece);
        });
    }

    #[test]
    fn reads_bytes_one_by_one() {
        for (written, expected) in [
            ("6a 6f 40 65 78 2e 6f 72 67", Some("jo@ex.org")),
            ("6a:6f:40:65:78:2e:6f:72:67", Some("jo@ex.org")),
            ("0x6a, 0x6f, 0x40, 0x65, 0x78, 0x2e, 0x6f, 0x72, 0x67", Some("jo@ex.org")),
            ("ff d8 ff e0 00 10 4a 46", None),
        ] {
            assert_eq!(of_pairs(written).as_deref(), expected, "{written}");
        }
    }
}
