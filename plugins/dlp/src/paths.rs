//! Which parts of a document are read, and how.

use crate::redaction::cut_between_blocks;

/// How a place is treated. Unlisted places are read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Never looked at, nor anything below it.
    Opaque,
    /// Only what is critical is taken out here; everything else passes, and is counted as observed.
    Critical,
    /// A JSON Schema: its words and its defaults are read whole, and all that validators go by is `Critical`.
    Schema,
    /// Base64 of something: decoded, redacted and encoded again where it is text, read as it is where it is no base64. Pictures,
    /// sounds and archives are nobody's to read.
    Binary,
    /// One text in pieces: the same member of neighbouring elements is also read joined.
    Pieces,
}

/// Places by pointer patterns: `/result/content/*/data`; `*` is any one member or element, a final `**` everything below, and a
/// name that ends in `*` any that begins so. As in a pointer, `~1` is a slash in a name.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    rules: Vec<(Vec<Part>, Care)>,
    /// The lists whose elements are one text in pieces, and the member that holds each piece.
    texts: Vec<(Box<str>, Box<str>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Any,
    Below,
    Named(Box<str>),
    Begins(Box<str>),
}

impl Part {
    fn new(written: &str) -> Self {
        let name = |text: &str| text.replace("~1", "/").replace("~0", "~").into_boxed_str();
        match (written, written.strip_suffix('*')) {
            ("*", _) => Self::Any,
            ("**", _) => Self::Below,
            (_, Some(beginning)) => Self::Begins(name(beginning)),
            _ => Self::Named(name(written)),
        }
    }

    fn fits(&self, member: &str) -> bool {
        match self {
            Self::Any | Self::Below => true,
            Self::Named(name) => **name == *member,
            Self::Begins(beginning) => member.starts_with(&**beginning),
        }
    }
}

impl Paths {
    /// The first pattern that fits decides; at most 64 are heard.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, Care)>) -> Self {
        let split = |pattern: &str| pattern.split('/').skip(1).map(Part::new).collect();
        let rules: Vec<(Vec<Part>, Care)> =
            rules.into_iter().map(|(pattern, care)| (split(pattern), care)).take(MOST).collect();
        let mut texts = Vec::new();
        for (pattern, _) in rules.iter().filter(|(_, care)| *care == Care::Pieces) {
            if let [.., Part::Named(list), Part::Any, Part::Named(member)] = pattern.as_slice() {
                let named = (format!("\"{list}\"").into(), member.clone());
                if !texts.contains(&named) {
                    texts.push(named);
                }
            }
        }
        Self { rules, texts }
    }

    /// Everything is read.
    pub const fn none() -> Self {
        Self { rules: Vec::new(), texts: Vec::new() }
    }

    /// Whether a value may begin in one piece of a text and go on in the next: what no look at the bytes themselves can tell.
    pub fn may_be_cut(&self, raw: &[u8]) -> bool {
        self.texts.iter().any(|(list, member)| cut_between_blocks(raw, list.as_bytes(), member.as_bytes()))
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
                Some(part) => part.fits(member),
                None => pattern.last() == Some(&Part::Below),
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
        let over = |pattern: &[Part]| match pattern.last() {
            Some(Part::Below) => depth + 1 >= pattern.len(),
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

fn fits<'p>(pattern: &[Part], mut place: impl Iterator<Item = &'p str>) -> bool {
    for part in pattern {
        if *part == Part::Below {
            return true;
        }
        match place.next() {
            Some(member) if part.fits(member) => {}
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
            ("/result/_meta/org.example~1*/**", Care::Critical),
            ("/result/_meta/**", Care::Opaque),
        ]);
        for (place, expected) in [
            ("id", Some(Care::Opaque)),
            ("result/id", None),
            ("result/content/0/data", Some(Care::Binary)),
            ("result/content/data", None),
            ("result/_meta/a/b", Some(Care::Opaque)),
            ("result/_meta/org.example|a/b", Some(Care::Critical)),
            ("result/_meta/org.example/b", Some(Care::Opaque)),
            ("result", None),
        ] {
            let members: Vec<String> = place.split('/').map(|member| member.replace('|', "/")).collect();
            let members = members.iter().map(String::as_str);
            assert_eq!(paths.care(&members), expected, "{place}");
            let walked = members.fold(paths.start(), |at, member| paths.step(at, member));
            assert_eq!(paths.ends(walked, walked.depth), expected, "{place}");
        }
    }
}
