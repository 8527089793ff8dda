//! Values that are cut in two: over neighbouring strings of an array, members of an object, or blocks of one text.

use std::ops::Range;

use smallvec::SmallVec;

use super::across;
use super::edits::escaped;
use super::place::Place;
use super::string::unescaped;
use super::walk::Walk;
use super::{Finding, Kind};
use crate::mapped::Mapped;
use crate::spots::{is_digit, is_separator, is_token};
use crate::{Blocked, Severity};

/// Longer lists of strings are lists, not pieces.
pub(super) const MOST_NEIGHBOURS: usize = 8;
/// Where strings lie between their quotes; one more than are joined, to tell a long list.
pub(super) type Neighbours = SmallVec<[(usize, usize); MOST_NEIGHBOURS + 1]>;
/// Of a long piece only so much is read with its neighbour.
const REACH: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Neighbourhood {
    /// Said to be one text.
    Pieces,
    Elements,
    /// The members of an object seldom are: only what can hardly be chance counts.
    Members,
}

/// One piece: where it lies in the joined text, and how to get back.
struct Part {
    joined: Range<usize>,
    /// Where the joined text's part begins, in the piece as it is read.
    skipped: usize,
    raw_start: usize,
    decoded: Option<Mapped>,
}

impl Part {
    fn raw(&self, joined: Range<usize>) -> Range<usize> {
        let inner = joined.start - self.joined.start + self.skipped..joined.end - self.joined.start + self.skipped;
        let inner = self.decoded.as_ref().map_or(inner.clone(), |map| map.origin(inner));
        self.raw_start + inner.start..self.raw_start + inner.end
    }
}

impl Walk<'_, '_> {
    pub(super) fn join(
        &mut self,
        list: &[(usize, usize)],
        of: Neighbourhood,
        place: &Place<'_>,
    ) -> Result<(), Blocked> {
        if list.len() < 2 || (of != Neighbourhood::Pieces && list.len() > MOST_NEIGHBOURS) {
            return Ok(());
        }
        let bytes = self.text.as_bytes();
        let piece = |(start, end): (usize, usize)| bytes.get(start..end).unwrap_or_default();
        let mut first = 0;
        let mut known = None;
        for cut in 1..=list.len() {
            let asked = known.take();
            let goes_on = match (list.get(cut - 1), list.get(cut)) {
                _ if of == Neighbourhood::Pieces => cut < list.len() && across::goes_on(bytes, list, cut),
                (Some(before), Some(after)) => {
                    let (before, after) = (piece(*before), piece(*after));
                    let mut whole = || asked.unwrap_or_else(|| is_whole(before)) || *known.insert(is_whole(after));
                    cuts(before, after) && (of != Neighbourhood::Members || !whole())
                }
                _ => false,
            };
            if !goes_on {
                let part = list.get(first..cut).unwrap_or_default();
                if cut - first > 1 && (of != Neighbourhood::Members || self.may_be_one(part)) {
                    self.read_joined(part, of, place)?;
                }
                first = cut;
            }
        }
        Ok(())
    }

    /// Whether a value of members may go from one to the next anywhere: not where either side was taken out already
    /// (`take_joined` leaves it at that).
    fn may_be_one(&self, list: &[(usize, usize)]) -> bool {
        reads_all()
            || list.windows(2).any(|pair| match pair {
                [(_, end), (start, _)] => {
                    !self.edits.touches(&(end.saturating_sub(1)..*end)) && !self.edits.touches(&(*start..start + 1))
                }
                _ => true,
            })
    }

    fn read_joined(&mut self, list: &[(usize, usize)], of: Neighbourhood, place: &Place<'_>) -> Result<(), Blocked> {
        let mut joined = String::new();
        let mut parts: Vec<Part> = Vec::new();
        for (index, (start, end)) in list.iter().enumerate() {
            let raw = self.text.get(*start..*end).unwrap_or_default();
            let decoded = unescaped(raw);
            let text = decoded.as_ref().map_or(raw, Mapped::text);
            let skipped = if index == 0 { floor(text, text.len().saturating_sub(REACH)) } else { 0 };
            let shown = text.get(skipped..).unwrap_or_default();
            let shown = if index + 1 == list.len() { shown.get(..floor(shown, REACH)).unwrap_or(shown) } else { shown };
            let begin = joined.len();
            joined.push_str(shown);
            parts.push(Part { joined: begin..joined.len(), skipped, raw_start: *start, decoded });
        }
        for one in self.redaction.findings(&joined, place.key(), false) {
            self.take_joined(&one, &parts, of, place)?;
        }
        Ok(())
    }

    fn take_joined(
        &mut self,
        one: &Finding,
        parts: &[Part],
        of: Neighbourhood,
        place: &Place<'_>,
    ) -> Result<(), Blocked> {
        let mut touched: SmallVec<[Range<usize>; 4]> = SmallVec::new();
        let mut whole_groups = true;
        for part in parts {
            let range = part.joined.start.max(one.start)..part.joined.end.min(one.end);
            if range.start < range.end {
                let digits = range.len() - range.clone().filter(|at| !self.is_digit_of(one, *at)).count();
                whole_groups &= digits % 4 == 0;
                touched.push(part.raw(range));
            }
        }
        if touched.len() < 2 {
            return Ok(());
        }
        let severity = self
            .redaction
            .sets
            .get(one.set)
            .and_then(|set| set.rule(one.rule))
            .map_or(Severity::High, |rule| rule.severity);
        let number = one.value.bytes().all(|byte| is_digit(byte) || is_separator(byte));
        if of == Neighbourhood::Members && (severity < Severity::High || (number && !whole_groups)) {
            return Ok(());
        }
        // An address that was found on one side is whole; what stands before or behind it is another word. Of members so is every
        // value: a token that may have any length would take the next member for more of itself.
        let known = touched.iter().filter(|range| self.edits.touches(range)).count();
        // Elements go on only as a whole.
        let ends = parts.iter().any(|part| part.joined.end == one.end);
        let whole = known > 0 && (of == Neighbourhood::Members || one.value.contains('@') || !ends);
        if known == touched.len() || whole {
            return Ok(());
        }
        let with = self.redaction.replacement(one, Kind::Text, self.found).map_err(|rule| self.blocked(rule, place))?;
        if let Some(with) = with.map(escaped) {
            for (index, range) in touched.into_iter().enumerate() {
                self.edits.add_wide(range, if index == 0 { with.clone() } else { String::new() }, one.which());
            }
        }
        Ok(())
    }

    /// Whether the finding's value has a digit there; only asked of values that are as long as their place.
    fn is_digit_of(&self, one: &Finding, at: usize) -> bool {
        at.checked_sub(one.start).and_then(|at| one.value.as_bytes().get(at)).is_some_and(|byte| is_digit(*byte))
    }
}

/// Whether a value may go on from one piece to the next.
pub(super) fn cuts(before: &[u8], after: &[u8]) -> bool {
    const NEAR: usize = 4;
    const FAR: usize = 64;
    let (Some(last), Some(next)) = (before.last(), after.first()) else {
        return false;
    };
    if is_number(before.iter().rev().take(NEAR)) && is_number(after.iter().take(NEAR)) {
        return true;
    }
    // What stands there is only known when it is read.
    if is_escaped(before.get(before.len().saturating_sub(FAR)..)) || is_escaped(after.get(..FAR.min(after.len()))) {
        return true;
    }
    if !is_part(*last) || !is_part(*next) {
        return false;
    }
    // Asked of every two strings that are neighbours, so it is written to cost little.
    let mut edge = Edge::default();
    for byte in before.iter().rev().take(FAR) {
        if !is_part(*byte) {
            break;
        }
        if edge.take(*byte) {
            return true;
        }
    }
    for byte in after.iter().take(FAR) {
        if !is_part(*byte) {
            break;
        }
        if edge.take(*byte) {
            return true;
        }
    }
    false
}

/// Whether a plain letter or sign is written in JSON's numbers, as in `\u0034111`.
fn is_escaped(edge: Option<&[u8]>) -> bool {
    let edge = edge.unwrap_or_default();
    memchr::memchr_iter(b'\\', edge).any(|at| matches!(edge.get(at + 1..at + 5), Some([b'u', b'0', b'0', b'2'..=b'7'])))
}

/// What the end of one piece and the beginning of the next are together.
#[derive(Default)]
struct Edge {
    length: usize,
    mixed: bool,
}

impl Edge {
    /// Whether that is enough to be a value; more of it changes nothing.
    fn take(&mut self, byte: u8) -> bool {
        self.length += 1;
        self.mixed |= is_digit(byte);
        byte == b'@' || (self.length >= 16 && self.mixed)
    }
}

/// Whether a digit stands first, or behind signs only.
fn is_number<'b>(mut bytes: impl Iterator<Item = &'b u8>) -> bool {
    bytes.find(|byte| !is_separator(**byte)).is_some_and(|byte| is_digit(*byte))
}

#[inline]
fn is_part(byte: u8) -> bool {
    is_token(byte) || matches!(byte, b'.' | b'@')
}

/// Identifiers, times, digests and addresses of pages fill half of all answers, and are nobody's half.
fn is_whole(piece: &[u8]) -> bool {
    let shaped = |shape: &[u8]| {
        piece.len() >= shape.len()
            && piece.iter().zip(shape).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit(),
                _ => byte == wanted,
            })
    };
    match piece.len() {
        36 if shaped(b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") => true,
        32 | 40 | 64 if piece.iter().all(u8::is_ascii_hexdigit) => true,
        _ => {
            shaped(b"0000-00-00T00:00")
                || shaped(b"0000-00-00 00:00")
                || piece.starts_with(b"https://")
                || piece.starts_with(b"http://")
        }
    }
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
thread_local! {
    static READS_ALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Tests compare what is found with what would be if nothing were left out.
#[cfg(test)]
fn reads_all() -> bool {
    READS_ALL.with(std::cell::Cell::get)
}

#[cfg(not(test))]
fn reads_all() -> bool {
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use bytes::Bytes;
    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::*;
    use crate::{Action, Actions, Check, Counts, Detectors, Paths, Redaction, WrittenDetector};

    #[test]
    fn members_that_are_not_read_as_one_hold_nothing_more() {
        let one = |id: &str, pattern: &str, anchor: &str| WrittenDetector {
            id: id.into(),
            severity: Severity::Critical,
            pattern: Some(pattern.into()),
            anchors: vec![anchor.into()],
            ..WrittenDetector::default()
        };
        let card = WrittenDetector {
            digits: Some((16, 16)),
            check: vec![Check::Luhn],
            anchors: Vec::new(),
            ..one("card", "[0-9]{4}(?: ?[0-9]{4}){3}", "")
        };
        let set = Detectors::compile(vec![
            one("email", "[a-z0-9.]+@[a-z]+[.][a-z]+", "@"),
            one("key", "sk_[0-9a-f]{16,24}", "sk_"),
            card,
        ])
        .unwrap();
        let actions = Actions::all(Action::Mask);
        let paths = Paths::none();
        let redaction = Redaction { sets: smallvec![&set], actions: &actions, key: &[0; 32], paths: &paths };
        let part = proptest::sample::select(vec![
            "jo@example.org",
            "jo@exa",
            "mple.org",
            "4111 1111",
            "1111 1111",
            "4111 1111 1111 1111",
            "41111111",
            "sk_01234567",
            "89abcdef",
            "sk_0123456789abcdef",
            "call 12",
            "x",
        ]);
        let config = ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(parts in proptest::collection::vec(part, 2..6))| {
            let members: Vec<String> =
                parts.iter().enumerate().map(|(at, part)| format!("\"m{at}\":\"{part}\"")).collect();
            let raw = Bytes::from(format!("{{{}}}", members.join(",")));
            let [short, long] = [false, true].map(|all| {
                READS_ALL.with(|reads| reads.set(all));
                let mut counts = Counts::default();
                let edited = redaction.json(&raw, &mut counts).ok().flatten();
                (edited, counts.iter().map(|one| (one.rule.to_string(), one.count)).collect::<Vec<_>>())
            });
            READS_ALL.with(|reads| reads.set(false));
            prop_assert_eq!(short, long, "{:?}", raw);
        });
    }
}
