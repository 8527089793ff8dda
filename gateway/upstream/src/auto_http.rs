//! An MCP server behind a URL whose transport nobody named: Streamable HTTP, or the older HTTP+SSE.
//!
//! Only the handshake finds out, because only the handshake may be sent twice. A server of the older transport refuses the
//! POST with an HTTP error that is no message; then its stream is tried.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use gateway_core::Permit;
use gateway_core::ports::{Answered, Content, Spoken, Upstream, UpstreamError};

use crate::http::{HttpUpstream, HttpUpstreamConfig, HttpUpstreamError};
use crate::sse_upstream::{SESSION_PREFIX, SseUpstream};

/// A server may have been replaced by one that speaks the newer transport.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

pub struct AutoHttp {
    http: HttpUpstream,
    sse: SseUpstream,
    /// Since when it is known that only the older transport is spoken.
    older: Mutex<Option<Instant>>,
}

impl AutoHttp {
    pub fn new(config: &HttpUpstreamConfig) -> Result<Self, HttpUpstreamError> {
        Ok(Self { http: HttpUpstream::new(config)?, sse: SseUpstream::new(config)?, older: Mutex::default() })
    }

    fn is_older(&self) -> bool {
        let older = *self.older.lock().unwrap_or_else(PoisonError::into_inner);
        older.is_some_and(|since| since.elapsed() < REMEMBERED)
    }

    fn remember(&self, older: bool) {
        *self.older.lock().unwrap_or_else(PoisonError::into_inner) = older.then(Instant::now);
    }

    async fn open(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        if self.is_older() {
            return self.sse.call(permit).await;
        }
        let answered = self.http.call(permit).await?;
        let wordless = !matches!(answered.content, Content::One(_) | Content::Stream(_));
        if !(wordless && matches!(answered.status, 400 | 404 | 405)) {
            return Ok(answered);
        }
        match self.sse.call(permit).await {
            Ok(opened) if opened.session.is_some() => {
                self.remember(true);
                tracing::info!("an upstream speaks the HTTP+SSE transport of 2024-11-05");
                Ok(opened)
            }
            // Neither: what it said first is what it is.
            _ => Ok(answered),
        }
    }
}

#[async_trait]
impl Upstream for AutoHttp {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        if exchange.method() == Some("initialize") {
            return self.open(permit).await;
        }
        match &exchange.session {
            Some(session) if session.upstream_id().starts_with(SESSION_PREFIX) => self.sse.call(permit).await,
            None if self.is_older() => self.sse.call(permit).await,
            _ => self.http.call(permit).await,
        }
    }

    fn observes_unclassified(&self) -> bool {
        self.http.observes_unclassified()
    }

    fn spoken(&self) -> Spoken {
        if self.is_older() { self.sse.spoken() } else { self.http.spoken() }
    }

    async fn stop(&self) {
        self.sse.stop().await;
    }
}
