//! Where the gateway keeps things: tenants, agents, keys, tools, and above all the ledger.
//!
//! SQLite is the embedded default and Postgres the shared engine; both implement the same ports of `gateway_core` and pass
//! the same contract suite (`tests/contract.rs`). Around them stand the queue in front of the ledger ([`AuditWriter`], with
//! its local spool), the cached directory of keys, and databases of others that tools may read ([`SqliteReader`],
//! [`PostgresReader`]). No rule of the gateway is decided here.

#[macro_use]
mod outcomes;
mod agents;
mod approvals;
mod batch;
mod directory;
mod failure;
mod gate;
mod live;
mod migrations;
mod once;
mod pins;
mod postgres;
mod readers;
mod records;
mod seen;
mod spool;
mod sqlite;
mod store;
mod writer;

pub use directory::CachedDirectory;
pub use failure::Refused;
pub use gateway_core::verify::verify_chain;
pub use readers::{AtHome, PostgresReader, PostgresReading, SqliteReader, create_demo_database};
pub use store::Store;
pub use writer::{AuditWriter, WriterOptions};
