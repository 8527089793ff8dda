//! Where a match may begin and end: what stands beside it must not belong to it.

use std::ops::Range;

use super::Boundary;

/// Whether a match ends on both sides where its boundary says.
pub(super) fn bounded(text: &[u8], boundary: Boundary, range: &Range<usize>) -> bool {
    let bounded = !joins_before(text, boundary, range.start) && !joins(text, boundary, Some(range.end));
    bounded && (boundary != Boundary::Number || !is_part(text, range))
}

/// Whether what stands before a match would belong to it.
pub(super) fn joins_before(text: &[u8], boundary: Boundary, start: usize) -> bool {
    boundary != Boundary::End && joins(text, boundary, start.checked_sub(1))
}

/// Whether what stands there would belong to the match.
fn joins(text: &[u8], boundary: Boundary, at: Option<usize>) -> bool {
    at.and_then(|at| text.get(at)).is_some_and(|byte| match boundary {
        Boundary::Word | Boundary::End => byte.is_ascii_alphanumeric(),
        Boundary::Token => byte.is_ascii_alphanumeric() || *byte == b'_',
        Boundary::Digit | Boundary::Number => byte.is_ascii_digit(),
        Boundary::None => false,
    })
}

/// `01 536` in `2026-01 536`: a sign and a digit before it, or behind it.
fn is_part(text: &[u8], range: &Range<usize>) -> bool {
    let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
    let sign = |at: Option<usize>| {
        at.and_then(|at| text.get(at)).is_some_and(|byte| matches!(byte, b'-' | b'.' | b'/' | b'_'))
    };
    // `a029` and `655d` are groups of a dump.
    let letter = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphabetic);
    let glued = (digit(Some(range.start)) && letter(range.start.checked_sub(1)))
        || (digit(range.end.checked_sub(1)) && letter(Some(range.end)));
    glued
        || (sign(range.start.checked_sub(1)) && digit(range.start.checked_sub(2)))
        || (sign(Some(range.end)) && digit(Some(range.end + 1)))
}

/// A pattern of bytes may end inside a character; the character is taken whole.
pub(super) fn whole_letters(text: &str, range: Range<usize>) -> Range<usize> {
    let mut start = range.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = range.end.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}
