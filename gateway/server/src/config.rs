//! The configuration: one YAML file, every key optional, and all of its problems told at once.
//!
//! `written.rs` is what people may write, `sound.rs` turns it into [`Config`], which the rest of the server trusts. What a
//! compliance officer may change is not here but in the policy files.

mod built_in;
mod document;
mod environment;
mod gate;
mod gate_file;
mod numbers;
mod problem;
mod secret;
mod sound;
mod sound_built_in;
mod sound_decision;
mod sound_gate;
mod sound_telemetry;
mod sound_upstreams;
#[cfg(test)]
mod tests;
mod written;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway_core::{AgentId, Namespace};
use gateway_upstream::{CacheRule, Protocol};
use schemars::JsonSchema;
use serde::Deserialize;

pub use built_in::{Backend, Llm, Supabase, SupabaseConfig};
pub use document::{nearest, parse, read};
pub use gate::{EvidenceSource, Gate, GateProvider};
pub use problem::{Problem, Problems};
pub use secret::Secret;
pub use sound_telemetry::Otlp;

/// What applies when there is no file at all; also the commented example.
const DEFAULT: &str = include_str!("../../../config/portreeve.yaml");
/// Looked for in the working directory when nobody names a file.
const USUAL_FILE: &str = "portreeve.yaml";
/// Namespaces of the built-in tools: no upstream may take them.
pub const BUILT_IN: [&str; 2] = ["adp", "gate"];

#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `None`: the embedded default.
    pub file: Option<PathBuf>,
    pub listen: Listen,
    pub cluster: Cluster,
    /// The store's URL, with a relative SQLite path already joined to the file's directory.
    pub store: Secret,
    pub shared_state: Option<Secret>,
    pub upstreams: BTreeMap<Namespace, UpstreamConfig>,
    pub supabase: Supabase,
    /// `None`: no model is asked for anything.
    pub llm: Option<Llm>,
    /// `None`: the policies shipped with the gateway.
    pub policies: Option<PathBuf>,
    /// Policies on trial.
    pub candidate: Option<PathBuf>,
    /// How long a list that was seen is good enough.
    pub pins_recheck: Duration,
    pub approvals: Approvals,
    pub gate: Gate,
    pub identity: Identity,
    pub audit: Audit,
    pub limits: Limits,
    pub tool_separator: String,
    pub on_denied: OnDenied,
    pub explain_to_caller: bool,
    /// `None`: no call is drawn as a span.
    pub otlp: Option<Otlp>,
    pub log: Log,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    pub mcp: SocketAddr,
    pub console: SocketAddr,
    pub tls: Option<Tls>,
    /// Host names accepted beside the listener's own: lowercase, without port.
    pub hosts: Vec<String>,
    /// Origins accepted beside the listener's own: lowercase, `scheme://host[:port]`.
    pub origins: Vec<String>,
    /// What clients call the MCP listener, without a slash at its end; `None`: what each request calls it.
    pub public_url: Option<String>,
}

/// How the other nodes on the same store reach this one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cluster {
    /// Without a slash at its end.
    pub advertise: Option<String>,
    /// The authority that the nodes' certificates are checked against; `None`: the system's.
    pub ca: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub client_ca: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamConfig {
    pub transport: Transport,
    /// Tools without a manifest pass, loudly. Only ever true on loopback.
    pub observe_unclassified: bool,
    pub timeout: Duration,
    pub protocol: Protocol,
    pub cache: Option<CacheRule>,
    pub pins: Pinning,
    /// Its annotations may lower a suggestion.
    pub trusted: bool,
    /// Variables that it needs and that are not set.
    pub lacks: Vec<String>,
}

/// When a tool's definition counts as accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pinning {
    #[default]
    FirstUse,
    Explicit,
    Off,
}

/// How humans are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvals {
    pub deadline: Duration,
    /// How long a yes may be used.
    pub use_within: Duration,
    /// What people call the console, without a slash at its end; `None`: its listener's address.
    pub url: Option<String>,
    pub show_arguments: bool,
    pub webhook: Option<Webhook>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// May hold a token in its path.
    pub url: Secret,
    pub secret: Secret,
}

#[derive(Clone, PartialEq)]
pub enum Transport {
    Http { url: String, headers: BTreeMap<String, Secret>, kind: HttpKind },
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, Secret>, cwd: Option<PathBuf>, sharing: Sharing },
}

impl Transport {
    /// Fit for a screen or a log: queries and arguments may carry secrets and are left out.
    pub fn shown(&self) -> String {
        match self {
            Self::Http { url, .. } => {
                let plain = url.split(['?', '#']).next().unwrap_or_default();
                let Some((scheme, rest)) = plain.split_once("://") else { return plain.to_owned() };
                let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
                // Nobody gets past the checks with a login in a URL; this does not rely on it.
                let host = authority.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}{path}")
            }
            Self::Stdio { command, args, .. } if args.is_empty() => command.clone(),
            Self::Stdio { command, .. } => format!("{command} ..."),
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transport({})", self.shown())
    }
}

/// Which of MCP's two ways over HTTP a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HttpKind {
    #[default]
    Auto,
    StreamableHttp,
    /// The two endpoints of 2024-11-05.
    Sse,
}

/// Whether callers of a program share one process of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    #[default]
    PerPrincipal,
    Shared,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Who callers without credentials act as; `None` refuses them.
    pub anonymous: Option<AgentId>,
    /// Accepted and checked; tokens are not verified against these yet.
    pub oidc: Vec<Oidc>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oidc {
    pub issuer: String,
    pub audience: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    pub wait: AuditWait,
    pub spool: PathBuf,
    pub spool_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditWait {
    #[default]
    SideEffects,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub body_bytes: usize,
    pub header_bytes: usize,
    pub depth: usize,
    pub header_time: Duration,
    pub body_time: Duration,
    pub idle_time: Duration,
    /// `None`: no limit.
    pub agent_per_minute: Option<std::num::NonZeroU32>,
    /// How long a call waits for its caller to answer a question.
    pub hold_time: Duration,
    /// Calls of one agent that may wait so at once, on each upstream.
    pub held_calls: usize,
    /// The longest a call may take, however lively it is.
    pub call_time: Duration,
    /// Listening streams of one agent.
    pub streams: usize,
    /// Approvals of one agent that wait.
    pub pending_approvals: usize,
    pub runs: Runs,
}

/// What runs of tool agents may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    pub longest: Duration,
    /// Runs at once on this node.
    pub at_once: usize,
    pub tools: usize,
    pub parallel_tools: usize,
    pub result_bytes: usize,
    pub deliverable_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDenied {
    #[default]
    ToolError,
    RpcError,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// A filter as `tracing` reads it.
    pub level: String,
    pub json: bool,
}

impl Config {
    /// The file named, else `./portreeve.yaml` if there is one, else the embedded default.
    pub fn load(path: Option<&Path>) -> Result<Self, Vec<Problem>> {
        let usual = Path::new(USUAL_FILE);
        let Some(file) = path.or_else(|| usual.exists().then_some(usual)) else {
            return Self::parse(DEFAULT, None, &environment::process);
        };
        match std::fs::read_to_string(file) {
            Ok(text) => Self::parse(&text, Some(file), &environment::process),
            Err(error) => {
                let mut problems = Problems::of(file.display().to_string());
                problems.say("", format!("cannot be read: {error}"));
                Err(problems.into_found())
            }
        }
    }

    /// From a text: `file` names it in problems and is where relative paths start.
    pub fn parse(text: &str, file: Option<&Path>, lookup: environment::Lookup<'_>) -> Result<Self, Vec<Problem>> {
        let mut problems = Problems::of(file.map_or("(embedded default)".into(), |file| file.display().to_string()));
        let Some(mut tree) = parse(text, &mut problems) else {
            return Err(problems.into_found());
        };
        environment::fill(&mut tree, lookup, &mut problems);
        let base = file.and_then(Path::parent).unwrap_or(Path::new(""));
        gate_file::taken_in(&mut tree, base, lookup, &mut problems);
        let Some(written) = read(tree, "", &mut problems) else {
            return Err(problems.into_found());
        };
        let config = sound::config(written, file, lookup, &mut problems);
        problems.or(config)
    }

    /// What the configuration names and is not there: only `check` and `serve` need the files themselves.
    pub fn missing_files(&self) -> Vec<Problem> {
        let file = self.file.as_ref().map_or("(embedded default)".into(), |file| file.display().to_string());
        let mut problems = Problems::of(file);
        if let Some(tls) = &self.listen.tls {
            let named = [("cert", Some(&tls.cert)), ("key", Some(&tls.key)), ("client_ca", tls.client_ca.as_ref())];
            for (key, path) in named {
                if let Some(path) = path.filter(|path| !path.is_file()) {
                    problems.say(format!("listen.tls.{key}"), format!("there is no file `{}`", path.display()));
                }
            }
        }
        if let Some(path) = self.cluster.ca.as_ref().filter(|path| !path.is_file()) {
            problems.say("cluster.ca", format!("there is no file `{}`", path.display()));
        }
        self.gate.missing(&mut problems);
        problems.into_found()
    }

    /// What a change of is worth reloading for.
    pub fn watched(&self) -> Vec<PathBuf> {
        self.file.iter().chain(&self.policies).chain(&self.candidate).chain(&self.gate.file).cloned().collect()
    }
}
