//! The composition root: which adapter stands behind which port. Everything else is told what it gets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use gateway_core::gateway::{Gateway, Ports, Settings};
use gateway_core::matrix::Matrix;
use gateway_core::ports::{ExecutionEngine, Upstream};
use gateway_core::refusal::Manner;
use gateway_core::{Chain, Namespace};
use gateway_store::{AuditWriter, CachedDirectory, Store, WriterOptions};
use gateway_tools::adp;
use gateway_upstream::{
    Engine, HttpUpstream, HttpUpstreamConfig, Member, ServerInfo, Sharing, StdioConfig, StdioUpstream,
};
use rand::RngCore;

use crate::clock::SystemClock;
use crate::config::{self, AuditWait, Config, OnDenied, Problem, Transport, UpstreamConfig};
use crate::limits::RateLimits;
use crate::policy_files::{LoadedPolicies, load_policies};
use crate::seal::AeadSeal;
use crate::watch;

/// The key that seals session ids, shared by every node on one store.
const SEAL_KEY: &str = "seal";

#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    #[error("{}", lines(.0))]
    Problems(Vec<Problem>),
    #[error("{0}")]
    Store(#[from] gateway_core::ports::StoreError),
    #[error("the audit spool cannot be used: {0}")]
    Audit(String),
    #[error("upstreams.{0}: {1}")]
    Upstream(Namespace, String),
    #[error("upstreams: {0}")]
    Engine(#[from] gateway_upstream::engine::EngineError),
    #[error("{0}")]
    BuiltIn(#[from] gateway_core::names::NameError),
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Upstreams that do not come from the configuration: the demo's.
#[derive(Default)]
pub struct Extras {
    pub upstreams: Vec<(Namespace, Arc<dyn Upstream>)>,
}

/// One running gateway and what it stands on.
pub struct Node {
    pub gateway: Arc<Gateway>,
    pub store: Store,
    pub engine: Mutex<Arc<Engine>>,
    writer: Arc<AuditWriter>,
    limits: Arc<RateLimits>,
    /// The matrix in force, for the governance tools.
    matrix: Arc<ArcSwap<Matrix>>,
    /// Built-in and given upstreams, which a changed configuration does not touch.
    fixed: Vec<Member>,
    configured: Mutex<BTreeMap<Namespace, UpstreamConfig>>,
}

pub async fn compose(config: &Config, extras: Extras) -> Result<Node, ComposeError> {
    let policies = load_policies(config.policies.as_deref()).map_err(ComposeError::Problems)?;
    if config.shared_state.is_some() {
        tracing::warn!("shared_state is not used yet: rate limits count on each node by itself");
    }
    if !config.identity.oidc.is_empty() {
        tracing::warn!("identity.oidc is not used yet: tokens of identity providers are refused");
    }
    let store = Store::open(config.store.reveal()).await?;
    let seal_key = store.secret(SEAL_KEY).await?;
    let options = WriterOptions { spool_bytes: config.audit.spool_bytes, ..WriterOptions::new(&config.audit.spool) };
    let writer = AuditWriter::start(store.ledger(), options).map_err(|error| ComposeError::Audit(error.to_string()))?;
    let directory = CachedDirectory::new(store.tenants(), config.identity.anonymous.clone());
    let limits = Arc::new(RateLimits::new(config.limits.agent_per_minute));
    let clock = Arc::new(SystemClock);

    let matrix = Arc::new(ArcSwap::from_pointee(policies.policies.matrix.clone()));
    let governance = adp::server(adp::Ports {
        tenants: store.tenants(),
        audit: Arc::clone(&writer) as _,
        ledger: store.ledger(),
        clock: Arc::clone(&clock) as _,
        random: Arc::new(random_bytes),
        matrix: {
            let matrix = Arc::clone(&matrix);
            Arc::new(move || matrix.load_full())
        },
    })?;
    let own_names = governance.tool_names().map(str::to_owned).collect();
    let mut fixed = vec![Member::built_in(adp::NAMESPACE.parse()?, Arc::new(governance), own_names)];
    fixed.extend(extras.upstreams.into_iter().map(|(namespace, upstream)| Member::new(namespace, upstream)));
    let engine = Arc::new(engine(config, &fixed)?);

    let ports = Ports {
        directory: Arc::new(directory),
        usage: Arc::clone(&limits) as _,
        audit: Arc::clone(&writer) as _,
        registry: store.registry(),
        engine: Arc::clone(&engine) as _,
        clock,
        seal: Arc::new(AeadSeal::new(&seal_key)),
    };
    let gateway = Arc::new(Gateway::new(chain(policies), ports, settings(config)));
    Ok(Node {
        gateway,
        store,
        engine: Mutex::new(engine),
        writer,
        limits,
        matrix,
        fixed,
        configured: Mutex::new(config.upstreams.clone()),
    })
}

pub fn random_bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

fn chain(loaded: LoadedPolicies) -> Chain {
    let plugins = gateway_plugins::all(loaded.policies.matrix.clone(), |name| loaded.mode(name));
    Chain::new(plugins, Arc::new(loaded.policies))
}

fn settings(config: &Config) -> Settings {
    Settings {
        wait_for_all: config.audit.wait == AuditWait::All,
        manner: Manner { rpc_errors: config.on_denied == OnDenied::RpcError, terse: !config.explain_to_caller },
        max_depth: config.limits.depth,
    }
}

/// Every upstream, each under its namespace, and all of them together.
fn engine(config: &Config, fixed: &[Member]) -> Result<Engine, ComposeError> {
    let mut members = fixed.to_vec();
    for (namespace, upstream) in &config.upstreams {
        members.push(Member::new(namespace.clone(), upstream_for(namespace, upstream, config)?));
    }
    let info = ServerInfo::new("portreeve".parse()?, env!("CARGO_PKG_VERSION"));
    Ok(Engine::new(members, &config.tool_separator, info)?)
}

/// One configured upstream's adapter.
pub fn upstream_for(
    namespace: &Namespace,
    config: &UpstreamConfig,
    whole: &Config,
) -> Result<Arc<dyn Upstream>, ComposeError> {
    if config.observe_unclassified {
        tracing::warn!(%namespace, "unclassified tools of {namespace} are only observed: calls to them are not refused");
    }
    match &config.transport {
        Transport::Http { url, headers } => {
            let headers = headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect();
            let adapter = HttpUpstream::new(&HttpUpstreamConfig {
                headers,
                unclassified_observe: config.observe_unclassified,
                request_timeout: config.timeout,
                max_depth: whole.limits.depth,
                ..HttpUpstreamConfig::new(namespace.clone(), url.clone())
            });
            Ok(Arc::new(adapter.map_err(|error| ComposeError::Upstream(namespace.clone(), error.to_string()))?))
        }
        Transport::Stdio { command, args, env, cwd, sharing } => {
            let env = env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect();
            Ok(Arc::new(StdioUpstream::new(StdioConfig {
                args: args.clone(),
                env,
                cwd: cwd.clone(),
                sharing: match sharing {
                    config::Sharing::PerPrincipal => Sharing::PerPrincipal,
                    config::Sharing::Shared => Sharing::Shared,
                },
                unclassified_observe: config.observe_unclassified,
                request_timeout: config.timeout,
                ..StdioConfig::new(namespace.clone(), command.clone())
            })))
        }
    }
}

impl Node {
    pub async fn ready(&self) -> Result<(), String> {
        self.store.ping().await.map_err(|_| "the store does not answer".to_owned())
    }

    /// Loads configuration and policies anew. Whatever is broken is refused whole, and what was in force stays.
    pub async fn reload(&self, started_with: &Config) {
        let Some(config) = watch::reload("configuration", || Config::load(started_with.file.as_deref())) else {
            return;
        };
        let Some(policies) = watch::reload("policies", || load_policies(config.policies.as_deref())) else {
            return;
        };
        let fresh = (config.listen.mcp, config.listen.console)
            != (started_with.listen.mcp, started_with.listen.console)
            || config.store != started_with.store;
        if fresh {
            tracing::warn!("a changed listener or store takes effect at the next start");
        }
        if let Err(error) = self.reload_upstreams(&config) {
            tracing::error!("the changed configuration is refused and the old one stays: {error}");
            return;
        }
        self.gateway.replace_settings(settings(&config));
        self.limits.set(config.limits.agent_per_minute);
        let digest = policies.policies.digest.clone();
        self.matrix.store(Arc::new(policies.policies.matrix.clone()));
        self.gateway.replace_chain(chain(policies));
        tracing::info!(policies = digest, "configuration and policies loaded");
    }

    /// Only a change among the upstreams builds new ones: running children and pooled connections are worth keeping.
    fn reload_upstreams(&self, config: &Config) -> Result<(), ComposeError> {
        let mut configured = lock(&self.configured);
        if *configured == config.upstreams {
            return Ok(());
        }
        let engine = Arc::new(engine(config, &self.fixed)?);
        *configured = config.upstreams.clone();
        *lock(&self.engine) = Arc::clone(&engine);
        self.gateway.replace_engine(engine);
        Ok(())
    }

    /// Writes down everything that is still queued, then lets go of the store.
    pub async fn close(&self) {
        self.writer.shutdown().await;
        self.store.close().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The node as the console sees it.
pub struct ConsoleNode {
    node: Arc<Node>,
    address: String,
}

impl ConsoleNode {
    pub fn new(node: Arc<Node>, config: &Config) -> Self {
        let scheme = if config.listen.tls.is_some() { "https" } else { "http" };
        Self { node, address: format!("{scheme}://{}", config.listen.mcp) }
    }
}

#[async_trait::async_trait]
impl gateway_console::Node for ConsoleNode {
    async fn ready(&self) -> Result<(), String> {
        self.node.ready().await
    }

    fn namespaces(&self) -> Vec<String> {
        lock(&self.node.engine).namespaces().iter().map(ToString::to_string).collect()
    }

    fn mcp_address(&self) -> String {
        self.address.clone()
    }
}
