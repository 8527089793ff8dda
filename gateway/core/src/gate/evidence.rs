//! What a provider answered about one check.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::canonical;
use super::{Correlation, Digest, EVIDENCE_BYTES, GateTime, Id, Refusal, TenantText};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case", try_from = "Written")]
pub enum EvidenceValue {
    Json(Value),
    Bytes(Vec<u8>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: String,
    value: Value,
}

impl TryFrom<Written> for EvidenceValue {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written.kind.as_str() {
            "json" => Ok(Self::Json(written.value)),
            "bytes" => serde_json::from_value(written.value)
                .map(Self::Bytes)
                .map_err(|_| "bytes wants a list of numbers from 0 to 255".into()),
            _ => Err("kind must be `json` or `bytes`".into()),
        }
    }
}

/// All seven are always written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EvidenceResult {
    pub value: Option<EvidenceValue>,
    pub error: Option<EvidenceError>,
    pub evidence_hash: Option<Digest>,
    pub evidence_ref: Option<EvidenceRef>,
    pub evidence_anchor: Option<Anchor>,
    pub signature: Option<Signature>,
    pub content_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceError {
    pub code: String,
    pub message: String,
    pub details: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRef {
    pub uri: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    pub anchor_type: String,
    pub anchor_value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    pub scheme: String,
    pub key_id: String,
    pub signature: Vec<u8>,
}

/// For whom, where and when a check is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceContext {
    pub tenant_id: TenantText,
    pub run_id: Id,
    pub scenario_id: Id,
    pub stage_id: Id,
    pub trigger_id: Id,
    pub trigger_time: GateTime,
    pub correlation_id: Option<Correlation>,
}

impl EvidenceValue {
    /// Size and hash of the value itself, without the word for its kind.
    pub fn measured(&self) -> Result<(u64, Digest), Refusal> {
        Ok(match self {
            Self::Json(value) => {
                let bytes = canonical(value)?;
                (bytes.len() as u64, Digest::of_bytes(&bytes))
            }
            Self::Bytes(bytes) => (bytes.len() as u64, Digest::of_bytes(bytes)),
        })
    }
}

impl EvidenceResult {
    pub fn json(value: Value, content_type: &str) -> Self {
        Self { value: Some(EvidenceValue::Json(value)), content_type: Some(content_type.into()), ..Self::default() }
    }

    pub fn failed(code: &str, message: impl Into<String>) -> Self {
        let error = EvidenceError { code: code.into(), message: message.into(), details: None };
        Self { error: Some(error), ..Self::default() }
    }

    #[must_use]
    pub fn anchored(mut self, kind: &str, value: impl Into<String>) -> Self {
        self.evidence_anchor = Some(Anchor { anchor_type: kind.into(), anchor_value: value.into() });
        self
    }

    /// With this error, and without anything that a value brings along: nobody may read on as if it had been good.
    #[must_use]
    pub fn spoilt(self, code: &str, message: impl Into<String>) -> Self {
        let Self { evidence_ref, evidence_anchor, signature, .. } = self;
        Self { evidence_ref, evidence_anchor, signature, ..Self::failed(code, message) }
    }

    /// As it is recorded: hashed by ourselves, and nothing beside an error. Too large a value refuses the whole call.
    pub fn recorded(mut self) -> Result<Self, Refusal> {
        if self.error.is_some() {
            (self.value, self.evidence_hash, self.content_type) = (None, None, None);
            return Ok(self);
        }
        self.evidence_hash = match &self.value {
            None => None,
            Some(value) => {
                let (actual, hash) = value.measured()?;
                if actual > EVIDENCE_BYTES {
                    return Err(Refusal::TooLarge { what: "evidence in bytes".into(), limit: EVIDENCE_BYTES, actual });
                }
                Some(hash)
            }
        };
        Ok(self)
    }
}
