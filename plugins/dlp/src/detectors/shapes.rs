//! Identifiers and times as everybody writes them: what nobody can match in any of them need not be looked for in each.

use super::near::{Groups, Near};

/// `x` is a hexadecimal digit in small letters, `0` a digit, and everything else itself.
const SHAPES: [&[u8]; 5] = [
    b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
    b"0000-00-00T00:00:00.000Z",
    b"0000-00-00T00:00:00Z",
    b"0000-00-00 00:00:00",
    b"0000-00-00",
];

fn bytes_of(place: &u8) -> &[u8] {
    match place {
        b'x' => b"0123456789abcdef",
        b'0' => b"0123456789",
        other => std::slice::from_ref(other),
    }
}

/// Built once for a set of detectors: for each shape the automata that name somebody in some text of it.
pub(super) struct Shapes(Vec<(&'static [u8], Groups)>);

impl Shapes {
    pub fn new(near: &Near) -> Self {
        let places = |shape: &'static [u8]| shape.iter().map(bytes_of).collect::<Vec<_>>();
        Self(SHAPES.into_iter().map(|shape| (shape, near.names_some_in(&places(shape)))).collect())
    }

    /// The automata that may name somebody in a text; `None` where it is of no known shape.
    pub fn groups_in(&self, text: &[u8]) -> Option<Groups> {
        let known = self.0.iter().find(|(shape, _)| shape.len() == text.len() && has_shape(text, shape));
        known.map(|(_, groups)| *groups)
    }
}

fn has_shape(text: &[u8], shape: &[u8]) -> bool {
    text.iter().zip(shape).all(|(byte, place)| match place {
        b'x' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        b'0' => byte.is_ascii_digit(),
        _ => byte == place,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::detectors::near::Lead;
    use crate::detectors::near::tests::shipped;

    #[test]
    fn whom_no_text_of_a_shape_leads_to_none_of_its_texts_does() {
        let set = shipped(true);
        let shapes = Shapes::new(&set.near);
        let texts = prop_oneof![
            "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
            "[0-9]{4}-[0-9]{2}-[0-9]{2}",
            "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
            "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z",
            "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}",
        ];
        let config = ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(text in texts)| {
            let nobody = !shapes.groups_in(text.as_bytes()).unwrap_or(Groups::MAX);
            let parts = [Lead::LongWord, Lead::Number].map(|lead| (0..text.len(), lead));
            prop_assert!(set.near.names_nobody(&text, parts.into_iter(), nobody), "{}", text);
        });
        let groups = |text: &str| shapes.groups_in(text.as_bytes());
        assert!(
            groups("2026-11-16T13:05:07.123Z").is_some_and(|groups| groups != Groups::MAX),
            "not everybody looks for times"
        );
        assert_eq!(groups("3F2504E0-4f89-41d3-9a0c-0305e82c3301"), None, "it is no shape that is known");
    }
}
