//! What clients say in most stories.

use serde_json::{Value, json};

pub fn request(id: i32, method: &str, params: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params.into() })
}

/// The handshake of a session, with what the client can be asked.
pub fn initialize(revision: &str, capabilities: impl Into<Value>) -> Value {
    let client = json!({ "name": "story", "version": "1" });
    let capabilities: Value = capabilities.into();
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
    request(0, "initialize", params)
}

pub fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// What every request of the stateless era says of its client.
pub fn modern_meta() -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} })
}
