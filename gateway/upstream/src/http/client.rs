//! The pooled client of one upstream: TLS with the system's roots where the URL asks for it, HTTP/2 where the server offers it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// A client for each worker thread: a connection lives on the runtime that opened it, and to use it from another thread
/// costs a wake-up each way.
pub(super) struct Clients(Vec<Client>);

impl Clients {
    pub(super) fn connect(tls: bool, connect_timeout: Duration) -> Result<Self, HttpUpstreamError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).map(|_| connect(tls, connect_timeout)).collect::<Result<_, _>>().map(Self)
    }

    /// This thread's own. With more threads than clients some share one, which works all the same.
    pub(super) fn own(&self) -> Option<&Client> {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static PLACE: usize = THREADS.fetch_add(1, Ordering::Relaxed);
        }
        let place = PLACE.with(|place| *place);
        self.0.get(place % self.0.len().max(1))
    }
}

fn connect(tls: bool, connect_timeout: Duration) -> Result<Client, HttpUpstreamError> {
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
