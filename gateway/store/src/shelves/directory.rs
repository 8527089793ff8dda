//! One directory, by its handle.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use gateway_core::gate::shelf::ShelfError;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fsync, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Names in one pack, and how deep they lie: more is no pack of anybody's.
const MOST_NAMES: usize = 10_000;
const DEEPEST: usize = 16;

pub(super) struct Directory(File);

fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn told(error: Errno) -> ShelfError {
    if error == Errno::NOENT || error == Errno::NOTDIR {
        ShelfError::Missing
    } else if error == Errno::LOOP {
        // A link. Where it leads does not matter.
        ShelfError::Outside
    } else {
        ShelfError::Failed(std::io::Error::from(error).to_string())
    }
}

fn failed(error: &std::io::Error) -> ShelfError {
    ShelfError::Failed(error.to_string())
}

impl Directory {
    /// The one directory that is found by its path, and may be a link: whoever named it may read it anyway.
    pub(super) fn root(path: &Path) -> Result<Self, ShelfError> {
        match File::open(path) {
            Ok(file) if file.metadata().is_ok_and(|data| data.is_dir()) => Ok(Self(file)),
            Ok(_) => Err(ShelfError::Missing),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(ShelfError::Missing),
            Err(error) => Err(failed(&error)),
        }
    }

    pub(super) fn below(&self, name: &str) -> Result<Self, ShelfError> {
        let opened = openat(&self.0, name, directory(), Mode::empty()).map_err(told)?;
        Ok(Self(File::from(opened)))
    }

    pub(super) fn made_below(&self, name: &str) -> Result<Self, ShelfError> {
        match mkdirat(&self.0, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.below(name),
            Err(error) => Err(told(error)),
        }
    }

    /// A regular file of at most `most` bytes.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, ShelfError> {
        // Without blocking: a pipe would wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.0, name, flags, Mode::empty()).map_err(told)?);
        if !file.metadata().map_err(|error| failed(&error))?.is_file() {
            return Err(ShelfError::Failed("is not a file".into()));
        }
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() as u64 > most { Err(ShelfError::TooLarge(most)) } else { Ok(bytes) }
    }

    /// Under its own name only once it is whole and durable.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ShelfError> {
        let draft = format!(".{name}.tmp-{}", std::process::id());
        self.remove(&draft)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.0, draft.as_str(), flags, Mode::RUSR | Mode::WUSR).map_err(told)?;
        let mut file = File::from(opened);
        let whole = file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| failed(&error));
        let named = whole.and_then(|()| renameat(&self.0, draft.as_str(), &self.0, name).map_err(told));
        if named.is_err() {
            self.remove(&draft)?;
        }
        named.and_then(|()| fsync(&self.0).map_err(told))
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), ShelfError> {
        match unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(told(error)),
        }
    }

    pub(super) fn holds_directories(&self) -> Result<bool, ShelfError> {
        Ok(self.entries()?.iter().any(|(_, kind)| *kind == FileType::Directory))
    }

    /// Every file below, by its path. Links count as files: they are not followed, and nobody lists them.
    pub(super) fn names(&self) -> Result<Vec<String>, ShelfError> {
        let mut names = Vec::new();
        self.gather("", DEEPEST, &mut names)?;
        names.sort_unstable();
        Ok(names)
    }

    fn gather(&self, above: &str, deeper: usize, names: &mut Vec<String>) -> Result<(), ShelfError> {
        for (name, kind) in self.entries()? {
            let path = format!("{above}{name}");
            if names.len() >= MOST_NAMES {
                return Err(ShelfError::Failed(format!("holds more than {MOST_NAMES} files")));
            }
            match kind {
                FileType::Directory if deeper == 0 => {
                    return Err(ShelfError::Failed(format!("holds directories more than {DEEPEST} deep")));
                }
                FileType::Directory => self.below(&name)?.gather(&format!("{path}/"), deeper - 1, names)?,
                _ => names.push(path),
            }
        }
        Ok(())
    }

    fn entries(&self) -> Result<Vec<(String, FileType)>, ShelfError> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0).map_err(told)? {
            let entry = entry.map_err(told)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !matches!(name.as_str(), "." | "..") {
                entries.push((name, self.kind(&entry)?));
            }
            if entries.len() > MOST_NAMES {
                return Err(ShelfError::Failed(format!("holds more than {MOST_NAMES} files")));
            }
        }
        Ok(entries)
    }

    /// Some file systems do not say it with the name.
    fn kind(&self, entry: &rustix::fs::DirEntry) -> Result<FileType, ShelfError> {
        if entry.file_type() != FileType::Unknown {
            return Ok(entry.file_type());
        }
        let found = rustix::fs::statat(&self.0, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).map_err(told)?;
        Ok(FileType::from_raw_mode(found.st_mode))
    }
}
