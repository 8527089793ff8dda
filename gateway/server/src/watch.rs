//! Notices when configuration or policy files change, and says so once for each change.
//!
//! The system's notifications make it quick; a look at the contents every two seconds makes it certain, because
//! notifications get lost on network and container file systems. What counts is content: a file touched or rewritten
//! unchanged is no change. What to do about one is the caller's, see [`reload`].

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use sha2::{Digest, Sha256};

use crate::config::Problem;

/// Long enough for an editor's several writes to be one change.
const QUIET: Duration = Duration::from_millis(200);
/// How long a change may go unnoticed when no notification arrives.
const POLL: Duration = Duration::from_secs(2);

/// Watches as long as it lives.
#[must_use = "the watch ends when this is dropped"]
pub struct WatchGuard {
    signals: Sender<Signal>,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        // A thread that has ended by itself needs no telling.
        let _ = self.signals.send(Signal::Stop);
    }
}

enum Signal {
    Stirred,
    Stop,
}

/// Calls `on_change`, on a thread of its own, whenever a file or anything inside a directory has changed.
pub fn watch(paths: Vec<PathBuf>, on_change: impl Fn() + Send + 'static) -> WatchGuard {
    let (signals, received) = mpsc::channel();
    let guard = WatchGuard { signals: signals.clone() };
    // Taken before the thread starts: a change made right after this call is a change.
    let seen = digest(&paths);
    let started = thread::Builder::new()
        .name("policy-watch".into())
        .spawn(move || keep_watching(&paths, seen, signals, &received, &on_change));
    if let Err(error) = started {
        tracing::error!(%error, "changed files will not be noticed until the next start");
    }
    guard
}

fn keep_watching(
    paths: &[PathBuf],
    mut seen: [u8; 32],
    signals: Sender<Signal>,
    received: &Receiver<Signal>,
    on_change: &dyn Fn(),
) {
    // Held for as long as the loop runs; without it the polls alone do the work.
    let _watcher = notifications(paths, signals).inspect_err(
        |error| tracing::warn!(%error, "no notifications of changed files; looking every {POLL:?} instead"),
    );
    loop {
        match received.recv_timeout(POLL) {
            Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(Signal::Stirred) if stopped_before_quiet(received) => return,
            Ok(Signal::Stirred) | Err(RecvTimeoutError::Timeout) => {}
        }
        let now = digest(paths);
        if now != seen {
            seen = now;
            on_change();
        }
    }
}

/// Lets a flurry of changes settle. It takes the same time however many there are: a busy directory costs no more.
fn stopped_before_quiet(received: &Receiver<Signal>) -> bool {
    thread::sleep(QUIET);
    received.try_iter().any(|signal| matches!(signal, Signal::Stop))
}

fn notifications(paths: &[PathBuf], signals: Sender<Signal>) -> notify::Result<notify::RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the files is an event too, and would keep us awake for ever.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            let _ = signals.send(Signal::Stirred);
        }
    })?;
    // A file by itself is only polled: its directory would have to be watched, because editors replace files, and that
    // directory may hold a database that is written all the time.
    for path in paths.iter().filter(|path| path.is_dir()) {
        watcher.watch(path, RecursiveMode::Recursive)?;
    }
    Ok(watcher)
}

/// Of every file's name and content, in order.
fn digest(paths: &[PathBuf]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for path in paths {
        add(path, &mut hasher, 0);
    }
    hasher.finalize().into()
}

fn add(path: &Path, hasher: &mut Sha256, depth: usize) {
    // Deeper than any policy directory: a symbolic link that leads back to its parent.
    const DEEPEST: usize = 8;
    hasher.update(path.as_os_str().as_encoded_bytes());
    if path.is_dir() && depth < DEEPEST {
        let mut inside: Vec<_> = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        inside.sort();
        hasher.update([0, u8::from(!inside.is_empty())]);
        inside.iter().for_each(|path| add(path, hasher, depth + 1));
    } else if path.is_file() {
        // A file that cannot be read is told apart from an empty one, so that its return is a change.
        match fs::read(path) {
            Ok(content) => {
                hasher.update((content.len() as u64).to_be_bytes());
                hasher.update(&content);
            }
            Err(_) => hasher.update(b"\0unreadable"),
        }
    }
}

/// Loads anew what has changed. With any problem the whole is refused, all problems are logged, and `None` says: keep the old.
pub fn reload<T>(what: &str, load: impl FnOnce() -> Result<T, Vec<Problem>>) -> Option<T> {
    match load() {
        Ok(loaded) => {
            tracing::info!("{what} changed and loaded");
            Some(loaded)
        }
        Err(problems) => {
            let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
            tracing::error!(
                problems = told.len(),
                "{what} changed and is refused, the old stays:\n{}",
                told.join("\n")
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::mpsc::channel;

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    #[test]
    fn a_change_is_told_once_and_a_touch_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (policies, config) = (dir.path().join("policies"), dir.path().join("p.yaml"));
        fs::create_dir(&policies).unwrap();
        fs::write(&config, "a").unwrap();
        let (told, heard) = channel();
        let guard = watch(vec![policies.clone(), config.clone()], move || told.send(()).unwrap_or_default());

        fs::write(policies.join("x.yaml"), "1").unwrap();
        heard.recv_timeout(SOON).unwrap();
        fs::write(policies.join("x.yaml"), "1").unwrap();
        assert!(heard.recv_timeout(Duration::from_millis(600)).is_err(), "the same content is no change");

        // As editors do it: written beside, then put in its place.
        fs::write(dir.path().join("p.new"), "b").unwrap();
        fs::rename(dir.path().join("p.new"), &config).unwrap();
        heard.recv_timeout(SOON).unwrap();
        fs::remove_file(policies.join("x.yaml")).unwrap();
        heard.recv_timeout(SOON).unwrap();

        drop(guard);
        fs::write(&config, "c").unwrap();
        assert!(heard.recv_timeout(Duration::from_millis(600)).is_err(), "nobody watches any more");
    }

    #[test]
    fn what_is_broken_leaves_the_old_in_place() {
        let problem = Problem { file: "f".into(), path: "a.b".into(), what: "is wrong".into() };
        assert_eq!(reload("the policies", || Err::<u8, _>(vec![problem])), None);
        assert_eq!(reload("the policies", || Ok(1)), Some(1));
    }
}
