//! Where runs of tool agents live: on the node, not in the request that asked for one. A client that goes away stops nothing
//! half-way, a node runs so many at once, and one that stops gives those under way their time to write down what they did.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use gateway_core::TenantId;
use gateway_core::ports::{Actor, BuildError, BuildRequest, Built, Runner, StoreError, Told};
use gateway_tools::agents::{Bounds, RunLimits, ToolAgentRunner};
use tokio::runtime::Handle;

use crate::clock::SystemClock;
use crate::compose::Node;
use crate::config::Limits;
use crate::edge::drain::Drain;

/// What a run still needs, once it is cut off, to be written down.
const LAST_WORDS: Duration = Duration::from_secs(3);

pub struct HostedRunner {
    runner: Arc<ToolAgentRunner>,
    home: Handle,
    most: Box<dyn Fn() -> usize + Send + Sync>,
    under_way: Arc<AtomicUsize>,
    drain: Arc<Drain>,
}

impl HostedRunner {
    /// `patience`: how long a node that stops waits for what is under way.
    pub fn new(node: &Arc<Node>, home: &Handle, drain: &Arc<Drain>, patience: Duration) -> Self {
        let (limits, most) = (Arc::clone(node), Arc::clone(node));
        let stopping = Arc::clone(drain);
        let runner = ToolAgentRunner {
            gateway: Arc::clone(&node.gateway),
            agents: node.store.tool_agents(),
            clock: Arc::new(SystemClock),
            limits: Arc::new(move || of_one_run(&limits.limits_in_force())),
            cut_off: Arc::new(move || {
                let stopping = Arc::clone(&stopping);
                async move {
                    stopping.begun().await;
                    tokio::time::sleep(patience.saturating_sub(LAST_WORDS)).await;
                }
                .boxed()
            }),
        };
        Self {
            runner: Arc::new(runner),
            home: home.clone(),
            most: Box::new(move || most.limits_in_force().runs.at_once),
            under_way: Arc::default(),
            drain: Arc::clone(drain),
        }
    }

    fn room(&self) -> Result<Place, BuildError> {
        if self.drain.is_draining() {
            return Err(BuildError::Stopping);
        }
        let most = (self.most)();
        let one_more = |under_way: usize| (under_way < most).then_some(under_way + 1);
        match self.under_way.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more) {
            Ok(_) => Ok(Place(Arc::clone(&self.under_way))),
            Err(_) => Err(BuildError::TooManyRuns(most)),
        }
    }
}

/// One run's place among those that a node runs at once.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn of_one_run(limits: &Limits) -> RunLimits {
    let runs = &limits.runs;
    RunLimits {
        longest: runs.longest,
        tools: runs.tools,
        at_once: runs.parallel_tools,
        bounds: Bounds { result_bytes: runs.result_bytes, document_bytes: runs.deliverable_bytes },
        reply_bytes: limits.body_bytes,
    }
}

#[async_trait]
impl Runner for HostedRunner {
    async fn build(
        &self,
        tenant: TenantId,
        slug: &str,
        actor: Actor,
        request: BuildRequest,
        told: Told,
    ) -> Result<Built, BuildError> {
        let place = self.room()?;
        // What stops waits for this as for a call.
        let busy = self.drain.enter();
        let (runner, slug) = (Arc::clone(&self.runner), slug.to_owned());
        let running = self.home.spawn(async move {
            let built = runner.build(tenant, &slug, actor, request, told).await;
            drop((place, busy));
            built
        });
        running.await.unwrap_or_else(|error| Err(BuildError::Store(StoreError::Unavailable(error.into()))))
    }
}
