//! The desk that the command line and the console share, over one store.

use std::sync::Arc;

use gateway_core::desk::Desk;
use gateway_core::live::Live;
use gateway_core::matrix::Matrix;
use gateway_core::{Chain, Policies};
use gateway_store::Store;

use crate::clock::SystemClock;
use crate::compose::random_bytes;
use crate::config::Config;

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
        clock: Arc::new(SystemClock),
        random: Arc::new(random_bytes),
        judge,
        approved_for: config.approvals.use_within,
        link: link(config),
    }
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
