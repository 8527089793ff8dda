//! How long a stream that only listens may stay: until the node drains, until its credential is taken back, or until its
//! reader is stopped.

use std::sync::Arc;
use std::time::Duration;

use gateway_core::Gateway;
use gateway_core::exchange::Route;
use gateway_core::identity::{Credential, Principal};

use super::drain::Drain;

/// How often the credential of an open stream is looked at again where nobody tells of a change. No request is made on it that
/// would do so.
const RECHECK: Duration = Duration::from_secs(30);

pub struct Stay {
    drain: Arc<Drain>,
    gateway: Arc<Gateway>,
    credential: Credential,
    reader: Option<(Arc<Principal>, Route)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Draining,
    Revoked,
    Suspended,
}

impl Stay {
    pub fn new(drain: &Arc<Drain>, gateway: &Arc<Gateway>, credential: &Credential) -> Self {
        Self { drain: Arc::clone(drain), gateway: Arc::clone(gateway), credential: credential.clone(), reader: None }
    }

    /// Whose stream it is, at which door. A stream that came through the chain ends by itself.
    pub fn of(mut self, reader: &Arc<Principal>, route: &Route) -> Self {
        self.reader = Some((Arc::clone(reader), route.clone()));
        self
    }

    /// Resolves when the stream must end.
    pub async fn over(&self) -> Over {
        tokio::select! {
            () = self.drain.begun() => Over::Draining,
            () = self.suspended() => Over::Suspended,
            () = self.revoked() => Over::Revoked,
        }
    }

    async fn suspended(&self) {
        let Some((reader, route)) = &self.reader else {
            return std::future::pending().await;
        };
        self.gateway.banished(Arc::clone(reader), route.clone()).await;
        tracing::info!(agent.id = %reader.agent, "an open stream ends: its reader is suspended");
    }

    /// Keys and agents are among the live rows, so most changes of them are heard of at once.
    async fn revoked(&self) {
        let live = self.gateway.live();
        let mut seen = live.load();
        loop {
            tokio::select! {
                () = tokio::time::sleep(RECHECK) => {}
                now = live.changed(&seen) => seen = now,
            }
            if !self.gateway.still_valid(&self.credential).await {
                tracing::info!("an open stream ends: its credential is no longer good");
                return;
            }
        }
    }
}
