//! The listeners' bounds: everything has a size and a time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

async fn a_world() -> (World, Stub) {
    let stub = Stub::start(&["read"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .set("limits", json!({ "agent_per_minute": 0, "body_bytes": "64KiB", "header_seconds": 1, "body_seconds": 1, "idle_seconds": 1 }))
        .start();
    (world, stub)
}

/// Sends raw bytes and reads what comes back until the other side closes.
fn raw(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(head: &str, body: &str) -> String {
    format!(
        "POST /crm/mcp HTTP/1.1\r\n{head}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_hosts_and_origins_are_turned_away() {
    let (world, stub) = a_world().await;
    let agent = world.agent("a-1", "A1");
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "read" } }).to_string();
    let key = format!("x-api-key: {}\r\n", agent.key);
    for (head, status) in [
        (format!("host: 127.0.0.1:{}\r\n{key}", world.port), "200"),
        (format!("host: localhost\r\norigin: http://localhost:3000\r\n{key}"), "200"),
        (format!("host: evil.example\r\n{key}"), "403"),
        (format!("host: localhost\r\norigin: https://evil.example\r\n{key}"), "403"),
        (format!("host: localhost\r\norigin: null\r\n{key}"), "403"),
    ] {
        let answer = raw(world.port, post(&head, &call).as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {answer}");
    }
    assert_eq!(stub.calls(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_or_too_slow_is_cut_off() {
    let (world, stub) = a_world().await;
    let agent = world.agent("a-1", "A1");
    let key = format!("host: localhost\r\nx-api-key: {}\r\n", agent.key);
    let large = raw(world.port, post(&key, &" ".repeat(70_000)).as_bytes());
    assert!(large.starts_with("HTTP/1.1 413"), "{large}");
    let headers = raw(world.port, post(&format!("{key}x-filler: {}\r\n", "x".repeat(11_000)), "{}").as_bytes());
    assert!(headers.starts_with("HTTP/1.1 431"), "{headers}");
    let kind = raw(world.port, format!("POST /crm/mcp HTTP/1.1\r\n{key}content-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}").as_bytes());
    assert!(kind.starts_with("HTTP/1.1 415"), "{kind}");

    let began = Instant::now();
    let slow_head = raw(world.port, b"POST /crm/mcp HTTP/1.1\r\nhost: localhost\r\n");
    assert!(slow_head.is_empty() || slow_head.starts_with("HTTP/1.1 4"), "{slow_head}");
    let slow_body = raw(
        world.port,
        format!("POST /crm/mcp HTTP/1.1\r\n{key}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{")
            .as_bytes(),
    );
    assert!(slow_body.starts_with("HTTP/1.1 408"), "{slow_body}");
    assert!(began.elapsed() < Duration::from_secs(15), "a stalled client does not hold a place");
    assert_eq!(stub.seen().len(), 0);
    assert_eq!(agent.call("crm/read", json!({})).await.status, 200, "and nobody else noticed");
}

/// The preface of HTTP/2 and its first frame, empty settings; a head that never comes would be next.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_asks_nothing_is_closed() {
    let (world, _stub) = a_world().await;
    for port in [world.port, world.console_port] {
        for said in [b"".as_slice(), b"PRI * HTTP", b"GET / HTTP", b"POST /crm/mcp HTTP/1.1\r\nhost: ", PREFACE] {
            let began = Instant::now();
            raw(port, said);
            let (took, said) = (began.elapsed(), String::from_utf8_lossy(said));
            assert!(took < Duration::from_secs(4), "{port} after {said:?}: {took:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_asks_nothing_more_is_closed() {
    let (world, _stub) = a_world().await;
    let kept = Duration::from_millis(900)..Duration::from_secs(4);
    for port in [world.port, world.console_port] {
        let began = Instant::now();
        let answer = raw(port, b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(kept.contains(&began.elapsed()), "{port}: {:?}", began.elapsed());
    }

    let stream = tokio::net::TcpStream::connect(("127.0.0.1", world.port)).await.unwrap();
    let (executor, io) = (hyper_util::rt::TokioExecutor::new(), hyper_util::rt::TokioIo::new(stream));
    let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, io).await.unwrap();
    let closed = tokio::spawn(connection);
    let request = hyper::Request::get(world.url("/health")).body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
    let began = Instant::now();
    // The client stays: it is the gateway that lets go.
    let _ = tokio::time::timeout(Duration::from_secs(10), closed).await.expect("closed").unwrap();
    assert!(kept.contains(&began.elapsed()), "HTTP/2: {:?}", began.elapsed());
    drop(sender);
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_has_the_same_bounds() {
    let (world, _stub) = a_world().await;
    let client: hyper_util::client::legacy::Client<_, http_body_util::Empty<bytes::Bytes>> =
        hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).http2_only(true).build_http();
    for (filler, status) in [(8_000, 200), (11_000, 431), (40_000, 431)] {
        let request = hyper::Request::get(world.url("/health")).header("x-filler", "x".repeat(filler));
        let answer = client.request(request.body(http_body_util::Empty::new()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), status, "{filler}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_says_no_instead_of_hanging_up() {
    let (world, _stub) = a_world().await;
    let head = |more: &str| format!("POST /api/policies/tools HTTP/1.1\r\nhost: localhost\r\n{more}\r\n");
    let large = "x".repeat(1_100_000);
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    for (what, request, status) in [
        ("large", head(&format!("content-length: {}\r\n", large.len())) + &large, "413"),
        ("large by and by", head("transfer-encoding: chunked\r\n") + &chunked, "413"),
        ("slow", head("content-length: 10\r\n") + "{", "408"),
        ("long head", head(&format!("x-filler: {}\r\ncontent-length: 0\r\n", "x".repeat(11_000))), "431"),
        ("elsewhere", head("content-length: 0\r\n").replace("localhost", "evil.example"), "403"),
    ] {
        let answer = raw(world.console_port, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{what}: {answer}");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        let said: serde_json::Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{what}: {answer}"));
        assert!(said["error"].is_string(), "{what}: {answer}");
    }
}

#[tokio::test]
async fn health_and_readiness_are_on_both_listeners() {
    let (world, _stub) = a_world().await;
    for port in [world.port, world.console_port] {
        for path in ["health", "ready"] {
            let answer = world.client.send("GET", &format!("http://127.0.0.1:{port}/{path}"), &[], "").await;
            assert_eq!(answer.status, 200, "{path} on {port}");
        }
    }
    assert_eq!(world.client.send("GET", &world.url("/nothing"), &[], "").await.status, 404);
    let front = world.client.send("GET", &format!("http://127.0.0.1:{}/", world.console_port), &[], "").await;
    assert!(front.text().contains("Portreeve"));
}

/// HTTP/2 without TLS, as a client with prior knowledge speaks it.
#[tokio::test]
async fn http2_is_served_too() {
    let (world, _stub) = a_world().await;
    let agent = world.agent("a-1", "A1");
    let client: hyper_util::client::legacy::Client<_, http_body_util::Full<bytes::Bytes>> =
        hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).http2_only(true).build_http();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "read" } }).to_string();
    let request = hyper::Request::post(world.url("/crm/mcp"))
        .header("content-type", "application/json")
        .header("x-api-key", &agent.key)
        .body(http_body_util::Full::new(call.into()))
        .unwrap();
    let answer = client.request(request).await.unwrap();
    assert_eq!((answer.version(), answer.status().as_u16()), (hyper::Version::HTTP_2, 200));
}
