//! What a run remembers. The names are those of the files in a pack; all fields are always written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evidence::EvidenceResult;
use super::payload::Payload;
use super::{Correlation, Digest, GateTime, Id, Tri};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    AgentRequestNext,
    Tick,
    ExternalEvent,
    BackendEvent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriggerEvent {
    pub trigger_id: Id,
    pub run_id: Id,
    pub kind: TriggerKind,
    pub time: GateTime,
    pub source_id: Id,
    /// Opaque: recorded, never followed.
    pub payload_ref: Option<Value>,
    pub correlation_id: Option<Correlation>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriggerRecord {
    pub seq: u64,
    pub event: TriggerEvent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateEval {
    pub trigger_id: Id,
    pub stage_id: Id,
    pub evaluation: Evaluation,
    /// Each predicate once, by name.
    pub evidence: Vec<EvidenceRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    pub gate_id: Id,
    pub status: Tri,
    /// Every leaf in the order of the tree, repeats included.
    pub trace: Vec<Leaf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    pub predicate: Id,
    pub status: Tri,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    pub predicate: Id,
    pub status: Tri,
    pub result: EvidenceResult,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub decision_id: Id,
    pub seq: u64,
    pub trigger_id: Id,
    pub stage_id: Id,
    pub decided_at: GateTime,
    pub outcome: Outcome,
    pub correlation_id: Option<Correlation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    Start { stage_id: Id },
    Complete { stage_id: Id },
    Advance { from_stage: Id, to_stage: Id, timeout: bool },
    Hold { summary: Summary },
    Fail { reason: String },
}

/// What may be told about a hold: which gates, never which evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub status: String,
    pub unmet_gates: Vec<Id>,
    pub retry_hint: Option<String>,
    pub policy_tags: Vec<String>,
}

impl Summary {
    pub fn hold(unmet_gates: Vec<Id>) -> Self {
        let retry_hint = Some("await_evidence".into());
        Self { status: "hold".into(), unmet_gates, retry_hint, policy_tags: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Packet {
    pub envelope: Envelope,
    pub payload: Payload,
    pub receipts: Vec<Receipt>,
    pub decision_id: Id,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    pub scenario_id: Id,
    pub run_id: Id,
    pub stage_id: Id,
    pub packet_id: Id,
    pub schema_id: Id,
    pub content_type: String,
    pub content_hash: Digest,
    pub visibility: Visibility,
    pub expiry: Option<GateTime>,
    pub correlation_id: Option<Correlation>,
    pub issued_at: GateTime,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visibility {
    pub labels: Vec<String>,
    pub policy_tags: Vec<String>,
}

/// Nothing is sent anywhere: a receipt says that the packet was handed over with the answer, for this target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub dispatch_id: String,
    pub target: Target,
    pub receipt_hash: Digest,
    pub dispatched_at: GateTime,
    pub dispatcher: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    Agent { agent_id: Id },
    Session { session_id: Id },
    External { system: Id, target: Id },
    Channel { channel: Id },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    pub submission_id: Id,
    pub run_id: Id,
    pub payload: Payload,
    pub content_type: String,
    pub content_hash: Digest,
    pub submitted_at: GateTime,
    pub correlation_id: Option<Correlation>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub call_id: String,
    pub method: String,
    pub request_hash: Digest,
    pub response_hash: Digest,
    pub called_at: GateTime,
    pub correlation_id: Option<Correlation>,
    pub error: Option<CallError>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallError {
    pub code: String,
    pub message: String,
    pub details: Option<Value>,
}

/// The six logs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Log {
    Trigger,
    GateEval,
    Decision,
    Packet,
    Submission,
    ToolCall,
}

impl Log {
    pub const ALL: [Self; 6] =
        [Self::Trigger, Self::GateEval, Self::Decision, Self::Packet, Self::Submission, Self::ToolCall];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trigger => "trigger",
            Self::GateEval => "gate_eval",
            Self::Decision => "decision",
            Self::Packet => "packet",
            Self::Submission => "submission",
            Self::ToolCall => "tool_call",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|log| log.as_str() == name)
    }
}

/// One line of one log.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Entry {
    Trigger(TriggerRecord),
    GateEval(GateEval),
    Decision(Decision),
    Packet(Packet),
    Submission(Submission),
    ToolCall(ToolCall),
}

impl Entry {
    pub fn log(&self) -> Log {
        match self {
            Self::Trigger(_) => Log::Trigger,
            Self::GateEval(_) => Log::GateEval,
            Self::Decision(_) => Log::Decision,
            Self::Packet(_) => Log::Packet,
            Self::Submission(_) => Log::Submission,
            Self::ToolCall(_) => Log::ToolCall,
        }
    }

    /// What it is looked up by: a trigger and its decision by the trigger, packets by their decision.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Trigger(record) => Some(record.event.trigger_id.as_str()),
            Self::Decision(decision) => Some(decision.trigger_id.as_str()),
            Self::Packet(packet) => Some(packet.decision_id.as_str()),
            Self::Submission(submission) => Some(submission.submission_id.as_str()),
            Self::GateEval(_) | Self::ToolCall(_) => None,
        }
    }

    /// For the store. Not canonical: that would round whole numbers above 2^53, and a repeated answer must be the first one.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    pub fn read(log: Log, text: &str) -> Result<Self, serde_json::Error> {
        match log {
            Log::Trigger => serde_json::from_str(text).map(Self::Trigger),
            Log::GateEval => serde_json::from_str(text).map(Self::GateEval),
            Log::Decision => serde_json::from_str(text).map(Self::Decision),
            Log::Packet => serde_json::from_str(text).map(Self::Packet),
            Log::Submission => serde_json::from_str(text).map(Self::Submission),
            Log::ToolCall => serde_json::from_str(text).map(Self::ToolCall),
        }
    }
}
