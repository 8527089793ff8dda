//! A plain HTTP client for what the official SDKs would never send.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, BodyStream, Full};
use hyper::body::Incoming;
use hyper::{HeaderMap, Request, Response};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// A run of a thousand tools takes its time on a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);

#[derive(Clone)]
pub struct Client {
    inner: hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>,
}

/// A whole answer. An event stream is read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Default for Client {
    fn default() -> Self {
        Self { inner: hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http() }
    }
}

impl Client {
    pub async fn open(&self, method: &str, url: &str, headers: &[(&str, &str)], body: Bytes) -> Response<Incoming> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).expect("a request");
        let sent = tokio::time::timeout(PATIENCE, self.inner.request(request)).await;
        sent.expect("an answer within a minute").expect("an HTTP answer")
    }

    pub async fn send(&self, method: &str, url: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
        let (parts, incoming) = self.open(method, url, headers, body.into()).await.into_parts();
        let body = tokio::time::timeout(PATIENCE, incoming.collect()).await;
        let body = body.expect("a body within a minute").expect("a whole body").to_bytes();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub async fn post(&self, url: &str, headers: &[(&str, &str)], message: &Value) -> Answer {
        let mut all = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        all.extend_from_slice(headers);
        self.send("POST", url, &all, message.to_string()).await
    }
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The final message: the JSON body, or the last event that has data.
    pub fn message(&self) -> Value {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let last = self.events().pop();
            return last.unwrap_or_else(|| panic!("no message in {}", self.text()));
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON ({}): {}", self.status, self.text()))
    }

    pub fn events(&self) -> Vec<Value> {
        let data = self.text().lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
    }

    /// `allow`, `approval_required` or `deny`, wherever the answer says it.
    pub fn decision(&self) -> String {
        let message = self.message();
        let found = [&message["result"]["_meta"]["io.portreeve/decision"], &message["error"]["data"]];
        let said = found.into_iter().find_map(|object| object["decision"].as_str());
        said.unwrap_or("allow").to_owned()
    }

    pub fn denied_by(&self) -> Vec<String> {
        let message = self.message();
        let found = [&message["result"]["_meta"]["io.portreeve/decision"], &message["error"]["data"]];
        let reasons = found.into_iter().find_map(|object| object["reasons"].as_array().cloned()).unwrap_or_default();
        reasons.iter().filter_map(|reason| Some(reason["plugin"].as_str()?.to_owned())).collect()
    }

    /// The structured result of a built-in tool, from its text.
    pub fn tool_json(&self) -> Value {
        let message = self.message();
        let text = message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {message}"));
        serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
    }

    pub fn is_tool_error(&self) -> bool {
        self.message()["result"]["isError"] == Value::Bool(true)
    }
}

/// The pieces of a body as they arrive, for stories about streams.
pub fn pieces(response: Response<Incoming>) -> impl futures::Stream<Item = Bytes> + Unpin {
    Box::pin(BodyStream::new(response.into_body()).filter_map(|frame| async { frame.ok()?.into_data().ok() }))
}
