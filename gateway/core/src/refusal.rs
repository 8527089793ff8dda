//! What a caller is told when the answer is no: the one place that turns a refusal into an HTTP answer.

use bytes::Bytes;
use futures::stream::BoxStream;
use gateway_protocol::{Id, Malformed, Message, RpcError, code, sse};
use serde_json::{Value, json};

use crate::names::TraceId;
use crate::ports::{AuthError, Limited, UpstreamError};
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
fn decision_object(trace_id: &TraceId, decision: Decision, reasons: &[Reason], manner: Manner, retry_after_ms: Option<u64>) -> Value {
    let mut object = json!({ "trace_id": trace_id, "decision": decision });
    if !manner.terse {
        object["reasons"] = json!(reasons);
    }
    if let Some(wait) = retry_after_ms {
        object["retry_after_ms"] = json!(wait);
    }
    object
}

/// The chain said no, or not yet.
pub struct Refused<'a> {
    pub trace_id: &'a TraceId,
    pub decision: Decision,
    pub reasons: &'a [Reason],
    /// Refused tool calls are results that a model can read; other methods get errors.
    pub tool: Option<&'a str>,
    pub modern: bool,
}

impl Refused<'_> {
    pub fn answer(&self, id: Option<Id>, manner: Manner) -> Answer {
        let Some(id) = id else {
            return Answer::empty(403);
        };
        let object = decision_object(self.trace_id, self.decision, self.reasons, manner, None);
        match self.tool {
            Some(tool) if !manner.rpc_errors => {
                let mut result = json!({
                    "content": [{ "type": "text", "text": self.text(tool, manner) }],
                    "isError": true,
                    "_meta": { "io.portreeve/decision": object },
                });
                if self.modern {
                    result["resultType"] = json!("complete");
                }
                Answer::message(200, &Message::result(id, result))
            }
            _ => {
                let (code, subject) = (self.code(), self.tool.unwrap_or("this request"));
                let error = RpcError { code, message: self.text(subject, manner), data: Some(object) };
                Answer::message(200, &Message::error(Some(id), error))
            }
        }
    }

    fn code(&self) -> i64 {
        match self.decision {
            Decision::ApprovalRequired => code::APPROVAL_REQUIRED,
            _ => code::DENIED,
        }
    }

    /// What was refused, why, and what to do next: models recover from a sentence.
    fn text(&self, subject: &str, manner: Manner) -> String {
        let (what, next) = match self.decision {
            Decision::ApprovalRequired => (
                "needs a human's approval and was not carried out",
                "Ask the person you work for to approve it, then repeat the same call.",
            ),
            _ => ("was refused and not carried out", "Do not repeat it unchanged; choose another way or ask the operator."),
        };
        let why = match manner.terse {
            true => String::new(),
            false => self.reasons.iter().map(|reason| format!(" {}.", reason.message)).collect(),
        };
        format!("{subject} {what}.{why} {next} (trace {})", self.trace_id)
    }
}

pub fn unauthenticated(trace_id: &TraceId, error: &AuthError, id: Option<Id>) -> Answer {
    let reason = Reason::new("identity", "credential", error.to_string());
    let data = decision_object(trace_id, Decision::Deny, &[reason], Manner::default(), None);
    let error = RpcError { code: code::UNAUTHENTICATED, message: error.to_string(), data: Some(data) };
    Answer::message(401, &Message::error(id, error)).with("WWW-Authenticate", "Bearer realm=\"portreeve\"")
}

pub fn limited(trace_id: &TraceId, limited: &Limited, id: Option<Id>) -> Answer {
    let reason = Reason::new("limits", limited.rule, limited.message.clone());
    let wait = Some(limited.retry_after_ms);
    let data = decision_object(trace_id, Decision::Deny, &[reason], Manner::default(), wait);
    let error = RpcError { code: code::LIMITED, message: limited.message.clone(), data: Some(data) };
    let seconds = limited.retry_after_ms.div_ceil(1000).max(1);
    Answer::message(429, &Message::error(id, error)).with("Retry-After", seconds.to_string())
}

pub fn unrecorded(trace_id: &TraceId, id: Option<Id>) -> Answer {
    let message = "this cannot be recorded right now, so it was not carried out; try again shortly";
    let reason = Reason::new("ledger", "unavailable", message);
    let data = decision_object(trace_id, Decision::Deny, &[reason], Manner::default(), None);
    let error = RpcError { code: code::UNRECORDED, message: message.into(), data: Some(data) };
    Answer::message(503, &Message::error(id, error)).with("Retry-After", "2")
}

pub fn malformed(malformed: &Malformed) -> Answer {
    Answer::message(400, &malformed.to_message())
}

/// The session eras say 404 for a session that is gone; clients then initialise again.
pub fn session_gone(id: Option<Id>) -> Answer {
    let error = RpcError { code: code::INVALID_REQUEST, message: "Session not found: initialize again".into(), data: None };
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

/// A reply that a plugin would not let through, as the error that takes its place.
pub fn withheld(trace_id: &TraceId, reason: &Reason, manner: Manner, id: Option<Id>) -> Message {
    let data = decision_object(trace_id, Decision::Deny, std::slice::from_ref(reason), manner, None);
    let message = "the answer was withheld by policy".into();
    Message::error(id, RpcError { code: code::DENIED, message, data: Some(data) })
}
