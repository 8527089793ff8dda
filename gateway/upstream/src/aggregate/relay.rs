//! What members say, as the client must hear it. URIs name their member; the ids of questions are made unique over all members
//! on the way out, and restored on the way back.
//!
//! The id outside is `namespace:` and the member's own id as JSON, so it can be restored, type and all, without a table.

use futures::StreamExt;
use gateway_core::Namespace;
use gateway_core::ports::{Answered, Content, StreamItem};
use gateway_protocol::{Id, Message, Reply, ReplyKind};
use serde_json::Value;

use super::uris::{self, Speaker};

/// A member's answer as the client sees it. The member's session stays ours.
pub(super) fn outward(whose: &Speaker, answered: Answered) -> Answered {
    let content = match answered.content {
        Content::Stream(stream) => {
            let whose = whose.clone();
            Content::Stream(stream.map(move |item| item.map(|item| event(&whose, item))).boxed())
        }
        Content::One(reply) => Content::One(uris::renamed(whose, &reply).unwrap_or(reply)),
        other => other,
    };
    Answered { status: answered.status, session: None, content }
}

/// Whose question this answers, and under which id it was asked.
pub(super) fn inward(id: &Id) -> Option<(String, Id)> {
    let Id::Text(text) = id else { return None };
    let (namespace, own) = text.split_once(':')?;
    Some((namespace.into(), serde_json::from_str(own).ok()?))
}

pub(super) fn event(whose: &Speaker, item: StreamItem) -> StreamItem {
    let StreamItem::Event { mut frame, reply: Some(reply) } = item else { return item };
    let changed = match (reply.kind(), reply.method()) {
        (ReplyKind::Request, _) | (ReplyKind::Notification, Some("notifications/cancelled")) => {
            renamed(&whose.namespace, &reply)
        }
        _ => uris::renamed(whose, &reply),
    };
    let reply = changed.unwrap_or(reply);
    frame.data = reply.raw().clone();
    StreamItem::Event { frame, reply: Some(reply) }
}

fn renamed(namespace: &Namespace, reply: &Reply) -> Option<Reply> {
    let mut message = reply.message().ok()?;
    match &mut message {
        Message::Request(request) => request.id = outside(namespace, &request.id),
        // A member takes its own question back.
        Message::Notification(notification) => {
            let slot = notification.params.as_mut()?.get_mut("requestId")?;
            let own = Id::try_from(slot.clone()).ok()?;
            *slot = Value::String(outside(namespace, &own).to_string());
        }
        Message::Response(_) => return None,
    }
    Some(Reply::from_message(&message))
}

fn outside(namespace: &Namespace, own: &Id) -> Id {
    // An id is a string or a number; neither fails to serialise.
    Id::Text(format!("{namespace}:{}", serde_json::to_string(own).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn an_id_comes_back_as_it_went() {
        let namespace: Namespace = "notes".parse().unwrap();
        for (own, expected) in [
            (Id::from(7), "notes:7"),
            (Id::from(u64::MAX), "notes:18446744073709551615"),
            (Id::from("7"), "notes:\"7\""),
            (Id::from("a:\"b"), "notes:\"a:\\\"b\""),
            (Id::from(""), "notes:\"\""),
        ] {
            let out = outside(&namespace, &own);
            assert_eq!(out, Id::from(expected));
            assert_eq!(inward(&out), Some(("notes".into(), own)));
        }
        for strange in
            [Id::from(7), Id::from("notes"), Id::from("notes:x"), Id::from("notes:1.5"), Id::from("notes:null")]
        {
            assert_eq!(inward(&strange), None, "{strange}");
        }
    }
}
