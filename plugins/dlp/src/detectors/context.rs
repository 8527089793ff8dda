//! Words near a match that make it believable.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Match};

use crate::ContextWords;

pub(super) struct Context {
    words: AhoCorasick,
    within: usize,
    after: usize,
    pub required: bool,
    also_key: bool,
}

/// A longer word may be followed by more letters: `passports`, `passportNumber`.
const STEM: usize = 5;

impl Context {
    pub fn new(written: &ContextWords) -> Result<Self, String> {
        if written.words.is_empty() || written.words.iter().any(|word| word.trim().is_empty()) {
            return Err("`words` must not be empty".into());
        }
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&written.words)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            words,
            within: written.within.into(),
            after: written.after.into(),
            required: written.required,
            also_key: written.also_key,
        })
    }

    pub fn holds(&self, text: &str, found: &Range<usize>, key: Option<&str>, tables: Tables) -> bool {
        let before = found.start.saturating_sub(self.within)..found.start;
        self.around(text, said_before(text.as_bytes(), before), found, key, tables)
    }

    /// The same for words that make it something else: a number between such a word and the match was what the word meant.
    pub fn denies(&self, text: &str, found: &Range<usize>, key: Option<&str>, tables: Tables) -> bool {
        let before = found.start.saturating_sub(self.within)..found.start;
        let part = text.as_bytes().get(before.clone()).unwrap_or_default();
        let digit = part.iter().rposition(u8::is_ascii_digit).map_or(0, |at| at + 1);
        self.around(text, before.start + digit..before.end, found, key, tables)
    }

    fn around(
        &self,
        text: &str,
        before: Range<usize>,
        found: &Range<usize>,
        key: Option<&str>,
        tables: Tables,
    ) -> bool {
        if self.also_key && key.is_some_and(|key| self.speaks(key.as_bytes(), 0..key.len())) {
            return true;
        }
        let bytes = text.as_bytes();
        self.speaks(bytes, before)
            || (self.after > 0 && self.speaks(bytes, found.end..(found.end + self.after).min(bytes.len())))
            || (self.also_key && tables.head_of(text, found.start).is_some_and(|head| self.speaks(bytes, head)))
    }

    /// Whether one of the words stands in this part of the text.
    pub fn speaks(&self, text: &[u8], range: Range<usize>) -> bool {
        let part = text.get(range.clone()).unwrap_or_default();
        self.words.find_overlapping_iter(part).any(|word| is_word(text, range.start, word))
    }
}

/// `Pin` in `userPin` and `pin_code` is a word; `pin` in `shipping` is none.
fn is_word(text: &[u8], offset: usize, word: Match) -> bool {
    let byte = |at: usize| text.get(at).copied().unwrap_or(b' ');
    let (start, end) = (offset + word.start(), offset + word.end());
    let starts = match start.checked_sub(1).map(byte) {
        Some(before) if before.is_ascii_alphabetic() => before.is_ascii_lowercase() && byte(start).is_ascii_uppercase(),
        _ => true,
    };
    let after = byte(end);
    let ends = !after.is_ascii_lowercase()
        || word.len() >= STEM
        || (after == b's' && !byte(end + 1).is_ascii_alphabetic())
        || !byte(end.saturating_sub(1)).is_ascii_alphabetic();
    starts && ends
}

/// So many digits are a number; the one of `PHONE1` is none.
const NUMBER: usize = 4;

/// A line before says what this one is only if it has no number itself, which would be what its words spoke of, and is not the
/// head of a table, which speaks of columns.
fn said_before(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let part = bytes.get(range.clone()).unwrap_or_default();
    let mut start = memchr::memrchr(b'\n', part).map_or(0, |end| end + 1);
    while let Some(before) = start.checked_sub(1) {
        let line_start = memchr::memrchr(b'\n', part.get(..before).unwrap_or_default()).map_or(0, |end| end + 1);
        let line = part.get(line_start..before).unwrap_or_default();
        let names = line.iter().filter(|byte| matches!(byte, b',' | b';' | b'|' | b'\t')).count();
        if names > 1 || line.iter().filter(|byte| byte.is_ascii_digit()).count() >= NUMBER {
            break;
        }
        start = line_start;
    }
    let part = part.get(start..).unwrap_or_default();
    range.start + start + renamed(part)..range.end
}

/// `phone=0612345678&iat=1558674367`: behind a number that is done with, another name speaks.
fn renamed(part: &[u8]) -> usize {
    let Some(last) = part.iter().rposition(u8::is_ascii_digit) else { return 0 };
    let (done, rest) = part.split_at_checked(last + 1).unwrap_or_default();
    let name = rest.iter().any(u8::is_ascii_alphabetic) && rest.iter().any(|byte| matches!(byte, b'=' | b':'));
    if name && done.iter().filter(|byte| byte.is_ascii_digit()).count() >= NUMBER { last + 1 } else { 0 }
}

/// Which ways to name columns a text has at all. Asked once of a text, because to look for a name at every number is to read far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables {
    header: Option<Head>,
    inserted: bool,
    copied: bool,
    aligned: bool,
}

/// The line of a table that names its columns.
#[derive(Debug, Clone, Copy)]
struct Head {
    start: usize,
    end: usize,
    sign: char,
}

impl Head {
    /// A greeting, the fence of a block or the first lines of a difference may stand above a table: the names are in the first line
    /// of names that has as many columns as the one below it, and else in the very first.
    fn of(text: &str) -> Option<Self> {
        const MOST_LINES: usize = 12;
        let mut above: Option<Self> = None;
        let mut very_first = None;
        let mut start = 0;
        let beginning = text.as_bytes().get(..text.len().min(LONGEST_LINE + 1))?;
        let ends = memchr::memchr_iter(b'\n', beginning).take(MOST_LINES);
        // The last line of a text need not end.
        let last = (beginning.len() == text.len()).then_some(text.len());
        for end in ends.chain(last) {
            let line = text.get(start..end)?;
            if above.is_some_and(|above| above.has_below(text, line)) {
                return above;
            }
            if !is_ruled(line) {
                let sign = SIGNS.into_iter().find(|sign| line.contains(*sign));
                let head = sign.map(|sign| Self { start, end, sign }).filter(|_| end < text.len());
                if start == 0 {
                    very_first = head;
                }
                above = head.filter(|head| line.split(head.sign).all(|name| is_name(name) && !is_numbered(name)));
            }
            start = end + 1;
        }
        very_first
    }

    fn has_below(self, text: &str, line: &str) -> bool {
        text.get(self.start..self.end).is_some_and(|own| columns(own, self.sign) == columns(line, self.sign))
    }
}

/// A value, and the name of nothing.
fn is_numbered(name: &str) -> bool {
    name.trim_start_matches([' ', '"', '\'', '`', '+', '-']).starts_with(|c: char| c.is_ascii_digit())
}

/// `+----+----+`, `|---|:-:|`: what is drawn between the names and the rows.
fn is_ruled(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|byte| matches!(byte, b'-' | b'+' | b'|' | b':' | b'=' | b' ' | b'\r'))
}

impl Tables {
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        // Statements name columns in brackets, and most texts have none.
        let brackets = memchr::memchr(b')', bytes).is_some();
        let holds = |word: &[u8]| brackets && memchr::memmem::find(bytes, word).is_some();
        let head = bytes.get(..bytes.len().min(LONGEST_LINE + 1)).unwrap_or_default();
        let first = memchr::memchr(b'\n', head).and_then(|end| head.get(..end)).unwrap_or_default();
        Self {
            header: Head::of(text),
            inserted: holds(b"VALUES") || holds(b"values"),
            copied: holds(b") FROM "),
            aligned: memchr::memmem::find(first, GUTTER).is_some(),
        }
    }

    /// The name of the column that `at` lies in, of a table or of a statement that fills one.
    fn head_of(self, text: &str, at: usize) -> Option<Range<usize>> {
        let way = |has: bool, find: fn(&str, usize) -> Option<Range<usize>>| if has { find(text, at) } else { None };
        self.header
            .and_then(|head| header(text, at, head))
            .or_else(|| way(self.inserted, inserted))
            .or_else(|| way(self.copied, copied))
            .or_else(|| way(self.aligned, aligned))
    }
}

/// Nothing beyond a line's length is read: this is asked for every number of a long text.
const LONGEST_LINE: usize = 2048;
/// Between the names of a first line.
const SIGNS: [char; 4] = ['\t', '|', ';', ','];
const GUTTER: &[u8] = b"  ";

/// Where the first line may end, and where the line of `at` may begin.
fn margins(bytes: &[u8], at: usize) -> Option<(&[u8], Range<usize>)> {
    let head = bytes.get(..bytes.len().min(LONGEST_LINE + 1))?;
    Some((head, at.saturating_sub(LONGEST_LINE + 1)..at))
}

/// In a table with a line of names: the name of the column that `at` lies in.
fn header(text: &str, at: usize, head: Head) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if at <= head.end {
        return None;
    }
    let names = text.get(head.start..head.end)?;
    let before = at.saturating_sub(LONGEST_LINE + 1)..at;
    let line_start = before.start + memchr::memrchr(b'\n', bytes.get(before)?)? + 1;
    let column = columns(text.get(line_start..at)?, head.sign);
    let mut start = head.start;
    for (index, name) in names.split(head.sign).enumerate() {
        if index == column {
            return is_name(name).then(|| start..start + name.len());
        }
        start += name.len() + head.sign.len_utf8();
    }
    None
}

/// `insert into t (id, ssn) values (7, '536228719')`: the name in the place of the value.
fn inserted(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = at.saturating_sub(LONGEST_LINE)..at;
    let window = bytes.get(before.clone())?;
    // Asked for every number; the names stand in brackets, and most texts have none.
    memchr::memchr(b'(', window)?;
    let word = memchr::memmem::rfind(window, b"VALUES").or_else(|| memchr::memmem::rfind(window, b"values"))?;
    let names_end = before.start + window.get(..word)?.trim_ascii_end().strip_suffix(b")")?.len();
    let names_start = before.start + memchr::memrchr(b'(', bytes.get(before.start..names_end)?)? + 1;
    let mut column = 0;
    let mut quoted = false;
    for byte in window.get(word..)? {
        match byte {
            b'\'' => quoted = !quoted,
            // Every row begins anew.
            b'(' if !quoted => column = 0,
            b',' if !quoted => column += 1,
            _ => {}
        }
    }
    let mut start = names_start;
    for (index, name) in text.get(names_start..names_end)?.split(',').enumerate() {
        if index == column {
            return is_name(name).then(|| start..start + name.len());
        }
        start += name.len() + 1;
    }
    None
}

/// `COPY t (id, ssn) FROM stdin;` with a row a line and tabs between values: the name in the place of the value.
fn copied(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = at.saturating_sub(LONGEST_LINE)..at;
    let window = bytes.get(before.clone())?;
    let line = memchr::memrchr(b'\n', window)? + 1;
    let column = window.get(line..)?.iter().filter(|byte| **byte == b'\t').count();
    let word = memchr::memmem::rfind(window.get(..line)?, b") FROM ")?;
    let open = memchr::memrchr(b'(', window.get(..word)?)? + 1;
    let mut start = before.start + open;
    for (index, name) in text.get(start..before.start + word)?.split(',').enumerate() {
        if index == column {
            return is_name(name).then(|| start..start + name.len());
        }
        start += name.len() + 1;
    }
    None
}

/// In a table whose columns are kept apart by blanks alone: the name that stands above.
fn aligned(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let (head, before) = margins(bytes, at)?;
    let first_end = memchr::memchr(b'\n', head)?;
    let first = text.get(..first_end).filter(|first| at > first_end && first.contains("  "))?;
    let line_start = before.start + memchr::memrchr(b'\n', bytes.get(before)?)? + 1;
    let above = at - line_start;
    // Nothing stands right before it, as nothing does before the name.
    let alone = |line: &[u8], at: usize| at == 0 || line.get(..at).is_some_and(|before| before.ends_with(GUTTER));
    if !alone(bytes.get(line_start..)?, above) || !alone(first.as_bytes(), above) {
        return None;
    }
    let name = first.get(above..)?.split("  ").next().filter(|name| !name.trim().is_empty())?;
    is_name(name).then(|| above..above + name.len())
}

/// The first line of prose or of code has commas too; the head of a column is a name and no more.
fn is_name(head: &str) -> bool {
    const LONGEST: usize = 48;
    let head = head.trim().trim_matches(['"', '\'', '`']);
    head.len() <= LONGEST && head.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | '#'))
}

/// Signs outside quotes.
fn columns(line: &str, sign: char) -> usize {
    if !line.contains('"') {
        return line.matches(sign).count();
    }
    let mut quoted = false;
    let mut count = 0;
    for c in line.chars() {
        if c == '"' {
            quoted = !quoted;
        } else if c == sign && !quoted {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_statement_is_found_by_the_name_in_its_place() {
        let one =
            "INSERT INTO people (id, name, \"ssn\") VALUES\n(7, 'O''Neil, Jane', '536228719'), (8, 'x', '212097694');";
        for value in ["536228719", "212097694"] {
            let head = inserted(one, one.find(value).unwrap_or_default());
            assert_eq!(head.and_then(|head| one.get(head)).map(str::trim), Some("\"ssn\""), "{value}");
        }
        for text in ["the values (7, 536228719)", "insert into t values (7, '536228719')", "VALUES 536228719"] {
            assert_eq!(inserted(text, text.find("5362").unwrap_or_default()), None, "{text}");
        }
    }

    fn headed(text: &str, at: usize) -> Option<Range<usize>> {
        Tables::of(text).header.and_then(|head| header(text, at, head))
    }

    #[test]
    fn names_of_a_table_stand_above_its_rows_wherever_it_begins() {
        for (text, expected) in [
            ("id,ssn\n7,536228719", Some("ssn")),
            ("Hi, here is what you asked for:\n\nid,name,ssn\n7,Jane,536228719\n", Some("ssn")),
            ("```\n id | ssn       \n----+-----------\n  7 | 536228719 \n", Some("ssn")),
            ("+----+-----------+\n| id | ssn       |\n+----+-----------+\n| 7  | 536228719 |\n", Some("ssn")),
            ("@@ -1,3 +1,4 @@\n id,name,city,ssn\n-6,Jim,Bern,212097694\n+7,Jane,Rome,536228719", Some("ssn")),
            ("id,name,ssn\n6,\"Doe, Jim\",212097694\n7,\"Doe, Jane\",536228719\n", Some("ssn")),
            ("we met, once\n7,536228719", None),
            ("536228719\nid,ssn", None),
        ] {
            let at = text.find("536228719").unwrap_or_default();
            let name = headed(text, at).and_then(|head| text.get(head)).map(str::trim);
            assert_eq!(name.filter(|name| *name == "ssn"), expected, "{text}");
        }
    }

    #[test]
    fn a_value_of_a_dump_or_under_a_name_is_found_by_that_name() {
        let dump =
            "COPY public.people (id, ssn, passport) FROM stdin;\n7\t536228719\tX1234567\n8\t212097694\tX7654321\n\\.\n";
        for (value, name) in [("536228719", "ssn"), ("X7654321", "passport")] {
            let head = copied(dump, dump.find(value).unwrap_or_default());
            assert_eq!(head.and_then(|head| dump.get(head)).map(str::trim), Some(name), "{value}");
        }
        let table = "id    passport    city\n7     X1234567    Bern\n8     X7654321    Rome";
        let head = aligned(table, table.find("X7654321").unwrap_or_default());
        assert_eq!(head.and_then(|head| table.get(head)), Some("passport"));
        for text in ["a  b\nsay X1234567", "one line X1234567", "id    passport\nX1234567  7"] {
            let head = aligned(text, text.find("X1234567").unwrap_or_default());
            assert_ne!(head.and_then(|head| text.get(head)), Some("passport"), "{text}");
        }
    }

    #[test]
    fn the_line_before_speaks_only_of_what_it_does_not_hold_itself() {
        for (text, value, expected) in [
            ("dob=03/03/1933 ok\n2003-02-20", "2003", false),
            ("date of birth\n2003-02-20", "2003", true),
            ("dob 2003-02-20", "2003", true),
            ("isbn,dob,ip\n2003-02-20,", "2003", false),
            ("dob=1980-01-02&x=2003-02-20", "2003", false),
            ("dob 1980-01-02, 2003-02-20", "2003", true),
            ("x: 12345\n- name: DOB1\n  value: 2003-02-20", "2003", true),
        ] {
            let words = ContextWords {
                words: vec!["dob".into(), "date of birth".into()],
                within: 28,
                ..ContextWords::default()
            };
            let at = text.find(value).unwrap_or_default();
            let said =
                Context::new(&words).is_ok_and(|context| context.holds(text, &(at..at + 10), None, Tables::of(text)));
            assert_eq!(said, expected, "{text}");
        }
    }

    #[test]
    fn a_word_denies_the_number_behind_it_and_not_the_next() {
        let words = ContextWords { words: vec!["id".into()], within: 14, ..ContextWords::default() };
        let context = Context::new(&words).map_err(|_| ());
        for (text, expected) in [("id=625-571-799", true), ("?id=235&sin=625-571-799", false)] {
            let at = text.find("625").unwrap_or_default();
            let denied =
                context.as_ref().is_ok_and(|context| context.denies(text, &(at..at + 11), None, Tables::of(text)));
            assert_eq!(denied, expected, "{text}");
        }
    }

    #[test]
    fn a_column_is_found_by_its_head_and_no_more_than_two_lines_are_read() {
        let table = "id,passport\n1,X1234567\n\"2, or 3\",X7654321\n";
        for value in ["X1234567", "X7654321"] {
            let head = headed(table, table.find(value).unwrap_or_default());
            assert_eq!(head.and_then(|head| table.get(head)), Some("passport"), "{value}");
        }
        let long = "X12345678 ".repeat(400_000);
        let (head, before) = margins(long.as_bytes(), long.len()).unwrap_or_default();
        assert!(head.len() + before.len() <= 2 * (LONGEST_LINE + 1));
        assert_eq!(headed(&format!("id,passport\n{long}"), 3_000_000), None, "a line of a table is not so long");
    }
}
