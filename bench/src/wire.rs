//! Reads one HTTP/1.1 response from bytes as they come, without I/O: status, the two headers we need, the decoded body.
//!
//! As little as a load generator can do and still notice a broken answer: `content-length` and `chunked`, no trailers' meaning, no
//! `100 Continue`. The caller takes body bytes away as it checks them, so a long stream stays small.

use memchr::memmem;

const MAX_HEAD: usize = 32 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Fixed(usize),
    ChunkSize,
    ChunkData(usize),
    /// The line end after a chunk, or a trailer line after the last one.
    ChunkEnd {
        last: bool,
    },
    Done,
}

#[derive(Debug)]
pub struct Response {
    state: State,
    /// Bytes of an unfinished head or chunk line.
    line: Vec<u8>,
    pub body: Vec<u8>,
    pub status: u16,
    pub event_stream: bool,
    pub keep_alive: bool,
    pub session: Option<String>,
}

impl Default for Response {
    fn default() -> Self {
        Self {
            state: State::Head,
            line: Vec::new(),
            body: Vec::new(),
            status: 0,
            event_stream: false,
            keep_alive: true,
            session: None,
        }
    }
}

impl Response {
    /// Ready for the next response on the same connection; buffers keep their room.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.line.clear();
        self.body.clear();
        self.status = 0;
        self.event_stream = false;
        self.keep_alive = true;
        self.session = None;
    }

    pub fn done(&self) -> bool {
        self.state == State::Done
    }

    pub fn head_seen(&self) -> bool {
        self.state != State::Head
    }

    /// Takes bytes from the connection. One request is outstanding at a time, so bytes after the end are an error.
    pub fn feed(&mut self, mut input: &[u8]) -> Result<(), String> {
        while !input.is_empty() {
            input = match self.state {
                State::Head => self.head(input)?,
                State::Fixed(left) => {
                    let rest = self.take(input, left);
                    let left = left - (input.len() - rest.len());
                    self.state = if left == 0 { State::Done } else { State::Fixed(left) };
                    rest
                }
                State::ChunkData(left) => {
                    let rest = self.take(input, left);
                    let left = left - (input.len() - rest.len());
                    self.state = if left == 0 { State::ChunkEnd { last: false } } else { State::ChunkData(left) };
                    rest
                }
                State::ChunkSize => self.chunk_size(input)?,
                State::ChunkEnd { last } => self.chunk_end(input, last)?,
                State::Done => {
                    return Err(format!("{} bytes after the end of the answer", input.len()));
                }
            };
        }
        Ok(())
    }

    fn take<'a>(&mut self, input: &'a [u8], left: usize) -> &'a [u8] {
        let (mine, rest) = input.split_at(left.min(input.len()));
        self.body.extend_from_slice(mine);
        rest
    }

    fn head<'a>(&mut self, input: &'a [u8]) -> Result<&'a [u8], String> {
        let before = self.line.len();
        self.line.extend_from_slice(input);
        // The blank line may straddle two reads.
        let from = before.saturating_sub(3);
        let Some(found) = self.line.get(from..).and_then(|tail| memmem::find(tail, b"\r\n\r\n")) else {
            return if self.line.len() > MAX_HEAD { Err("the head is too long".into()) } else { Ok(&[]) };
        };
        let end = from + found + 4;
        let head = self.line.get(..end).map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        self.line.clear();
        self.read_head(&head)?;
        Ok(input.get(end - before..).unwrap_or(&[]))
    }

    fn read_head(&mut self, head: &str) -> Result<(), String> {
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|code| code.parse().ok());
        self.status = status.ok_or_else(|| format!("not an HTTP/1.1 answer: `{first}`"))?;
        let (mut length, mut chunked) = (None, false);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.parse::<usize>().map_err(|_| format!("content-length `{value}`"))?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                chunked = value.eq_ignore_ascii_case("chunked");
            } else if name.eq_ignore_ascii_case("content-type") {
                self.event_stream = value.starts_with("text/event-stream");
            } else if name.eq_ignore_ascii_case("connection") {
                self.keep_alive = !value.eq_ignore_ascii_case("close");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                self.session = Some(value.into());
            }
        }
        self.state = match (chunked, length) {
            (true, _) => State::ChunkSize,
            (false, Some(0)) => State::Done,
            (false, Some(length)) => State::Fixed(length),
            (false, None) if self.status == 204 => State::Done,
            (false, None) => {
                return Err("an answer without content-length that is not chunked".into());
            }
        };
        Ok(())
    }

    /// A whole line ending in LF, or nothing yet.
    fn line<'a>(&mut self, input: &'a [u8]) -> Result<(bool, &'a [u8]), String> {
        let cut = memchr::memchr(b'\n', input).map_or(input.len(), |at| at + 1);
        let (mine, rest) = input.split_at(cut);
        self.line.extend_from_slice(mine);
        if self.line.len() > MAX_HEAD {
            return Err("a chunk line is too long".into());
        }
        Ok((self.line.ends_with(b"\n"), rest))
    }

    fn chunk_size<'a>(&mut self, input: &'a [u8]) -> Result<&'a [u8], String> {
        let (whole, rest) = self.line(input)?;
        if whole {
            let text = String::from_utf8_lossy(&self.line);
            let digits = text.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(digits, 16).map_err(|_| format!("chunk size `{digits}`"))?;
            self.state = if size == 0 { State::ChunkEnd { last: true } } else { State::ChunkData(size) };
            self.line.clear();
        }
        Ok(rest)
    }

    fn chunk_end<'a>(&mut self, input: &'a [u8], last: bool) -> Result<&'a [u8], String> {
        let (whole, rest) = self.line(input)?;
        if whole {
            let blank = self.line == b"\r\n" || self.line == b"\n";
            self.state = match (last, blank) {
                (true, true) => State::Done,
                (true, false) => State::ChunkEnd { last },
                (false, true) => State::ChunkSize,
                (false, false) => return Err("a chunk is longer than its size".into()),
            };
            self.line.clear();
        }
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const FIXED: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nMcp-Session-Id: s1\r\n\r\nhello";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
        3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";

    #[test]
    fn reads_the_same_however_it_is_cut() {
        for (text, event_stream, keep_alive) in [(FIXED, false, true), (CHUNKED, true, false)] {
            for size in 1..=text.len() {
                let mut response = Response::default();
                for piece in text.as_bytes().chunks(size) {
                    response.feed(piece).unwrap();
                }
                assert!(response.done(), "pieces of {size}");
                assert_eq!(response.body, b"hello", "pieces of {size}");
                assert_eq!(
                    (response.status, response.event_stream, response.keep_alive),
                    (200, event_stream, keep_alive)
                );
            }
        }
    }

    #[test]
    fn refuses_what_it_cannot_frame() {
        for (text, expected) in [
            ("SSH-2.0\r\n\r\n", "not an HTTP/1.1 answer: `SSH-2.0`"),
            ("HTTP/1.1 200 OK\r\n\r\nx", "an answer without content-length that is not chunked"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxy", "1 bytes after the end of the answer"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "chunk size `zz`"),
        ] {
            assert_eq!(Response::default().feed(text.as_bytes()), Err(expected.into()), "{text}");
        }
    }
}
