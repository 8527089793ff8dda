//! API keys: how one is written, and the two things of it that may be stored.

use std::fmt;

use memchr::memmem;

use crate::digest;

pub const AGENT_KEY: &str = "adp_sk_";
pub const TENANT_KEY: &str = "adp_tk_";
const BOTH_KEYS: &str = "adp_";
/// What a tenant's first administration key is called. Several people may hold it, so it names none of them.
pub const NOBODYS: &str = "admin";

/// Whether a name says who somebody is. Keys that nobody named carry one of the others.
pub fn names_somebody(name: &str) -> bool {
    let name = name.trim();
    !name.is_empty() && ![NOBODYS, "demo-admin", "unnamed"].iter().any(|nobodys| name.eq_ignore_ascii_case(nobodys))
}

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
    digest::hex(key.as_bytes())
}

/// Whether a text seems to hold one of our keys. Asked of every payload, so the search is for what both kinds begin with.
pub fn in_text(text: &str) -> bool {
    memmem::find(text.as_bytes(), BOTH_KEYS.as_bytes()).is_some()
        && (text.contains(AGENT_KEY) || text.contains(TENANT_KEY))
}

/// The text with every key cut after its kind.
pub fn hide_in_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = [AGENT_KEY, TENANT_KEY].iter().filter_map(|kind| rest.find(kind)).min() {
        let (before, key) = rest.split_at(start + AGENT_KEY.len());
        shown.push_str(before);
        let digits = key.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 0 {
            shown.push_str("(hidden)");
        }
        rest = key.get(digits..).unwrap_or_default();
    }
    shown.push_str(rest);
    shown
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

    #[test]
    fn keys_in_a_text_are_hidden_wherever_they_stand() {
        for (text, expected) in [
            ("nothing", "nothing"),
            (r#"{"api_key":"adp_sk_00ff","x":1}"#, r#"{"api_key":"adp_sk_(hidden)","x":1}"#),
            ("adp_tk_12 and adp_sk_34", "adp_tk_(hidden) and adp_sk_(hidden)"),
            ("a key starts with adp_sk_", "a key starts with adp_sk_"),
        ] {
            assert_eq!(hide_in_text(text), expected);
        }
    }
}
