//! Changes to a text, made all at once.

use std::ops::Range;

#[derive(Debug, Default)]
pub(super) struct Edits {
    all: Vec<Edit>,
    /// How far any edit up to this one reaches: who looks from the end knows when to stop.
    reach: Vec<usize>,
}

/// A set of detectors, and a rule of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Which {
    pub set: usize,
    pub rule: u16,
}

/// A part of a text, what stands there now, and which rule says so.
pub(crate) type Changed = (Range<usize>, String, Which);

#[derive(Debug)]
struct Edit {
    start: usize,
    end: usize,
    with: String,
    which: Which,
    /// A value over several pieces: what was found in one piece alone gives way.
    wide: bool,
}

impl Edits {
    pub fn add(&mut self, range: Range<usize>, with: String, which: Which) {
        self.push(Edit { start: range.start, end: range.end, with, which, wide: false });
    }

    pub fn add_wide(&mut self, range: Range<usize>, with: String, which: Which) {
        self.push(Edit { start: range.start, end: range.end, with, which, wide: true });
    }

    fn push(&mut self, edit: Edit) {
        self.reach.push(edit.end.max(self.reach.last().copied().unwrap_or_default()));
        self.all.push(edit);
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether an edit touches this part of the text. Asked for every joined piece about the newest edits, so it begins with them.
    pub fn touches(&self, range: &Range<usize>) -> bool {
        self.near(range).any(|edit| edit.start < range.end && range.start < edit.end)
    }

    /// From the last backwards, as long as one may still reach the range.
    fn near(&self, range: &Range<usize>) -> impl Iterator<Item = &Edit> {
        let reaching = self.all.iter().zip(&self.reach).rev().take_while(|(_, reach)| **reach > range.start);
        reaching.map(|(edit, _)| edit)
    }

    /// As they were added: the range, what stands there now, why, and whether it is part of something wide.
    pub fn into_parts(self) -> impl Iterator<Item = (Changed, bool)> {
        self.all.into_iter().map(|edit| ((edit.start..edit.end, edit.with, edit.which), edit.wide))
    }

    /// In order and without overlaps.
    pub fn merged(mut self) -> Vec<Changed> {
        self.all.sort_by_key(|edit| (edit.start, !edit.wide));
        let mut merged: Vec<Edit> = Vec::with_capacity(self.all.len());
        for edit in self.all {
            match merged.last_mut() {
                // Two readings of the same place: all of it goes.
                Some(last) if edit.start < last.end => {
                    last.end = last.end.max(edit.end);
                    if edit.wide && !last.wide {
                        (last.with, last.which, last.wide) = (edit.with, edit.which, true);
                    }
                }
                _ => merged.push(edit),
            }
        }
        merged.into_iter().map(|edit| (edit.start..edit.end, edit.with, edit.which)).collect()
    }

    /// The text as it is now; `None` where nothing is changed.
    pub fn applied(self, text: &str) -> Option<String> {
        if self.all.is_empty() { None } else { Some(with_changes(text, &self.merged())) }
    }
}

/// A text with all of these made, which are in order.
pub(super) fn with_changes(text: &str, changes: &[Changed]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, with, _) in changes {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(with);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The text as it stands between quotes in JSON.
pub(super) fn escaped(text: String) -> String {
    // Masks are written with plain letters.
    if !text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_edits_that_may_reach_a_place_are_asked() {
        let mut edits = Edits::default();
        for at in 0..1000 {
            edits.add(at * 10..at * 10 + 4, String::new(), Which { set: 0, rule: 0 });
        }
        edits.add_wide(9_980..9_994, String::new(), Which { set: 0, rule: 0 });
        assert!(edits.touches(&(9_985..9_989)) && edits.touches(&(9_990..9_991)) && edits.touches(&(3..4)));
        assert!(!edits.touches(&(9_974..9_980)) && !edits.touches(&(9_994..9_999)));
        let asked = edits.near(&(9_985..9_989)).count();
        assert!(asked < 4, "{asked} of a thousand");
    }
}
