//! A text that was made from another, and remembers where each byte of it came from.

use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct Mapped {
    text: String,
    /// Where the byte began, in the text it was made from; one more for the end.
    from: Vec<u32>,
}

impl Mapped {
    /// Begins with what is the same in both.
    pub fn same(start: &str, capacity: usize) -> Self {
        let mut text = String::with_capacity(capacity);
        text.push_str(start);
        let mut from = Vec::with_capacity(capacity + 1);
        from.extend((0..start.len()).map(small));
        Self { text, from }
    }

    pub fn push(&mut self, c: char, from: usize) {
        self.text.push(c);
        self.from.resize(self.text.len(), small(from));
    }

    /// No more comes; this is where the other text ends.
    pub fn end(&mut self, from: usize) {
        self.from.push(small(from));
    }

    /// Made of bytes with one origin each. What is no text in them is shown as `?`, so that every byte keeps its place.
    pub fn of_bytes(mut bytes: Vec<u8>, mut from: Vec<u32>, end: usize) -> Self {
        from.push(small(end));
        let text = loop {
            match String::from_utf8(bytes) {
                Ok(text) => break text,
                Err(error) => {
                    let utf8 = error.utf8_error();
                    let bad = utf8.valid_up_to();
                    bytes = error.into_bytes();
                    // All that is left over at once: one at a time would read a long text again for each.
                    for byte in bytes.iter_mut().skip(bad).filter(|byte| !byte.is_ascii()) {
                        *byte = b'?';
                    }
                }
            }
        };
        Self { text, from }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn origin(&self, range: Range<usize>) -> Range<usize> {
        let place = |at: usize| self.from.get(at).or(self.from.last()).map_or(0, |from| *from as usize);
        place(range.start)..place(range.end)
    }
}

/// Texts beyond 4 GiB are not read (`Detectors::scan` cuts there), so nothing is lost.
pub(crate) fn small(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
