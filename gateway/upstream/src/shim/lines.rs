//! Messages as lines, in and out.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// A longer line is no message.
const LONGEST: usize = 16 * 1024 * 1024;

pub(super) struct Lines<R> {
    input: R,
    read: BytesMut,
    /// How far the text was searched for its end.
    searched: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, read: BytesMut::new(), searched: 0 }
    }

    /// The next line that holds anything; `None` at the end.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        loop {
            let unsearched = self.read.get(self.searched..).unwrap_or_default();
            if let Some(end) = memchr::memchr(b'\n', unsearched) {
                let line = self.read.split_to(self.searched + end + 1).freeze();
                self.searched = 0;
                let trimmed = line.trim_ascii();
                if !trimmed.is_empty() {
                    return Ok(Some(line.slice_ref(trimmed)));
                }
                continue;
            }
            self.searched = self.read.len();
            if self.searched > LONGEST {
                return Err(std::io::Error::other(format!("a line of more than {LONGEST} bytes")));
            }
            if self.input.read_buf(&mut self.read).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Until there is nobody left who would say anything, or nobody who reads.
pub(super) async fn write(mut output: impl AsyncWrite + Unpin, mut messages: mpsc::Receiver<Bytes>) {
    while let Some(message) = messages.recv().await {
        // A message over several lines is the same message on one: outside of strings JSON does not care, and inside of
        // them a line end is written otherwise.
        let line: Vec<u8> =
            message.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).chain([b'\n']).collect();
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_and_one_by_one() {
        let text: &[u8] = b"{\"a\":1}\r\n\n  \n{\"b\":2}\n{\"cut\":";
        let mut lines = Lines::new(text);
        assert_eq!(lines.next().await.unwrap().unwrap(), "{\"a\":1}");
        assert_eq!(lines.next().await.unwrap().unwrap(), "{\"b\":2}");
        assert_eq!(lines.next().await.unwrap(), None, "what has no end was never sent whole");
    }

    #[tokio::test]
    async fn a_message_is_written_on_one_line() {
        let (out, outgoing) = mpsc::channel(4);
        out.send(Bytes::from_static(b"{\n  \"a\": 1\r\n}")).await.unwrap();
        drop(out);
        let (mut reader, writer) = tokio::io::duplex(1024);
        write(writer, outgoing).await;
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "{  \"a\": 1}\n");
    }
}
