//! Which tools a permission means: `namespace/tool`, with `*` at either end.

use crate::names::{Namespace, ToolName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    Any,
    Exact(Box<str>),
    Starts(Box<str>),
    Ends(Box<str>),
    Holds(Box<str>),
}

impl Pattern {
    /// `crm/read`, `crm/*`, `*/search`, `*`, or any of them behind `tools:call:`.
    pub fn read(text: &str) -> Result<Self, String> {
        let pattern = text.strip_prefix("tools:call:").unwrap_or(text);
        let wrong = |what: &str| Err(format!("`{text}` {what}"));
        let (front, back) = (pattern.strip_prefix('*'), pattern.strip_suffix('*'));
        let inner = pattern.trim_matches('*');
        if pattern == "*" {
            return Ok(Self::Any);
        }
        if inner.is_empty() || inner.contains('*') || pattern.contains("**") {
            return wrong("is not a permission: `*` may stand only at its beginning or end");
        }
        if front.is_none() && !pattern.contains('/') {
            return wrong("names no tool: write `namespace/tool`, `namespace/*` or `*`");
        }
        Ok(match (front, back) {
            (None, None) => Self::Exact(pattern.into()),
            (None, Some(front)) => Self::Starts(front.into()),
            (Some(back), None) => Self::Ends(back.into()),
            (Some(_), Some(_)) => Self::Holds(inner.into()),
        })
    }

    pub fn matches(&self, tool: &ToolName) -> bool {
        let name = tool.as_str();
        match self {
            Self::Any => true,
            Self::Exact(whole) => name == whole.as_ref(),
            Self::Starts(front) => name.starts_with(front.as_ref()),
            Self::Ends(back) => name.ends_with(back.as_ref()),
            Self::Holds(part) => name.contains(part.as_ref()),
        }
    }

    /// Whether a tool of this namespace may be meant. Tools' names may hold slashes, so an open beginning may mean any.
    pub fn touches(&self, namespace: &Namespace) -> bool {
        let within = |name: &str| name.split_once('/').is_some_and(|(space, _)| space == namespace.as_str());
        match self {
            Self::Any | Self::Ends(_) | Self::Holds(_) => true,
            Self::Exact(whole) => within(whole),
            Self::Starts(front) => within(front),
        }
    }

    /// Whether every tool of this namespace is meant, whatever its name.
    pub fn covers(&self, namespace: &Namespace) -> bool {
        let front = [namespace.as_str(), "/"].concat();
        match self {
            Self::Any => true,
            Self::Starts(start) => front.starts_with(start.as_ref()),
            Self::Holds(part) => front.contains(part.as_ref()),
            Self::Exact(_) | Self::Ends(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_permission_knows_how_much_of_a_namespace_it_means() {
        let notes = "notes".parse().unwrap();
        for (permission, touches, covers) in [
            ("*", true, true),
            ("notes/*", true, true),
            ("*notes/*", true, true),
            ("notes/get_*", true, false),
            ("notes/search", true, false),
            ("*/search", true, false),
            ("tools:call:notes/*", true, true),
            ("note/*", false, false),
            ("notes2/*", false, false),
            ("crm/notes/*", false, false),
        ] {
            let pattern = Pattern::read(permission).unwrap();
            assert_eq!((pattern.touches(&notes), pattern.covers(&notes)), (touches, covers), "{permission}");
        }
    }
}
