//! Between eras: an upstream that speaks another era than the client is made to look as if it spoke the client's.
//!
//! What is said in the other era's words comes from `gateway_protocol::era`; here is what has to be remembered meanwhile:
//! sessions, calls that wait for an answer, subscriptions. Nothing is invented: whatever goes upstream is a `Permit` that core
//! derived from the admitted one.

mod errands;
mod held;
mod listen;
mod live;
mod modern;
mod pool;
mod running;
#[cfg(test)]
mod testing;

use std::time::Duration;

use gateway_core::Namespace;
use gateway_protocol::Revision;

/// What the bridge needs to know of one upstream.
#[derive(Debug, Clone)]
pub(super) struct BridgeSettings {
    pub(super) namespace: Namespace,
    /// The legacy revision to offer; `None` offers the newest.
    pub(super) revision: Option<Revision>,
    /// How long a call waits for its caller to answer a question.
    pub(super) hold: Duration,
    pub(super) held_per_principal: usize,
    /// The whole of a call, all its rounds together.
    pub(super) longest: Duration,
}

/// Stands in until eras are found out: every modern client is taken to be before a legacy server.
pub(super) struct Bridge {
    straight: std::sync::Arc<dyn gateway_core::ports::Upstream>,
    modern: modern::ModernOverLegacy,
}

impl Bridge {
    pub(super) fn new(inner: std::sync::Arc<dyn gateway_core::ports::Upstream>, settings: BridgeSettings) -> Self {
        Self { straight: std::sync::Arc::clone(&inner), modern: modern::ModernOverLegacy::new(inner, settings) }
    }
}

#[async_trait::async_trait]
impl gateway_core::ports::Upstream for Bridge {
    async fn call(
        &self,
        permit: &gateway_core::Permit,
    ) -> Result<gateway_core::ports::Answered, gateway_core::ports::UpstreamError> {
        match permit.exchange().is_modern() {
            true => self.modern.call(permit).await,
            false => self.straight.call(permit).await,
        }
    }

    fn observes_unclassified(&self) -> bool {
        self.straight.observes_unclassified()
    }

    fn spoken(&self) -> gateway_core::ports::Spoken {
        self.straight.spoken()
    }

    async fn stop(&self) {
        self.modern.stop().await;
        self.straight.stop().await;
    }
}
