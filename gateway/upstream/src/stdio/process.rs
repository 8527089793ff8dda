//! One running child: started with a clean environment, read and written line by line, ended with everything it started.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gateway_core::{BoxError, Namespace};
use gateway_protocol::Message;
use tokio::process::Command;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tracing::info;

use super::board::Board;
use super::keeper::{FAREWELL, Keeper, log_lines};
use super::{Sharing, StdioConfig};

/// How long a child may leave its input unread.
const SEND_TIME: Duration = Duration::from_secs(10);
/// What a child may know of the machine without being told by the operator.
const INHERITED: [&str; 10] =
    ["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"];
/// Messages on their way to a child's pipe.
pub(super) const INPUT: usize = 64;
/// How long it is believed that a program does not speak the modern revision.
const LEGACY_FOR: Duration = Duration::from_secs(600);

/// How children of one upstream are started, and those that run.
pub(super) struct Launch {
    pub(super) config: StdioConfig,
    slots: Arc<Semaphore>,
    live: Mutex<Vec<Weak<Process>>>,
    legacy_since: Mutex<Option<Instant>>,
}

pub(super) struct Process {
    input: mpsc::Sender<Bytes>,
    stop: watch::Sender<bool>,
    board: Arc<Board>,
    dead: AtomicBool,
    /// We ended it: nothing is wrong with it.
    stopped: AtomicBool,
    pub(super) started: Instant,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Launch {
    pub(super) fn new(config: StdioConfig) -> Self {
        let slots = Arc::new(Semaphore::new(config.max_children.max(1)));
        Self { config, slots, live: Mutex::default(), legacy_since: Mutex::default() }
    }

    pub(super) fn namespace(&self) -> &Namespace {
        &self.config.namespace
    }

    pub(super) fn sharing(&self) -> Sharing {
        self.config.sharing
    }

    pub(super) fn is_known_legacy(&self) -> bool {
        locked(&self.legacy_since).is_some_and(|since| since.elapsed() < LEGACY_FOR)
    }

    pub(super) fn note_legacy(&self) {
        *locked(&self.legacy_since) = Some(Instant::now());
    }

    pub(super) fn stop_all(&self) {
        for process in locked(&self.live).iter().filter_map(Weak::upgrade) {
            process.stop();
        }
    }

    /// Room for one more child; the one that has been idle longest makes way.
    async fn slot(&self) -> Result<OwnedSemaphorePermit, BoxError> {
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(slot);
        }
        let idlest = locked(&self.live)
            .iter()
            .filter_map(Weak::upgrade)
            .filter_map(|process| Some((process.board.idle_since()?, process)))
            .min_by_key(|(since, _)| *since);
        if let Some((_, process)) = idlest {
            process.stop();
        }
        match tokio::time::timeout(2 * FAREWELL, Arc::clone(&self.slots).acquire_owned()).await {
            Ok(slot) => Ok(slot?),
            Err(_) => Err(format!("all {} children are busy", self.config.max_children).into()),
        }
    }

    /// Whoever is first to need the child is not the only one to talk to it, so it is not theirs to attend to.
    pub(super) async fn start(self: &Arc<Self>, board: Arc<Board>) -> Result<Arc<Process>, BoxError> {
        let slot = self.slot().await?;
        let launch = Arc::clone(self);
        self.config.commons.run(async move { launch.begin(slot, board) }).await?
    }

    /// Within the runtime to which its pipes will belong.
    fn begin(&self, slot: OwnedSemaphorePermit, board: Arc<Board>) -> Result<Arc<Process>, BoxError> {
        let mut child = self.command().spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("the child has no pipes".into());
        };
        let (input, inbox) = mpsc::channel(INPUT);
        let (stop, stopped) = watch::channel(false);
        let process = Arc::new(Process {
            input,
            stop,
            board: Arc::clone(&board),
            dead: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            started: Instant::now(),
        });
        let mut live = locked(&self.live);
        live.retain(|process| process.strong_count() > 0);
        live.push(Arc::downgrade(&process));
        drop(live);
        let namespace = self.namespace().clone();
        info!(namespace = %namespace, pid = child.id(), "started {} for {namespace}", self.config.command);
        tokio::spawn(log_lines(namespace.clone(), stderr));
        let idle = (self.sharing() == Sharing::PerPrincipal).then_some(self.config.idle_timeout);
        let keeper = Keeper::new(namespace, child, board, &process, (self.config.max_line, self.config.max_depth));
        tokio::spawn(async move {
            keeper.run(stdin, stdout, inbox, stopped, idle).await;
            drop(slot);
        });
        Ok(process)
    }

    fn command(&self) -> Command {
        let config = &self.config;
        let mut command = Command::new(&config.command);
        command.args(&config.args).env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(config.env.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &config.cwd {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // An own group: a signal at our terminal is ours to pass on, and grandchildren can be ended too.
        #[cfg(unix)]
        command.process_group(0);
        command
    }
}

impl Process {
    pub(super) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.dead.load(Ordering::Acquire)
    }

    /// False when the child is gone.
    pub(super) async fn send(&self, message: &Message) -> bool {
        // A child that no longer reads must not keep everybody who writes to it.
        let sent = tokio::time::timeout(SEND_TIME, self.input.send(message.to_vec().into())).await;
        sent.is_ok_and(|sent| sent.is_ok())
    }

    /// For those who cannot wait: lost when the pipe is full.
    pub(super) fn send_now(&self, message: &Message) {
        let _ = self.input.try_send(message.to_vec().into());
    }

    pub(super) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The child has ended, or is about to; `stopped` when that was our wish.
    pub(super) fn ended(&self, stopped: bool) {
        self.stopped.fetch_or(stopped, Ordering::AcqRel);
        self.dead.store(true, Ordering::Release);
    }

    /// For the one who answers in the gateway's name.
    pub(super) fn input(&self) -> mpsc::WeakSender<Bytes> {
        self.input.downgrade()
    }

    /// Its input is closed, and it has a moment to end.
    pub(super) fn stop(&self) {
        self.ended(true);
        self.stop.send_replace(true);
    }
}
