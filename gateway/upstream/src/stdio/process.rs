//! One running child: started with a clean environment, read and written line by line, ended with everything it started.

use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gateway_core::{BoxError, Namespace};
use gateway_protocol::{Message, Reply};
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tracing::{debug, info, warn};

use super::board::Board;
use super::lines::Lines;
use super::{Sharing, StdioConfig};

/// What a child may know of the machine without being told by the operator.
const INHERITED: [&str; 10] = ["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"];
/// Messages on their way to a child's pipe.
const INPUT: usize = 64;
const LONGEST_LOG_LINE: usize = 4 * 1024;
/// How long a child may take to end by itself once its input is closed.
const FAREWELL: Duration = Duration::from_secs(2);
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

    pub(super) async fn start(&self, board: Arc<Board>) -> Result<Arc<Process>, BoxError> {
        let slot = self.slot().await?;
        let mut child = self.command().spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
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
        let keeper = Keeper {
            namespace,
            group: Group(child.id()),
            child,
            board,
            process: Arc::downgrade(&process),
            answers: process.input.downgrade(),
            max_line: self.config.max_line,
            max_depth: self.config.max_depth,
        };
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
        self.input.send(message.to_vec().into()).await.is_ok()
    }

    /// For those who cannot wait: lost when the pipe is full.
    pub(super) fn send_now(&self, message: &Message) {
        let _ = self.input.try_send(message.to_vec().into());
    }

    pub(super) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Its input is closed, and it has a moment to end.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.dead.store(true, Ordering::Release);
        self.stop.send_replace(true);
    }
}

/// Ends the whole group when dropped: a child's own children must not outlive it.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(pid) = self.0.take().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
            // Usually nobody is left.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

/// What belongs to the task that keeps a child. If the task is dropped, so is the child.
struct Keeper {
    namespace: Namespace,
    group: Group,
    child: Child,
    board: Arc<Board>,
    process: Weak<Process>,
    /// Weak, or the channel would stay open as long as the child runs, and the child as long as the channel.
    answers: mpsc::WeakSender<Bytes>,
    max_line: usize,
    max_depth: usize,
}

impl Keeper {
    async fn run(
        mut self,
        stdin: ChildStdin,
        stdout: impl AsyncRead + Unpin,
        inbox: mpsc::Receiver<Bytes>,
        stopped: watch::Receiver<bool>,
        idle: Option<Duration>,
    ) {
        let asked = tokio::select! {
            biased;
            () = asked_to_stop(stopped) => true,
            () = idle_for(&self.board, idle) => true,
            () = self.read(stdout) => false,
            () = write(stdin, inbox) => false,
        };
        if let Some(process) = self.process.upgrade() {
            process.stopped.fetch_or(asked, Ordering::AcqRel);
            process.dead.store(true, Ordering::Release);
        }
        // Its input is closed by now, which is how a server of this kind is told to end.
        self.board.close();
        let ended = tokio::time::timeout(FAREWELL, self.child.wait()).await;
        drop(self.group);
        let _ = self.child.start_kill();
        report(&self.namespace, asked, ended.ok().and_then(Result::ok));
    }

    async fn read(&self, stdout: impl AsyncRead + Unpin) {
        let mut lines = Lines::new(stdout, self.max_line);
        loop {
            let line = match lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(error) => {
                    warn!(namespace = %self.namespace, "stopping the child of {}: {error}", self.namespace);
                    return;
                }
            };
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match Reply::scan_all(&line, self.max_depth) {
                Ok(replies) => replies.into_iter().for_each(|reply| self.receive(reply)),
                // Banners and stray prints are common; they are nobody's message.
                Err(refusal) => debug!(namespace = %self.namespace, "{} wrote what is not MCP: {refusal}", self.namespace),
            }
        }
    }

    fn receive(&self, reply: Reply) {
        if let Some(answer) = self.board.receive(reply)
            && let Some(answers) = self.answers.upgrade()
        {
            let _ = answers.try_send(answer.to_vec().into());
        }
    }
}

async fn write(mut stdin: ChildStdin, mut inbox: mpsc::Receiver<Bytes>) {
    let mut batch = Vec::new();
    while inbox.recv_many(&mut batch, INPUT).await > 0 {
        let mut lines = Vec::with_capacity(batch.iter().map(|line| line.len() + 1).sum());
        for line in batch.drain(..) {
            lines.extend_from_slice(&line);
            lines.push(b'\n');
        }
        if stdin.write_all(&lines).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// Also when the handle is dropped.
async fn asked_to_stop(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

async fn idle_for(board: &Board, limit: Option<Duration>) {
    let Some(limit) = limit else { return std::future::pending().await };
    loop {
        let idle = board.idle_since().map_or(Duration::ZERO, |since| since.elapsed());
        if idle >= limit {
            return;
        }
        tokio::time::sleep(limit.saturating_sub(idle).max(Duration::from_millis(10))).await;
    }
}

fn report(namespace: &Namespace, asked: bool, status: Option<ExitStatus>) {
    match (asked, status) {
        (true, _) => info!(namespace = %namespace, "stopped a child of {namespace}"),
        (false, Some(status)) => warn!(namespace = %namespace, "a child of {namespace} ended: {status}"),
        (false, None) => warn!(namespace = %namespace, "a child of {namespace} closed its pipes and was ended"),
    }
}

/// What a child says on the side, for whoever debugs it.
async fn log_lines(namespace: Namespace, stderr: impl AsyncRead + Unpin) {
    let mut lines = Lines::new(stderr, 64 * 1024);
    while let Ok(Some(line)) = lines.next().await {
        let shown = line.get(..LONGEST_LOG_LINE).unwrap_or(&line);
        debug!(namespace = %namespace, "{namespace}: {}", String::from_utf8_lossy(shown).escape_debug());
    }
}
