//! The names that can be wrong, as types: parsed once where they enter, trusted afterwards.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct NameError {
    text: String,
    expected: &'static str,
}

impl NameError {
    fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.into(), expected }
    }
}

/// The first path segment of an upstream's URL and the first half of its tools' names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Namespace(Arc<str>);

impl Namespace {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Looked up by the first half of a tool's name without making one of these.
impl Borrow<str> for Namespace {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for Namespace {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
            return Err(NameError::new(text, "a namespace: 1 to 64 letters, digits, `-` or `_`"));
        }
        Ok(Self(text.into()))
    }
}

/// `namespace/tool`, always both parts: the gateway never guesses a missing namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName {
    full: Arc<str>,
    slash: usize,
}

impl ToolName {
    pub fn new(namespace: &Namespace, tool: &str) -> Self {
        let full = [namespace.as_str(), "/", tool].concat();
        Self { slash: namespace.as_str().len(), full: full.into() }
    }

    /// The tool that an upstream lists under this name, if that can be a name at all.
    pub fn listed(namespace: &Namespace, tool: &str) -> Option<Self> {
        let wrong = tool.is_empty() || tool.len() > 256 || tool.chars().any(char::is_control);
        (!wrong).then(|| Self::new(namespace, tool))
    }

    pub fn as_str(&self) -> &str {
        &self.full
    }

    pub fn namespace(&self) -> &str {
        self.full.get(..self.slash).unwrap_or_default()
    }

    /// The name the upstream itself knows.
    pub fn tool(&self) -> &str {
        self.full.get(self.slash + 1..).unwrap_or_default()
    }
}

impl FromStr for ToolName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let wrong = || NameError::new(text, "a tool name: expected `namespace/tool`");
        let (space, tool) = text.split_once('/').ok_or_else(wrong)?;
        let namespace = Namespace::from_str(space).map_err(|_| wrong())?;
        Self::listed(&namespace, tool).ok_or_else(wrong)
    }
}

/// What an agent is called inside its tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// The chain that holds what callers without an identity tried.
    pub fn unauthenticated() -> Self {
        Self("unauthenticated".into())
    }

    /// The chain that holds what operators and the gateway itself did. No agent may be called so.
    pub fn operators() -> Self {
        Self(Self::RESERVED.into())
    }

    const RESERVED: &'static str = "portreeve";

    pub fn is_reserved(&self) -> bool {
        self.as_str() == Self::RESERVED
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() || text.len() > 255 || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(NameError::new(text, "an agent id: 1 to 255 characters without spaces"));
        }
        Ok(Self(text.into()))
    }
}

/// What a tool agent is called inside its organization.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(Arc<str>);

impl Slug {
    /// Paths under `/api/agents/` that are not an organization's, and the gateway's own name.
    const TAKEN: [&str; 3] = ["history", "promote", AgentId::RESERVED];

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Slug {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
        if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
            return Err(NameError::new(text, "a slug: 1 to 64 of a-z, 0-9, `-`, `_` and `.`"));
        }
        if Self::TAKEN.contains(&text) {
            return Err(NameError::new(text, "a slug: the name is taken"));
        }
        Ok(Self(text.into()))
    }
}

macro_rules! text_forms {
    ($($name:ident: $field:tt;)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.$field)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.$field.as_ref().into()
            }
        }
    )*};
}

text_forms! {
    Namespace: 0;
    ToolName: full;
    AgentId: 0;
    Slug: 0;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TenantId(pub Uuid);

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `trc_` and 32 hex digits; time-ordered, so that the index on it grows at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TraceId(Arc<str>);

impl TraceId {
    pub fn from_uuid(id: Uuid) -> Self {
        Self(["trc_", id.simple().encode_lower(&mut Uuid::encode_buffer())].concat().into())
    }

    /// As read back from a store, which may hold what others wrote.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_tool_name_has_both_parts() {
        for (text, expected) in [
            ("notes/search", Some(("notes", "search"))),
            ("notes/a/b", Some(("notes", "a/b"))),
            ("search", None),
            ("/search", None),
            ("notes/", None),
            ("no tes/x", None),
            ("notes/a\u{7}b", None),
        ] {
            let read = ToolName::from_str(text).ok();
            assert_eq!(read.as_ref().map(|name| (name.namespace(), name.tool())), expected, "{text}");
        }
    }

    #[test]
    fn slugs_are_small_and_plain() {
        for (text, good) in [
            ("supabase-agent", true),
            ("a.b_c-9", true),
            ("", false),
            ("Agent", false),
            ("a/b", false),
            ("a b", false),
            ("history", false),
            ("promote", false),
            ("portreeve", false),
        ] {
            assert_eq!(Slug::from_str(text).is_ok(), good, "{text:?}");
        }
        assert!(Slug::from_str(&"a".repeat(65)).is_err());
    }

    #[test]
    fn agent_ids_are_printable() {
        for (text, good) in [("agent-1", true), ("", false), ("a b", false), ("a\nb", false)] {
            assert_eq!(AgentId::from_str(text).is_ok(), good, "{text:?}");
        }
    }
}
