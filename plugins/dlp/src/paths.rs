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
    /// The first pattern that fits decides.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, Care)>) -> Self {
        let split = |pattern: &str| pattern.split('/').skip(1).map(Box::from).collect();
        Self { rules: rules.into_iter().map(|(pattern, care)| (split(pattern), care)).collect() }
    }

    /// Everything is read.
    pub const fn none() -> Self {
        Self { rules: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// How the place is treated whose members, outermost first, are these.
    pub fn care<'p>(&self, place: impl Iterator<Item = &'p str> + Clone) -> Option<Care> {
        self.rules.iter().find(|(pattern, _)| fits(pattern, place.clone())).map(|(_, care)| *care)
    }
}

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
            assert_eq!(paths.care(place.split('/')), expected, "{place}");
        }
    }
}
