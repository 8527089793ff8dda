//! One string: read as text, or as the document that it holds.

use std::sync::Arc;

use gateway_protocol::json;

use super::edits::{Edits, escaped};
use super::walk::Walk;
use super::{Finding, Kind, Redaction};
use crate::mapped::{Mapped, small};
use crate::{Care, Counts};

/// Documents in strings of documents in strings: so many are walked, and deeper ones are read as text.
const NESTED: u8 = 3;
/// Documents that nest deeper are read as text.
const DEEPEST: usize = 128;

/// What is known of a string.
#[derive(Clone, Copy, Default)]
pub(super) struct About<'p> {
    /// What the names around it say (`Place::context`).
    pub key: Option<&'p str>,
    /// A name to read it together with: `"password":"..."` says more than its value alone.
    pub label: Option<&'p str>,
    pub care: Option<Care>,
    /// How many documents it lies in that lie in strings.
    pub nested: u8,
}

impl Redaction<'_> {
    /// Edits are of `text`, which is what a reader of the document would see.
    pub(super) fn string(
        &self,
        text: &str,
        about: About<'_>,
        edits: &mut Edits,
        found: &mut Counts,
    ) -> Result<(), Arc<str>> {
        if about.nested < NESTED && holds_document(text) {
            let walk = Walk::new(self, text, about.nested + 1, found, edits).under(about.care);
            return walk.document().map_err(|blocked| blocked.rule);
        }
        let critical = about.care == Some(Care::Critical);
        let mut findings = match about.label {
            Some(label) => self.labelled(text, label, about.key, critical),
            None => self.findings(text, about.key, critical),
        };
        findings.retain(|one| one.start < one.end);
        for one in findings {
            if let Some(with) = self.replacement(&one, Kind::Text, found)? {
                edits.add(one.start..one.end, with, one.which());
            }
        }
        Ok(())
    }

    /// What is found in a member as a whole, as far as it lies in its value.
    pub(super) fn labelled(&self, text: &str, label: &str, key: Option<&str>, critical: bool) -> Vec<Finding> {
        let label = format!("\"{label}\":\"");
        let mut findings = self.findings(&format!("{label}{text}\""), key, critical);
        for one in &mut findings {
            one.start = one.start.saturating_sub(label.len());
            one.end = one.end.saturating_sub(label.len()).min(text.len());
        }
        // What was found in the label alone is found where the name is read.
        findings.retain(|one| one.start < one.end);
        findings
    }

    /// The same for what stands between quotes: edits are of the raw text, which begins at `offset`.
    pub(super) fn raw_string(
        &self,
        raw: &str,
        offset: usize,
        about: About<'_>,
        edits: &mut Edits,
        found: &mut Counts,
    ) -> Result<bool, Arc<str>> {
        let mut own = Edits::default();
        let decoded = unescaped(raw);
        let text = decoded.as_ref().map_or(raw, Mapped::text);
        self.string(text, about, &mut own, found)?;
        let changed = !own.is_empty();
        for ((range, with, which), wide) in own.into_parts() {
            let range = decoded.as_ref().map_or(range.clone(), |map| map.origin(range));
            let range = offset + range.start..offset + range.end;
            match wide {
                true => edits.add_wide(range, escaped(with), which),
                false => edits.add(range, escaped(with), which),
            }
        }
        Ok(changed)
    }
}

/// An object or an array, whole and nothing else.
pub(super) fn holds_document(text: &str) -> bool {
    let trimmed = text.trim();
    let brackets =
        (trimmed.starts_with('{') && trimmed.ends_with('}')) || (trimmed.starts_with('[') && trimmed.ends_with(']'));
    brackets && trimmed.len() > 2 && json::check(text.as_bytes(), DEEPEST).is_ok()
}

/// What a JSON reader makes of the text between quotes; `None` where that is the text itself.
pub(super) fn unescaped(raw: &str) -> Option<Mapped> {
    let bytes = raw.as_bytes();
    let mut at = memchr::memchr(b'\\', bytes)?;
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut from: Vec<u32> = Vec::with_capacity(bytes.len() + 1);
    out.extend_from_slice(bytes.get(..at)?);
    from.extend((0..at).map(small));
    while let Some(&byte) = bytes.get(at) {
        let mut length = 1;
        if byte == b'\\' {
            length = 2;
            match bytes.get(at + 1) {
                Some(b'n') => out.push(b'\n'),
                Some(b't') => out.push(b'\t'),
                Some(b'r') => out.push(b'\r'),
                Some(b'b') => out.push(8),
                Some(b'f') => out.push(12),
                Some(b'u') => {
                    let (c, taken) = unicode(bytes.get(at..).unwrap_or_default());
                    length = taken;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(other) => out.push(*other),
                None => {}
            }
        } else {
            out.push(byte);
        }
        from.resize(out.len(), small(at));
        at += length;
    }
    Some(Mapped::of_bytes(out, from, raw.len()))
}

/// `\uXXXX`, two of them for a character beyond 16 bits.
fn unicode(rest: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let digits = rest.get(at + 2..at + 6).filter(|_| rest.get(at..at + 2) == Some(b"\\u"))?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
            (char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)).unwrap_or('?'), 12)
        }
        (Some(code), _) => (char::from_u32(code).unwrap_or('?'), 6),
        (None, _) => ('?', 2),
    }
}
