//! What a caller is told when the answer is no: the one place that turns a refusal into an HTTP answer.

use std::borrow::Cow;

use bytes::Bytes;
use futures::stream::BoxStream;
use gateway_protocol::{Id, Malformed, Message, RpcError, code, sse};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::exchange::Exchange;
use crate::names::TraceId;
use crate::ports::{AuthError, Limited, UpstreamError};
use crate::scopes::Scope;
use crate::verdict::{Decision, Reason};

/// What goes back to the client.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: AnswerBody,
}

pub enum AnswerBody {
    Empty,
    Json(Bytes),
    Events(BoxStream<'static, sse::Frame>),
}

impl Answer {
    pub fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: AnswerBody::Empty }
    }

    pub fn message(status: u16, message: &Message) -> Self {
        Self { status, headers: Vec::new(), body: AnswerBody::Json(message.to_vec().into()) }
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// How the operator wants refusals worded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// Refused tool calls as JSON-RPC errors instead of tool results.
    pub rpc_errors: bool,
    /// Leave the reasons in the trace and tell the caller only that it was refused.
    pub terse: bool,
}

/// The object that travels with every refusal, in the result's `_meta` or as the error's `data`.
#[derive(Serialize)]
struct DecisionObject<'a> {
    trace_id: &'a TraceId,
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<&'a [Reason]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl<'a> DecisionObject<'a> {
    fn deny(trace_id: &'a TraceId, reason: &'a Reason) -> Self {
        let reasons = Some(std::slice::from_ref(reason));
        Self { trace_id, decision: Decision::Deny, approval_id: None, reasons, retry_after_ms: None }
    }

    fn into_value(self) -> Value {
        json!(self)
    }
}

/// The chain said no, or not yet.
pub struct Refused<'a> {
    pub trace_id: &'a TraceId,
    pub decision: Decision,
    pub reasons: &'a [Reason],
    /// Refused tool calls are results that a model can read; other methods get errors.
    pub tool: Option<&'a str>,
    pub modern: bool,
    /// What a human was asked.
    pub waiting: Option<Waiting>,
}

/// A question to a human that is still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub approval: Uuid,
    pub until: Timestamp,
    /// Somebody other than the agent's own user must decide.
    pub four_eyes: bool,
}

impl Refused<'_> {
    pub fn answer(&self, id: Option<Id>, manner: Manner) -> Answer {
        let Some(id) = id else {
            return Answer::empty(403);
        };
        let reasons = (!manner.terse).then_some(self.reasons);
        let Self { trace_id, decision, .. } = *self;
        let approval_id = self.waiting.map(|waiting| waiting.approval);
        let object = DecisionObject { trace_id, decision, approval_id, reasons, retry_after_ms: None }.into_value();
        match self.tool {
            Some(tool) if !manner.rpc_errors => {
                Answer::message(200, &tool_error(id, &self.text(tool, manner), &object, self.modern))
            }
            _ => {
                let (code, subject) = (self.code(), self.tool.unwrap_or("this request"));
                let error = RpcError { code, message: self.text(subject, manner), data: Some(object) };
                Answer::message(200, &Message::error(Some(id), error))
            }
        }
    }

    /// A wider token would do: the challenge names the one scope that is missing, so that a client can ask for exactly that.
    pub fn step_up(&self, id: Option<Id>, scope: Scope, metadata_url: Option<&str>) -> Answer {
        let Self { trace_id, decision, reasons, .. } = *self;
        let reasons = Some(reasons);
        let object =
            DecisionObject { trace_id, decision, approval_id: None, reasons, retry_after_ms: None }.into_value();
        let message = format!("a token with the scope `{}` is needed for this", scope.as_str());
        let error = RpcError { code: code::DENIED, message, data: Some(object) };
        let mut challenge =
            format!("Bearer realm=\"portreeve\", error=\"insufficient_scope\", scope=\"{}\"", scope.as_str());
        if let Some(url) = metadata_url {
            challenge.push_str(&format!(", resource_metadata=\"{url}\""));
        }
        Answer::message(403, &Message::error(id, error)).with("WWW-Authenticate", challenge)
    }

    fn code(&self) -> i64 {
        match self.decision {
            Decision::ApprovalRequired => code::APPROVAL_REQUIRED,
            _ => code::DENIED,
        }
    }

    /// What was refused, why, and what to do next: models recover from a sentence.
    fn text(&self, subject: &str, manner: Manner) -> String {
        let (what, next) = match (self.decision, self.waiting) {
            (Decision::ApprovalRequired, Some(waiting)) => {
                ("needs a human's approval and was not carried out", waiting.text().into())
            }
            (Decision::ApprovalRequired, None) => (
                "needs a human's approval and was not carried out",
                Cow::Borrowed("Ask the person you work for to approve it, then repeat the same call."),
            ),
            _ => (
                "was refused and not carried out",
                Cow::Borrowed("Do not repeat it unchanged; choose another way or ask the operator."),
            ),
        };
        let why = match manner.terse {
            true => String::new(),
            false => self.reasons.iter().map(|reason| format!(" {}.", reason.message)).collect(),
        };
        format!("{subject} {what}.{why} {next} (trace {})", self.trace_id)
    }
}

impl Waiting {
    fn text(&self) -> String {
        let Self { approval, until, four_eyes } = self;
        let who = match four_eyes {
            true => "somebody other than this agent's own user",
            false => "somebody",
        };
        let until = until.strftime("%Y-%m-%d %H:%MZ");
        format!(
            "Approval {approval} was requested and waits until {until}; {who} must decide. Repeat the same call afterwards."
        )
    }
}

/// `metadata_url` is where a client that can fetch a token learns from whom, and for what.
pub fn unauthenticated(trace_id: &TraceId, error: &AuthError, metadata_url: Option<&str>) -> Answer {
    let mut challenge = String::from("Bearer realm=\"portreeve\"");
    // Nothing was wrong with what was not sent (RFC 6750, 3.1).
    if !matches!(error, AuthError::Missing) {
        challenge.push_str(", error=\"invalid_token\"");
    }
    let reason = Reason::new("identity", "credential", error.to_string());
    let data = DecisionObject::deny(trace_id, &reason).into_value();
    let error = RpcError { code: code::UNAUTHENTICATED, message: error.to_string(), data: Some(data) };
    if let Some(url) = metadata_url {
        challenge.push_str(&format!(", resource_metadata=\"{url}\", scope=\"{}\"", Scope::Read.as_str()));
    }
    Answer::message(401, &Message::error(None, error)).with("WWW-Authenticate", challenge)
}

/// Closed, but not the caller's fault: a client must not throw its key away for this.
pub fn identity_unavailable(error: &AuthError) -> Answer {
    let error = RpcError::new(code::INTERNAL, format!("{error}; try again shortly"));
    Answer::message(503, &Message::error(None, error)).with("Retry-After", "2")
}

pub fn limited(trace_id: &TraceId, limited: &Limited, id: Option<Id>) -> Answer {
    let reason = Reason::new("limits", limited.rule, limited.message.clone());
    let wait = Some(limited.retry_after_ms);
    let data = DecisionObject { retry_after_ms: wait, ..DecisionObject::deny(trace_id, &reason) }.into_value();
    let error = RpcError { code: code::LIMITED, message: limited.message.clone(), data: Some(data) };
    let seconds = limited.retry_after_ms.div_ceil(1000).max(1);
    Answer::message(429, &Message::error(id, error)).with("Retry-After", seconds.to_string())
}

pub fn unrecorded(trace_id: &TraceId, id: Option<Id>) -> Answer {
    let message = "this cannot be recorded right now, so it was not carried out; try again shortly";
    let reason = Reason::new("ledger", "unavailable", message);
    let data = DecisionObject::deny(trace_id, &reason).into_value();
    let error = RpcError { code: code::UNRECORDED, message: message.into(), data: Some(data) };
    Answer::message(503, &Message::error(id, error)).with("Retry-After", "2")
}

pub fn malformed(malformed: &Malformed) -> Answer {
    Answer::message(400, &malformed.to_message())
}

/// The session eras say 404 for a session that is gone; clients then initialise again.
pub fn session_gone(id: Option<Id>) -> Answer {
    let error =
        RpcError { code: code::INVALID_REQUEST, message: "Session not found: initialize again".into(), data: None };
    Answer::message(404, &Message::error(id, error))
}

pub fn unknown_route(id: Option<Id>, namespaces: &[String]) -> Answer {
    let message = format!("no upstream has this namespace; there are: {}", namespaces.join(", "));
    Answer::message(404, &Message::error(id, RpcError { code: code::INVALID_REQUEST, message, data: None }))
}

/// The cause is logged by the caller of this function and stays here.
pub fn upstream_failed(error: &UpstreamError, id: Option<Id>) -> Answer {
    let status = match error {
        UpstreamError::SessionGone(_) => return session_gone(id),
        UpstreamError::TimedOut(_) => 504,
        _ => 502,
    };
    Answer::message(status, &upstream_error(error, id))
}

pub fn upstream_error(error: &UpstreamError, id: Option<Id>) -> Message {
    let message = format!("MCP server is not available: {error}");
    Message::error(id, RpcError { code: code::INTERNAL, message, data: None })
}

/// The node that holds what was asked about has the request, and perhaps did what it says: it is recorded there.
pub fn node_failed(id: Option<Id>) -> Answer {
    let message = "the node that holds this session took the request and did not answer; whether it was carried out is in the audit log";
    Answer::message(502, &Message::error(id, RpcError::new(code::INTERNAL, message)))
}

/// What a model reads where a tool failed.
fn tool_error(id: Id, text: &str, object: &Value, modern: bool) -> Message {
    let mut result = Map::new();
    result.insert("content".into(), json!([{ "type": "text", "text": text }]));
    result.insert("isError".into(), Value::Bool(true));
    result.insert("_meta".into(), json!({ "io.portreeve/decision": object }));
    if modern {
        result.insert("resultType".into(), json!("complete"));
    }
    Message::result(id, Value::Object(result))
}

/// A tool's answer that a plugin would not let through, as the tool error that takes its place: a model can go on from that.
/// Everything else that is kept back is replaced by an error of the protocol.
pub fn kept_back(exchange: &Exchange, reason: &Reason, manner: Manner, id: Option<Id>) -> Message {
    let (Some(tool), Some(answered)) = (exchange.tool().filter(|_| !manner.rpc_errors), &id) else {
        return withheld(&exchange.trace_id, reason, manner, id);
    };
    if exchange.message().and_then(Message::id) != Some(answered) {
        return withheld(&exchange.trace_id, reason, manner, id);
    }
    let mut object = DecisionObject::deny(&exchange.trace_id, reason);
    object.reasons = object.reasons.filter(|_| !manner.terse);
    let why = if manner.terse { String::new() } else { format!(" {}.", reason.message) };
    let text = format!(
        "{} was carried out, but its answer was withheld by policy.{why} Do not repeat the call for it; ask the operator. (trace {})",
        tool.name, exchange.trace_id
    );
    tool_error(answered.clone(), &text, &object.into_value(), exchange.is_modern())
}

/// A reply that a plugin would not let through, as the error that takes its place.
pub fn withheld(trace_id: &TraceId, reason: &Reason, manner: Manner, id: Option<Id>) -> Message {
    let mut object = DecisionObject::deny(trace_id, reason);
    object.reasons = object.reasons.filter(|_| !manner.terse);
    let data = object.into_value();
    let message = "the answer was withheld by policy".into();
    Message::error(id, RpcError { code: code::DENIED, message, data: Some(data) })
}
