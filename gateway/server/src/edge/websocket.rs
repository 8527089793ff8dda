//! MCP on a WebSocket: one message in each text frame, both ways.
//!
//! Pingora answers 101 and from then on hands over raw bytes; tungstenite turns them into frames and back, in memory. All
//! that is written afterwards goes through `put`, because pingora takes any other kind of body on an upgraded connection for
//! a mistake in the program, and panics.

mod pipe;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use pingora_core::protocols::http::{HttpTask, ServerSession};
use pingora_http::ResponseHeader;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval_at, timeout};
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::coding::CloseCode;

use super::McpEdge;
use super::conversation::{Conversation, Held};
use super::door::Door;
use super::respond;
use super::stay::{Over, Stay};
use pipe::{Framing, Heard};

/// Messages to the client that may wait for it to read.
const OUTGOING: usize = 256;
const PING: Duration = Duration::from_secs(30);
/// Pings in a row without any sign of life.
const UNANSWERED: u32 = 2;
/// How long the client may take to say goodbye in its turn.
const FAREWELL: Duration = Duration::from_secs(2);

/// A request that may become a WebSocket.
pub struct Upgrade {
    pub key: String,
    /// The client offered to speak `mcp`.
    pub subprotocol: bool,
}

impl Upgrade {
    /// What is wrong is said with a status: 426 means that only a WebSocket is served here.
    pub fn of(method: &Method, headers: &HeaderMap, http1: bool) -> Result<Self, (u16, &'static str)> {
        let listed = |name: header::HeaderName, wanted: &str| {
            let lists = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            lists.flat_map(|list| list.split(',')).any(|token| token.trim().eq_ignore_ascii_case(wanted))
        };
        if method != Method::GET {
            return Err((405, "a WebSocket is opened with GET"));
        }
        if !http1 || !listed(header::UPGRADE, "websocket") || !listed(header::CONNECTION, "upgrade") {
            return Err((426, "only a WebSocket is served here, over HTTP/1.1"));
        }
        if !listed(header::SEC_WEBSOCKET_VERSION, "13") {
            return Err((426, "the WebSocket must be of version 13"));
        }
        let key = headers.get(header::SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok()).unwrap_or_default();
        if key.len() != 24 {
            return Err((400, "`Sec-WebSocket-Key` is missing or is not a key"));
        }
        Ok(Self { key: key.to_owned(), subprotocol: listed(header::SEC_WEBSOCKET_PROTOCOL, "mcp") })
    }

    fn accepted(&self) -> Option<ResponseHeader> {
        let mut head = ResponseHeader::build(101, Some(4)).ok()?;
        head.insert_header(header::UPGRADE, "websocket").ok()?;
        head.insert_header(header::CONNECTION, "Upgrade").ok()?;
        head.insert_header(header::SEC_WEBSOCKET_ACCEPT, derive_accept_key(self.key.as_bytes())).ok()?;
        if self.subprotocol {
            head.insert_header(header::SEC_WEBSOCKET_PROTOCOL, "mcp").ok()?;
        }
        Some(head)
    }
}

/// False: a WebSocket's connection is never used again.
pub async fn serve(edge: &Arc<McpEdge>, session: &mut ServerSession, door: Door, upgrade: &Upgrade) -> bool {
    let (principal, slot) = match edge.admit(&door).await {
        Ok(admitted) => admitted,
        Err(refused) => {
            respond::answer(session, refused, None).await;
            return false;
        }
    };
    let Some(head) = upgrade.accepted() else {
        return false;
    };
    if session.write_response_header(Box::new(head)).await.is_err() {
        return false;
    }
    // A socket may be quiet for as long as it likes; pings tell whether anybody is there.
    session.set_read_timeout(None);
    let (out, outgoing) = mpsc::channel(OUTGOING);
    let stay = Stay::new(&edge.drain, &edge.gateway, &door.credential).of(&principal, &door.route);
    let held = Held(Conversation::new(&edge.gateway, door, out, &edge.drain));
    let mut framing = Framing::new(edge.limits.body_bytes);
    let (code, reason) = converse(session, &held.0, outgoing, &mut framing, &stay).await;
    part(session, &mut framing, code, reason).await;
    drop(held);
    drop(slot);
    false
}

type Ending = (Option<CloseCode>, &'static str);

/// Until one of the two has had enough. A code is for the client to hear; without one it is gone or has said goodbye.
async fn converse(
    session: &mut ServerSession,
    conversation: &Arc<Conversation>,
    mut outgoing: mpsc::Receiver<Bytes>,
    framing: &mut Framing,
    stay: &Stay,
) -> Ending {
    let mut over = std::pin::pin!(stay.over());
    let mut pings = interval_at(tokio::time::Instant::now() + PING, PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unanswered = 0;
    loop {
        // Reading may be given up half way and taken up again; a write is always awaited to its end, below.
        tokio::select! {
            said = outgoing.recv() => {
                let Some(said) = said else {
                    return (Some(CloseCode::Normal), "");
                };
                framing.say(said);
                // Those that wait together are written together.
                while let Ok(more) = outgoing.try_recv() {
                    framing.say(more);
                    if framing.is_heavy() {
                        break;
                    }
                }
            }
            read = session.read_request_body() => {
                let Ok(Some(bytes)) = read else {
                    return (None, "");
                };
                unanswered = 0;
                if let Err(ending) = heard(framing, conversation, &bytes) {
                    return ending;
                }
            }
            _ = pings.tick() => {
                if unanswered == UNANSWERED {
                    return (None, "");
                }
                unanswered += 1;
                framing.ping();
            }
            why = &mut over => return match why {
                Over::Draining => (Some(CloseCode::Away), "the gateway is stopping"),
                Over::Revoked => (Some(CloseCode::Policy), "the credential is no longer good"),
                Over::Suspended => (Some(CloseCode::Policy), "this was suspended"),
            },
        }
        if !put(session, framing.written()).await {
            return (None, "");
        }
    }
}

fn heard(framing: &mut Framing, conversation: &Conversation, bytes: &[u8]) -> Result<(), Ending> {
    framing.arrived(bytes);
    loop {
        match framing.next() {
            Heard::Nothing => return Ok(()),
            Heard::Message(text) => {
                let full = (Some(CloseCode::Policy), "too many messages at once");
                conversation.take(text).map_err(|_| full)?;
            }
            Heard::Goodbye => return Err((None, "")),
            Heard::Wrong(code, reason) => return Err((Some(code), reason)),
        }
    }
}

/// Says why, and gives the client a moment to read it before the connection goes.
async fn part(session: &mut ServerSession, framing: &mut Framing, code: Option<CloseCode>, reason: &'static str) {
    if let Some(code) = code {
        framing.close(code, reason);
    }
    if !put(session, framing.written()).await || code.is_none() {
        return;
    }
    let goodbye = async { while let Ok(Some(_)) = session.read_request_body().await {} };
    let _ = timeout(FAREWELL, goodbye).await;
}

async fn put(session: &mut ServerSession, bytes: Bytes) -> bool {
    bytes.is_empty() || session.response_duplex_vec(vec![HttpTask::UpgradedBody(Some(bytes), false)]).await.is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    const GOOD: [(&str, &str); 4] = [
        ("upgrade", "websocket"),
        ("connection", "keep-alive, Upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    fn headers(changed: Option<(&str, &str)>) -> HeaderMap {
        let kept = GOOD.into_iter().filter(|(name, _)| changed.is_none_or(|(other, _)| *name != other));
        let all = kept.chain(changed.filter(|(_, value)| !value.is_empty()));
        all.map(|(name, value)| (name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_a_whole_upgrade_becomes_a_socket() {
        let upgrade = Upgrade::of(&Method::GET, &headers(None), true).ok().unwrap();
        let head = upgrade.accepted().unwrap();
        let accept = head.headers.get("sec-websocket-accept").unwrap();
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "the example of RFC 6455");
        assert!(head.headers.get("sec-websocket-protocol").is_none(), "nothing was offered");
        let offered = headers(Some(("sec-websocket-protocol", "chat, mcp")));
        assert!(Upgrade::of(&Method::GET, &offered, true).is_ok_and(|upgrade| upgrade.subprotocol));
        for (changed, status) in [
            (("upgrade", ""), 426),
            (("upgrade", "h2c"), 426),
            (("connection", "close"), 426),
            (("sec-websocket-version", "8"), 426),
            (("sec-websocket-key", "short"), 400),
        ] {
            let refused = Upgrade::of(&Method::GET, &headers(Some(changed)), true).err().map(|(status, _)| status);
            assert_eq!(refused, Some(status), "{changed:?}");
        }
        assert!(Upgrade::of(&Method::POST, &headers(None), true).is_err_and(|(status, _)| status == 405));
        assert!(Upgrade::of(&Method::GET, &headers(None), false).is_err_and(|(status, _)| status == 426), "HTTP/2");
    }
}
