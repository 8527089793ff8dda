//! What a scripted stub does instead of its usual answers: sessions, streams, questions, tasks, silence.
//!
//! `Step::on("tools/call").stream([Piece::event(...), Piece::answer(...)])`. Within what is said, the texts `$id` and
//! `$token` stand for the id and the progress token of the request that is being answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::{Value, json};
use tokio::sync::watch;

/// One act of the stub, played for the first message it fits, and then no more unless it is repeated.
#[derive(Debug, Clone)]
pub struct Step {
    pub(super) on: String,
    pub(super) repeats: bool,
    pub(super) status: u16,
    pub(super) session: Option<String>,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) says: Says,
}

#[derive(Debug, Clone)]
pub(super) enum Says {
    Nothing,
    Json(Value),
    /// As it is written, whatever a reader would make of it.
    Raw(String),
    Stream(Vec<Piece>),
}

/// One thing in a stream.
#[derive(Debug, Clone)]
pub enum Piece {
    /// A message, with the event id it is sent under.
    Event(Value, Option<String>),
    Comment(&'static str),
    /// As it is written, blank line and all.
    Raw(String),
    Pause(Duration),
    /// Nothing more until the client has answered the question with this id.
    Answered(Value),
    /// Nothing more at all, on an open connection.
    Silence,
    /// The connection breaks.
    Break,
}

impl Piece {
    pub fn event(message: Value) -> Self {
        Self::Event(message, None)
    }

    /// The final answer.
    pub fn answer(result: Value) -> Self {
        Self::event(message([("id", json!("$id")), ("result", result)]))
    }

    pub fn question(id: impl Into<Value>, method: &str, params: Value) -> Self {
        Self::event(message([("id", id.into()), ("method", json!(method)), ("params", params)]))
    }

    pub fn notification(method: &str, params: Value) -> Self {
        Self::event(message([("method", json!(method)), ("params", params)]))
    }
}

impl Step {
    /// A method, or `GET` or `DELETE`. Until told otherwise it answers 202 and says nothing.
    pub fn on(what: &str) -> Self {
        Self { on: what.into(), repeats: false, status: 202, session: None, headers: Vec::new(), says: Says::Nothing }
    }

    /// A server of 2025-11-25 that keeps sessions.
    pub fn legacy_server() -> Self {
        let greeting =
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": server() });
        Self::on("initialize").result(greeting).session("up-1").always()
    }

    pub fn modern_server(capabilities: &Value) -> Self {
        let greeting = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "serverInfo": server(),
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
        Self::on("server/discover").result(greeting).always()
    }

    pub fn result(mut self, result: Value) -> Self {
        self.says = Says::Json(message([("id", json!("$id")), ("result", result)]));
        self.status(200)
    }

    /// A body of JSON that no writer of JSON would write.
    pub fn raw(mut self, text: &str) -> Self {
        self.says = Says::Raw(text.into());
        self.status(200)
    }

    pub fn error(mut self, status: u16, code: i64, message: &str) -> Self {
        self.says = Says::Json(json!({ "jsonrpc": "2.0", "id": "$id", "error": { "code": code, "message": message } }));
        self.status(status)
    }

    pub fn stream(mut self, pieces: impl Into<Vec<Piece>>) -> Self {
        self.says = Says::Stream(pieces.into());
        self.status(200)
    }

    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Opens a session with this id.
    pub fn session(mut self, id: &str) -> Self {
        self.session = Some(id.into());
        self
    }

    pub fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Played as often as it fits.
    pub fn always(mut self) -> Self {
        self.repeats = true;
        self
    }
}

fn server() -> Value {
    json!({ "name": "stub", "version": "1" })
}

/// The steps that are still to be played, and what clients have answered so far.
#[derive(Clone)]
pub(super) struct Script {
    steps: Arc<std::sync::Mutex<Vec<Step>>>,
    answers: watch::Sender<Vec<Value>>,
    left: Arc<AtomicUsize>,
}

/// Goes with a stream: whoever drops it before its end has left.
struct Listener {
    left: Arc<AtomicUsize>,
    whole: bool,
}

impl Listener {
    fn reached(&mut self, end: bool) {
        self.whole = end;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if !self.whole {
            self.left.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Script {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self {
            steps: Arc::new(std::sync::Mutex::new(steps)),
            answers: watch::Sender::new(Vec::new()),
            left: Arc::default(),
        }
    }

    /// How many streams were given up by whoever read them.
    pub(super) fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    pub(super) fn next(&self, what: &str) -> Option<Step> {
        let mut steps = self.steps.lock().expect("the script");
        let place = steps.iter().position(|step| step.on == what)?;
        if steps[place].repeats { Some(steps[place].clone()) } else { Some(steps.remove(place)) }
    }

    pub(super) fn heard(&self, id: &Value) {
        self.answers.send_modify(|answers| answers.push(id.clone()));
    }

    pub(super) fn play(&self, pieces: Vec<Piece>, request: &Value) -> BoxStream<'static, std::io::Result<Bytes>> {
        let (answers, request) = (self.answers.clone(), request.clone());
        let mut listener = Listener { left: Arc::clone(&self.left), whole: pieces.is_empty() };
        let count = pieces.len();
        let pieces = futures::stream::iter(pieces.into_iter().enumerate()).then(move |(place, piece)| {
            listener.reached(place + 1 == count && !matches!(piece, Piece::Silence));
            let (mut answers, request) = (answers.subscribe(), request.clone());
            async move {
                match piece {
                    Piece::Event(message, id) => {
                        let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
                        Ok(format!("{id}data: {}\n\n", filled(message, &request)).into())
                    }
                    Piece::Comment(text) => Ok(format!(": {text}\n\n").into()),
                    Piece::Raw(text) => Ok(written(&text, &request).into()),
                    Piece::Pause(time) => {
                        tokio::time::sleep(time).await;
                        Ok(Bytes::new())
                    }
                    Piece::Answered(id) => {
                        let _ = answers.wait_for(|answers| answers.contains(&id)).await;
                        Ok(Bytes::new())
                    }
                    Piece::Silence => std::future::pending().await,
                    Piece::Break => {
                        // What was said before is still being sent, and would be lost with the connection.
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        Err(std::io::Error::other("the script breaks off here"))
                    }
                }
            }
        });
        // An empty piece of a chunked body would end it.
        pieces.filter(|piece| futures::future::ready(!piece.as_ref().is_ok_and(Bytes::is_empty))).boxed()
    }
}

fn message<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.map(|(key, value)| (key.to_owned(), value));
    Value::Object([("jsonrpc".to_owned(), json!("2.0"))].into_iter().chain(members).collect())
}

/// A text with the request's own id in its place.
pub(super) fn written(text: &str, request: &Value) -> String {
    text.replace("\"$id\"", &request["id"].to_string())
}

/// The message with the request's own id and token in their places.
pub(super) fn filled(message: Value, request: &Value) -> Value {
    match message {
        Value::String(text) if text == "$id" => request["id"].clone(),
        Value::String(text) if text == "$token" => request["params"]["_meta"]["progressToken"].clone(),
        Value::Array(items) => items.into_iter().map(|item| filled(item, request)).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, filled(value, request))).collect(),
        other => other,
    }
}
