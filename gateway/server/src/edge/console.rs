//! The console listener: the same pingora edge in front of an axum router, which runs where the store lives.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use http_body_util::BodyExt;
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream};
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_core::protocols::http::{HttpTask, ServerSession};
use pingora_core::server::ShutdownWatch;
use pingora_http::ResponseHeader;
use tokio::runtime::Handle;
use tower::ServiceExt;

use super::admission::Admission;
use super::bounded::{self, EdgeLimits, Unreadable};
use super::drain::Drain;
use super::respond;

/// Forms and API documents; tool traffic does not come here.
pub const BODY_BYTES: usize = 1024 * 1024;

pub struct ConsoleEdge {
    pub router: Router,
    pub limits: EdgeLimits,
    pub admission: Admission,
    pub drain: Arc<Drain>,
    /// Connections to the store that were made on a listener's worker would die with it.
    pub home: Handle,
    pub options: HttpServerOptions,
}

#[async_trait]
impl HttpServerApp for ConsoleEdge {
    async fn process_new_http(
        self: &Arc<Self>,
        mut session: ServerSession,
        _shutdown: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        if !bounded::begin(&mut session, &self.limits).await {
            return None;
        }
        // Nothing here stays open, so whatever is under way can be waited for.
        let _busy = self.drain.enter();
        if self.drain.is_draining() {
            session.set_keepalive(None);
        }
        let whole = match self.read(&mut session).await {
            Ok(request) => self.answer(&mut session, request).await.is_some(),
            Err(Unreadable::Gone) => false,
            Err(Unreadable::Refused { status, message }) => {
                bounded::refuse(&mut session, status, message).await;
                false
            }
        };
        bounded::end(session, whole).await
    }

    fn h2_options(&self) -> Option<H2Options> {
        Some(self.limits.h2_options())
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }
}

impl ConsoleEdge {
    async fn read(&self, session: &mut ServerSession) -> Result<Request, Unreadable> {
        let head = session.req_header();
        self.limits.head(head, 1)?;
        bounded::admitted(&self.admission, &head.headers, bounded::host(head))?;
        let mut request = Request::builder().method(head.method.clone()).uri(head.uri.clone());
        for (name, value) in &head.headers {
            request = request.header(name, value);
        }
        let body = self.limits.body(session).await?;
        request.body(Body::from(body)).map_err(|_| bounded::refused(400, "this is no request"))
    }

    /// `None`: the connection cannot be used again.
    async fn answer(&self, session: &mut ServerSession, request: Request) -> Option<()> {
        let Ok(response) = self.home.spawn(self.router.clone().oneshot(request)).await else {
            tracing::error!("a request to the console panicked");
            let failed = "the console failed; the operator's log says why";
            return respond::plain(session, 500, failed).await.then_some(());
        };
        let response = response.ok()?;
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
