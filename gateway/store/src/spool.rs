//! The second device: an append-only file that takes the records while the store is away.
//!
//! One record a line: length, checksum, JSON. A batch is synced before anybody hears of it, so only a tail that nobody was
//! promised can be torn; it is cut off when the file is opened. The file shrinks when all of it has been replayed. A crash
//! before that replays it again, which the ledger recognises by trace id.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gateway_core::ports::Record;
use sha2::{Digest, Sha256};

/// One file for each process that may use the folder at a time: a node, and those it hands over to.
const NAMES: [&str; 4] = ["audit.spool", "audit.1.spool", "audit.2.spool", "audit.3.spool"];
const SET_ASIDE: &str = "audit.refused";
/// Length, blank, checksum, blank.
const FRAME: usize = 8 + 1 + 16 + 1;

pub(crate) struct Spool {
    folder: PathBuf,
    path: PathBuf,
    file: File,
    written: u64,
    replayed: u64,
    since: Option<Instant>,
}

/// Some records, and where the file has been read to with them.
pub(crate) struct Piece {
    pub records: Vec<Record>,
    pub end: u64,
}

impl Spool {
    /// Takes over what earlier processes left behind. A node and its successor share a folder for a while, so each process
    /// has a file of its own in it, held by a lock.
    pub fn open(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let mut own: Option<Self> = None;
        for name in NAMES {
            let path = folder.join(name);
            if own.is_some() && !path.exists() {
                continue;
            }
            let Some(mut found) = Self::open_file(folder, path)? else {
                continue;
            };
            match &mut own {
                None => own = Some(found),
                Some(own) => own.absorb(&mut found)?,
            }
        }
        let busy = || io::Error::new(io::ErrorKind::ResourceBusy, "too many gateways use it");
        let mut own = own.ok_or_else(busy)?;
        File::open(folder)?.sync_all()?;
        if own.written > 0 {
            tracing::warn!(
                "{} bytes of audit records were left in `{}` and will be replayed",
                own.written,
                folder.display()
            );
            own.since = Some(Instant::now());
        }
        Ok(own)
    }

    /// `None` when another process holds it.
    fn open_file(folder: &Path, path: PathBuf) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{}` is not a file", path.display())));
        }
        if file.try_lock().is_err() {
            return Ok(None);
        }
        let mut spool = Self { folder: folder.into(), path, file, written: 0, replayed: 0, since: None };
        spool.recover()?;
        Ok(Some(spool))
    }

    /// Moves what a process that is gone had not replayed behind our own records.
    fn absorb(&mut self, other: &mut Self) -> io::Result<()> {
        let mut bytes = vec![0; usize::try_from(other.written).unwrap_or_default()];
        other.file.read_exact_at(&mut bytes, 0)?;
        self.file.write_all_at(&bytes, self.written)?;
        self.file.sync_data()?;
        self.written += other.written;
        other.advance(other.written)
    }

    pub fn is_empty(&self) -> bool {
        self.replayed == self.written
    }

    pub fn bytes(&self) -> u64 {
        self.written
    }

    /// How long the oldest record has been waiting here.
    pub fn age(&self) -> Duration {
        self.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// Durable when this returns; after an error the file is as it was.
    pub fn append(&mut self, records: &[&Record]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(records.len() * 1_024);
        for record in records {
            frame(&mut bytes, &serde_json::to_vec(record)?)?;
        }
        let outcome = self.file.write_all_at(&bytes, self.written).and_then(|()| self.file.sync_data());
        if let Err(error) = outcome {
            // What follows is written from the same place, so that even a failure here leaves no gap.
            let _ = self.file.set_len(self.written);
            return Err(error);
        }
        self.since.get_or_insert_with(Instant::now);
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// The oldest records that have not been replayed, at most `most`.
    pub fn next(&mut self, most: usize) -> io::Result<Piece> {
        let mut reader = BufReader::with_capacity(256 * 1024, &self.file);
        reader.seek(SeekFrom::Start(self.replayed))?;
        let mut reader = reader.take(self.written - self.replayed);
        let mut piece = Piece { records: Vec::new(), end: self.replayed };
        let (mut line, mut strange) = (Vec::new(), Vec::new());
        while piece.records.len() < most && reader.read_until(b'\n', &mut line)? > 0 {
            let json = unframe(&line)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a spooled record was changed on disk"))?;
            match serde_json::from_slice(json) {
                Ok(record) => piece.records.push(record),
                // Whole, but in words this version does not know: kept for people, not in the way of the others.
                Err(_) => strange.extend_from_slice(&line),
            }
            piece.end += line.len() as u64;
            line.clear();
        }
        if !strange.is_empty() {
            self.keep(&strange)?;
        }
        Ok(piece)
    }

    /// Everything up to `end` is in the store.
    pub fn advance(&mut self, end: u64) -> io::Result<()> {
        self.replayed = end.min(self.written);
        if self.is_empty() {
            self.file.set_len(0)?;
            self.file.sync_data()?;
            (self.written, self.replayed, self.since) = (0, 0, None);
        }
        Ok(())
    }

    /// A record that the store will never take, kept for people to look at.
    pub fn set_aside(&self, record: &Record) -> io::Result<()> {
        let mut bytes = Vec::new();
        frame(&mut bytes, &serde_json::to_vec(record)?)?;
        self.keep(&bytes)
    }

    fn keep(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(self.folder.join(SET_ASIDE))?;
        file.write_all(bytes)?;
        file.sync_data()
    }

    /// As on a device that has become read-only.
    #[cfg(test)]
    pub fn unwritable(folder: &Path) -> io::Result<Self> {
        let mut spool = Self::open(folder)?;
        spool.file = File::open(&spool.path)?;
        Ok(spool)
    }

    /// Finds the end of the last whole record. Damage in front of whole records is no torn tail: then the file is kept
    /// aside as it is, and a clean one is written.
    fn recover(&mut self) -> io::Result<()> {
        let mut whole = Vec::new();
        let (mut good, mut read, mut damaged) = (0, 0, false);
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            read += line.len() as u64;
            if unframe(&line).is_some() {
                damaged |= good as u64 + line.len() as u64 != read;
                good += line.len();
                whole.extend_from_slice(&line);
            }
            line.clear();
        }
        if damaged {
            let mut aside = self.path.clone().into_os_string();
            aside.push(format!(".damaged-{}", std::process::id()));
            let aside = PathBuf::from(aside);
            tracing::error!("the audit spool was damaged; its bytes are kept in `{}`", aside.display());
            std::fs::copy(&self.path, &aside)?;
            File::open(&aside)?.sync_all()?;
            self.file.write_all_at(&whole, 0)?;
        }
        self.written = good as u64;
        if read != self.written {
            tracing::warn!(
                "{} bytes at the end of the audit spool were never completed and are cut off",
                read - self.written
            );
            self.file.set_len(self.written)?;
            self.file.sync_all()?;
        }
        Ok(())
    }
}

fn frame(into: &mut Vec<u8>, json: &[u8]) -> io::Result<()> {
    write!(into, "{:08x} {} ", json.len(), checksum(json))?;
    into.extend_from_slice(json);
    into.push(b'\n');
    Ok(())
}

/// The JSON of a line, if the line is whole.
fn unframe(line: &[u8]) -> Option<&[u8]> {
    let (head, rest) = line.split_at_checked(FRAME)?;
    let json = rest.strip_suffix(b"\n")?;
    let head = std::str::from_utf8(head).ok()?;
    let (length, sum) = head.trim_end().split_once(' ')?;
    let whole = usize::from_str_radix(length, 16).ok()? == json.len() && sum == checksum(json);
    whole.then_some(json)
}

fn checksum(json: &[u8]) -> String {
    let digest = Sha256::digest(json);
    hex::encode(digest.get(..8).unwrap_or_default())
}
