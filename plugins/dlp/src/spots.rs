//! Where it is worth to look: one pass over the bytes, one table, no state but a few numbers.
//!
//! The same pass reads a raw message (may it hold anything?) and a decoded text (where is it?). It is sound for raw JSON because
//! what it looks for is ASCII, and JSON can break ASCII text only by escapes, which are spots themselves.

use std::ops::Range;

use crate::{apart, fold, markup};

/// Something that a detector may begin from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    At(usize),
    /// Digits with at most three separators between two of them.
    Digits(DigitRun),
    /// Letters of a token without a break.
    Run {
        start: usize,
        end: usize,
    },
    /// Hexadecimal digits and colons.
    Colons {
        start: usize,
        end: usize,
        count: u32,
    },
    /// Bytes in hexadecimal, one by one: `6a 61 6e`, `6a:61`, `0x6a, 0x61`.
    Pairs {
        start: usize,
        end: usize,
    },
    /// Groups of digits with signs between them that numbers do not have.
    Apart {
        start: usize,
        end: usize,
    },
    /// Something that has to be decoded before anybody can say.
    Encoded(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DigitRun {
    pub start: usize,
    pub end: usize,
    pub count: u32,
    pub dots: u32,
}

/// What is too little to be told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Least {
    pub digits: u32,
    pub dots: u32,
    pub run: usize,
    pub colons: u32,
    pub at: bool,
}

impl Least {
    /// Nothing but what is encoded.
    pub const NOTHING: Self =
        Self { digits: u32::MAX, dots: u32::MAX, run: SHORTEST_ENCODED, colons: u32::MAX, at: false };
}

/// Shorter runs are not looked at as base64: eight bytes.
pub(crate) const SHORTEST_ENCODED: usize = 12;
/// Fewer bytes one by one are no text: a time, a colour, a hardware address.
const FEWEST_PAIRS: u32 = 8;
/// Separators between two digits of one number.
const WIDEST_GAP: usize = 3;

const DIGIT: u8 = 1;
const HEX: u8 = 2;
const TOKEN: u8 = 4;
const SEPARATOR: u8 = 8;
const SIGN: u8 = 16;

static CLASSES: [u8; 256] = classes();

#[expect(clippy::indexing_slicing, reason = "computed when compiled; the table has a place for every byte")]
const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        let mut class = 0;
        if byte.is_ascii_digit() {
            class |= DIGIT;
        }
        if byte.is_ascii_hexdigit() {
            class |= HEX;
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'=') {
            class |= TOKEN;
        }
        if matches!(byte, b' ' | b'.' | b'-' | b'/' | b'(' | b')' | b'_' | b'+') {
            class |= SEPARATOR;
        }
        if matches!(byte, b'@' | b'%' | b'\\' | b'&' | b':' | b'<') || byte >= 0x80 || is_unseen(byte) {
            class |= SIGN;
        }
        table[at] = class;
        at += 1;
    }
    table
}

/// Bytes that no text needs and no reader shows.
const fn is_unseen(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0e..=0x1f | 0x7f)
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "the table has a place for every byte")]
fn class(byte: u8) -> u8 {
    CLASSES[byte as usize]
}

#[inline]
pub(crate) fn is_digit(byte: u8) -> bool {
    class(byte) & DIGIT != 0
}

#[inline]
pub(crate) fn is_token(byte: u8) -> bool {
    class(byte) & TOKEN != 0
}

fn is_hex(byte: u8) -> bool {
    class(byte) & HEX != 0
}

#[inline]
pub(crate) fn is_separator(byte: u8) -> bool {
    class(byte) & SEPARATOR != 0
}

/// Hands every spot to `found`, in the order of their ends, until it says that it has heard enough.
pub(crate) fn spots(text: &[u8], least: &Least, mut found: impl FnMut(Spot) -> bool) {
    let mut at = 0;
    let mut number: Option<DigitRun> = None;
    let mut colons_until = 0;
    let mut pairs = Pairs::default();
    while let Some(&byte) = text.get(at) {
        let kind = class(byte);
        if kind & (TOKEN | SIGN) == 0 {
            at += 1;
            continue;
        }
        if kind & TOKEN != 0 {
            let start = at;
            let mut kind = kind;
            while kind & TOKEN != 0 {
                if kind & DIGIT != 0 {
                    let end = end_of_digits(text, at + 1);
                    if !digits(text, at..end, &mut number, least, &mut found) {
                        return;
                    }
                    at = end;
                } else {
                    at = end_of_letters(text, at + 1);
                }
                kind = text.get(at).map_or(0, |next| class(*next));
            }
            if at - start >= least.run && !found(Spot::Run { start, end: at }) {
                return;
            }
            if is_pair(text, start, at) {
                if !pairs.take(start, at, &mut found) {
                    return;
                }
            } else if pairs.count > 0 && !pairs.end(&mut found) {
                return;
            }
            continue;
        }
        let goes_on = match byte {
            b'@' => !least.at || found(Spot::At(at)),
            // Between a name and its value stands one alone.
            b':' if least.colons > 1 && !text.get(at + 1).is_some_and(|next| is_hex(*next) || *next == b':') => true,
            b':' if at >= colons_until => {
                let spot = colons(text, at, colons_until);
                colons_until = spot.1;
                spot.2 < least.colons || found(Spot::Colons { start: spot.0, end: spot.1, count: spot.2 })
            }
            b'%' | b'\\' | b'&' => !escapes(text, at) || found(Spot::Encoded(at)),
            b'<' => !markup::is_cut(text, at) || found(Spot::Encoded(at)),
            0x80.. | 0..=8 | 0x0e..=0x1f | 0x7f => {
                let (length, folds) = fold::at(text, at);
                let goes_on = !folds || found(Spot::Encoded(at));
                at += length.saturating_sub(1);
                goes_on
            }
            _ => true,
        };
        if !goes_on {
            return;
        }
        at += 1;
    }
    if !pairs.end(&mut found) {
        return;
    }
    if let Some(run) = number {
        tell(run, least, &mut found);
    }
}

/// Pairs in a row.
#[derive(Default)]
struct Pairs {
    start: usize,
    end: usize,
    count: u32,
}

impl Pairs {
    /// One more, or the first of another row.
    fn take(&mut self, start: usize, end: usize, found: &mut impl FnMut(Spot) -> bool) -> bool {
        const WIDEST: usize = 2;
        if self.count > 0 && start - self.end <= WIDEST {
            self.end = end;
            self.count += 1;
            return true;
        }
        let goes_on = self.end(found);
        *self = Self { start, end, count: 1 };
        goes_on
    }

    fn end(&mut self, found: &mut impl FnMut(Spot) -> bool) -> bool {
        let ended = std::mem::take(self);
        ended.count < FEWEST_PAIRS || found(Spot::Pairs { start: ended.start, end: ended.end })
    }
}

/// `6a` or `0x6a`.
fn is_pair(text: &[u8], start: usize, end: usize) -> bool {
    let digits = match end - start {
        2 => text.get(start..end),
        4 => text.get(start..end).and_then(|token| token.strip_prefix(b"0x")),
        _ => None,
    };
    digits.is_some_and(|digits| digits.iter().all(|byte| class(*byte) & HEX != 0))
}

fn tell(run: DigitRun, least: &Least, found: &mut impl FnMut(Spot) -> bool) -> bool {
    (run.count < least.digits && run.dots < least.dots) || found(Spot::Digits(run))
}

#[inline]
fn end_of_digits(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Of what stands in tokens beside digits.
#[inline]
fn end_of_letters(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let end = rest.iter().position(|byte| class(*byte) & (TOKEN | DIGIT) != TOKEN);
    end.map_or(text.len(), |letters| from + letters)
}

/// Takes digits in a row into the run that is open, or begins another.
#[inline]
fn digits(
    text: &[u8],
    row: Range<usize>,
    open: &mut Option<DigitRun>,
    least: &Least,
    found: &mut impl FnMut(Spot) -> bool,
) -> bool {
    let at = row.start;
    let count = u32::try_from(row.len()).unwrap_or(u32::MAX);
    if let Some(run) = open {
        let gap = text.get(run.end..at).unwrap_or_default();
        if gap.len() <= WIDEST_GAP && gap.iter().all(|byte| is_separator(*byte)) {
            run.dots += u32::from(gap == b".");
            run.end = row.end;
            run.count = run.count.saturating_add(count);
            return true;
        }
        // A letter ends a number for good; that is most of them, in digests and times.
        if gap.first().is_some_and(|sign| !sign.is_ascii_alphanumeric())
            && let Some(apart) = apart::number(text, *run, at)
            && !found(Spot::Apart { start: apart.start, end: apart.end })
        {
            return false;
        }
        if !tell(*run, least, found) {
            return false;
        }
    }
    *open = Some(DigitRun { start: at, end: row.end, count, dots: 0 });
    true
}

/// Start, end and number of colons of what stands around the one at `at`.
fn colons(text: &[u8], at: usize, floor: usize) -> (usize, usize, u32) {
    let before = text.get(floor..at).unwrap_or_default();
    let start = at - before.iter().rev().take_while(|byte| class(**byte) & HEX != 0).count();
    let after = text.get(at..).unwrap_or_default();
    let length = after.iter().take_while(|byte| class(**byte) & HEX != 0 || **byte == b':').count();
    let count = after.iter().take(length).filter(|byte| **byte == b':').count();
    (start, at + length.max(1), u32::try_from(count).unwrap_or(u32::MAX))
}

/// `amp;`, but not the `limit=5` of an address: a name of letters has its end.
fn is_named(rest: &[u8]) -> bool {
    const LONGEST: usize = 18;
    let letters = rest.iter().take(LONGEST).take_while(|byte| byte.is_ascii_alphabetic()).count();
    letters > 0 && rest.get(letters) == Some(&b';')
}

/// Whether an escape may begin here. May be wrong in saying yes, not in saying no.
fn escapes(text: &[u8], at: usize) -> bool {
    let next = |ahead: usize| text.get(at + ahead).copied().unwrap_or_default();
    match text.get(at) {
        Some(b'%') => next(1).is_ascii_hexdigit() && next(2).is_ascii_hexdigit(),
        Some(b'\\') => matches!(next(1), b'u' | b'x' | b'U' | b'X' | b'/' | b'_' | b'0'..=b'3'),
        Some(b'&') => next(1) == b'#' || is_named(text.get(at + 1..).unwrap_or_default()),
        _ => false,
    }
}
