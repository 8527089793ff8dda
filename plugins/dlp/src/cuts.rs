//! Values that something cuts which is none of them: the end of a line with what quotes or indents the next one, the signs that join
//! strings in source, emphasis.
//!
//! Nearly every line ends behind a word and begins with another, so this is asked only where a value visibly begins: behind a
//! literal that a detector waits for. What goes on behind the end of a line must look as drawn as what stands before it. What is
//! made of the pieces is read once more, and only what lies over the cuts counts.

use std::ops::Range;

use smallvec::SmallVec;

use crate::mapped::Mapped;
use crate::markup;

/// Pieces of one value, and letters of one piece.
const MOST_PIECES: usize = 64;
const LONGEST_PIECE: usize = 512;
/// Words between the one that says what a value is and the value.
const MOST_HOPS: usize = 3;
/// The groups of an account.
const MOST_GROUPS: usize = 10;
const WIDEST_HOP: usize = 8;
/// Blanks that indent a line, and signs that quote it.
const WIDEST_INDENT: usize = 24;
/// What is read with a value: the words before it say what it is.
const BEFORE: usize = 96;
const BEHIND: usize = 64;

/// A value in pieces. The first begins with what announces the value.
pub(crate) struct Pieces {
    parts: SmallVec<[Range<usize>; 4]>,
    /// The last piece may as well be a word of the next line.
    doubtful: bool,
    /// Nothing stands between two strings: arguments do so too.
    pub beside: bool,
    /// Signs between strings or around letters stand at every cut: nothing but source and emphasis has them.
    meant: bool,
}

/// What stands between two pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Line,
    Strings,
    /// Strings with nothing between them.
    Beside,
    /// Strings of a list: others stand beside each other, unless something joins them.
    List,
    Emphasis,
}

/// The pieces of the value that a literal begins or announces; `None` where nothing cuts it, as is usual.
pub(crate) fn pieces(text: &[u8], literal: &Range<usize>) -> Option<Pieces> {
    let is_word = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    if is_word(literal.start) && literal.start.checked_sub(1).is_some_and(is_word) {
        return None;
    }
    let mut hops = 0;
    let mut groups = 0;
    let mut start = literal.start;
    // A word may end with a colon or a quote, and its value stands behind it.
    let mut end = literal.end;
    loop {
        let is_address = text.get(start..end)?.ends_with(b"://");
        end += run(text.get(end..)?, is_address);
        let word = text.get(start..end)?;
        if let Some((gap, sort)) = cut(text, end) {
            let first = start..end;
            // What goes on behind a prefix may be drawn without a digit.
            let begun = sort != Sort::Line || is_drawn(word) || (start == literal.start && end > literal.end);
            return if begun { gather(text, first, gap, sort, is_address) } else { None };
        }
        let is_group = word.len() <= 4 && word.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        groups += usize::from(is_group);
        hops += usize::from(!is_group);
        if hops > MOST_HOPS || groups > MOST_GROUPS {
            return None;
        }
        let between = |byte: &&u8| matches!(byte, b' ' | b'\t' | b':' | b'=' | b'"' | b'\'' | b'(' | b'[' | b',');
        let gap = text.get(end..)?.iter().take(WIDEST_HOP).take_while(between).count();
        if gap == 0 {
            return None;
        }
        start = end + gap;
        end = start;
        if !text.get(start).is_some_and(|byte| is_letter(*byte, false)) {
            return None;
        }
    }
}

fn gather(text: &[u8], first: Range<usize>, gap: Range<usize>, sort: Sort, is_address: bool) -> Option<Pieces> {
    let mut found = Pieces { parts: SmallVec::new(), doubtful: false, beside: false, meant: true };
    let is_list = sort == Sort::List;
    let start = first.start;
    found.parts.push(first);
    let mut next = Some((gap, sort));
    while let Some((gap, sort)) = next {
        let end = gap.end + run(text.get(gap.end..)?, is_address);
        let piece = text.get(gap.end..end)?;
        // `name: value` and `name = value` are lines of their own.
        let is_name = text.get(end) == Some(&b':') || text.get(end..)?.starts_with(b" =");
        // A sign alone begins an item of a list.
        let is_sign = !piece.iter().any(u8::is_ascii_alphanumeric);
        if is_sign || found.parts.len() == MOST_PIECES || (sort == Sort::Line && is_name) {
            break;
        }
        if sort == Sort::Line && !is_drawn(piece) {
            // Nor does a word go on with another.
            if found.parts.iter().all(|part| text.get(part.clone()).is_some_and(is_drawn)) {
                found.parts.push(gap.end..end);
                found.doubtful = true;
                found.meant = false;
            }
            break;
        }
        found.meant &= !matches!(sort, Sort::Line | Sort::Beside);
        found.beside |= sort == Sort::Beside;
        found.parts.push(gap.end..end);
        next = cut(text, end).filter(|(_, sort)| (*sort == Sort::List) == is_list);
    }
    let end = found.parts.last()?.end;
    (found.parts.len() > 1 && (!is_list || is_joined(text, start..end))).then_some(found)
}

/// Whether a list is said to be one text, before it or behind it: `''.join(['a', 'b'])`, `["a", "b"].concat()`.
fn is_joined(text: &[u8], list: Range<usize>) -> bool {
    const NEAR: usize = 16;
    let before = text.get(list.start.saturating_sub(NEAR)..list.start).unwrap_or_default();
    let behind = text.get(list.end..text.len().min(list.end + NEAR)).unwrap_or_default();
    let says =
        |part: &[u8]| ["join", "concat"].iter().any(|word| memchr::memmem::find(part, word.as_bytes()).is_some());
    says(before) || says(behind)
}

/// Letters of a token in a row; of an address more belong to it.
fn run(text: &[u8], is_address: bool) -> usize {
    let length = text.iter().take(LONGEST_PIECE).take_while(|byte| is_letter(**byte, is_address)).count();
    // What fills base64 up stands at its end.
    length + text.get(length..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=').count()
}

fn is_letter(byte: u8, is_address: bool) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/')
        || (is_address && matches!(byte, b':' | b'@' | b'%' | b'?' | b'&' | b'!' | b'$'))
}

/// What cuts a value at this place, if a letter stands behind it.
fn cut(text: &[u8], at: usize) -> Option<(Range<usize>, Sort)> {
    let rest = text.get(at..)?;
    let (length, sort) = match rest.first()? {
        b'\n' | b'\r' | b'\\' | b'<' => line(rest).map(|length| (length, Sort::Line)).or_else(|| strings(rest))?,
        b'"' | b'\'' => strings(rest)?,
        b'*' | b'`' | b'~' => (emphasis(rest)?, Sort::Emphasis),
        _ => return None,
    };
    let goes_on = rest.get(length).is_some_and(|byte| is_letter(*byte, false));
    goes_on.then_some((at..at + length, sort))
}

/// The end of a line, marked or not, and what indents or quotes the next one.
fn line(rest: &[u8]) -> Option<usize> {
    let mut at = match rest.first()? {
        b'\\' => 1,
        b'<' if rest.get(1..3).is_some_and(|name| name.eq_ignore_ascii_case(b"br")) => markup::tag(rest)?.0,
        _ => 0,
    };
    let broken = rest.get(at..)?;
    at += match broken {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        // A tag breaks a line by itself.
        _ if rest.first() == Some(&b'<') && at > 0 => 0,
        _ => return None,
    };
    let indent = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'>');
    Some(at + rest.get(at..)?.iter().take(WIDEST_INDENT).take_while(indent).count())
}

/// `" + "`, `' . '`, `" "`, `', '`: two quotes of a kind, and between them blanks and at most one sign.
fn strings(rest: &[u8]) -> Option<(usize, Sort)> {
    const WIDEST: usize = 24;
    let slashes = rest.iter().take(4).take_while(|byte| **byte == b'\\').count();
    let quote = rest.get(..=slashes)?;
    if !matches!(quote.last()?, b'"' | b'\'') {
        return None;
    }
    let blanks = |at: usize| {
        let near = rest.get(at..).unwrap_or_default().iter().take(WIDEST);
        at + near.take_while(|byte| byte.is_ascii_whitespace()).count()
    };
    let at = blanks(quote.len());
    let sign = match rest.get(at..)? {
        [b'|', b'|', ..] | [b'.', b'.', ..] | [b'<', b'>', ..] | [b'+', b'+', ..] => 2,
        [b'+' | b'.' | b'&' | b',' | b'~', ..] => 1,
        _ => 0,
    };
    let sort = match sign {
        0 => Sort::Beside,
        _ if rest.get(at) == Some(&b',') => Sort::List,
        _ => Sort::Strings,
    };
    let at = blanks(at + sign);
    // A tab alone stands between the columns of a table.
    let between = rest.get(quote.len()..at)?;
    let is_column = sort == Sort::Beside && between.contains(&b'\t') && !between.contains(&b'\n');
    (!is_column && rest.get(at..)?.starts_with(quote)).then_some((at + quote.len(), sort))
}

fn emphasis(rest: &[u8]) -> Option<usize> {
    const MOST: usize = 6;
    let sign = rest.first()?;
    let length = rest.iter().take(MOST).take_while(|byte| *byte == sign).count();
    (*sign != b'~' || length > 1).then_some(length)
}

/// Letters and digits, or capitals in the middle: nobody's word. What is short may be drawn without either.
fn is_drawn(piece: &[u8]) -> bool {
    let digits = piece.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = piece.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let turns = |pair: &&[u8]| matches!(pair, [one, next] if one.is_ascii_lowercase() && next.is_ascii_uppercase());
    (digits > 0 && letters > 0) || digits >= 8 || piece.windows(2).filter(turns).count() >= 2
}

/// Where a value begins that may go on behind `end`, although a line ends in it: its first piece is told by `begins`.
pub(crate) fn open(text: &str, end: usize, begins: impl Fn(&[u8]) -> bool) -> Option<usize> {
    let mut start = end;
    loop {
        let before = text.get(..start)?;
        let shown = before.trim_end_matches([' ', '\t', '>', '\n', '\r']);
        if !before.get(shown.len()..)?.contains('\n') {
            return None;
        }
        let shown = shown.trim_end_matches('\\').trim_end_matches("<br").as_bytes();
        let length = shown.iter().rev().take(LONGEST_PIECE).take_while(|byte| is_letter(**byte, true)).count();
        start = shown.len() - length;
        let word = shown.get(start..).filter(|word| is_drawn(word))?;
        if begins(word) {
            return Some(start);
        }
    }
}

impl Pieces {
    /// Where the first cut begins: two words may announce one value.
    pub fn first_cut(&self) -> usize {
        self.parts.first().map_or(0, |part| part.end)
    }

    /// Every way to make one value of them, the likeliest first. What may be a word of the next line is believed last.
    pub fn ways(&self) -> impl Iterator<Item = usize> {
        const FEWER: usize = 3;
        let sure = self.parts.len() - usize::from(self.doubtful);
        let fewer = (2..=sure).rev().take(if self.meant { 1 } else { FEWER });
        fewer.chain(self.doubtful.then_some(self.parts.len()))
    }

    /// Whether so many pieces may be more of what was found in fewer: a word of the next line is not.
    pub fn is_sure(&self, count: usize) -> bool {
        self.meant || !(self.doubtful && count == self.parts.len())
    }

    /// The first pieces as one, with what stands around them, and the last cut between them.
    pub fn joined(&self, text: &str, count: usize) -> Option<(Mapped, Range<usize>)> {
        let first = self.parts.first()?;
        let last = self.parts.get(count.checked_sub(1)?)?;
        let from = text.floor_char_boundary(first.start.saturating_sub(BEFORE));
        let until = text.floor_char_boundary((last.end + BEHIND).min(text.len()));
        let mut out = Mapped::default();
        let mut cuts =
            self.parts.windows(2).take(count - 1).filter_map(|pair| Some(pair.first()?.end..pair.last()?.start));
        let mut gap = cuts.next();
        for (at, c) in text.get(from..until)?.char_indices().map(|(at, c)| (from + at, c)) {
            if gap.as_ref().is_some_and(|gap| at >= gap.end) {
                gap = cuts.next();
            }
            if !gap.as_ref().is_some_and(|gap| gap.contains(&at)) {
                out.push(c, at);
            }
        }
        out.end(until);
        let before = self.parts.get(count.checked_sub(2)?)?;
        Some((out, before.end..last.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, literal: &str) -> Option<(String, bool)> {
        let start = text.find(literal)?;
        let pieces = pieces(text.as_bytes(), &(start..start + literal.len()))?;
        let parts: Vec<_> = pieces.parts.iter().filter_map(|part| text.get(part.clone())).collect();
        Some((parts.join("|"), pieces.doubtful))
    }

    #[test]
    fn a_value_goes_on_behind_a_cut_and_a_word_does_not() {
        for (text, literal, expected) in [
            (
                "ghp_5K4Stlpevc\nWzmdyofPuKiIVFAZJ\n- and so on",
                "ghp_",
                Some(("ghp_5K4Stlpevc|WzmdyofPuKiIVFAZJ", false)),
            ),
            ("AKIARCC5CDX3U\r\n    I6AJ66V. Thanks", "AKIA", Some(("AKIARCC5CDX3U|I6AJ66V.", false))),
            ("dop_v1_9e46c60e\\\n> 7ff3952a1\\\n> e25e9", "dop_v1_", Some(("dop_v1_9e46c60e|7ff3952a1|e25e9", false))),
            ("npm_79tmD2AyqqLU<br>\nXRqNrI3M1Rd", "npm_", Some(("npm_79tmD2AyqqLU|XRqNrI3M1Rd", false))),
            ("'ghs_Gqz' + 'n5jP' + 'cRd'", "ghs_", Some(("ghs_Gqz|n5jP|cRd", false))),
            (r#"\"AKIA\" \"IOSF\""#, "AKIA", Some(("AKIA|IOSF", false))),
            ("['AKIA', 'IOSF']", "AKIA", None),
            ("''.join(['AKIA', 'IOSF'])", "AKIA", Some(("AKIA|IOSF", false))),
            ("sk_live_ouPX\nUpWra30ro", "sk_live_", Some(("sk_live_ouPX|UpWra30ro", false))),
            ("ntn_6**2381**Hv", "ntn_", Some(("ntn_6|2381|Hv", false))),
            ("amqp://a:EYH1b\n  -WZB3@db.io:5672/c", "://", Some(("://a:EYH1b|-WZB3@db.io:5672/c", false))),
            ("aws_secret_access_key: CZDRaL1\n> BjvuHO2", "aws_secret_", Some(("CZDRaL1|BjvuHO2", false))),
            ("SE10\n> 6847 4985", "SE1", Some(("SE10|6847", true))),
            ("sk_live_ouPX2\nThanks a lot", "sk_live_", Some(("sk_live_ouPX2|Thanks", true))),
            ("sk_live_ouPX2\nuser: me", "sk_live_", None),
            ("the token\nis here", "token", None),
            ("token = 'a'", "token", None),
            ("gluedghp_a1\nb2c3", "ghp_", None),
        ] {
            let expected = expected.map(|(parts, doubtful)| (parts.to_owned(), doubtful));
            assert_eq!(of(text, literal), expected, "{text}");
        }
    }

    #[test]
    fn a_value_may_go_on_behind_the_end_of_a_text() {
        for (text, expected) in [
            ("key ghp_a1b2\n", Some(4)),
            ("key ghp_a1b2\\\n> c3d4\n  ", Some(4)),
            ("key ghp_a1b2", None),
            ("ghp_a1b2 is one\n", None),
            ("line 1a\n", None),
        ] {
            let begins = |word: &[u8]| memchr::memmem::find(word, b"ghp_").is_some();
            assert_eq!(open(text, text.len(), begins), expected, "{text}");
        }
    }

    #[test]
    fn pieces_are_read_as_one_and_lead_back() {
        let text = "é: ghp_a1b2\n> c3d4\n> e5f6 ok";
        let start = text.find("ghp_").unwrap_or_default();
        let found = pieces(text.as_bytes(), &(start..start + 4)).and_then(|pieces| pieces.joined(text, 3));
        let Some((joined, cut)) = found else { unreachable!("three pieces") };
        assert_eq!(joined.text(), "é: ghp_a1b2c3d4e5f6 ok");
        assert_eq!(text.get(cut), Some("\n> "));
        let at = joined.text().find("ghp_").unwrap_or_default();
        assert_eq!(text.get(joined.origin(at..at + 16)), Some("ghp_a1b2\n> c3d4\n> e5f6"));
    }
}
