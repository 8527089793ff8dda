//! Portreeve as its users run it: a config file, a tenant, an agent with a key, `serve`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::cli::Options;
use crate::error::{Context, Failure, Result};
use crate::handshake::{exchange, wait_until};
use crate::stage::child::{Child, output};
use crate::stage::{FULL, free_port, write};

pub struct Started {
    pub child: Child,
    pub port: u16,
    pub key: String,
}

#[derive(Deserialize)]
struct Agent {
    api_key: String,
}

pub fn start(binary: &Path, name: &str, dir: &Path, store: &str, upstream: u16, options: &Options) -> Result<Started> {
    let (port, console) = (free_port()?, free_port()?);
    let policies = dir.join("policies");
    copy(&options.policies(), &policies)?;
    if name != FULL {
        pass_on(&policies)?;
    }
    write(&policies.join("manifests").join("bench.yaml"), &manifests())?;
    let config = dir.join("portreeve.yaml");
    write(&config, &configuration(port, console, store, upstream, &policies))?;

    let run = |arguments: &[&str]| {
        let mut command = Command::new(binary);
        command.args(arguments).arg("--config").arg(&config).current_dir(dir);
        command
    };
    output(run(&["tenant", "add", "bench", "--json"]))?;
    let told = output(run(&["agent", "add", "bench-agent", "--tenant", "bench", "--autonomy", "A3", "--json"]))?;
    let agent: Agent =
        serde_json::from_str(&told).context(|| format!("read what `agent add` printed: `{}`", told.trim()))?;

    let mut child = Child::start(name, run(&["serve"]), dir)?;
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let question = format!("GET /ready HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let ready = || exchange(address, &question).is_ok_and(|answer| answer.status == 200);
    if let Err(error) = wait_until(name, Duration::from_secs(30), || child.alive(), ready) {
        return Err(Failure::new(format!("{error}\n{}", child.log_tail())));
    }
    Ok(Started { child, port, key: agent.api_key })
}

/// The one that was named, or the one of this repository, built now so that nothing stale is measured.
pub fn find(options: &Options) -> Result<PathBuf> {
    let path = match &options.portreeve {
        Some(path) => path.clone(),
        None => built()?,
    };
    // Made absolute, because it is run from another directory.
    path.canonicalize().context(|| {
        format!(
            "no Portreeve at `{}`: name one with --portreeve, or measure the others with --without-portreeve",
            path.display()
        )
    })
}

fn built() -> Result<PathBuf> {
    let mut build = Command::new("cargo");
    build.args(["build", "--package", "portreeve", "--bin", "portreeve"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let status = build.status().context(|| "run `cargo build` for the gateway".into())?;
    if !status.success() {
        return Err(Failure::new("the gateway does not build; name a built one with --portreeve"));
    }
    let own = std::env::current_exe().context(|| "find this binary".into())?;
    Ok(own.with_file_name("portreeve"))
}

fn configuration(port: u16, console: u16, store: &str, upstream: u16, policies: &Path) -> String {
    format!(
        "listen:
  mcp: 127.0.0.1:{port}
  console: 127.0.0.1:{console}
store:
  url: \"{store}\"
upstreams:
  bench: {{ url: \"http://127.0.0.1:{upstream}/mcp\" }}
policies: \"{}\"
limits: {{ agent_per_minute: 0 }}
",
        policies.display()
    )
}

fn manifests() -> String {
    let mut text = String::from("manifests:\n");
    for tool in ["echo_200", "echo_4k", "echo_64k", "stream"] {
        text += &format!(
            "  - {{ id: bench/{tool}, domain: bench, risk_level: READ_ONLY, side_effects: false, \
             allowed_modes: [SHADOW, ADVISORY, PARTIAL_AUTO, FULL_AUTO] }}\n"
        );
    }
    text
}

/// Nothing is looked for in what is said; who may call what is judged and recorded all the same. A file that is missing would
/// be the built-in one, so each is there and empty.
fn pass_on(policies: &Path) -> Result<()> {
    let detectors = policies.join("dlp");
    let files = fs::read_dir(&detectors).context(|| format!("list {}", detectors.display()))?;
    for file in files {
        let file = file.context(|| format!("list {}", detectors.display()))?.path();
        if file.extension().is_some_and(|ending| ending == "yaml") {
            write(&file, "detectors: []\n")?;
        }
    }
    write(&policies.join("injection.yaml"), "action: off\n")
}

/// The policies of the repository, as users have them.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).context(|| format!("create {}", to.display()))?;
    for entry in fs::read_dir(from).context(|| format!("list {}", from.display()))? {
        let entry = entry.context(|| format!("list {}", from.display()))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).context(|| format!("copy {}", source.display()))?;
        }
    }
    Ok(())
}
