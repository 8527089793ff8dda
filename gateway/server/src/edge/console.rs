//! The console listener: the same pingora edge in front of an axum router, which runs where the store lives.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use pingora_core::apps::{HttpPersistentSettings, HttpServerApp, ReusedHttpStream};
use pingora_core::protocols::http::{HttpTask, ServerSession};
use pingora_core::server::ShutdownWatch;
use pingora_http::ResponseHeader;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tower::ServiceExt;

use super::admission::Admission;
use super::respond;

/// Forms and API documents; tool traffic does not come here.
const BODY_BYTES: usize = 1024 * 1024;
const READ_TIME: Duration = Duration::from_secs(30);

pub struct ConsoleEdge {
    pub router: Router,
    pub admission: Admission,
    /// Connections to the store that were made on a listener's worker would die with it.
    pub home: Handle,
}

#[async_trait]
impl HttpServerApp for ConsoleEdge {
    async fn process_new_http(
        self: &Arc<Self>,
        mut session: ServerSession,
        _shutdown: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        session.set_keepalive(Some(60));
        session.set_write_timeout(Some(READ_TIME));
        match timeout(READ_TIME, session.read_request()).await {
            Ok(Ok(true)) => {}
            _ => return None,
        }
        let whole = self.serve(&mut session).await;
        let settings = HttpPersistentSettings::for_session(&session);
        match (whole, session.finish().await) {
            (Some(()), Ok(Some(stream))) => Some(ReusedHttpStream::from_reusable_stream(stream, settings)),
            _ => None,
        }
    }
}

impl ConsoleEdge {
    /// `None`: the connection cannot be used again.
    async fn serve(&self, session: &mut ServerSession) -> Option<()> {
        let head = session.req_header();
        let host = head.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
        let origin = head.headers.get(http::header::ORIGIN).and_then(|origin| origin.to_str().ok());
        if !self.admission.host_allowed(host) || !self.admission.origin_allowed(origin, host) {
            respond::plain(session, 403, "this Host or Origin is not served here").await;
            return None;
        }
        let mut request = Request::builder().method(head.method.clone()).uri(head.uri.clone());
        for (name, value) in &head.headers {
            request = request.header(name, value);
        }
        let body = timeout(READ_TIME, bounded_body(session)).await.ok().flatten()?;
        let request = request.body(Body::from(body)).ok()?;
        let response = self.home.spawn(self.router.clone().oneshot(request)).await.ok()?.ok()?;
        let (parts, mut body) = response.into_parts();
        let mut head = ResponseHeader::build(parts.status.as_u16(), Some(parts.headers.len())).ok()?;
        for (name, value) in &parts.headers {
            head.append_header(name, value).ok()?;
        }
        if !parts.headers.contains_key(http::header::CONTENT_LENGTH) && !session.is_http2() {
            head.insert_header(http::header::TRANSFER_ENCODING, "chunked").ok()?;
        }
        session.response_duplex_vec(vec![HttpTask::Header(Box::new(head), false)]).await.ok()?;
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.ok()?.into_data() {
                session.response_duplex_vec(vec![HttpTask::Body(Some(data), false)]).await.ok()?;
            }
        }
        session.response_duplex_vec(vec![HttpTask::Done]).await.ok().map(|_| ())
    }
}

async fn bounded_body(session: &mut ServerSession) -> Option<Bytes> {
    let mut whole = BytesMut::new();
    while let Some(piece) = session.read_request_body().await.ok()? {
        if whole.len() + piece.len() > BODY_BYTES {
            return None;
        }
        whole.extend_from_slice(&piece);
    }
    Some(whole.freeze())
}
