//! The published revisions of MCP, in order, and what each of them can do.
//!
//! Only what a reader of one message needs is here; how a call crosses from one era to another is translated elsewhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Revision {
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a known protocol version")]
pub struct UnknownRevision(pub String);

impl Revision {
    /// Newest first: a client that reads our `supported` list from the left finds the best one at once.
    pub const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest revision that still opens with `initialize`.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Modern revisions have no handshake and no session: every request describes itself in `_meta`.
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether a client must send `MCP-Protocol-Version` (in the legacy era: once the handshake is done).
    pub fn has_version_header(self) -> bool {
        self >= Self::V2025_06_18
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text).ok_or_else(|| UnknownRevision(text.into()))
    }
}

/// The `_meta` keys with which a modern message describes itself.
pub mod meta {
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Self-reported, so never an identity.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Unprefixed in every revision.
    pub const PROGRESS_TOKEN: &str = "progressToken";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn each_revision_knows_its_name_and_its_place() {
        for (text, modern, batches, header) in [
            ("2024-11-05", false, false, false),
            ("2025-03-26", false, true, false),
            ("2025-06-18", false, false, true),
            ("2025-11-25", false, false, true),
            ("2026-07-28", true, false, true),
        ] {
            let revision: Revision = text.parse().unwrap();
            assert_eq!(revision.to_string(), text);
            assert_eq!(serde_json::to_string(&revision).unwrap(), format!("\"{text}\""));
            assert_eq!(revision.is_modern(), modern, "{text}");
            assert_eq!(revision.has_batches(), batches, "{text}");
            assert_eq!(revision.has_version_header(), header, "{text}");
        }
        assert!(Revision::ALL.is_sorted_by(|a, b| a > b), "newest first");
        assert_eq!(Revision::ALL.first(), Some(&Revision::LATEST));
        assert!(!Revision::LATEST_LEGACY.is_modern());
    }

    #[test]
    fn a_near_miss_is_not_a_revision() {
        for text in ["", "2026-07-29", "2026-7-28", " 2026-07-28", "DRAFT-2026-v1", "latest"] {
            assert_eq!(text.parse::<Revision>(), Err(UnknownRevision(text.into())));
        }
    }
}
