//! A legacy server in memory: sessions that can be made to expire, questions on either stream, silence. It plays what a test
//! wrote for a tool and remembers what it was told.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_stream::stream;
use async_trait::async_trait;
use futures::StreamExt;
use gateway_core::ports::{Answered, Content, NewSession, StreamItem, Upstream, UpstreamError};
use gateway_core::{Ask, Exchange, Permit};
use gateway_protocol::{Message, Request, RpcError, sse};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use super::BridgeSettings;
use super::modern::event;
use crate::commons::Commons;
use crate::testing::{parsed, space};

pub(super) fn settings() -> BridgeSettings {
    BridgeSettings {
        namespace: space("legacy"),
        revision: None,
        hold: Duration::from_secs(300),
        held_per_principal: 16,
        longest: Duration::from_secs(3600),
        commons: Commons::default(),
    }
}

/// One thing a tool does. The texts `$id` and `$token` stand for those of the call.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Say(Value),
    /// On the session's own stream.
    Get(Value),
    /// Waits for the answer to the question with this id.
    Answered(i64),
    Pause(Duration),
    Silence,
    /// An event without a message, under this id; `retry` in milliseconds.
    Prime(&'static str, u64),
}

impl Act {
    pub(super) fn tell(method: &str, params: Value) -> Self {
        Self::Say(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    pub(super) fn ask(id: i64, method: &str, params: Value) -> Self {
        Self::Say(question(id, method, params))
    }

    /// The final answer.
    pub(super) fn done(text: &str) -> Self {
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        Self::Say(json!({ "jsonrpc": "2.0", "id": "$id", "result": result }))
    }
}

pub(super) fn question(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// How a session that is gone is answered.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Refusal {
    NotFound,
    /// As TypeScript v1 says it.
    BadRequest,
}

pub(super) struct FakeLegacy {
    tools: Mutex<HashMap<String, Vec<Act>>>,
    heard: Mutex<Vec<Value>>,
    sessions: Mutex<Vec<String>>,
    answers: watch::Sender<Vec<Value>>,
    get: broadcast::Sender<Value>,
    refusal: Refusal,
    /// What follows an event, for whoever asks with its id.
    rests: Mutex<HashMap<String, Vec<Act>>>,
}

impl FakeLegacy {
    pub(super) fn new() -> Arc<Self> {
        Self::refusing(Refusal::NotFound)
    }

    pub(super) fn refusing(refusal: Refusal) -> Arc<Self> {
        Arc::new(Self {
            tools: Mutex::default(),
            heard: Mutex::default(),
            sessions: Mutex::default(),
            answers: watch::Sender::new(Vec::new()),
            get: broadcast::Sender::new(64),
            refusal,
            rests: Mutex::default(),
        })
    }

    pub(super) fn tool(self: &Arc<Self>, name: &str, acts: impl Into<Vec<Act>>) -> Arc<Self> {
        self.tools.lock().unwrap().insert(name.into(), acts.into());
        Arc::clone(self)
    }

    pub(super) fn rest(self: &Arc<Self>, after: &str, acts: impl Into<Vec<Act>>) -> Arc<Self> {
        self.rests.lock().unwrap().insert(after.into(), acts.into());
        Arc::clone(self)
    }

    /// Everything it was told, in order.
    pub(super) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    pub(super) fn count(&self, method: &str) -> usize {
        self.heard().iter().filter(|message| message["method"] == method).count()
    }

    pub(super) fn last(&self, method: &str) -> Value {
        self.heard().into_iter().rfind(|message| message["method"] == method).unwrap_or_default()
    }

    pub(super) fn answer_to(&self, id: i64) -> Value {
        self.heard()
            .into_iter()
            .find(|message| message.get("method").is_none() && message["id"] == id)
            .unwrap_or_default()
    }

    /// It was restarted: no session exists any more.
    pub(super) fn forget(&self) {
        self.sessions.lock().unwrap().clear();
    }

    pub(super) fn say(&self, message: Value) {
        self.get.send(message).unwrap();
    }

    /// Lets errands arrive.
    pub(super) async fn until(&self, fits: impl Fn(&Self) -> bool) {
        for _ in 0..1000 {
            if fits(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("it did not come to that: {:#?}", self.heard());
    }

    fn knows(&self, exchange: &Exchange) -> bool {
        let id = exchange.session.as_ref().map(|session| session.upstream_id().to_owned()).unwrap_or_default();
        self.sessions.lock().unwrap().contains(&id)
    }

    fn play(self: &Arc<Self>, acts: Vec<Act>, request: &Request) -> Answered {
        let (answers, get, request) = (self.answers.clone(), self.get.clone(), request.clone());
        let items = stream! {
            for act in acts {
                match act {
                    Act::Say(message) => yield Ok(event(&parsed(&filled(message, &request)))),
                    Act::Get(message) => drop(get.send(message)),
                    Act::Answered(id) => {
                        let _ = answers.subscribe().wait_for(|answers| answers.contains(&json!(id))).await;
                    }
                    Act::Pause(time) => tokio::time::sleep(time).await,
                    Act::Silence => std::future::pending().await,
                    Act::Prime(id, retry) => {
                        let frame = sse::Event { id: Some(id.into()), retry: Some(retry), ..sse::Event::message("") };
                        yield Ok(StreamItem::Event { frame, reply: None });
                    }
                }
            }
        };
        Answered { status: 200, session: None, content: Content::Stream(items.boxed()) }
    }

    fn listen(&self) -> Answered {
        let mut news = self.get.subscribe();
        let items = stream! {
            while let Ok(message) = news.recv().await {
                yield Ok(event(&parsed(&message)));
            }
        };
        Answered { status: 200, session: None, content: Content::Stream(items.boxed()) }
    }
}

fn filled(message: Value, request: &Request) -> Value {
    let token =
        request.params.as_ref().and_then(|params| params.get("_meta")).map(|meta| meta["progressToken"].clone());
    let text = message.to_string();
    let text = text.replace("\"$id\"", &Value::from(&request.id).to_string());
    serde_json::from_str(&text.replace("\"$token\"", &token.unwrap_or_default().to_string())).unwrap()
}

/// Shared, because streams outlive the call that began them.
pub(super) struct Shared(pub(super) Arc<FakeLegacy>);

#[async_trait]
impl Upstream for Shared {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let (fake, exchange) = (&self.0, permit.exchange());
        assert!(!exchange.is_modern(), "modern words reached a legacy server: {:?}", exchange.ask);
        let message = match &exchange.ask {
            Ask::Message(message) => serde_json::to_value(message).unwrap(),
            Ask::Listen { last_event_id: Some(id) } => json!({ "method": "GET", "after": id }),
            Ask::Listen { .. } => json!({ "method": "GET" }),
            Ask::EndSession => json!({ "method": "DELETE" }),
        };
        fake.heard.lock().unwrap().push(message.clone());
        let opening = exchange.method() == Some("initialize");
        if !opening && !fake.knows(exchange) {
            if let (Refusal::BadRequest, Some(Message::Request(request))) = (fake.refusal, exchange.message()) {
                let error = RpcError::new(-32000, "Bad Request: No valid session ID provided");
                return Ok(Answered::one(400, &Message::error(Some(request.id.clone()), error)));
            }
            return Err(UpstreamError::SessionGone(space("legacy")));
        }
        let request = match &exchange.ask {
            Ask::Listen { last_event_id: Some(after) } => {
                let acts = fake.rests.lock().unwrap().get(after).cloned();
                let Message::Request(call) = parsed(&fake.last("tools/call")) else { panic!("a call") };
                return Ok(acts.map_or(Answered::nothing(405), |acts| fake.play(acts, &call)));
            }
            Ask::Listen { .. } => return Ok(fake.listen()),
            Ask::Message(Message::Request(request)) => request,
            Ask::Message(Message::Response(_)) => {
                fake.answers.send_modify(|answers| answers.push(message["id"].clone()));
                return Ok(Answered::nothing(202));
            }
            _ => return Ok(Answered::nothing(202)),
        };
        let name = message["params"]["name"].as_str().unwrap_or_default();
        let acts = fake.tools.lock().unwrap().get(name).cloned();
        if let Some(acts) = acts {
            return Ok(fake.play(acts, request));
        }
        let result = match request.method.as_str() {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true }, "logging": {} },
                "serverInfo": { "name": "fake", "version": "1" },
            }),
            "tools/list" => json!({ "tools": [] }),
            "tools/call" => json!({ "content": [{ "type": "text", "text": name }] }),
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => json!({}),
            _ => {
                let error = RpcError::new(-32601, "Method not found");
                return Ok(Answered::one(200, &Message::error(Some(request.id.clone()), error)));
            }
        };
        let session = opening.then(|| {
            let mut sessions = fake.sessions.lock().unwrap();
            let id = uuid::Uuid::new_v4().to_string();
            sessions.push(id.clone());
            NewSession { id, pinned: false }
        });
        Ok(Answered { session, ..Answered::one(200, &Message::result(request.id.clone(), result)) })
    }
}
