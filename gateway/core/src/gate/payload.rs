//! What a packet or a submission carries.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::canonical;
use super::{Digest, Refusal};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Payload {
    Json { value: Value },
    Bytes { bytes: Vec<u8> },
    External { content_ref: ContentRef },
}

/// Content that lies elsewhere: known by its hash alone, never fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentRef {
    pub uri: String,
    pub content_hash: Digest,
    pub encryption: Option<String>,
}

impl Payload {
    /// How large the content is and its hash: of the value itself, not of the wrapping that names its kind.
    pub fn measured(&self) -> Result<(u64, Digest), Refusal> {
        Ok(match self {
            Self::Json { value } => {
                let bytes = canonical(value)?;
                (bytes.len() as u64, Digest::of_bytes(&bytes))
            }
            Self::Bytes { bytes } => (bytes.len() as u64, Digest::of_bytes(bytes)),
            Self::External { content_ref } => (content_ref.uri.len() as u64, content_ref.content_hash),
        })
    }
}
