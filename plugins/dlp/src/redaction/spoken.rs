//! Whom the names around a value speak of. Rows have the same names, so that most have been heard before.

use smallvec::SmallVec;

use super::place::{Above, Names, Place};
use crate::Detectors;
use crate::detectors::Named;

/// Names that are remembered; a power of two.
const PLACES: usize = 32;

#[derive(Default)]
pub(super) struct Spoken {
    known: Vec<Option<Heard>>,
}

struct Heard {
    own: String,
    above: Above,
    /// For each set of detectors.
    of: SmallVec<[Named; 1]>,
}

impl Spoken {
    /// For each set, those whose words stand in the names around a place. They are written down, in `context`, only where they are
    /// new, or where others than names say something.
    pub fn of(&mut self, sets: &[&Detectors], place: &Place<'_>, context: &mut String) -> &[Named] {
        let names = place.names();
        if names.is_none() {
            place.context(context);
        }
        let Names { own, above } = names.unwrap_or(Names { own: context.as_str(), above: Above::Said });
        if self.known.is_empty() {
            self.known.resize_with(PLACES, || None);
        }
        let Some(known) = self.known.get_mut(kept_at(own, above)) else { return &[] };
        if known.as_ref().is_none_or(|known| known.above != above || known.own != own) {
            let own = own.to_owned();
            place.context(context);
            *known = Some(Heard { own, above, of: sets.iter().map(|set| set.spoken_in(context)).collect() });
        }
        known.as_ref().map_or(&[], |known| &known.of)
    }
}

/// Told from a few of their letters.
fn kept_at(own: &str, above: Above) -> usize {
    let bytes = own.as_bytes();
    let letter = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
    let last = letter(bytes.len().saturating_sub(1));
    let above = if let Above::At(place) = above { place } else { 0 };
    (bytes.len() + letter(0) * 3 + letter(bytes.len() / 2) * 5 + last * 7 + above) % PLACES
}
