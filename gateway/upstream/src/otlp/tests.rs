#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;

use gateway_core::ports::Parent;
use gateway_core::verdict::Decision;
use gateway_core::{Classification, TenantId, TraceId};
use opentelemetry::trace::{SpanId, Status as SpanStatus};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use uuid::Uuid;

use super::*;
use gateway_core::outcome::Status;

fn span(parent: Option<Parent>) -> CallSpan {
    CallSpan {
        place: Place { trace: [7; 16], span: [8; 8], parent },
        began: SystemTime::UNIX_EPOCH,
        method: Some("tools/call".into()),
        tool: Some("crm/read".parse().unwrap()),
        namespace: Some("crm".parse().unwrap()),
        revision: Some("2026-07-28".parse().unwrap()),
        tenant: Some(TenantId(Uuid::nil())),
        agent: "a-1".parse().unwrap(),
        classification: None::<Classification>,
        decision: Decision::Allow,
        reason: None,
        status: Status::Ok,
        audit: TraceId::from_uuid(Uuid::from_u128(5)),
        seq: Some(3),
        continues: None,
        run: None,
    }
}

fn config(port: u16) -> OtlpConfig {
    OtlpConfig {
        endpoint: format!("http://127.0.0.1:{port}/v1/traces"),
        headers: vec![("x-token".into(), "s3cret".into())],
        service_name: "portreeve".into(),
        sample: 1.0,
        instance: "one".into(),
    }
}

#[test]
fn a_call_is_drawn_under_the_names_that_others_know() {
    let end = SystemTime::UNIX_EPOCH + Duration::from_millis(5);
    let drawn = drawing::drawn(span(Some(Parent { span: [9; 8], sampled: true })), end);
    assert_eq!((drawn.name.as_ref(), drawn.parent_span_id), ("tools/call crm/read", SpanId::from_bytes([9; 8])));
    assert_eq!((drawn.status, drawn.end_time), (SpanStatus::Unset, end));
    let written: BTreeMap<_, _> =
        drawn.attributes.iter().map(|pair| (pair.key.as_str(), pair.value.to_string())).collect();
    for (key, expected) in [
        ("mcp.method.name", "tools/call"),
        ("mcp.protocol.version", "2026-07-28"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "crm/read"),
        ("gen_ai.agent.id", "a-1"),
        ("portreeve.namespace", "crm"),
        ("portreeve.tenant.id", "00000000-0000-0000-0000-000000000000"),
        ("portreeve.decision", "allow"),
        ("portreeve.status", "ok"),
        ("portreeve.audit.trace_id", "trc_00000000000000000000000000000005"),
        ("portreeve.audit.seq", "3"),
    ] {
        assert_eq!(written.get(key).map(String::as_str), Some(expected), "{key}");
    }
    assert_eq!(written.len(), 11, "and nothing else: {written:?}");
}

#[test]
fn what_failed_is_an_error_and_what_waits_is_not() {
    for (status, reason, expected) in [
        (Status::Ok, None, None),
        (Status::ApprovalRequired, Some("rules"), None),
        (Status::InputRequired, None, None),
        (Status::Cancelled, None, None),
        (Status::Denied, Some("rules"), Some("denied: rules.big")),
        (Status::Limited, Some("limits"), Some("limited: limits.big")),
        (Status::ToolError, None, Some("tool_error")),
        (Status::UpstreamFailed, None, Some("upstream_failed")),
        (Status::GatewayFailed, None, Some("gateway_failed")),
    ] {
        let reason = reason.map(|plugin: &str| (plugin.to_owned(), "big".to_owned()));
        let drawn = drawing::drawn(CallSpan { status, reason, ..span(None) }, SystemTime::now());
        let said = expected.map_or(SpanStatus::Unset, SpanStatus::error);
        assert_eq!(drawn.status, said, "{status:?}");
        let kind = drawn.attributes.iter().find(|pair| pair.key.as_str() == "error.type");
        assert_eq!(kind.map(|pair| pair.value.to_string()), expected.map(|_| status.as_str().to_owned()));
    }
}

#[test]
fn long_names_are_cut() {
    let method = Some("ü".repeat(9000));
    let drawn = drawing::drawn(CallSpan { method, tool: None, ..span(None) }, SystemTime::now());
    assert_eq!(drawn.name.chars().count(), 200);
}

#[tokio::test]
async fn the_caller_decides_over_its_trace_and_chance_over_ours() {
    let place = |low: u64, parent| {
        let trace = ((0xffff_u128 << 112) | u128::from(low)).to_be_bytes();
        Place { trace, span: [1; 8], parent }
    };
    let parent = |sampled| Some(Parent { span: [1; 8], sampled });
    for (sample, place, kept) in [
        (1.0, place(0, None), true),
        (0.0, place(u64::MAX, None), false),
        (0.0, place(0, parent(true)), true),
        (1.0, place(0, parent(false)), false),
        (0.25, place(NUMBERS / 4 * 3, None), true),
        (0.25, place(NUMBERS / 4 * 3 - 1, None), false),
    ] {
        let otlp = Otlp::start(&OtlpConfig { sample, ..config(1) }).unwrap();
        assert_eq!(otlp.begin(&place).is_some(), kept, "{sample} {place:?}");
    }
}

/// A collector that says the same to everybody, and what it was sent.
async fn collector(answer: &'static str) -> (u16, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (heard, requests) = mpsc::channel(16);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::with_capacity(1 << 20);
            while !is_whole(&request) {
                assert!(stream.read_buf(&mut request).await.unwrap() > 0, "a whole request");
            }
            heard.send(request).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (port, requests)
}

fn is_whole(request: &[u8]) -> bool {
    let Some(end) = memchr::memmem::find(request, b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(request.get(..end).unwrap()).to_ascii_lowercase();
    let wanted = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
    request.len() >= end + 4 + wanted.unwrap_or(0)
}

const TAKEN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const REFUSED: &str = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn what_is_queued_is_sent_before_the_end() {
    let (port, mut requests) = collector(TAKEN).await;
    let otlp = Otlp::start(&config(port)).unwrap();
    for _ in 0..BATCH + 1 {
        otlp.ended(span(None));
    }
    otlp.close().await;
    assert_eq!(otlp.counts(), SpanCounts { sent: BATCH as u64 + 1, lost: 0 });
    let first = requests.recv().await.unwrap();
    let said = String::from_utf8_lossy(&first).to_ascii_lowercase();
    for expected in ["post /v1/traces http/1.1", "content-type: application/x-protobuf", "x-token: s3cret", "crm/read"]
    {
        assert!(said.contains(expected), "{expected} in {said}");
    }
    assert!(requests.recv().await.is_some(), "no batch holds more than {BATCH}");
    otlp.close().await;
    otlp.ended(span(None));
    assert_eq!(otlp.counts().lost, 1, "what comes later is lost, and counted");
}

#[tokio::test]
async fn what_nobody_takes_is_counted_and_holds_nothing_up() {
    let (port, _requests) = collector(REFUSED).await;
    let otlp = Otlp::start(&config(port)).unwrap();
    for _ in 0..WAITING + 5 {
        otlp.ended(span(None));
    }
    assert_eq!(otlp.counts().lost, 5, "the queue is full, and nobody waited for it");
    otlp.close().await;
    assert_eq!(otlp.counts(), SpanCounts { sent: 0, lost: WAITING as u64 + 5 });
}
