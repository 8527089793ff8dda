//! The task that keeps one child: carries lines both ways until somebody ends it, then sees to it that all of it is gone.

use std::process::ExitStatus;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use gateway_core::Namespace;
use gateway_protocol::Reply;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, watch};
use tracing::{debug, info, warn};

use super::board::Board;
use super::lines::Lines;
use super::process::{INPUT, Process};

/// How long a child may take to end by itself once its input is closed.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// Ends the whole group when dropped: a child's own children must not outlive it.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(pid) = self.0.take().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            // Usually nobody is left.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

/// What belongs to the task that keeps a child. If the task is dropped, so is the child.
pub(super) struct Keeper {
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
    pub(super) fn new(
        namespace: Namespace,
        child: Child,
        board: Arc<Board>,
        process: &Arc<Process>,
        (max_line, max_depth): (usize, usize),
    ) -> Self {
        let (group, answers) = (Group(child.id()), process.input());
        Self { namespace, group, child, board, process: Arc::downgrade(process), answers, max_line, max_depth }
    }

    pub(super) async fn run(
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
            process.ended(asked);
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
                Err(refusal) => {
                    debug!(namespace = %self.namespace, "{} wrote what is not MCP: {refusal}", self.namespace)
                }
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

/// What a child says on the side must be read, or it would wait for that; it may be anything, so that only its length is told.
pub(super) async fn log_lines(namespace: Namespace, stderr: impl AsyncRead + Unpin) {
    let mut lines = Lines::new(stderr, 64 * 1024);
    while let Ok(Some(line)) = lines.next().await {
        debug!(namespace = %namespace, bytes = line.len(), "{namespace} wrote a line to its standard error");
    }
}
