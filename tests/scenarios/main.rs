//! The stories, one file each. A new story is a new line here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story that cannot go on should stop where it is"
)]

mod adp;
mod aggregate;
mod architecture;
mod bypasses;
mod client_suite;
mod conformance;
mod crash;
mod decisions;
mod edge;
mod identity;
mod ledger_away;
mod lifecycle;
mod misbehaving;
mod protocol;
mod real_clients;
mod real_eras;
mod real_upstreams;
mod reload;
mod tls;
mod two_nodes;
