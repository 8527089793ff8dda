//! The node as the console sees it.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_console::{Console, Counter, Stranger, Unusable};
use gateway_core::desk::Desk;
use gateway_core::identity::{Credential, Principal};
use gateway_core::ports::{ExecutionEngine, Runner};
use gateway_core::{Chain, Live, Namespace, ToolName};

use super::{Node, lock, shown, telemetry};
use crate::config::{Config, Problem};
use crate::desk::{self, Judge};
use crate::edge::drain::Drain;
use crate::policy_files::{Supabase, load_texts};

/// What the console serves from.
pub fn console(node: &Arc<Node>, config: &Config, runner: Arc<dyn Runner>, drain: &Arc<Drain>) -> Console {
    let scheme = if config.listen.tls.is_some() { "https" } else { "http" };
    let address = format!("{scheme}://{}", config.listen.mcp);
    let live = node.live.handle();
    let judge: Judge = {
        let (gateway, live) = (Arc::clone(&node.gateway), Arc::clone(&live));
        Arc::new(move || (gateway.chain(), live.load()))
    };
    let watched = {
        let node = Arc::clone(node);
        // The engine of this moment: a changed configuration may watch others.
        move || -> Vec<Namespace> {
            let engine = Arc::clone(&lock(&node.engine));
            let watches = |namespace: &Namespace| engine.watches(&ToolName::new(namespace, "unknown"));
            engine.namespaces().into_iter().filter(watches).collect()
        }
    };
    let trusted = {
        let node = Arc::clone(node);
        move || lock(&node.configured).trusted()
    };
    let desk = Arc::new(Desk {
        watched: Arc::new(watched),
        trusted: Arc::new(trusted),
        ..desk::desk(&node.store, config, judge)
    });
    let seal = Arc::clone(&node.seal);
    let node = ConsoleNode { node: Arc::clone(node), drain: Arc::clone(drain), address };
    Console { node: Arc::new(node), desk, live, seal, runner }
}

struct ConsoleNode {
    node: Arc<Node>,
    drain: Arc<Drain>,
    address: String,
}

#[async_trait::async_trait]
impl gateway_console::Node for ConsoleNode {
    async fn ready(&self) -> Result<(), String> {
        self.drain.ready()?;
        self.node.ready().await
    }

    fn namespaces(&self) -> Vec<String> {
        lock(&self.node.engine).namespaces().iter().map(ToString::to_string).collect()
    }

    fn counters(&self) -> Vec<Counter> {
        self.node.spans.as_deref().map(telemetry::counters).unwrap_or_default()
    }

    fn mcp_address(&self) -> String {
        self.address.clone()
    }

    fn upstreams(&self) -> Vec<gateway_console::ShownUpstream> {
        let addresses = lock(&self.node.configured).addresses();
        let spoken = lock(&self.node.engine).spoken();
        let address = |namespace: &Namespace| addresses.get(namespace).cloned();
        spoken.into_iter().map(|(namespace, spoken)| shown(&namespace, address(&namespace), &spoken)).collect()
    }

    async fn candidate(&self, files: BTreeMap<String, String>) -> Result<(Arc<Chain>, Arc<Live>), Vec<Unusable>> {
        let supabase = Supabase::among(lock(&self.node.configured).addresses().keys());
        let loaded = load_texts(files, supabase).map_err(|problems| {
            let unusable = |problem: Problem| {
                let Problem { file, path, what } = problem;
                Unusable { at: if path.is_empty() { file } else { format!("{file}: {path}") }, what }
            };
            problems.into_iter().map(unusable).collect::<Vec<_>>()
        })?;
        let judging = desk::judging(&self.node.store, loaded).await;
        judging.map_err(|error| vec![Unusable { at: String::new(), what: error.to_string() }])
    }

    fn beside(&self) -> Option<String> {
        self.node.gateway.candidate().map(|candidate| candidate.policies().digest.clone())
    }

    async fn caller(&self, credential: &Credential) -> Result<Arc<Principal>, Stranger> {
        let known = self.node.gateway.admit_door(credential, None).await;
        known.map_err(|refused| match refused.status {
            401 => Stranger::Unknown,
            429 => Stranger::Limited,
            _ => Stranger::Unavailable,
        })
    }
}
