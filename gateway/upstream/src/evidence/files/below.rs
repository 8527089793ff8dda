//! Opens what lies below a root, whatever anybody renames or links meanwhile: the kernel walks from the root's own handle
//! and refuses to leave it.

use std::fs::File;
use std::io;
use std::path::Path;

pub(super) struct Root(File);

#[derive(Debug)]
pub(super) enum Unopened {
    Outside,
    NotFound,
    Unreadable(io::Error),
}

impl Root {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let root = File::open(path)?;
        match root.metadata()?.is_dir() {
            true => Ok(Self(root)),
            false => Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory")),
        }
    }

    /// A regular file; anything else could answer for ever, or do something when it is read.
    pub(super) fn file(&self, path: &str) -> Result<File, Unopened> {
        let file = opened(&self.0, path)?;
        match file.metadata() {
            Ok(data) if data.is_file() => Ok(file),
            Ok(_) => Err(Unopened::NotFound),
            Err(error) => Err(Unopened::Unreadable(error)),
        }
    }
}

#[cfg(unix)]
fn opened(root: &File, path: &str) -> Result<File, Unopened> {
    #[cfg(target_os = "linux")]
    match unix::at_once(root, path) {
        // An old kernel, or one that a sandbox hides: then step by step, and through no link at all.
        Err(error) if unix::is_unsupported(error) => {}
        result => return result.map_err(unix::told),
    }
    unix::stepwise(root, path).map_err(unix::told)
}

#[cfg(not(unix))]
fn opened(_root: &File, _path: &str) -> Result<File, Unopened> {
    Err(Unopened::Unreadable(io::Error::new(io::ErrorKind::Unsupported, "files cannot be kept below a root here")))
}

#[cfg(unix)]
mod unix {
    use std::fs::File;

    use rustix::fs::{Mode, OFlags, openat};
    #[cfg(target_os = "linux")]
    use rustix::fs::{ResolveFlags, openat2};
    use rustix::io::Errno;

    use super::Unopened;

    /// Without blocking: a pipe would wait for its writer.
    fn reading() -> OFlags {
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
    }

    #[cfg(target_os = "linux")]
    pub(super) fn at_once(root: &File, path: &str) -> Result<File, Errno> {
        const TRIES: usize = 4;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut last = Errno::AGAIN;
        for _ in 0..TRIES {
            match openat2(root, path, reading(), Mode::empty(), resolve) {
                Ok(file) => return Ok(File::from(file)),
                // Something was renamed while the kernel walked.
                Err(error) if error == Errno::AGAIN || error == Errno::INTR => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_unsupported(error: Errno) -> bool {
        error == Errno::NOSYS || error == Errno::PERM
    }

    pub(super) fn stepwise(root: &File, path: &str) -> Result<File, Errno> {
        let mut at: Option<File> = None;
        let mut steps = path.split('/').peekable();
        while let Some(step) = steps.next() {
            let kind = if steps.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
            let from = at.as_ref().unwrap_or(root);
            let next = openat(from, step, reading() | OFlags::NOFOLLOW | kind, Mode::empty())?;
            at = Some(File::from(next));
        }
        at.ok_or(Errno::NOENT)
    }

    pub(super) fn told(error: Errno) -> Unopened {
        if error == Errno::XDEV || error == Errno::LOOP {
            Unopened::Outside
        } else if error == Errno::NOENT || error == Errno::NOTDIR || error == Errno::NAMETOOLONG {
            Unopened::NotFound
        } else {
            Unopened::Unreadable(error.into())
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(file: Result<File, Unopened>) -> String {
        let mut text = String::new();
        match file {
            Ok(mut file) => file.read_to_string(&mut text).map(|_| text).unwrap(),
            Err(Unopened::Outside) => "outside".into(),
            Err(Unopened::NotFound) => "not found".into(),
            Err(Unopened::Unreadable(error)) => error.to_string(),
        }
    }

    // acceptance 119 e
    #[test]
    fn nothing_outside_the_root_is_opened_by_either_way() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("a")).unwrap();
        fs::write(place.path().join("secret"), "secret").unwrap();
        fs::write(root.join("a/in"), "in").unwrap();
        symlink("../../secret", root.join("a/out")).unwrap();
        symlink("/etc/hostname", root.join("a/absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("in", root.join("a/link")).unwrap();
        let opened = Root::open(&root).unwrap();
        assert_eq!(read(opened.file("a/in")), "in");
        assert_eq!(read(opened.file("a")), "not found", "a directory is no evidence");
        assert_eq!(read(opened.file("a/missing")), "not found");
        for path in ["a/out", "a/absolute", "up/secret"] {
            assert_eq!(read(opened.file(path)), "outside", "{path}");
        }
        let stepwise = |path| unix::stepwise(&opened.0, path).map_err(unix::told);
        assert_eq!(read(stepwise("a/in")), "in");
        for path in ["a/out", "a/absolute", "a/link", "up/secret"] {
            assert_ne!(read(stepwise(path)), "secret", "{path}");
            assert!(stepwise(path).is_err(), "{path}");
        }
        assert!(Root::open(&root.join("a/in")).is_err() && Root::open(&root.join("missing")).is_err());
    }
}
