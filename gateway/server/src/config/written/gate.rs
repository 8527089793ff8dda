//! The written form of the Decision Gate's settings.

use std::collections::BTreeMap;

use gateway_core::gate::dispatch::DispatchRules;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::numbers::{Count, Size};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenGate {
    /// A file of YAML or JSON with any of the keys that stand here, each in one place only. Relative paths in it start where
    /// they start here.
    pub file: Option<String>,
    /// The directories below which packs of runs are written and checked. Default `runpacks` beside the SQLite file, else
    /// `data/runpacks`.
    pub runpacks: Vec<String>,
    /// What `evidence_query` may show.
    pub evidence: WrittenDisclosure,
    /// How providers' words are taken, where they do not say otherwise.
    pub trust: WrittenTrust,
    /// Where providers' values must say they come from.
    pub anchors: WrittenAnchors,
    /// Comparators that are off until they are wanted.
    pub validation: WrittenValidation,
    /// Which packets may be handed to whom.
    pub policy: WrittenDispatch,
    /// Who may be asked for evidence. Default: `time`, `adp`, and `env` for `DEPLOY_ENV`.
    pub providers: Option<Vec<WrittenProvider>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenDisclosure {
    /// Whether values are shown at all, and not only their hashes. Default false.
    pub allow_raw_values: Option<bool>,
    /// Whether a provider must allow it as well. Default true.
    pub require_provider_opt_in: Option<bool>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenTrust {
    /// `audit`: as it comes; `require_signature`: only what is signed with one of the keys. Default `audit`.
    pub default_policy: Option<TrustPolicy>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TrustPolicy {
    Audit,
    RequireSignature {
        /// The files of ed25519 public keys, by the keys' ids.
        keys: BTreeMap<String, String>,
    },
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenAnchors {
    pub providers: Vec<WrittenAnchor>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenAnchor {
    pub provider_id: String,
    /// Such as `file_path_rooted`.
    pub anchor_type: String,
    /// Fields that the anchor's value, a JSON object, must have.
    #[serde(default)]
    pub required_fields: Vec<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenValidation {
    /// `lex_greater_than` and its kind. Default false.
    pub enable_lexicographic: Option<bool>,
    /// `deep_equals` and `deep_not_equals`. Default false.
    pub enable_deep_equals: Option<bool>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenDispatch {
    /// Default `permit_all`.
    pub engine: Option<DispatchEngine>,
    /// For `static`: `default` (permit, deny or error) and `rules`, of which the first that matches decides.
    #[serde(rename = "static")]
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub rules: Option<DispatchRules>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DispatchEngine {
    PermitAll,
    DenyAll,
    Static,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenProvider {
    /// What scenarios call it.
    pub name: String,
    /// One of the gateway's own, or an MCP server with a tool `evidence_query`. Default `builtin`.
    #[serde(default, rename = "type")]
    pub source: Option<ProviderSource>,
    /// Which of the built-in ones it is. Default: the one of its name.
    #[serde(default)]
    pub kind: Option<ProviderKind>,
    /// Whether its values may be shown. Default false.
    #[serde(default)]
    pub allow_raw: Option<bool>,
    /// Instead of `trust.default_policy`.
    #[serde(default)]
    pub trust: Option<TrustPolicy>,
    #[serde(default)]
    pub config: WrittenProviderConfig,
    /// `mcp`: the server's endpoint, as under `upstreams`.
    #[serde(default)]
    pub url: Option<String>,
    /// `mcp`: sent with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// `mcp`: a program instead of an endpoint.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// `mcp`: how long an answer may take. Default 5.
    #[serde(default)]
    pub timeout_seconds: Option<Count>,
    /// `mcp`: a JSON file of what it can be asked.
    #[serde(default)]
    pub capabilities: Option<String>,
    /// `mcp`: in whose words it is asked. Default `seed`.
    #[serde(default)]
    pub dialect: Option<ProviderDialect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderSource {
    Builtin,
    Mcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderDialect {
    /// `query.predicate`.
    Seed,
    /// `query.check_id`, and tenants by number.
    Newer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    Time,
    Env,
    Json,
    Http,
    Adp,
}

/// Each kind has its own of these.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenProviderConfig {
    /// `time`: whether runs may count time instead of telling it. Default true.
    pub allow_logical: Option<bool>,
    /// `env`: the variables that may be asked for. Default `[DEPLOY_ENV]`.
    pub allowlist: Option<Vec<String>>,
    /// `env`: the variables that may not.
    pub denylist: Option<Vec<String>>,
    /// `env`: read instead of the gateway's own environment.
    pub overrides: Option<BTreeMap<String, String>>,
    /// `json`: the directory that files are read below.
    pub root: Option<String>,
    /// `json`: what packs call that directory. Default `evidence-root`.
    pub root_id: Option<String>,
    /// `json`: the largest file. Default 1MiB.
    pub max_bytes: Option<Size>,
    /// `json`: whether files may be YAML as well. Default true.
    pub allow_yaml: Option<bool>,
    /// `http`: the hosts that may be asked, with their port where it is not the usual one. Default none.
    pub allowed_hosts: Option<Vec<String>>,
    /// `http`: whether `http://` will do. Default false.
    pub allow_http: Option<bool>,
    /// `http`: how long an answer may take. Default 5000.
    pub timeout_ms: Option<Count>,
    /// `http`: the largest answer. Default 1MiB.
    pub max_response_bytes: Option<Size>,
}

impl WrittenProviderConfig {
    /// The keys that are written, and the kind that each belongs to.
    pub fn written(&self) -> impl Iterator<Item = (&'static str, ProviderKind)> {
        use ProviderKind::{Env, Http, Json, Time};
        let keys = [
            ("allow_logical", Time, self.allow_logical.is_some()),
            ("allowlist", Env, self.allowlist.is_some()),
            ("denylist", Env, self.denylist.is_some()),
            ("overrides", Env, self.overrides.is_some()),
            ("root", Json, self.root.is_some()),
            ("root_id", Json, self.root_id.is_some()),
            ("max_bytes", Json, self.max_bytes.is_some()),
            ("allow_yaml", Json, self.allow_yaml.is_some()),
            ("allowed_hosts", Http, self.allowed_hosts.is_some()),
            ("allow_http", Http, self.allow_http.is_some()),
            ("timeout_ms", Http, self.timeout_ms.is_some()),
            ("max_response_bytes", Http, self.max_response_bytes.is_some()),
        ];
        keys.into_iter().filter(|(_, _, there)| *there).map(|(key, kind, _)| (key, kind))
    }
}
