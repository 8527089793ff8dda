//! Server-sent events as MCP streams them: one frame in, one frame out, nothing buffered beyond one event.
//!
//! Reading follows the WHATWG rules, with two additions a gateway needs: comments come out as frames, because they keep
//! connections alive on the far side too, and an event without data comes out as well, because its id may be the one a client
//! resumes from. What the data means is not known here.

mod decode;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::memchr2;

pub use decode::Decoder;

/// One event. `Event::default()` has a data line, and the line is empty: that is how 2025-11-25 primes a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    pub id: Option<String>,
    pub event: Option<String>,
    /// Milliseconds a client should wait before it reconnects.
    pub retry: Option<u64>,
    /// The data lines, joined by LF.
    pub data: Bytes,
    /// There was no data line at all, which is not the same as an empty one.
    pub dataless: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Event(Event),
    /// What stood after the colon, unchanged.
    Comment(Bytes),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event is larger than {0} bytes")]
    TooLarge(usize),
}

impl Event {
    /// An ordinary message event.
    pub fn message(data: impl Into<Bytes>) -> Self {
        Self { data: data.into(), ..Self::default() }
    }

    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    #[must_use]
    pub fn named(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }
}

impl Frame {
    pub fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Event(event) => encode(event, out),
            Self::Comment(comment) => encode_comment(comment, out),
        }
    }
}

/// Writes one event. An id or a name that would break out of its line is left out rather than written.
pub fn encode(event: &Event, out: &mut BytesMut) {
    out.reserve(event.data.len() + 64);
    if let Some(name) = event.event.as_deref().filter(|name| is_one_line(name)) {
        field("event", name.as_bytes(), out);
    }
    // Readers ignore an id that holds NUL, so it would be lost anyway.
    if let Some(id) = event.id.as_deref().filter(|id| is_one_line(id) && !id.contains('\0')) {
        field("id", id.as_bytes(), out);
    }
    if let Some(retry) = event.retry {
        field("retry", retry.to_string().as_bytes(), out);
    }
    if !event.dataless || !event.data.is_empty() {
        for line in lines(&event.data) {
            field("data", line, out);
        }
    }
    out.put_u8(b'\n');
}

/// Writes a comment, closed by a blank line as keep-alives usually are: some readers flush only there.
pub fn encode_comment(comment: &[u8], out: &mut BytesMut) {
    for line in lines(comment) {
        out.put_u8(b':');
        out.put_slice(line);
        out.put_u8(b'\n');
    }
    out.put_u8(b'\n');
}

fn field(name: &str, value: &[u8], out: &mut BytesMut) {
    out.put_slice(name.as_bytes());
    out.put_u8(b':');
    if !value.is_empty() {
        // Always a space: readers remove one, and the value may begin with its own.
        out.put_u8(b' ');
        out.put_slice(value);
    }
    out.put_u8(b'\n');
}

fn is_one_line(text: &str) -> bool {
    memchr2(b'\n', b'\r', text.as_bytes()).is_none()
}

/// The lines of a text, at any of the three line ends: a bare CR left inside a data line would end it on the far side.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = memchr2(b'\n', b'\r', text) else {
            rest = None;
            return Some(text);
        };
        let (line, ended) = text.split_at_checked(end)?;
        rest = ended.strip_prefix(b"\r\n").or_else(|| ended.get(1..));
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn written(event: &Event) -> String {
        let mut out = BytesMut::new();
        encode(event, &mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    #[test]
    fn writes_events() {
        for (event, expected) in [
            (Event::message("{}"), "data: {}\n\n"),
            (Event::message("a\nb\r\nc\rd"), "data: a\ndata: b\ndata: c\ndata: d\n\n"),
            (Event::message(" a"), "data:  a\n\n"),
            (Event::message("a\n"), "data: a\ndata:\n\n"),
            (Event::default().with_id("x"), "id: x\ndata:\n\n"),
            (Event { dataless: true, id: Some("x".into()), ..Event::default() }, "id: x\n\n"),
            (Event { retry: Some(500), dataless: true, ..Event::default() }, "retry: 500\n\n"),
            (Event::message("{}").named("endpoint").with_id("1"), "event: endpoint\nid: 1\ndata: {}\n\n"),
            (Event::message("{}").named("a\ndata: forged").with_id("1\r2"), "data: {}\n\n"),
            (Event::message("{}").with_id("1\u{0}2"), "data: {}\n\n"),
        ] {
            assert_eq!(written(&event), expected);
        }
    }

    #[test]
    fn a_comment_cannot_become_an_event() {
        for (comment, expected) in [("", ":\n\n"), (" ping", ": ping\n\n"), ("a\ndata: b", ":a\n:data: b\n\n")] {
            let mut out = BytesMut::new();
            encode_comment(comment.as_bytes(), &mut out);
            assert_eq!(out, expected);
        }
    }
}
