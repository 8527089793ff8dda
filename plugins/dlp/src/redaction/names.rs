//! Names of members that were masked, and may have become the same.

use std::collections::{HashMap, HashSet};

use super::Kind;
use super::edits::{Edits, escaped, with_changes};
use super::place::Place;
use super::step::Look;
use super::string::unescaped;
use super::walk::{Walk, Walked};
use crate::Care;
use crate::mapped::Mapped;

/// The names of one object.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// The number that a masked name gets next.
    next: HashMap<String, u32>,
}

impl Walk<'_, '_> {
    /// A name that is a value, as it is now. Two that become one get numbers.
    pub(super) fn member_name(
        &mut self,
        object: usize,
        start: usize,
        end: usize,
        place: &Place<'_>,
    ) -> Walked<Option<String>> {
        let raw = self.text.get(start..end).unwrap_or_default();
        let decoded = unescaped(raw);
        let name = decoded.as_ref().map_or(raw, Mapped::text);
        let critical = self.care(place) == Some(Care::Critical);
        let mut own = Edits::default();
        for one in self.redaction.findings(name, None, critical) {
            let with =
                self.redaction.replacement(&one, Kind::Text, self.found).map_err(|rule| self.blocked(rule, place))?;
            if let Some(with) = with {
                own.add(one.start..one.end, with, one.which());
            }
        }
        let changes = own.merged();
        let Some((_, _, which)) = changes.first() else {
            return Ok(None);
        };
        let masked = self.unique(object, &with_changes(name, &changes));
        if self.nested == 0 {
            self.found.edited_at(|| place.parent.map(Place::pointer).unwrap_or_default());
        }
        self.edits.add(start..end, escaped(masked.clone()), *which);
        Ok(Some(masked))
    }

    /// The name, or the name with the first number that nobody in the object has.
    fn unique(&mut self, object: usize, name: &str) -> String {
        let text = self.text;
        let names =
            self.names.entry(object).or_insert_with(|| Names { taken: names(text, object), ..Names::default() });
        let next = names.next.entry(name.to_owned()).or_insert(1);
        let mut unique = if *next == 1 { name.to_owned() } else { format!("{name} ({next})") };
        while names.taken.contains(&unique) {
            *next += 1;
            unique = format!("{name} ({next})");
        }
        *next += 1;
        names.taken.insert(unique.clone());
        unique
    }
}

/// Every name of the object that begins there, as it is read.
fn names(text: &str, object: usize) -> HashSet<String> {
    let mut all = HashSet::new();
    let mut look = Look { text: text.as_bytes(), at: object };
    look.member(|name, _| {
        let raw = text.get(name).unwrap_or_default();
        all.insert(unescaped(raw).as_ref().map_or(raw, Mapped::text).to_owned());
        None::<()>
    });
    all
}
