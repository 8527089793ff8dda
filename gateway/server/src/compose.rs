//! The composition root: which adapter stands behind which port. Everything else is told what it gets.

mod cluster;
mod console;
mod gate;
mod scanner;
mod shown;
mod supabase;
mod telemetry;
mod upstreams;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use gateway_core::approvals::Terms;
use gateway_core::definitions::{Definitions, Scanner};
use gateway_core::gateway::{Gateway, Ports, Settings};
use gateway_core::home::Home;
use gateway_core::injection::InjectionAction;
use gateway_core::matrix::Matrix;
use gateway_core::ports::{Notifier, Peers, Seal, Upstream, Usage};
use gateway_core::refusal::Manner;
use gateway_core::sql::SqlReader;
use gateway_core::{Chain, Namespace, TenantId};
use gateway_store::{AuditWriter, CachedDirectory, Store, WriterOptions};
use gateway_tools::{adp, gate as gate_tools};
use gateway_upstream::{Commons, Engine, Member, Otlp, ServerInfo, Webhook};
use jiff::SignedDuration;
use rand::RngCore;
use tokio::task::AbortHandle;

use crate::aside::OtherThreads;
use crate::clock::SystemClock;
use crate::config::{AuditWait, Config, Limits, OnDenied, Problem};
use crate::desk;
use crate::edge::sse::Conversations;
use crate::limits::RateLimits;
use crate::live::LiveRules;
use crate::live::compile::compiler;
use crate::notices::Herald;
use crate::policy_files::{LoadedPolicies, load_for, load_other};
use crate::seal::AeadSeal;
use crate::sweep::{Sweep, ToTell};
use crate::watch;

pub use console::console;
pub use gate::{GateRoom, Records, tried};
use scanner::{OnCall, RestingScanner};
pub use shown::shown;
pub use supabase::readable;
pub use upstreams::{Configured, transport_for};

/// The key that seals session ids, shared by every node on one store.
const SEAL_KEY: &str = "seal";
/// How long upstreams may take over their farewells when the node ends.
const FAREWELL: Duration = Duration::from_secs(2);

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
    #[error("cluster.ca: `{0}` cannot be used: {1}")]
    Cluster(String, String),
    #[error("gate.providers: {0}")]
    Gate(String),
    #[error("{0}: {1}")]
    Section(&'static str, String),
    #[error("approvals.webhook: {0}")]
    Webhook(String),
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
    definitions: Arc<Definitions>,
    pub store: Store,
    pub engine: Mutex<Arc<Engine>>,
    /// The rows that take effect while running.
    pub live: Arc<LiveRules>,
    watching: AbortHandle,
    /// Looks after approvals.
    sweeping: AbortHandle,
    /// Tells people what policies mention.
    telling: AbortHandle,
    /// Told of approvals that wait.
    notifier: Arc<ToTell>,
    writer: Arc<AuditWriter>,
    limits: Arc<RateLimits>,
    /// The configured limits in force.
    in_force: ArcSwap<Limits>,
    /// The matrix in force, for the governance tools.
    matrix: Arc<ArcSwap<Matrix>>,
    gate: GateRoom,
    /// The grammars in force, for tools that read SQL themselves.
    sql: Arc<ArcSwap<Arc<dyn SqlReader>>>,
    /// Built-in and given upstreams, which a changed configuration does not touch.
    fixed: Vec<Member>,
    configured: Mutex<Configured>,
    seal: Arc<dyn Seal>,
    peers: Arc<dyn Peers>,
    home: Home,
    /// Whoever draws calls as spans.
    spans: Option<Arc<Otlp>>,
}

/// `commons`: where upstreams do what is not for one caller alone.
pub async fn compose(config: &Config, extras: Extras, commons: Commons) -> Result<Node, ComposeError> {
    let policies = load_for(config).map_err(ComposeError::Problems)?;
    let candidate = load_candidate(config).map_err(ComposeError::Problems)?;
    tell_unused(config);
    let store = Store::open(config.store.reveal()).await?;
    let seal_key = store.secret(SEAL_KEY).await?;
    let options = WriterOptions { spool_bytes: config.audit.spool_bytes, ..WriterOptions::new(&config.audit.spool) };
    let writer = AuditWriter::start(store.ledger(), options).map_err(|error| ComposeError::Audit(error.to_string()))?;
    let directory = Arc::new(CachedDirectory::new(store.tenants(), config.identity.anonymous.clone()));
    let live = LiveRules::start(store.live(), Arc::clone(&directory), compiler(&policies.policies)).await?;
    let limits = Arc::new(RateLimits::new(config.limits.agent_per_minute, config.limits.streams));
    let clock = Arc::new(SystemClock);

    let matrix = Arc::new(ArcSwap::from_pointee(policies.policies.matrix.clone()));
    let governance = adp::server(adp::Ports {
        tenants: store.tenants(),
        audit: Arc::clone(&writer) as _,
        ledger: store.ledger(),
        policies: store.policies(),
        clock: Arc::clone(&clock) as _,
        random: Arc::new(random_bytes),
        matrix: {
            let matrix = Arc::clone(&matrix);
            Arc::new(move || matrix.load_full())
        },
    })?;
    let own_names = governance.tool_names().map(str::to_owned).collect();
    let mut fixed = vec![Member::built_in(adp::NAMESPACE.parse()?, Arc::new(governance), own_names, adp::SCHEMES)];
    let records = Records::new(&store, Arc::clone(&writer) as _, Arc::clone(&matrix), commons.clone());
    let gate = GateRoom::new(config, &policies.policies, records)?;
    let scenarios = gate.server()?;
    let own_names = scenarios.tool_names().map(str::to_owned).collect();
    fixed.push(Member::built_in(gate_tools::NAMESPACE.parse()?, Arc::new(scenarios), own_names, &[]));
    fixed.extend(extras.upstreams.into_iter().map(|(namespace, upstream)| Member::new(namespace, upstream)));
    let sql = Arc::new(ArcSwap::from_pointee(Arc::clone(&policies.policies.sql)));
    let current = Arc::clone(&sql);
    fixed.extend(supabase::mounted(config, Arc::new(move || Arc::clone(&**current.load())))?);
    let scanner = scanner(&policies)?;
    let recheck = SignedDuration::try_from(config.pins_recheck).unwrap_or(SignedDuration::from_mins(10));
    let definitions = Arc::new(Definitions::new(live.handle(), scanner, store.pins(), recheck));
    let configured = Configured::on(commons).changed_to(config, &definitions)?;
    let engine = Arc::new(engine(config, &fixed, &configured)?);

    let seal: Arc<dyn Seal> = Arc::new(AeadSeal::new(&seal_key));
    let peers: Arc<dyn Peers> = Arc::new(cluster::peers(config)?);
    let home = cluster::home(config);
    // Traces of carried requests name nodes by this.
    tracing::info!(node = %home.node, at = home.at.as_deref().unwrap_or("nowhere"), "this node among its peers");
    let notifier = Arc::new(ToTell::from_pointee(notifier(config)?));
    let (herald, telling) = Herald::start(Arc::clone(&notifier));
    let spans = telemetry::spans(config, &home)?;
    let ports = Ports {
        directory,
        usage: Arc::clone(&limits) as _,
        audit: Arc::clone(&writer) as _,
        registry: store.registry(),
        clock,
        seal: Arc::clone(&seal),
        peers: Arc::clone(&peers),
        once: store.once(),
        approvals: store.approvals(),
        runs: store.gate(),
        notices: Arc::new(herald),
        live: live.handle(),
        definitions: Arc::clone(&definitions),
        aside: Arc::new(OtherThreads),
        spans: spans.clone().map(|spans| spans as _),
        home: home.clone(),
    };
    let gateway = Arc::new(Gateway::new(serving(policies, &seal), Arc::clone(&engine) as _, ports, settings(config)));
    // Asked whenever a list passes, and by nobody after the gateway is gone.
    let judged = Arc::downgrade(&gateway);
    let rows = live.handle();
    definitions.follow(move |tool| {
        let by_file = judged.upgrade().is_some_and(|gateway| gateway.chain().policies().tool(tool).is_some());
        by_file || rows.load().tenants().any(|(_, rules)| rules.tool(tool).is_some())
    });
    gateway.replace_candidate(candidate.map(chain));
    let told = Arc::clone(&notifier);
    let sweep = Sweep { desk: desk::without_rules(&store, config), notifier: told, seal: Arc::clone(&seal) };
    Ok(Node {
        definitions,
        gateway,
        store,
        sweeping: tokio::spawn(sweep.run()).abort_handle(),
        telling,
        notifier,
        engine: Mutex::new(engine),
        watching: tokio::spawn(Arc::clone(&live).watch()).abort_handle(),
        live,
        writer,
        limits,
        in_force: ArcSwap::from_pointee(config.limits.clone()),
        matrix,
        gate,
        sql,
        fixed,
        configured: Mutex::new(configured),
        seal,
        peers,
        home,
        spans,
    })
}

fn tell_unused(config: &Config) {
    if config.shared_state.is_some() {
        tracing::warn!("shared_state is not used yet: rate limits count on each node by itself");
    }
    if !config.identity.oidc.is_empty() {
        tracing::warn!("identity.oidc is not used yet: tokens of identity providers are refused");
    }
}

pub fn random_bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// The judges over these policies, each in the mode it was given, for whoever only asks what would be decided.
pub fn chain(loaded: LoadedPolicies) -> Chain {
    let plugins = gateway_plugins::all(&loaded.policies, |name| loaded.mode(name));
    Chain::new(plugins, Arc::new(loaded.policies))
}

/// The same for the gateway itself: what is hidden as a hash is hashed with a key of its tenant's.
fn serving(loaded: LoadedPolicies, seal: &Arc<dyn Seal>) -> Chain {
    // Here, since whoever comes first would wait for it otherwise, and everybody on the same thread with them.
    if loaded.policies.injection.action != InjectionAction::Off {
        loaded.policies.injection.reader.prepare();
    }
    let seal = Arc::clone(seal);
    let keys = move |tenant: Option<TenantId>| {
        let owner = tenant.map_or_else(String::new, |tenant| tenant.to_string());
        seal.derive(&format!("dlp:{owner}"))
    };
    let plugins = gateway_plugins::all_with(&loaded.policies, |name| loaded.mode(name), Arc::new(keys));
    Chain::new(plugins, Arc::new(loaded.policies))
}

/// Compiled from what was read and found sound.
fn scanner(loaded: &LoadedPolicies) -> Result<Arc<dyn Scanner>, ComposeError> {
    Ok(Arc::new(OnCall(RestingScanner::new(loaded)?)))
}

/// Policies on trial, where there are any.
fn load_candidate(config: &Config) -> Result<Option<LoadedPolicies>, Vec<Problem>> {
    config.candidate.as_deref().map(|dir| load_other(dir, config)).transpose()
}

/// Whoever is told of approvals, where somebody is.
fn notifier(config: &Config) -> Result<Option<Arc<dyn Notifier>>, ComposeError> {
    let Some(webhook) = &config.approvals.webhook else {
        return Ok(None);
    };
    let webhook = Webhook::new(webhook.url.reveal(), webhook.secret.reveal());
    Ok(Some(Arc::new(webhook.map_err(|error| ComposeError::Webhook(error.to_string()))?)))
}

fn settings(config: &Config) -> Settings {
    Settings {
        wait_for_all: config.audit.wait == AuditWait::All,
        manner: Manner { rpc_errors: config.on_denied == OnDenied::RpcError, terse: !config.explain_to_caller },
        max_depth: config.limits.depth,
        hold: config.limits.hold_time,
        approvals: Terms {
            deadline: config.approvals.deadline,
            use_within: config.approvals.use_within,
            show_arguments: config.approvals.show_arguments,
            most: i64::try_from(config.limits.pending_approvals).unwrap_or(i64::MAX),
            console: desk::link(config),
        },
    }
}

/// Every upstream, each under its namespace, and all of them together.
fn engine(config: &Config, fixed: &[Member], configured: &Configured) -> Result<Engine, ComposeError> {
    // Only the namespace of `supabase` can be both: what somebody configured stands before what is built in.
    let replaced = |member: &&Member| config.upstreams.contains_key(&member.namespace);
    let mut members: Vec<Member> = fixed.iter().filter(|member| !replaced(member)).cloned().collect();
    members.extend(configured.members());
    let info = ServerInfo::new("portreeve".parse()?, env!("CARGO_PKG_VERSION"));
    let mut lacking = supabase::lacking(config)?;
    let waiting = config.upstreams.iter().filter(|(_, upstream)| !upstream.lacks.is_empty());
    lacking.extend(waiting.map(|(namespace, upstream)| (namespace.clone(), upstream.lacks.clone())));
    Ok(Engine::new(members, &config.tool_separator, info)?.lacking(lacking))
}

impl Node {
    /// How much each caller may keep open.
    pub fn usage(&self) -> Arc<dyn Usage> {
        Arc::clone(&self.limits) as _
    }

    /// The streams of the HTTP+SSE transport, none of them open yet.
    pub fn conversations(&self) -> Conversations {
        let (seal, peers) = (Arc::clone(&self.seal), Arc::clone(&self.peers));
        Conversations::new(seal, peers, self.gateway.crossings(), self.home.clone())
    }

    pub fn limits_in_force(&self) -> Arc<Limits> {
        self.in_force.load_full()
    }

    pub async fn ready(&self) -> Result<(), String> {
        self.store.ping().await.map_err(|_| "the store does not answer".to_owned())?;
        self.live.ready()
    }

    /// Loads configuration and policies anew. Whatever is broken is refused whole, and what was in force stays.
    pub async fn reload(&self, started_with: &Config) {
        let Some(config) = watch::reload("configuration", || Config::load(started_with.file.as_deref())) else {
            return;
        };
        let Some(policies) = watch::reload("policies", || load_for(&config)) else {
            return;
        };
        let on_trial = || watch::reload("candidate", || load_candidate(&config));
        let Some(candidate) = (if config.candidate.is_some() { on_trial() } else { Some(None) }) else {
            return;
        };
        let fresh = (config.listen.mcp, config.listen.console)
            != (started_with.listen.mcp, started_with.listen.console)
            || config.cluster != started_with.cluster
            || config.store != started_with.store
            || (&config.supabase, &config.llm) != (&started_with.supabase, &started_with.llm)
            || config.otlp != started_with.otlp;
        if fresh {
            tracing::warn!(
                "a changed listener, cluster, store, built-in server, model or collector takes effect at the next start"
            );
        }
        if let Err(error) = self.reload_upstreams(&config) {
            tracing::error!("the changed configuration is refused and the old one stays: {error}");
            return;
        }
        if let Err(error) = self.gate.reload(&config, &policies.policies) {
            tracing::error!("the gate keeps its old settings: {error}");
        }
        match notifier(&config) {
            Ok(notifier) => self.notifier.store(Arc::new(notifier)),
            Err(error) => tracing::error!("of approvals the same are told as before: {error}"),
        }
        self.gateway.replace_settings(settings(&config));
        self.limits.set(config.limits.agent_per_minute, config.limits.streams);
        self.in_force.store(Arc::new(config.limits.clone()));
        match scanner(&policies) {
            Ok(scanner) => self.definitions.replace_scanner(scanner),
            Err(error) => tracing::error!("definitions are scanned as before: {error}"),
        }
        let digest = policies.policies.digest.clone();
        self.matrix.store(Arc::new(policies.policies.matrix.clone()));
        self.sql.store(Arc::new(Arc::clone(&policies.policies.sql)));
        let compiler = compiler(&policies.policies);
        self.gateway.replace_chain(serving(policies, &self.seal));
        // Tenants' manifests are held against the files', so they are read again beside the new ones.
        self.live.recompile(compiler).await;
        self.gateway.replace_candidate(candidate.map(chain));
        tracing::info!(policies = digest, "configuration and policies loaded");
    }

    /// Only a changed upstream is built anew: running children, pooled connections and calls that wait for an answer are
    /// worth keeping.
    fn reload_upstreams(&self, config: &Config) -> Result<(), ComposeError> {
        let mut configured = lock(&self.configured);
        if configured.are_those_of(config) {
            return Ok(());
        }
        let changed = configured.changed_to(config, &self.definitions)?;
        let engine = Arc::new(engine(config, &self.fixed, &changed)?);
        *configured = changed;
        let before = std::mem::replace(&mut *lock(&self.engine), Arc::clone(&engine));
        self.gateway.replace_engine(engine);
        // Whoever listens to all of them comes back, and hears of those that are new.
        before.retire();
        Ok(())
    }

    /// Lets every upstream say goodbye; what is still under way is cut off after this.
    pub async fn stop_upstreams(&self) {
        let members: Vec<_> = self.fixed.iter().cloned().chain(lock(&self.configured).members()).collect();
        let farewells = futures::future::join_all(members.iter().map(|member| member.upstream.stop()));
        if tokio::time::timeout(FAREWELL, farewells).await.is_err() {
            tracing::warn!("some upstreams did not end their sessions in time");
        }
    }

    /// Writes down everything that is still queued, then lets go of the store.
    pub async fn close(&self) {
        self.watching.abort();
        self.sweeping.abort();
        self.telling.abort();
        let drawn = async {
            if let Some(spans) = &self.spans {
                spans.close().await;
            }
        };
        tokio::join!(self.writer.shutdown(), drawn);
        self.store.close().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
