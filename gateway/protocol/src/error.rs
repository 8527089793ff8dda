//! The error codes of JSON-RPC, of MCP and of this gateway, and the two shapes in which an error travels.
//!
//! `RpcError` is the `error` member on the wire. `Malformed` is our own refusal of a message we could not accept; it knows
//! the id it answers, when the id could be read. Which HTTP status goes with a code is decided where answers are written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::JsonError;
use crate::message::{Id, Message};

/// MCP reserves -32768…-32000 for the protocol, so the gateway's own codes are positive.
pub mod code {
    pub const PARSE_ERROR: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL: i64 = -32603;
    /// Legacy servers answer so before `initialize`; dual-era clients take it as the sign to fall back.
    pub const NOT_INITIALIZED: i64 = -32000;
    pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CAPABILITY: i64 = -32021;
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    pub const UNAUTHENTICATED: i64 = 4010;
    pub const DENIED: i64 = 4030;
    pub const APPROVAL_REQUIRED: i64 = 4280;
    pub const LIMITED: i64 = 4290;
    /// The ledger could not write the call down, so it did not leave.
    pub const UNRECORDED: i64 = 5030;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// A message that is refused before anybody judges it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    pub code: i64,
    pub message: String,
    pub id: Option<Id>,
    /// Boxed, because refusals are rare and every parser's `Result` would carry its size.
    pub data: Option<Box<Value>>,
}

impl Malformed {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), id: None, data: None }
    }

    /// Names the request this refusal answers.
    #[must_use]
    pub fn answering(mut self, id: Option<&Id>) -> Self {
        self.id = id.cloned();
        self
    }

    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    pub fn to_rpc_error(&self) -> RpcError {
        RpcError { code: self.code, message: self.message.clone(), data: self.data.as_deref().cloned() }
    }

    /// The answer to send; its id is null when the request's id could not be read.
    pub fn to_message(&self) -> Message {
        Message::error(self.id.clone(), self.to_rpc_error())
    }
}

impl From<Box<JsonError>> for Malformed {
    fn from(error: Box<JsonError>) -> Self {
        (*error).into()
    }
}

impl From<JsonError> for Malformed {
    /// Text that is no JSON is a parse error. Text that is JSON but ambiguous or beyond our bounds is an invalid request:
    /// telling its sender that it cannot write JSON would send them looking in the wrong place.
    fn from(error: JsonError) -> Self {
        let code = if error.is_syntax() { code::PARSE_ERROR } else { code::INVALID_REQUEST };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_answers_with_the_id_it_could_read() {
        for (id, expected) in [
            (None, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#),
            (Some(Id::from(7)), r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"no"}}"#),
            (Some(Id::from("a")), r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32700,"message":"no"}}"#),
        ] {
            let refusal = Malformed::new(code::PARSE_ERROR, "no").answering(id.as_ref());
            assert_eq!(String::from_utf8(refusal.to_message().to_vec()).unwrap(), expected);
        }
    }

    #[test]
    fn data_travels_with_the_error() {
        let refusal = Malformed::new(code::UNSUPPORTED_VERSION, "no").with_data(json!({ "requested": "x" }));
        assert_eq!(refusal.to_rpc_error().data, Some(json!({ "requested": "x" })));
    }
}
