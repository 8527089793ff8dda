//! The built-in MCP servers: upstreams that run inside the gateway and pass its whole chain like any other.
//!
//! `builtin` is the server they share, `adp` governs agents, `gate` opens stages on evidence, `supabase` asks a database,
//! `demo` is something to govern. Beside them `agents` runs what tool agents are configured to. Nothing here opens a socket
//! or a file: whatever a tool needs of the world is one of core's ports.

pub mod adp;
pub mod agents;
pub mod builtin;
pub mod demo;
pub mod gate;
pub mod supabase;

pub use builtin::{BuiltinServer, BuiltinTool, ToolFailure, ToolSpec};
