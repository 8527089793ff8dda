//! The adapters of core's `Upstream` port, and the engine that knows which of them stands behind a route.
//!
//! `http`, `sse_upstream` and `stdio` reach one MCP server each, `auto_http` finds out which of the first two it is,
//! `aggregate` shows many as one, `probe` asks one what it offers, `stack` puts the common layers around each (`bridge` from era to era,
//! `catalogue` for lists, `guard` for deadlines, `vitals` for who is there), and `shim` is the other way round: a gateway as a stdio server.
//! `webhook`, `supabase_rest`, `model` and `otlp` speak to services that are no MCP servers. Nothing is
//! decided here: an adapter takes a `Permit`, and whoever holds one has been judged.

pub mod aggregate;
mod ask;
pub mod auto_http;
pub mod bridge;
pub mod catalogue;
mod commons;
pub mod engine;
pub mod evidence;
pub mod guard;
pub mod http;
mod json_post;
pub mod model;
pub mod observed;
pub mod otlp;
pub mod peers;
pub mod probe;
pub mod shim;
pub mod sse_upstream;
pub mod stack;
pub mod stdio;
pub mod supabase_rest;
mod vitals;
pub mod webhook;

#[cfg(test)]
mod testing;

pub use aggregate::{Aggregate, Member, Naming, ServerInfo, resolve_name};
pub use auto_http::AutoHttp;
pub use catalogue::Catalogue;
pub use commons::Commons;
pub use engine::{Engine, EngineError};
pub use http::{HttpUpstream, HttpUpstreamConfig, HttpUpstreamError};
pub use model::HttpModel;
pub use observed::Observed;
pub use otlp::{Otlp, OtlpConfig, OtlpError, SpanCounts};
pub use peers::HttpPeers;
pub use probe::list_tools;
pub use sse_upstream::SseUpstream;
pub use stack::{CacheRule, Layers, Protocol, stack};
pub use stdio::{Sharing, StdioConfig, StdioUpstream};
pub use supabase_rest::{SupabaseRest, SupabaseRestConfig};
pub use webhook::Webhook;
