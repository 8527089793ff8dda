//! The import rules of the workspace, read from cargo itself.
//!
//! `deny.toml` bans crates from the whole tree but for named wrappers; what it cannot say is said here: which of our crates
//! may use which, and what must be nowhere below the core. Dev-dependencies are not looked at: they are not shipped.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

type Outcome = Result<(), Box<dyn Error>>;

/// What each crate of ours may use of ours: `server -> console, tools, upstream, store, plugins -> core -> protocol`.
const LAYERS: [(&str, &[&str]); 10] = [
    ("gateway-sql", &[]),
    ("gateway-protocol", &[]),
    ("gateway-core", &["gateway-protocol"]),
    ("gateway-dlp", &["gateway-protocol"]),
    ("gateway-plugins", &["gateway-core", "gateway-dlp", "gateway-protocol", "gateway-sql"]),
    ("gateway-store", &["gateway-core", "gateway-protocol"]),
    ("gateway-upstream", &["gateway-core", "gateway-protocol"]),
    ("gateway-tools", &["gateway-core", "gateway-protocol", "gateway-sql"]),
    ("gateway-console", &["gateway-core", "gateway-protocol"]),
    (
        "portreeve",
        &[
            "gateway-console",
            "gateway-tools",
            "gateway-upstream",
            "gateway-store",
            "gateway-plugins",
            "gateway-sql",
            "gateway-dlp",
            "gateway-core",
            "gateway-protocol",
        ],
    ),
];

/// Look at the gateway from outside, so they may use any part of it, and no part may use them.
const ONLOOKERS: [&str; 3] = ["portreeve-tests", "portreeve-bench", "portreeve-fuzz"];

/// A crate, or a family when it ends in `-`, and the only crates of ours that may name it.
const OWNERS: [(&str, &[&str]); 19] = [
    ("pg_query", &["gateway-sql"]),
    ("sqlparser", &["gateway-sql"]),
    ("pingora", &["portreeve"]),
    ("pingora-", &["portreeve"]),
    ("hyper", &["gateway-upstream", "portreeve-tests", "portreeve-bench"]),
    ("hyper-", &["gateway-upstream", "portreeve-tests", "portreeve-bench"]),
    ("regorus", &["gateway-plugins"]),
    ("rusqlite", &["gateway-store"]),
    ("sqlx", &["gateway-store"]),
    ("sqlx-", &["gateway-store"]),
    ("axum", &["gateway-console", "portreeve"]),
    ("axum-", &["gateway-console", "portreeve"]),
    ("tungstenite", &["portreeve", "portreeve-tests", "portreeve-fuzz"]),
    ("ring", &["gateway-upstream"]),
    ("serde_json_path", &["gateway-upstream"]),
    ("opentelemetry", &["gateway-upstream"]),
    ("opentelemetry-", &["gateway-upstream"]),
    ("opentelemetry_sdk", &["gateway-upstream"]),
    ("prometheus-client", &["gateway-console"]),
];

/// Crates that do I/O, or run it.
const OUTSIDE_WORLD: [&str; 30] = [
    "actix-",
    "async-std",
    "axum",
    "axum-",
    "diesel",
    "fred",
    "h2",
    "http",
    "http-body",
    "hyper",
    "hyper-",
    "libsqlite3-sys",
    "mio",
    "mongodb",
    "pingora",
    "pingora-",
    "postgres",
    "quinn",
    "redis",
    "reqwest",
    "rusqlite",
    "smol",
    "socket2",
    "sqlx",
    "sqlx-",
    "tokio",
    "tokio-",
    "tungstenite",
    "ureq",
    "warp",
];

#[test]
fn our_crates_use_each_other_in_one_direction() -> Outcome {
    let workspace = Workspace::read()?;
    let known: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).chain(ONLOOKERS).collect();
    let members: BTreeSet<&str> = workspace.members.keys().map(String::as_str).collect();
    assert_eq!(members, known, "a crate of the workspace has no place in the layers, or a layer has no crate");

    for (name, allowed) in LAYERS {
        for used in workspace.declared(name)?.iter().filter(|used| known.contains(used.as_str())) {
            assert!(allowed.contains(&used.as_str()), "`{name}` must not depend on `{used}`");
        }
    }
    Ok(())
}

#[test]
fn a_foreign_crate_is_named_only_by_its_owner() -> Outcome {
    let workspace = Workspace::read()?;
    for name in workspace.members.keys() {
        for used in workspace.declared(name)? {
            for (pattern, owners) in OWNERS {
                if matches(pattern, &used) {
                    assert!(owners.contains(&name.as_str()), "`{used}` belongs to {owners:?}, not to `{name}`");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn protocol_core_and_plugins_know_no_runtime() -> Outcome {
    let workspace = Workspace::read()?;
    for name in ["gateway-protocol", "gateway-core", "gateway-dlp", "gateway-sql", "gateway-plugins"] {
        let tree = workspace.tree(name)?;
        let runtime: Vec<_> = tree.iter().filter(|used| matches("tokio", used) || matches("tokio-", used)).collect();
        assert!(runtime.is_empty(), "`{name}` reaches {runtime:?}");
    }
    Ok(())
}

// acceptance 39
#[test]
fn nothing_below_the_core_touches_the_outside_world() -> Outcome {
    let workspace = Workspace::read()?;
    let tree = workspace.tree("gateway-core")?;
    assert!(tree.contains("gateway-protocol"), "the tree was not read: {tree:?}");
    let found: Vec<_> = tree.iter().filter(|used| OUTSIDE_WORLD.iter().any(|pattern| matches(pattern, used))).collect();
    assert!(found.is_empty(), "`gateway-core` reaches {found:?}");
    Ok(())
}

// acceptance 39
#[test]
fn the_core_declares_the_ports_it_is_known_by() -> Outcome {
    let sources = rust_sources(&repository().join("gateway/core/src"))?;
    for port in ["ToolRegistry", "ExecutionEngine", "TenantStore", "AuditBuffer"] {
        let declares = |text: &String| {
            text.lines().filter_map(|line| line.trim_start().strip_prefix("pub trait ")).any(|rest| {
                rest.strip_prefix(port)
                    .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            })
        };
        assert!(sources.iter().any(declares), "gateway/core/src has no `pub trait {port}`");
    }
    Ok(())
}

/// `hyper-` is every crate whose name starts so, `hyper` that crate alone.
fn matches(pattern: &str, name: &str) -> bool {
    if pattern.ends_with('-') { name.starts_with(pattern) } else { name == pattern }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn rust_sources(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            texts.extend(rust_sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(fs::read_to_string(&path)?);
        }
    }
    Ok(texts)
}

struct Workspace {
    /// Name of each member and its package id.
    members: BTreeMap<String, String>,
    names: BTreeMap<String, String>,
    /// Package id to the names of what its manifest declares, optional dependencies included.
    declared: BTreeMap<String, BTreeSet<String>>,
    /// Package id to the ids of what it is built with.
    resolved: BTreeMap<String, Vec<String>>,
}

impl Workspace {
    /// Offline, because everything that was built is on the machine, and for this platform only, because the rest may not be.
    fn read() -> Result<Self, Box<dyn Error>> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", &platform])
            .current_dir(repository())
            .output()?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)?;

        let mut workspace = Self {
            members: BTreeMap::new(),
            names: BTreeMap::new(),
            declared: BTreeMap::new(),
            resolved: BTreeMap::new(),
        };
        for package in list(&metadata, "/packages")? {
            let (id, name) = (text(package, "/id")?, text(package, "/name")?);
            let mut declared = BTreeSet::new();
            for dependency in list(package, "/dependencies")? {
                if dependency.pointer("/kind").and_then(Value::as_str) != Some("dev") {
                    declared.insert(text(dependency, "/name")?);
                }
            }
            workspace.declared.insert(id.clone(), declared);
            workspace.names.insert(id, name);
        }
        for node in list(&metadata, "/resolve/nodes")? {
            let mut used = Vec::new();
            for dependency in list(node, "/deps")? {
                let shipped = |kind: &Value| kind.pointer("/kind").and_then(Value::as_str) != Some("dev");
                if list(dependency, "/dep_kinds")?.iter().any(shipped) {
                    used.push(text(dependency, "/pkg")?);
                }
            }
            workspace.resolved.insert(text(node, "/id")?, used);
        }
        for member in list(&metadata, "/workspace_members")? {
            let id = text(member, "")?;
            let name = workspace.names.get(&id).ok_or("a member without a package")?;
            workspace.members.insert(name.clone(), id);
        }
        Ok(workspace)
    }

    fn declared(&self, member: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
        let id = self.members.get(member).ok_or_else(|| format!("no crate `{member}`"))?;
        Ok(self.declared.get(id).ok_or_else(|| format!("nothing known of `{member}`"))?.clone())
    }

    /// The names of all crates below `member`, itself left out.
    fn tree(&self, member: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
        let start = self.members.get(member).ok_or_else(|| format!("no crate `{member}`"))?;
        let mut reached = BTreeSet::new();
        let mut waiting = vec![start];
        while let Some(id) = waiting.pop() {
            for next in self.resolved.get(id).ok_or_else(|| format!("`{id}` is not resolved"))? {
                if reached.insert(next) {
                    waiting.push(next);
                }
            }
        }
        Ok(reached.into_iter().filter_map(|id| self.names.get(id).cloned()).collect())
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> Result<&'a Vec<Value>, Box<dyn Error>> {
    value.pointer(pointer).and_then(Value::as_array).ok_or_else(|| format!("no list at {pointer}").into())
}

fn text(value: &Value, pointer: &str) -> Result<String, Box<dyn Error>> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    Ok(found.ok_or_else(|| format!("no text at {pointer}"))?.to_owned())
}
