//! The client of one upstream: over plain HTTP our own connections; over TLS, with the system's roots unless others are named,
//! pools that speak HTTP/2 where the server offers it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateway_core::BoxError;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::lines::{Lines, Received};
use super::pools::Pools;

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

/// Nothing of the request was written: whoever it was for has not seen it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Unsent(pub(crate) BoxError);

/// Whose signature on a server's certificate is good.
#[derive(Debug, Clone)]
pub(crate) enum Authorities {
    OfTheSystem,
    These(Arc<RootCertStore>),
}

impl Authorities {
    /// From the text of a PEM file: these and no others.
    pub(crate) fn from_pem(pem: &[u8]) -> Result<Self, HttpUpstreamError> {
        let broken = |error: BoxError| HttpUpstreamError::Tls(error);
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| broken(error.into()))?;
            roots.add(certificate).map_err(|error| broken(error.into()))?;
        }
        match roots.is_empty() {
            true => Err(broken("there is no certificate in it".into())),
            false => Ok(Self::These(Arc::new(roots))),
        }
    }
}

pub(super) enum Client {
    Plain(Arc<Lines>),
    Tls(Box<Pools>),
}

impl Client {
    pub(super) fn new(url: &Uri, connect_timeout: Duration) -> Result<Self, HttpUpstreamError> {
        Self::trusting(&Authorities::OfTheSystem, url, connect_timeout)
    }

    pub(super) fn trusting(
        authorities: &Authorities,
        url: &Uri,
        connect_timeout: Duration,
    ) -> Result<Self, HttpUpstreamError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(connect_timeout));
        tcp.set_keepalive(Some(Duration::from_secs(60)));
        if url.scheme() == Some(&Scheme::HTTP) {
            return Ok(Self::Plain(Lines::new(tcp, url.clone())));
        }
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config(authorities)?)
            .https_only()
            .enable_all_versions()
            .wrap_connector(tcp);
        Ok(Self::Tls(Box::new(Pools::new(connector))))
    }

    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Received>, BoxError> {
        match self {
            Self::Plain(lines) => lines.send(request).await,
            Self::Tls(pools) => Ok(pools.send(request).await?.map(Received::from)),
        }
    }
}

pub(crate) fn tls_config(authorities: &Authorities) -> Result<ClientConfig, HttpUpstreamError> {
    let broken = |error: BoxError| HttpUpstreamError::Tls(error);
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| broken(error.into()))?;
    let builder = match authorities {
        Authorities::OfTheSystem => builder.with_native_roots().map_err(|error| broken(error.into()))?,
        Authorities::These(roots) => builder.with_root_certificates(Arc::clone(roots)),
    };
    Ok(builder.with_no_client_auth())
}
