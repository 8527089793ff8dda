//! Where the demo keeps its files: a directory somebody named, or a temporary one that goes with the demo.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::cli::Failure;

pub(super) struct Directory {
    path: PathBuf,
    temporary: bool,
}

impl Directory {
    /// Keys and traces are nobody else's business, so only the owner may look inside.
    pub(super) fn open(named: Option<&Path>) -> Result<Self, Failure> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => std::env::temp_dir().join(format!("portreeve-demo-{}", Uuid::new_v4().simple())),
        };
        let made = DirBuilder::new().recursive(named.is_some()).mode(0o700).create(&path);
        made.map_err(|error| Failure::new(format!("`{}` cannot be made: {error}", path.display())))?;
        Ok(Self { path, temporary: named.is_none() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_temporary(&self) -> bool {
        self.temporary
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.temporary
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!("`{}` could not be removed: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_what_was_made_for_the_demo_is_removed() {
        let temporary = Directory::open(None).unwrap();
        let path = temporary.path().to_owned();
        fs::write(path.join("file"), "x").unwrap();
        let named = Directory::open(Some(&path.join("kept"))).unwrap();
        let kept = named.path().to_owned();
        drop(named);
        assert!(kept.is_dir(), "a named directory stays");
        drop(temporary);
        assert!(!path.exists(), "a temporary one goes");
    }
}
