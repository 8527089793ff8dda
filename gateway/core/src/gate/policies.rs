//! What is believed of a provider, and what is shown of its answers. Each is a function from a result to a result, in the
//! order they are applied: trust, anchors; disclosure only where a result is shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::canonical;
use super::evidence::{Anchor, EvidenceResult};
use super::{Digest, Refusal};

/// The keys a provider may sign with. The arithmetic is an adapter's.
pub trait Keyring {
    /// None: no such key.
    fn verifies(&self, key_id: &str, message: &[u8], signature: &[u8]) -> Option<bool>;
}

/// How a provider's word is taken.
#[derive(Clone, Copy)]
pub enum Trust<'a> {
    /// As it comes, for the record.
    Audit,
    RequireSignature(&'a dyn Keyring),
}

impl Trust<'_> {
    /// The result if it is believed, otherwise the error that takes its place. A hash that came along must be ours.
    pub fn applied(self, result: EvidenceResult) -> Result<EvidenceResult, Refusal> {
        if result.error.is_some() {
            return Ok(result);
        }
        let own = result.value.as_ref().map(|value| value.measured()).transpose()?.map(|(_, hash)| hash);
        if result.evidence_hash.is_some() && result.evidence_hash != own {
            let words = "the hash that came with the value is not the value's";
            return Ok(result.spoilt("evidence_hash_mismatch", words));
        }
        let Self::RequireSignature(keys) = self else {
            return Ok(result);
        };
        let fault = match result.evidence_hash {
            None => Some(("signature_missing", "a signed value must bring its hash")),
            Some(hash) => unsigned(&result, &hash, keys)?,
        };
        Ok(match fault {
            Some((code, words)) => result.spoilt(code, words),
            None => result,
        })
    }
}

/// What is wrong with the signature. It stands over the canonical JSON of the hash, so it says the same however the value
/// is spelled.
fn unsigned(
    result: &EvidenceResult,
    hash: &Digest,
    keys: &dyn Keyring,
) -> Result<Option<(&'static str, &'static str)>, Refusal> {
    let Some(signature) = &result.signature else {
        return Ok(Some(("signature_missing", "this provider's values must be signed")));
    };
    if signature.scheme != "ed25519" {
        return Ok(Some(("signature_scheme", "signatures must be `ed25519`")));
    }
    Ok(match keys.verifies(&signature.key_id, &canonical(hash)?, &signature.signature) {
        None => Some(("signature_key", "signed with a key that is not this provider's")),
        Some(false) => Some(("signature_invalid", "the signature does not fit the value")),
        Some(true) => None,
    })
}

/// Where a provider's values must say they come from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorRules {
    pub providers: Vec<AnchorRule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorRule {
    pub provider_id: String,
    pub anchor_type: String,
    #[serde(default)]
    pub required_fields: Vec<String>,
}

impl AnchorRules {
    pub fn rule(&self, provider: &str) -> Option<&AnchorRule> {
        self.providers.iter().find(|rule| rule.provider_id == provider)
    }

    /// A result that breaks its provider's rule is emptied: not even its anchor can be believed.
    pub fn applied(&self, provider: &str, result: EvidenceResult) -> EvidenceResult {
        let broken = match self.rule(provider) {
            Some(rule) if result.error.is_none() => rule.broken(result.evidence_anchor.as_ref()),
            _ => None,
        };
        match broken {
            Some(words) => EvidenceResult::failed("anchor_invalid", words),
            None => result,
        }
    }
}

impl AnchorRule {
    pub fn broken(&self, anchor: Option<&Anchor>) -> Option<String> {
        let Some(anchor) = anchor else {
            return Some(format!("an anchor of type `{}` is missing", self.anchor_type));
        };
        if anchor.anchor_type != self.anchor_type {
            return Some(format!("the anchor must be of type `{}`", self.anchor_type));
        }
        if self.required_fields.is_empty() {
            return None;
        }
        let Ok(Value::Object(fields)) = serde_json::from_str(&anchor.anchor_value) else {
            return Some("the anchor's value must be a JSON object".into());
        };
        let plain = |field: &&String| !matches!(fields.get(field.as_str()), Some(Value::String(_) | Value::Number(_)));
        self.required_fields.iter().find(plain).map(|field| format!("the anchor lacks `{field}`"))
    }
}

/// What `evidence_query` may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Disclosure {
    pub allow_raw_values: bool,
    pub require_provider_opt_in: bool,
}

impl Disclosure {
    /// Hash, anchor and reference stay: they prove without telling.
    pub fn applied(self, mut result: EvidenceResult, provider_allows: bool) -> EvidenceResult {
        if !self.allow_raw_values || (self.require_provider_opt_in && !provider_allows) {
            (result.value, result.content_type) = (None, None);
        }
        result
    }
}
