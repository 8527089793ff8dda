//! Signs that are put around the letters of a value, or around its own signs, so that nothing takes it for one: emphasis in the middle
//! of a word, `203[.]0[.]113[.]9`, codes of letters in a list.
//!
//! Each is seen by something rare: a pair of signs inside one word, a bracket around one sign, a call that makes a text of numbers. Only
//! the word around it is written anew and read once more.

use std::ops::Range;

use smallvec::SmallVec;

use crate::mapped::Mapped;

/// Letters of a word on either side, and what is read with it: the words before it say what it is.
const WIDEST: usize = 96;
const BEFORE: usize = 64;

/// What tells that there may be something; nobody's value begins with these.
pub(crate) const SIGNS: [&str; 11] =
    ["[.]", "(.)", "{.}", "[:]", "[@]", "[dot]", "(dot)", "{dot}", "fromcharcode(", "bytes([", "bytearray(["];

/// Signs in brackets, and what they stand for.
const BRACKETED: [(&str, char); 6] = [(".", '.'), (":", ':'), ("@", '@'), ("-", '-'), ("dot", '.'), ("at", '@')];

/// A word that is read without what was put into it.
pub(crate) struct Aside {
    pub written: Mapped,
    /// Where the signs lie that are left out.
    pub signs: SmallVec<[usize; 4]>,
}

/// Every word of a text in which emphasis begins and ends in the middle.
pub(crate) fn emphasised(text: &str) -> SmallVec<[Aside; 1]> {
    let mut found = SmallVec::new();
    let bytes = text.as_bytes();
    let mut until = 0;
    for at in memchr::memchr3_iter(b'*', b'`', b'~', bytes) {
        if at < until || !is_inside(bytes, at) || !ends_inside(bytes, at) {
            continue;
        }
        let word = around(bytes, at);
        until = word.end;
        found.extend(rewritten(text, &word, |at| emphasis(bytes, at).map(|length| (None, length))));
    }
    found
}

/// The word around a bracket that stands around one sign.
pub(crate) fn bracketed(text: &str, at: usize) -> Option<Aside> {
    let bytes = text.as_bytes();
    let word = around(bytes, at);
    rewritten(text, &word, |at| bracket(bytes, at).map(|(sign, length)| (Some(sign), length)))
}

/// The text that a list of codes is, from its first number on: a letter each.
pub(crate) fn of_codes(text: &str, at: usize) -> Option<(Range<usize>, String)> {
    const FEWEST: usize = 8;
    let rest = text.get(at..)?;
    let length =
        rest.find(|c: char| !(c.is_ascii_hexdigit() || matches!(c, ' ' | ',' | 'x' | '\n'))).unwrap_or(rest.len());
    let list = rest.get(..length)?;
    let code = |number: &str| match number.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => number.parse::<u8>().ok(),
    };
    let letters = list.split([',', ' ', '\n']).filter(|number| !number.is_empty()).map(code);
    let inner = String::from_utf8(letters.collect::<Option<Vec<u8>>>()?).ok()?;
    (inner.len() >= FEWEST && !inner.contains(char::is_control)).then_some((at..at + length, inner))
}

/// The word without its signs; nothing where there are none.
fn rewritten(text: &str, word: &Range<usize>, sign: impl Fn(usize) -> Option<(Option<char>, usize)>) -> Option<Aside> {
    let from = text.floor_char_boundary(word.start.saturating_sub(BEFORE));
    let mut aside = Aside { written: Mapped::default(), signs: SmallVec::new() };
    let mut skipped = 0;
    for (at, c) in text.get(from..word.end)?.char_indices().map(|(at, c)| (from + at, c)) {
        if at < skipped {
            continue;
        }
        match sign(at).filter(|_| at >= word.start) {
            Some((seen, length)) => {
                skipped = at + length;
                aside.signs.push(at);
                if let Some(c) = seen {
                    aside.written.push(c, at);
                }
            }
            None => aside.written.push(c, at),
        }
    }
    aside.written.end(word.end);
    (!aside.signs.is_empty()).then_some(aside)
}

/// Letters and signs without a blank between them.
fn around(text: &[u8], at: usize) -> Range<usize> {
    let is_part = |byte: &&u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'<' | b'>' | b',' | b';');
    let before = text.get(at.saturating_sub(WIDEST)..at).unwrap_or_default().iter().rev().take_while(is_part).count();
    let behind = text.get(at..).unwrap_or_default().iter().take(WIDEST).take_while(is_part).count();
    at - before..at + behind
}

fn is_letter(text: &[u8], at: Option<usize>) -> bool {
    at.and_then(|at| text.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"@.:-_+/".contains(byte))
}

/// Signs of one kind in a row.
fn emphasis(text: &[u8], at: usize) -> Option<usize> {
    const MOST: usize = 6;
    let sign = text.get(at).filter(|sign| matches!(sign, b'*' | b'`' | b'~'))?;
    let length = text.get(at..)?.iter().take(MOST).take_while(|byte| *byte == sign).count();
    (*sign != b'~' || length > 1).then_some(length)
}

fn is_inside(text: &[u8], at: usize) -> bool {
    emphasis(text, at).is_some_and(|length| is_letter(text, at.checked_sub(1)) && is_letter(text, Some(at + length)))
}

/// Whether the same signs stand behind a letter of the same word.
fn ends_inside(text: &[u8], at: usize) -> bool {
    let Some(length) = emphasis(text, at) else { return false };
    let Some(sign) = text.get(at..at + length) else { return false };
    let rest = text.get(at + length..text.len().min(at + length + WIDEST)).unwrap_or_default();
    let end = memchr::memmem::find(rest, sign);
    end.is_some_and(|end| {
        rest.get(..end).is_some_and(|inner| {
            is_letter(inner, end.checked_sub(1)) && inner.is_ascii() && !inner.iter().any(u8::is_ascii_whitespace)
        })
    })
}

/// `[.]`, `(dot)`.
fn bracket(text: &[u8], at: usize) -> Option<(char, usize)> {
    let rest = text.get(at..)?;
    let close = match rest.first()? {
        b'[' => b']',
        b'(' => b')',
        b'{' => b'}',
        _ => return None,
    };
    let inner = rest.get(1..)?;
    let known = |(name, _): &&(&str, char)| {
        let named = inner.get(..name.len()).is_some_and(|inner| inner.eq_ignore_ascii_case(name.as_bytes()));
        named && inner.get(name.len()) == Some(&close)
    };
    BRACKETED.iter().find(known).map(|(name, sign)| (*sign, name.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emphasis_that_begins_and_ends_in_a_word_is_left_out() {
        for (text, expected) in [
            ("mail lla`rsen@corp`.example.org now", Some("mail llarsen@corp.example.org")),
            ("62*.208.92.1*37", Some("62.208.92.137")),
            ("no 3**8VE088**28", Some("no 38VE08828")),
            ("**1****66****03**", Some("16603")),
            ("a **bold** word", None),
            ("`code`s and `more`", None),
            ("2 * 3 * 4", None),
            ("a*b", None),
            ("~user~", None),
        ] {
            let found = emphasised(text);
            assert_eq!(found.first().map(|one| one.written.text()), expected, "{text}");
        }
    }

    #[test]
    fn brackets_around_signs_are_left_out() {
        for (text, expected) in [
            ("ip 203[.]0[.]113[.]9 up", Some("ip 203.0.113.9")),
            ("jane[at]example[dot]org", Some("jane@example.org")),
            ("2a01[:]4f8[:][:]c9c3", Some("2a01:4f8::c9c3")),
            ("array[0]", None),
        ] {
            let at = text.find('[').unwrap_or_default();
            assert_eq!(bracketed(text, at).as_ref().map(|one| one.written.text()), expected, "{text}");
        }
    }

    #[test]
    fn codes_of_letters_are_a_text() {
        let text = "x = String.fromCharCode(106, 97, 110, 101, 0x40, 101, 120, 46)";
        let at = text.find('(').unwrap_or_default() + 1;
        assert_eq!(of_codes(text, at), Some((at..text.len() - 1, "jane@ex.".to_owned())));
        assert_eq!(of_codes("(1, 2, 3, 4, 5, 6, 7, 8)", 1), None);
        assert_eq!(of_codes("(300, 97, 97, 97, 97, 97, 97, 97)", 1), None);
    }
}
