//! Values that begin with one line and end with another, whatever stands between them: private keys.
//!
//! Between the two nothing is asked of the text, because keys are quoted, numbered, commented and put into tables. A key that is
//! cut goes as far as there are runs that can only be its own.

use std::ops::Range;

use regex_automata::Input;

use super::{Compiled, Detectors};
use crate::material;

/// No key is longer; what begins and does not end within this is not one.
pub(crate) const LONGEST: usize = 64 * 1024;
/// Letters and digits of the shortest key; what is less is a word on keys.
const SHORTEST: usize = 40;
/// Of a key that is cut: between one line of it and the next.
pub(crate) const GAP: usize = 160;
/// The same: how long a run must be to be believed.
pub(crate) const RUN: usize = 16;

/// All of the block that begins with `head`; `None` where there is nothing in it.
pub(super) fn reach(text: &str, head: &Range<usize>, detector: &Compiled) -> Option<Range<usize>> {
    let (begin, until) = (detector.pattern.as_ref()?, detector.until.as_ref()?);
    let limit = text.floor_char_boundary(head.end.saturating_add(LONGEST));
    // Another beginning ends this one: what follows is its own.
    let next = begin.search(&Input::new(text).span(head.end..limit));
    let stop = next.map_or(limit, |next| next.start());
    if let Some(end) = until.search(&Input::new(text).span(head.end..stop)) {
        let inner = text.get(head.end..end.start()).unwrap_or_default();
        let letters = inner.bytes().filter(u8::is_ascii_alphanumeric).take(SHORTEST).count();
        return (letters == SHORTEST).then(|| head.start..end.end());
    }
    let rest = text.get(head.end..stop).unwrap_or_default();
    let mut end = 0;
    for run in material::runs(rest, RUN) {
        if run.start - end > GAP {
            break;
        }
        end = run.end;
    }
    (end > 0).then(|| head.start..head.end + end)
}

impl Detectors {
    /// The block that begins in a text and does not end in it: whose it is, and where its first line lies.
    pub(crate) fn open_block(&self, text: &str) -> Option<(u16, Range<usize>)> {
        self.blocks.iter().find_map(|index| {
            let detector = self.compiled.get(usize::from(*index))?;
            let last = detector.pattern.as_ref()?.find_iter(text).last()?.range();
            let ended = detector.until.as_ref()?.search(&Input::new(text).span(last.end..text.len()));
            ended.is_none().then_some((*index, last))
        })
    }

    /// Whether one begins in a text, wherever it ends.
    pub(crate) fn begins_block(&self, text: &str) -> bool {
        let detectors = self.blocks.iter().filter_map(|index| self.compiled.get(usize::from(*index)));
        detectors.filter_map(|detector| detector.pattern.as_ref()).any(|pattern| pattern.is_match(text))
    }

    /// Where a block ends that began before this text.
    pub(crate) fn end_of_block(&self, rule: u16, text: &str) -> Option<usize> {
        let until = self.compiled.get(usize::from(rule))?.until.as_ref()?;
        until.find(text).map(|end| end.end())
    }
}
