//! Tags and comments in the middle of a value: a reader of the page does not see them.

use smallvec::SmallVec;

/// Tags in a row between two letters of a value, and bytes of one.
const MOST_TAGS: usize = 8;
const LONGEST_TAG: usize = 96;
const MOST_BLANKS: usize = 3;

/// Tags that leave a line as it is.
const INLINE: [&[u8]; 28] = [
    b"a", b"abbr", b"b", b"bdi", b"bdo", b"big", b"code", b"del", b"em", b"font", b"i", b"ins", b"kbd", b"label",
    b"mark", b"nobr", b"q", b"s", b"samp", b"small", b"span", b"strong", b"sub", b"sup", b"tt", b"u", b"var", b"wbr",
];
/// Tags that begin another line or cell.
const BLOCK: [&[u8]; 10] = [b"br", b"dd", b"div", b"dt", b"li", b"p", b"td", b"th", b"tr", b"tbody"];

/// What is seen of the tags that begin at `at`, and how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Between {
    pub seen: Option<u8>,
    pub length: usize,
}

enum Part {
    Inline,
    Block,
}

/// Tags inside a value; `None` where a value does not go on behind them, as is usual.
pub(crate) fn between(text: &[u8], at: usize) -> Option<Between> {
    let before = at.checked_sub(1).and_then(|at| text.get(at)).copied().filter(|byte| is_part(*byte))?;
    let mut end = at;
    let mut blanks = 0;
    let mut block = false;
    let mut tags = 0;
    let behind = loop {
        match text.get(end).copied()? {
            b'<' if tags < MOST_TAGS => {
                let (length, part) = tag(text.get(end..)?)?;
                block |= matches!(part, Part::Block);
                end += length;
                tags += 1;
            }
            b' ' if blanks < MOST_BLANKS => {
                blanks += 1;
                end += 1;
            }
            byte => break Some(byte).filter(|byte| is_part(*byte))?,
        }
    };
    let length = end - at;
    if !block && blanks == 0 {
        // Groups of a number touch where a reader of the page sees them apart, by colour or by weight.
        let apart = is_group(text.get(..at)?.iter().rev()) && is_group(text.get(end..)?.iter());
        return Some(Between { seen: apart.then_some(b' '), length });
    }
    // Words stand beside each other in every line; groups of numbers do not.
    let numbers = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    let seen = Some(if block { b'\n' } else { b' ' });
    (numbers(before) && numbers(behind)).then_some(Between { seen, length })
}

/// Two to four digits and no more.
fn is_group<'b>(bytes: impl Iterator<Item = &'b u8>) -> bool {
    let digits = bytes.take(5).take_while(|byte| byte.is_ascii_digit()).count();
    (2..=4).contains(&digits)
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'.' | b'_' | b'-' | b'+')
}

/// How long the tag or the comment is that a text begins with.
fn tag(text: &[u8]) -> Option<(usize, Part)> {
    let near = text.get(..text.len().min(LONGEST_TAG)).unwrap_or_default();
    if near.starts_with(b"<!--") {
        let end = memchr::memmem::find(near, b"-->")?;
        return Some((end + 3, Part::Inline));
    }
    let close = memchr::memchr(b'>', near)?;
    let inner = near.get(1..close)?;
    // A slash may be escaped where the page stands in a string.
    let inner = inner.strip_prefix(b"\\").unwrap_or(inner);
    let inner = inner.strip_prefix(b"/").unwrap_or(inner);
    let name: SmallVec<[u8; 8]> =
        inner.iter().take(8).take_while(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect();
    // `a<b && c>d` compares; behind the name of a tag stand names.
    let named = match inner.get(name.len()..).unwrap_or_default() {
        [] | [b'/' | b'\\', ..] => true,
        [b' ', next, ..] => next.is_ascii_alphabetic() || matches!(next, b'/' | b'\\'),
        _ => false,
    };
    if !named || memchr::memchr(b'<', inner).is_some() {
        return None;
    }
    let part = if INLINE.contains(&name.as_slice()) {
        Part::Inline
    } else if BLOCK.contains(&name.as_slice()) {
        Part::Block
    } else {
        return None;
    };
    Some((close + 1, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_inside_a_value_are_not_seen_and_others_are_left_alone() {
        for (text, expected) in [
            ("4111</b><b>1111", Some((Some(b' '), 7))),
            ("4111</b><b>111111111111", Some((None, 7))),
            ("4111</b> <b>1111", Some((Some(b' '), 8))),
            ("4111</span> <span class=\"d\">1111", Some((Some(b' '), 24))),
            ("4111<\\/b><b>1111", Some((Some(b' '), 8))),
            ("4111</td><td>1111", Some((Some(b'\n'), 9))),
            ("4111<!-- x -->1111", Some((Some(b' '), 10))),
            ("jane<wbr>@example.org", Some((None, 5))),
            ("bold</b> words", None),
            ("GB82</td><td>WEST", Some((Some(b'\n'), 9))),
            ("Jane</td><td>Doe", None),
            ("if a<b && c>d", None),
            ("Vec<u8>", None),
            ("x<T>y", None),
        ] {
            let at = text.find('<').unwrap_or_default();
            let found = between(text.as_bytes(), at).map(|found| (found.seen, found.length));
            assert_eq!(found, expected, "{text}");
        }
    }
}
