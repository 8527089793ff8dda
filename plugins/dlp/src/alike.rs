//! Letters of other scripts that look like letters of ASCII, in words that are written in ASCII otherwise: `АKIA` with a Cyrillic А.
//!
//! Words of those scripts hold letters that look like none of ours, or stand alone among their own kind, so a word counts only where
//! both kinds touch and nothing else is in it. Most letters are told apart by their two neighbours.

use std::ops::Range;

/// Letters of a word, on either side of the one that is asked about.
const FARTHEST: usize = 256;
/// So many letters and digits of ASCII are no word that another script's stands beside: `хохр-457451540366-...`.
const LONG: usize = 16;
/// How far behind the dashes of its first line the words of a key stand.
const ARMOUR: usize = 48;

/// The letter of ASCII that another script's is drawn like.
pub(crate) fn drawn_like(c: char) -> Option<char> {
    let letter = match c {
        // Greek.
        'Α' => 'A',
        'Β' => 'B',
        'Ε' => 'E',
        'Ζ' => 'Z',
        'Η' => 'H',
        'Ι' => 'I',
        'Κ' => 'K',
        'Μ' => 'M',
        'Ν' => 'N',
        'Ο' => 'O',
        'Ρ' => 'P',
        'Τ' => 'T',
        'Υ' => 'Y',
        'Χ' => 'X',
        'ϲ' => 'c',
        'ϳ' => 'j',
        'ο' => 'o',
        'ρ' => 'p',
        'ν' => 'v',
        // Cyrillic.
        'А' => 'A',
        'В' => 'B',
        'С' => 'C',
        'Е' => 'E',
        'Ԍ' => 'G',
        'Н' | 'Һ' => 'H',
        'І' | 'Ӏ' => 'I',
        'Ј' => 'J',
        'К' => 'K',
        'М' => 'M',
        'О' => 'O',
        'Р' => 'P',
        'Ԛ' => 'Q',
        'Ѕ' => 'S',
        'Т' => 'T',
        'Ѵ' => 'V',
        'Ԝ' => 'W',
        'Х' => 'X',
        'Ү' | 'У' => 'Y',
        'а' => 'a',
        'с' => 'c',
        'ԁ' => 'd',
        'е' => 'e',
        'һ' => 'h',
        'і' => 'i',
        'ј' => 'j',
        'ӏ' => 'l',
        'о' => 'o',
        'р' => 'p',
        'ԛ' => 'q',
        'ѕ' => 's',
        'ѵ' => 'v',
        'ԝ' => 'w',
        'х' => 'x',
        'у' | 'ү' => 'y',
        // Armenian, and Latin letters without their dot or with another bow.
        'Ս' => 'U',
        'Օ' => 'O',
        'հ' => 'h',
        'ո' => 'n',
        'ս' => 'u',
        'օ' => 'o',
        'ı' => 'i',
        'ɑ' => 'a',
        'ɡ' => 'g',
        _ => return None,
    };
    Some(letter)
}

/// Whether the letter at `at` lies in a word of ASCII that others were put into. Asked at every letter that may be one, so the
/// neighbours say no first.
pub(crate) fn is_put_in(text: &[u8], at: Range<usize>, letter: char) -> bool {
    let touches = |at: Option<usize>| {
        at.and_then(|at| text.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    (touches(at.start.checked_sub(1)) || touches(Some(at.end)))
        && drawn_like(letter).is_some()
        && word(text, at.start).is_some()
}

/// The word around a letter, if others were put into it.
pub(crate) fn word(text: &[u8], at: usize) -> Option<Range<usize>> {
    let mut start = at;
    while at - start < FARTHEST {
        match before(text, start) {
            Some(length) => start -= length,
            None => break,
        }
    }
    let near = text.get(start..text.len().min(at + FARTHEST))?;
    // A character that is cut at the end is none yet.
    let whole = std::str::from_utf8(near).map_or_else(|error| error.valid_up_to(), str::len);
    let near = std::str::from_utf8(near.get(..whole)?).unwrap_or_default();
    let shown = near.split(|c: char| !is_part(c)).next().unwrap_or_default();
    let mut word = Word::default();
    for c in shown.chars() {
        word.take(c);
    }
    let end = start + shown.len();
    // Letters that look like none of ours make it a word of theirs.
    let theirs = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|byte| *byte >= 0x80);
    if theirs(start.checked_sub(1)) || theirs(Some(end)) {
        return None;
    }
    (word.is_mixed() || word.begins_account() || in_armour(text, start, shown)).then_some(start..end)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-' || drawn_like(c).is_some()
}

/// How long the part of a word is that ends at `at`.
fn before(text: &[u8], at: usize) -> Option<usize> {
    let last = *text.get(at.checked_sub(1)?)?;
    if last.is_ascii() {
        return is_part(char::from(last)).then_some(1);
    }
    // All that look alike have two bytes.
    let letter = std::str::from_utf8(text.get(at.checked_sub(2)?..at)?).ok()?.chars().next()?;
    drawn_like(letter).map(|_| letter.len_utf8())
}

/// What a word is made of.
#[derive(Default)]
struct Word {
    ascii: usize,
    /// Of the part since the last hyphen.
    letters: bool,
    others: bool,
    /// A part holds both kinds of letters.
    mixed: bool,
    any_letter: bool,
    any_other: bool,
    /// Its beginning, as it is drawn.
    first: [char; 5],
    count: usize,
}

impl Word {
    fn take(&mut self, c: char) {
        if let Some(place) = self.first.get_mut(self.count) {
            *place = drawn_like(c).unwrap_or(c);
        }
        self.count += 1;
        if c == '-' {
            (self.letters, self.others) = (false, false);
            return;
        }
        self.letters |= c.is_ascii_alphabetic();
        self.others |= !c.is_ascii();
        self.mixed |= self.letters && self.others;
        self.any_letter |= c.is_ascii_alphabetic();
        self.any_other |= !c.is_ascii();
        self.ascii += usize::from(c.is_ascii_alphanumeric());
    }

    fn is_mixed(&self) -> bool {
        self.mixed || (self.any_letter && self.any_other && self.ascii >= LONG)
    }

    /// A country's two letters and two digits: an account.
    fn begins_account(&self) -> bool {
        let [one, two, three, four, five] = self.first;
        let long = self.count == 4 || five.is_ascii_alphanumeric();
        self.any_other
            && long
            && one.is_ascii_uppercase()
            && two.is_ascii_uppercase()
            && three.is_ascii_digit()
            && four.is_ascii_digit()
    }
}

/// A word in capitals behind the dashes that a key begins with.
fn in_armour(text: &[u8], start: usize, word: &str) -> bool {
    let near = text.get(start.saturating_sub(ARMOUR)..start + 5).unwrap_or_default();
    word.chars().all(|c| drawn_like(c).unwrap_or(c).is_ascii_uppercase() || c == '-')
        && near.rsplit(|byte| *byte == b'\n').next().is_some_and(|line| memchr::memmem::find(line, b"-----").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_others_were_put_into_are_told_from_words_of_theirs() {
        for (text, expected) in [
            ("АKIADVS767Y7OCRWIKOB", true),
            ("ѕk-аnt-api03-MeXZ", true),
            ("ӏіn_арі_Uw0fe5Cmir2f", true),
            ("хохр-457451540366-a313138138690", true),
            ("АE68189113948534", true),
            ("ІЕ11 REVO", true),
            ("-----BEGIN EC PRIVATE КЕҮ-----", true),
            ("rеdis://app", true),
            ("о COVID-19", false),
            ("API-сервер", false),
            ("5-е издание", false),
            ("кто-то и где-то", false),
            ("США", false),
            ("CD-а", false),
            ("в 2025-м году", false),
            ("μs, 5 Ω", false),
            ("ΟΗΕ και ΝΑΤΟ", false),
        ] {
            let mut places = text.char_indices().filter(|(_, c)| !c.is_ascii());
            let any = places.any(|(at, c)| is_put_in(text.as_bytes(), at..at + c.len_utf8(), c));
            assert_eq!(any, expected, "{text}");
        }
    }
}
