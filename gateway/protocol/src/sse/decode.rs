//! Takes an event stream apart, however the network has cut it.
//!
//! A line that lies whole in one chunk is a slice of that chunk, so the usual event (one data line, one chunk) is never copied.
//! Only the line that a chunk boundary cuts is put together in a buffer of its own, and that buffer is bounded like the event.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr2;

use super::{Event, Frame, SseError};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug)]
pub struct Decoder {
    max_event_bytes: usize,
    chunks: VecDeque<Bytes>,
    /// The beginning of a line whose end has not come yet.
    cut: BytesMut,
    event: Partial,
    /// A CR ended the last line, so an LF that follows belongs to it.
    after_cr: bool,
    /// No line has been read yet, so a byte order mark may still come.
    at_start: bool,
    /// Once an event was too large there is no telling where the next one begins.
    failed: bool,
}

/// The event whose closing blank line has not come yet.
#[derive(Debug, Default)]
struct Partial {
    id: Option<String>,
    event: Option<String>,
    retry: Option<u64>,
    data: Data,
    /// Bytes of all its lines, unknown fields included: they too must not grow without end.
    size: usize,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    One(Bytes),
    Many(BytesMut),
}

impl Decoder {
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            chunks: VecDeque::new(),
            cut: BytesMut::new(),
            event: Partial::default(),
            after_cr: false,
            at_start: true,
            failed: false,
        }
    }

    pub fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() && !self.failed {
            self.chunks.push_back(chunk);
        }
    }

    /// The next frame, or none until more is pushed.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, SseError> {
        while let Some(line) = self.next_line()? {
            if let Some(frame) = self.take_line(&line)? {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Everything that is whole by now. A fault ends it, after what came before the fault.
    pub fn frames(&mut self) -> impl Iterator<Item = Result<Frame, SseError>> {
        std::iter::from_fn(|| self.next_frame().transpose())
    }

    /// The stream has ended: an event without its blank line is dropped. Says whether anything was.
    pub fn finish(&mut self) -> bool {
        let dropped = !self.cut.is_empty() || self.event.size > 0 || !self.chunks.is_empty();
        self.cut.clear();
        self.chunks.clear();
        self.event = Partial::default();
        dropped
    }

    fn next_line(&mut self) -> Result<Option<Bytes>, SseError> {
        while let Some(mut chunk) = self.chunks.pop_front() {
            if std::mem::take(&mut self.after_cr) && chunk.first() == Some(&b'\n') {
                chunk.advance(1);
            }
            let Some(end) = memchr2(b'\n', b'\r', &chunk) else {
                self.bound(self.cut.len() + chunk.len())?;
                self.cut.extend_from_slice(&chunk);
                continue;
            };
            let mut line = chunk.split_to(end);
            self.after_cr = chunk.first() == Some(&b'\r');
            chunk.advance(1);
            if !chunk.is_empty() {
                self.chunks.push_front(chunk);
            }
            self.bound(self.cut.len() + line.len())?;
            if !self.cut.is_empty() {
                self.cut.extend_from_slice(&line);
                line = self.cut.split().freeze();
            }
            if std::mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
                line.advance(BYTE_ORDER_MARK.len());
            }
            return Ok(Some(line));
        }
        Ok(None)
    }

    fn take_line(&mut self, line: &Bytes) -> Result<Option<Frame>, SseError> {
        if line.is_empty() {
            return Ok(std::mem::take(&mut self.event).complete().map(Frame::Event));
        }
        let colon = memchr::memchr(b':', line);
        if colon == Some(0) {
            return Ok(Some(Frame::Comment(line.slice(1..))));
        }
        self.event.size += line.len() + 1;
        let name = line.get(..colon.unwrap_or(line.len())).unwrap_or_default();
        let start = colon.map_or(line.len(), |colon| colon + 1);
        let space = usize::from(line.get(start) == Some(&b' '));
        let value = line.slice(start + space..);
        self.event.field(name, value);
        self.bound(0)?;
        Ok(None)
    }

    /// Refuses to let the current event grow by `more` bytes beyond the limit.
    fn bound(&mut self, more: usize) -> Result<(), SseError> {
        if self.failed || self.event.size + more > self.max_event_bytes {
            self.failed = true;
            self.finish();
            return Err(SseError::TooLarge(self.max_event_bytes));
        }
        Ok(())
    }
}

impl Partial {
    fn field(&mut self, name: &[u8], value: Bytes) {
        match name {
            b"data" => self.data.add(value),
            b"event" => self.event = Some(text(&value)),
            b"id" if !value.contains(&0) => self.id = Some(text(&value)),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                self.retry = text(&value).parse().ok().or(self.retry);
            }
            _ => {}
        }
    }

    fn complete(self) -> Option<Event> {
        let (data, dataless) = match self.data {
            Data::None => (Bytes::new(), true),
            Data::One(data) => (data, false),
            Data::Many(data) => (data.freeze(), false),
        };
        if dataless && self.id.is_none() && self.event.is_none() && self.retry.is_none() {
            return None;
        }
        Some(Event { id: self.id, event: self.event, retry: self.retry, data, dataless })
    }
}

impl Data {
    fn add(&mut self, line: Bytes) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(line),
            Self::One(first) => {
                let mut many = BytesMut::with_capacity((first.len() + line.len() + 1) * 2);
                many.extend_from_slice(&first);
                many.extend_from_slice(b"\n");
                many.extend_from_slice(&line);
                Self::Many(many)
            }
            Self::Many(mut many) => {
                many.extend_from_slice(b"\n");
                many.extend_from_slice(&line);
                Self::Many(many)
            }
        };
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn frames(stream: &[u8]) -> Vec<Frame> {
        let mut decoder = Decoder::new(1 << 20);
        decoder.push(Bytes::copy_from_slice(stream));
        decoder.frames().map(Result::unwrap).collect()
    }

    fn event(data: &'static str) -> Frame {
        Frame::Event(Event::message(data))
    }

    #[test]
    fn reads_events() {
        for (stream, expected) in [
            ("data: a\n\n", vec![event("a")]),
            ("data:a\r\n\r\n", vec![event("a")]),
            ("id: 1\r\ndata: a\r\ndata: b\r\n\r\n", vec![Frame::Event(Event::message("a\nb").with_id("1"))]),
            ("data: a\r\rdata: b\r\r", vec![event("a"), event("b")]),
            ("\u{feff}data: a\n\n", vec![event("a")]),
            ("data: a\ndata:  b\ndata\n\n", vec![event("a\n b\n")]),
            (": ping\n\n:\n", vec![Frame::Comment(" ping".into()), Frame::Comment(Bytes::new())]),
            ("data: a\n:x\ndata: b\n\n", vec![Frame::Comment("x".into()), event("a\nb")]),
            ("id: 1\ndata:\n\n", vec![Frame::Event(Event::default().with_id("1"))]),
            ("id: 1\n\n", vec![Frame::Event(Event { dataless: true, ..Event::default().with_id("1") })]),
            (
                "retry: 50\nretry: x\n\n",
                vec![Frame::Event(Event { dataless: true, retry: Some(50), ..Event::default() })],
            ),
            ("event: endpoint\ndata: /m?s=1\n\n", vec![Frame::Event(Event::message("/m?s=1").named("endpoint"))]),
            ("id: a\0b\nunknown: 1\n\n\n\n", vec![]),
            ("data: unfinished\n", vec![]),
            ("data: unfinished", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(frames(stream.as_bytes()), expected, "{stream:?}");
        }
    }

    #[test]
    fn an_event_within_one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"event: message\ndata: {\"a\":1}\n\n");
        let mut decoder = Decoder::new(1024);
        decoder.push(chunk.clone());
        let Some(Frame::Event(event)) = decoder.next_frame().unwrap() else { panic!("an event") };
        assert_eq!(event.data.as_ptr(), chunk[21..].as_ptr());
    }

    #[test]
    fn an_event_that_never_ends_is_an_error_and_not_a_buffer() {
        for chunk in ["data: 0123456789", "data: 01234567\n", "data: 0\n", "x: 0\n", "x", ": 0123456789012345678901"] {
            let mut decoder = Decoder::new(20);
            let failed = (0..100).any(|_| {
                decoder.push(Bytes::from_static(chunk.as_bytes()));
                decoder.frames().any(|frame| frame.is_err())
            });
            assert!(failed, "{chunk:?}");
            assert!(decoder.cut.capacity() < 4096);
            decoder.push(Bytes::from_static(b"\n\ndata: a\n\n"));
            assert_eq!(decoder.next_frame(), Ok(None), "nothing is read after the fault");
        }
        assert_eq!(Decoder::new(20).next_frame(), Ok(None));
    }

    #[test]
    fn the_limit_is_for_one_event_and_not_for_the_stream() {
        let mut decoder = Decoder::new(20);
        for _ in 0..1000 {
            decoder.push(Bytes::from_static(b":keep-alive\n\ndata: 012345678\n\n"));
            assert!(matches!(decoder.next_frame(), Ok(Some(Frame::Comment(_)))));
            assert!(matches!(decoder.next_frame(), Ok(Some(Frame::Event(_)))));
        }
        assert!(!decoder.finish());
        decoder.push(Bytes::from_static(b"data: a\n"));
        assert_eq!(decoder.next_frame(), Ok(None));
        assert!(decoder.finish(), "an event without its blank line was dropped");
    }
}
