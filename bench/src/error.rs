//! One failure with its story, and the flag that says somebody pressed Ctrl-C.
//!
//! The comparison is a command for people: an error is a sentence with the place it happened in, read from outside to inside.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

pub type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Puts what we were doing in front of what went wrong.
pub trait Context<T> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Failure(format!("{}: {error}", doing())))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.ok_or_else(|| Failure(doing()))
    }
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Asked by every loop that waits; an interrupted run returns an error, so that every child is ended on the way out.
pub fn check_interrupt() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) { Err(Failure::new("interrupted")) } else { Ok(()) }
}

/// Listens for the three ways a terminal or a CI runner says stop. The thread lives as long as the process.
pub fn watch_signals() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context(|| "signal runtime".into())?;
    let (mut interrupt, mut terminate, mut hangup) = {
        let _inside = runtime.enter();
        let open = |kind| signal(kind).context(|| "listen for signals".into());
        (open(SignalKind::interrupt())?, open(SignalKind::terminate())?, open(SignalKind::hangup())?)
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            INTERRUPTED.store(true, Ordering::Relaxed);
        })
        .context(|| "signal thread".into())?;
    Ok(())
}
