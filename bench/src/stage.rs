//! Everybody on the stage: the upstream, nginx, Portreeve on each store, and peers somebody else has started.
//!
//! All of it listens on free ports of loopback and lives in one temporary directory. What was started here ends with the `Stage`,
//! in the reverse order, on success, on error and on Ctrl-C alike.

pub mod child;
mod nginx;
mod portreeve;
mod postgres;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cli::{Options, Peer};
use crate::error::{Context, Result};
use crate::handshake::{accepts, greet, wait_until};
use crate::request::Endpoint;
use crate::stage::child::Child;

pub const DIRECT: &str = "direct";
pub const NGINX: &str = "nginx";
pub const SQLITE: &str = "portreeve-sqlite";
pub const POSTGRES: &str = "portreeve-postgres";
/// On SQLite with every policy of the repository in force; the two above only pass on, with auth, manifests and audit.
pub const FULL: &str = "portreeve-full";

pub struct Target {
    pub name: String,
    pub endpoint: Endpoint,
    /// The root of the process tree whose CPU and memory are the proxy's; a direct call has no proxy.
    pub pid: Option<u32>,
    /// A database server working for it, reported beside it.
    pub store_pid: Option<u32>,
    /// Started by somebody else, so not among our own processes.
    pub peer: bool,
}

pub struct Stage {
    pub targets: Vec<Target>,
    pub upstream_pid: u32,
    /// Who should be here and is not, and why.
    pub not_measured: Vec<(String, String)>,
    pub notes: Vec<String>,
    children: Vec<Child>,
    dir: tempfile::TempDir,
}

impl Drop for Stage {
    fn drop(&mut self) {
        while let Some(child) = self.children.pop() {
            drop(child);
        }
    }
}

impl Stage {
    pub fn set(options: &Options) -> Result<Self> {
        let dir =
            tempfile::Builder::new().prefix("portreeve-compare-").tempdir().context(|| "temporary directory".into())?;
        let port = options.upstream_port.map_or_else(free_port, Ok)?;
        let upstream = upstream(dir.path(), port, options)?;
        let mut stage = Self {
            targets: Vec::new(),
            upstream_pid: upstream.id(),
            not_measured: Vec::new(),
            notes: vec![format!("upstream http://127.0.0.1:{port}/mcp, one thread, MCP {}", options.era.version())],
            children: vec![upstream],
            dir,
        };
        if options.wants(DIRECT) {
            stage.add(DIRECT, &Endpoint::new(port, "/mcp", options.era), None, None)?;
        }
        if options.wants(NGINX) {
            stage.nginx(port, options)?;
        }
        let ours: Vec<_> = [SQLITE, POSTGRES, FULL].into_iter().filter(|name| options.wants(name)).collect();
        if options.without_portreeve {
            stage.not_measured.extend(ours.iter().map(|name| ((*name).into(), "--without-portreeve".into())));
        } else if !ours.is_empty() {
            let binary = portreeve::find(options)?;
            for name in ours {
                stage.portreeve(&binary, name, port, options)?;
            }
        }
        for peer in options.peer.iter().filter(|peer| options.wants(&peer.name)) {
            stage.peer(peer, options)?;
        }
        Ok(stage)
    }

    fn add(&mut self, name: &str, endpoint: &Endpoint, pid: Option<u32>, store_pid: Option<u32>) -> Result<()> {
        let endpoint = match greet(name, endpoint) {
            Ok(endpoint) => endpoint,
            Err(error) => return Err(error).context(|| self.last_words(name)),
        };
        let peer = pid.is_some_and(|pid| self.children.iter().all(|child| child.id() != pid));
        self.targets.push(Target { name: name.into(), endpoint, pid, store_pid, peer });
        Ok(())
    }

    /// What the process behind a target said last, to explain why it does not answer.
    fn last_words(&self, name: &str) -> String {
        let said = self.children.iter().find(|child| child.name == name).map(Child::log_tail).unwrap_or_default();
        if said.is_empty() { "greeting".into() } else { format!("{said}\ngreeting") }
    }

    fn nginx(&mut self, upstream: u16, options: &Options) -> Result<()> {
        let port = free_port()?;
        let (child, version) = nginx::start(self.dir.path(), port, upstream)?;
        let pid = child.id();
        self.children.push(child);
        self.notes.push(format!(
            "{version}, {} workers, keep-alive both ways, no access log, no buffering of streams",
            nginx::WORKERS
        ));
        let mut endpoint = Endpoint::new(port, "/mcp", options.era);
        endpoint.stream_path = "/stream/mcp".into();
        self.add(NGINX, &endpoint, Some(pid), None)
    }

    fn portreeve(&mut self, binary: &Path, name: &str, upstream: u16, options: &Options) -> Result<()> {
        let dir = self.dir.path().join(name);
        fs::create_dir_all(&dir).context(|| format!("create {}", dir.display()))?;
        let (store, store_pid) = if name == POSTGRES {
            let server = postgres::start(free_port()?)?;
            let found = (server.url.clone(), Some(server.child.id()));
            self.notes.push(format!("{}, private cluster, its own defaults (fsync on)", server.version));
            self.children.push(server.child);
            found
        } else {
            (format!("sqlite://{}", dir.join("portreeve.db").display()), None)
        };
        let started = portreeve::start(binary, name, &dir, &store, upstream, options)?;
        let mut endpoint = Endpoint::new(started.port, "/bench/mcp", options.era);
        endpoint.headers.push(("x-api-key".into(), started.key));
        let pid = started.child.id();
        self.children.push(started.child);
        self.add(name, &endpoint, Some(pid), store_pid)
    }

    fn peer(&mut self, peer: &Peer, options: &Options) -> Result<()> {
        let mut endpoint = Endpoint::parse(&peer.url, options.era).context(|| format!("peer `{}`", peer.name))?;
        endpoint.headers.clone_from(&peer.headers);
        self.add(&peer.name, &endpoint, Some(peer.pid), None)
    }
}

/// The upstream is this very binary in its own process, so that its CPU time is its own.
fn upstream(dir: &Path, port: u16, options: &Options) -> Result<Child> {
    let own = std::env::current_exe().context(|| "find this binary".into())?;
    let mut command = Command::new(own);
    let era = if options.era == crate::request::Era::Modern { "modern" } else { "legacy" };
    command.args(["upstream", "--port", &port.to_string(), "--era", era]).stdin(Stdio::piped());
    let mut child = Child::start("upstream", command, dir)?;
    wait_until("the upstream", Duration::from_secs(10), || child.alive(), || accepts(port))?;
    Ok(child)
}

/// A port nobody listens on now. Another process could take it before we do; then the start fails and says so.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context(|| "find a free port".into())?;
    Ok(listener.local_addr().context(|| "find a free port".into())?.port())
}

pub fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).context(|| format!("create {}", parent.display()))?;
    }
    fs::write(path, text).context(|| format!("write {}", path.display()))
}
