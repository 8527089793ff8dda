//! Answers on the wire: a message in one write, a stream as its events come, several at once when several are ready.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use gateway_core::refusal::{Answer, AnswerBody};
use gateway_protocol::sse;
use http::header;
use pingora_core::protocols::http::{HttpTask, ServerSession};
use pingora_http::ResponseHeader;
use tokio::time::Instant;

use super::stay::Stay;

/// Events written together when they are ready together: fewer system calls, no added wait.
const EVENTS_AT_ONCE: usize = 64;
const BYTES_AT_ONCE: usize = 64 * 1024;

/// A quiet stream says that it is still there, before a proxy on the way takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream is lively when its next event was awaited no longer than this. Then what comes within a breath goes out
/// together: written one by one, events cost more in system calls than in everything else. The timer rounds a breath
/// up to the next millisecond.
const LIVELY: Duration = Duration::from_millis(10);
const BREATH: Duration = Duration::from_micros(200);

pub enum Written {
    Whole,
    Broken,
    /// The client left; what the upstream still has to say.
    Left(BoxStream<'static, sse::Frame>),
}

/// `stay` is for streams that only listen; one that answers a call is finished whatever happens around it.
pub async fn answer(session: &mut ServerSession, answer: Answer, stay: Option<&Stay>) -> Written {
    let Answer { status, headers, body } = answer;
    let written = match body {
        AnswerBody::Empty => whole(session, status, &headers, None).await,
        AnswerBody::Json(json) => whole(session, status, &headers, Some(json)).await,
        AnswerBody::Events(events) => return stream(session, status, &headers, events, stay).await,
    };
    if written { Written::Whole } else { Written::Broken }
}

pub async fn json(session: &mut ServerSession, status: u16, body: Bytes) -> bool {
    whole(session, status, &[], Some(body)).await
}

pub async fn plain(session: &mut ServerSession, status: u16, message: &'static str) -> bool {
    let body = serde_json::json!({ "error": message }).to_string();
    json(session, status, body.into()).await
}

fn head(status: u16, headers: &[(&'static str, String)]) -> Option<ResponseHeader> {
    let mut head = ResponseHeader::build_no_case(status, Some(headers.len() + 4)).ok()?;
    for (name, value) in headers {
        head.insert_header(*name, value.as_str()).ok()?;
    }
    Some(head)
}

async fn whole(
    session: &mut ServerSession,
    status: u16,
    headers: &[(&'static str, String)],
    body: Option<Bytes>,
) -> bool {
    let Some(mut head) = head(status, headers) else {
        return false;
    };
    let length = body.as_ref().map_or(0, Bytes::len);
    let mut fields = Ok(());
    if body.is_some() {
        fields = fields.and_then(|()| head.insert_header(header::CONTENT_TYPE, "application/json"));
    }
    if status != 204 {
        fields = fields.and_then(|()| head.insert_header(header::CONTENT_LENGTH, length));
    }
    if fields.is_err() {
        return false;
    }
    match body.filter(|body| !body.is_empty()) {
        None => session.response_duplex_vec(vec![HttpTask::Header(Box::new(head), true)]).await.is_ok(),
        // One after the other, because pingora copies what it is given together; the head waits for the body to be sent.
        Some(body) => {
            session.write_response_header(Box::new(head)).await.is_ok()
                && session.write_response_body(body, true).await.is_ok()
        }
    }
}

async fn over(stay: Option<&Stay>) {
    match stay {
        Some(stay) => {
            stay.over().await;
        }
        None => std::future::pending().await,
    }
}

async fn stream(
    session: &mut ServerSession,
    status: u16,
    headers: &[(&'static str, String)],
    mut events: BoxStream<'static, sse::Frame>,
    stay: Option<&Stay>,
) -> Written {
    let Some(mut head) = head(status, headers) else {
        return Written::Broken;
    };
    let mut fields = head
        .insert_header(header::CONTENT_TYPE, "text/event-stream")
        .and_then(|()| head.insert_header(header::CACHE_CONTROL, "no-cache, no-transform"))
        .and_then(|()| head.insert_header("x-accel-buffering", "no"));
    if !session.is_http2() {
        fields = fields.and_then(|()| head.insert_header(header::TRANSFER_ENCODING, "chunked"));
    }
    if fields.is_err() {
        return Written::Broken;
    }
    // The header goes out at once: a client that opened a quiet stream must learn that it is open.
    if session.response_duplex_vec(vec![HttpTask::Header(Box::new(head), false)]).await.is_err() {
        return Written::Left(events);
    }
    let mut buffer = BytesMut::new();
    let mut over = std::pin::pin!(over(stay));
    // Set again only when it fires: a lively stream costs one look at the clock for each write.
    let mut quiet = std::pin::pin!(tokio::time::sleep(KEEP_ALIVE));
    let mut written = Instant::now();
    let mut breath = std::pin::pin!(tokio::time::sleep(BREATH));
    loop {
        let next = tokio::select! {
            biased;
            frame = events.next() => frame,
            _ = session.read_body_or_idle(true) => return Written::Left(events),
            () = &mut over => {
                if let Some(last) = stay.and_then(Stay::last_word) {
                    last.encode(&mut buffer);
                    // The end of the stream, next, notices if nobody reads any more.
                    let last = HttpTask::Body(Some(buffer.split().freeze()), false);
                    let _ = session.response_duplex_vec(vec![last]).await;
                }
                None
            }
            () = &mut quiet => {
                let (now, due) = (Instant::now(), written + KEEP_ALIVE);
                if now < due {
                    quiet.as_mut().reset(due);
                    continue;
                }
                quiet.as_mut().reset(now + KEEP_ALIVE);
                Some(sse::Frame::Comment(Bytes::from_static(b" still here")))
            }
        };
        let Some(frame) = next else {
            return match session.response_duplex_vec(vec![HttpTask::Done]).await {
                Ok(_) => Written::Whole,
                Err(_) => Written::Broken,
            };
        };
        frame.encode(&mut buffer);
        let (mut ended, mut drained) = (false, false);
        for _ in 1..EVENTS_AT_ONCE {
            if buffer.len() >= BYTES_AT_ONCE {
                break;
            }
            match events.next().now_or_never() {
                Some(Some(frame)) => frame.encode(&mut buffer),
                Some(None) => {
                    ended = true;
                    break;
                }
                None => {
                    drained = true;
                    break;
                }
            }
        }
        let tasks = vec![HttpTask::Body(Some(buffer.split().freeze()), ended)];
        if session.response_duplex_vec(tasks).await.is_err() {
            return Written::Left(events);
        }
        if ended {
            return Written::Whole;
        }
        let now = Instant::now();
        if drained && now - written < LIVELY {
            breath.as_mut().reset(now + BREATH);
            breath.as_mut().await;
        }
        written = Instant::now();
    }
}
