//! Numbers, and texts in base64: parts of a document that are not read as they are written.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::edits::{Edits, with_changes};
use super::labels::is_measure;
use super::place::Place;
use super::step::Look;
use super::string::{About, unescaped};
use super::walk::{Walk, Walked};
use super::{Finding, Kind};
use crate::Care;
use crate::mapped::Mapped;

impl Walk<'_, '_> {
    pub(super) fn number(&mut self, place: &Place<'_>) -> Walked {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E'));
        // A number beside `password` is one; beside `password_changed_at` it is none.
        let label = place.label.filter(|_| !place.key().is_some_and(is_measure));
        let text = self.text;
        let written = text.get(start..self.at).unwrap_or_default();
        let pointed_at = self.pointed_at(start, self.at);
        if label.is_none() && (!pointed_at || (is_full(written) && self.leads_nowhere(start..self.at, place))) {
            return Ok(());
        }
        let plain = in_full(written);
        let shown = plain.as_deref().unwrap_or(written);
        let critical = self.care(place) == Some(Care::Critical);
        let found = self.about(place, |redaction, names| match label {
            Some(label) => redaction.labelled(shown, label, Some(names), critical),
            None => redaction.findings(shown, Some(names), critical),
        });
        let Some(one) = found.into_iter().next() else {
            return Ok(());
        };
        let whole = Finding { value: written.into(), ..one };
        let with =
            self.redaction.replacement(&whole, Kind::Number, self.found).map_err(|rule| self.blocked(rule, place))?;
        if let Some(with) = with {
            self.changed_at(place);
            self.edits.add(start..self.at, with, whole.which());
        }
        Ok(())
    }

    /// Base64 of a text, if the object that holds it says so; otherwise nobody's to read.
    pub(super) fn binary(&mut self, object: usize, place: &Place<'_>) -> Walked {
        let (start, end) = self.quoted()?;
        if !self.says_text(object) {
            return Ok(());
        }
        let raw = self.text.get(start..end).unwrap_or_default();
        let decoded = unescaped(raw);
        let letters: String =
            decoded.as_ref().map_or(raw, Mapped::text).chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let Some(inner) = STANDARD.decode(letters).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return self.string(start, end, place);
        };
        let mut own = Edits::default();
        let about = About { key: place.key(), label: None, care: self.outer, nested: self.nested };
        self.redaction.string(&inner, about, &mut own, self.found).map_err(|rule| self.blocked(rule, place))?;
        let changes = own.merged();
        if let Some((_, _, which)) = changes.first() {
            self.changed_at(place);
            self.edits.add(start..end, STANDARD.encode(with_changes(&inner, &changes)), *which);
        }
        Ok(())
    }

    /// Whether the object that begins at `open` has a `mimeType` of text.
    fn says_text(&self, open: usize) -> bool {
        let mut look = Look { text: self.text.as_bytes(), at: open };
        let text = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        let mime = look.member(|name, value| {
            (text(name) == "mimeType").then(|| text(value).trim_matches('"').to_ascii_lowercase())
        });
        mime.is_some_and(|mime| {
            let kind = mime.split(';').next().unwrap_or_default().trim();
            kind.starts_with("text/")
                || ["application/json", "application/xml", "application/yaml"].contains(&kind)
                || kind.ends_with("+json")
                || kind.ends_with("+xml")
        })
    }
}

/// `4.111111111111111e15` as the integer it is; `None` where it is none or is written as one.
fn in_full(written: &str) -> Option<String> {
    if is_full(written) {
        return None;
    }
    let number: f64 = written.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 1e20).then(|| format!("{number:.0}"))
}

fn is_full(written: &str) -> bool {
    !written.contains(['e', 'E']) && !written.ends_with(".0")
}
