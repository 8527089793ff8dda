//! The HTTP adapter against a server that answers byte by byte what it is told, and keeps what it was asked.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use gateway_core::ports::{Answered, Content, StreamItem, Upstream, UpstreamError};
use gateway_core::{Ask, Route};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::testing::{Client, next, one, space, stream};

/// What is written for one request, in pieces; an empty piece closes the connection, `b"..."` waits for ever.
type Script = Vec<Vec<u8>>;

struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
    /// Connections that were opened, and those that have ended.
    opened: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl Server {
    async fn start(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?x=1", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let scripts: Arc<Mutex<VecDeque<Script>>> = Arc::new(Mutex::new(scripts.into()));
        let kept = Arc::clone(&requests);
        let (opened, ended): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let (starts, ends) = (Arc::clone(&opened), Arc::clone(&ended));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                starts.fetch_add(1, Ordering::SeqCst);
                let (served, ends) = (serve(socket, Arc::clone(&scripts), Arc::clone(&kept)), Arc::clone(&ends));
                tokio::spawn(async move {
                    served.await;
                    ends.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self { url, requests, opened, ended }
    }

    fn upstream(&self) -> HttpUpstream {
        self.upstream_with(|_| {})
    }

    fn upstream_with(&self, change: impl FnOnce(&mut HttpUpstreamConfig)) -> HttpUpstream {
        let mut config = HttpUpstreamConfig::new(space("notes"), self.url.as_str());
        change(&mut config);
        HttpUpstream::new(&config).unwrap()
    }

    async fn has_ended(&self, connections: usize) {
        while self.ended.load(Ordering::SeqCst) < connections {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn request(&self, place: usize) -> String {
        self.requests.lock().unwrap()[place].clone()
    }
}

async fn serve(mut socket: TcpStream, scripts: Arc<Mutex<VecDeque<Script>>>, kept: Arc<Mutex<Vec<String>>>) {
    loop {
        let mut request = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&request).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length =
                    head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                if body.len() >= length.unwrap_or(0usize) {
                    break;
                }
            }
            if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
                return;
            }
        }
        kept.lock().unwrap().push(String::from_utf8(request).unwrap());
        let Some(script) = scripts.lock().unwrap().pop_front() else { return };
        for piece in script {
            match piece.as_slice() {
                b"" => return,
                // For ever, or until the other side has had enough.
                b"..." => while socket.read_buf(&mut Vec::new()).await.is_ok_and(|bytes| bytes > 0) {},
                piece => socket.write_all(piece).await.unwrap(),
            }
            socket.flush().await.unwrap();
            tokio::task::yield_now().await;
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> Script {
    vec![format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()]
}

fn json_answer(body: &str) -> Script {
    answer("200 OK", "content-type: application/json\r\n", body)
}

const SSE_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn notes() -> Route {
    Route::One(space("notes"))
}

async fn ask(upstream: &HttpUpstream, client: &Client) -> Result<Answered, UpstreamError> {
    upstream.call(&client.request(1, "tools/list", json!({}))).await
}

#[tokio::test]
async fn asks_in_the_clothes_of_each_era() {
    let ok = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let server = Server::start(vec![json_answer(ok), json_answer(ok), json_answer(ok)]).await;
    let upstream = server.upstream_with(|config| config.headers = vec![("Authorization".into(), "Bearer ours".into())]);
    let mut legacy = Client::legacy(notes());
    legacy.carried = vec![
        ("traceparent".into(), "00-1".into()),
        ("Authorization".into(), "Bearer theirs".into()),
        ("cookie".into(), "c=1".into()),
        ("mcp-param-x".into(), "1".into()),
    ];
    let initialize = legacy.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    upstream.call(&initialize).await.unwrap();
    legacy.session = Some("up-1".into());
    ask(&upstream, &legacy).await.unwrap();
    let modern = Client { carried: legacy.carried.clone(), ..Client::modern(notes()) };
    upstream.call(&modern.call_tool(1, "notes/sörch", json!({ "arguments": { "x": 1 } }))).await.unwrap();

    let host = server.url.trim_start_matches("http://").trim_end_matches("/mcp?x=1").to_owned();
    for place in 0..3 {
        let request = server.request(place).to_lowercase();
        assert!(request.starts_with("post /mcp?x=1 http/1.1\r\n"), "{request}");
        for expected in ["authorization: bearer ours", "content-type: application/json", "traceparent: 00-1"] {
            assert!(request.contains(expected), "{expected} in {request}");
        }
        assert!(request.contains("accept: application/json, text/event-stream\r\n"));
        assert!(request.contains(&format!("host: {host}\r\n")));
        for forbidden in ["theirs", "cookie", "origin:", "forwarded"] {
            assert!(!request.contains(forbidden), "{forbidden} in {request}");
        }
    }
    let (first, second, third) = (server.request(0), server.request(1), server.request(2));
    assert!(!first.contains("mcp-protocol-version"), "{first}");
    assert!(
        second.contains("mcp-protocol-version: 2025-11-25\r\n") && second.contains("mcp-session-id: up-1\r\n"),
        "{second}"
    );
    assert!(!second.contains("mcp-param-x") && !second.contains("mcp-method"), "{second}");
    for expected in
        ["mcp-protocol-version: 2026-07-28", "mcp-method: tools/call", "mcp-name: =?base64?", "mcp-param-x: 1"]
    {
        assert!(third.contains(expected), "{expected} in {third}");
    }
    assert!(!third.contains("mcp-session-id"), "{third}");
}

#[tokio::test]
async fn reads_one_message_and_the_session_id() {
    let script = answer(
        "200 OK",
        "Content-Type: application/json; charset=utf-8\r\nMcp-Session-Id: abc\r\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
    );
    let server = Server::start(vec![script]).await;
    let answered = ask(&server.upstream(), &Client::legacy(notes())).await.unwrap();
    assert_eq!(
        (answered.status, answered.session.as_ref().map(|opened| (opened.id.as_str(), opened.pinned))),
        (200, Some(("abc", false)))
    );
    assert_eq!(one(&answered)["result"], json!({ "tools": [] }));
}

#[tokio::test]
async fn tells_messages_from_other_words() {
    for (script, expected) in [
        (answer("202 Accepted", "", ""), "202 nothing"),
        (answer("200 OK", "content-type: application/json\r\n", ""), "200 nothing"),
        (answer("405 Method Not Allowed", "", ""), "405 nothing"),
        (
            answer("401 Unauthorized", "content-type: application/json\r\n", r#"{"error":"invalid_token"}"#),
            "401 foreign",
        ),
        (answer("502 Bad Gateway", "content-type: text/html\r\n", "<h1>no</h1>"), "502 foreign"),
        (answer("500 Oops", "content-type: text/event-stream\r\n", "data: {}\n\n"), "500 foreign"),
        (
            answer(
                "400 Bad",
                "content-type: application/json\r\n",
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#,
            ),
            "400 one",
        ),
        (json_answer(r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#), "not mcp"),
        (json_answer(r#"{"hello":1}"#), "not mcp"),
        (json_answer(r#"{"jsonrpc":"2.0","id":1,"result":{"a":[[[[[]]]]]}}"#), "not mcp"),
        (json_answer(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(2_000))), "not mcp"),
        (
            vec![
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
                chunk(&[b' '; 600]),
                chunk(&[b' '; 600]),
            ],
            "not mcp",
        ),
    ] {
        let server = Server::start(vec![script]).await;
        let upstream = server.upstream_with(|config| {
            config.max_body = 1_000;
            config.max_depth = 5;
        });
        let found = match ask(&upstream, &Client::legacy(notes())).await {
            Ok(answered) => format!(
                "{} {}",
                answered.status,
                match answered.content {
                    Content::Nothing => "nothing",
                    Content::One(_) => "one",
                    Content::Stream(_) => "stream",
                    Content::Foreign { .. } => "foreign",
                }
            ),
            Err(UpstreamError::NotMcp { .. }) => "not mcp".into(),
            Err(other) => other.to_string(),
        };
        assert_eq!(found, expected);
    }
}

const EVENTS: &str = concat!(
    "id: 1\ndata:\n\n: keep-alive\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\r\n\r\n",
    "event: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\n",
    "data: \"id\":1,\"result\":{\"text\":\"gr\u{fc}n\"}}\n\n",
    "data: {\"cut off"
);

async fn shape(mut stream: crate::testing::Events) -> Vec<String> {
    let mut shape = Vec::new();
    while let Some(item) = stream.next().await {
        shape.push(match item {
            Ok(StreamItem::Comment(text)) => format!("comment{}", String::from_utf8_lossy(&text)),
            Ok(StreamItem::Event { frame, reply }) => {
                format!("{:?} {:?}", frame.id, reply.map(|reply| reply.method().unwrap_or("answer").to_owned()))
            }
            Err(UpstreamError::NotMcp { .. }) => "not mcp".into(),
            Err(UpstreamError::Unreachable(..)) => "broken".into(),
            Err(other) => other.to_string(),
        });
    }
    shape
}

#[tokio::test]
async fn streams_events_however_they_are_cut() {
    let whole: Script = vec![[SSE_HEAD, &chunk(EVENTS.as_bytes()), b"0\r\n\r\n"].concat()];
    let mut bytewise: Script = vec![SSE_HEAD.to_vec()];
    bytewise.extend(EVENTS.as_bytes().chunks(1).map(chunk));
    bytewise.push(b"0\r\n\r\n".to_vec());
    for script in [whole, bytewise] {
        let server = Server::start(vec![script]).await;
        let answered = ask(&server.upstream(), &Client::legacy(notes())).await.unwrap();
        let expected = [
            "Some(\"1\") None",
            "comment keep-alive",
            "None Some(\"notifications/progress\")",
            "Some(\"2\") Some(\"answer\")",
        ];
        assert_eq!(shape(stream(answered)).await, expected);
    }
}

#[tokio::test]
async fn gives_events_out_before_the_stream_ends() {
    let first = chunk(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
    let server = Server::start(vec![vec![SSE_HEAD.to_vec(), first, b"...".to_vec()]]).await;
    let mut events = stream(ask(&server.upstream(), &Client::legacy(notes())).await.unwrap());
    assert_eq!(next(&mut events).await.unwrap().unwrap()["method"], "notifications/message");
}

#[tokio::test]
async fn a_stream_that_breaks_says_so_once() {
    let good = "data: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n";
    for (rest, end) in [
        (vec![chunk(good.as_bytes()), Vec::new()], "broken"),
        (vec![chunk(good.as_bytes()), chunk(b"data: nonsense\n\n"), chunk(good.as_bytes())], "not mcp"),
        (vec![chunk(good.as_bytes()), chunk(format!("data: {}\n\n", "x".repeat(5_000)).as_bytes())], "not mcp"),
    ] {
        let mut script = vec![SSE_HEAD.to_vec()];
        script.extend(rest);
        let server = Server::start(vec![script]).await;
        let upstream = server.upstream_with(|config| config.max_event_bytes = 1_000);
        let answered = ask(&upstream, &Client::legacy(notes())).await.unwrap();
        assert_eq!(shape(stream(answered)).await, ["None Some(\"m\")", end]);
    }
}

#[tokio::test]
async fn listens_and_ends_sessions() {
    let server = Server::start(vec![vec![[SSE_HEAD, b"0\r\n\r\n"].concat()], answer("200 OK", "", "")]).await;
    let upstream = server.upstream();
    let client = Client { session: Some("s".into()), ..Client::legacy(notes()) };
    let answered = upstream.call(&client.permit(Ask::Listen { last_event_id: Some("e-9".into()) })).await.unwrap();
    assert!(shape(stream(answered)).await.is_empty());
    upstream.call(&client.permit(Ask::EndSession)).await.unwrap();
    let (listened, ended) = (server.request(0), server.request(1));
    assert!(listened.starts_with("GET /mcp?x=1 ") && listened.contains("last-event-id: e-9\r\n"), "{listened}");
    assert!(
        listened.contains("accept: text/event-stream\r\n") && listened.contains("mcp-session-id: s\r\n"),
        "{listened}"
    );
    assert!(ended.starts_with("DELETE /mcp?x=1 ") && ended.contains("mcp-session-id: s\r\n"), "{ended}");
}

#[tokio::test]
async fn a_404_in_a_session_means_the_session_is_gone() {
    let lost = || {
        answer(
            "404 Not Found",
            "content-type: application/json\r\n",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
        )
    };
    let server = Server::start(vec![lost(), lost(), lost()]).await;
    let upstream = server.upstream();
    let client = Client { session: Some("s".into()), ..Client::legacy(notes()) };
    assert!(matches!(ask(&upstream, &client).await, Err(UpstreamError::SessionGone(_))));
    assert_eq!(ask(&upstream, &Client::legacy(notes())).await.unwrap().status, 404);
    assert_eq!(ask(&upstream, &Client::modern(notes())).await.unwrap().status, 404);
}

#[tokio::test]
async fn does_not_wait_for_ever() {
    let server = Server::start(vec![vec![b"...".to_vec()], vec![b"HTTP/1.1 200 OK\r\n".to_vec(), Vec::new()]]).await;
    let upstream = server.upstream_with(|config| config.request_timeout = Duration::from_millis(500));
    assert!(matches!(ask(&upstream, &Client::legacy(notes())).await, Err(UpstreamError::TimedOut(_))));
    assert!(matches!(ask(&upstream, &Client::legacy(notes())).await, Err(UpstreamError::Unreachable(..))));
    assert_eq!(server.requests.lock().unwrap().len(), 2, "nothing that was sent is sent again");
    let nobody = HttpUpstream::new(&HttpUpstreamConfig::new(space("notes"), "http://127.0.0.1:1/mcp")).unwrap();
    assert!(matches!(ask(&nobody, &Client::legacy(notes())).await, Err(UpstreamError::Unreachable(..))));
}

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

#[tokio::test]
async fn calls_share_a_connection_that_stays_good() {
    let mut closing = json_answer(RESULT);
    closing.push(Vec::new());
    let accepted = answer("202 Accepted", "", "");
    let server = Server::start(vec![json_answer(RESULT), accepted, closing, json_answer(RESULT)]).await;
    let upstream = server.upstream();
    let client = Client::legacy(notes());
    for (place, connections) in [1, 1, 1, 2].into_iter().enumerate() {
        let status = ask(&upstream, &client).await.unwrap().status;
        assert_eq!(status, if place == 1 { 202 } else { 200 });
        assert_eq!(server.opened.load(Ordering::SeqCst), connections, "call {place}");
        if place == 2 {
            // The upstream hangs up while nobody asks anything: the next call finds out and opens another.
            server.has_ended(1).await;
        }
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_closes_its_connection() {
    let stream = vec![SSE_HEAD.to_vec(), chunk(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n"), b"...".to_vec()];
    let server = Server::start(vec![vec![b"...".to_vec()], stream]).await;
    let upstream = server.upstream();
    let client = Client::legacy(notes());
    let given_up = tokio::time::timeout(Duration::from_millis(100), ask(&upstream, &client)).await;
    assert!(given_up.is_err());
    server.has_ended(1).await;
    drop(ask(&upstream, &client).await.unwrap());
    server.has_ended(2).await;
}

#[test]
fn refuses_what_an_operator_cannot_mean() {
    let config = |url: &str, header: Option<(&str, &str)>| HttpUpstreamConfig {
        headers: header.map(|(name, value)| (name.into(), value.into())).into_iter().collect(),
        ..HttpUpstreamConfig::new(space("notes"), url)
    };
    for (url, header, expected) in [
        ("http://localhost:1/mcp", None, "fine"),
        ("https://example.com/mcp", Some(("x-api-key", "k")), "fine"),
        ("ftp://example.com/", None, "`ftp://example.com/` is not an http or https URL"),
        ("example.com/mcp", None, "`example.com/mcp` is not an http or https URL"),
        ("/mcp", None, "`/mcp` is not an http or https URL"),
        (
            "http://me:secret@example.com/",
            None,
            "`http://…@example.com/` may not carry a user or password; put the credential into `headers`",
        ),
        ("http://localhost", Some(("x y", "k")), "`x y` is not a header name"),
        ("http://localhost", Some(("x", "a\nb")), "the value of header `x` holds characters a header may not carry"),
        ("http://localhost", Some(("Mcp-Session-Id", "k")), "header `Mcp-Session-Id` is set by the gateway itself"),
        ("http://localhost", Some(("Host", "k")), "header `Host` is set by the gateway itself"),
    ] {
        let found = HttpUpstream::new(&config(url, header)).err().map_or("fine".into(), |error| error.to_string());
        assert_eq!(found, expected, "{url}");
    }
}
