//! Tags and comments in the middle of a value: a reader of the page does not see them.

/// Tags in a row between two letters of a value, and bytes of one.
const MOST_TAGS: usize = 8;
const LONGEST_TAG: usize = 96;
const MOST_BLANKS: usize = 3;
const LONGEST_NAME: usize = 8;

/// What is seen of the tags that begin at `at`, and how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Between {
    pub seen: Option<u8>,
    pub length: usize,
}

pub(crate) enum Part {
    Inline,
    Block,
}

/// Whether a value goes on behind tags as nothing else does: letters touch, or the groups of an account follow its first one. Groups of
/// digits alone are read by `apart`, which knows how many there must be. Asked at every tag, and nearly all begin a line or a cell.
pub(crate) fn is_cut(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(5)..at).unwrap_or_default();
    if !before.last().is_some_and(|byte| is_part(*byte)) {
        return false;
    }
    let begins_account = matches!(before, [rest @ .., one, two, three, four]
        if one.is_ascii_uppercase() && two.is_ascii_uppercase() && three.is_ascii_digit() && four.is_ascii_digit()
            && !rest.last().is_some_and(u8::is_ascii_alphanumeric));
    if begins_account {
        return between(text, at).is_some();
    }
    let inline = text.get(at..).and_then(tag).is_some_and(|(_, part)| matches!(part, Part::Inline));
    inline && between(text, at).is_some_and(|tags| tags.seen.is_none())
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
pub(crate) fn tag(text: &[u8]) -> Option<(usize, Part)> {
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
    let length = inner.iter().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphabetic()).count();
    // `a<b && c>d` compares; behind the name of a tag stand names.
    let named = match inner.get(length..).unwrap_or_default() {
        [] | [b'/' | b'\\', ..] => true,
        [b' ', next, ..] => next.is_ascii_alphabetic() || matches!(next, b'/' | b'\\'),
        _ => false,
    };
    if !named || memchr::memchr(b'<', inner).is_some() {
        return None;
    }
    let part = part(inner.get(..length).unwrap_or_default())?;
    Some((close + 1, part))
}

/// Tags that leave a line as it is, and those that begin another line or cell.
fn part(name: &[u8]) -> Option<Part> {
    let mut letters = [0; LONGEST_NAME];
    for (small, letter) in letters.iter_mut().zip(name) {
        *small = letter.to_ascii_lowercase();
    }
    match letters.get(..name.len()).unwrap_or_default() {
        b"a" | b"b" | b"i" | b"q" | b"s" | b"u" | b"em" | b"tt" | b"bdi" | b"bdo" | b"big" | b"del" | b"ins"
        | b"kbd" | b"sub" | b"sup" | b"var" | b"wbr" | b"abbr" | b"code" | b"font" | b"mark" | b"nobr" | b"samp"
        | b"span" | b"label" | b"small" | b"strong" => Some(Part::Inline),
        b"p" | b"br" | b"dd" | b"dt" | b"li" | b"td" | b"th" | b"tr" | b"div" | b"tbody" => Some(Part::Block),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_again_only_where_a_value_is_cut() {
        for (text, expected) in [
            ("jane<b>@</b>example.org", true),
            ("GB82</td><td>WEST", true),
            ("37</td><td>41", false),
            ("4111</b><b>1111", false),
            ("AB12 ROW</td><td>OPEN", false),
        ] {
            assert_eq!(is_cut(text.as_bytes(), text.find('<').unwrap_or_default()), expected, "{text}");
        }
    }

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
