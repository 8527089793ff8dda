//! The built-in MCP servers: upstreams that run inside the gateway and pass its whole chain like any other.
//!
//! `builtin` is the server they share, `adp` governs agents, `demo` is something to govern, `supabase` asks a database.
//! Beside them `agents` runs what tool agents are configured to. Nothing here opens a socket or a file: whatever a tool needs of the world is one of core's ports.

pub mod adp;
pub mod agents;
pub mod builtin;
pub mod demo;
pub mod supabase;

pub use builtin::{BuiltinServer, BuiltinTool, ToolFailure, ToolSpec};
