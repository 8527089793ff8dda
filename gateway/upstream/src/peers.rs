//! The other nodes on the same store, reached over HTTP at the address their sessions name.
//!
//! A peer judges and records what it is brought; here its answer is only passed on. Who is asking travels sealed among the
//! headers (`gateway_core::crossing`): whether a node of ours still lives at that address is not known before it has answered.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use gateway_core::BoxError;
use gateway_core::crossing::CARRIED;
use gateway_core::home::Home;
use gateway_core::ports::{Carried, PeerError, Peers};
use gateway_core::refusal::{Answer, AnswerBody};
use gateway_protocol::json::DEFAULT_MAX_DEPTH;
use gateway_protocol::{Body, Id, Message, RpcError, code, message, sse};
use http::Method;
use http::uri::PathAndQuery;
use moka::sync::Cache;

use crate::http::HttpUpstreamError;
use crate::http::carrier::{Carried as Response, Carrier};
use crate::http::client::{Authorities, Unsent};

/// A node that does not take a connection for this long is gone.
const CONNECT: Duration = Duration::from_secs(2);
const MOST_PEERS: u64 = 256;
/// A node's stream that says nothing at all for this long is dead: it would say that it is still there every few seconds.
const SILENCE: Duration = Duration::from_secs(60);
/// Said by a node that is not the one that was meant: another process has its address now.
const MISDIRECTED: u16 = 421;
/// What of a peer's answer is for the client, and the proof that it is a peer's.
const PASSED_ON: [&str; 5] = ["mcp-session-id", "www-authenticate", "retry-after", "allow", CARRIED];

pub struct HttpPeers {
    known: Cache<String, Arc<Carrier>>,
    authorities: Authorities,
    /// Until an answer begins, and until one that is no stream is whole. A node gives up on an upstream before that.
    longest: Duration,
}

impl HttpPeers {
    /// Certificates of nodes are checked against the system's authorities.
    pub fn new(longest: Duration) -> Self {
        Self { known: Cache::new(MOST_PEERS), authorities: Authorities::OfTheSystem, longest }
    }

    /// The same with these authorities, the text of a PEM file, and no others.
    pub fn trusting(pem: &[u8], longest: Duration) -> Result<Self, HttpUpstreamError> {
        Ok(Self { authorities: Authorities::from_pem(pem)?, ..Self::new(longest) })
    }

    fn carrier(&self, at: &str) -> Result<Arc<Carrier>, BoxError> {
        if let Some(known) = self.known.get(at) {
            return Ok(known);
        }
        let carrier = Arc::new(Carrier::trusting(&self.authorities, at, &[], CONNECT)?);
        self.known.insert(at.to_owned(), Arc::clone(&carrier));
        Ok(carrier)
    }

    async fn send(&self, at: &str, request: &Carried) -> Result<Response, PeerError> {
        let carrier = self.carrier(at).map_err(PeerError::Unreachable)?;
        let base = carrier.outgoing().url().path().trim_end_matches('/');
        let unaddressed = |error: http::Error| PeerError::Unreachable(error.into());
        let target =
            PathAndQuery::try_from(format!("{base}{}", request.path)).map_err(|error| unaddressed(error.into()))?;
        let headers: Vec<(&str, &str)> =
            request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|error| unaddressed(error.into()))?;
        match self.in_time(carrier.send(method, Some(&target), &headers, request.body.clone())).await {
            Err(error) if error.is::<Unsent>() => Err(PeerError::Unreachable(error)),
            // What only listens does nothing that could be done twice.
            Err(error) if request.method == "GET" => Err(PeerError::Unreachable(error)),
            sent => sent.map_err(PeerError::Broken),
        }
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
        let late = |_| format!("no answer in {:?}", self.longest);
        tokio::time::timeout(self.longest, work).await.map_err(late)?
    }
}

#[async_trait]
impl Peers for HttpPeers {
    async fn carry(&self, to: &Home, request: Carried) -> Result<Answer, PeerError> {
        let Some(at) = &to.at else {
            return Err(PeerError::Gone);
        };
        let response = self.send(at, &request).await?;
        let status = response.status();
        if status == MISDIRECTED {
            return Err(PeerError::Gone);
        }
        let header = |name: &'static str| Some((name, response.header(name)?.to_owned()));
        let headers = PASSED_ON.into_iter().filter_map(header).collect();
        let body = if response.is_stream() {
            AnswerBody::Events(whole_stream(response.events(), asked(&request)))
        } else {
            let whole = self.in_time(response.whole()).await.map_err(PeerError::Broken)?;
            if whole.is_empty() { AnswerBody::Empty } else { AnswerBody::Json(whole) }
        };
        Ok(Answer { status, headers, body })
    }
}

fn asked(request: &Carried) -> Option<Id> {
    match message::parse(&request.body, DEFAULT_MAX_DEPTH) {
        Ok(Body::One(Message::Request(request))) => Some(request.id),
        _ => None,
    }
}

/// A peer that goes away in the middle is an error of the call, not silence.
fn whole_stream(
    frames: BoxStream<'static, Result<sse::Frame, BoxError>>,
    id: Option<Id>,
) -> BoxStream<'static, sse::Frame> {
    let heard = stream::unfold(Some(frames), |frames| async {
        let mut frames = frames?;
        match tokio::time::timeout(SILENCE, frames.next()).await {
            Ok(frame) => Some((frame?, Some(frames))),
            Err(_) => Some((Err(format!("silent for {SILENCE:?}").into()), None)),
        }
    });
    let frames = heard.filter_map(move |frame| {
        let id = id.clone();
        async move {
            match frame {
                Ok(frame) => Some(frame),
                Err(error) => {
                    tracing::warn!("a node broke off in the middle of an answer: {error}");
                    let told = RpcError::new(code::INTERNAL, "the node that held this is gone; initialise again");
                    Some(sse::Frame::Event(sse::Event::message(Message::error(Some(id?), told).to_vec())))
                }
            }
        }
    });
    frames.boxed()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use bytes::Bytes;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use uuid::Uuid;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A node that says this to one request, and what it was asked.
    async fn node(answer: &'static str) -> (Home, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = Some(format!("http://{}/base", listener.local_addr().unwrap()));
        let asked = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut read = vec![0; 4096];
            let bytes = socket.read(&mut read).await.unwrap();
            socket.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(read.get(..bytes).unwrap()).into_owned()
        });
        (Home { node: Uuid::nil(), at }, asked)
    }

    fn request() -> Carried {
        Carried {
            method: "POST",
            path: "/notes/mcp?category=a".into(),
            body: Bytes::from_static(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#),
            headers: vec![("mcp-session-id".into(), "sealed".into())],
        }
    }

    #[tokio::test]
    async fn a_request_is_brought_as_it_was_and_its_answer_passed_on() {
        let (home, asked) =
            node("HTTP/1.1 404 Not Found\r\nretry-after: 2\r\nset-cookie: no\r\nportreeve-carried: proof\r\ncontent-length: 2\r\n\r\n{}").await;
        let answer = HttpPeers::new(PATIENCE).carry(&home, request()).await.unwrap();
        let passed_on = vec![("retry-after", "2".to_owned()), (CARRIED, "proof".to_owned())];
        assert_eq!((answer.status, answer.headers), (404, passed_on));
        assert!(matches!(answer.body, AnswerBody::Json(json) if json == "{}"));
        let asked = asked.await.unwrap();
        assert!(asked.starts_with("POST /base/notes/mcp?category=a HTTP/1.1\r\n"), "{asked}");
        for part in ["mcp-session-id: sealed", "\"id\":7"] {
            assert!(asked.contains(part), "{part}: {asked}");
        }
    }

    #[tokio::test]
    async fn a_stream_that_breaks_off_ends_with_an_error() {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let cut: &'static str = Box::leak(format!("{head}a\r\ndata: {{}}\n\n\r\n5\r\nda").into_boxed_str());
        let (home, _asked) = node(cut).await;
        let answer = HttpPeers::new(PATIENCE).carry(&home, request()).await.unwrap();
        let AnswerBody::Events(events) = answer.body else { panic!("a stream") };
        let data: Vec<_> = events
            .map(|frame| match frame {
                sse::Frame::Event(event) => String::from_utf8_lossy(&event.data).into_owned(),
                sse::Frame::Comment(_) => String::new(),
            })
            .collect()
            .await;
        assert_eq!(data.first().map(String::as_str), Some("{}"));
        assert!(data.len() == 2 && data.last().unwrap().contains("\"id\":7"), "{data:?}");
    }

    #[tokio::test]
    async fn what_a_node_took_in_and_did_not_answer_is_broken_and_not_gone() {
        let cut = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{";
        for said in ["", cut] {
            let (home, asked) = node(said).await;
            assert!(
                matches!(HttpPeers::new(PATIENCE).carry(&home, request()).await, Err(PeerError::Broken(_))),
                "{said}"
            );
            assert!(asked.await.unwrap().contains("\"id\":7"));
        }
        let (home, _asked) = node("").await;
        let listening = Carried { method: "GET", body: Bytes::new(), ..request() };
        let broken = HttpPeers::new(PATIENCE).carry(&home, listening).await;
        assert!(matches!(broken, Err(PeerError::Unreachable(_))), "nothing was done that could be done twice");
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_takes_too_long_or_falls_silent_is_not_waited_for() {
        // It has the connection and never says a word.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let home = Home { node: Uuid::nil(), at: Some(format!("http://{}", listener.local_addr().unwrap())) };
        let late = HttpPeers::new(PATIENCE).carry(&home, request()).await;
        assert!(matches!(late, Err(PeerError::Broken(_))));
        let mut events = whole_stream(stream::pending().boxed(), Some(7.into()));
        let Some(sse::Frame::Event(event)) = events.next().await else { panic!("an event") };
        assert!(String::from_utf8_lossy(&event.data).contains("is gone"));
        assert!(events.next().await.is_none());
    }

    #[test]
    fn an_authority_must_be_one() {
        for pem in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert!(HttpPeers::trusting(pem.as_bytes(), PATIENCE).is_err(), "{pem}");
        }
    }

    #[tokio::test]
    async fn a_node_that_is_another_or_nobody_is_gone() {
        let (home, _asked) = node("HTTP/1.1 421 Misdirected Request\r\ncontent-length: 0\r\n\r\n").await;
        assert!(matches!(HttpPeers::new(PATIENCE).carry(&home, request()).await, Err(PeerError::Gone)));
        let nowhere = Home { node: Uuid::nil(), at: None };
        assert!(matches!(HttpPeers::new(PATIENCE).carry(&nowhere, request()).await, Err(PeerError::Gone)));
        let nobody = Home { node: Uuid::nil(), at: Some("http://127.0.0.1:9".into()) };
        assert!(matches!(HttpPeers::new(PATIENCE).carry(&nobody, request()).await, Err(PeerError::Unreachable(_))));
    }
}
