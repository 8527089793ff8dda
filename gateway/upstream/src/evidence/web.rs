//! `http`: how a web page answers, of hosts that an operator listed. Redirections are answers, not ways.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gateway_core::gate::Digest;
use gateway_core::gate::contracts::{CheckContract, ValueKind};
use gateway_core::gate::evidence::{EvidenceRef, EvidenceResult};
use gateway_core::ports::{EvidenceAsked, EvidenceProvider};
use http::uri::Scheme;
use http::{Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::{Value, json};

use super::params::Params;
use super::{EQUALITY, ORDER, PRESENCE, contract};
use crate::http::{Authorities, tls_config};

const LONGEST_URL: usize = 2048;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSettings {
    /// `host`, or `host:port` where it is not the scheme's own. Empty: none.
    pub allowed_hosts: BTreeSet<String>,
    pub allow_http: bool,
    /// Of the whole question.
    pub timeout: Duration,
    pub max_response_bytes: usize,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            allowed_hosts: BTreeSet::new(),
            allow_http: false,
            timeout: Duration::from_secs(5),
            max_response_bytes: 1024 * 1024,
        }
    }
}

pub struct Web {
    settings: WebSettings,
    checks: Vec<CheckContract>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

type Failed = (&'static str, String);

impl Web {
    pub fn new(mut settings: WebSettings) -> Result<Self, String> {
        settings.allowed_hosts = settings.allowed_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        let tls = tls_config(&Authorities::OfTheSystem).map_err(|error| error.to_string())?;
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        let fits = |params: &Value| url(params).map(|_| ());
        let numbers = EQUALITY.into_iter().chain(ORDER).collect();
        let checks = vec![
            contract("status", ValueKind::Integer, numbers, Some(Arc::new(fits))),
            contract("body_hash", ValueKind::Digest, PRESENCE.to_vec(), Some(Arc::new(fits))),
        ];
        Ok(Self { settings, checks, client })
    }

    async fn answer(&self, check: &str, url: &Uri) -> Result<Value, Failed> {
        self.allowed(url)?;
        match tokio::time::timeout(self.settings.timeout, self.fetched(check, url)).await {
            Ok(answer) => answer,
            Err(_) => Err(("timeout", "the server did not answer in time".into())),
        }
    }

    fn allowed(&self, url: &Uri) -> Result<(), Failed> {
        let secure = match url.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP && self.settings.allow_http => false,
            _ => return Err(("scheme_not_allowed", "only https may be asked".into())),
        };
        let own_port = if secure { 443 } else { 80 };
        let host = url.host().unwrap_or_default().to_ascii_lowercase();
        let named = match url.port_u16() {
            Some(port) if port != own_port => format!("{host}:{port}"),
            _ => host,
        };
        match self.settings.allowed_hosts.contains(&named) {
            true => Ok(()),
            false => Err(("host_not_allowed", "this host is not among those that may be asked".into())),
        }
    }

    async fn fetched(&self, check: &str, url: &Uri) -> Result<Value, Failed> {
        let request = Request::builder()
            .method(Method::GET)
            .uri(url.clone())
            .header(header::USER_AGENT, concat!("portreeve/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::new()))
            .map_err(|_| ("params_invalid", "`url` cannot be asked".to_owned()))?;
        let answer = self.client.request(request).await.map_err(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, "a page could not be asked for evidence: {error}");
            ("request_failed", "the server could not be reached".to_owned())
        })?;
        if check == "status" {
            return Ok(json!(answer.status().as_u16()));
        }
        let most = self.settings.max_response_bytes;
        // Every byte of it: one that breaks off is not the page.
        let body = Limited::new(answer.into_body(), most).collect().await.map_err(|error| {
            match error.downcast_ref::<LengthLimitError>() {
                Some(_) => ("size_limit_exceeded", format!("the answer has more than {most} bytes")),
                None => {
                    tracing::warn!(cause = ?error.source(), "a page broke off: {error}");
                    ("request_failed", "the answer broke off".to_owned())
                }
            }
        })?;
        Ok(json!(Digest::of_bytes(&body.to_bytes())))
    }
}

#[async_trait]
impl EvidenceProvider for Web {
    fn checks(&self) -> &[CheckContract] {
        &self.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        let url = match asked.query.params.as_ref().ok_or_else(|| "`url` is missing".to_owned()).and_then(url) {
            Ok(url) => url,
            Err(words) => return EvidenceResult::failed("params_invalid", words),
        };
        let answer = match self.answer(&asked.query.check, &url).await {
            Ok(value) => EvidenceResult::json(value, "application/json"),
            Err((code, words)) => EvidenceResult::failed(code, words),
        };
        let uri = url.to_string();
        EvidenceResult { evidence_ref: Some(EvidenceRef { uri: uri.clone() }), ..answer.anchored("url", uri) }
    }
}

fn url(params: &Value) -> Result<Uri, String> {
    let text = Params::of(params, &["url"])?.text("url")?;
    if text.len() > LONGEST_URL {
        return Err(format!("`url` must have at most {LONGEST_URL} bytes"));
    }
    // The parser would drop it silently, and then it would not be the page that was meant.
    if text.contains('#') {
        return Err("`url` must not have a fragment".into());
    }
    let url: Uri = text.parse().map_err(|_| "`url` is not a URL".to_owned())?;
    let known = url.scheme().is_some_and(|scheme| *scheme == Scheme::HTTPS || *scheme == Scheme::HTTP);
    let authority = url.authority().ok_or("`url` must name a host")?;
    if !known || authority.host().is_empty() {
        return Err("`url` must begin with https:// and name a host".into());
    }
    if authority.as_str().contains('@') {
        return Err("`url` must not carry a user or password".into());
    }
    Ok(url)
}

#[cfg(test)]
mod tests;
