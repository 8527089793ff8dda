//! A JSON-RPC message as MCP uses it: typed, with one way to read it and one way to write it.
//!
//! Reading is strict and lives in `parse`. Writing is ours alone: what goes upstream is this serialisation, never the bytes
//! a client sent, so that nothing a judge did not see can travel along.

mod id;
mod parse;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::error::RpcError;

pub use id::{Id, InvalidId};
pub use parse::{MAX_BATCH, parse};
pub(crate) use parse::{Origin, check_member, envelope};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub id: Id,
    pub method: String,
    pub params: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub method: String,
    pub params: Option<Map<String, Value>>,
}

/// The id is absent only on an error that answers something unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub id: Option<Id>,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Result(Value),
    Error(RpcError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Request(Request),
    Notification(Notification),
    Response(Response),
}

/// What one POST carries. Whether a batch is allowed depends on the negotiated revision (`Revision::has_batches`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    One(Message),
    Batch(Vec<Message>),
}

impl Request {
    /// The tool a `tools/call` asks for.
    pub fn tool_name(&self) -> Option<&str> {
        if self.method != "tools/call" {
            return None;
        }
        self.params.as_ref()?.get("name")?.as_str()
    }
}

impl Message {
    pub fn request(id: impl Into<Id>, method: impl Into<String>, params: Option<Map<String, Value>>) -> Self {
        Self::Request(Request { id: id.into(), method: method.into(), params })
    }

    pub fn notification(method: impl Into<String>, params: Option<Map<String, Value>>) -> Self {
        Self::Notification(Notification { method: method.into(), params })
    }

    pub fn result(id: Id, result: Value) -> Self {
        Self::Response(Response { id: Some(id), outcome: Outcome::Result(result) })
    }

    pub fn error(id: Option<Id>, error: RpcError) -> Self {
        Self::Response(Response { id, outcome: Outcome::Error(error) })
    }

    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Request(request) => Some(&request.method),
            Self::Notification(notification) => Some(&notification.method),
            Self::Response(_) => None,
        }
    }

    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Request(request) => Some(&request.id),
            Self::Notification(_) => None,
            Self::Response(response) => response.id.as_ref(),
        }
    }

    pub fn params(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Request(request) => request.params.as_ref(),
            Self::Notification(notification) => notification.params.as_ref(),
            Self::Response(_) => None,
        }
    }

    /// The params to change; none is made where there was none.
    pub fn params_mut(&mut self) -> Option<&mut Map<String, Value>> {
        match self {
            Self::Request(request) => request.params.as_mut(),
            Self::Notification(notification) => notification.params.as_mut(),
            Self::Response(_) => None,
        }
    }

    /// `params._meta`, where a message describes itself.
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.params()?.get("_meta")?.as_object()
    }

    pub fn to_vec(&self) -> Vec<u8> {
        written(self)
    }
}

impl Body {
    pub fn messages(&self) -> &[Message] {
        match self {
            Self::One(message) => std::slice::from_ref(message),
            Self::Batch(messages) => messages,
        }
    }

    pub fn to_vec(&self) -> Vec<u8> {
        written(self)
    }
}

/// Writing to memory cannot fail, and neither can a tree whose keys are all strings and whose numbers are all finite;
/// serde's signature does not know that.
fn written(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        match self {
            Self::Request(request) => {
                map.serialize_entry("id", &request.id)?;
                map.serialize_entry("method", &request.method)?;
            }
            Self::Notification(notification) => map.serialize_entry("method", &notification.method)?,
            Self::Response(response) => {
                map.serialize_entry("id", &response.id)?;
                match &response.outcome {
                    Outcome::Result(result) => map.serialize_entry("result", result)?,
                    Outcome::Error(error) => map.serialize_entry("error", error)?,
                }
            }
        }
        if let Some(params) = self.params() {
            map.serialize_entry("params", params)?;
        }
        map.end()
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(message) => message.serialize(serializer),
            Self::Batch(messages) => messages.serialize(serializer),
        }
    }
}

impl From<Message> for Body {
    fn from(message: Message) -> Self {
        Self::One(message)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn one(text: &str) -> Message {
        match parse(text.as_bytes(), 128).unwrap() {
            Body::One(message) => message,
            Body::Batch(_) => panic!("one message was expected"),
        }
    }

    #[test]
    fn writes_members_in_one_order_whatever_came() {
        for (text, expected) in [
            (
                r#"{ "params": {"b":1,"a":2}, "method":"m", "id":1, "jsonrpc":"2.0" }"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"b":1,"a":2}}"#,
            ),
            (r#"{"method":"m","jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0","method":"m"}"#),
            (r#"{"result":null,"id":"x","jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0","id":"x","result":null}"#),
            (
                r#"{"error":{"message":"no","code":-1},"jsonrpc":"2.0"}"#,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#,
            ),
        ] {
            assert_eq!(String::from_utf8(one(text).to_vec()).unwrap(), expected);
        }
    }

    #[test]
    fn a_batch_is_written_as_an_array() {
        let body = Body::Batch(vec![Message::notification("a", None), Message::result(Id::from(1), json!({}))]);
        let expected = r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":{}}]"#;
        assert_eq!(String::from_utf8(body.to_vec()).unwrap(), expected);
        assert_eq!(parse(&body.to_vec(), 128).unwrap(), body);
    }

    #[test]
    fn a_message_is_asked_for_its_parts() {
        let mut message =
            one(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t","_meta":{"k":1}}}"#);
        assert_eq!(message.method(), Some("tools/call"));
        assert_eq!(message.id(), Some(&Id::from("a")));
        assert_eq!(message.meta(), json!({ "k": 1 }).as_object());
        message.params_mut().unwrap().insert("name".into(), json!("u"));
        let Message::Request(request) = &message else { panic!("a request") };
        assert_eq!(request.tool_name(), Some("u"));
        let other = Request { method: "prompts/get".into(), ..request.clone() };
        assert_eq!(other.tool_name(), None, "a prompt is not a tool");
    }
}
