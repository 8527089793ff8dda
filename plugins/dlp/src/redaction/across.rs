//! Whether a value may go on from one block of a text to the next.
//!
//! Blocks are one text whatever stands between them in the document, so a value may lie in many of them with only a few letters
//! in each. That is asked of the raw bytes, too: by itself no such block deserves a look, and a document in which nothing does is
//! not walked.

use std::ops::Range;

use memchr::memmem;
use smallvec::SmallVec;

use super::pieces::cuts;
use super::step::Look;
use crate::spots::is_digit;

/// So much on either side of a cut says whether anything goes on there.
const NEAR: usize = 64;
/// Letters and digits of one group of a number: `WEST`, `1234`.
const WIDEST_GROUP: usize = 8;

type Edge = SmallVec<[u8; NEAR]>;

/// Whether a value may lie over the cut before the piece at `cut`. None of them is empty.
pub(super) fn goes_on(text: &[u8], pieces: &[(usize, usize)], cut: usize) -> bool {
    let (before, after) = pieces.split_at_checked(cut).unwrap_or((pieces, &[]));
    let piece = |(start, end): &(usize, usize)| text.get(*start..*end).unwrap_or_default();
    let (mut ahead, mut behind) = (Edge::new(), Edge::new());
    for bytes in before.iter().rev().map(piece) {
        let near = bytes.iter().rev().take(NEAR - ahead.len());
        ahead.extend(near.copied());
        if ahead.len() == NEAR {
            break;
        }
    }
    ahead.reverse();
    for bytes in after.iter().map(piece) {
        let near = bytes.iter().take(NEAR - behind.len());
        behind.extend(near.copied());
        if behind.len() == NEAR {
            break;
        }
    }
    cuts(&ahead, &behind) || is_grouped(&ahead, &behind)
}

/// Groups of digits and capital letters on both sides, with nothing but blanks between: `GB82 ` and `WEST`.
fn is_grouped(before: &[u8], after: &[u8]) -> bool {
    let (before, after) = (without_blanks_behind(before), without_blanks_before(after));
    let mut last = before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    // The letter of a line break that ended the piece before is none of the group's.
    if before.len().checked_sub(last + 1).and_then(|at| before.get(at)) == Some(&b'\\') {
        last = last.saturating_sub(1);
    }
    let first = after.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let (last, first) = (before.get(before.len() - last..).unwrap_or_default(), after.get(..first).unwrap_or_default());
    let is_group = |group: &[u8]| {
        let plain = |byte: &u8| is_digit(*byte) || byte.is_ascii_uppercase();
        let short = (1..=WIDEST_GROUP).contains(&group.len()) && group.iter().all(plain);
        short || (!group.is_empty() && group.iter().all(|byte| is_digit(*byte)))
    };
    is_group(last) && is_group(first) && last.iter().chain(first).any(|byte| is_digit(*byte))
}

/// What stands between groups, as it is written between quotes.
const BLANKS: [&[u8]; 5] = [b" ", b"\\n", b"\\r", b"\\t", b"-"];

fn without_blanks_behind(mut edge: &[u8]) -> &[u8] {
    while let Some(shorter) = BLANKS.iter().find_map(|blank| edge.strip_suffix(*blank)) {
        edge = shorter;
    }
    edge
}

fn without_blanks_before(mut edge: &[u8]) -> &[u8] {
    while let Some(shorter) = BLANKS.iter().find_map(|blank| edge.strip_prefix(*blank)) {
        edge = shorter;
    }
    edge
}

/// The same of a raw document that has lists of this name (in its quotes), of objects whose `member` is a piece. Only these are
/// read, with the speed of a search.
pub(crate) fn cut_between_blocks(raw: &[u8], list: &[u8], member: &[u8]) -> bool {
    let mut from = 0;
    while let Some(found) = raw.get(from..).and_then(|rest| memmem::find(rest, list)) {
        from += found + list.len();
        let mut look = Look { text: raw, at: from };
        let Some(pieces) = pieces(&mut look, member) else { continue };
        if (1..pieces.len()).any(|cut| goes_on(raw, &pieces, cut)) {
            return true;
        }
        from = look.at;
    }
    false
}

/// Where the pieces lie between their quotes, if a list of blocks stands behind the name.
fn pieces(look: &mut Look<'_>, member: &[u8]) -> Option<SmallVec<[(usize, usize); 8]>> {
    let mut pieces = SmallVec::new();
    opens(look, b':')?;
    opens(look, b'[')?;
    loop {
        look.blank();
        match look.text.get(look.at)? {
            b'{' => {
                let mut block = Look { text: look.text, at: look.at };
                pieces.extend(block.member(|name, value| piece(look.text, member, name, value)));
                look.value()?;
            }
            b']' => return Some(pieces),
            _ => look.value()?,
        }
        look.blank();
        if look.text.get(look.at) == Some(&b',') {
            look.at += 1;
        }
    }
}

fn piece(text: &[u8], member: &[u8], name: Range<usize>, value: Range<usize>) -> Option<(usize, usize)> {
    let is_text = text.get(name) == Some(member) && text.get(value.start) == Some(&b'"');
    // An empty one would be looked beyond again and again.
    is_text.then(|| (value.start + 1, value.end - 1)).filter(|(start, end)| start < end)
}

fn opens(look: &mut Look<'_>, sign: u8) -> Option<()> {
    look.blank();
    (look.text.get(look.at) == Some(&sign)).then(|| look.at += 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_go_on_from_block_to_block() {
        let blocks = |texts: &[&str]| {
            let block = |text: &&str| format!(r#"{{ "annotations":{{"a":[1]}},"type":"text", "text" : "{text}"}}"#);
            let all: Vec<String> = texts.iter().map(block).collect();
            format!(r#"{{"a":"content","result":{{"content" : [{}],"isError":false}}}}"#, all.join(", "))
        };
        for (texts, expected) in [
            (&["4111 ", "1111 ", "1111 ", "1111"][..], true),
            (&["536", "-90-", "4399"], true),
            (&["SIN 130", "692", "544"], true),
            (&["GB82", "WEST", "1234", "5698", "7654", "32"], true),
            (&["GB82 ", "WEST ", "1234 5698 7654 32"], true),
            (&["4111\\n", "1111\\n", "1111\\n", "1111"], true),
            (&["4111", "", "1111", "", "1111 1111"], true),
            (&["jo@exam", "ple.org"], true),
            (&["There were 12 of them.", "Nobody came."], false),
            (&["one", "two", "three"], false),
            (&["4111 1111"], false),
            (&[], false),
        ] {
            let raw = blocks(texts);
            assert_eq!(cut_between_blocks(raw.as_bytes(), b"\"content\"", b"text"), expected, "{raw}");
        }
        for raw in [
            r#"{"content":"4111","text":"1111"}"#,
            r#"{"content":[{"text":"4111""#,
            r#"["content"]"#,
            r#"{"content":["#,
        ] {
            assert!(!cut_between_blocks(raw.as_bytes(), b"\"content\"", b"text"), "{raw}");
        }
    }
}
