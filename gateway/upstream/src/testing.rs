//! What the unit tests of this crate share: permits from a chain that grants everything, and upstreams that are not there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use gateway_core::exchange::{Ask, Exchange, Route, Subject, ToolSubject};
use gateway_core::matrix::Matrix;
use gateway_core::policies::Policies;
use gateway_core::ports::{Answered, Clock, Content, NewSession, StreamItem, Upstream, UpstreamError};
use gateway_core::session::Session;
use gateway_core::{Chain, Judge, Namespace, Permit, Plugin, PluginMode, Principal, TraceId, Verdict};
use gateway_protocol::revision::meta;
use gateway_protocol::{Body, Id, Message, Reply, Revision, RpcError};
use serde_json::{Map, Value, json};

pub(crate) fn space(name: &str) -> Namespace {
    name.parse().unwrap()
}

/// It is always the same moment.
pub(crate) struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    fn fresh_id(&self) -> uuid::Uuid {
        uuid::Uuid::nil()
    }
}

struct Granting;

impl Judge for Granting {
    fn name(&self) -> &'static str {
        "granting"
    }

    fn on_request(&self, _exchange: &Exchange) -> Verdict {
        Verdict::Grant
    }
}

pub(crate) fn admit(exchange: Exchange) -> Permit {
    let policies = Arc::new(Policies::new(BTreeMap::new(), Matrix::standard()));
    let chain = Chain::new(vec![(Plugin::Judge(Box::new(Granting)), PluginMode::Enforce)], policies);
    match chain.admit(Box::new(exchange)) {
        Ok((permit, _)) => permit,
        Err((_, ruling)) => panic!("refused: {:?}", ruling.reasons),
    }
}

pub(crate) fn principal(agent: &str) -> Arc<Principal> {
    Arc::new(Principal { agent: agent.parse().unwrap(), ..Principal::anonymous() })
}

/// One client, as far as an upstream sees it.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) principal: Arc<Principal>,
    pub(crate) route: Route,
    pub(crate) revision: Option<Revision>,
    pub(crate) session: Option<String>,
    pub(crate) carried: Vec<(String, String)>,
}

impl Client {
    pub(crate) fn legacy(route: Route) -> Self {
        Self {
            principal: principal("tester"),
            route,
            revision: Some(Revision::V2025_11_25),
            session: None,
            carried: Vec::new(),
        }
    }

    pub(crate) fn modern(route: Route) -> Self {
        Self { revision: Some(Revision::V2026_07_28), ..Self::legacy(route) }
    }

    pub(crate) fn of(mut self, agent: &str) -> Self {
        self.principal = principal(agent);
        self
    }

    pub(crate) fn permit(&self, ask: Ask) -> Permit {
        self.permit_for(ask, Subject::Plain)
    }

    fn permit_for(&self, ask: Ask, subject: Subject) -> Permit {
        let session =
            self.session.as_ref().map(|id| Session::new(&self.principal, &self.route, self.revision, id.clone()));
        let trace_id = TraceId::from_uuid(uuid::Uuid::now_v7());
        let plain = Exchange::new(trace_id, Arc::clone(&self.principal), self.route.clone(), ask, subject);
        admit(Exchange { revision: self.revision, session, carried: self.carried.clone(), ..plain })
    }

    pub(crate) fn message(&self, value: &Value) -> Permit {
        self.permit(Ask::Message(parsed(value)))
    }

    /// A modern client describes itself in every request.
    pub(crate) fn request(&self, id: impl Into<Id>, method: &str, params: Value) -> Permit {
        self.permit(Ask::Message(self.described(id, method, params)))
    }

    pub(crate) fn call_tool(&self, id: impl Into<Id>, name: &str, params: Value) -> Permit {
        let name: gateway_core::ToolName = name.parse().unwrap();
        let mut params = params;
        params["name"] = json!(name.tool());
        let subject = Subject::Tool(ToolSubject::new(name, None, false));
        self.permit_for(Ask::Message(self.described(id, "tools/call", params)), subject)
    }

    fn described(&self, id: impl Into<Id>, method: &str, params: Value) -> Message {
        let Value::Object(mut params) = params else { panic!("params are an object") };
        if self.revision.is_some_and(Revision::is_modern) {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            meta[meta::PROTOCOL_VERSION] = json!("2026-07-28");
            meta[meta::CLIENT_CAPABILITIES] = json!({});
        }
        Message::request(id, method, Some(params))
    }
}

pub(crate) fn parsed(value: &Value) -> Message {
    match gateway_protocol::message::parse(&serde_json::to_vec(value).unwrap(), 128).unwrap() {
        Body::One(message) => message,
        Body::Batch(_) => panic!("one message was expected"),
    }
}

pub(crate) fn tree(reply: &Reply) -> Value {
    serde_json::from_slice(reply.raw()).unwrap()
}

/// The single message of an answer.
pub(crate) fn one(answered: &Answered) -> Value {
    match &answered.content {
        Content::One(reply) => tree(reply),
        Content::Nothing => panic!("nothing was answered, status {}", answered.status),
        Content::Stream(_) => panic!("a stream was answered"),
        Content::Foreign { content_type, body } => panic!("{content_type}: {}", String::from_utf8_lossy(body)),
    }
}

pub(crate) type Events = futures::stream::BoxStream<'static, Result<StreamItem, UpstreamError>>;

pub(crate) fn stream(answered: Answered) -> Events {
    match answered.content {
        Content::Stream(stream) => stream,
        _ => panic!("a stream was expected, {:?}", one(&answered)),
    }
}

/// The next message, or what the stream ended with.
pub(crate) async fn next(stream: &mut Events) -> Result<Option<Value>, UpstreamError> {
    loop {
        let item = tokio::time::timeout(Duration::from_secs(10), stream.next()).await.expect("the stream went quiet");
        match item {
            None => return Ok(None),
            Some(Err(error)) => return Err(error),
            Some(Ok(StreamItem::Event { reply: Some(reply), frame })) => {
                assert_eq!(&frame.data, reply.raw());
                return Ok(Some(tree(&reply)));
            }
            Some(Ok(_)) => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Silent,
    Modern,
    Legacy,
    Dead,
    Hanging,
}

/// An upstream in memory: answers handshakes, lists and calls, and remembers what it was asked.
pub(crate) struct FakeUpstream {
    mood: Mood,
    tools: Vec<String>,
    page: usize,
    asked: Mutex<Vec<Value>>,
    /// Session ids given out; cleared to forget them all.
    sessions: Mutex<Vec<String>>,
}

impl FakeUpstream {
    fn new(mood: Mood, tools: &[&str]) -> Self {
        let tools = tools.iter().map(ToString::to_string).collect();
        Self { mood, tools, page: usize::MAX, asked: Mutex::default(), sessions: Mutex::default() }
    }

    pub(crate) fn silent() -> Self {
        Self::new(Mood::Silent, &[])
    }

    pub(crate) fn modern(tools: &[&str]) -> Self {
        Self::new(Mood::Modern, tools)
    }

    pub(crate) fn legacy(tools: &[&str]) -> Self {
        Self::new(Mood::Legacy, tools)
    }

    pub(crate) fn dead() -> Self {
        Self::new(Mood::Dead, &[])
    }

    pub(crate) fn hanging() -> Self {
        Self::new(Mood::Hanging, &[])
    }

    pub(crate) fn paged(mut self, page: usize) -> Self {
        self.page = page;
        self
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.asked().iter().map(|asked| asked["method"].as_str().unwrap_or("response").to_owned()).collect()
    }

    pub(crate) fn forget_sessions(&self) {
        self.sessions.lock().unwrap().clear();
    }

    fn list(&self, params: Option<&Map<String, Value>>) -> Value {
        let start = params.and_then(|params| params.get("cursor")?.as_str()?.parse().ok()).unwrap_or(0);
        let end = self.tools.len().min(self.page.saturating_add(start));
        let tools: Vec<_> =
            self.tools[start..end].iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect();
        let mut result = json!({ "tools": tools });
        if end < self.tools.len() {
            result["nextCursor"] = json!(end.to_string());
        }
        result
    }

    fn result(
        &self,
        method: &str,
        exchange: &Exchange,
        params: Option<&Map<String, Value>>,
    ) -> Result<Value, RpcError> {
        let session = exchange.session.as_ref().map(|session| session.upstream_id().to_owned());
        let known = session.is_some_and(|id| self.sessions.lock().unwrap().contains(&id));
        match (self.mood, method) {
            (Mood::Modern, "server/discover") => Ok(json!({ "supportedVersions": ["2026-07-28"] })),
            (Mood::Legacy, "initialize") => Ok(json!({ "protocolVersion": "2025-06-18", "capabilities": {} })),
            (Mood::Modern, _) if !exchange.is_modern() => Err(RpcError::new(-32601, "no handshake here")),
            (Mood::Legacy, _) if !known => Err(RpcError::new(-32000, "Server not initialized")),
            (_, "tools/list") => Ok(self.list(params)),
            (_, "tools/call") => Ok(json!({ "content": [], "called": params.map(|params| params["name"].clone()) })),
            _ => Err(RpcError::new(-32601, "unknown method")),
        }
    }
}

#[async_trait]
impl Upstream for FakeUpstream {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        let nothing = Ok(Answered::nothing(202));
        match self.mood {
            Mood::Dead => return Err(UpstreamError::Unreachable(space("dead"), "refused".into())),
            Mood::Hanging => std::future::pending::<()>().await,
            _ => {}
        }
        let message = match &exchange.ask {
            Ask::Message(message) => message,
            Ask::EndSession => {
                self.asked.lock().unwrap().push(json!({ "method": "DELETE" }));
                return nothing;
            }
            Ask::Listen { .. } => return nothing,
        };
        self.asked.lock().unwrap().push(serde_json::to_value(message).unwrap());
        let Message::Request(request) = message else { return nothing };
        if let (Mood::Legacy, Some(session)) = (self.mood, &exchange.session)
            && !self.sessions.lock().unwrap().iter().any(|id| id == session.upstream_id())
        {
            return Err(UpstreamError::SessionGone(space("fake")));
        }
        let answer = self.result(&request.method, exchange, request.params.as_ref());
        let session = (request.method == "initialize" && answer.is_ok()).then(|| {
            let id = uuid::Uuid::new_v4().to_string();
            self.sessions.lock().unwrap().push(id.clone());
            NewSession { id, pinned: false }
        });
        let status = if matches!(&answer, Err(error) if error.code == -32000) { 400 } else { 200 };
        let reply = match answer {
            Ok(result) => Message::result(request.id.clone(), result),
            Err(error) => Message::error(Some(request.id.clone()), error),
        };
        if request.params.as_ref().is_some_and(|params| params.contains_key("ask")) {
            // A question first, the answer after it, as one stream.
            let asks = Message::request(7, "elicitation/create", None);
            let item = |message: &Message| {
                let reply = Reply::from_message(message);
                Ok(StreamItem::Event {
                    frame: gateway_protocol::sse::Event::message(reply.raw().clone()),
                    reply: Some(reply),
                })
            };
            let items = vec![item(&asks), item(&reply)];
            let content = Content::Stream(Box::pin(futures::stream::iter(items)));
            return Ok(Answered { status, session, content });
        }
        Ok(Answered { session, ..Answered::one(status, &reply) })
    }
}
