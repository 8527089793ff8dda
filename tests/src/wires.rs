//! An agent on the wires beside Streamable HTTP: a WebSocket, and the HTTP+SSE transport of 2024-11-05.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::Value;
use tungstenite::client::IntoClientRequest;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::{Message, WebSocket};

use crate::http::pieces;
use crate::world::Agent;

const PATIENCE: Duration = Duration::from_secs(20);

/// A WebSocket, used without a runtime: stories with one must have several threads.
pub struct Socket {
    inner: WebSocket<TcpStream>,
}

/// The stream of the HTTP+SSE transport, and where its messages go.
pub struct EventStream {
    agent: Agent,
    pieces: BoxStream<'static, Bytes>,
    text: String,
    pub endpoint: String,
}

impl Agent {
    /// A refused handshake gives its status.
    pub fn ws(&self, path: &str, headers: &[(&'static str, &str)]) -> Result<Socket, u16> {
        let address = self.base.trim_start_matches("http://").to_owned();
        let mut request = format!("ws://{address}{path}").into_client_request().expect("a URL");
        for (name, value) in [("x-api-key", self.key.as_str())].iter().chain(headers) {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        let stream = TcpStream::connect(address).expect("the gateway");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        match tungstenite::client(request, stream) {
            Ok((inner, _)) => Ok(Socket { inner }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(refused))) => {
                Err(refused.status().as_u16())
            }
            Err(other) => panic!("no WebSocket: {other}"),
        }
    }

    pub async fn sse(&self, path: &str) -> EventStream {
        let headers = [("x-api-key", self.key.as_str()), ("accept", "text/event-stream")];
        let response = self.client.open("GET", &format!("{}{path}", self.base), &headers, Bytes::new()).await;
        assert_eq!(response.status(), 200);
        let pieces = pieces(response).boxed();
        let mut stream = EventStream { agent: self.clone(), pieces, text: String::new(), endpoint: String::new() };
        let (event, data) = stream.event().await.expect("the first event");
        assert_eq!(event, "endpoint");
        stream.endpoint = data;
        stream
    }
}

impl Socket {
    pub fn send(&mut self, message: &Value) {
        self.inner.send(Message::text(message.to_string())).expect("sent");
    }

    pub fn send_binary(&mut self, message: &Value) {
        self.inner.send(Message::binary(message.to_string().into_bytes())).expect("sent");
    }

    /// The message in frames of so many bytes, with a ping between each two.
    pub fn send_in_pieces(&mut self, message: &Value, size: usize) {
        let bytes = message.to_string().into_bytes();
        let count = bytes.chunks(size).count();
        for (place, piece) in bytes.chunks(size).enumerate() {
            let kind = if place == 0 { Data::Text } else { Data::Continue };
            let frame = Frame::message(piece.to_vec(), OpCode::Data(kind), place + 1 == count);
            self.inner.send(Message::Frame(frame)).expect("sent");
            self.inner.send(Message::Ping(Bytes::new())).expect("sent");
        }
    }

    /// Bytes that are no frame of a proper client.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.inner.get_mut().write_all(bytes).expect("sent");
    }

    /// The next message, or the code with which the gateway closed.
    pub fn hear(&mut self) -> Result<Value, u16> {
        loop {
            match self.inner.read() {
                Ok(Message::Text(text)) => return Ok(serde_json::from_str(&text).expect("JSON")),
                Ok(Message::Close(frame)) => return Err(frame.map_or(1005, |frame| frame.code.into())),
                Ok(_) => {}
                Err(error) => panic!("nothing to read: {error}"),
            }
        }
    }

    /// The answer to this request; what comes before it is passed over.
    pub fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        loop {
            let heard = self.hear().expect("an answer");
            if heard["id"] == message["id"] && heard.get("method").is_none() {
                return heard;
            }
        }
    }

    pub fn close(mut self) {
        let _ = self.inner.close(None);
        let _ = self.inner.flush();
    }
}

impl EventStream {
    /// `None`: the stream has ended.
    pub async fn event(&mut self) -> Option<(String, String)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                let found = field("data: ").map(|data| (field("event: ").unwrap_or_default(), data));
                self.text = rest.to_owned();
                if found.is_some() {
                    return found;
                }
                continue;
            }
            let piece = tokio::time::timeout(PATIENCE, self.pieces.next()).await.expect("an event in time")?;
            self.text.push_str(std::str::from_utf8(&piece).expect("text"));
        }
    }

    pub async fn send(&self, message: &Value) -> u16 {
        self.send_as(&self.agent, message).await
    }

    /// Somebody who learned the address.
    pub async fn send_as(&self, agent: &Agent, message: &Value) -> u16 {
        let headers = [("x-api-key", agent.key.as_str())];
        agent.client.post(&format!("{}{}", agent.base, self.endpoint), &headers, message).await.status
    }

    pub async fn hear(&mut self) -> Value {
        let (event, data) = self.event().await.expect("a message");
        assert_eq!(event, "message");
        serde_json::from_str(&data).expect("JSON")
    }

    pub async fn ask(&mut self, message: &Value) -> Value {
        assert_eq!(self.send(message).await, 202);
        loop {
            let heard = self.hear().await;
            if heard["id"] == message["id"] && heard.get("method").is_none() {
                return heard;
            }
        }
    }
}
