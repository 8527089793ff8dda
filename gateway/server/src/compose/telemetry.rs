//! Who is told of calls besides the ledger.

use std::sync::Arc;

use gateway_console::Counter;
use gateway_core::Home;
use gateway_upstream::{Otlp, OtlpConfig};

use super::ComposeError;
use crate::config::Config;

/// Whoever draws calls as spans, where somebody does.
pub(super) fn spans(config: &Config, home: &Home) -> Result<Option<Arc<Otlp>>, ComposeError> {
    let Some(otlp) = &config.otlp else {
        return Ok(None);
    };
    let secrets = otlp.headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
    let started = Otlp::start(&OtlpConfig {
        endpoint: otlp.endpoint.clone(),
        headers: secrets.collect(),
        service_name: otlp.service_name.clone(),
        sample: otlp.sample,
        instance: home.node.to_string(),
    });
    Ok(Some(Arc::new(started.map_err(|error| ComposeError::Section("telemetry.otlp", error.to_string()))?)))
}

/// What became of spans, for `/metrics`.
pub(super) fn counters(spans: &Otlp) -> Vec<Counter> {
    let counts = spans.counts();
    vec![
        Counter { name: "portreeve_spans_sent", help: "Spans that the collector took.", count: counts.sent },
        Counter {
            name: "portreeve_spans_lost",
            help: "Spans that found no room in the queue, or no collector.",
            count: counts.lost,
        },
    ]
}
