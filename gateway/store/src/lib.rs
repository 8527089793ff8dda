//! Where the gateway keeps things: tenants, agents, keys, tools, and above all the ledger.
//!
//! SQLite is the embedded default and Postgres the shared engine; both implement the same ports of `gateway_core` and pass
//! the same contract suite (`tests/contract.rs`). Around them stand the queue in front of the ledger ([`AuditWriter`], with
//! its local spool), the cached directory of keys, and the small read-only database of the demo. No rule of the
//! gateway is decided here.

#[macro_use]
mod outcomes;
mod agents;
mod approvals;
mod batch;
mod demo_database;
mod directory;
mod failure;
mod gate;
mod live;
mod migrations;
mod once;
mod pins;
mod postgres;
mod records;
mod seen;
mod shelves;
mod spool;
mod sqlite;
mod store;
mod writer;

pub use demo_database::{DemoDatabase, create_demo_database};
pub use directory::CachedDirectory;
pub use failure::Refused;
pub use gateway_core::verify::verify_chain;
pub use shelves::{DirectoryShelves, verify_runpack};
pub use store::Store;
pub use writer::{AuditWriter, WriterOptions};
