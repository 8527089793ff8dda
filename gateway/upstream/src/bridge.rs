//! Between eras: an upstream that speaks another era than the client is made to look as if it spoke the client's.
//!
//! What is said in the other era's words comes from `gateway_protocol::era`; here is what has to be remembered meanwhile:
//! sessions, calls that wait for an answer, subscriptions. Nothing is invented: whatever goes upstream is a `Permit` that core
//! derived from the admitted one.
#![cfg_attr(not(test), allow(dead_code, reason = "the stack does not put it around an upstream yet"))]

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
