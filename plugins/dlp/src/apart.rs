//! Numbers whose groups stand apart with signs that no number has: `4111|1111|1111|1111`, `536, 22, 8719`, a group a line.
//!
//! A comma or a line break between digits is a list nearly always, so these are no separators of `spots`. Only what has the groups of
//! a card, of a social security number or of a dialled number, and is no part of a longer row, is written anew with the usual sign and
//! read once more.

use std::ops::Range;

use smallvec::SmallVec;

use crate::mapped::Mapped;
use crate::markup;
use crate::spots::{DigitRun, is_digit, is_separator};

/// Bytes between two groups: five signs, of which two may be quotes of a string in a string.
const WIDEST: usize = 24;
/// The same where tags are among them.
const WIDEST_TAGS: usize = 96;
const MOST_SIGNS: usize = 5;
const MOST_GROUPS: usize = 6;
/// What is read with it: the words before it say what it is.
const BEFORE: usize = 64;
const BEHIND: usize = 24;

/// How cards are embossed, and how they are read out: the last three are believed beside a word for one only.
const CARDS: [&[usize]; 8] = [
    &[4, 4, 4, 4],
    &[4, 6, 5],
    &[4, 6, 4],
    &[4, 4, 4, 4, 3],
    &[4, 4, 5],
    &[3, 3, 3, 3, 2],
    &[3, 3, 3, 3, 3],
    &[3, 3, 3, 3, 3, 1],
];
const SOCIAL_SECURITY: [usize; 3] = [3, 2, 4];

struct Groups {
    widths: SmallVec<[usize; MOST_GROUPS]>,
    gaps: SmallVec<[Range<usize>; MOST_GROUPS]>,
    end: usize,
}

/// The number that begins with a run of digits, if what ended the run is a sign between two of its groups: `next` is where the
/// next digit stands. Asked at the end of every number, so it says no early.
#[cold]
pub(crate) fn number(text: &[u8], run: DigitRun, next: usize) -> Option<Range<usize>> {
    let tagged = text.get(run.end) == Some(&b'<');
    if next - run.end > if tagged { WIDEST_TAGS } else { WIDEST } {
        return None;
    }
    let dialled = run.count <= 3 && run.start.checked_sub(1).and_then(|at| text.get(at)) == Some(&b'+');
    if dialled || matches!(run.count, 3 | 4 | 8 | 10 | 12) { read(text, run, next, dialled) } else { None }
}

fn read(text: &[u8], run: DigitRun, next: usize, dialled: bool) -> Option<Range<usize>> {
    let first = gap(text, run.end).filter(|gap| gap.end == next)?;
    // Most lists end here: the second group is as wide as no number's.
    let width = width(text, next);
    let fits = match run.count {
        _ if dialled => width <= 5,
        3 => matches!(width, 2 | 3),
        4 => matches!(width, 4 | 6),
        _ => matches!(width, 4 | 5 | 8),
    };
    if !fits {
        return None;
    }
    if in_row(text, run.start, first) {
        return None;
    }
    let groups = groups(text, run.start, dialled)?;
    let alike = alike(text, &groups);
    let fits = if dialled {
        let count: usize = groups.widths.iter().sum();
        alike && (8..=15).contains(&count) && groups.widths.len() > 2
    } else if groups.widths.as_slice() == SOCIAL_SECURITY {
        alike && !in_list(text, run.start, &groups)
    } else {
        CARDS.contains(&groups.widths.as_slice()) && (alike || blank(text, &groups))
    };
    fits.then(|| run.start - usize::from(dialled)..groups.end)
}

fn width(text: &[u8], start: usize) -> usize {
    const WIDEST: usize = 9;
    let near = text.get(start..text.len().min(start + WIDEST)).unwrap_or_default();
    near.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(near.len())
}

/// The number as it is usually written, with what stands around it.
pub(crate) fn written(text: &str, range: &Range<usize>) -> Mapped {
    let mut from = range.start.saturating_sub(BEFORE);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let mut out = Mapped::default();
    let mut grouped = false;
    // From here and not from the beginning: a page of numbers would be walked once for each.
    let around = text.get(from..).unwrap_or_default().char_indices().map(|(at, c)| (from + at, c));
    for (at, c) in around.take_while(|(at, _)| *at < range.end + BEHIND) {
        let within = at > range.start && at < range.end;
        if within && !c.is_ascii_digit() {
            if !grouped {
                out.push('-', at);
            }
            grouped = true;
            continue;
        }
        grouped = false;
        out.push(c, at);
    }
    out.end((range.end + BEHIND).min(text.len()));
    out
}

fn is_beginning(widths: &[usize]) -> bool {
    CARDS.iter().any(|card| card.starts_with(widths)) || SOCIAL_SECURITY.starts_with(widths)
}

fn groups(text: &[u8], start: usize, dialled: bool) -> Option<Groups> {
    let mut found = Groups { widths: SmallVec::new(), gaps: SmallVec::new(), end: start };
    loop {
        let width = width(text, found.end);
        if found.widths.len() == MOST_GROUPS {
            return None;
        }
        found.widths.push(width);
        found.end += width;
        if !dialled && !is_beginning(&found.widths) {
            return None;
        }
        match gap(text, found.end) {
            Some(gap) => {
                found.end = gap.end;
                found.gaps.push(gap);
            }
            None => return Some(found),
        }
    }
}

/// Signs and tags with a digit behind them.
fn gap(text: &[u8], start: usize) -> Option<Range<usize>> {
    let mut at = start;
    for _ in 0..MOST_SIGNS {
        match text.get(at)? {
            b'\\' => {
                let slashes = text.get(at..)?.iter().take(WIDEST).take_while(|byte| **byte == b'\\').count();
                at += slashes;
                at += usize::from(matches!(text.get(at), Some(b'n' | b't' | b'r' | b'"' | b'\'' | b'/')));
            }
            b'<' => at += markup::tag(text.get(at..)?).map_or(1, |(length, _)| length),
            byte if byte.is_ascii_alphanumeric() => return None,
            _ => at += 1,
        }
        if at - start > WIDEST_TAGS {
            return None;
        }
        if text.get(at).is_some_and(|byte| is_digit(*byte)) {
            return Some(start..at);
        }
    }
    None
}

/// The same signs in each gap; tags open and close, and are not compared.
fn alike(text: &[u8], groups: &Groups) -> bool {
    let signs = |gap: &Range<usize>| {
        let signs = text.get(gap.clone()).unwrap_or_default();
        let start = memchr::memchr(b'<', signs).map_or(signs, |tag| signs.get(..tag).unwrap_or_default());
        let end = memchr::memrchr(b'>', signs).map_or(signs, |tag| signs.get(tag + 1..).unwrap_or_default());
        let tagged = start.len() < signs.len() && end.len() < signs.len();
        if tagged { (true, start, end) } else { (false, signs, signs) }
    };
    groups.gaps.windows(2).all(|pair| pair.first().map(signs) == pair.last().map(signs))
}

/// Nothing but blanks, line breaks and the signs that numbers have: a number that a line broke.
fn blank(text: &[u8], groups: &Groups) -> bool {
    groups.gaps.iter().all(|gap| {
        let signs = text.get(gap.clone()).unwrap_or_default();
        let escape = |byte: &u8| matches!(byte, b'\\' | b'n' | b't' | b'r');
        signs.iter().all(|byte| byte.is_ascii_whitespace() || is_separator(*byte) || escape(byte))
    })
}

/// One more group before it with the same sign; behind it there is none, or it would be read as well.
fn in_row(text: &[u8], start: usize, gap: Range<usize>) -> bool {
    let signs = text.get(gap).unwrap_or_default();
    let before = text.get(..start).unwrap_or_default().strip_suffix(signs);
    before.and_then(<[u8]>::last).is_some_and(u8::is_ascii_digit)
}

/// Values of a table or of a list, of which three may have any width: the same sign beside them, or brackets around them.
fn in_list(text: &[u8], start: usize, groups: &Groups) -> bool {
    let signs = groups.gaps.first().and_then(|gap| text.get(gap.clone())).unwrap_or_default();
    let before = text.get(..start).unwrap_or_default();
    let behind = text.get(groups.end..).unwrap_or_default();
    let table = signs.iter().any(|byte| matches!(byte, b',' | b';' | b'|' | b'\t' | b':'));
    // A sentence goes on behind a comma and a blank; a row goes on behind its sign.
    let goes_on = behind.strip_prefix(signs).and_then(<[u8]>::first).is_some_and(|byte| !byte.is_ascii_whitespace());
    let goes_on = goes_on && !signs.ends_with(b" ");
    let opened =
        matches!(before.last(), Some(b'[' | b'(' | b'{')) && matches!(behind.first(), Some(b']' | b')' | b'}'));
    opened || (table && (before.ends_with(signs) || goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&str> {
        let start = text.find(|c: char| c.is_ascii_digit())?;
        let bytes = text.as_bytes();
        let count = bytes.iter().skip(start).take_while(|byte| is_digit(**byte)).count();
        let run = DigitRun { start, end: start + count, count: u32::try_from(count).ok()?, dots: 0 };
        let next = (run.end..bytes.len()).find(|at| bytes.get(*at).is_some_and(|byte| is_digit(*byte)))?;
        number(bytes, run, next).and_then(|range| text.get(range))
    }

    #[test]
    fn groups_with_one_sign_between_them_are_a_number_and_lists_are_none() {
        for (text, expected) in [
            ("4111|1111|1111|1111", Some("4111|1111|1111|1111")),
            ("4111\n1111\n1111\n1111 x", Some("4111\n1111\n1111\n1111")),
            ("4111\\n1111\\n1111\\n1111", Some("4111\\n1111\\n1111\\n1111")),
            ("\"4111\" + \"1111\" + \"1111\" + \"1111\"", Some("4111\" + \"1111\" + \"1111\" + \"1111")),
            ("3782:822463:10005", Some("3782:822463:10005")),
            ("536, 22, 8719.", Some("536, 22, 8719")),
            ("call +33|6|1234|5678", Some("+33|6|1234|5678")),
            ("id: 536, 22, 8719, they said", Some("536, 22, 8719")),
            ("<b>4111</b> <b>1111</b> <b>1111</b> <b>1111</b>", Some("4111</b> <b>1111</b> <b>1111</b> <b>1111")),
            ("536<br>22<br>8719", Some("536<br>22<br>8719")),
            ("4111<wbr>1111<!-- x -->1111<i>1111</i>", Some("4111<wbr>1111<!-- x -->1111<i>1111")),
            ("<td>4111</td><td>1111</td><td>22</td>", None),
            ("[300, 22, 8719]", None),
            ("x,536,22,8719", None),
            ("4111,1111,1111,1111,1111", None),
            ("4111|1111;1111|1111", None),
            ("2026, 11, 16", None),
            ("411:111:111:111:111:1", Some("411:111:111:111:111:1")),
            ("411:111:111", None),
            ("4111 a 1111", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        assert_eq!(of("7|4111|1111|1111|1111"), None, "a row");
    }

    #[test]
    fn it_is_written_with_the_usual_sign_and_leads_back() {
        let text = "ssn é 536, 22, 8719 ok";
        let start = text.find("536").unwrap_or_default();
        let written = written(text, &(start..start + "536, 22, 8719".len()));
        assert_eq!(written.text(), "ssn é 536-22-8719 ok");
        let at = written.text().find("536").unwrap_or_default();
        assert_eq!(text.get(written.origin(at..at + 11)), Some("536, 22, 8719"));
    }
}
