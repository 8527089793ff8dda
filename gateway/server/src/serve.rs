//! Runs a node: composes it, opens the listeners, and takes everything down in the right order.
//!
//! A small runtime of our own carries the store, the ledger's writer and the watchers. It outlives those that serve, so that
//! what was decided while serving is still written down after the last connection is closed. Another carries what upstreams do
//! for several clients at once, so that no client's thread has to.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateway_upstream::Commons;
use pingora_core::listeners::tls::{Acceptor, TlsSettings};
use pingora_core::listeners::{L4BufferSettings, ListenerConfig};
use pingora_core::server::configuration::{Opt, ServerConf};
use pingora_core::server::{RunArgs, Server, ShutdownSignal, ShutdownSignalWatch};
use pingora_core::services::listening::Service;
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::compose::{self, Extras, Node};
use crate::config::Config;
use crate::edge::McpEdge;
use crate::edge::admission::Admission;
use crate::edge::bounded::EdgeLimits;
use crate::edge::closing::Closing;
use crate::edge::console::{self, ConsoleEdge};
use crate::edge::doorstep::Doorstep;
use crate::edge::drain::Drain;
use crate::edge::threads::Threads;
use crate::edge::well_known::Resource;
use crate::tool_agents::HostedRunner;
use crate::{tls, watch};

/// How long calls under way may take to finish once the node is told to stop.
const DRAIN_TIME: Duration = Duration::from_secs(20);
/// For what upstreams do for several clients at once: programs, streams, timers. None of it is much work.
const UPSTREAM_THREADS: usize = 2;
/// How long the threads that serve may take to let go of it after that.
const STOP_TIME: Duration = Duration::from_secs(4);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("{0}")]
    Compose(#[from] compose::ComposeError),
    #[error("cannot listen on {0}: {1}")]
    Busy(SocketAddr, std::io::Error),
    #[error("{0}")]
    Tls(#[from] tls::TlsError),
    #[error("the runtime cannot start: {0}")]
    Runtime(#[from] std::io::Error),
}

/// What a caller may do around a node's life.
#[derive(Default)]
pub struct Life {
    /// Take the listening sockets over from the running process (graceful restart).
    pub upgrade: bool,
    pub extras: Extras,
    /// Ends serving as a signal would, once it is notified.
    pub stop: Option<Arc<Notify>>,
    /// Called once the node is composed and about to listen.
    pub on_start: Option<Box<dyn FnOnce() + Send>>,
}

/// Serves until told to stop.
pub fn run(config: &Config, life: Life) -> Result<(), ServeError> {
    let control = Builder::new_multi_thread().worker_threads(1).thread_name("control").enable_all().build()?;
    let upstreams =
        Builder::new_multi_thread().worker_threads(UPSTREAM_THREADS).thread_name("upstreams").enable_all().build()?;
    if !life.upgrade {
        // Pingora retries a busy port for half a minute and then panics; better to know at once.
        for address in [config.listen.mcp, config.listen.console] {
            drop(TcpListener::bind(address).map_err(|error| ServeError::Busy(address, error))?);
        }
    }
    let commons = Commons::on(upstreams.handle().clone());
    let node = Arc::new(control.block_on(compose::compose(config, life.extras, commons))?);
    let drain = Drain::new();
    let mut server =
        Server::new_with_opt_and_conf(Opt { upgrade: life.upgrade, ..Opt::default() }, server_conf(config));
    server.bootstrap();
    let (callers, people) = (Threads::start("mcp", cores())?, Threads::start("console", 1)?);
    server.add_service(mcp_service(config, &node, &drain, &callers)?);
    server.add_service(console_service(config, &node, control.handle(), &drain, &people)?);
    let watched = config.watched();
    let watching = (!watched.is_empty()).then(|| {
        let (node, config) = (Arc::clone(&node), config.clone());
        let control = control.handle().clone();
        watch::watch(watched, move || control.block_on(node.reload(&config)))
    });
    if let Some(on_start) = life.on_start {
        on_start();
    }
    tracing::info!(mcp = %config.listen.mcp, console = %config.listen.console, "serving");
    let stopping = DrainThenStop { drain, node: Arc::clone(&node), stop: life.stop };
    server.run(RunArgs { shutdown_signal: Box::new(stopping) });
    // Both at once, so that they do not wait for each other.
    people.end();
    callers.stop(STOP_TIME);
    people.stop(STOP_TIME);
    // Only now is there nobody left who would use what runs there.
    upstreams.shutdown_timeout(STOP_TIME);
    drop(watching);
    control.block_on(node.close());
    control.shutdown_timeout(Duration::from_secs(5));
    tracing::info!("stopped");
    Ok(())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn server_conf(config: &Config) -> ServerConf {
    let socket = format!("portreeve-{}.upgrade.sock", config.listen.mcp.port());
    ServerConf {
        // They accept, and no more.
        threads: 1,
        // Only an upgrade uses the grace period: the old process finishes its calls while the new one accepts.
        grace_period_seconds: Some(DRAIN_TIME.as_secs()),
        graceful_shutdown_timeout_seconds: Some(2),
        upgrade_sock: std::env::temp_dir().join(socket).display().to_string(),
        ..ServerConf::default()
    }
}

fn limits(config: &Config) -> EdgeLimits {
    let limits = &config.limits;
    EdgeLimits {
        body_bytes: limits.body_bytes,
        header_bytes: limits.header_bytes,
        header_time: limits.header_time,
        body_time: limits.body_time,
        idle_time: limits.idle_time,
    }
}

fn mcp_service(
    config: &Config,
    node: &Arc<Node>,
    drain: &Arc<Drain>,
    threads: &Arc<Threads>,
) -> Result<Closing<Doorstep<McpEdge>>, ServeError> {
    let limits = limits(config);
    let asked = Arc::clone(node);
    let edge = McpEdge {
        gateway: Arc::clone(&node.gateway),
        options: limits.server_options(true),
        limits,
        admission: admission(config, config.listen.mcp).for_peers(config.cluster.advertise.as_deref()),
        resource: Resource::new(
            config.listen.public_url.clone(),
            config.listen.tls.is_some(),
            config.identity.oidc.iter().map(|oidc| oidc.issuer.clone()).collect(),
        ),
        usage: node.usage(),
        conversations: node.conversations(),
        drain: Arc::clone(drain),
        readiness: Arc::new(move || {
            let node = Arc::clone(&asked);
            Box::pin(async move { node.ready().await })
        }),
    };
    let doorstep = Doorstep::new(edge, threads, acceptor(config)?, config.limits.header_time, drain);
    let mut service = Service::new("mcp".into(), doorstep);
    service.add_listener(listener(config.listen.mcp));
    Ok(Closing::new(service, drain))
}

fn console_service(
    config: &Config,
    node: &Arc<Node>,
    home: &Handle,
    drain: &Arc<Drain>,
    threads: &Arc<Threads>,
) -> Result<Closing<Doorstep<ConsoleEdge>>, ServeError> {
    let runner = Arc::new(HostedRunner::new(node, home, drain, DRAIN_TIME));
    let limits = EdgeLimits { body_bytes: console::BODY_BYTES, ..limits(config) };
    let edge = ConsoleEdge {
        router: gateway_console::router(compose::console(node, config, runner, drain)),
        options: limits.server_options(false),
        limits,
        admission: admission(config, config.listen.console),
        drain: Arc::clone(drain),
        home: home.clone(),
    };
    let doorstep = Doorstep::new(edge, threads, acceptor(config)?, config.limits.header_time, drain);
    let mut service = Service::new("console".into(), doorstep);
    service.add_listener(listener(config.listen.console));
    Ok(Closing::new(service, drain))
}

/// What is accepted is served over another handle (`edge/doorstep.rs`), so that pingora need not set buffers up for it.
fn listener(address: SocketAddr) -> ListenerConfig {
    ListenerConfig::tcp(address.to_string()).l4_buffer(L4BufferSettings::unbuffered())
}

fn admission(config: &Config, listener: SocketAddr) -> Admission {
    Admission::new(listener, config.listen.hosts.clone(), config.listen.origins.clone())
}

fn acceptor(config: &Config) -> Result<Option<Acceptor>, ServeError> {
    Ok(config.listen.tls.as_ref().map(tls::settings).transpose()?.map(TlsSettings::build))
}

/// Ends serving: on TERM and INT after the calls under way are done, on QUIT by handing the sockets to a successor.
struct DrainThenStop {
    drain: Arc<Drain>,
    node: Arc<Node>,
    stop: Option<Arc<Notify>>,
}

#[async_trait]
impl ShutdownSignalWatch for DrainThenStop {
    async fn recv(&self) -> ShutdownSignal {
        let mut terminate = signals(SignalKind::terminate());
        let mut interrupt = signals(SignalKind::interrupt());
        let mut quit = signals(SignalKind::quit());
        tokio::select! {
            () = next(&mut terminate) => {}
            () = next(&mut interrupt) => {}
            () = told(self.stop.as_deref()) => {}
            () = next(&mut quit) => {
                // Kept connections are ended with their next answer, so that none is cut when this process goes.
                tracing::info!("handing over to a successor");
                self.drain.begin();
                return ShutdownSignal::GracefulUpgrade;
            }
        }
        tracing::info!("stopping: finishing what is under way");
        if !self.drain.drain(DRAIN_TIME).await {
            tracing::warn!("some calls did not finish in time and are cut off");
        }
        // While the connections to them are still served.
        self.node.stop_upstreams().await;
        self.drain.emptied().await;
        ShutdownSignal::FastShutdown
    }
}

fn signals(kind: SignalKind) -> Option<Signal> {
    signal(kind).inspect_err(|error| tracing::error!("a signal cannot be watched: {error}")).ok()
}

async fn told(stop: Option<&Notify>) {
    match stop {
        Some(stop) => stop.notified().await,
        None => std::future::pending().await,
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
