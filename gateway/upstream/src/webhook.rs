//! Tells people that an approval waits, or what a policy mentions: one signed POST, without the call's arguments.
//!
//! `portreeve-signature: t=UNIX,v1=HEX`, where HEX is HMAC-SHA256 over `t`, a full stop and the body, under the webhook's
//! secret. Whoever sweeps decides when it is sent again.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gateway_core::BoxError;
use gateway_core::approvals::ApprovalRecord;
use gateway_core::ports::{Notice, Notifier, NotifyError};
use hmac::{Hmac, KeyInit, Mac};
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use serde_json::json;
use sha2::Sha256;
use uuid::Uuid;

use crate::http::{Authorities, HttpUpstreamError, tls_config};

const PATIENCE: Duration = Duration::from_secs(5);

pub struct Webhook {
    url: Uri,
    secret: String,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Webhook {
    /// The configuration has seen to it that the URL is an https one, or of this machine.
    pub fn new(url: &str, secret: &str) -> Result<Self, HttpUpstreamError> {
        let url = url.parse().map_err(|_| HttpUpstreamError::Url("the webhook's URL".into()))?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config(&Authorities::OfTheSystem)?)
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        Ok(Self { url, secret: secret.to_owned(), client })
    }

    async fn post(&self, body: String) -> Result<(), BoxError> {
        let at = Timestamp::now().as_second();
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("portreeve/", env!("CARGO_PKG_VERSION")))
            .header("portreeve-delivery", Uuid::now_v7().to_string())
            .header("portreeve-signature", format!("t={at},v1={}", signature(&self.secret, at, &body)?))
            .body(Full::new(Bytes::from(body)))?;
        let answer = tokio::time::timeout(PATIENCE, self.client.request(request)).await??;
        match answer.status() {
            status if status.is_success() => Ok(()),
            // Following it would carry a signed notice to a place that nobody configured.
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => Err("the webhook answered with a redirection".into()),
            status => Err(format!("the webhook answered with HTTP status {}", status.as_u16()).into()),
        }
    }
}

#[async_trait]
impl Notifier for Webhook {
    async fn tell(&self, approval: &ApprovalRecord, link: &str) -> Result<(), NotifyError> {
        let asked = &approval.asked;
        let body = json!({
            "type": "approval.requested",
            "approval_id": asked.id,
            "tenant": asked.tenant,
            "agent": asked.agent,
            "tool": asked.tool,
            "risk": asked.classification.code(),
            "four_eyes": asked.four_eyes,
            "reasons": asked.reasons,
            "deadline": asked.deadline,
            "url": link,
        });
        self.post(body.to_string()).await.map_err(NotifyError)
    }

    async fn announce(&self, notice: &Notice) -> Result<(), NotifyError> {
        let body = json!({
            "type": "call.mentioned",
            "trace_id": notice.trace,
            "tenant": notice.tenant,
            "agent": notice.agent,
            "tool": notice.tool,
            "risk": notice.classification.code(),
            "decision": notice.decision,
            "reasons": notice.reasons,
            "at": notice.at,
        });
        self.post(body.to_string()).await.map_err(NotifyError)
    }
}

fn signature(secret: &str, at: i64, body: &str) -> Result<String, BoxError> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())?;
    mac.update(at.to_string().as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    Ok(mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::signature;

    // Computed with another implementation: python3 -c "import hmac; print(hmac.new(b'0123456789abcdef', b'1790000000.{}', 'sha256').hexdigest())"
    #[test]
    fn the_signature_is_what_others_compute() {
        let expected = "3d02334942fff50e279f641c1b104ff5f49380d94ff307bb92b1e03f5aee6ff0";
        assert_eq!(signature("0123456789abcdef", 1_790_000_000, "{}").unwrap(), expected);
    }
}
