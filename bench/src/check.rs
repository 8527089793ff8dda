//! Says whether an answer is the one that was asked for: its id, its whole text, and for a stream every event in order.
//!
//! A proxy may write the same JSON differently (order, spaces, added `_meta`), so bytes decide only when they agree; when they do not,
//! the answer is parsed and judged by meaning. What then still differs is wrong, and a wrong answer fails the whole comparison.

use memchr::{memchr, memmem};
use serde_json::Value;

use crate::content::{Payload, Text, echo_text, event_text, stream_text};
use crate::wire::Response;

/// What one request may be answered with.
#[derive(Clone, Copy)]
pub struct Expected {
    pub id: u64,
    pub seed: u64,
    pub payload: Payload,
    seen: u32,
    ended: bool,
}

impl Expected {
    pub fn new(id: u64, seed: u64, payload: Payload) -> Self {
        Self { id, seed, payload, seen: 0, ended: false }
    }

    /// Called after every read: an event stream is checked and thrown away as it grows.
    pub fn progress(&mut self, response: &mut Response) -> Result<(), String> {
        if !response.head_seen() || !response.event_stream {
            return Ok(());
        }
        let body = std::mem::take(&mut response.body);
        let used = self.events(&body)?;
        response.body = body;
        response.body.drain(..used);
        Ok(())
    }

    pub fn finish(&mut self, response: &Response) -> Result<(), String> {
        if response.status != 200 {
            return Err(format!("HTTP {}: {}", response.status, excerpt(&response.body)));
        }
        match (self.payload, response.event_stream) {
            (Payload::Json(size), false) => result(&response.body, self.id, &echo_text(self.seed, size)),
            // A server may answer any POST with a stream; its only event is then the result.
            (_, true) if !response.body.is_empty() => {
                Err(format!("the stream ends inside an event: {}", excerpt(&response.body)))
            }
            (_, true) if self.ended => Ok(()),
            (_, true) => Err(format!("the stream ends after {} events without a result", self.seen)),
            (Payload::Stream { .. }, false) => Err(format!("not a stream: {}", excerpt(&response.body))),
        }
    }

    /// Checks every whole event and says how many bytes they took.
    fn events(&mut self, body: &[u8]) -> Result<usize, String> {
        let (mut used, mut at) = (0, 0);
        let mut data: Option<&[u8]> = None;
        while let Some(rest) = body.get(at..) {
            let Some(end) = memchr(b'\n', rest) else {
                break;
            };
            let line = rest.get(..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            at += end + 1;
            if let Some(value) = line.strip_prefix(b"data:") {
                if data.replace(value.strip_prefix(b" ").unwrap_or(value)).is_some() {
                    return Err("an event with two data lines".into());
                }
            } else if line.is_empty() {
                if let Some(data) = data.take().filter(|data| !data.is_empty()) {
                    self.event(data)?;
                }
                used = at;
            }
        }
        Ok(used)
    }

    fn event(&mut self, data: &[u8]) -> Result<(), String> {
        if self.ended {
            return Err(format!("an event after the result: {}", excerpt(data)));
        }
        let (events, size, last) = match self.payload {
            Payload::Stream { events, size, .. } => (events, size, stream_text(self.seed, events)),
            Payload::Json(size) => (0, size, echo_text(self.seed, size)),
        };
        if self.seen == events {
            self.ended = true;
            return result(data, self.id, &last);
        }
        let expected = event_text(self.seed, self.seen, size);
        self.seen += 1;
        if text_after(data, b"\"data\":\"", &expected) && memmem::find(data, b"\"notifications/message\"").is_some() {
            return Ok(());
        }
        let value: Value =
            serde_json::from_slice(data).map_err(|error| format!("event {}: {error}: {}", self.seen, excerpt(data)))?;
        let method = value.get("method").and_then(Value::as_str);
        let text = value.pointer("/params/data").and_then(Value::as_str);
        if method == Some("notifications/message") && text.is_some_and(|text| expected.equals(text)) {
            return Ok(());
        }
        Err(format!("event {} is not the one sent: {}", self.seen, excerpt(data)))
    }
}

fn result(body: &[u8], id: u64, text: &Text) -> Result<(), String> {
    if has_id(body, id) && text_after(body, b"\"text\":\"", text) {
        return Ok(());
    }
    let value: Value =
        serde_json::from_slice(body).map_err(|error| format!("not JSON ({error}): {}", excerpt(body)))?;
    if value.get("id").and_then(Value::as_u64) != Some(id) {
        return Err(format!("the answer to another id than {id}: {}", excerpt(body)));
    }
    let found = value.pointer("/result/content/0/text").and_then(Value::as_str);
    if found.is_some_and(|found| text.equals(found)) {
        return Ok(());
    }
    Err(format!("not the text that was asked for: {}", excerpt(body)))
}

fn has_id(body: &[u8], id: u64) -> bool {
    let mut needle = [0; 5 + 20];
    let (name, digits) = needle.split_at_mut(5);
    name.copy_from_slice(b"\"id\":");
    let len = 5 + write_decimal(digits, id);
    let needle = needle.get(..len).unwrap_or_default();
    memmem::find(body, needle).and_then(|at| body.get(at + len)).is_some_and(|next| matches!(next, b',' | b'}'))
}

fn text_after(body: &[u8], opening: &[u8], text: &Text) -> bool {
    let len = text.token.len() + text.prose.len();
    memmem::find(body, opening)
        .and_then(|at| body.get(at + opening.len()..))
        .is_some_and(|rest| rest.get(len) == Some(&b'"') && text.opens(rest))
}

/// Decimal digits without an allocation; returns how many were written.
fn write_decimal(out: &mut [u8], value: u64) -> usize {
    let mut rest = value;
    let mut len = 1;
    while rest >= 10 {
        rest /= 10;
        len += 1;
    }
    rest = value;
    for slot in out.iter_mut().take(len).rev() {
        *slot = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    len
}

fn excerpt(bytes: &[u8]) -> String {
    let shown = bytes.get(..bytes.len().min(240)).unwrap_or_default();
    format!("`{}`", String::from_utf8_lossy(shown).escape_debug())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::content::EVENT_TEXT;

    fn body(id: u64, text: &Text) -> Vec<u8> {
        let mut out =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#).into_bytes();
        text.write(&mut out);
        out.extend_from_slice(br#""}],"isError":false}}"#);
        out
    }

    #[test]
    fn accepts_the_answer_in_any_spelling_and_nothing_else() {
        let good = body(1_000_000_007, &echo_text(3, 200));
        let spaced = String::from_utf8(good.clone()).unwrap().replace("\":", "\" : ");
        for (case, bytes, right) in [
            ("exact", good.clone(), true),
            ("respelled", spaced.into_bytes(), true),
            ("other id", body(1_000_000_008, &echo_text(3, 200)), false),
            ("longer id", body(10_000_000_070, &echo_text(3, 200)), false),
            ("other seed", body(1_000_000_007, &echo_text(4, 200)), false),
            ("cut", good.get(..good.len() - 9).unwrap().to_vec(), true), // the text is whole; framing is the wire's concern
            ("half", good.get(..120).unwrap().to_vec(), false),
        ] {
            assert_eq!(result(&bytes, 1_000_000_007, &echo_text(3, 200)).is_ok(), right, "{case}");
        }
    }

    fn stream(seed: u64, events: &[u32], total: u32, ending: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for index in events {
            out.extend_from_slice(br#"data: {"method":"notifications/message","params":{"data":""#);
            event_text(seed, *index, EVENT_TEXT).write(&mut out);
            out.extend_from_slice(format!("\"}}}}{ending}{ending}").as_bytes());
        }
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&body(1_000_000_001, &stream_text(seed, total)));
        out.extend_from_slice(format!("{ending}{ending}").as_bytes());
        out
    }

    #[test]
    fn a_stream_must_be_whole_and_in_order() {
        let payload = Payload::Stream { events: 3, size: EVENT_TEXT, burst: 1 };
        for (case, bytes, right) in [
            ("whole", stream(9, &[0, 1, 2], 3, "\n"), true),
            ("crlf", stream(9, &[0, 1, 2], 3, "\r\n"), true),
            ("lost", stream(9, &[0, 2], 3, "\n"), false),
            ("swapped", stream(9, &[1, 0, 2], 3, "\n"), false),
            ("doubled", stream(9, &[0, 1, 1, 2], 3, "\n"), false),
            ("other count", stream(9, &[0, 1, 2], 4, "\n"), false),
        ] {
            for size in [1, 7, bytes.len()] {
                let mut response = Response::default();
                response.feed(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n").unwrap();
                response.feed(format!("content-length: {}\r\n\r\n", bytes.len()).as_bytes()).unwrap();
                let mut expected = Expected::new(1_000_000_001, 9, payload);
                let mut verdict = Ok(());
                for piece in bytes.chunks(size) {
                    response.feed(piece).unwrap();
                    verdict = verdict.and_then(|()| expected.progress(&mut response));
                }
                let verdict = verdict.and_then(|()| expected.finish(&response));
                assert_eq!(verdict.is_ok(), right, "{case} in pieces of {size}: {verdict:?}");
            }
        }
    }
}
