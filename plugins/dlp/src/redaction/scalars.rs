//! Numbers, and texts in base64: parts of a document that are not read as they are written.

use std::ops::Range;

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

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

    /// Base64 of a text is read as the text; what is no base64 is one itself. Whatever says that it is a picture, or is
    /// base64 of something else, is nobody's to read.
    pub(super) fn binary(&mut self, object: usize, place: &Place<'_>) -> Walked {
        let (start, end) = self.quoted()?;
        if self.says_binary(object) {
            return Ok(());
        }
        let raw = self.text.get(start..end).unwrap_or_default();
        let decoded = unescaped(raw);
        let shown = decoded.as_ref().map_or(raw, Mapped::text);
        let inner = match base64_of(shown) {
            Base64::Text(inner) => inner,
            Base64::Other if shown.len() > LONGEST_WORD => return Ok(()),
            // A number or a key has no letter that base64 has not.
            Base64::Other | Base64::Not => return self.string(start, end, place),
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

    /// Whether the object that begins at `open` has a `mimeType` that is no text's.
    fn says_binary(&self, open: usize) -> bool {
        let mut look = Look { text: self.text.as_bytes(), at: open };
        let text = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        let mime = look.member(|name, value| {
            (text(name) == "mimeType").then(|| text(value).trim_matches('"').to_ascii_lowercase())
        });
        mime.is_some_and(|mime| is_binary(mime.split(';').next().unwrap_or_default().trim()))
    }
}

/// Longer base64 that is no text is no number and no key either.
const LONGEST_WORD: usize = 256;
const SHORTEST_LINE: usize = 48;
/// So much of it tells most pictures and archives from texts.
const BEGINNING: usize = 64;

enum Base64 {
    Text(String),
    Other,
    Not,
}

fn base64_of(shown: &str) -> Base64 {
    const EITHER: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    static PLAIN: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, EITHER);
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    // Words without a sign are letters of base64 too, but nobody writes it with blanks or in short lines.
    if shown.contains([' ', '\t']) || shown.find('\n').is_some_and(|end| end < SHORTEST_LINE) {
        return Base64::Not;
    }
    // Read as far as it takes to tell: what is no text says so early, and is long.
    let beginning: Vec<u8> = shown.bytes().filter(|byte| !blank(byte)).take(BEGINNING).collect();
    match PLAIN.decode(&beginning) {
        Err(_) => return Base64::Not,
        Ok(bytes) if is_no_text(&bytes) => return Base64::Other,
        Ok(_) => {}
    }
    let letters: Vec<u8> = shown.bytes().filter(|byte| !blank(byte)).collect();
    match PLAIN.decode(letters).map(String::from_utf8) {
        Ok(Ok(text)) => Base64::Text(text),
        Ok(Err(_)) => Base64::Other,
        Err(_) => Base64::Not,
    }
}

/// A cut character at the end is none yet.
fn is_no_text(beginning: &[u8]) -> bool {
    std::str::from_utf8(beginning).is_err_and(|error| error.error_len().is_some())
}

/// Pictures, sounds, fonts and archives. What only says that it is bytes may be anything.
fn is_binary(mime: &str) -> bool {
    const KINDS: [&str; 4] = ["image/", "audio/", "video/", "font/"];
    const ARCHIVES: [&str; 8] = ["zip", "gzip", "x-gzip", "x-tar", "x-7z-compressed", "vnd.rar", "x-bzip2", "zstd"];
    let written = mime.ends_with("+xml") || mime.ends_with("+json");
    let archive = mime.strip_prefix("application/").is_some_and(|kind| ARCHIVES.contains(&kind));
    !written && (archive || mime.ends_with("+zip") || KINDS.iter().any(|kind| mime.starts_with(kind)))
}

/// `4.111111111111111e15` as the integer it is; `None` where it is none or is written as one.
fn in_full(written: &str) -> Option<String> {
    if is_full(written) {
        return None;
    }
    // Exactly: so many digits as a card may have are more than a float holds.
    if let Some(whole) = written.strip_suffix(".0").filter(|whole| whole.bytes().all(|byte| byte.is_ascii_digit())) {
        return Some(whole.to_owned());
    }
    let number: f64 = written.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 1e20).then(|| format!("{number:.0}"))
}

fn is_full(written: &str) -> bool {
    !written.contains(['e', 'E']) && !written.ends_with(".0")
}
