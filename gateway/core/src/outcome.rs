//! What became of a call: the row beside its trace, with redacted payloads and timing.
//!
//! The trace is the proof and holds digests; the row may be erased without breaking a chain.

use bytes::Bytes;
use jiff::Timestamp;
use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::classification::Classification;
use crate::content::Recorder;
use crate::keys;
use crate::live::TenantRules;
use crate::names::{AgentId, TenantId, ToolName, TraceId};

/// How a call ended, as `status_code` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Ok,
    /// The tool ran and said it failed.
    ToolError,
    /// The upstream answered with a JSON-RPC error.
    RpcError,
    Denied,
    ApprovalRequired,
    /// The round ended in a question to the caller.
    InputRequired,
    Unauthenticated,
    Malformed,
    Limited,
    /// There is no such namespace, or no such session for this caller.
    NotFound,
    UpstreamFailed,
    /// The gateway itself lost its head over this.
    GatewayFailed,
    /// The client went away before the answer was complete.
    Cancelled,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::RpcError => "rpc_error",
            Self::Denied => "denied",
            Self::ApprovalRequired => "approval_required",
            Self::InputRequired => "input_required",
            Self::Unauthenticated => "unauthenticated",
            Self::Malformed => "malformed",
            Self::Limited => "limited",
            Self::NotFound => "not_found",
            Self::UpstreamFailed => "upstream_failed",
            Self::GatewayFailed => "gateway_failed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    pub trace_id: TraceId,
    pub tenant: Option<TenantId>,
    pub agent: AgentId,
    /// The store turns this into the registry's id of the tool.
    pub tool: Option<ToolName>,
    pub input: Option<JsonText>,
    pub output: Option<JsonText>,
    /// `None` where nothing was classified, as for a message that could not be read.
    pub classification: Option<Classification>,
    pub execution_time_ms: i64,
    pub status: Status,
    pub timestamp: Timestamp,
}

impl AuditRow {
    /// `{"code", "decision_type", "risk_level", "reversibility"}`: enum names, which need no escaping.
    pub fn risk_classification(&self) -> Option<String> {
        let part = self.classification?;
        let [decision_type, risk, reversibility] =
            [part.decision_type.as_str(), part.risk.as_str(), part.reversibility.as_str()];
        Some(
            [
                "{\"code\":\"",
                &part.code(),
                "\",\"decision_type\":\"",
                decision_type,
                "\",\"risk_level\":\"",
                risk,
                "\",\"reversibility\":\"",
                reversibility,
                "\"}",
            ]
            .concat(),
        )
    }
}

/// JSON that was already checked, kept as text: storing it costs no second parse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JsonText(Bytes);

/// Above this a payload is described instead of kept.
const KEPT_BYTES: usize = 16 * 1024;

impl JsonText {
    /// As a record may hold it, whatever its readers may not see left out. `checked` must be valid JSON.
    pub fn of(checked: Bytes, recorder: &dyn Recorder, rules: &TenantRules) -> Self {
        if checked.len() > KEPT_BYTES {
            return Self::from_checked(checked);
        }
        match recorder.json(rules, &checked) {
            Some(hidden) => Self::from_checked(hidden.into()),
            None => Self::from_checked(checked),
        }
    }

    /// `checked` must be valid JSON, as a scanned reply and our own serialisation are.
    pub fn from_checked(checked: Bytes) -> Self {
        if checked.len() > KEPT_BYTES {
            return Self(format!("{{\"omitted_bytes\":{}}}", checked.len()).into());
        }
        match std::str::from_utf8(&checked) {
            // Postgres cannot keep this one character; the row shows that something stood there.
            Ok(text) if memmem::find(&checked, b"\\u0000").is_some() => {
                Self::from_checked(text.replace("\\u0000", "\\ufffd").into())
            }
            // A key is shown once, to the one who asked for it; the record is read by others.
            Ok(text) if keys::in_text(text) => Self(keys::hide_in_text(text).into()),
            Ok(_) => Self(checked),
            Err(_) => Self(Bytes::from_static(b"null")),
        }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// UTF-8, for whoever does not need to be told so.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<String> for JsonText {
    type Error = serde_json::Error;

    fn try_from(text: String) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<serde::de::IgnoredAny>(&text)?;
        Ok(Self(text.into()))
    }
}

impl From<JsonText> for String {
    fn from(text: JsonText) -> String {
        text.as_str().into()
    }
}
