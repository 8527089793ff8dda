//! The configuration as it is written: every key optional, no key unknown. What it means is decided in `sound.rs`.
//!
//! The comments here are the descriptions in `config/portreeve.schema.json`.

mod built_in;
mod decision;
mod gate;
mod telemetry;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::numbers::{Count, Size};
use super::{AuditWait, HttpKind, OnDenied, Pinning, Sharing};

pub use built_in::{WrittenBuiltIn, WrittenLlm, WrittenSupabase};
pub use decision::{WrittenApprovals, WrittenPins, WrittenWebhook};
pub use gate::{
    DispatchEngine, ProviderDialect, ProviderKind, ProviderSource, TrustPolicy, WrittenAnchor, WrittenDispatch,
    WrittenGate, WrittenProvider, WrittenProviderConfig,
};
pub use telemetry::{WrittenOtlp, WrittenTelemetry};

/// The configuration of a Portreeve gateway. `${NAME}` in any text comes from the environment; relative paths start at
/// the directory of this file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "portreeve.yaml")]
pub struct WrittenConfig {
    /// Where the gateway listens.
    pub listen: WrittenListen,
    /// How the other nodes on the same store reach this one.
    pub cluster: WrittenCluster,
    /// Where tenants, agents, keys and the audit chain are kept.
    pub store: WrittenStore,
    /// Optional: cluster-wide rate limits.
    pub shared_state: WrittenSharedState,
    /// The MCP servers behind the gateway, each under its namespace.
    pub upstreams: BTreeMap<String, WrittenUpstream>,
    /// The servers inside the gateway that need something of the world.
    pub built_in: WrittenBuiltIn,
    /// Optional: a language model for the built-in servers. Without it none is asked, and nothing is assumed.
    pub llm: Option<WrittenLlm>,
    /// The directory of policy files. Without it, the policies shipped with the gateway apply.
    pub policies: Option<String>,
    /// A second directory of policy files, judged beside the first and never obeyed: what would change is written down.
    pub candidate: Option<String>,
    /// How tools' definitions are compared with what was accepted.
    pub pins: WrittenPins,
    /// How humans are asked.
    pub approvals: WrittenApprovals,
    /// The Decision Gate: scenarios, evidence and packs.
    pub gate: WrittenGate,
    /// Who callers are.
    pub identity: WrittenIdentity,
    /// How calls are written down.
    pub audit: WrittenAudit,
    /// What a caller may send, and how often.
    pub limits: WrittenLimits,
    /// Between namespace and tool in the names listed at `/mcp`: 1 to 3 letters, digits, `_`, `.` or `-`. Default `__`.
    pub tool_separator: Option<String>,
    /// How a refused tool call is answered. Default `tool_error`.
    pub on_denied: Option<OnDenied>,
    /// Whether refusals tell the caller why. Default true.
    pub explain_to_caller: Option<bool>,
    /// What is told to those who watch the gateway among other services.
    pub telemetry: WrittenTelemetry,
    /// What the gateway says on its standard error.
    pub log: WrittenLog,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenListen {
    /// Where MCP clients connect. Default `127.0.0.1:8080`.
    pub mcp: Option<String>,
    /// Where people and administration connect. Default `127.0.0.1:8081`.
    pub console: Option<String>,
    /// Optional: TLS on the MCP listener.
    pub tls: Option<WrittenTls>,
    /// Host names accepted beside those of the listener itself.
    pub hosts: Vec<String>,
    /// Web origins accepted beside those of the listener itself, such as `https://app.example.com`.
    pub origins: Vec<String>,
    /// What clients call the MCP listener, such as `https://gateway.example.com`. Default: what each request calls it.
    pub public_url: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenCluster {
    /// This node's own MCP listener as the others reach it, such as `https://10.0.0.7:8443`. Default: the listener's address,
    /// unless that is every address of the machine.
    pub advertise: Option<String>,
    /// The authority that the nodes' certificates are checked against, PEM. Default: the system's.
    pub ca: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenTls {
    /// The certificate chain, PEM.
    pub cert: String,
    /// Its private key, PEM.
    pub key: String,
    /// Turns on mutual TLS: only clients with a certificate of this authority are heard.
    #[serde(default)]
    pub client_ca: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenStore {
    /// `sqlite://FILE` or `postgres://user:password@host/db`. Default `sqlite://data/portreeve.db`.
    pub url: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenSharedState {
    /// `redis://HOST:PORT`.
    pub url: Option<String>,
}

/// Either `url`, or `command` with what belongs to it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenUpstream {
    /// The server's MCP endpoint, `http://` or `https://`.
    pub url: Option<String>,
    /// Sent with every request, for the server's own credentials.
    pub headers: BTreeMap<String, String>,
    /// A program that speaks MCP on its standard input and output.
    pub command: Option<String>,
    pub args: Vec<String>,
    /// Added to the few variables the program gets from the gateway's own environment.
    pub env: BTreeMap<String, String>,
    /// The program's working directory.
    pub cwd: Option<String>,
    /// One process for each caller, or one for all. Default `per_principal`.
    pub sharing: Option<Sharing>,
    /// What happens to tools without a manifest. `observe` lets them pass and says so loudly; loopback only. Default `deny`.
    pub unclassified: Option<Unclassified>,
    /// How long an answer may take to begin, and then fall silent. Default 60.
    pub timeout_seconds: Option<Count>,
    /// Which MCP revision it speaks: found out, or one of the two eras, or one revision. Default `auto`.
    pub protocol: Option<WrittenProtocol>,
    /// Which HTTP transport it speaks. Default `auto`.
    pub transport: Option<HttpKind>,
    /// How its lists are kept. Default: as the server says.
    pub cache: Option<WrittenCache>,
    /// When a tool's definition counts as accepted: when it is first seen, when somebody says so, or never. Default
    /// `first_use`.
    pub pins: Option<Pinning>,
    /// Whether what it says of its own tools may lower a suggested risk. Default false.
    pub trusted: Option<bool>,
    /// Variables of the gateway's environment that the server cannot do without. Where one is missing, `check` says so and a
    /// tool agent that needs the server is not run.
    pub required_env: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum WrittenProtocol {
    #[serde(rename = "auto")]
    Auto,
    /// 2026-07-28.
    #[serde(rename = "modern")]
    Modern,
    /// The newest of the revisions that open with a handshake.
    #[serde(rename = "legacy")]
    Legacy,
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenCache {
    /// How long a list is kept, whatever the server says; 0 keeps none.
    pub seconds: Option<Count>,
    /// One list for all callers, whatever the server says: only for servers that show everybody the same. Default false.
    pub shared: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unclassified {
    Deny,
    Observe,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenIdentity {
    /// `deny`, or the id of the agent that callers without credentials act as; loopback listeners only. Default `deny`.
    pub anonymous: Option<String>,
    /// Issuers whose tokens are accepted.
    pub oidc: Vec<WrittenOidc>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenOidc {
    /// The issuer's URL, exactly as its tokens name it.
    pub issuer: String,
    /// What a token's `aud` must hold.
    pub audience: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenAudit {
    /// Which calls wait until their trace is durable. Default `side_effects`.
    pub wait: Option<AuditWait>,
    /// The directory that takes traces while the store is away. Default `spool` beside the SQLite file, else `data/spool`.
    pub spool: Option<String>,
    /// How much the spool may hold before calls are refused. Default and at most 64MiB.
    pub spool_bytes: Option<Size>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenLimits {
    /// The largest message body. Default 4MiB.
    pub body_bytes: Option<Size>,
    /// The largest request head. Default 10KiB.
    pub header_bytes: Option<Size>,
    /// How deep a message may nest. Default 128.
    pub depth: Option<Count>,
    /// How long a request head may take to arrive. Default 10.
    pub header_seconds: Option<Count>,
    /// How long a body may take to arrive. Default 30.
    pub body_seconds: Option<Count>,
    /// How long an unused connection is kept. Default 60.
    pub idle_seconds: Option<Count>,
    /// Calls an agent may make in a minute; 0 is no limit. Default 100.
    pub agent_per_minute: Option<Count>,
    /// How long a call waits for its caller to answer a question of the server. Default 300, at most 3600.
    pub hold_seconds: Option<Count>,
    /// Calls of one agent that may wait so at once, on each upstream. Default 16.
    pub held_calls: Option<Count>,
    /// The longest a call may take, however lively it is. Default 3600.
    pub call_seconds: Option<Count>,
    /// Streams on which one agent may listen at once. Default 64.
    pub streams: Option<Count>,
    /// Approvals of one agent that may wait for a human at once. Default 100.
    pub pending_approvals: Option<Count>,
    /// The longest a run of a tool agent may take. Default 600.
    pub run_seconds: Option<Count>,
    /// Runs of tool agents at once on this node. Default 4.
    pub runs: Option<Count>,
    /// Tools of one run. Default 2000.
    pub run_tools: Option<Count>,
    /// Tools that a parallel run calls at once. Default 64.
    pub parallel_tools: Option<Count>,
    /// The largest result that a deliverable keeps; of a larger one it says how large it was. Default 256KiB.
    pub result_bytes: Option<Size>,
    /// The largest deliverable. Default 4MiB.
    pub deliverable_bytes: Option<Size>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenLog {
    /// `error`, `warn`, `info`, `debug`, `trace`, or a list such as `info,portreeve=debug`. Default `info`.
    pub level: Option<String>,
    /// One JSON object a line. Default false.
    pub json: Option<bool>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;

    // After a change of this file: PORTREEVE_WRITE_SCHEMA=1 cargo test -p portreeve schema
    #[test]
    fn the_schema_in_the_repository_is_up_to_date() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/portreeve.schema.json");
        let generated = serde_json::to_string_pretty(&schemars::schema_for!(WrittenConfig)).unwrap() + "\n";
        if std::env::var_os("PORTREEVE_WRITE_SCHEMA").is_some() {
            std::fs::write(&file, &generated).unwrap();
        }
        let stored = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(stored, generated, "run: PORTREEVE_WRITE_SCHEMA=1 cargo test -p portreeve schema");
    }
}
