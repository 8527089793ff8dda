//! One exchange as an HTTP request. What never changes is prepared once; the client's own headers never come near.

use bytes::Bytes;
use gateway_core::{Ask, Exchange};
use gateway_protocol::{Message, Revision, headers};
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Uri};
use http_body_util::Full;

use super::HttpUpstreamError;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static(headers::SESSION_ID);
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
const NAME: HeaderName = HeaderName::from_static(headers::NAME);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Set from the body or by the transport; an operator's value would contradict it.
const RESERVED: [&str; 10] = [
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

pub(crate) struct Outgoing {
    url: Uri,
    /// As the request line has it: on a plain connection of our own, without scheme and host.
    target: Uri,
    /// Only for plain HTTP: over TLS the client writes it, because HTTP/2 has none.
    host: Option<HeaderValue>,
    fixed: Vec<(HeaderName, HeaderValue)>,
}

impl Outgoing {
    pub(super) fn new(url: &str, given: &[(String, String)]) -> Result<Self, HttpUpstreamError> {
        let not_a_url = || HttpUpstreamError::Url(shown(url));
        let parsed: Uri = url.parse().map_err(|_| not_a_url())?;
        let tls = match parsed.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(not_a_url()),
        };
        let authority = parsed.authority().ok_or_else(not_a_url)?;
        if authority.as_str().contains('@') {
            return Err(HttpUpstreamError::UserInfo(shown(url)));
        }
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| not_a_url())?;
        let fixed = given.iter().map(|(name, value)| fixed_header(name, value)).collect::<Result<_, _>>()?;
        let target = match parsed.path_and_query() {
            Some(path) if !tls => path.clone().into(),
            _ => parsed.clone(),
        };
        Ok(Self { host: (!tls).then_some(host), url: parsed, target, fixed })
    }

    pub(crate) fn url(&self) -> &Uri {
        &self.url
    }

    /// With nothing of MCP in it. `target` is another path at the same address.
    pub(crate) fn bare(&self, method: Method, target: Option<&PathAndQuery>) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::default());
        for (name, value) in &self.fixed {
            request.headers_mut().append(name.clone(), value.clone());
        }
        if let Some(host) = &self.host {
            request.headers_mut().insert(HOST, host.clone());
        }
        *request.method_mut() = method;
        *request.uri_mut() = match target {
            Some(target) => self.at(target).unwrap_or_else(|| self.target.clone()),
            None => self.target.clone(),
        };
        request
    }

    fn at(&self, target: &PathAndQuery) -> Option<Uri> {
        if self.host.is_some() {
            return Some(target.clone().into());
        }
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = Some(target.clone());
        Uri::from_parts(parts).ok()
    }

    pub(super) fn request(&self, exchange: &Exchange) -> Request<Full<Bytes>> {
        let mut map = HeaderMap::with_capacity(self.fixed.len() + exchange.carried.len() + 9);
        for (name, value) in &self.fixed {
            map.append(name.clone(), value.clone());
        }
        if let Some(host) = &self.host {
            map.insert(HOST, host.clone());
        }
        let (method, body) = match &exchange.ask {
            Ask::Message(message) => {
                map.insert(CONTENT_TYPE, JSON);
                map.insert(ACCEPT, BOTH);
                declare(&mut map, exchange, Some(message));
                carry(&mut map, &exchange.carried, message);
                (Method::POST, Full::new(message.to_vec().into()))
            }
            Ask::Listen { last_event_id } => {
                map.insert(ACCEPT, EVENTS);
                declare(&mut map, exchange, None);
                insert_text(&mut map, LAST_EVENT_ID, last_event_id.as_deref());
                (Method::GET, Full::default())
            }
            Ask::EndSession => {
                map.insert(ACCEPT, BOTH);
                declare(&mut map, exchange, None);
                (Method::DELETE, Full::default())
            }
        };
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = map;
        request
    }
}

/// What the upstream is told of version and session.
fn declare(map: &mut HeaderMap, exchange: &Exchange, message: Option<&Message>) {
    let spoken = exchange.session.as_ref().and_then(|session| session.revision()).or(exchange.revision);
    match (spoken, message) {
        (Some(revision), Some(message)) if revision.is_modern() => {
            mirror(map, message, revision);
            // The modern era has no sessions.
            return;
        }
        (Some(revision), message)
            if revision.has_version_header() && message.and_then(Message::method) != Some("initialize") =>
        {
            map.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
        }
        _ => {}
    }
    // An upstream that keeps no sessions gave none: the empty id stands for it.
    let session = exchange.session.as_ref().map(|session| session.upstream_id()).filter(|id| !id.is_empty());
    insert_text(map, SESSION_ID, session);
}

/// The headers that repeat the body, which is what is really sent.
fn mirror(map: &mut HeaderMap, message: &Message, revision: Revision) {
    for (name, value) in headers::derive(message, revision) {
        let name = match name {
            "MCP-Protocol-Version" => PROTOCOL_VERSION,
            "Mcp-Method" => METHOD,
            "Mcp-Name" => NAME,
            _ => continue,
        };
        if let Ok(value) = HeaderValue::try_from(value) {
            map.insert(name, value);
        }
    }
}

/// Copies of arguments belong to a tool call; trace context belongs to every message. Nothing else is carried.
fn carry(map: &mut HeaderMap, carried: &[(String, String)], message: &Message) {
    for (name, value) in carried {
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) else {
            continue;
        };
        let fits = match name.as_str() {
            "traceparent" | "tracestate" => true,
            other => other.starts_with(headers::PARAM_PREFIX) && message.method() == Some("tools/call"),
        };
        if fits {
            map.append(name, value);
        }
    }
}

fn insert_text(map: &mut HeaderMap, name: HeaderName, text: Option<&str>) {
    if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
        map.insert(name, value);
    }
}

fn fixed_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HttpUpstreamError> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HttpUpstreamError::HeaderName(name.into()))?;
    if RESERVED.contains(&parsed.as_str()) || parsed.as_str().starts_with("mcp-") {
        return Err(HttpUpstreamError::ReservedHeader(name.into()));
    }
    let mut value = HeaderValue::from_str(value).map_err(|_| HttpUpstreamError::HeaderValue(name.into()))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

/// A URL as an error shows it: without what may be a password.
fn shown(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        _ => url.into(),
    }
}
