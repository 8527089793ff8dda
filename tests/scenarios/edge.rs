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
        .set("limits", json!({ "agent_per_minute": 0, "body_bytes": "64KiB", "header_seconds": 1, "body_seconds": 1 }))
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
