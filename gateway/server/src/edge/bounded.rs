//! What one request may cost before anybody looks at what it asks: the same for every listener.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::HeaderName;
use http::{HeaderMap, header};
use pingora_core::apps::{HttpPersistentSettings, HttpServerOptions, ReusedHttpStream};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_http::RequestHeader;
use tokio::time::timeout;

use super::admission::Admission;
use super::respond;

/// Requests of one HTTP/2 connection under way at once.
const STREAMS: u32 = 100;
/// HTTP/2 counts 32 bytes more for every field than it has, and allows no more of them than HTTP/1.1 does.
const FIELDS: usize = 256;
const FIELD_BYTES: usize = 32;

/// How long a refused client may go on sending what nobody reads. Cut off sooner, it might not see why.
const FAREWELL: Duration = Duration::from_secs(1);

/// A reader that takes nothing for this long is gone.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// Left on a connection that has served a request: the next one may take its time to begin.
struct Reused;

#[derive(Debug, Clone)]
pub struct EdgeLimits {
    pub body_bytes: usize,
    pub header_bytes: usize,
    pub header_time: Duration,
    pub body_time: Duration,
    pub idle_time: Duration,
}

pub enum Unreadable {
    Refused {
        status: u16,
        message: &'static str,
    },
    /// The client went away or stalled.
    Gone,
}

pub fn refused(status: u16, message: &'static str) -> Unreadable {
    Unreadable::Refused { status, message }
}

impl EdgeLimits {
    /// For pingora, which does not know a request before its head is there.
    pub fn server_options(&self, h2c: bool) -> HttpServerOptions {
        let mut options = HttpServerOptions::default();
        options.h2c = h2c;
        options.h2_idle_timeout = Some(self.idle_time);
        options
    }

    /// Room for a request that another node carries here; what is too large for others is refused with the head at hand.
    pub fn h2_options(&self) -> H2Options {
        let largest = 2 * self.header_bytes + FIELDS * FIELD_BYTES;
        let mut options = H2Options::default();
        options.max_header_list_size(u32::try_from(largest).unwrap_or(u32::MAX)).max_concurrent_streams(STREAMS);
        options
    }

    /// `times`: how often `header_bytes` the head may take.
    pub fn head(&self, request: &RequestHeader, times: usize) -> Result<(), Unreadable> {
        let fields = request.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
        if fields.sum::<usize>() + request.raw_path().len() > times * self.header_bytes {
            return Err(refused(431, "the request's headers are too large"));
        }
        Ok(())
    }

    pub async fn body(&self, session: &mut ServerSession) -> Result<Bytes, Unreadable> {
        let headers = &session.req_header().headers;
        let expects = text(headers, header::EXPECT).is_some_and(|said| said.eq_ignore_ascii_case("100-continue"));
        let declared = text(headers, header::CONTENT_LENGTH).and_then(|said| said.parse::<usize>().ok());
        let too_large = || refused(413, "the body is too large");
        if declared.is_some_and(|bytes| bytes > self.body_bytes) {
            return Err(too_large());
        }
        if expects && session.write_continue_response().await.is_err() {
            return Err(Unreadable::Gone);
        }
        let read = async {
            // Nearly always the body is one piece, and then it is not copied.
            let Some(first) = session.read_request_body().await.map_err(|_| Unreadable::Gone)? else {
                return Ok(Bytes::new());
            };
            if first.len() > self.body_bytes {
                return Err(too_large());
            }
            if declared == Some(first.len()) {
                return Ok(first);
            }
            let mut whole = BytesMut::from(first.as_ref());
            while let Some(more) = session.read_request_body().await.map_err(|_| Unreadable::Gone)? {
                if whole.len() + more.len() > self.body_bytes {
                    return Err(too_large());
                }
                whole.extend_from_slice(&more);
            }
            Ok(whole.freeze())
        };
        match timeout(self.body_time, read).await {
            Ok(read) => read,
            Err(_) => Err(refused(408, "the body took too long")),
        }
    }
}

/// Reads the head of the next request. False: none came in time, or none that can be read.
pub async fn begin(session: &mut ServerSession, limits: &EdgeLimits) -> bool {
    let reused = session.take_connection_user_context().is_some();
    session.set_keepalive(Some(limits.idle_time.as_secs()));
    session.set_write_timeout(Some(WRITE_TIME));
    // Later than our own limit on a body, which has an answer to give.
    session.set_read_timeout(Some(limits.body_time + limits.header_time));
    let patience = if reused { limits.idle_time + limits.header_time } else { limits.header_time };
    match timeout(patience, session.read_request()).await {
        Ok(Ok(there)) => there,
        Err(_) => false,
        Ok(Err(error)) => {
            tracing::debug!("unreadable request: {error}");
            let _ = session.respond_error(400).await;
            false
        }
    }
}

/// The connection, if it can be used again. `whole`: the answer was given to its end.
pub async fn end(session: ServerSession, whole: bool) -> Option<ReusedHttpStream> {
    let mut settings = HttpPersistentSettings::for_session(&session);
    settings.set_user_context(Box::new(Reused));
    match (whole, session.finish().await) {
        (true, Ok(Some(stream))) => Some(ReusedHttpStream::from_reusable_stream(stream, settings)),
        _ => None,
    }
}

/// Whom the request means. HTTP/2 has the authority in the request line instead of a Host header.
pub fn host(request: &RequestHeader) -> Option<&str> {
    text(&request.headers, header::HOST).or(request.uri.authority().map(http::uri::Authority::as_str))
}

pub fn admitted(admission: &Admission, headers: &HeaderMap, host: Option<&str>) -> Result<(), Unreadable> {
    if !admission.host_allowed(host) {
        return Err(refused(403, "this Host is not served here; add it to `listen.hosts` if it should be"));
    }
    if !admission.origin_allowed(text(headers, header::ORIGIN), host) {
        return Err(refused(403, "this Origin is not allowed; add it to `listen.origins` if it should be"));
    }
    Ok(())
}

/// Says no, and that the connection ends with it: what was not read of the body would be taken for the next request.
pub async fn refuse(session: &mut ServerSession, status: u16, message: &'static str) {
    session.set_keepalive(None);
    if !respond::plain(session, status, message).await || session.is_http2() || session.is_body_done() {
        return;
    }
    let rest = async { while let Ok(Some(_)) = session.read_request_body().await {} };
    let _ = timeout(FAREWELL, rest).await;
}

pub fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
