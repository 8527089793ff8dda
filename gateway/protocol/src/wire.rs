//! What HTTP says beside a message, for wires that carry messages alone: lines, sockets, streams of events.

use bytes::Bytes;
use serde_json::Value;

use crate::headers::{McpHeaders, body_revision};
use crate::message::{Id, Message};
use crate::revision::Revision;
use crate::sse::Frame;

/// What a handshake settled, and HTTP repeats in the headers of every later message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    pub session: Option<String>,
    pub revision: Option<Revision>,
}

impl Settled {
    /// Learns from the answer to `initialize`, which came with this session id. What is no such answer changes nothing.
    pub fn learn(&mut self, answer: &[u8], session: &mut Option<String>) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        if let Some(version) = answer.pointer("/result/protocolVersion").and_then(Value::as_str) {
            self.revision = version.parse().ok();
            self.session = session.take();
        }
    }

    pub fn headers(&self) -> McpHeaders {
        let protocol_version = self.revision.map(|revision| revision.as_str().to_owned());
        McpHeaders { protocol_version, session_id: self.session.clone(), ..McpHeaders::default() }
    }
}

/// Whether a message says of itself that it is of the stateless era.
pub fn is_modern(message: &Message) -> bool {
    body_revision(message).ok().flatten().is_some_and(Revision::is_modern)
}

/// The request that a message takes back.
pub fn cancelled(message: &Message) -> Option<Id> {
    if message.method() != Some("notifications/cancelled") {
        return None;
    }
    Id::try_from(message.params()?.get("requestId")?.clone()).ok()
}

/// On HTTP an error without an id belongs to its request all the same; on another wire it must say so.
pub fn addressed(answer: Bytes, id: &Id) -> Bytes {
    match serde_json::from_slice(&answer) {
        Ok(Value::Object(mut error)) if error.contains_key("error") && error.get("id").is_none_or(Value::is_null) => {
            error.insert("id".into(), id.into());
            Value::Object(error).to_string().into()
        }
        _ => answer,
    }
}

/// Comments and the empty events that prime a stream mean something on HTTP alone.
pub fn message_of(frame: Frame) -> Option<Bytes> {
    match frame {
        Frame::Event(event) if !event.data.is_empty() => Some(event.data),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;
    use crate::sse::Event;

    #[test]
    fn only_a_handshakes_answer_settles_anything() {
        let mut settled = Settled::default();
        let mut session = Some("s".to_owned());
        for other in [json!({ "error": { "code": 1 } }), json!({ "result": {} }), json!([1]), json!("x")] {
            settled.learn(other.to_string().as_bytes(), &mut session);
            assert_eq!((&settled, session.as_deref()), (&Settled::default(), Some("s")), "{other}");
        }
        settled.learn(br#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#, &mut session);
        assert_eq!((settled.revision, settled.session.as_deref()), (Some(Revision::V2025_06_18), Some("s")));
        let headers = settled.headers();
        assert_eq!(
            (headers.protocol_version.as_deref(), headers.session_id.as_deref()),
            (Some("2025-06-18"), Some("s"))
        );
    }

    #[test]
    fn an_error_is_addressed_and_everything_else_stays() {
        let id = Id::from("q");
        for (answer, expected) in [
            (r#"{"error":{"code":1},"id":null}"#, r#"{"error":{"code":1},"id":"q"}"#),
            (r#"{"error":{"code":1}}"#, r#"{"error":{"code":1},"id":"q"}"#),
            (r#"{"error":{"code":1},"id":7}"#, r#"{"error":{"code":1},"id":7}"#),
            (r#"{"result":{}}"#, r#"{"result":{}}"#),
            ("[1]", "[1]"),
            ("no", "no"),
        ] {
            assert_eq!(addressed(Bytes::from_static(answer.as_bytes()), &id), expected, "{answer}");
        }
    }

    #[test]
    fn what_a_frame_and_a_message_mean_here() {
        assert_eq!(message_of(Frame::Event(Event::message("{}"))), Some(Bytes::from_static(b"{}")));
        assert_eq!(message_of(Frame::Event(Event::default())), None);
        assert_eq!(message_of(Frame::Comment(Bytes::from_static(b"x"))), None);
        let cancel = |params: Value| Message::notification("notifications/cancelled", params.as_object().cloned());
        assert_eq!(cancelled(&cancel(json!({ "requestId": 7 }))), Some(Id::from(7)));
        assert_eq!(cancelled(&cancel(json!({ "requestId": null }))), None);
        assert_eq!(cancelled(&Message::notification("other", json!({ "requestId": 7 }).as_object().cloned())), None);
        let said = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
        assert!(is_modern(&Message::request(1, "x", said.as_object().cloned())));
        assert!(!is_modern(&Message::request(1, "x", None)));
    }
}
