//! Lines from a pipe, each bounded: a child that never ends its line does not take our memory.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

pub(super) struct Lines<R> {
    source: R,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
    longest: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(source: R, longest: usize) -> Self {
        Self { source, buffer: BytesMut::with_capacity(8 * 1024), searched: 0, longest }
    }

    /// The next line without its end; `None` when the pipe is closed. What stands there without an end is a line too.
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let fresh = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(place) = memchr::memchr(b'\n', fresh) {
                let mut line = self.buffer.split_to(self.searched + place + 1);
                self.searched = 0;
                line.truncate(line.len().saturating_sub(1));
                if line.last() == Some(&b'\r') {
                    line.truncate(line.len().saturating_sub(1));
                }
                return Ok(Some(line.freeze()));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.longest {
                let text = format!("a line is longer than {} bytes", self.longest);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                self.searched = 0;
                let rest = self.buffer.split().freeze();
                return Ok((!rest.is_empty()).then_some(rest));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[tokio::test]
    async fn cuts_lines_wherever_the_pipe_cuts_them() {
        let text = b"one\r\n\ntwo\nlast";
        for size in 1..text.len() {
            let (mut near, far) = tokio::io::duplex(size);
            tokio::spawn(async move { tokio::io::AsyncWriteExt::write_all(&mut near, text).await });
            let mut lines = Lines::new(far, 100);
            for expected in ["one", "", "two", "last"] {
                assert_eq!(lines.next().await.unwrap().unwrap(), expected, "{size}");
            }
            assert!(lines.next().await.unwrap().is_none());
        }
    }

    #[tokio::test]
    async fn a_line_without_end_is_refused() {
        let mut lines = Lines::new(&[b'x'; 5_000][..], 1_000);
        assert!(lines.next().await.is_err());
    }
}
