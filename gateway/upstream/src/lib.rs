//! The adapters of core's `Upstream` port, and the engine that knows which of them stands behind a route.
//!
//! `http` and `stdio` reach one MCP server each, `aggregate` shows many as one, `probe` asks one what it offers, `stack` puts the
//! common layers around each: `bridge` from era to era, `guard` for deadlines. Nothing is decided here: an adapter takes a
//! `Permit`, and whoever holds one has been judged.

pub mod aggregate;
mod ask;
pub mod bridge;
pub mod catalogue;
pub mod engine;
pub mod guard;
pub mod http;
pub mod probe;
pub mod stack;
pub mod stdio;

#[cfg(test)]
mod testing;

pub use aggregate::{Aggregate, Member, Naming, ServerInfo, resolve_name};
pub use catalogue::Catalogue;
pub use engine::{Engine, EngineError};
pub use http::{HttpUpstream, HttpUpstreamConfig, HttpUpstreamError};
pub use probe::list_tools;
pub use stack::{CacheRule, Layers, Protocol, stack};
pub use stdio::{Sharing, StdioConfig, StdioUpstream};
