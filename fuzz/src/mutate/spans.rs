//! Where the values and members of a text are, if it were JSON. Anything is read; what makes no sense has no spans.

use std::ops::Range;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Every value, keys not among them.
    pub values: Vec<Range<usize>>,
    pub members: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// With its quotes.
    pub key: Range<usize>,
    pub value: Range<usize>,
}

/// One array or object that is still open.
struct Open {
    start: usize,
    /// The key of the member it is the value of.
    key: Option<Range<usize>>,
}

pub fn spans(text: &[u8]) -> Spans {
    let mut found = Spans::default();
    let mut open: Vec<Open> = Vec::new();
    // The string just read, which a colon would turn into a key, and the key whose value is due.
    let mut last: Option<Range<usize>> = None;
    let mut key: Option<Range<usize>> = None;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => open.push(Open { start, key: key.take() }),
            b'}' | b']' => {
                found.settle(last.take(), &mut key);
                if let Some(opened) = open.pop() {
                    key = opened.key;
                    found.settle(Some(opened.start..at), &mut key);
                }
            }
            b',' => {
                found.settle(last.take(), &mut key);
                key = None;
            }
            b':' => key = last.take(),
            b'"' => {
                at = end_of_string(text, at);
                last = Some(start..at);
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                while text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)) {
                    at += 1;
                }
                last = Some(start..at);
            }
        }
    }
    found.settle(last, &mut key);
    found
}

impl Spans {
    fn settle(&mut self, value: Option<Range<usize>>, key: &mut Option<Range<usize>>) {
        let Some(value) = value else { return };
        if let Some(key) = key.take() {
            self.members.push(Member { key, value: value.clone() });
        }
        self.values.push(value);
    }
}

/// The place after the closing quote, or the end of the text.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn values_and_members_are_found_in_any_text() {
        for (text, values, members) in [
            (r#"{"a":1}"#, vec!["1", r#"{"a":1}"#], vec![(r#""a""#, "1")]),
            (r#"[1, "x\"y",null]"#, vec!["1", r#""x\"y""#, "null", r#"[1, "x\"y",null]"#], vec![]),
            (
                r#"{"a":{"b":[]},"c":-1e3}"#,
                vec!["[]", r#"{"b":[]}"#, "-1e3", r#"{"a":{"b":[]},"c":-1e3}"#],
                vec![(r#""b""#, "[]"), (r#""a""#, r#"{"b":[]}"#), (r#""c""#, "-1e3")],
            ),
            (r#"{"a":"#, vec![], vec![]),
            ("}]:,\"", vec!["\""], vec![]),
            ("\"\\", vec!["\"\\"], vec![]),
            ("", vec![], vec![]),
        ] {
            let found = spans(text.as_bytes());
            assert_eq!(found.values.iter().map(|span| &text[span.clone()]).collect::<Vec<_>>(), values, "{text}");
            let pairs: Vec<_> =
                found.members.iter().map(|one| (&text[one.key.clone()], &text[one.value.clone()])).collect();
            assert_eq!(pairs, members, "{text}");
        }
    }
}
