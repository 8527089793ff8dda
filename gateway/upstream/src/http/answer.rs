//! One HTTP response as what the gateway may pass on: a message, a stream of them, nothing, or somebody else's words.

use bytes::{Bytes, BytesMut};
use gateway_core::Namespace;
use gateway_core::ports::{Answered, Content, NewSession, UpstreamError};
use gateway_protocol::Reply;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Body;

use super::lines::Received;
use super::request::SESSION_ID;
use super::stream::EventStream;

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_body: usize,
    pub(super) max_event_bytes: usize,
    pub(super) max_depth: usize,
}

/// What is kept of an answer that is not MCP: enough for a log.
const FOREIGN_BYTES: usize = 64 * 1024;

pub(super) async fn read(
    namespace: &Namespace,
    limits: Limits,
    in_session: bool,
    response: Response<Received>,
) -> Result<Answered, UpstreamError> {
    let (head, body) = response.into_parts();
    if head.status == StatusCode::NOT_FOUND && in_session {
        return Err(UpstreamError::SessionGone(namespace.clone()));
    }
    let id = head.headers.get(&SESSION_ID).and_then(|id| id.to_str().ok());
    let session = id.map(|id| NewSession { id: id.into(), pinned: false });
    let content = match kind(head.status, &head.headers, &body) {
        Kind::Nothing => Content::Nothing,
        Kind::Events => Content::Stream(Box::pin(EventStream::new(namespace.clone(), limits, body))),
        Kind::Json => json(namespace, limits, head.status, &head.headers, body).await?,
        Kind::Foreign => foreign(namespace, &head.headers, body).await?,
    };
    Ok(Answered { status: head.status.as_u16(), session, content })
}

enum Kind {
    Nothing,
    Events,
    Json,
    Foreign,
}

fn kind(status: StatusCode, headers: &HeaderMap, body: &Received) -> Kind {
    if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT || body.is_end_stream() {
        return Kind::Nothing;
    }
    match media_type(headers) {
        // An error is never a stream, whatever it calls itself.
        media if media.eq_ignore_ascii_case("text/event-stream") && status.is_success() => Kind::Events,
        media if media.eq_ignore_ascii_case("application/json") => Kind::Json,
        _ => Kind::Foreign,
    }
}

fn media_type(headers: &HeaderMap) -> &str {
    let written = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    written.split(';').next().unwrap_or_default().trim()
}

async fn json(
    namespace: &Namespace,
    limits: Limits,
    status: StatusCode,
    headers: &HeaderMap,
    body: Received,
) -> Result<Content, UpstreamError> {
    let not_mcp = |what: String| UpstreamError::NotMcp { namespace: namespace.clone(), what };
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > limits.max_body) {
        return Err(not_mcp(format!("an answer of more than {} bytes", limits.max_body)));
    }
    let (bytes, complete) = collect(namespace, body, limits.max_body).await?;
    if !complete {
        return Err(not_mcp(format!("an answer of more than {} bytes", limits.max_body)));
    }
    if bytes.is_empty() {
        return Ok(Content::Nothing);
    }
    match Reply::scan(bytes.clone(), limits.max_depth) {
        Ok(reply) => Ok(Content::One(reply)),
        Err(_) if !status.is_success() => Ok(foreign_content(headers, bytes)),
        Err(refusal) => Err(not_mcp(refusal.message)),
    }
}

async fn foreign(namespace: &Namespace, headers: &HeaderMap, body: Received) -> Result<Content, UpstreamError> {
    let (bytes, _) = collect(namespace, body, FOREIGN_BYTES).await?;
    Ok(if bytes.is_empty() { Content::Nothing } else { foreign_content(headers, bytes) })
}

fn foreign_content(headers: &HeaderMap, mut body: Bytes) -> Content {
    body.truncate(FOREIGN_BYTES);
    Content::Foreign { content_type: media_type(headers).into(), body }
}

/// A part of an answer up to this size is copied: the connection then reads the next one into memory it already has, which is
/// warm, and the record of a short answer does not hold on to a whole buffer.
const COPIED_BYTES: usize = 8 * 1024;

/// At most `limit` bytes, and whether that was all.
async fn collect(namespace: &Namespace, mut body: Received, limit: usize) -> Result<(Bytes, bool), UpstreamError> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| UpstreamError::Unreachable(namespace.clone(), error.into()))?;
        let Ok(data) = frame.into_data() else { continue };
        let room = limit.saturating_sub(first.len() + rest.len());
        let fits = data.len() <= room;
        let data = if fits { data } else { data.slice(..room) };
        if first.is_empty() {
            first = if data.len() <= COPIED_BYTES { Bytes::copy_from_slice(&data) } else { data };
        } else {
            rest.extend_from_slice(&data);
        }
        if !fits {
            return Ok((joined(first, &rest), false));
        }
    }
    Ok((joined(first, &rest), true))
}

fn joined(first: Bytes, rest: &[u8]) -> Bytes {
    if rest.is_empty() {
        return first;
    }
    let mut all = BytesMut::with_capacity(first.len() + rest.len());
    all.extend_from_slice(&first);
    all.extend_from_slice(rest);
    all.freeze()
}
