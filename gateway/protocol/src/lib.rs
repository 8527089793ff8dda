//! MCP without I/O: strict JSON-RPC, the SSE codec, the protocol revisions and the translation between them, and the HTTP
//! headers that mirror the body.
//!
//! Nothing here waits, opens a socket or asks the time. What comes from a client is read strictly (`message`), because the
//! gateway judges exactly what it sends on; what comes from an upstream is checked in one pass and kept as it came (`reply`).

pub mod era;
pub mod error;
pub mod headers;
pub mod json;
pub mod message;
pub mod reply;
pub mod revision;
pub mod sse;
pub mod wire;

pub use error::{Malformed, RpcError, code};
pub use message::{Body, Id, Message, Notification, Outcome, Request, Response};
pub use reply::{Reply, ReplyKind, ResultKind};
pub use revision::Revision;
