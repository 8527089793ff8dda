//! Texts that were encoded as a whole: base64 in both alphabets, hexadecimal.

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
        if let Some(text) = text(base64_bytes(piece.as_bytes())) {
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
    run.split(|byte| *byte == b'=').filter(|piece| piece.len() >= SHORTEST_ENCODED).any(|piece| {
        let begins = |piece: &[u8]| begins_as_text(hex_bytes(piece)) || begins_as_text(base64_bytes(piece));
        begins(piece)
            || [b'/', b'-', b'_', b'+'].iter().any(|sign| {
                piece.contains(sign)
                    && piece.split(|byte| byte == sign).any(|part| part.len() >= SHORTEST_ENCODED && begins(part))
            })
    })
}

/// Looks at the first bytes only: in a hash or an image one of them is no text.
fn begins_as_text(bytes: impl Iterator<Item = Option<u8>>) -> bool {
    const ENOUGH: usize = 18;
    let mut first: SmallVec<[u8; ENOUGH]> = SmallVec::new();
    for byte in bytes.take(ENOUGH) {
        match byte {
            Some(byte) if (byte >= 0x20 && byte != 0x7f) || matches!(byte, b'\t' | b'\n' | b'\r') => first.push(byte),
            _ => return false,
        }
    }
    // A character that is cut at the end is none that is wrong.
    !first.is_empty() && std::str::from_utf8(&first).map_or_else(|error| error.error_len().is_none(), |_| true)
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
    let piece = piece.strip_prefix(b"0x").unwrap_or(piece);
    let piece = if piece.len() >= SHORTEST_HEX && piece.len().is_multiple_of(2) { piece } else { &[] };
    piece.chunks_exact(2).map(|pair| {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        u8::try_from(digit(pair.first()?)? << 4 | digit(pair.last()?)?).ok()
    })
}

/// Line breaks do not count; a letter too many at the end is left out.
fn base64_bytes(piece: &[u8]) -> impl Iterator<Item = Option<u8>> + Clone + '_ {
    let mut letters = piece.iter().filter(|letter| !matches!(letter, b'\r' | b'\n'));
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

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
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
            ("d41d8cd98f00b204e9800998ecf8427e", vec![]),
            ("internationalisation", vec![]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(range, text)| (range, text.to_owned())).collect();
            assert_eq!(all(run), expected, "{run}");
        }
    }
}
