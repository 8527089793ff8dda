//! One HTTP request, read within its bounds and turned into what the gateway understands.

use bytes::{Bytes, BytesMut};
use gateway_core::exchange::Route;
use gateway_core::gateway::{Inbound, Verb, Wire};
use gateway_core::identity::Credential;
use gateway_core::lists::ListFilter;
use gateway_protocol::Revision;
use gateway_protocol::headers::McpHeaders;
use http::header::HeaderName;
use http::{HeaderMap, Method, header};
use pingora_core::protocols::http::ServerSession;
use tokio::time::timeout;

use super::EdgeLimits;
use super::admission::Admission;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

pub enum Asked {
    Health,
    Ready,
    Mcp {
        inbound: Box<Inbound>,
        /// The stateless era by its header: a disconnect means cancel.
        modern: bool,
    },
}

pub enum Unreadable {
    Refused {
        status: u16,
        message: &'static str,
    },
    /// The client went away or stalled.
    Gone,
}

fn refused(status: u16, message: &'static str) -> Unreadable {
    Unreadable::Refused { status, message }
}

pub async fn read(
    session: &mut ServerSession,
    limits: &EdgeLimits,
    admission: &Admission,
) -> Result<Asked, Unreadable> {
    let request = session.req_header();
    let headers = &request.headers;
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes + request.raw_path().len() > limits.header_bytes {
        return Err(refused(431, "the request's headers are too large"));
    }
    // HTTP/2 has the authority in the request line instead of a Host header.
    let authority = request.uri.authority().map(http::uri::Authority::as_str);
    let host = text(headers, header::HOST).or(authority);
    if !admission.host_allowed(host) {
        return Err(refused(403, "this Host is not served here; add it to `listen.hosts` if it should be"));
    }
    if !admission.origin_allowed(text(headers, header::ORIGIN), host) {
        return Err(refused(403, "this Origin is not allowed; add it to `listen.origins` if it should be"));
    }
    let (path, method) = (request.uri.path(), request.method.clone());
    let route = match path {
        "/health" if method == Method::GET => return Ok(Asked::Health),
        "/ready" if method == Method::GET => return Ok(Asked::Ready),
        "/mcp" => Route::All,
        _ => {
            let space = path.strip_prefix('/').and_then(|rest| rest.strip_suffix("/mcp"));
            let namespace = space.and_then(|space| space.parse().ok());
            Route::One(
                namespace.ok_or_else(|| refused(404, "there is nothing here; MCP is at /mcp and /{namespace}/mcp"))?,
            )
        }
    };
    let mcp = McpHeaders::collect(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
    let modern = mcp.protocol_version.as_deref().and_then(|said| said.parse().ok()).is_some_and(Revision::is_modern);
    let filter = filter(request.uri.query())?;
    let credential = credential(headers)?;
    let carried = carried(headers);
    let verb = match method {
        Method::POST => {
            if !is_json(headers) {
                return Err(refused(415, "the body must be application/json"));
            }
            let expects = text(headers, header::EXPECT).is_some_and(|said| said.eq_ignore_ascii_case("100-continue"));
            Verb::Post(body(session, limits, expects).await?)
        }
        Method::GET => Verb::Get,
        Method::DELETE => Verb::Delete,
        _ => return Err(refused(405, "use POST, GET or DELETE")),
    };
    let inbound =
        Inbound { route, verb, headers: mcp, carried, credential, wire: Wire::Http, metadata_url: None, filter };
    Ok(Asked::Mcp { inbound: Box::new(inbound), modern })
}

async fn body(session: &mut ServerSession, limits: &EdgeLimits, expects: bool) -> Result<Bytes, Unreadable> {
    let declared =
        text(&session.req_header().headers, header::CONTENT_LENGTH).and_then(|said| said.parse::<usize>().ok());
    let too_large = || refused(413, "the body is too large");
    if declared.is_some_and(|bytes| bytes > limits.body_bytes) {
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
        if first.len() > limits.body_bytes {
            return Err(too_large());
        }
        if declared == Some(first.len()) {
            return Ok(first);
        }
        let mut whole = BytesMut::from(first.as_ref());
        while let Some(more) = session.read_request_body().await.map_err(|_| Unreadable::Gone)? {
            if whole.len() + more.len() > limits.body_bytes {
                return Err(too_large());
            }
            whole.extend_from_slice(&more);
        }
        Ok(whole.freeze())
    };
    match timeout(limits.body_time, read).await {
        Ok(read) => read,
        Err(_) => Err(refused(408, "the body took too long")),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = text(headers, header::CONTENT_TYPE).and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// `?category=sales&risk_level=READ_ONLY`: a door that shows only such tools. What else stands there is not ours.
fn filter(query: Option<&str>) -> Result<ListFilter, Unreadable> {
    let mut filter = ListFilter::default();
    for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match key.as_ref() {
            "category" => filter.category = Some(value.into_owned()),
            "risk_level" => {
                let level = value.parse().map_err(|_| {
                    refused(400, "`risk_level` must be READ_ONLY, PROPOSE_ONLY, LOW_WRITE or HIGH_WRITE")
                })?;
                filter.risk_level = Some(level);
            }
            _ => {}
        }
    }
    Ok(filter)
}

/// One credential or none: two that differ would let somebody guess which one counts.
fn credential(headers: &HeaderMap) -> Result<Credential, Unreadable> {
    let wrong = || refused(400, "send one credential: `x-api-key: KEY` or `Authorization: Bearer KEY`");
    let mut keys = headers.get_all(&API_KEY).iter().map(|key| key.to_str().map_err(|_| wrong()));
    let mut bearers = headers.get_all(header::AUTHORIZATION).iter().map(|value| {
        let value = value.to_str().map_err(|_| wrong())?;
        let (scheme, token) = value.split_once(' ').ok_or_else(wrong)?;
        if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(wrong()) }
    });
    let found = (keys.next().transpose()?, bearers.next().transpose()?);
    if keys.next().is_some() || bearers.next().is_some() {
        return Err(wrong());
    }
    match found {
        (None, None) => Ok(Credential::None),
        (Some(one), None) | (None, Some(one)) => Ok(Credential::Key(one.to_owned())),
        (Some(key), Some(bearer)) if key == bearer => Ok(Credential::Key(key.to_owned())),
        _ => Err(wrong()),
    }
}

/// The caller's trace context goes on to the upstream; nothing else of its headers does.
fn carried(headers: &HeaderMap) -> Vec<(String, String)> {
    [TRACEPARENT, TRACESTATE]
        .into_iter()
        .filter_map(|name| Some((name.as_str().to_owned(), headers.get(&name)?.to_str().ok()?.to_owned())))
        .collect()
}
