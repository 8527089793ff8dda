//! A modern client in front of a legacy upstream. Not translated yet: the upstream answers as it does.

use std::sync::Arc;

use gateway_core::Permit;
use gateway_core::ports::{Answered, Upstream, UpstreamError};

use super::BridgeSettings;

pub(super) struct ModernOverLegacy {
    inner: Arc<dyn Upstream>,
}

impl ModernOverLegacy {
    pub(super) fn new(inner: Arc<dyn Upstream>, settings: BridgeSettings) -> Self {
        let BridgeSettings { revision, held_per_principal, longest, .. } = settings;
        tracing::trace!(?revision, held_per_principal, ?longest, "modern clients are not translated yet");
        Self { inner }
    }

    pub(super) async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        self.inner.call(permit).await
    }

    pub(super) fn stop(&self) {}
}
