//! Which parts of a document are read, and how.

/// How a place is treated. Unlisted places are read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Never looked at, nor anything below it.
    Opaque,
    /// Only what is critical counts here.
    Critical,
    /// Base64 of something: opaque unless the `mimeType` beside it says text or JSON, and then decoded, redacted, encoded again.
    Binary,
    /// One text in pieces: the same member of neighbouring elements is also read joined.
    Pieces,
}

/// Places by pointer patterns: `/result/content/*/data`; `*` is any one member or element, a final `**` everything below.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    rules: Vec<(Vec<Box<str>>, Care)>,
}

impl Paths {
    /// The first pattern that fits decides; at most 64 are heard.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, Care)>) -> Self {
        let split = |pattern: &str| pattern.split('/').skip(1).map(Box::from).collect();
        Self { rules: rules.into_iter().map(|(pattern, care)| (split(pattern), care)).collect() }
    }

    /// Everything is read.
    pub const fn none() -> Self {
        Self { rules: Vec::new() }
    }

    pub(crate) fn knows(&self, care: Care) -> bool {
        self.rules.iter().any(|(_, known)| *known == care)
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Nothing of a pattern is walked yet.
    pub(crate) fn start(&self) -> Alive {
        Alive { patterns: if self.rules.is_empty() { 0 } else { u64::MAX }, depth: 0 }
    }

    /// One member further in.
    pub(crate) fn step(&self, from: Alive, member: &str) -> Alive {
        if from.patterns == 0 {
            return Alive { patterns: 0, depth: from.depth + 1 };
        }
        let mut patterns = 0;
        for (index, (pattern, _)) in self.rules.iter().enumerate().take(MOST) {
            let bit = 1 << index;
            let fits = match pattern.get(from.depth) {
                Some(part) => &**part == "*" || &**part == "**" || &**part == member,
                None => pattern.last().is_some_and(|last| &**last == "**"),
            };
            if from.patterns & bit != 0 && fits {
                patterns |= bit;
            }
        }
        Alive { patterns, depth: from.depth + 1 }
    }

    /// One element further in.
    pub(crate) fn element(&self, from: Alive, index: usize) -> Alive {
        if from.patterns == 0 {
            return Alive { patterns: 0, depth: from.depth + 1 };
        }
        // Nobody names a position but `0`: patterns are written before the document is seen.
        self.step(from, if index == 0 { "0" } else { "*" })
    }

    /// How the place is treated that was walked to.
    pub(crate) fn ends(&self, at: Alive, depth: usize) -> Option<Care> {
        if at.patterns == 0 {
            return None;
        }
        let over = |pattern: &[Box<str>]| match pattern.last() {
            Some(last) if &**last == "**" => depth + 1 >= pattern.len(),
            _ => pattern.len() == depth,
        };
        self.rules
            .iter()
            .enumerate()
            .take(MOST)
            .find(|(index, (pattern, _))| at.patterns & (1 << index) != 0 && over(pattern))
            .map(|(_, (_, care))| *care)
    }

    /// How the place is treated whose members, outermost first, are these.
    pub fn care<'p>(&self, place: &(impl Iterator<Item = &'p str> + Clone)) -> Option<Care> {
        self.rules.iter().find(|(pattern, _)| fits(pattern, place.clone())).map(|(_, care)| *care)
    }
}

/// The patterns that a place fits so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alive {
    patterns: u64,
    depth: usize,
}

impl Alive {
    pub const NONE: Self = Self { patterns: 0, depth: 0 };
}

/// Patterns beyond this many are not heard.
const MOST: usize = 64;

fn fits<'p>(pattern: &[Box<str>], mut place: impl Iterator<Item = &'p str>) -> bool {
    for part in pattern {
        if &**part == "**" {
            return true;
        }
        match place.next() {
            Some(member) if &**part == "*" || &**part == member => {}
            _ => return false,
        }
    }
    place.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_anchored_at_the_top() {
        let paths = Paths::new([
            ("/id", Care::Opaque),
            ("/result/content/*/data", Care::Binary),
            ("/result/_meta/**", Care::Opaque),
        ]);
        for (place, expected) in [
            ("id", Some(Care::Opaque)),
            ("result/id", None),
            ("result/content/0/data", Some(Care::Binary)),
            ("result/content/data", None),
            ("result/_meta/a/b", Some(Care::Opaque)),
            ("result", None),
        ] {
            assert_eq!(paths.care(&place.split('/')), expected, "{place}");
            let walked = place.split('/').fold(paths.start(), |at, member| paths.step(at, member));
            assert_eq!(paths.ends(walked, walked.depth), expected, "{place}");
        }
    }
}
