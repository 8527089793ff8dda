//! Where runs of tool agents live: on the node, not in the request that asked for one. A client that goes away stops nothing
//! half-way, and a node runs so many at once.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::TenantId;
use gateway_core::ports::{Actor, BuildError, BuildRequest, Built, Runner, StoreError, Told};
use gateway_tools::agents::{RunLimits, ToolAgentRunner};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::clock::SystemClock;
use crate::compose::Node;

/// Runs at once on one node.
const MOST: usize = 4;

pub struct HostedRunner {
    runner: Arc<ToolAgentRunner>,
    home: Handle,
    room: Arc<Semaphore>,
}

impl HostedRunner {
    pub fn new(node: &Node, home: &Handle) -> Self {
        let runner = ToolAgentRunner {
            gateway: Arc::clone(&node.gateway),
            agents: node.store.tool_agents(),
            clock: Arc::new(SystemClock),
            limits: RunLimits::default(),
        };
        Self { runner: Arc::new(runner), home: home.clone(), room: Arc::new(Semaphore::new(MOST)) }
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
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            return Err(BuildError::TooManyRuns(MOST));
        };
        let (runner, slug) = (Arc::clone(&self.runner), slug.to_owned());
        let running = self.home.spawn(async move {
            let built = runner.build(tenant, &slug, actor, request, told).await;
            drop(place);
            built
        });
        running.await.unwrap_or_else(|error| Err(BuildError::Store(StoreError::Unavailable(error.into()))))
    }
}
