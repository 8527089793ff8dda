//! `/metrics`: what Prometheus reads. Counters of the node itself, which say nothing of any tenant, so that it needs no key.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

use crate::Shared;

/// What only grows: its name, what it counts, and how much there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Letters and `_`, without the `_total` at its end.
    pub name: &'static str,
    pub help: &'static str,
    pub count: u64,
}

/// Counters as they stood when they were asked for: nothing is kept twice.
#[derive(Debug)]
struct Stand(Vec<Counter>);

impl Collector for Stand {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        for Counter { name, help, count } in &self.0 {
            let counter = ConstCounter::new(*count);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}

pub(crate) async fn metrics(State(console): State<Shared>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match written(console.node.counters()) {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "counters cannot be written");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}

fn written(counters: Vec<Counter>) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Stand(counters)));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn counters_are_written_as_prometheus_reads_them() {
        let counter = Counter { name: "portreeve_spans_lost", help: "Spans that nobody took.", count: 7 };
        let expected = "# HELP portreeve_spans_lost Spans that nobody took.\n\
                        # TYPE portreeve_spans_lost counter\nportreeve_spans_lost_total 7\n";
        assert_eq!(written(vec![counter, counter]).unwrap(), format!("{}# EOF\n", expected.repeat(2)));
        assert_eq!(written(Vec::new()).unwrap(), "# EOF\n");
    }
}
