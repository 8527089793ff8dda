//! The written form of what the gateway tells those who watch it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::numbers::Share;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenTelemetry {
    /// Each request as a span, sent to a collector of OpenTelemetry. Left out: nothing is sent anywhere.
    pub otlp: Option<WrittenOtlp>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenOtlp {
    /// The collector's base URL for OTLP over HTTP such as `https://collector.example.com:4318`: `https://`, or `http://` on
    /// this machine. `/v1/traces` is put behind it, unless it is there.
    pub endpoint: String,
    /// Sent with every batch, for the collector's own credentials.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What this gateway is called there. Default `portreeve`.
    #[serde(default)]
    pub service_name: Option<String>,
    /// The share of traces sent, 0 to 1, of those that begin here; over a trace of its own the caller decides. Default 1.
    #[serde(default)]
    pub sample: Option<Share>,
}
