//! How a session of the session eras begins: what the handshake settled, and the id that is made of it.

use futures::StreamExt;
use gateway_protocol::era::{Handshake, InputKind};
use gateway_protocol::{Message, Revision};
use serde_json::{Value, json};

use super::Gateway;
use crate::exchange::Exchange;
use crate::ports::{Content, NewSession, StreamItem};
use crate::session::{FORM, Session, URL};

/// A handshake's answer comes within this many events, or the upstream is not speaking MCP.
const HANDSHAKE_EVENTS: usize = 16;

impl Gateway {
    pub(super) fn new_session(&self, exchange: &Exchange, opened: NewSession, negotiated: Option<Revision>) -> Session {
        let Exchange { principal, route, revision, .. } = exchange;
        let revision = negotiated.or(*revision);
        let asks = asks(exchange);
        if !opened.pinned {
            return Session::new(principal, route, revision, opened.id).asking(asks);
        }
        let home = self.ports.home.clone();
        Session::pinned(principal, route, revision, opened.id, home, said(exchange, revision)).asking(asks)
    }
}

/// Which questions the client's own words say it can show a person.
fn asks(exchange: &Exchange) -> u8 {
    let params = exchange.message().and_then(Message::params);
    let Some(declared) = params.and_then(|params| params.get("capabilities")).and_then(Value::as_object) else {
        return 0;
    };
    let link = json!({ "mode": "url" });
    let form = InputKind::Elicitation.may_ask(None, declared);
    let url = InputKind::Elicitation.may_ask(link.as_object(), declared);
    (if form { FORM } else { 0 }) | (if url { URL } else { 0 })
}

/// What the client said in the handshake that opened its session.
fn said(exchange: &Exchange, revision: Option<Revision>) -> Option<Handshake> {
    let params = exchange.message()?.params()?;
    let capabilities = params.get("capabilities").and_then(Value::as_object).cloned().unwrap_or_default();
    let client_info = params.get("clientInfo").cloned().unwrap_or_default();
    Some(Handshake { revision: revision?, capabilities, client_info })
}

/// The handshake's answer is needed before the session id can be sealed, and headers go out first.
pub(super) async fn answer(content: Content) -> (Content, Option<Revision>) {
    match content {
        Content::One(reply) => {
            let revision = reply.settled();
            (Content::One(reply), revision)
        }
        Content::Stream(mut items) => {
            let mut first = Vec::new();
            let mut revision = None;
            while first.len() < HANDSHAKE_EVENTS {
                let Some(item) = items.next().await else { break };
                revision = match &item {
                    Ok(StreamItem::Event { reply: Some(reply), .. }) if reply.is_final() => reply.settled(),
                    _ => None,
                };
                let over = item.is_err() || revision.is_some();
                first.push(item);
                if over {
                    break;
                }
            }
            (Content::Stream(futures::stream::iter(first).chain(items).boxed()), revision)
        }
        other => (other, None),
    }
}
