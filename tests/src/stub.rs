//! A stub upstream, named as such: a small MCP server of 2025-11-25 without sessions that counts what reaches it, and does
//! what a story's script says where it has one.

mod script;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use script::{Says, Script, filled};

pub use script::{Piece, Step};

#[derive(Clone)]
pub struct Stub {
    pub port: u16,
    inner: Arc<Inner>,
}

struct Inner {
    tools: Mutex<Vec<Value>>,
    calls: AtomicUsize,
    seen: Mutex<Vec<(HeaderMap, Value)>>,
    delay: Mutex<Duration>,
    /// True while calls wait for the story to let them go.
    held: watch::Sender<bool>,
    /// How many tools one page of the list has.
    page: Mutex<usize>,
    script: Script,
}

/// Stubs that play a script, by their port. What no list shows is never called, so a story's manifests say what they list.
static SCRIPTED: Mutex<Vec<(u16, Weak<Inner>)>> = Mutex::new(Vec::new());

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

impl Stub {
    /// Tools by name; each answers with its name and arguments.
    pub async fn start(tools: &[&str]) -> Self {
        let tools = tools.iter().map(|name| json!({ "name": name, "description": format!("the {name} tool"), "inputSchema": { "type": "object" } }));
        Self::with_definitions(tools.collect()).await
    }

    pub async fn with_definitions(tools: Vec<Value>) -> Self {
        Self::playing(tools, Vec::new()).await
    }

    /// What no step fits gets the usual answers.
    pub async fn scripted(steps: Vec<Step>) -> Self {
        let stub = Self::playing(Vec::new(), steps).await;
        SCRIPTED.lock().expect("the scripted stubs").push((stub.port, Arc::downgrade(&stub.inner)));
        stub
    }

    /// The scripted stub at this address lists these tools, unless the story has said which.
    pub(crate) fn lists(url: &str, tools: &[String]) {
        let stubs = SCRIPTED.lock().expect("the scripted stubs");
        let here = |port: &u16| url.contains(&format!("127.0.0.1:{port}/"));
        for stub in stubs.iter().filter(|(port, _)| here(port)).filter_map(|(_, stub)| stub.upgrade()) {
            let mut listed = stub.tools.lock().expect("the stub's tools");
            if listed.is_empty() {
                *listed = tools.iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect();
            }
        }
    }

    async fn playing(tools: Vec<Value>, steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let inner = Arc::new(Inner {
            tools: Mutex::new(tools),
            calls: AtomicUsize::new(0),
            seen: Mutex::new(Vec::new()),
            delay: Mutex::new(Duration::ZERO),
            held: watch::Sender::new(false),
            page: Mutex::new(usize::MAX),
            script: Script::new(steps),
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

    /// From now on the list is this one.
    pub fn define(&self, tools: Vec<Value>) {
        *self.inner.tools.lock().expect("the stub's tools") = tools;
    }

    /// How many tool calls arrived.
    pub fn calls(&self) -> usize {
        self.inner.calls.load(Ordering::SeqCst)
    }

    /// Every request's headers and message, in order; one without a message is `{"method": "GET"}` or `DELETE`.
    pub fn seen(&self) -> Vec<(HeaderMap, Value)> {
        self.inner.seen.lock().expect("the stub's notes").clone()
    }

    /// Calls that arrive from now on get no answer until they are let go.
    pub fn hold(&self) {
        self.inner.held.send_replace(true);
    }

    pub fn let_go(&self) {
        self.inner.held.send_replace(false);
    }

    /// How often a method was asked for.
    pub fn asked(&self, method: &str) -> usize {
        self.seen().iter().filter(|(_, message)| message["method"] == method).count()
    }

    /// How many streams the gateway has given up before their end.
    pub fn left(&self) -> usize {
        self.inner.script.left()
    }

    /// Waits until so many streams have been given up: it is noticed when the connection goes.
    pub async fn until_left(&self, streams: usize) {
        for _ in 0..400 {
            if self.left() >= streams {
                break;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        assert_eq!(self.left(), streams);
    }

    /// The list of tools comes in pages of this size from now on; a cursor is the place where its page begins.
    pub fn page_by(&self, size: usize) {
        *self.inner.page.lock().expect("the stub's page") = size;
    }

    fn list(&self, cursor: &Value) -> Option<Value> {
        let tools = self.inner.tools.lock().expect("the stub's tools").clone();
        let size = *self.inner.page.lock().expect("the stub's page");
        let start = match cursor {
            Value::Null => 0,
            cursor => cursor.as_str()?.parse().ok().filter(|start| *start < tools.len())?,
        };
        let end = tools.len().min(size.saturating_add(start));
        let mut result = json!({ "tools": tools[start..end] });
        if end < tools.len() {
            result["nextCursor"] = json!(end.to_string());
        }
        Some(result)
    }

    /// How long a tool takes from now on.
    pub fn slow_down(&self, delay: Duration) {
        *self.inner.delay.lock().expect("the stub's delay") = delay;
    }
}

fn whole(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).map_err(|never| match never {}).boxed_unsync()
}

/// What the script has for this message.
fn played(stub: &Stub, what: &str, message: &Value) -> Option<Response<Body>> {
    let Step { status, session, headers, says, .. } = stub.inner.script.next(what)?;
    let mut answer = Response::builder().status(status);
    if let Some(session) = session {
        answer = answer.header("mcp-session-id", session);
    }
    for (name, value) in headers {
        answer = answer.header(name, value);
    }
    let answer = match says {
        Says::Nothing => answer.body(whole(Bytes::new())),
        Says::Json(json) => {
            answer.header("content-type", "application/json").body(whole(filled(json, message).to_string()))
        }
        Says::Raw(text) => {
            answer.header("content-type", "application/json").body(whole(script::written(&text, message)))
        }
        Says::Stream(pieces) => {
            let frames = stub.inner.script.play(pieces, message).map(|piece| piece.map(Frame::data));
            answer.header("content-type", "text/event-stream").body(StreamBody::new(frames).boxed_unsync())
        }
    };
    Some(answer.expect("an answer"))
}

async fn answer(stub: Stub, request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let status = |code: u16| Response::builder().status(code).body(whole(Bytes::new())).expect("an answer");
    let post = parts.method == "POST";
    let message: Value = match post {
        true => serde_json::from_slice(&body.collect().await?.to_bytes()).unwrap_or(Value::Null),
        false => json!({ "method": parts.method.as_str() }),
    };
    stub.inner.seen.lock().expect("the stub's notes").push((parts.headers, message.clone()));
    let Some(method) = message["method"].as_str() else {
        stub.inner.script.heard(&message["id"]);
        return Ok(status(202));
    };
    if method == "tools/call" {
        stub.inner.calls.fetch_add(1, Ordering::SeqCst);
    }
    if let Some(answer) = played(&stub, method, &message) {
        return Ok(answer);
    }
    if !post {
        return Ok(status(405));
    }
    if message.get("id").is_none() {
        return Ok(status(202));
    }
    let result = match method {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "stub", "version": "1" },
        }),
        "tools/list" => match stub.list(&message["params"]["cursor"]) {
            Some(list) => list,
            None => {
                let error = json!({ "code": -32602, "message": "no such cursor" });
                let body = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }).to_string();
                let answer = Response::builder().header("content-type", "application/json").body(whole(body));
                return Ok(answer.expect("an answer"));
            }
        },
        "tools/call" => {
            let delay = *stub.inner.delay.lock().expect("the stub's delay");
            tokio::time::sleep(delay).await;
            let _ = stub.inner.held.subscribe().wait_for(|held| !held).await;
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
    let answer = Response::builder().header("content-type", "application/json").body(whole(body));
    Ok(answer.expect("an answer"))
}
