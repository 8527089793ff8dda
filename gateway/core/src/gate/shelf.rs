//! Where the files of a pack are read from.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Files by their paths below the pack. What a path may be is checked by whoever asks; an adapter must not follow links
/// out of its directory all the same.
pub trait Shelf {
    /// At most `most` bytes: a longer file is an error, not a part of it.
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, ShelfError>;
    /// Every file there is.
    fn names(&self) -> Result<Vec<String>, ShelfError>;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShelfError {
    #[error("no such file")]
    Missing,
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    #[error("outside the allowed directories")]
    Outside,
    #[error("{0}")]
    Failed(String),
}

/// A pack in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryShelf(pub BTreeMap<String, Vec<u8>>);

impl Shelf for MemoryShelf {
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, ShelfError> {
        let bytes = self.0.get(path).ok_or(ShelfError::Missing)?;
        if bytes.len() as u64 > most { Err(ShelfError::TooLarge(most)) } else { Ok(bytes.clone()) }
    }

    fn names(&self) -> Result<Vec<String>, ShelfError> {
        Ok(self.0.keys().cloned().collect())
    }
}

/// A path of a file in a pack: relative, below it, and the same on every system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PackPath(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid path {0}")]
pub struct PackPathError(String);

impl PackPath {
    const COMPONENT: usize = 255;
    const WHOLE: usize = 4096;

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component without its ending.
    pub fn stem(&self) -> &str {
        let name = self.0.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

impl FromStr for PackPath {
    type Err = PackPathError;

    fn from_str(text: &str) -> Result<Self, PackPathError> {
        let plain = |part: &str| {
            !matches!(part, "" | "." | "..")
                && part.len() <= Self::COMPONENT
                && !part.contains(|c: char| c == '\\' || c.is_control())
        };
        // A drive letter is absolute on some systems.
        let drive = matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        if text.len() <= Self::WHOLE && !drive && text.split('/').all(plain) {
            Ok(Self(text.into()))
        } else {
            Err(PackPathError(text.escape_debug().to_string()))
        }
    }
}

impl fmt::Display for PackPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
