//! Walks a document's tokens where they lie. Strings, keys and numbers that something points at are read; the rest is stepped over.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use smallvec::SmallVec;

use super::edits::{Edits, escaped};
use super::pieces::{MOST_NEIGHBOURS, Neighbourhood, Neighbours};
use super::string::unescaped;
use super::{Finding, Kind, Redaction, UNREADABLE};
use crate::mapped::Mapped;
use crate::paths::Alive;
use crate::{Blocked, Care, Counts};

/// The walk recurses; documents beyond this were refused before they came here.
const DEEPEST: usize = 512;
/// More places than this are not remembered: then everything is read.
const MOST_SPOTS: usize = 4096;

pub(super) struct Walk<'w, 'a> {
    pub redaction: &'w Redaction<'a>,
    pub text: &'w str,
    at: usize,
    nested: u8,
    pub found: &'w mut Counts,
    pub edits: &'w mut Edits,
    /// Places that deserve a look, in order; what lies before `next` is behind us.
    spots: SmallVec<[u32; 32]>,
    next: usize,
    all: bool,
    outer: Option<Care>,
    /// Texts that are one text in pieces, as they stand between quotes.
    pub pieces: Neighbours,
    /// Masked keys, and the object each stands in: two of one name would be one.
    masked_keys: Vec<(usize, String)>,
}

/// Where we are.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: Step<'p>,
    alive: Alive,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Top,
    Member(&'p str),
    Element(usize),
}

impl Place<'_> {
    /// The name of the nearest member.
    pub fn key(&self) -> Option<&str> {
        match self.step {
            Step::Member(name) => Some(name),
            Step::Element(_) => self.parent.and_then(Place::key),
            Step::Top => None,
        }
    }

    fn pointer(&self) -> String {
        let before = self.parent.map(Place::pointer).unwrap_or_default();
        match self.step {
            Step::Top => before,
            Step::Member(name) => format!("{before}/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Element(index) => format!("{before}/{index}"),
        }
    }
}

type Walked<T = ()> = Result<T, Blocked>;

impl<'w, 'a> Walk<'w, 'a> {
    pub fn new(
        redaction: &'w Redaction<'a>,
        text: &'w str,
        nested: u8,
        found: &'w mut Counts,
        edits: &'w mut Edits,
    ) -> Self {
        Self {
            redaction,
            text,
            at: 0,
            nested,
            found,
            edits,
            spots: SmallVec::new(),
            next: 0,
            all: false,
            outer: None,
            pieces: Neighbours::new(),
            masked_keys: Vec::new(),
        }
    }

    /// For a document inside a string: what holds for the string holds for all of it.
    pub fn under(mut self, care: Option<Care>) -> Self {
        self.outer = care.filter(|care| *care == Care::Critical);
        self
    }

    pub fn document(mut self) -> Walked {
        self.gather();
        let alive = if self.nested == 0 { self.redaction.paths.start() } else { Alive::NONE };
        let top = Place { parent: None, step: Step::Top, alive, depth: 0 };
        self.value(&top)?;
        self.blank();
        if self.at < self.text.len() {
            return Err(unreadable());
        }
        let pieces = std::mem::take(&mut self.pieces);
        self.join(&pieces, Neighbourhood::Pieces, &top)
    }

    fn gather(&mut self) {
        for set in &self.redaction.sets {
            self.all |= set.reads_everything();
            let (spots, all) = (&mut self.spots, &mut self.all);
            set.suspicious(self.text.as_bytes(), |at| {
                if spots.len() >= MOST_SPOTS {
                    *all = true;
                }
                spots.push(u32::try_from(at).unwrap_or(u32::MAX));
                !*all
            });
        }
        self.spots.sort_unstable();
    }

    /// Whether something lies in this part, which must not begin before the last one that was asked for.
    fn pointed_at(&mut self, start: usize, end: usize) -> bool {
        while self.spots.get(self.next).is_some_and(|spot| (*spot as usize) < start) {
            self.next += 1;
        }
        self.all || self.spots.get(self.next).is_some_and(|spot| (*spot as usize) < end)
    }

    fn value(&mut self, place: &Place<'_>) -> Walked {
        if place.depth > DEEPEST {
            return Err(unreadable());
        }
        match self.peek() {
            Some(b'{') => self.object(place),
            Some(b'[') => self.array(place),
            Some(b'"') => {
                let (start, end) = self.quoted()?;
                self.string(start, end, place)
            }
            Some(b'-' | b'0'..=b'9') => self.number(place),
            Some(b'a'..=b'z') => {
                self.skip(|byte| byte.is_ascii_lowercase());
                Ok(())
            }
            _ => Err(unreadable()),
        }
    }

    fn object(&mut self, place: &Place<'_>) -> Walked {
        let open = self.at;
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut run = Neighbours::new();
        loop {
            if self.peek() != Some(b'"') {
                return Err(unreadable());
            }
            let (start, end) = self.quoted()?;
            let text = self.text;
            let raw = text.get(start..end).unwrap_or_default();
            let inner = Place {
                parent: Some(place),
                step: Step::Member(raw),
                alive: self.redaction.paths.step(place.alive, raw),
                depth: place.depth + 1,
            };
            let care = self.care(&inner);
            if self.pointed_at(start, end) && care != Some(Care::Opaque) {
                self.member_name(open, start, end, &inner)?;
            }
            if self.peek() != Some(b':') {
                return Err(unreadable());
            }
            self.at += 1;
            let is_text = self.peek() == Some(b'"') && care.is_none();
            match care {
                Some(Care::Opaque) => self.step_over()?,
                Some(Care::Binary) if self.peek() == Some(b'"') => self.binary(open, &inner)?,
                _ => {
                    let before = self.at;
                    self.value(&inner)?;
                    if is_text && run.len() <= MOST_NEIGHBOURS {
                        run.push((before + 1, self.at.saturating_sub(1)));
                    }
                }
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(unreadable()),
            }
        }
        self.at += 1;
        self.join(&run, Neighbourhood::Members, place)
    }

    fn array(&mut self, place: &Place<'_>) -> Walked {
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        let mut run = Neighbours::new();
        let mut index = 0;
        loop {
            let inner = Place {
                parent: Some(place),
                step: Step::Element(index),
                alive: self.redaction.paths.element(place.alive, index),
                depth: place.depth + 1,
            };
            let is_text = self.peek() == Some(b'"');
            if self.care(&inner) == Some(Care::Opaque) {
                self.step_over()?;
            } else {
                let before = self.at;
                self.value(&inner)?;
                if is_text && run.len() <= MOST_NEIGHBOURS {
                    run.push((before + 1, self.at.saturating_sub(1)));
                }
            }
            index += 1;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(unreadable()),
            }
        }
        self.at += 1;
        self.join(&run, Neighbourhood::Elements, place)
    }

    fn care(&self, place: &Place<'_>) -> Option<Care> {
        self.redaction.paths.ends(place.alive, place.depth).or(self.outer)
    }

    fn string(&mut self, start: usize, end: usize, place: &Place<'_>) -> Walked {
        let care = self.care(place);
        if care == Some(Care::Pieces) {
            self.pieces.push((start, end));
        }
        if !self.pointed_at(start, end) {
            return Ok(());
        }
        let text = self.text;
        let raw = text.get(start..end).unwrap_or_default();
        let changed = self
            .redaction
            .raw_string(raw, start, place.key(), care, self.nested, self.edits, self.found)
            .map_err(|rule| blocked(rule, place))?;
        if changed && self.nested == 0 {
            self.found.edited_at(|| place.pointer());
        }
        Ok(())
    }

    /// A name that is a value. Two that become one get numbers.
    fn member_name(&mut self, object: usize, start: usize, end: usize, place: &Place<'_>) -> Walked {
        let raw = self.text.get(start..end).unwrap_or_default();
        let decoded = unescaped(raw);
        let name = decoded.as_ref().map_or(raw, Mapped::text);
        let critical = self.care(place) == Some(Care::Critical);
        let mut own = Edits::default();
        for one in self.redaction.findings(name, None, critical) {
            let with = self.redaction.replacement(&one, Kind::Text, self.found).map_err(|rule| blocked(rule, place))?;
            if let Some(with) = with {
                own.add(one.start..one.end, with);
            }
        }
        let Some(mut masked) = own.applied(name) else {
            return Ok(());
        };
        let twins = self.masked_keys.iter().filter(|(of, name)| *of == object && *name == masked).count();
        self.masked_keys.push((object, masked.clone()));
        if twins > 0 {
            masked = format!("{masked} ({})", twins + 1);
        }
        if self.nested == 0 {
            self.found.edited_at(|| place.parent.map(Place::pointer).unwrap_or_default());
        }
        self.edits.add(start..end, escaped(&masked));
        Ok(())
    }

    fn number(&mut self, place: &Place<'_>) -> Walked {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E'));
        if !self.pointed_at(start, self.at) {
            return Ok(());
        }
        let text = self.text;
        let written = text.get(start..self.at).unwrap_or_default();
        let plain = in_full(written);
        let shown = plain.as_deref().unwrap_or(written);
        let critical = self.care(place) == Some(Care::Critical);
        let Some(one) = self.redaction.findings(shown, place.key(), critical).into_iter().next() else {
            return Ok(());
        };
        let whole = Finding { value: written.into(), ..one };
        let with = self.redaction.replacement(&whole, Kind::Number, self.found).map_err(|rule| blocked(rule, place))?;
        if let Some(with) = with {
            if self.nested == 0 {
                self.found.edited_at(|| place.pointer());
            }
            self.edits.add(start..self.at, with);
        }
        Ok(())
    }

    /// Base64 of a text, if the object that holds it says so; otherwise nobody's to read.
    fn binary(&mut self, object: usize, place: &Place<'_>) -> Walked {
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
        self.redaction
            .string(&inner, place.key(), self.outer, self.nested, &mut own, self.found)
            .map_err(|rule| blocked(rule, place))?;
        if let Some(edited) = own.applied(&inner) {
            if self.nested == 0 {
                self.found.edited_at(|| place.pointer());
            }
            self.edits.add(start..end, STANDARD.encode(edited));
        }
        Ok(())
    }

    /// Whether the object that begins at `open` has a `mimeType` of text.
    fn says_text(&self, open: usize) -> bool {
        let mut look = Look { text: self.text.as_bytes(), at: open };
        look.mime_type(self.text).is_some_and(|mime| {
            let mime = mime.to_ascii_lowercase();
            ["text/", "application/json", "application/xml", "application/yaml"]
                .iter()
                .any(|known| mime.starts_with(known))
                || ["+json", "+xml"]
                    .iter()
                    .any(|known| mime.split(';').next().unwrap_or_default().trim().ends_with(known))
        })
    }

    fn step_over(&mut self) -> Walked {
        let mut look = Look { text: self.text.as_bytes(), at: self.at };
        look.value().ok_or_else(unreadable)?;
        self.at = look.at;
        Ok(())
    }

    fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        self.skip(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    }

    #[inline]
    fn skip(&mut self, kind: impl Fn(u8) -> bool) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| kind(*byte)) {
            self.at += 1;
        }
    }

    /// Start and end of what stands between the quotes.
    fn quoted(&mut self) -> Walked<(usize, usize)> {
        let start = self.at + 1;
        let end = end_of_string(self.text.as_bytes(), start).ok_or_else(unreadable)?;
        self.at = end + 1;
        Ok((start, end))
    }
}

fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let sign = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(sign) == Some(&b'"') {
            return Some(sign);
        }
        at = sign + 2;
    }
}

/// A reader that only steps over things.
struct Look<'t> {
    text: &'t [u8],
    at: usize,
}

impl Look<'_> {
    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.text.get(self.at)? {
                b'"' => self.at = end_of_string(self.text, self.at + 1)? + 1,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    let plain = |byte: &u8| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
                    self.at += self.text.get(self.at..)?.iter().take_while(|byte| plain(byte)).count();
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn mime_type<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        self.at += 1;
        loop {
            self.blank();
            let start = self.at + 1;
            let end = end_of_string(self.text, start)?;
            self.at = end + 1;
            self.blank();
            self.at += 1;
            self.blank();
            if text.get(start..end)? == "mimeType" && self.text.get(self.at) == Some(&b'"') {
                let start = self.at + 1;
                return text.get(start..end_of_string(self.text, start)?);
            }
            self.value()?;
            self.blank();
            if self.text.get(self.at) != Some(&b',') {
                return None;
            }
            self.at += 1;
        }
    }

    fn blank(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}

/// `4.111111111111111e15` as the integer it is; `None` where it is none or is written as one.
fn in_full(written: &str) -> Option<String> {
    if !written.contains(['e', 'E']) && !written.ends_with(".0") {
        return None;
    }
    let number: f64 = written.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 1e20).then(|| format!("{number:.0}"))
}

fn unreadable() -> Blocked {
    Blocked { rule: UNREADABLE.into(), path: String::new() }
}

pub(super) fn blocked(rule: Arc<str>, place: &Place<'_>) -> Blocked {
    Blocked { rule, path: place.pointer() }
}
