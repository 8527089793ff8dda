//! Logs go to standard error: text for people, or one JSON object a line.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// `RUST_LOG` wins over the configuration, as everywhere.
pub fn start(level: &str, json: bool) {
    let filter = EnvFilter::try_from_default_env()
        .or_else(|_| EnvFilter::try_new(level))
        .unwrap_or_else(|_| EnvFilter::new("info"));
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    // Already started is as good as started.
    let _ = if json { builder.json().flatten_event(true).try_init() } else { builder.try_init() };
}
