//! A stub upstream, named as such: a small MCP server of 2025-11-25 without sessions that counts what reaches it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Clone)]
pub struct Stub {
    pub port: u16,
    inner: Arc<Inner>,
}

struct Inner {
    tools: Vec<Value>,
    calls: AtomicUsize,
    seen: Mutex<Vec<(HeaderMap, Value)>>,
    delay: Mutex<Duration>,
}

impl Stub {
    /// Tools by name; each answers with its name and arguments.
    pub async fn start(tools: &[&str]) -> Self {
        let tools = tools.iter().map(|name| json!({ "name": name, "description": format!("the {name} tool"), "inputSchema": { "type": "object" } }));
        Self::with_definitions(tools.collect()).await
    }

    pub async fn with_definitions(tools: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let inner = Arc::new(Inner {
            tools,
            calls: AtomicUsize::new(0),
            seen: Mutex::new(Vec::new()),
            delay: Mutex::new(Duration::ZERO),
        });
        let stub = Self { port, inner };
        let serving = stub.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let stub = serving.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(stub.clone(), request));
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        stub
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// How many tool calls arrived.
    pub fn calls(&self) -> usize {
        self.inner.calls.load(Ordering::SeqCst)
    }

    /// Every request's headers and message, in order.
    pub fn seen(&self) -> Vec<(HeaderMap, Value)> {
        self.inner.seen.lock().expect("the stub's notes").clone()
    }

    /// How long a tool takes from now on.
    pub fn slow_down(&self, delay: Duration) {
        *self.inner.delay.lock().expect("the stub's delay") = delay;
    }
}

async fn answer(stub: Stub, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let status = |code: u16| Response::builder().status(code).body(Full::default()).expect("an answer");
    if parts.method != "POST" {
        return Ok(status(405));
    }
    let message: Value = serde_json::from_slice(&body.collect().await?.to_bytes()).unwrap_or(Value::Null);
    stub.inner.seen.lock().expect("the stub's notes").push((parts.headers, message.clone()));
    if message.get("id").is_none() {
        return Ok(status(202));
    }
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "stub", "version": "1" },
        }),
        "tools/list" => json!({ "tools": stub.inner.tools }),
        "tools/call" => {
            stub.inner.calls.fetch_add(1, Ordering::SeqCst);
            let delay = *stub.inner.delay.lock().expect("the stub's delay");
            tokio::time::sleep(delay).await;
            let text = json!({ "tool": message["params"]["name"], "arguments": message["params"]["arguments"] });
            json!({ "content": [{ "type": "text", "text": text.to_string() }] })
        }
        "resources/read" => json!({ "contents": [{ "uri": message["params"]["uri"], "text": "read" }] }),
        _ => json!({}),
    };
    // Tools with these names make the stub misbehave.
    let id = match message["params"]["name"].as_str() {
        Some("challenge") => return Ok(status(401)),
        Some("silent") => return Ok(status(200)),
        Some("liar") => json!("another question"),
        _ => message["id"].clone(),
    };
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let answer = Response::builder().header("content-type", "application/json").body(Full::new(body.into()));
    Ok(answer.expect("an answer"))
}
