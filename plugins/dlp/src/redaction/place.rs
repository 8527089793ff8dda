//! Where a walk is, and what the names on the way there say of it.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::Redaction;
use super::labels::{is_measure, is_value};
use super::string::unescaped;
use crate::paths::Alive;
use crate::{Action, mask};

#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub parent: Option<&'p Place<'p>>,
    pub step: Step<'p>,
    pub alive: Alive,
    pub depth: usize,
    /// Where the object or the list begins that it lies in.
    pub within: usize,
    /// Where it is in the document: no other place begins there.
    pub written: usize,
    /// The member's name as it stands there now, where it was masked.
    pub now: Option<&'p str>,
    /// What others say that this is: a `name` beside a `value`, the head of a column.
    pub said: &'p [Said<'p>],
    /// A name that something points at: it and the value are read together, as they would be in a text.
    pub label: Option<&'p str>,
    /// The heads of the columns, where the place is a table, and where it is a row of one.
    pub table: &'p [Said<'p>],
    pub row: &'p [Said<'p>],
}

/// A name for a value that is not the name of its member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'p> {
    pub name: &'p str,
    pub pointed_at: bool,
}

/// The names around a value: its own, and those above it.
pub(super) struct Names<'n> {
    pub own: &'n str,
    pub above: Above,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Above {
    Nobody,
    /// The nearest of them stands here in the document, and has all others above it.
    At(usize),
    /// They are all written down with the name itself.
    Said,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'p> {
    Top,
    Member(&'p str),
    Element(usize),
}

/// Names beyond the nearest ones say nothing of a value.
const MOST_NAMES: usize = 3;
/// What most pointers have room in, and most of their steps.
const USUAL_POINTER: usize = 64;
const USUAL_STEP: usize = 16;

/// The pointer to an object or a list, by the place where that begins.
#[derive(Default)]
pub(super) struct Way {
    within: Option<usize>,
    pointer: String,
}

impl<'p> Place<'p> {
    pub fn top(alive: Alive) -> Self {
        let (said, table, row): (&[Said<'_>], &[Said<'_>], &[Said<'_>]) = (&[], &[], &[]);
        Self {
            parent: None,
            step: Step::Top,
            alive,
            depth: 0,
            within: 0,
            written: 0,
            now: None,
            said,
            label: None,
            table,
            row,
        }
    }

    /// One member further in; `pointed_at` says whether something points at its name.
    pub fn member(&'p self, name: &'p str, alive: Alive, pointed_at: bool, said: &'p [Said<'p>]) -> Self {
        let said_label = said.iter().find(|said| said.pointed_at).map(|said| said.name);
        // `{"password":{"value":..}}`: a name that says nothing lets the one above it speak.
        let label = said_label.or(pointed_at.then_some(name)).or(self.label.filter(|_| is_value(name)));
        Self { parent: Some(self), step: Step::Member(name), depth: self.depth + 1, said, label, ..Self::top(alive) }
    }

    pub fn element(&'p self, index: usize, alive: Alive, said: &'p [Said<'p>]) -> Self {
        let label = said.iter().find(|said| said.pointed_at).map(|said| said.name).or(self.label);
        Self { parent: Some(self), step: Step::Element(index), depth: self.depth + 1, said, label, ..Self::top(alive) }
    }

    /// The name of the nearest member.
    pub fn key(&self) -> Option<&'p str> {
        match self.step {
            Step::Member(name) => Some(name),
            Step::Element(_) => self.parent.and_then(Place::key),
            Step::Top => None,
        }
    }

    /// What `context` depends on, without writing it; `None` where others than names say something, too.
    pub fn names(&self) -> Option<Names<'p>> {
        let (own, above) = self.named()?;
        let above = match above {
            Some(place) => place.named()?.0.map_or(Above::Nobody, |place| Above::At(place.written)),
            None => Above::Nobody,
        };
        Some(Names { own: own.map_or("", Place::name), above })
    }

    /// The nearest place that has a name, and what it lies in; `None` where something is said of one of those before it.
    fn named(&self) -> Option<(Option<&Self>, Option<&'p Self>)> {
        let mut place = self;
        while place.said.is_empty() {
            match (place.step, place.parent) {
                (Step::Element(_), Some(parent)) => place = parent,
                (Step::Member(_), parent) => return Some((Some(place), parent)),
                _ => return Some((None, None)),
            }
        }
        None
    }

    fn name(&self) -> &'p str {
        if let Step::Member(name) = self.step { name } else { "" }
    }

    /// What the names around it say of a value, as a text would say it: `passport number: passport_number`.
    pub fn context(&self, out: &mut String) {
        out.clear();
        let mut names: SmallVec<[&str; 8]> = SmallVec::new();
        let own = self.key();
        let mut at = Some(self);
        while let Some(place) = at.filter(|_| names.len() < MOST_NAMES) {
            if let Step::Member(name) = place.step {
                names.push(name);
                // A count of passports is no passport.
                if is_measure(name) {
                    break;
                }
            }
            let said = place.said.iter().map(|said| said.name).filter(|name| !name.is_empty() && !is_measure(name));
            names.extend(said.filter(|_| !own.is_some_and(is_measure)));
            at = place.parent;
        }
        for name in names.iter().rev() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(name);
        }
        if !out.is_empty() {
            out.push(':');
        }
        if names.len() > 1 {
            out.push(' ');
            for (index, name) in names.iter().rev().enumerate() {
                if index > 0 {
                    out.push('_');
                }
                out.push_str(name);
            }
        }
    }

    /// A JSON pointer into the document as it is now.
    pub fn pointer(&self) -> String {
        self.pointer_with(&|place, name| place.now.map_or_else(|| readable(name), Cow::Borrowed))
    }

    /// The same; most values lie where the one before them did, and the way there is written down once.
    pub fn pointer_from(&self, known: &mut Way) -> String {
        let Some(parent) = self.parent else { return String::new() };
        let shown = |place: &Self, name: &'p str| place.now.map_or_else(|| readable(name), Cow::Borrowed);
        if known.within != Some(self.within) {
            known.within = Some(self.within);
            known.pointer.clear();
            parent.write_pointer(&shown, &mut known.pointer);
        }
        let mut out = String::with_capacity(known.pointer.len() + USUAL_STEP);
        out.push_str(&known.pointer);
        self.write_step(&shown, &mut out);
        out
    }

    /// The same for people to read: a name may be a value itself, whether or not it is one that is masked.
    pub fn told(&self, redaction: &Redaction<'_>) -> String {
        let told = |name: &str| Cow::Owned(redaction.told_name(&readable(name)));
        self.pointer_with(&|place, name| place.now.map_or_else(|| told(name), Cow::Borrowed))
    }

    fn pointer_with(&self, shown: &dyn Fn(&Self, &'p str) -> Cow<'p, str>) -> String {
        let mut out = String::with_capacity(USUAL_POINTER);
        self.write_pointer(shown, &mut out);
        out
    }

    fn write_pointer(&self, shown: &dyn Fn(&Self, &'p str) -> Cow<'p, str>, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write_pointer(shown, out);
        }
        self.write_step(shown, out);
    }

    fn write_step(&self, shown: &dyn Fn(&Self, &'p str) -> Cow<'p, str>, out: &mut String) {
        match self.step {
            Step::Top => {}
            Step::Member(name) => {
                out.push('/');
                let shown = shown(self, name);
                // Byte by byte: there is a pointer for every value that is changed, and nearly no name has either.
                if shown.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
                    out.push_str(&shown.replace('~', "~0").replace('/', "~1"));
                } else {
                    out.push_str(&shown);
                }
            }
            Step::Element(index) => write_index(index, out),
        }
    }
}

fn write_index(index: usize, out: &mut String) {
    out.push('/');
    let mut power = 1;
    while index / power >= 10 {
        power *= 10;
    }
    while power > 0 {
        out.push(char::from(b'0' + u8::try_from(index / power % 10).unwrap_or_default()));
        power /= 10;
    }
}

fn readable(raw: &str) -> Cow<'_, str> {
    unescaped(raw).map_or(Cow::Borrowed(raw), |map| Cow::Owned(map.text().to_owned()))
}

impl Redaction<'_> {
    /// A name without whatever any rule finds in it, and never a long one.
    fn told_name(&self, name: &str) -> String {
        const LONGEST: usize = 96;
        let mut out = String::new();
        let mut at = 0;
        for one in self.findings(name, None, false) {
            let rule = self.sets.get(one.set).and_then(|set| set.rule(one.rule));
            out.push_str(name.get(at..one.start).unwrap_or_default());
            out.push_str(&rule.map_or_else(String::new, |rule| mask::text(rule, Action::Mask, &one.value, self.key)));
            at = one.end.max(at);
        }
        out.push_str(name.get(at..).unwrap_or_default());
        match out.char_indices().nth(LONGEST) {
            Some((cut, _)) => format!("{}…", out.get(..cut).unwrap_or_default()),
            None => out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_speak_unless_the_value_is_a_measure() {
        let top = Place::top(Alive::NONE);
        let passport = top.member("passport", Alive::NONE, false, &[]);
        let element = passport.element(0, Alive::NONE, &[]);
        let said = [Said { name: "PIN", pointed_at: false }];
        let mut text = String::new();
        for (place, expected) in [
            (element.member("number", Alive::NONE, false, &[]), "passport number: passport_number"),
            (element.member("created_at", Alive::NONE, false, &[]), "created_at:"),
            (top.member("value", Alive::NONE, false, &said), "PIN value: PIN_value"),
            (element, "passport:"),
            (top, ""),
        ] {
            place.context(&mut text);
            assert_eq!(text, expected);
        }
    }
}
