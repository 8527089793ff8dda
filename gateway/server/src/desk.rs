//! The desk that the command line and the console share, over one store.

use std::sync::Arc;
use std::time::Instant;

use gateway_core::desk::Desk;
use gateway_core::live::Live;
use gateway_core::matrix::Matrix;
use gateway_core::ports::StoreError;
use gateway_core::verdict::PolicyMode;
use gateway_core::{Chain, Namespace, Policies};
use gateway_store::Store;
use uuid::Uuid;

use crate::clock::SystemClock;
use crate::compose::{chain, random_bytes};
use crate::config::{Config, UpstreamConfig};
use crate::live;
use crate::live::compile::compiler;
use crate::policy_files::LoadedPolicies;

/// The rules in force, whenever somebody asks.
pub type Judge = Arc<dyn Fn() -> (Arc<Chain>, Arc<Live>) + Send + Sync>;

pub fn desk(store: &Store, config: &Config, judge: Judge) -> Desk {
    Desk {
        tenants: store.tenants(),
        registry: store.registry(),
        ledger: store.ledger(),
        history: store.history(),
        policies: store.policies(),
        pins: store.pins(),
        approvals: store.approvals(),
        standing: store.standing(),
        proofs: store.proofs(),
        agents: store.tool_agents(),
        clock: Arc::new(SystemClock),
        random: Arc::new(random_bytes),
        judge,
        watched: named(config, |upstream| upstream.observe_unclassified),
        trusted: named(config, |upstream| upstream.trusted),
        manifest: Arc::new(live::compile::tool),
        stopwatch: stopwatch(),
        program: concat!("portreeve ", env!("CARGO_PKG_VERSION")).into(),
        approved_for: config.approvals.use_within,
        link: link(config),
    }
}

/// With the rules that `serve` would have in force now, read for this once.
pub async fn with_rules(store: &Store, config: &Config, loaded: LoadedPolicies) -> Result<Desk, StoreError> {
    let (chain, live) = judging(store, loaded).await?;
    Ok(desk(store, config, Arc::new(move || (Arc::clone(&chain), Arc::clone(&live)))))
}

/// These policies, and the rows as they are under them.
pub async fn judging(store: &Store, loaded: LoadedPolicies) -> Result<(Arc<Chain>, Arc<Live>), StoreError> {
    let live = live::read_once(store.live().as_ref(), &compiler(&loaded.policies)).await?;
    Ok((Arc::new(chain(loaded)), Arc::new(live)))
}

/// The same, as if every row of a tenant were obeyed: what those in shadow and those that only advise would come to.
pub async fn judging_enforced(store: &Store, loaded: LoadedPolicies) -> Result<(Arc<Chain>, Arc<Live>), StoreError> {
    let live = obeying(store, &loaded, |_| true).await?;
    Ok((Arc::new(chain(loaded)), live))
}

/// The rows as they are, and as they would be if this one were obeyed.
pub async fn judging_with(
    store: &Store,
    loaded: LoadedPolicies,
    policy: Uuid,
) -> Result<(Arc<Chain>, Arc<Live>, Arc<Live>), StoreError> {
    let then = obeying(store, &loaded, move |row| row == policy).await?;
    let (chain, now) = judging(store, loaded).await?;
    Ok((chain, now, then))
}

async fn obeying(
    store: &Store,
    loaded: &LoadedPolicies,
    is_meant: impl Fn(Uuid) -> bool + Send + Sync + 'static,
) -> Result<Arc<Live>, StoreError> {
    let as_written = compiler(&loaded.policies);
    let obeyed: live::Compiler = Arc::new(move |rows: &live::TenantRows| {
        let mut rows = rows.clone();
        let agents = rows.agent_policies.iter_mut().filter(|row| is_meant(row.id));
        agents.for_each(|row| row.mode = PolicyMode::Enforce);
        let access = rows.access_policies.iter_mut().filter(|row| is_meant(row.id));
        access.for_each(|row| row.mode = Some(PolicyMode::Enforce));
        as_written(&rows)
    });
    Ok(Arc::new(live::read_once(store.live().as_ref(), &obeyed).await?))
}

fn named(config: &Config, is_meant: fn(&UpstreamConfig) -> bool) -> Arc<dyn Fn() -> Vec<Namespace> + Send + Sync> {
    let meant = config.upstreams.iter().filter(|(_, upstream)| is_meant(upstream));
    let meant: Vec<_> = meant.map(|(namespace, _)| namespace.clone()).collect();
    Arc::new(move || meant.clone())
}

fn stopwatch() -> Arc<dyn Fn() -> u64 + Send + Sync> {
    let begun = Instant::now();
    Arc::new(move || u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// For what judges nothing: its chain grants nothing, whoever asks it.
pub fn without_rules(store: &Store, config: &Config) -> Desk {
    let chain = Arc::new(Chain::new(Vec::new(), Arc::new(Policies::new([], Matrix::standard()))));
    let live = Arc::new(Live::empty());
    desk(store, config, Arc::new(move || (Arc::clone(&chain), Arc::clone(&live))))
}

/// Where people reach the console.
pub fn link(config: &Config) -> String {
    if let Some(url) = &config.approvals.url {
        return url.clone();
    }
    let scheme = if config.listen.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", config.listen.console)
}
