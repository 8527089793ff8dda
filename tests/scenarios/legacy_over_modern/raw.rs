//! A client of one legacy revision, written by hand: it sends exactly what that revision has, and takes nothing that does not fit
//! that revision's published schema.

use bytes::Bytes;
use futures::StreamExt;
use hyper::Response;
use hyper::body::Incoming;
use portreeve_tests::Agent;
use portreeve_tests::environment::root;
use portreeve_tests::http::{Answer, pieces};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

pub struct Raw {
    agent: Agent,
    url: String,
    pub revision: &'static str,
    pub session: Option<String>,
    schemas: Arc<Schemas>,
}

/// The messages of one answer, as they come.
pub struct Reading {
    schemas: Arc<Schemas>,
    /// What the answer answers, for its result's definition.
    method: String,
    pieces: Option<Box<dyn futures::Stream<Item = Bytes> + Unpin + Send>>,
    buffer: Vec<u8>,
    pub status: u16,
}

struct Schemas(&'static str, Value);

impl Raw {
    /// Shakes hands; gives the client in its session, and what the server said of itself.
    pub async fn hello(agent: &Agent, path: &str, revision: &'static str, capabilities: Value) -> (Self, Value) {
        let file = root().join(format!("gateway/protocol/tests/schemas/{revision}.json"));
        let schema = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut client = Self {
            agent: agent.clone(),
            url: format!("{}{path}", agent.base),
            revision,
            session: None,
            schemas: Arc::new(Schemas(revision, schema)),
        };
        let params = json!({
            "protocolVersion": revision, "capabilities": capabilities, "clientInfo": { "name": "raw", "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = client.send(&hello).await;
        client.session = answer.header("mcp-session-id").map(str::to_owned);
        let message = answer.message();
        client.schemas.check("initialize", &message);
        assert_eq!(message["result"]["protocolVersion"], revision, "{message}");
        let ready = client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        assert_eq!(ready.status, 202);
        (client, message["result"].clone())
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = vec![
            ("x-api-key", self.agent.key.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session));
            if self.revision >= "2025-06-18" {
                headers.push(("mcp-protocol-version", self.revision));
            }
        }
        headers
    }

    /// The same session in another agent's hands.
    pub fn stolen_by(&self, agent: &Agent) -> Self {
        let (url, session) = (self.url.clone(), self.session.clone());
        Self { agent: agent.clone(), url, session, revision: self.revision, schemas: Arc::clone(&self.schemas) }
    }

    pub async fn send(&self, message: &Value) -> Answer {
        self.agent.client.send("POST", &self.url, &self.headers(), message.to_string()).await
    }

    pub async fn delete(&self) -> u16 {
        self.agent.client.send("DELETE", &self.url, &self.headers(), Bytes::new()).await.status
    }

    pub async fn listen(&self) -> Reading {
        let response = self.agent.client.open("GET", &self.url, &self.headers(), Bytes::new()).await;
        self.reading("", response)
    }

    fn reading(&self, method: &str, response: Response<Incoming>) -> Reading {
        Reading {
            schemas: Arc::clone(&self.schemas),
            method: method.into(),
            status: response.status().as_u16(),
            buffer: Vec::new(),
            pieces: Some(Box::new(pieces(response))),
        }
    }

    pub async fn open(&self, id: u64, method: &str, params: Value) -> Reading {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.agent.client.open("POST", &self.url, &self.headers(), message.to_string().into()).await;
        self.reading(method, response)
    }

    /// All that was said until the answer, the answer last; `answer` is asked for what the server asks.
    pub async fn ask(&self, method: &str, params: Value, answer: impl Fn(&Value) -> Value) -> Vec<Value> {
        let mut reading = self.open(7, method, params).await;
        let mut messages = Vec::new();
        while let Some(message) = reading.next().await {
            messages.push(message.clone());
            match (message.get("method"), message.get("id")) {
                (Some(_), Some(id)) => {
                    let response = json!({ "jsonrpc": "2.0", "id": id, "result": answer(&message) });
                    assert_eq!(self.send(&response).await.status, 202);
                }
                (None, Some(id)) => {
                    assert_eq!(id, 7);
                    return messages;
                }
                _ => {}
            }
        }
        panic!("{} {method}: no answer, only {messages:#?}", self.revision);
    }

    /// The result of a question that asks nothing back.
    pub async fn result(&self, method: &str, params: Value) -> Value {
        let messages = self.ask(method, params, |asked| panic!("asked {asked}")).await;
        let last = messages.last().unwrap();
        assert!(last.get("result").is_some(), "{} {method}: {last}", self.revision);
        last["result"].clone()
    }

    pub async fn call(&self, tool: &str, arguments: Value, answer: impl Fn(&Value) -> Value) -> Vec<Value> {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }), answer).await
    }
}

impl Reading {
    /// The next message, or `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.complete() {
                self.schemas.check(&self.method, &message);
                return Some(message);
            }
            let pieces = self.pieces.as_mut()?;
            match tokio::time::timeout(Duration::from_secs(30), pieces.next()).await.expect("went quiet") {
                Some(piece) => self.buffer.extend_from_slice(&piece),
                None => {
                    self.pieces = None;
                    // A plain JSON answer ends with its body.
                    let whole = std::mem::take(&mut self.buffer);
                    let message = serde_json::from_slice(&whole).ok()?;
                    self.schemas.check(&self.method, &message);
                    return Some(message);
                }
            }
        }
    }

    fn complete(&mut self) -> Option<Value> {
        loop {
            let end = self.buffer.windows(2).position(|two| two == b"\n\n")?;
            let event: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let text = String::from_utf8(event).unwrap();
            let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).collect();
            if let Ok(message) = serde_json::from_str(&data.join("\n")) {
                return Some(message);
            }
        }
    }
}

impl Schemas {
    fn check(&self, method: &str, message: &Value) {
        self.accept("JSONRPCMessage", message);
        match (message.get("method"), message.get("id")) {
            (Some(_), Some(_)) => self.accept("ServerRequest", message),
            (Some(_), None) => self.accept("ServerNotification", message),
            _ => {
                if let (Some(result), Some(definition)) = (message.get("result"), result_of(method)) {
                    self.accept(definition, result);
                }
            }
        }
    }

    fn accept(&self, definition: &str, instance: &Value) {
        let mut schema = self.1.clone();
        let keyword = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
        schema["allOf"] = json!([{ "$ref": format!("#/{keyword}/{definition}") }]);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let problems: Vec<_> = validator.iter_errors(instance).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{} {definition}: {problems:#?}\n{instance:#}", self.0);
    }
}

fn result_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "initialize" => "InitializeResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "completion/complete" => "CompleteResult",
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => "EmptyResult",
        _ => return None,
    })
}
