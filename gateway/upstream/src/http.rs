//! An MCP server behind a URL: connections that are kept for it, one request per call, answers streamed as they come.
//!
//! What goes out is our own serialisation with headers derived from it, plus what the operator configured; nothing else of
//! the client's request is even known here. A request that may have reached the upstream is never sent twice.

mod answer;
pub(crate) mod carrier;
pub(crate) mod client;
mod lines;
mod pools;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::ports::{Answered, Spoken, Upstream, UpstreamError};
use gateway_core::{Namespace, Permit};

use crate::commons::Commons;
use client::Client;
use request::Outgoing;

pub use client::HttpUpstreamError;
pub(crate) use client::{Authorities, tls_config};

#[derive(Debug, Clone)]
pub struct HttpUpstreamConfig {
    pub namespace: Namespace,
    pub url: String,
    /// The gateway's own credentials with this upstream.
    pub headers: Vec<(String, String)>,
    /// Tools without a manifest are watched instead of refused.
    pub unclassified_observe: bool,
    pub connect_timeout: Duration,
    /// Until the answer begins; for a plain JSON answer, until it is complete.
    pub request_timeout: Duration,
    /// The largest plain answer.
    pub max_body: usize,
    /// The largest single event of a stream.
    pub max_event_bytes: usize,
    pub max_depth: usize,
    /// Where a session's stream is read that outlives the call that opened it.
    pub commons: Commons,
}

impl HttpUpstreamConfig {
    pub fn new(namespace: Namespace, url: impl Into<String>) -> Self {
        Self {
            namespace,
            url: url.into(),
            headers: Vec::new(),
            unclassified_observe: false,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            max_body: 16 * 1024 * 1024,
            max_event_bytes: 16 * 1024 * 1024,
            max_depth: gateway_protocol::json::DEFAULT_MAX_DEPTH,
            commons: Commons::default(),
        }
    }
}

pub struct HttpUpstream {
    namespace: Namespace,
    client: Client,
    outgoing: Outgoing,
    unclassified_observe: bool,
    request_timeout: Duration,
    limits: answer::Limits,
}

impl HttpUpstream {
    pub fn new(config: &HttpUpstreamConfig) -> Result<Self, HttpUpstreamError> {
        let outgoing = Outgoing::new(&config.url, &config.headers)?;
        let client = Client::new(outgoing.url(), config.connect_timeout)?;
        Ok(Self {
            namespace: config.namespace.clone(),
            client,
            outgoing,
            unclassified_observe: config.unclassified_observe,
            request_timeout: config.request_timeout,
            limits: answer::Limits {
                max_body: config.max_body,
                max_event_bytes: config.max_event_bytes,
                max_depth: config.max_depth,
            },
        })
    }

    async fn ask(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let request = self.outgoing.request(permit.exchange());
        let in_session = request.headers().contains_key(&request::SESSION_ID);
        let sent = self.client.send(request).await;
        let response = sent.map_err(|error| UpstreamError::Unreachable(self.namespace.clone(), error))?;
        answer::read(&self.namespace, self.limits, in_session, response).await
    }
}

#[async_trait]
impl Upstream for HttpUpstream {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        // Pinned first: a large future would be moved into the timeout piece by piece.
        match tokio::time::timeout(self.request_timeout, pin!(self.ask(permit))).await {
            Ok(answered) => answered,
            Err(_) => Err(UpstreamError::TimedOut(self.namespace.clone())),
        }
    }

    fn observes_unclassified(&self) -> bool {
        self.unclassified_observe
    }

    fn spoken(&self) -> Spoken {
        Spoken { transport: "streamable_http", ..Spoken::default() }
    }
}
