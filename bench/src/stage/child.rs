//! A process we started, which ends when we let go of it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::error::{Context, Failure, Result};

/// Leads its own process group, so that a Ctrl-C at the terminal reaches us alone and we end the children in order.
pub struct Child {
    pub name: String,
    process: process::Child,
    log: PathBuf,
    stop: Signal,
    /// A directory that belongs to it and goes after it.
    dir: Option<tempfile::TempDir>,
}

impl Child {
    /// Output goes to a file beside its data; `log_tail` shows it when something is wrong.
    pub fn start(name: &str, mut command: Command, dir: &Path) -> Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let doing = || format!("start {name} ({})", command.get_program().display());
        let out = File::create(&log).context(doing)?;
        let err = out.try_clone().context(doing)?;
        let program = command.get_program().display().to_string();
        let process = command
            .stdout(Stdio::from(out))
            .stderr(Stdio::from(err))
            .process_group(0)
            .spawn()
            .context(|| format!("start {name} ({program})"))?;
        Ok(Self { name: name.into(), process, log, stop: Signal::TERM, dir: None })
    }

    /// Postgres wants another signal to end now, and owns its directory.
    pub fn with(mut self, stop: Signal, dir: tempfile::TempDir) -> Self {
        self.stop = stop;
        self.dir = Some(dir);
        self
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn alive(&mut self) -> Result<()> {
        match self.process.try_wait().context(|| format!("ask after {}", self.name))? {
            None => Ok(()),
            Some(status) => Err(Failure::new(format!("{} ended ({status}):\n{}", self.name, self.log_tail()))),
        }
    }

    pub fn log_tail(&self) -> String {
        let text = fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.get(lines.len().saturating_sub(15)..).unwrap_or_default();
        last.iter().map(|line| format!("    {} | {line}\n", self.name)).collect()
    }

    fn ended_within(&mut self, patience: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < patience {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Child {
    /// Asks, waits, then insists on the whole group: an nginx master killed outright would leave its workers behind.
    fn drop(&mut self) {
        let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) else {
            return;
        };
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = kill_process(pid, self.stop);
            self.ended_within(Duration::from_secs(5));
        }
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = self.process.wait();
    }
}

/// Runs a command to its end and gives its stdout.
pub fn output(mut command: Command) -> Result<String> {
    let shown = format!(
        "{} {}",
        command.get_program().display(),
        command.get_args().map(|arg| arg.display().to_string()).collect::<Vec<_>>().join(" ")
    );
    let done = command.stdin(Stdio::null()).output().context(|| format!("run `{shown}`"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(Failure::new(format!("`{shown}` failed ({}): {}", done.status, said.trim())));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
