//! Walks a document's tokens where they lie. Strings, keys and numbers that something points at are read; the rest is stepped over.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::edits::{Edits, escaped};
use super::names::Names;
use super::pieces::{MOST_NEIGHBOURS, Neighbourhood, Neighbours};
use super::step::{Look, end_of_string};
use super::string::{About, unescaped};
use super::{Kind, Redaction, UNREADABLE};
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
    pub at: usize,
    pub nested: u8,
    pub found: &'w mut Counts,
    pub edits: &'w mut Edits,
    /// Places that deserve a look, in order; what lies before `next` is behind us.
    spots: SmallVec<[u32; 32]>,
    next: usize,
    all: bool,
    pub outer: Option<Care>,
    /// Texts that are one text in pieces, as they stand between quotes.
    pub pieces: Neighbours,
    /// The names of each object, by its place, that has a masked one: two of one name would be one.
    pub names: HashMap<usize, Names>,
}

/// Where we are.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: Step<'p>,
    alive: Alive,
    depth: usize,
    /// Something points at the member's name: name and value are read together, as they would be in a text.
    labelled: bool,
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

    pub fn pointer(&self) -> String {
        let before = self.parent.map(Place::pointer).unwrap_or_default();
        match self.step {
            Step::Top => before,
            Step::Member(name) => format!("{before}/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Element(index) => format!("{before}/{index}"),
        }
    }
}

pub(super) type Walked<T = ()> = Result<T, Blocked>;

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
            names: HashMap::new(),
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
        let top = Place { parent: None, step: Step::Top, alive, depth: 0, labelled: false };
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
    pub fn pointed_at(&mut self, start: usize, end: usize) -> bool {
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
            let pointed_at = self.pointed_at(start, end);
            let inner = Place {
                parent: Some(place),
                labelled: pointed_at,
                step: Step::Member(raw),
                alive: self.redaction.paths.step(place.alive, raw),
                depth: place.depth + 1,
            };
            let care = self.care(&inner);
            if pointed_at && care != Some(Care::Opaque) {
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
                labelled: false,
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

    pub fn care(&self, place: &Place<'_>) -> Option<Care> {
        self.redaction.paths.ends(place.alive, place.depth).or(self.outer)
    }

    pub fn string(&mut self, start: usize, end: usize, place: &Place<'_>) -> Walked {
        let care = self.care(place);
        if care == Some(Care::Pieces) {
            self.pieces.push((start, end));
        }
        if !self.pointed_at(start, end) && !place.labelled {
            return Ok(());
        }
        let text = self.text;
        let raw = text.get(start..end).unwrap_or_default();
        let about = About { key: place.key(), labelled: place.labelled, care, nested: self.nested };
        let changed = self
            .redaction
            .raw_string(raw, start, about, self.edits, self.found)
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
        let Some(masked) = own.applied(name) else {
            return Ok(());
        };
        let masked = self.unique(object, &masked);
        if self.nested == 0 {
            self.found.edited_at(|| place.parent.map(Place::pointer).unwrap_or_default());
        }
        self.edits.add(start..end, escaped(&masked));
        Ok(())
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
    pub fn skip(&mut self, kind: impl Fn(u8) -> bool) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| kind(*byte)) {
            self.at += 1;
        }
    }

    /// Start and end of what stands between the quotes.
    pub fn quoted(&mut self) -> Walked<(usize, usize)> {
        let start = self.at + 1;
        let end = end_of_string(self.text.as_bytes(), start).ok_or_else(unreadable)?;
        self.at = end + 1;
        Ok((start, end))
    }
}

fn unreadable() -> Blocked {
    Blocked { rule: UNREADABLE.into(), path: String::new() }
}

pub(super) fn blocked(rule: Arc<str>, place: &Place<'_>) -> Blocked {
    Blocked { rule, path: place.pointer() }
}
