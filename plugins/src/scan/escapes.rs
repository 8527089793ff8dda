//! Letters written as escapes: `\x73`, `\u0073`, `\163`, `%73`, `&#115;`.

/// What may stand between two escapes of one text.
const WIDEST_GAP: usize = 2;
/// Of the number of a letter.
const MOST_DIGITS: usize = 7;

enum Escape {
    /// One of the bytes of a text.
    Byte(u8),
    Letter(char),
}

/// Calls with what rows of at least so many escapes say. Letters that no address can hold are escaped in addresses every day,
/// so that a row with a percent sign in it counts only where it is plain letters.
pub fn unescaped(text: &str, fewest: usize, mut found: impl FnMut(&[u8])) {
    let signs = text.bytes().filter(|sign| matches!(sign, b'\\' | b'%' | b'&')).count();
    if signs < fewest {
        return;
    }
    let mut row = Row::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let escape = if matches!(first, '\\' | '%' | '&') { escape(rest) } else { None };
        let long = escape.as_ref().map_or(first.len_utf8(), |(_, long)| *long);
        rest = rest.get(long..).unwrap_or_default();
        match escape {
            Some((escape, _)) => row.add(&escape, first),
            None if row.gap < WIDEST_GAP && matches!(first, ' ' | ',' | '"' | '\'' | '+' | '\\') => row.gap += 1,
            None => std::mem::take(&mut row).end(fewest, &mut found),
        }
    }
    row.end(fewest, &mut found);
}

#[derive(Default)]
struct Row {
    bytes: Vec<u8>,
    many: usize,
    gap: usize,
    address: bool,
}

impl Row {
    fn add(&mut self, escape: &Escape, sign: char) {
        match escape {
            Escape::Byte(byte) => self.bytes.push(*byte),
            Escape::Letter(letter) => self.bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
        }
        self.many += 1;
        self.gap = 0;
        self.address |= sign == '%';
    }

    fn end(self, fewest: usize, found: &mut impl FnMut(&[u8])) {
        if self.many >= fewest && (!self.address || self.bytes.is_ascii()) {
            found(&self.bytes);
        }
    }
}

/// The escape that a text begins with, and how long it is.
fn escape(text: &str) -> Option<(Escape, usize)> {
    let byte = |at: usize, digits: usize, radix: u32| {
        let code = u8::try_from(number(text.get(at..at + digits)?, radix)?).ok()?;
        Some((Escape::Byte(code), at + digits))
    };
    let letter = |code: u32, long: usize| Some((Escape::Letter(char::from_u32(code)?), long));
    let closed = |at: usize, by: char, radix: u32| {
        let digits = text.get(at..)?;
        let (end, _) = digits.char_indices().take(MOST_DIGITS + 1).find(|(_, letter)| *letter == by)?;
        letter(number(digits.get(..end)?, radix)?, at + end + 1)
    };
    if text.starts_with("\\x{") || text.starts_with("\\u{") {
        closed(3, '}', 16)
    } else if text.starts_with("\\x") {
        byte(2, 2, 16)
    } else if text.starts_with("\\u") {
        letter(number(text.get(2..6)?, 16)?, 6)
    } else if text.starts_with('\\') {
        byte(1, 3, 8)
    } else if text.starts_with('%') {
        byte(1, 2, 16)
    } else if text.starts_with("&#x") || text.starts_with("&#X") {
        closed(3, ';', 16)
    } else if text.starts_with("&#") {
        closed(2, ';', 10)
    } else {
        None
    }
}

/// Digits only: a sign in front is none.
fn number(digits: &str, radix: u32) -> Option<u32> {
    let all = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    if all { u32::from_str_radix(digits, radix).ok() } else { None }
}
