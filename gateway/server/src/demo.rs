//! `portreeve demo`: a whole gateway without any configuration, with something to govern and agents to govern it for.
//!
//! The store is SQLite in a directory of its own; a temporary one is removed at the end. `residents` are the tenant and its
//! agents, `sheet` is what is printed, `tour` plays the story once.

mod agent;
mod directory;
mod post;
mod residents;
mod sheet;
mod tour;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gateway_core::ports::{ReadOnlyDatabase, Upstream};
use gateway_store::Store;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::cli::{DemoArgs, Failure};
use crate::compose::Extras;
use crate::config::Config;
use crate::serve::{self, Life};
use directory::Directory;
use residents::Residents;

/// Outlives the gateway, because the demo's database is read until the gateway has ended.
fn runtime() -> Result<Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name("demo").enable_all().build()?)
}

/// Serves until told to stop; with `--tour`, until the tour is over.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let directory = Directory::open(args.data.as_deref())?;
    let addresses = Addresses { mcp: settled(args.mcp)?, console: settled(args.console)? };
    let config = configured(directory.path(), &addresses)?;
    let runtime = runtime()?;
    let residents = Arc::new(runtime.block_on(residents::settle(config.store.reveal(), args.tour))?);
    runtime.block_on(agent::settle(&config, &residents))?;
    let extras = Extras { upstreams: runtime.block_on(upstreams(directory.path()))? };

    let toured = Arc::new(Mutex::new(None));
    let stop = args.tour.then(|| Arc::new(Notify::new()));
    let sheet = sheet::written(&residents, &addresses, &directory);
    let (told, findings, guide) = (stop.clone(), Arc::clone(&toured), Arc::clone(&residents));
    let settings = config.clone();
    let on_start = move || {
        let Some(told) = told else {
            sheet::print(&sheet);
            return;
        };
        // Against the listener, like any client; this thread only has to come back before the gateway may end.
        std::thread::spawn(move || {
            let outcome = tour::walk(addresses, &settings, &guide);
            *findings.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            told.notify_one();
        });
    };
    let life = Life { extras, stop, on_start: Some(Box::new(on_start)), ..Life::default() };
    serve::run(&config, life).map_err(|error| Failure::of(&error))?;

    if args.tour {
        let outcome = toured.lock().unwrap_or_else(PoisonError::into_inner).take();
        runtime.block_on(ending(outcome, &config, &residents))?;
    }
    Ok(())
}

/// The last step of the tour, once everything is written down: the chains, walked as `audit verify` walks them.
async fn ending(outcome: Option<tour::Outcome>, config: &Config, residents: &Residents) -> Result<(), Failure> {
    let outcome = outcome.ok_or_else(|| Failure::new("the tour was interrupted"))?;
    let store = Store::open(config.store.reveal()).await?;
    let intact = tour::verify(&store, residents).await;
    store.close().await;
    match (outcome, intact?) {
        (tour::Outcome::AsExpected, true) => Ok(()),
        _ => Err(Failure::new("the tour did not go as it should")),
    }
}

#[derive(Debug, Clone, Copy)]
struct Addresses {
    mcp: SocketAddr,
    console: SocketAddr,
}

/// Port 0 means any free port; it has to be known before it can be printed.
fn settled(address: SocketAddr) -> Result<SocketAddr, Failure> {
    if address.port() != 0 {
        return Ok(address);
    }
    Ok(TcpListener::bind(address)?.local_addr()?)
}

/// A file rather than a value, so that the other verbs can be pointed at the demo with `--config`.
fn configured(directory: &Path, addresses: &Addresses) -> Result<Config, Failure> {
    let Addresses { mcp, console } = addresses;
    let text = format!(
        "# Written anew by every `portreeve demo`. The other verbs read the demo's store with `--config` and this file.\n\
         listen: {{ mcp: \"{mcp}\", console: \"{console}\" }}\n\
         store: {{ url: \"sqlite://portreeve.db\" }}\n\
         built_in: {{ supabase: {{ url: \"sqlite://demo.db\" }} }}\n\
         log: {{ level: warn }}\n"
    );
    let file = config_file(directory);
    std::fs::write(&file, text)?;
    Ok(Config::load(Some(&file))?)
}

fn config_file(directory: &Path) -> PathBuf {
    directory.join("portreeve-demo.yaml")
}

async fn upstreams(directory: &Path) -> Result<Vec<(gateway_core::Namespace, Arc<dyn Upstream>)>, Failure> {
    let readable: Arc<dyn ReadOnlyDatabase> = residents::database(&directory.join("demo.db")).await?;
    let servers = gateway_tools::demo::servers(readable).map_err(|error| Failure::of(&error))?;
    Ok(servers.into_iter().map(|server| (server.namespace().clone(), Arc::new(server) as Arc<dyn Upstream>)).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_written_configuration_is_sound_and_stays_in_its_directory() {
        let directory = Directory::open(None).unwrap();
        let addresses = Addresses { mcp: "127.0.0.1:1".parse().unwrap(), console: "[::1]:2".parse().unwrap() };
        let config = configured(directory.path(), &addresses).unwrap_or_else(|failure| {
            failure.print();
            Config::load(None).unwrap()
        });
        assert_eq!((config.listen.mcp, config.listen.console), (addresses.mcp, addresses.console));
        assert_eq!(config.store.reveal(), format!("sqlite://{}/portreeve.db", directory.path().display()));
        assert!(config.audit.spool.starts_with(directory.path()));
    }

    #[test]
    fn any_free_port_becomes_a_known_one() {
        assert_ne!(settled("127.0.0.1:0".parse().unwrap()).unwrap().port(), 0);
        assert_eq!(settled("127.0.0.1:8080".parse().unwrap()).unwrap().port(), 8080);
    }
}
