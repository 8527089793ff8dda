//! Spans for a collector, as OTLP over HTTP: a bounded queue, and one task that empties it in batches.
//!
//! A call never waits for this. Where the queue is full or nobody takes a batch, spans are lost and counted; the ledger,
//! which loses nothing, is elsewhere. What goes where is the configuration's word alone: the exporter encodes and tries
//! again, but whichever headers it found in the environment are left out.

mod drawing;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_core::ports::{CallSpan, Place, Spans};
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::trace::SpanExporter as _;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::http::HttpUpstreamError;
use crate::json_post::JsonPost;

/// Spans that wait at most: some megabytes, and seconds of the busiest node.
const WAITING: usize = 8192;
/// Spans of one request.
const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const LINGER: Duration = Duration::from_secs(1);
/// One batch, all attempts together.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is still queued when the node ends has this long.
const FAREWELL: Duration = Duration::from_secs(3);
/// Trouble is told once in this time, however many batches meet it.
const AGAIN: Duration = Duration::from_secs(60);
/// A collector has next to nothing to say.
const MOST_BYTES: usize = 64 * 1024;
const KIND: &str = "application/x-protobuf";

#[derive(Debug, Clone)]
pub struct OtlpConfig {
    /// Where batches are POSTed, path included.
    pub endpoint: String,
    /// For the collector's own credentials.
    pub headers: Vec<(String, String)>,
    pub service_name: String,
    /// The share of traces kept of those that begin here, 0 to 1. The caller decides over its own.
    pub sample: f64,
    /// This process among others of its service.
    pub instance: String,
}

#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    #[error(transparent)]
    Client(#[from] HttpUpstreamError),
    /// The exporter reads `OTEL_EXPORTER_OTLP_*` as well, and refuses what it finds there.
    #[error("{0} (variables named `OTEL_EXPORTER_OTLP_...` count too)")]
    Exporter(#[from] ExporterBuildError),
}

/// What became of spans so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanCounts {
    pub sent: u64,
    pub lost: u64,
}

#[derive(Default)]
struct Counts {
    ended: AtomicU64,
    sent: AtomicU64,
    lost: AtomicU64,
}

pub struct Otlp {
    queue: mpsc::Sender<(CallSpan, SystemTime)>,
    /// Traces that begin here are kept from this number of their ids on.
    kept_from: u64,
    counts: Arc<Counts>,
    closing: Arc<Notify>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Otlp {
    /// Begins at once, on the runtime that it is called on.
    pub fn start(config: &OtlpConfig) -> Result<Self, OtlpError> {
        let post = JsonPost::new(&config.endpoint, &config.headers)?;
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(&config.endpoint)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(PATIENCE)
            .with_http_client(Collector { post })
            .build()?;
        exporter.set_resource(&drawing::resource(&config.service_name, &config.instance));
        let (queue, waiting) = mpsc::channel(WAITING);
        let (counts, closing) = (Arc::<Counts>::default(), Arc::<Notify>::default());
        let export = Export { exporter, waiting, counts: Arc::clone(&counts), told: None };
        let task = tokio::spawn(export.run(Arc::clone(&closing)));
        let task = Mutex::new(Some(task));
        Ok(Self { queue, kept_from: kept_from(config.sample), counts, closing, task })
    }

    pub fn counts(&self) -> SpanCounts {
        let Counts { sent, lost, .. } = &*self.counts;
        SpanCounts { sent: sent.load(Ordering::Relaxed), lost: lost.load(Ordering::Relaxed) }
    }

    /// Sends what is queued, as far as the collector takes it in time. What ends later is lost.
    pub async fn close(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        self.closing.notify_one();
        if tokio::time::timeout(FAREWELL, &mut task).await.is_err() {
            task.abort();
            let Counts { ended, sent, lost } = &*self.counts;
            let left = ended.load(Ordering::Relaxed).saturating_sub(sent.load(Ordering::Relaxed));
            lost.store(left, Ordering::Relaxed);
            tracing::warn!(spans.lost = left, "spans are lost: the collector did not take the last of them in time");
        }
    }
}

impl Spans for Otlp {
    fn begin(&self, place: &Place) -> Option<SystemTime> {
        let kept = match place.parent {
            Some(parent) => parent.sampled,
            None => number(place.trace) >= self.kept_from,
        };
        kept.then(SystemTime::now)
    }

    fn ended(&self, span: CallSpan) {
        self.counts.ended.fetch_add(1, Ordering::Relaxed);
        if self.queue.try_send((span, SystemTime::now())).is_err() {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

const NUMBERS: u64 = 1 << 56;

/// The seven bytes of a trace's id that chance fills, so that all who see a trace decide alike.
fn number(trace: [u8; 16]) -> u64 {
    u128::from_be_bytes(trace) as u64 % NUMBERS
}

fn kept_from(share: f64) -> u64 {
    ((1.0 - share.clamp(0.0, 1.0)) * NUMBERS as f64) as u64
}

struct Export {
    exporter: SpanExporter,
    waiting: mpsc::Receiver<(CallSpan, SystemTime)>,
    counts: Arc<Counts>,
    /// When trouble was last told of, and how many were lost by then.
    told: Option<(Instant, u64)>,
}

impl Export {
    /// Until the queue is closed and empty.
    async fn run(mut self, closing: Arc<Notify>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                () = closing.notified() => self.waiting.close(),
                () = self.gather(&mut batch) => {}
            }
            if self.waiting.is_closed() {
                self.fill(&mut batch).await;
                if batch.is_empty() {
                    return;
                }
            }
            self.send(batch.drain(..).map(|(span, end)| drawing::drawn(span, end)).collect()).await;
        }
    }

    /// One span, and those that come soon after it.
    async fn gather(&mut self, batch: &mut Vec<(CallSpan, SystemTime)>) {
        if self.waiting.recv_many(batch, BATCH).await == 0 {
            return;
        }
        let _ = tokio::time::timeout(LINGER, self.fill(batch)).await;
    }

    async fn fill(&mut self, batch: &mut Vec<(CallSpan, SystemTime)>) {
        while let room @ 1.. = BATCH.saturating_sub(batch.len()) {
            if self.waiting.recv_many(batch, room).await == 0 {
                return;
            }
        }
    }

    async fn send(&mut self, spans: Vec<opentelemetry_sdk::trace::SpanData>) {
        let many = spans.len() as u64;
        let sent = self.exporter.export(spans).await;
        let counted = if sent.is_ok() { &self.counts.sent } else { &self.counts.lost };
        counted.fetch_add(many, Ordering::Relaxed);
        let lost = self.counts.lost.load(Ordering::Relaxed);
        let new = lost > self.told.map_or(0, |(_, then)| then);
        if !new || self.told.is_some_and(|(when, _)| when.elapsed() < AGAIN) {
            return;
        }
        self.told = Some((Instant::now(), lost));
        match sent {
            Err(error) => tracing::warn!(spans.lost = lost, "spans are lost: {error}"),
            Ok(()) => tracing::warn!(spans.lost = lost, "spans are lost: more end than the collector takes"),
        }
    }
}

/// The exporter's way out, with our own TLS, deadlines and credentials.
struct Collector {
    post: JsonPost,
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Collector")
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.post.send_bytes(KIND, request.into_body(), PATIENCE, MOST_BYTES).await;
        let answer = sent.map_err(|error| {
            tracing::debug!(error = &error as &dyn std::error::Error, "a collector cannot be reached: {error}");
            Box::new(error)
        })?;
        // Nothing at all, or an empty part: all was taken. More is what the collector left out, in its own words.
        if answer.status().is_success() && answer.body().len() > 2 {
            tracing::debug!("a collector took a batch with reservations");
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests;
