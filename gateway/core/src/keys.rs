//! API keys: how one is written, and the two things of it that may be stored.

use std::fmt;

use sha2::{Digest, Sha256};

pub const AGENT_KEY: &str = "adp_sk_";
pub const TENANT_KEY: &str = "adp_tk_";

/// A secret that exists in clear only here and on the screen of the one who asked for it.
pub struct ApiKey(String);

impl ApiKey {
    /// 256 random bits, given by the caller because nothing here reaches for randomness.
    pub fn from_random(kind: &str, random: [u8; 32]) -> Self {
        Self(format!("{kind}{}", hex::encode(random)))
    }

    /// To be shown once, to the person who created it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> String {
        hash(&self.0)
    }

    pub fn prefix(&self) -> String {
        self.0.chars().take(8).collect()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({}…)", self.prefix())
    }
}

/// SHA-256 in hex: the keys carry enough entropy that nothing slower is needed.
pub fn hash(key: &str) -> String {
    hex::encode(Sha256::digest(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // acceptance 8: what may be stored of a key.
    #[test]
    fn a_key_is_kept_as_hash_and_prefix_only() {
        let key = ApiKey::from_random(AGENT_KEY, [7; 32]);
        assert!(key.reveal().starts_with("adp_sk_0707"));
        assert_eq!(key.reveal().len(), 7 + 64);
        assert_eq!(key.prefix(), "adp_sk_0");
        assert_eq!(key.hash(), hash(key.reveal()));
        assert_eq!(key.hash().len(), 64);
        assert!(!format!("{key:?}").contains("0707"));
    }
}
