//! The pooled client of one upstream: TLS with the system's roots where the URL asks for it, HTTP/2 where the server offers it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as PooledClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

pub(super) type Client = PooledClient<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// How long an unused connection is kept; shorter than what common servers keep theirs, so that we are the first to close.
const KEEP_IDLE: Duration = Duration::from_secs(30);

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
    Tls(#[source] gateway_core::BoxError),
}

pub(super) fn connect(tls: bool, connect_timeout: Duration) -> Result<Client, HttpUpstreamError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_timeout));
    tcp.set_keepalive(Some(Duration::from_secs(60)));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls_config(tls)?)
        .https_or_http()
        .enable_all_versions()
        .wrap_connector(tcp);
    Ok(PooledClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(KEEP_IDLE)
        .build(connector))
}

fn tls_config(tls: bool) -> Result<ClientConfig, HttpUpstreamError> {
    let broken = |error: gateway_core::BoxError| HttpUpstreamError::Tls(error);
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| broken(error.into()))?;
    let builder = if tls {
        builder.with_native_roots().map_err(|error| broken(error.into()))?
    } else {
        // Nothing is ever verified on a plain connection, so the roots need not be loaded.
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
