//! Values that are cut: one begins in one event of a stream, or in one block of an answer, and ends in the next.

use crate::{Blocked, Counts, Redaction};

/// How much of a text may have to wait for what follows.
pub const LONGEST_TAIL: usize = 4096;

pub struct Seam<'r, 'a> {
    redaction: &'r Redaction<'a>,
}

impl<'r, 'a> Seam<'r, 'a> {
    pub(crate) fn new(redaction: &'r Redaction<'a>) -> Self {
        Self { redaction }
    }

    /// Where something may begin that is not over at the end of the text; `None` where the text may go on as it is.
    /// Never further back than 4 KiB.
    pub fn tail(&self, text: &str) -> Option<usize> {
        let start = text.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        (start < text.len() && text.len() - start <= LONGEST_TAIL).then_some(start)
    }

    /// Reads pieces of one text as one: everything in them is redacted, and what lies across a cut stands masked in the piece it
    /// begins in and is gone from the others. `None` where nothing is changed, else each piece as it is now.
    pub fn join(&self, pieces: &[&str], found: &mut Counts) -> Result<Option<Vec<String>>, Blocked> {
        match self.redaction.text(&pieces.concat(), found)? {
            None => Ok(None),
            Some(whole) => {
                let mut out = vec![String::new(); pieces.len()];
                if let Some(first) = out.first_mut() {
                    *first = whole;
                }
                Ok(Some(out))
            }
        }
    }
}
