//! Child processes that end with the story.

use std::fs::File;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Output goes to `log`, which a failing story prints.
    pub fn start(command: &mut Command, log: &Path) -> Self {
        let file = File::options().create(true).append(true).open(log).expect("a log file");
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("the log twice"))
            .stderr(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        Self { child, log: log.into() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until somebody listens there.
    pub fn wait_for_port(&mut self, port: u16) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = self.child.try_wait().expect("the child's status") {
                panic!("ended with {status} before it listened:\n{}", self.log());
            }
            assert!(Instant::now() < deadline, "nothing listens on {port}:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(sent.expect("kill").success(), "signal {name}");
    }

    /// Waits for the end; `None` if it does not come.
    pub fn wait(&mut self, patience: Duration) -> Option<i32> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().expect("the child's status") {
                return Some(status.code().unwrap_or(-1));
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let tail = log.len().saturating_sub(8000);
            eprintln!("--- {} ---\n{}", self.log.display(), log.get(tail..).unwrap_or(&log));
        }
    }
}
