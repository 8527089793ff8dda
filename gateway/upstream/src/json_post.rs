//! One document sent, one received: what speaks to services that are no MCP servers and that an operator named. JSON for
//! most; collectors of spans take another kind.
//!
//! Redirections are not followed, because a key would go along to a place that nobody configured.

use std::time::Duration;

use bytes::Bytes;
use gateway_core::BoxError;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::http::{Authorities, HttpUpstreamError, tls_config};

pub(crate) struct JsonPost {
    url: Uri,
    headers: HeaderMap,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPosted {
    #[error("no answer came in time")]
    Late,
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error(transparent)]
    Broken(BoxError),
}

impl JsonPost {
    /// The configuration has seen to it that the URL is an https one, or of this machine. `secrets` are header values.
    pub(crate) fn new(url: &str, secrets: &[(impl AsRef<str>, String)]) -> Result<Self, HttpUpstreamError> {
        let url: Uri = url.parse().map_err(|_| HttpUpstreamError::Url("the endpoint".into()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in secrets {
            let wrong = || HttpUpstreamError::HeaderValue(name.as_ref().into());
            let key: HeaderName = name.as_ref().parse().map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config(&Authorities::OfTheSystem)?)
            .https_or_http()
            .enable_http1()
            .build();
        // Callers live on several runtimes, and a connection lives with the one that opened it: none is kept.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(Self { url, headers, client })
    }

    /// The status and at most `most` bytes.
    pub(crate) async fn send(
        &self,
        body: &Value,
        within: Duration,
        most: usize,
    ) -> Result<(StatusCode, Bytes), NotPosted> {
        let answer = self.send_bytes("application/json", body.to_string().into(), within, most).await?;
        Ok((answer.status(), answer.into_body()))
    }

    /// Sends and takes one kind of content; at most `most` bytes of it come back.
    pub(crate) async fn send_bytes(
        &self,
        kind: &'static str,
        body: Bytes,
        within: Duration,
        most: usize,
    ) -> Result<Response<Bytes>, NotPosted> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.url.clone())
            .header(header::CONTENT_TYPE, kind)
            .header(header::ACCEPT, kind)
            .header(header::USER_AGENT, concat!("portreeve/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(body))
            .map_err(|error| NotPosted::Broken(error.into()))?;
        request.headers_mut().extend(self.headers.clone());
        let asked = async {
            let answer = self.client.request(request).await.map_err(|error| NotPosted::Broken(error.into()))?;
            let (head, body) = answer.into_parts();
            let read = Limited::new(body, most).collect().await.map_err(|error| {
                let large = error.is::<http_body_util::LengthLimitError>();
                if large { NotPosted::TooLarge(most) } else { NotPosted::Broken(error) }
            })?;
            Ok(Response::from_parts(head, read.to_bytes()))
        };
        tokio::time::timeout(within, asked).await.unwrap_or(Err(NotPosted::Late))
    }
}
