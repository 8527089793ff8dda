//! The tool server everybody is measured in front of: MCP over Streamable HTTP, one thread, no work but writing the answer.
//!
//! Stateless: no session id, every POST stands alone. It answers legacy requests, and modern ones in their form; it says it is modern
//! (`server/discover`) only when asked to be, so that a gateway speaks the same era on both sides and does not translate.

use std::convert::Infallible;
use std::io::Read;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use crate::content::{
    EVENT_TEXT, LEGACY, LONGEST, MODERN, Text, echo_text, event_text, from_letters, size_of_tool, stream_text,
};
use crate::error::{Context, Result};
use crate::request::Era;

const MAX_BODY: usize = 1024 * 1024;
const MAX_EVENTS: u32 = 100_000;

type Answer = Response<Either<Full<Bytes>, Events>>;

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    name: &'a str,
    arguments: Option<Arguments>,
}

#[derive(Deserialize)]
struct Arguments {
    seed: String,
    events: Option<u32>,
    size: Option<usize>,
    burst: Option<u32>,
}

/// Serves until the parent is gone: it holds our stdin, and its end is ours, whatever became of it.
pub fn run(port: u16, era: Era) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context(|| "upstream runtime".into())?;
    runtime.block_on(async {
        let listener =
            TcpListener::bind(("127.0.0.1", port)).await.context(|| format!("bind the upstream to port {port}"))?;
        loop {
            let (stream, _) = listener.accept().await.context(|| "accept".into())?;
            stream.set_nodelay(true).context(|| "nodelay".into())?;
            tokio::spawn(async move {
                let service = hyper::service::service_fn(move |request| answer(request, era));
                // A client that goes away is no event here.
                let _ = hyper::server::conn::http1::Builder::new()
                    .keep_alive(true)
                    .pipeline_flush(false)
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    })
}

async fn answer(request: Request<Incoming>, era: Era) -> std::result::Result<Answer, Infallible> {
    if request.method() != Method::POST {
        let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return Ok(response);
    }
    let modern = request.headers().get("mcp-protocol-version").is_some_and(|version| version == MODERN);
    let Ok(body) = Limited::new(request.into_body(), MAX_BODY).collect().await else {
        return Ok(status(StatusCode::PAYLOAD_TOO_LARGE));
    };
    let body = body.to_bytes();
    let Ok(call) = serde_json::from_slice::<Call>(&body) else {
        return Ok(error(StatusCode::BAD_REQUEST, "null", -32700, "not JSON-RPC"));
    };
    let (Some(id), Some(method)) = (call.id.map(RawValue::get), call.method) else {
        return Ok(status(StatusCode::ACCEPTED));
    };
    Ok(match method {
        "tools/call" => tool_call(id, call.params, modern),
        "tools/list" => result(id, &tool_list(modern)),
        "initialize" => result(id, &initialize()),
        "ping" => result(id, "{}"),
        "server/discover" if era == Era::Modern => result(id, &discover()),
        _ => error(
            if modern && era == Era::Modern { StatusCode::NOT_FOUND } else { StatusCode::OK },
            id,
            -32601,
            "no such method",
        ),
    })
}

fn tool_call(id: &str, params: Option<&RawValue>, modern: bool) -> Answer {
    let call = params.map(|params| serde_json::from_str::<ToolCall>(params.get()));
    let Some(Ok(ToolCall { name, arguments: Some(arguments) })) = call else {
        return error(StatusCode::OK, id, -32602, "need a name and a seed");
    };
    let Some(seed) = from_letters(&arguments.seed) else {
        return error(StatusCode::OK, id, -32602, "the seed is 16 letters from a to p");
    };
    if let Some(size) = size_of_tool(name) {
        return json(StatusCode::OK, tool_result(id, &echo_text(seed, size), modern));
    }
    if name != "stream" {
        return error(StatusCode::OK, id, -32602, "no such tool");
    }
    let total = arguments.events.unwrap_or(10).min(MAX_EVENTS);
    let last = tool_result(id, &stream_text(seed, total), modern);
    let events = Events {
        seed,
        next: 0,
        total,
        size: arguments.size.unwrap_or(EVENT_TEXT).min(LONGEST),
        burst: arguments.burst.unwrap_or(1).max(1),
        last: Some(last),
        resting: false,
    };
    let mut response = Response::new(Either::Right(events));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn tool_result(id: &str, text: &Text, modern: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.prose.len() + 192);
    for part in [r#"{"jsonrpc":"2.0","id":"#, id, r#","result":{"content":[{"type":"text","text":""#] {
        out.extend_from_slice(part.as_bytes());
    }
    text.write(&mut out);
    let end: &[u8] =
        if modern { br#""}],"isError":false,"resultType":"complete"}}"# } else { br#""}],"isError":false}}"# };
    out.extend_from_slice(end);
    out
}

/// The events of one stream. After every burst it says "not yet" once, so that hyper writes what it has: a burst is one write.
pub struct Events {
    seed: u64,
    next: u32,
    total: u32,
    size: usize,
    burst: u32,
    last: Option<Vec<u8>>,
    resting: bool,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        if std::mem::take(&mut self.resting) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut out = Vec::with_capacity(self.size + 192);
        if self.next < self.total {
            out.extend_from_slice(
                b"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":",
            );
            out.extend_from_slice(b"{\"level\":\"info\",\"logger\":\"bench\",\"data\":\"");
            event_text(self.seed, self.next, self.size).write(&mut out);
            out.extend_from_slice(b"\"}}\n\n");
            self.next += 1;
            self.resting = self.next.is_multiple_of(self.burst);
        } else if let Some(last) = self.last.take() {
            out.extend_from_slice(b"event: message\ndata: ");
            out.extend_from_slice(&last);
            out.extend_from_slice(b"\n\n");
        } else {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(Frame::data(out.into()))))
    }
}

fn initialize() -> String {
    format!(
        r#"{{"protocolVersion":"{LEGACY}","capabilities":{{"tools":{{}},"logging":{{}}}},"serverInfo":{{"name":"bench","version":"1"}}}}"#
    )
}

fn discover() -> String {
    format!(
        r#"{{"supportedVersions":["{MODERN}"],"capabilities":{{"tools":{{}},"logging":{{}}}},"serverInfo":{{"name":"bench","version":"1"}},"resultType":"complete","ttlMs":60000,"cacheScope":"public"}}"#
    )
}

fn tool_list(modern: bool) -> String {
    let seed = r#""seed":{"type":"string","description":"16 letters from a to p"}"#;
    let mut tools: Vec<String> = ["echo_200", "echo_4k", "echo_64k"]
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","description":"Answers with a text of fixed size","inputSchema":{{"type":"object","properties":{{{seed}}},"required":["seed"]}}}}"#))
        .collect();
    tools.push(format!(r#"{{"name":"stream","description":"Answers with a stream of log messages and a result","inputSchema":{{"type":"object","properties":{{{seed},"events":{{"type":"integer"}},"size":{{"type":"integer"}},"burst":{{"type":"integer"}}}},"required":["seed"]}}}}"#));
    let end = if modern { r#","resultType":"complete","ttlMs":60000,"cacheScope":"public""# } else { "" };
    format!(r#"{{"tools":[{}]{end}}}"#, tools.join(","))
}

fn result(id: &str, result: &str) -> Answer {
    json(StatusCode::OK, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes())
}

fn error(status: StatusCode, id: &str, code: i32, message: &str) -> Answer {
    json(
        status,
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#).into_bytes(),
    )
}

fn json(status: StatusCode, body: Vec<u8>) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn status(status: StatusCode) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(Bytes::new())));
    *response.status_mut() = status;
    response
}
