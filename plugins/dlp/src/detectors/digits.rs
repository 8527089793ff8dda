//! Numbers of so many digits, whatever stands between them.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Compiled, Detectors};
use crate::spots::{DigitRun, is_digit};

/// Letters of a UUID.
pub(super) const UUID: usize = 36;

/// Hands every window of a run to `candidate` that a detector wants, longest first from each group of digits; a window that is
/// taken (`true`) ends the search before its end.
pub(super) fn windows(text: &str, run: DigitRun, wanted: (u32, u32), mut candidate: impl FnMut(Range<usize>) -> bool) {
    if run.count < wanted.0 {
        return;
    }
    let bytes = text.as_bytes();
    let groups = groups(bytes, run);
    let mut floor = run.start;
    for (first, group) in groups.iter().enumerate() {
        if group.start < floor || is_fraction(bytes, &groups, first) {
            continue;
        }
        let mut count = 0;
        let mut ends: SmallVec<[usize; 20]> = SmallVec::new();
        for next in groups.iter().skip(first) {
            count += u32::try_from(next.len()).unwrap_or(u32::MAX);
            if count > wanted.1 {
                break;
            }
            if count >= wanted.0 {
                ends.push(next.end);
            }
        }
        for end in ends.into_iter().rev() {
            if candidate(group.start..end) {
                floor = end;
                break;
            }
        }
    }
}

fn groups(bytes: &[u8], run: DigitRun) -> SmallVec<[Range<usize>; 8]> {
    let mut groups: SmallVec<[Range<usize>; 8]> = SmallVec::new();
    let mut at = run.start;
    let rest = |at: usize| bytes.get(at..run.end).unwrap_or_default();
    while let Some(signs) = rest(at).iter().position(|byte| is_digit(*byte)) {
        let start = at + signs;
        at = start + rest(start).iter().take_while(|byte| is_digit(**byte)).count();
        groups.push(start..at);
    }
    groups
}

/// `0.4111111111111111`: what follows the point of a number is no number of its own.
fn is_fraction(bytes: &[u8], groups: &[Range<usize>], group: usize) -> bool {
    let (Some(this), Some(before)) = (groups.get(group), group.checked_sub(1).and_then(|before| groups.get(before)))
    else {
        return false;
    };
    before.len() <= 6
        && this.len() >= 7
        && before.end + 1 == this.start
        && bytes.get(before.end) == Some(&b'.')
        && before.start.checked_sub(1).and_then(|at| bytes.get(at)) != Some(&b'.')
}

/// `550e8400-e29b-41d4-a716-446655440000` around the run: nothing in it is a number.
pub(super) fn in_uuid(bytes: &[u8], run: DigitRun) -> bool {
    let part = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
    let before = bytes.get(run.start.saturating_sub(UUID)..run.start).unwrap_or_default();
    let start = run.start - before.iter().rev().take_while(|byte| part(byte)).count();
    bytes.get(start..start + UUID).is_some_and(is_uuid)
}

/// One, and nothing else.
pub(super) fn is_uuid(token: &[u8]) -> bool {
    token.len() == UUID
        && token.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

impl Detectors {
    pub(super) fn windowed(&self) -> impl Iterator<Item = (u16, &Compiled, (u32, u32))> {
        self.windows.iter().filter_map(|index| {
            let detector = self.compiled.get(usize::from(*index))?;
            Some((*index, detector, detector.window?))
        })
    }
}
