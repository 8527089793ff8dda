//! Names of members that were masked, and may have become the same.

use std::collections::{HashMap, HashSet};

use super::step::Look;
use super::string::unescaped;
use super::walk::Walk;
use crate::mapped::Mapped;

/// The names of one object.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// The number that a masked name gets next.
    next: HashMap<String, u32>,
}

impl Walk<'_, '_> {
    /// The name, or the name with the first number that nobody in the object has.
    pub(super) fn unique(&mut self, object: usize, name: &str) -> String {
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
