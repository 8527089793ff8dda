//! Whom the names around a value speak of. Rows have the same names, so that most have been heard before.

use smallvec::SmallVec;

use crate::Detectors;
use crate::detectors::Bits;

/// Names that are remembered; a power of two.
const PLACES: usize = 16;

#[derive(Default)]
pub(super) struct Spoken {
    known: Vec<Heard>,
}

#[derive(Default, Clone)]
struct Heard {
    names: String,
    /// For each set of detectors.
    of: SmallVec<[Bits; 1]>,
}

impl Spoken {
    /// For each set, those whose words stand in the names.
    pub fn of(&mut self, sets: &[&Detectors], names: &str) -> &[Bits] {
        if self.known.is_empty() {
            self.known.resize(PLACES, Heard::default());
        }
        let Some(heard) = self.known.get_mut(place(names)) else { return &[] };
        if heard.of.is_empty() || heard.names != names {
            heard.names.clear();
            heard.names.push_str(names);
            heard.of = sets.iter().map(|set| set.spoken_in(names)).collect();
        }
        &heard.of
    }
}

/// Where names are kept, told from a few of their letters.
fn place(names: &str) -> usize {
    let bytes = names.as_bytes();
    let letter = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
    (bytes.len() ^ letter(0) ^ letter(bytes.len() / 2) << 1 ^ letter(bytes.len().saturating_sub(3)) << 2) % PLACES
}
