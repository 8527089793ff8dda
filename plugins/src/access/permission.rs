//! Which tools a permission means: `namespace/tool`, with `*` at either end.

use gateway_core::ToolName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
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
}
