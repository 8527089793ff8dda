//! `/metrics`: what Prometheus reads. Counters of the node itself, which say nothing of any tenant, so that it needs no key.

use std::fmt::Write;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::Shared;

/// What only grows: its name, what it counts, and how much there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Letters and `_`, without the `_total` at its end.
    pub name: &'static str,
    pub help: &'static str,
    pub count: u64,
}

pub(crate) async fn metrics(State(console): State<Shared>) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], written(&console.node.counters())).into_response()
}

fn written(counters: &[Counter]) -> String {
    counters.iter().fold(String::new(), |mut text, Counter { name, help, count }| {
        // Writing to a text cannot fail.
        let _ = write!(text, "# HELP {name}_total {help}\n# TYPE {name}_total counter\n{name}_total {count}\n");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_written_as_prometheus_reads_them() {
        let counter = Counter { name: "portreeve_spans_lost", help: "Spans that nobody took.", count: 7 };
        let expected = "# HELP portreeve_spans_lost_total Spans that nobody took.\n\
                        # TYPE portreeve_spans_lost_total counter\nportreeve_spans_lost_total 7\n";
        assert_eq!(written(&[counter, counter]), expected.repeat(2));
        assert_eq!(written(&[]), "");
    }
}
