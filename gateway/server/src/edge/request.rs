//! One HTTP request, read within its bounds and turned into what the gateway understands.

use bytes::Bytes;
use gateway_core::gateway::{Inbound, Verb, Wire};
use gateway_core::identity::Credential;
use gateway_core::lists::ListFilter;
use gateway_protocol::Revision;
use gateway_protocol::headers::McpHeaders;
use http::header::HeaderName;
use http::{HeaderMap, Method, header};
use pingora_core::protocols::http::ServerSession;

use super::McpEdge;
use super::bounded::{self, EdgeLimits, Unreadable, refused, text};
use super::door::{self, Door, Speaks};
use super::sse::Posted;
use super::websocket::Upgrade;
use super::well_known::{self, Resource};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// Another node passes on what was asked there.
pub const CARRIED: HeaderName = HeaderName::from_static(gateway_core::crossing::CARRIED);

pub enum Asked {
    Health,
    Ready,
    /// What an OAuth client must know of this resource.
    Metadata(serde_json::Value),
    Mcp {
        inbound: Box<Inbound>,
        /// The stateless era by its header: a disconnect means cancel.
        modern: bool,
    },
    /// The stream of the HTTP+SSE transport.
    Events(Box<Door>),
    /// A message beside such a stream.
    Posted(Box<(Door, Posted)>),
    Socket(Box<(Door, Upgrade)>),
}

pub async fn read(session: &mut ServerSession, edge: &McpEdge) -> Result<Asked, Unreadable> {
    let limits = &edge.limits;
    let request = session.req_header();
    let headers = &request.headers;
    // What a peer wrote is sealed, and sealed text is a third longer than what it hides.
    limits.head(request, if headers.contains_key(&CARRIED) { 2 } else { 1 })?;
    let host = bounded::host(request);
    bounded::admitted(&edge.admission, headers, host)?;
    let (path, method) = (request.uri.path(), request.method.clone());
    match path {
        "/health" if method == Method::GET => return Ok(Asked::Health),
        "/ready" if method == Method::GET => return Ok(Asked::Ready),
        _ => {}
    }
    if let Some(below) = path.strip_prefix(well_known::PATH).filter(|_| method == Method::GET) {
        return metadata(&edge.resource, host, below);
    }
    let nothing = "there is nothing here; MCP is at /mcp and /{namespace}/mcp";
    let (route, speaks) = door::find(path).ok_or_else(|| refused(404, nothing))?;
    let credential = credential(headers)?;
    let metadata_url = edge.resource.metadata_url(host, &route);
    let door =
        Door { route, credential, carried: carried(headers), metadata_url, filter: filter(request.uri.query())? };
    match speaks {
        Speaks::Http => {}
        Speaks::Socket => {
            let upgrade = Upgrade::of(&method, headers, !session.is_http2());
            let upgrade = upgrade.map_err(|(status, message)| refused(status, message))?;
            return Ok(Asked::Socket(Box::new((door, upgrade))));
        }
        Speaks::Events => return events(session, limits, &method, door).await,
    }
    let mcp = McpHeaders::collect(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
    let modern = mcp.protocol_version.as_deref().and_then(|said| said.parse().ok()).is_some_and(Revision::is_modern);
    let verb = match method {
        Method::POST => Verb::Post(message(session, limits).await?),
        Method::GET => Verb::Get,
        Method::DELETE => Verb::Delete,
        _ => return Err(refused(405, "use POST, GET or DELETE")),
    };
    Ok(Asked::Mcp { inbound: Box::new(door.inbound(verb, mcp, Wire::Http)), modern })
}

fn metadata(resource: &Resource, host: Option<&str>, below: &str) -> Result<Asked, Unreadable> {
    let document = resource.document(host, below);
    document.map(Asked::Metadata).ok_or_else(|| refused(404, "no authorization server issues tokens for this"))
}

/// GET opens the stream, POST brings a message to the one that its token names.
async fn events(
    session: &mut ServerSession,
    limits: &EdgeLimits,
    method: &Method,
    door: Door,
) -> Result<Asked, Unreadable> {
    match *method {
        Method::GET => Ok(Asked::Events(Box::new(door))),
        Method::POST => {
            let request = session.req_header();
            let path = request.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
            let pairs = request.uri.query().unwrap_or_default().split('&');
            let token = pairs.filter_map(|pair| pair.strip_prefix("session=")).next();
            let token = token.ok_or_else(|| refused(400, "open a stream with GET first; it says where to POST"))?;
            let token = token.to_owned();
            let body = message(session, limits).await?;
            Ok(Asked::Posted(Box::new((door, Posted { token, body, path, brought: false }))))
        }
        _ => Err(refused(405, "use GET for the stream, POST for messages")),
    }
}

async fn message(session: &mut ServerSession, limits: &EdgeLimits) -> Result<Bytes, Unreadable> {
    let headers = &session.req_header().headers;
    if !is_json(headers) {
        return Err(refused(415, "the body must be application/json"));
    }
    limits.body(session).await
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

/// The caller's trace context goes on to the upstream; nothing else of its headers does. What a peer wrote on a request that
/// it carried here is for the gateway itself.
fn carried(headers: &HeaderMap) -> Vec<(String, String)> {
    [TRACEPARENT, TRACESTATE, CARRIED]
        .into_iter()
        .filter_map(|name| Some((name.as_str().to_owned(), headers.get(&name)?.to_str().ok()?.to_owned())))
        .collect()
}
