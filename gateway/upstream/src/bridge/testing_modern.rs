//! An upstream of the modern era in memory, which may know the older one too: it says what a test has it say, and remembers what
//! it was asked.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::channel::mpsc;
use gateway_core::ports::{Answered, Content, NewSession, Upstream, UpstreamError};
use gateway_core::{Ask, Permit, Route};
use gateway_protocol::{Message, RpcError};
use serde_json::{Value, json};

use super::news::event;
use super::{Bridge, BridgeSettings};
use crate::commons::Commons;
use crate::stack::Protocol;
use crate::testing::{Client, one, parsed, space};

/// How it answers a legacy client's `initialize`.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Legacy {
    Refuses(u16, i64),
    /// In its own words, which are not JSON-RPC.
    Forbids(u16),
    Sessions,
    Sessionless,
}

/// How it answers `server/discover`.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Modern {
    Speaks,
    Refuses(u16, i64),
    Away,
    Silent,
}

/// How it answers anything else.
pub(super) enum Said {
    Result(Value),
    Error(u16, i64),
    /// These and then a result, as one stream.
    Events(Vec<Value>, Value),
    /// A stream that the test feeds.
    Live(mpsc::UnboundedReceiver<Value>),
    Silence,
}

/// A message, and the headers carried with it.
type Sent = (Value, Vec<(String, String)>);

pub(super) struct FakeModern {
    pub(super) legacy: Mutex<Legacy>,
    pub(super) modern: Mutex<Modern>,
    script: Mutex<VecDeque<Said>>,
    asked: Mutex<Vec<Sent>>,
}

impl FakeModern {
    pub(super) fn new(modern: Modern, legacy: Legacy) -> Arc<Self> {
        Arc::new(Self {
            legacy: Mutex::new(legacy),
            modern: Mutex::new(modern),
            script: Mutex::default(),
            asked: Mutex::default(),
        })
    }

    /// Speaks the modern era and nothing else, as `one_era.py modern` does.
    pub(super) fn only() -> Arc<Self> {
        Self::new(Modern::Speaks, Legacy::Refuses(400, -32022))
    }

    pub(super) fn says(&self, said: Said) -> &Self {
        self.script.lock().unwrap().push_back(said);
        self
    }

    /// A stream for the next question, fed by what is returned.
    pub(super) fn live(&self) -> mpsc::UnboundedSender<Value> {
        let (feed, stream) = mpsc::unbounded();
        self.says(Said::Live(stream));
        feed
    }

    pub(super) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().iter().map(|(message, _)| message.clone()).collect()
    }

    pub(super) fn last(&self) -> Sent {
        self.asked.lock().unwrap().last().unwrap().clone()
    }

    pub(super) fn methods(&self) -> Vec<String> {
        self.asked().iter().map(|asked| asked["method"].as_str().unwrap_or("response").to_owned()).collect()
    }

    pub(super) fn count(&self, method: &str) -> usize {
        self.methods().iter().filter(|asked| *asked == method).count()
    }

    fn error(id: &Value, status: u16, code: i64) -> Answered {
        let id = (code != -32022).then(|| serde_json::from_value(id.clone()).unwrap());
        Answered::one(status, &Message::error(id, RpcError::new(code, "no")))
    }

    async fn discovered(&self, id: &Value) -> Result<Answered, UpstreamError> {
        let modern = *self.modern.lock().unwrap();
        match modern {
            Modern::Speaks => Ok(Answered::one(200, &parsed_result(id, &greeting()))),
            Modern::Refuses(status, code) => Ok(Self::error(id, status, code)),
            Modern::Away => Err(UpstreamError::Unreachable(space("fake"), "refused".into())),
            Modern::Silent => std::future::pending().await,
        }
    }

    fn initialized(&self, id: &Value) -> Answered {
        let greeting = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "fake", "version": "1" },
        });
        let greeted = Answered::one(200, &parsed_result(id, &greeting));
        let legacy = *self.legacy.lock().unwrap();
        match legacy {
            Legacy::Refuses(status, code) => Self::error(id, status, code),
            Legacy::Forbids(status) => Answered {
                status,
                session: None,
                content: Content::Foreign { content_type: "text/plain".into(), body: "no".into() },
            },
            Legacy::Sessions => Answered { session: Some(NewSession { id: "up".into(), pinned: false }), ..greeted },
            Legacy::Sessionless => greeted,
        }
    }
}

fn greeting() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true }, "extensions": { "a/b": {} } },
        "ttlMs": 0, "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "fake", "version": "1" } },
    })
}

fn parsed_result(id: &Value, result: &Value) -> Message {
    Message::result(serde_json::from_value(id.clone()).unwrap(), result.clone())
}

#[async_trait]
impl Upstream for FakeModern {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        let Ask::Message(message) = &exchange.ask else {
            self.asked.lock().unwrap().push((json!({ "method": "STREAM" }), Vec::new()));
            return Ok(Answered::nothing(405));
        };
        let asked = serde_json::to_value(message).unwrap();
        self.asked.lock().unwrap().push((asked.clone(), exchange.carried.clone()));
        let id = &asked["id"];
        match message {
            Message::Request(request) if request.method == "server/discover" => return self.discovered(id).await,
            Message::Request(request) if request.method == "initialize" => return Ok(self.initialized(id)),
            Message::Request(_) => {}
            _ => return Ok(Answered::nothing(202)),
        }
        let said = self.script.lock().unwrap().pop_front();
        let items = match said {
            None => return Ok(Answered::one(200, &parsed_result(id, &json!({ "resultType": "complete" })))),
            Some(Said::Result(result)) => return Ok(Answered::one(200, &parsed_result(id, &result))),
            Some(Said::Error(status, code)) => return Ok(Self::error(id, status, code)),
            Some(Said::Silence) => return std::future::pending().await,
            Some(Said::Events(events, result)) => {
                let last = json!({ "jsonrpc": "2.0", "id": id, "result": result });
                futures::stream::iter(events.into_iter().chain([last])).boxed()
            }
            Some(Said::Live(stream)) => stream.boxed(),
        };
        let items = items.map(|message| Ok(event(&parsed_reply(&message))));
        Ok(Answered { status: 200, session: None, content: Content::Stream(items.boxed()) })
    }
}

fn parsed_reply(message: &Value) -> Message {
    let raw = serde_json::to_vec(message).unwrap();
    gateway_protocol::Reply::scan(raw.into(), 128).unwrap().message().unwrap()
}

pub(super) const HOLD: Duration = Duration::from_secs(300);

pub(super) fn bridge(upstream: &Arc<FakeModern>, protocol: Protocol) -> Bridge {
    let settings = BridgeSettings {
        namespace: space("fake"),
        revision: None,
        hold: HOLD,
        held_per_principal: 16,
        longest: Duration::from_secs(3600),
        commons: Commons::default(),
    };
    let inner: Arc<dyn Upstream> = Arc::<FakeModern>::clone(upstream);
    Bridge::new(inner, protocol, settings, Arc::new(crate::testing::StillClock))
}

pub(super) fn hello(capabilities: &Value, revision: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": "hello", "method": "initialize",
        "params": {
            "protocolVersion": revision, "capabilities": capabilities, "clientInfo": { "name": "c", "version": "1" },
        },
    })
}

pub(super) fn legacy_client() -> Client {
    Client::legacy(Route::One(space("fake")))
}

/// A client that has shaken hands, in its session.
pub(super) async fn greeted(bridge: &Bridge, capabilities: &Value, revision: &str) -> Client {
    let client = Client { revision: revision.parse().ok(), ..legacy_client() };
    let answered = bridge.call(&client.message(&hello(capabilities, revision))).await.unwrap();
    assert_eq!(one(&answered)["result"]["protocolVersion"], revision);
    Client { session: Some(answered.session.unwrap().id), ..client }
}

/// The answer to a question that was asked as `asked`.
pub(super) fn answering(client: &Client, asked: &Value, result: &Value) -> Permit {
    client.permit(Ask::Message(parsed(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }))))
}
