//! The client of one upstream: over plain HTTP our own connections; over TLS, with the system's roots, a pool that speaks
//! HTTP/2 where the server offers it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateway_core::BoxError;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as PooledClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;

use super::lines::{Lines, Received};

/// How long an unused connection is kept; shorter than what common servers keep theirs, so that we are the first to close.
pub(super) const KEEP_IDLE: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum HttpUpstreamError {
    #[error("`{0}` is not an http or https URL")]
    Url(String),
    #[error("`{0}` may not carry a user or password; put the credential into `headers`")]
    UserInfo(String),
    #[error("`{0}` is not a header name")]
    HeaderName(String),
    #[error("the value of header `{0}` holds characters a header may not carry")]
    HeaderValue(String),
    #[error("header `{0}` is set by the gateway itself")]
    ReservedHeader(String),
    #[error("TLS cannot be set up")]
    Tls(#[source] BoxError),
}

pub(super) enum Client {
    Plain(Arc<Lines>),
    Tls(Box<PooledClient<HttpsConnector<HttpConnector>, Full<Bytes>>>),
}

impl Client {
    pub(super) fn new(url: &Uri, connect_timeout: Duration) -> Result<Self, HttpUpstreamError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(connect_timeout));
        tcp.set_keepalive(Some(Duration::from_secs(60)));
        if url.scheme() == Some(&Scheme::HTTP) {
            return Ok(Self::Plain(Lines::new(tcp, url.clone())));
        }
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config()?)
            .https_only()
            .enable_all_versions()
            .wrap_connector(tcp);
        let pool = PooledClient::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEEP_IDLE)
            .build(connector);
        Ok(Self::Tls(Box::new(pool)))
    }

    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Received>, BoxError> {
        match self {
            Self::Plain(lines) => lines.send(request).await,
            Self::Tls(pool) => Ok(pool.request(request).await?.map(Received::from)),
        }
    }
}

pub(crate) fn tls_config() -> Result<ClientConfig, HttpUpstreamError> {
    let broken = |error: BoxError| HttpUpstreamError::Tls(error);
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| broken(error.into()))?
        .with_native_roots()
        .map_err(|error| broken(error.into()))?;
    Ok(builder.with_no_client_auth())
}
