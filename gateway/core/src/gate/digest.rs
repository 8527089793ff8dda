//! `{"algorithm": "sha256", "value": "<64 hex digits>"}`, over canonical JSON (RFC 8785) or over bytes.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Refusal;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Digest([u8; 32]);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    algorithm: String,
    value: String,
}

impl Digest {
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub fn of_json(value: &impl Serialize) -> Result<Self, Refusal> {
        Ok(Self::of_bytes(&canonical(value)?))
    }

    /// 64 lower-case hex digits.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }

    pub fn from_hex(text: &str) -> Option<Self> {
        let lower = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let mut bytes = [0; 32];
        (lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(Self(bytes))
    }
}

/// The bytes that are hashed, and that lie in a pack. Of values and of our own records, which have no floats of their own:
/// so nothing that JSON cannot say can be hidden in them.
pub fn canonical(value: &impl Serialize) -> Result<Vec<u8>, Refusal> {
    serde_json_canonicalizer::to_vec(value).map_err(|error| Refusal::Invalid(format!("cannot be hashed: {error}")))
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sha256:{}", self.hex())
    }
}

impl From<Digest> for Written {
    fn from(digest: Digest) -> Self {
        Self { algorithm: "sha256".into(), value: digest.hex() }
    }
}

impl TryFrom<Written> for Digest {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        if written.algorithm != "sha256" {
            return Err("algorithm must be `sha256`");
        }
        Self::from_hex(&written.value).ok_or("value must be 64 lower-case hex digits")
    }
}
