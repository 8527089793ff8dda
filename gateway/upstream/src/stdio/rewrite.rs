//! The few members of a message that are replaced between a client and a child: ids and progress tokens.

use bytes::Bytes;
use gateway_protocol::revision::meta;
use gateway_protocol::{Id, Message, Reply, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A request as the child sees it: under our number, which is also its progress token if it has one.
pub(super) fn inward(request: &Request, own: u64) -> Message {
    let mut request = Request { id: own.into(), method: request.method.clone(), params: request.params.clone() };
    if let Some(token) = token_slot(request.params.as_mut()) {
        *token = own.into();
    }
    Message::Request(request)
}

pub(super) fn token(request: &Request) -> Option<Value> {
    request.params.as_ref()?.get("_meta")?.get(meta::PROGRESS_TOKEN).cloned()
}

fn token_slot(params: Option<&mut serde_json::Map<String, Value>>) -> Option<&mut Value> {
    params?.get_mut("_meta")?.get_mut(meta::PROGRESS_TOKEN)
}

/// The parts of an answer that stay as they came, to the last digit.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Renamed<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RawValue>,
}

/// An answer under the client's own id. `None` if it is no answer after all.
pub(super) fn outward(reply: &Reply, id: &Id, max_depth: usize) -> Option<Reply> {
    let Answer { result, error } = serde_json::from_slice(reply.raw()).ok()?;
    let renamed = serde_json::to_vec(&Renamed { jsonrpc: "2.0", id, result, error }).ok()?;
    Reply::scan(Bytes::from(renamed), max_depth).ok()
}

/// A message with one of its values replaced.
pub(super) fn edited(reply: &Reply, edit: impl FnOnce(&mut Message) -> Option<()>) -> Option<Reply> {
    let mut message = reply.message().ok()?;
    edit(&mut message)?;
    Some(Reply::from_message(&message))
}

/// Where a modern message names the subscription it belongs to: in its params, or in the result that ends it.
pub(super) fn subscription_slot(message: &mut Message) -> Option<&mut Value> {
    let home = match message {
        Message::Notification(notification) => notification.params.as_mut()?.get_mut("_meta")?,
        Message::Response(gateway_protocol::Response {
            outcome: gateway_protocol::Outcome::Result(result), ..
        }) => result.get_mut("_meta")?,
        _ => return None,
    };
    home.get_mut(meta::SUBSCRIPTION_ID)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::testing::parsed;
    use serde_json::json;

    #[test]
    fn replaces_id_and_token_and_nothing_else() {
        let Message::Request(request) = parsed(&json!({
            "jsonrpc": "2.0", "id": "a", "method": "tools/call",
            "params": { "_meta": { "progressToken": "t", "x": 1 }, "name": "n" }
        })) else {
            panic!("a request")
        };
        assert_eq!(token(&request), Some(json!("t")));
        let sent = serde_json::to_value(inward(&request, 9)).unwrap();
        let expected = json!({
            "jsonrpc": "2.0", "id": 9, "method": "tools/call",
            "params": { "_meta": { "progressToken": 9, "x": 1 }, "name": "n" }
        });
        assert_eq!(sent, expected);
    }

    #[test]
    fn an_answer_keeps_every_digit() {
        let raw =
            Bytes::from_static(br#"{"jsonrpc":"2.0","id":9,"result":{"n":123456789012345678901234567890,"e":1e400}}"#);
        let reply = outward(&Reply::scan(raw, 64).unwrap(), &Id::from("a"), 64).unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":"a","result":{"n":123456789012345678901234567890,"e":1e400}}"#;
        assert_eq!(reply.raw(), expected);
        let raw = Bytes::from_static(br#"{"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"no"}}"#);
        let reply = outward(&Reply::scan(raw, 64).unwrap(), &Id::from(3), 64).unwrap();
        assert_eq!(reply.raw(), r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#);
    }
}
