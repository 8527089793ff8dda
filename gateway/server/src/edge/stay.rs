//! How long a stream that only listens may stay: until the node drains, or until its credential is taken back.

use std::sync::Arc;
use std::time::Duration;

use gateway_core::Gateway;
use gateway_core::identity::Credential;
use gateway_protocol::sse;

use super::drain::Drain;

/// How often the credential of an open stream is looked at again. No request is made on it that would do so.
const RECHECK: Duration = Duration::from_secs(5);

pub struct Stay {
    drain: Arc<Drain>,
    gateway: Arc<Gateway>,
    credential: Credential,
    /// What the reader is told when we end it.
    last: Option<sse::Frame>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Draining,
    Revoked,
}

impl Stay {
    pub fn new(drain: &Arc<Drain>, gateway: &Arc<Gateway>, credential: &Credential) -> Self {
        Self { drain: Arc::clone(drain), gateway: Arc::clone(gateway), credential: credential.clone(), last: None }
    }

    #[must_use]
    pub fn saying(mut self, last: Option<sse::Frame>) -> Self {
        self.last = last;
        self
    }

    pub fn last_word(&self) -> Option<&sse::Frame> {
        self.last.as_ref()
    }

    /// Resolves when the stream must end.
    pub async fn over(&self) -> Over {
        tokio::select! {
            () = self.drain.begun() => Over::Draining,
            () = self.revoked() => Over::Revoked,
        }
    }

    async fn revoked(&self) {
        loop {
            tokio::time::sleep(RECHECK).await;
            if !self.gateway.still_valid(&self.credential).await {
                tracing::info!("an open stream ends: its credential is no longer good");
                return;
            }
        }
    }
}
