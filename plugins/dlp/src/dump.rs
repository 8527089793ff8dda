//! Dumps: bytes in hexadecimal, line by line, with their offsets in front and perhaps their letters behind.

use std::ops::Range;

/// What stands behind the bytes of a line: blanks, and the letters that they are.
const WIDEST_LETTERS: usize = 40;
const MOST_BYTES: usize = 64 * 1024;

/// All bytes of the dump that begins with these, and where they lie; what is no dump is only its own line.
pub(crate) fn whole(text: &str, first: &Range<usize>) -> (Range<usize>, String) {
    let mut pairs = text.get(first.clone()).unwrap_or_default().to_owned();
    let mut end = first.end;
    while pairs.len() < MOST_BYTES {
        let Some(line) = next(text.as_bytes(), end) else { break };
        end = line.end;
        pairs.push(' ');
        pairs.push_str(text.get(line).unwrap_or_default());
    }
    (first.start..end, pairs)
}

/// The bytes of the line behind this one.
fn next(text: &[u8], end: usize) -> Option<Range<usize>> {
    let rest = text.get(end..)?;
    let close = memchr::memchr(b'\n', rest.get(..rest.len().min(WIDEST_LETTERS))?)?;
    let mut at = end + close + 1;
    let offset = text.get(at..)?.iter().take(16).take_while(|byte| byte.is_ascii_hexdigit()).count();
    if offset < 4 {
        return None;
    }
    at += offset + usize::from(text.get(at + offset) == Some(&b':'));
    let blanks = text.get(at..)?.iter().take(4).take_while(|byte| **byte == b' ').count();
    if blanks == 0 {
        return None;
    }
    let start = at + blanks;
    let mut last = None;
    let mut at = start;
    while pair(text, at) {
        last = Some(at + 2);
        let gap = text.get(at + 2..)?.iter().take(2).take_while(|byte| **byte == b' ').count();
        at += 2 + gap;
        if gap == 0 {
            break;
        }
    }
    last.map(|last| start..last)
}

/// Two digits and no more.
fn pair(text: &[u8], at: usize) -> bool {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_hexdigit);
    digit(at) && digit(at + 1) && !text.get(at + 2).is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_goes_on_from_line_to_line() {
        for (text, expected) in [
            ("6a 61 6e 65\n00000010  40 65 78\n", "6a 61 6e 65 40 65 78"),
            ("6a 61 6e 65  |jane|\n0004: 40 65 78  |@ex|", "6a 61 6e 65 40 65 78"),
            ("6a 61 6e 65\nand 40 65", "6a 61 6e 65"),
            ("6a 61 6e 65\n40 65 78", "6a 61 6e 65"),
        ] {
            assert_eq!(whole(text, &(0..11)).1, expected, "{text}");
        }
    }
}
