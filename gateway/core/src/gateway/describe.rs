//! From a message and its headers to an [`Exchange`]: which revision, which session, what it is about.

use std::sync::Arc;
use std::time::Duration;

use gateway_protocol::{Malformed, Message, Revision, code, headers};
use serde::Deserialize;
use serde_json::Value;

use super::rounds::{Rounds, Spend};
use super::tasks::Tasks;
use super::{Caller, Gateway, Shown, Wire, members};
use crate::chain::Chain;
use crate::classification::{Classification, DecisionType, Reversibility, Risk};
use crate::exchange::{Ask, Exchange, Route, Subject, ToolSubject};
use crate::live::TenantRules;
use crate::manifest::RiskLevel;
use crate::names::{ToolName, TraceId};
use crate::ports::ExecutionEngine;
use crate::resume;
use crate::session::Session;

/// Where an agent says what it takes its own call for.
const DECLARED: &str = "io.portreeve/classification";
const HANDSHAKE_BYTES: usize = 16 * 1024;

pub(super) struct Described {
    pub(super) exchange: Box<Exchange>,
    /// The state it came with, to be used up when it is sent.
    pub(super) spend: Option<Spend>,
    /// The event of ours after which a broken stream is to go on.
    pub(super) resumes: Option<String>,
}

pub(super) enum Indescribable {
    Malformed(Malformed),
    SessionGone,
}

impl From<Malformed> for Indescribable {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl Gateway {
    pub(super) fn describe(
        &self,
        caller: &Caller,
        mut ask: Ask,
        trace_id: TraceId,
        chain: &Chain,
        engine: &dyn ExecutionEngine,
    ) -> Result<Described, Indescribable> {
        let declared = declared_revision(caller, &ask)?;
        modest_handshake(&ask)?;
        let session = match declared {
            // The stateless era has no sessions; an id that is sent anyway means nothing.
            Some(revision) if revision.is_modern() => None,
            _ => open_session(caller, &ask)?,
        };
        let revision =
            declared.or_else(|| session.as_ref().and_then(Session::revision)).or_else(|| offered_revision(&ask));
        let live = self.ports.live.load();
        let rules = Arc::clone(live.rules_of(caller.principal.tenant));
        let mut subject = subject(&caller.route, &mut ask, chain, &rules, engine)?;
        let mut said = None;
        if let Subject::Tool(tool) = &mut subject {
            (tool.standing, tool.pin) = self.ports.definitions.standing(&live.pins, &tool.name);
            said = declared_class(&ask)?;
        }
        let member = members::member(&caller.route, &mut ask, engine);
        let mut carried = caller.carried.clone();
        // Only the stateless era mirrors arguments in headers; before it nobody checks them, so nobody gets them.
        let mirrored = caller.headers.params.iter().filter(|_| declared.is_some_and(Revision::is_modern));
        carried.extend(mirrored.map(|(name, value)| (format!("{}{name}", headers::PARAM_PREFIX), value.clone())));
        let (principal, route) = (caller.principal.clone(), caller.route.clone());
        let mut exchange = Box::new(Exchange {
            revision,
            session,
            carried,
            member,
            passage: caller.passage,
            live,
            rules,
            at: self.ports.clock.now(),
            declared: said,
            run: caller.run.clone(),
            ..Exchange::new(trace_id, principal, route, ask, subject)
        });
        Tasks::new(&self.ports, &self.memory).open(&mut exchange)?;
        let spend = Rounds::new(&self.ports, Duration::ZERO).open(&mut exchange)?;
        let resumes = own_event(&mut exchange.ask);
        Ok(Described { exchange, spend, resumes })
    }
}

fn open_session(caller: &Caller, ask: &Ask) -> Result<Option<Session>, Indescribable> {
    let starts_one = matches!(ask, Ask::Message(message) if message.method() == Some("initialize"));
    match &caller.session {
        _ if starts_one => Ok(None),
        Shown::Nothing => Ok(None),
        Shown::Open(session) => Ok(Some(session.clone())),
        Shown::Gone => Err(Indescribable::SessionGone),
    }
}

/// Our own event ids mean nothing upstream, so they do not go there.
fn own_event(ask: &mut Ask) -> Option<String> {
    match ask {
        Ask::Listen { last_event_id } => last_event_id.take_if(|id| resume::is_ours(id)),
        _ => None,
    }
}

fn declared_revision(caller: &Caller, ask: &Ask) -> Result<Option<Revision>, Malformed> {
    let Ask::Message(message) = ask else {
        let said = caller.headers.protocol_version.as_deref();
        return Ok(said.and_then(|said| said.parse().ok()));
    };
    if caller.wire == Wire::Messages {
        let declared = headers::body_revision(message)?;
        if declared.is_some_and(Revision::is_modern) {
            headers::check_meta(message)?;
        }
        return Ok(declared);
    }
    let declared = headers::declared_revision(&caller.headers, message)?;
    if declared.is_some_and(Revision::is_modern) {
        headers::check_agreement(&caller.headers, message)?;
    }
    Ok(declared)
}

/// A handshake is kept for as long as its session, so it may not be as large as a call.
fn modest_handshake(ask: &Ask) -> Result<(), Malformed> {
    let Ask::Message(message) = ask else {
        return Ok(());
    };
    let opening = message.params().filter(|_| message.method() == Some("initialize"));
    let bytes = opening.and_then(|params| serde_json::to_vec(params).ok()).map_or(0, |json| json.len());
    match bytes > HANDSHAKE_BYTES {
        true => Err(Malformed::new(code::INVALID_PARAMS, "`initialize` is larger than 16 KiB").answering(message.id())),
        false => Ok(()),
    }
}

/// What the agent itself says of its call; it can only raise what the manifest says.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct DeclaredClass {
    decision_type: Option<DecisionType>,
    risk: Option<Risk>,
    reversibility: Option<Reversibility>,
}

fn declared_class(ask: &Ask) -> Result<Option<Classification>, Malformed> {
    let Ask::Message(message) = ask else {
        return Ok(None);
    };
    let Some(written) = message.meta().and_then(|meta| meta.get(DECLARED)) else {
        return Ok(None);
    };
    let DeclaredClass { decision_type, risk, reversibility } =
        DeclaredClass::deserialize(written).map_err(|error| {
            let what = format!("`_meta[\"{DECLARED}\"]`: {error}");
            Malformed::new(code::INVALID_PARAMS, what).answering(message.id())
        })?;
    let least = RiskLevel::ReadOnly.classification();
    Ok(Some(Classification::new(
        decision_type.unwrap_or(least.decision_type),
        risk.unwrap_or(least.risk),
        reversibility.unwrap_or(least.reversibility),
    )))
}

/// What a legacy client offers in its handshake; the answer may settle on another.
fn offered_revision(ask: &Ask) -> Option<Revision> {
    let Ask::Message(message) = ask else {
        return None;
    };
    (message.method() == Some("initialize")).then_some(())?;
    message.params()?.get("protocolVersion")?.as_str()?.parse().ok()
}

/// Requests that are not tool calls. What is not on either list is assumed to act.
fn method_subject(method: &str) -> Subject {
    match method {
        "resources/read" | "prompts/get" | "completion/complete" | "tasks/get" | "tasks/result" | "tasks/list" => {
            Subject::Read
        }
        "initialize"
        | "ping"
        | "server/discover"
        | "tools/list"
        | "prompts/list"
        | "resources/list"
        | "resources/templates/list"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "subscriptions/listen"
        | "logging/setLevel" => Subject::Plain,
        _ => Subject::Act,
    }
}

/// Like the governance tools: a trace of reading the traces would lengthen what is read.
fn reads_our_books(message: &Message, route: &Route, engine: &dyn ExecutionEngine) -> bool {
    let uri = message.params().and_then(|params| params.get("uri")).and_then(Value::as_str);
    uri.is_some_and(|uri| engine.governs_uri(route, uri))
}

fn subject(
    route: &Route,
    ask: &mut Ask,
    chain: &Chain,
    rules: &TenantRules,
    engine: &dyn ExecutionEngine,
) -> Result<Subject, Malformed> {
    let Ask::Message(message) = ask else {
        return Ok(Subject::Plain);
    };
    match (&*message, message.method()) {
        (_, Some("tools/call")) => {}
        (Message::Request(_), Some("resources/read")) if reads_our_books(message, route, engine) => {
            return Ok(Subject::Plain);
        }
        (Message::Request(_), Some(method)) => return Ok(method_subject(method)),
        _ => return Ok(Subject::Plain),
    }
    let refuse =
        |what: &str, message: &Message| Err(Malformed::new(code::INVALID_PARAMS, what).answering(message.id()));
    let Message::Request(request) = &*message else {
        return Err(Malformed::new(code::INVALID_REQUEST, "`tools/call` must be a request with an id"));
    };
    let Some(listed) = request.tool_name() else {
        return refuse("`params.name` must be the name of a tool", message);
    };
    let name = match route {
        Route::One(namespace) => ToolName::listed(namespace, listed),
        Route::All => engine.resolve(listed),
    };
    let Some(name) = name else {
        let what = format!("Unknown tool: {}", shown(listed));
        return refuse(&what, message);
    };
    if *route == Route::All
        && let Some(params) = message.params_mut()
    {
        // What is judged is what is sent: from here on the call carries the name its upstream knows.
        params.insert("name".into(), Value::from(name.tool()));
    }
    // A tenant's own manifest is of a tool nobody else classified, or stricter than the file's.
    let classified = rules.tool(&name).or_else(|| chain.policies().tool(&name)).cloned();
    let observed = engine.watches(&name);
    Ok(Subject::Tool(ToolSubject::new(name, classified, observed)))
}

/// A name as an error shows it: the caller chose its length and its letters, we choose what is kept of them.
fn shown(name: &str) -> String {
    name.chars().take(100).flat_map(char::escape_debug).collect()
}
