//! Calls as spans: what a collector of OpenTelemetry is told of them, and what it is never told.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Written;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use portreeve_tests::environment::free_port;
use portreeve_tests::{Kind, Stub, World};
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
const TOKEN: &str = "t0ken-of-the-collector";

/// A stand-in for a collector, which takes everything and shows it.
#[derive(Clone)]
struct Collector {
    port: u16,
    heard: Arc<Mutex<Vec<(String, HeaderMap, Bytes)>>>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let collector = Self { port: listener.local_addr().unwrap().port(), heard: Arc::default() };
        let serving = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let collector = serving.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| collector.clone().take(request));
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        collector
    }

    async fn take(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        self.heard.lock().unwrap().push((parts.uri.path().to_owned(), parts.headers, body));
        Ok(Response::new(Full::default()))
    }

    fn spans(&self) -> Vec<Span> {
        let heard = self.heard.lock().unwrap();
        let batches = heard.iter().map(|(_, _, body)| ExportTraceServiceRequest::decode(body.clone()).unwrap());
        let scopes = batches.flat_map(|batch| batch.resource_spans).flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// The span of that name, which comes with the next batch.
    async fn span(&self, name: &str) -> Span {
        for _ in 0..200 {
            if let Some(span) = self.spans().into_iter().find(|span| span.name == name) {
                return span;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no span `{name}` among {:?}", self.spans());
    }

    fn contains(&self, text: &str) -> bool {
        let heard = self.heard.lock().unwrap();
        heard.iter().any(|(_, _, body)| body.windows(text.len()).any(|part| part == text.as_bytes()))
    }
}

fn attribute(span: &Span, key: &str) -> Value {
    let found = span.attributes.iter().find(|pair| pair.key == key);
    match found.and_then(|pair| pair.value.clone()?.value) {
        Some(Written::StringValue(text)) => text.into(),
        Some(Written::IntValue(number)) => number.into(),
        Some(other) => panic!("{key} is {other:?}"),
        None => Value::Null,
    }
}

fn told(port: u16) -> Value {
    let headers = json!({ "authorization": "Bearer ${COLLECTOR_TOKEN}" });
    json!({ "otlp": { "endpoint": format!("http://127.0.0.1:{port}"), "headers": headers, "service_name": "gate" } })
}

async fn a_world(port: u16) -> (World, Stub) {
    let stub = Stub::start(&["read", "write", "delete"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("write", "LOW_WRITE"), ("delete", "HIGH_WRITE")])
        .set("telemetry", told(port))
        .variable("COLLECTOR_TOKEN", TOKEN)
        .start();
    (world, stub)
}

#[tokio::test]
async fn a_call_stands_in_its_callers_trace_and_a_refusal_says_why() {
    let collector = Collector::start().await;
    let (world, stub) = a_world(collector.port).await;
    let agent = world.agent("watched", "A1");
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [("x-api-key", agent.key.as_str()), ("traceparent", &traceparent)];
    let call = |tool: &str, text: &str| {
        let params = json!({ "name": tool, "arguments": { "text": text } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    };
    let url = world.url("/crm/mcp");
    let allowed = world.client.post(&url, &headers, &call("read", "an argument")).await;
    assert_eq!((allowed.status, allowed.decision().as_str()), (200, "allow"));

    let span = collector.span("tools/call crm/read").await;
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert!(span.start_time_unix_nano > 0 && span.end_time_unix_nano >= span.start_time_unix_nano);
    assert_eq!(span.status.clone().unwrap_or_default().code(), StatusCode::Unset);
    for (key, expected) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.tool.name", "crm/read"),
        ("gen_ai.agent.id", "watched"),
        ("portreeve.namespace", "crm"),
        ("portreeve.decision", "allow"),
        ("portreeve.status", "ok"),
    ] {
        assert_eq!(attribute(&span, key), expected, "{key}");
    }
    let ledger = world.database.sql("SELECT trace_id FROM agent_traces WHERE agent_id = 'watched'");
    assert_eq!(attribute(&span, "portreeve.audit.trace_id"), ledger.trim());
    let (seen, _) = stub.seen().into_iter().rfind(|(_, message)| message["method"] == "tools/call").unwrap();
    let below = format!("00-{TRACE}-{}-01", hex(&span.span_id));
    assert_eq!(seen["traceparent"], below.as_str(), "the tool goes on below the gateway's span");

    let refused = world.client.post(&url, &headers, &call("write", "another argument")).await;
    assert_eq!(refused.decision(), "deny");
    let span = collector.span("tools/call crm/write").await;
    let status = span.status.clone().unwrap();
    assert_eq!((status.code(), hex(&span.parent_span_id)), (StatusCode::Error, PARENT.to_owned()));
    let plugin = attribute(&span, "portreeve.reason.plugin");
    assert_eq!(plugin, refused.denied_by()[0].as_str());
    assert!(status.message.starts_with(&format!("denied: {}.", plugin.as_str().unwrap())), "{}", status.message);
    assert_eq!(attribute(&span, "error.type"), "denied");
    assert!(attribute(&span, "portreeve.audit.seq").as_i64() >= Some(1), "a refusal has its place before it is told");

    let stranger = world.client.post(&url, &[("x-api-key", "adp_sk_wr0ng")], &call("read", "x")).await;
    assert_eq!(stranger.status, 401);
    let span = collector.span("refused").await;
    assert_eq!((attribute(&span, "error.type"), span.parent_span_id.len()), (json!("unauthenticated"), 0));

    for secret in ["argument", &agent.key, "adp_sk_wr0ng", TOKEN] {
        assert!(!collector.contains(secret), "{secret} left the gateway");
    }
    for (path, headers, _) in collector.heard.lock().unwrap().iter() {
        assert_eq!(
            (path.as_str(), &headers["content-type"]),
            ("/v1/traces", &"application/x-protobuf".parse().unwrap())
        );
        assert_eq!(headers["authorization"], format!("Bearer {TOKEN}").as_str());
    }
}

#[tokio::test]
async fn a_call_that_waits_has_not_failed_and_its_run_names_it() {
    let collector = Collector::start().await;
    let (world, _stub) = a_world(collector.port).await;
    let agent = world.agent("patient", "A4");
    let waits = agent.call("crm/delete", json!({ "id": 7 })).await;
    let asked = waits.message()["result"]["_meta"]["io.portreeve/decision"].clone();
    let first = collector.span("tools/call crm/delete").await;
    assert_eq!(attribute(&first, "portreeve.decision"), "approval_required", "{asked}");
    assert_eq!((first.status.clone().unwrap_or_default().code(), first.parent_span_id.len()), (StatusCode::Unset, 0));
    let audit = attribute(&first, "portreeve.audit.trace_id");
    assert_eq!(audit, format!("trc_{}", hex(&first.trace_id)), "a trace that begins here has the ledger's id");

    world.cli_json(&["approval", "approve", asked["approval_id"].as_str().unwrap()]);
    assert_eq!(agent.call("crm/delete", json!({ "id": 7 })).await.decision(), "allow");
    let mut runs = Vec::new();
    for _ in 0..200 {
        runs = collector.spans();
        runs.retain(|span| attribute(span, "portreeve.audit.continues") == audit);
        if !runs.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(runs.len(), 1, "{:?}", collector.spans());
    assert_eq!(
        (attribute(&runs[0], "portreeve.status"), attribute(&runs[0], "portreeve.decision")),
        (json!("ok"), json!("allow"))
    );
}

#[tokio::test]
async fn a_dead_collector_disturbs_nobody() {
    let (mut world, stub) = a_world(free_port()).await;
    let agent = world.agent("unseen", "A3");
    let before = Instant::now();
    for _ in 0..50 {
        assert_eq!(agent.call("crm/read", json!({})).await.status, 200);
    }
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    assert_eq!(stub.calls(), 50);
    let mut counted = String::new();
    for _ in 0..200 {
        counted = world.api("GET", "/metrics", "", None).await.text().to_owned();
        if counted.contains("portreeve_spans_sent_total 0\n") && !counted.contains("portreeve_spans_lost_total 0\n") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!counted.contains("portreeve_spans_lost_total 0\n"), "what is lost is counted: {counted}");
    let log = world.gateway().log();
    assert!(log.contains("spans are lost"), "and told:\n{log}");
    assert!(!log.contains(TOKEN), "without the collector's key:\n{log}");
    world.gateway().signal("TERM");
    assert_eq!(world.gateway().wait(Duration::from_secs(20)), Some(0));
    assert_eq!(world.verify().0, 0, "the ledger is whole");
}

// On a second thread the collector goes on while this one waits for the gateway's end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_still_queued_is_sent_at_the_end() {
    let collector = Collector::start().await;
    let (mut world, _stub) = a_world(collector.port).await;
    let agent = world.agent("late", "A3");
    for _ in 0..7 {
        assert_eq!(agent.call("crm/read", json!({})).await.status, 200);
    }
    world.gateway().signal("TERM");
    assert_eq!(world.gateway().wait(Duration::from_secs(20)), Some(0));
    let spans = collector.spans();
    assert_eq!(spans.iter().filter(|span| span.name == "tools/call crm/read").count(), 7, "{spans:?}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
