//! Verdicts that were given before.

use crate::{Ask, Read};

pub struct Cache;

impl Cache {
    pub fn new() -> Self {
        Self
    }

    pub fn kept(&self, _text: &str, _ask: &Ask<'_>, read: impl FnOnce() -> Read) -> Read {
        read()
    }
}
