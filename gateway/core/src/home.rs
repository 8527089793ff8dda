//! Where state that cannot travel lives: the process that holds a session's child, stream or parked call.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ports::{Carried, PeerError, Peers};
use crate::refusal::Answer;

/// One process, and how its peers reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// Drawn anew by each process: one that was restarted does not hold what its predecessor held.
    pub node: Uuid,
    /// The base of its MCP address. `None`: nobody else can reach it.
    pub at: Option<String>,
}

/// How a request came from the node that the caller asked to the one that holds what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    pub from: Uuid,
    pub to: Uuid,
}

/// A node that knows no other: whatever does not live here is gone.
pub struct NoPeers;

#[async_trait]
impl Peers for NoPeers {
    async fn carry(&self, _to: &Home, _request: Carried) -> Result<Answer, PeerError> {
        Err(PeerError::Gone)
    }
}
