//! A whole gateway on stand-ins: what it is asked, what its upstream saw, what was written down.
//!
//! Nothing here ever waits, so one poll answers everything.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use gateway_protocol::headers::McpHeaders;
use gateway_protocol::sse;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{FixedClock, NoApprovals, PlainSeal, Runs};
use crate::BoxError;
use crate::chain::{Chain, Judge, Permit, Plugin, PluginMode};
use crate::definitions::Definitions;
use crate::exchange::{Ask, Exchange, Route};
use crate::gateway::{Gateway, Inbound, Ports, Settings, Verb, Wire};
use crate::home::Home;
use crate::identity::{Credential, Principal, PrincipalKind};
use crate::lists::ListFilter;
use crate::live::LiveHandle;
use crate::manifest::{AgentMode, RiskLevel, ToolManifest};
use crate::matrix::Matrix;
use crate::names::{Namespace, TenantId, ToolName};
use crate::outcome::AuditRow;
use crate::policies::{ClassifiedTool, Policies};
use crate::ports::*;
use crate::refusal::{Answer, AnswerBody};
use crate::trace::TraceDraft;
use crate::verdict::Verdict;

type Answers = Box<dyn Fn(&Exchange) -> Answered + Send + Sync>;
type Carries = Box<dyn Fn(&Home, Carried) -> Result<Answer, PeerError> + Send + Sync>;

pub struct Bench {
    pub world: Arc<Seen>,
    pub gateway: Arc<Gateway>,
}

/// Everything the stand-ins noticed, and what they say.
pub struct Seen {
    pub clock: FixedClock,
    pub principal: Mutex<Principal>,
    pub calls: Mutex<Vec<Exchange>>,
    pub traces: Mutex<Vec<TraceDraft>>,
    pub rows: Mutex<Vec<AuditRow>>,
    pub taken: Mutex<usize>,
    /// What callers were known by.
    pub shown: Mutex<Vec<Credential>>,
    pub carried: Mutex<Vec<(Home, Carried)>>,
    pub definition: Mutex<Option<Arc<Value>>>,
    pub live: Arc<LiveHandle>,
    pub runs: Arc<Runs>,
    /// How often work was to be done elsewhere, and whether that is refused.
    pub set_aside: Mutex<usize>,
    pub refuses_work: Mutex<bool>,
    spent: Mutex<HashSet<Uuid>>,
    answers: Mutex<Answers>,
    carries: Mutex<Carries>,
}

pub fn agent(id: &str) -> Principal {
    let kind = PrincipalKind::Agent;
    Principal { kind, agent: id.parse().unwrap(), tenant: Some(TenantId(Uuid::nil())), ..Principal::anonymous() }
}

impl Bench {
    /// One upstream, `crm`, whose every tool reads; whoever asks is `a-1`.
    pub fn new() -> Self {
        Self::with(vec![(Plugin::Judge(Box::new(Grants)), PluginMode::Enforce)])
    }

    /// The same in another process.
    pub fn at(home: Home) -> Self {
        Self::made(vec![(Plugin::Judge(Box::new(Grants)), PluginMode::Enforce)], home, None)
    }

    pub fn with(plugins: Vec<(Plugin, PluginMode)>) -> Self {
        Self::made(plugins, Home { node: Uuid::from_u128(1), at: Some("http://one".into()) }, None)
    }

    /// With these judges, and somebody who draws spans.
    pub fn drawn(judges: Vec<Box<dyn Judge>>, spans: Arc<dyn Spans>) -> Self {
        let judges = judges.into_iter().chain([Box::new(Grants) as Box<dyn Judge>]);
        let plugins = judges.map(|judge| (Plugin::Judge(judge), PluginMode::Enforce)).collect();
        Self::made(plugins, Home { node: Uuid::from_u128(1), at: Some("http://one".into()) }, Some(spans))
    }

    /// In a process that has seen these definitions.
    pub fn knowing(plugins: Vec<(Plugin, PluginMode)>, definitions: Definitions) -> Self {
        Self::built(plugins, Home { node: Uuid::from_u128(1), at: Some("http://one".into()) }, None, definitions)
    }

    fn made(plugins: Vec<(Plugin, PluginMode)>, home: Home, spans: Option<Arc<dyn Spans>>) -> Self {
        Self::built(plugins, home, spans, Definitions::default())
    }

    fn built(
        plugins: Vec<(Plugin, PluginMode)>,
        home: Home,
        spans: Option<Arc<dyn Spans>>,
        definitions: Definitions,
    ) -> Self {
        let seen = Arc::new(Seen {
            clock: FixedClock::default(),
            principal: Mutex::new(agent("a-1")),
            calls: Mutex::default(),
            traces: Mutex::default(),
            rows: Mutex::default(),
            taken: Mutex::default(),
            shown: Mutex::default(),
            carried: Mutex::default(),
            definition: Mutex::default(),
            live: Arc::default(),
            runs: Arc::default(),
            set_aside: Mutex::default(),
            refuses_work: Mutex::default(),
            spent: Mutex::default(),
            answers: Mutex::new(Box::new(|exchange| {
                let id = exchange.message().and_then(|message| message.id().cloned()).unwrap();
                Answered::one(200, &gateway_protocol::Message::result(id, json!({ "content": [] })))
            })),
            carries: Mutex::new(Box::new(|_, _| Err(PeerError::Gone))),
        });
        let name: ToolName = "crm/read".parse().unwrap();
        let manifest = ToolManifest {
            id: name.clone(),
            domain: "crm".into(),
            risk_level: RiskLevel::ReadOnly,
            side_effects: false,
            allowed_modes: AgentMode::ALL.to_vec(),
        };
        let tools = BTreeMap::from([(name, Arc::new(ClassifiedTool::new(manifest, None)))]);
        let chain = Chain::new(plugins, Arc::new(Policies::new(tools, Matrix::standard())));
        let ports = Ports {
            directory: seen.clone(),
            usage: seen.clone(),
            audit: seen.clone(),
            registry: seen.clone(),
            clock: Arc::new(Shared(seen.clone())),
            seal: Arc::new(PlainSeal),
            peers: seen.clone(),
            once: seen.clone(),
            approvals: Arc::new(NoApprovals),
            notices: Arc::new(NoNotices),
            runs: seen.runs.clone(),
            live: seen.live.clone(),
            definitions: Arc::new(definitions),
            aside: seen.clone(),
            spans,
            home,
        };
        let settings = Settings { max_depth: 64, hold: std::time::Duration::from_secs(300), ..Settings::default() };
        let gateway = Gateway::new(chain, Arc::new(Shared(seen.clone())), ports, settings);
        Self { world: seen, gateway: Arc::new(gateway) }
    }

    pub fn answers(&self, answers: impl Fn(&Exchange) -> Answered + Send + Sync + 'static) {
        *self.world.answers.lock().unwrap() = Box::new(answers);
    }

    pub fn carries(&self, carries: impl Fn(&Home, Carried) -> Result<Answer, PeerError> + Send + Sync + 'static) {
        *self.world.carries.lock().unwrap() = Box::new(carries);
    }

    pub fn calls(&self) -> usize {
        self.world.calls.lock().unwrap().len()
    }

    pub fn handle(&self, inbound: Inbound) -> Answer {
        self.gateway.handle(inbound).now_or_never().unwrap()
    }

    /// A modern request with the headers and `_meta` it must have.
    pub fn modern(&self, method: &str, params: Value) -> Answer {
        self.handle(modern(method, params))
    }

    /// A message of a legacy client, in a session or none.
    pub fn legacy(&self, message: &Value, session: Option<&str>) -> Answer {
        let mut inbound = inbound(Verb::Post(message.to_string().into()));
        inbound.headers.protocol_version = Some("2025-11-25".into());
        inbound.headers.session_id = session.map(Into::into);
        self.handle(inbound)
    }
}

pub fn inbound(verb: Verb) -> Inbound {
    Inbound {
        route: Route::One("crm".parse().unwrap()),
        verb,
        headers: McpHeaders::default(),
        carried: Vec::new(),
        credential: Credential::Key("k".into()),
        wire: Wire::Http,
        metadata_url: Some("https://gate/.well-known/oauth-protected-resource/crm/mcp".into()),
        filter: ListFilter::default(),
        run: None,
    }
}

pub fn modern(method: &str, mut params: Value) -> Inbound {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let name = ["name", "uri", "taskId"].into_iter().find_map(|key| params[key].as_str()).map(str::to_owned);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut inbound = inbound(Verb::Post(message.to_string().into()));
    inbound.headers.protocol_version = Some("2026-07-28".into());
    inbound.headers.method = Some(method.into());
    inbound.headers.name = name;
    inbound
}

/// The answer's message, or the events of its stream that are there already.
pub fn said(answer: Answer) -> Vec<Value> {
    match answer.body {
        AnswerBody::Empty => Vec::new(),
        AnswerBody::Json(json) => vec![serde_json::from_slice(&json).unwrap()],
        AnswerBody::Events(mut events) => {
            let mut said = Vec::new();
            // What is left out leaves a gap: a stream that has nothing to say several times in a row is waiting.
            let mut quiet = 0;
            while quiet < 8 {
                match events.next().now_or_never() {
                    None => quiet += 1,
                    Some(None) => break,
                    Some(Some(sse::Frame::Event(event))) => said.push(serde_json::from_slice(&event.data).unwrap()),
                    Some(Some(sse::Frame::Comment(_))) => {}
                }
            }
            said
        }
    }
}

pub fn one(answer: Answer) -> Value {
    said(answer).pop().unwrap()
}

struct Grants;

impl Judge for Grants {
    fn name(&self) -> &'static str {
        "grants"
    }

    fn on_request(&self, _exchange: &Exchange) -> Verdict {
        Verdict::Grant
    }
}

/// The ports that are handed out behind their own pointer.
struct Shared(Arc<Seen>);

impl Clock for Shared {
    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    fn fresh_id(&self) -> Uuid {
        self.0.clock.fresh_id()
    }
}

impl ExecutionEngine for Shared {
    fn upstream(&self, _route: &Route) -> Option<Arc<dyn Upstream>> {
        Some(self.0.clone())
    }

    fn namespaces(&self) -> Vec<Namespace> {
        vec!["crm".parse().unwrap()]
    }

    fn resolve(&self, listed: &str) -> Option<ToolName> {
        format!("crm/{listed}").parse().ok()
    }

    fn watches(&self, _tool: &ToolName) -> bool {
        false
    }
}

#[async_trait]
impl Upstream for Seen {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        self.calls.lock().unwrap().push(permit.exchange().clone());
        Ok((self.answers.lock().unwrap())(permit.exchange()))
    }

    async fn definition(&self, _asked_for: &Exchange, _tool: &str) -> Result<Option<Arc<Value>>, UpstreamError> {
        Ok(self.definition.lock().unwrap().clone())
    }
}

#[async_trait]
impl Directory for Seen {
    async fn authenticate(&self, credential: &Credential) -> Result<Arc<Principal>, AuthError> {
        self.shown.lock().unwrap().push(credential.clone());
        match credential {
            Credential::None => Err(AuthError::Missing),
            Credential::Key(_) | Credential::Vouched(_) => Ok(Arc::new(self.principal.lock().unwrap().clone())),
        }
    }
}

impl Usage for Seen {
    fn take(&self, _principal: &Principal) -> Result<(), Limited> {
        *self.taken.lock().unwrap() += 1;
        Ok(())
    }

    fn open_stream(&self, _principal: &Principal) -> Result<StreamSlot, Limited> {
        Ok(StreamSlot::new(()))
    }
}

#[async_trait]
impl AuditBuffer for Seen {
    fn reserve(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn release(&self, _records: usize) {}

    async fn append(&self, draft: TraceDraft, _wait: bool) -> Result<Option<Receipt>, LedgerError> {
        self.traces.lock().unwrap().push(draft);
        Ok(None)
    }

    fn settle(&self, row: AuditRow) {
        self.rows.lock().unwrap().push(row);
    }
}

#[async_trait]
impl ToolRegistry for Seen {
    fn seen(&self, _tenant: TenantId, _tools: Vec<(ToolDefinition, Option<RiskLevel>)>) {}

    async fn registered(&self, _tenant: TenantId) -> Result<Vec<RegisteredTool>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Once for Seen {
    async fn spend(&self, token: Uuid, _until: Timestamp) -> Result<bool, StoreError> {
        Ok(self.spent.lock().unwrap().insert(token))
    }
}

#[async_trait]
impl Aside for Seen {
    async fn take(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), BoxError> {
        *self.set_aside.lock().unwrap() += 1;
        if *self.refuses_work.lock().unwrap() {
            return Err("nobody is there to do it".into());
        }
        work();
        Ok(())
    }
}

#[async_trait]
impl Peers for Seen {
    async fn carry(&self, to: &Home, request: Carried) -> Result<Answer, PeerError> {
        self.carried.lock().unwrap().push((to.clone(), request.clone()));
        (self.carries.lock().unwrap())(to, request)
    }
}

/// A body that is not asked for again.
pub fn body(message: &Value) -> Bytes {
    message.to_string().into()
}

pub fn tool_call(params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// What an exchange's message said.
pub fn sent(exchange: &Exchange) -> Value {
    match &exchange.ask {
        Ask::Message(message) => serde_json::to_value(message).unwrap(),
        _ => Value::Null,
    }
}
