//! How loud a log message is. Legacy clients set it once (`logging/setLevel`), modern ones with each request.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Notification;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a log level")]
pub struct UnknownLevel(pub String);

impl Level {
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// How loud a `notifications/message` is; `None` for anything else, and for a level nobody knows.
    pub fn of(notification: &Notification) -> Option<Self> {
        if notification.method != "notifications/message" {
            return None;
        }
        notification.params.as_ref()?.get("level").and_then(Value::as_str)?.parse().ok()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or_else(|| UnknownLevel(text.into()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    #[test]
    fn levels_are_ordered_and_have_one_spelling() {
        assert!(Level::ALL.is_sorted());
        for level in Level::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
            assert_eq!(serde_json::to_value(level).unwrap(), json!(level.as_str()));
        }
        for text in ["", "Debug", "warn", "off"] {
            assert_eq!(text.parse::<Level>(), Err(UnknownLevel(text.into())));
        }
    }

    #[test]
    fn only_a_log_message_has_a_level() {
        for (method, params, expected) in [
            ("notifications/message", json!({ "level": "error", "data": 1 }), Some(Level::Error)),
            ("notifications/message", json!({ "level": "loud", "data": 1 }), None),
            ("notifications/message", json!({}), None),
            ("notifications/progress", json!({ "level": "error" }), None),
        ] {
            let notification = Notification { method: method.into(), params: params.as_object().cloned() };
            assert_eq!(Level::of(&notification), expected, "{method} {params}");
        }
    }
}
