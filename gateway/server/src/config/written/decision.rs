//! The written forms of what surrounds a decision: pins and approvals.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::numbers::Count;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenPins {
    /// How long a list of tools that was seen is good enough to call one of them. Default 600.
    pub recheck_seconds: Option<Count>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenApprovals {
    /// How long a human has, where no policy says otherwise. Default 3600.
    pub deadline_seconds: Option<Count>,
    /// How long a yes may be used. Default 15.
    pub use_minutes: Option<Count>,
    /// What people call the console, for links such as `https://gateway.example.com`. Default: its listener's address.
    pub url: Option<String>,
    /// Whether a human sees the call's arguments, without what looks like a secret. Default true.
    pub show_arguments: Option<bool>,
    /// Who is told that something waits.
    pub webhook: Option<WrittenWebhook>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenWebhook {
    /// Where the notice is POSTed.
    pub url: String,
    /// Signs the notice with HMAC-SHA256.
    pub secret: String,
}
