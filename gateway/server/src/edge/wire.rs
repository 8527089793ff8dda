//! A client's connection as pingora's HTTP reads and writes it, over a socket of the thread that serves it.
//!
//! Pingora's own stream cannot be made from a socket with buffers of a chosen size, and it looks at the clock around every read.

use std::io;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use bytes::{Buf, Bytes};
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, TimingDigest, UniqueID,
    UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream, ReadBuf};
use tokio::net::TcpStream;

/// An answer that fits is written with its head at once instead of after it; what is larger passes by the buffer.
const BUFFER: usize = 16 * 1024;

#[derive(Debug)]
pub struct Wire {
    stream: BufStream<TcpStream>,
    /// Looked at already, and still to be read.
    seen: Bytes,
}

impl Wire {
    pub fn new(socket: TcpStream) -> Self {
        Self { stream: BufStream::with_capacity(BUFFER, BUFFER, socket), seen: Bytes::new() }
    }
}

impl Drop for Wire {
    /// Why a client's TLS was refused is written by whoever refuses it and flushed by nobody. Without this the client would only
    /// see the connection end.
    fn drop(&mut self) {
        let _ = Pin::new(&mut self.stream).poll_flush(&mut Context::from_waker(Waker::noop()));
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.seen.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        let fits = self.seen.len().min(into.remaining());
        self.seen.copy_to_slice(into.initialize_unfilled_to(fits));
        into.advance(fits);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// How HTTP/2 without TLS is told from HTTP/1.1.
#[async_trait]
impl Peek for Wire {
    async fn try_peek(&mut self, bytes: &mut [u8]) -> io::Result<bool> {
        self.read_exact(bytes).await?;
        self.seen = [&*bytes, &self.seen].concat().into();
        Ok(true)
    }
}

#[async_trait]
impl Shutdown for Wire {
    async fn shutdown(&mut self) {
        if let Err(error) = AsyncWriteExt::shutdown(self).await {
            tracing::debug!("a connection could not be closed in order: {error}");
        }
    }
}

impl UniqueID for Wire {
    fn id(&self) -> UniqueIDType {
        self.stream.get_ref().as_raw_fd()
    }
}

// What pingora's own logs would tell of a connection; nobody reads them here.
impl Ssl for Wire {}

impl GetTimingDigest for Wire {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for Wire {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for Wire {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_was_looked_at_is_still_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut wire = Wire::new(listener.accept().await.unwrap().0);
        client.write_all(b"POST /mcp HTTP/1.1").await.unwrap();
        let (mut first, mut second) = ([0; 4], [0; 9]);
        assert!(wire.try_peek(&mut first).await.unwrap());
        assert!(wire.try_peek(&mut second).await.unwrap(), "twice, and further than before");
        assert_eq!((&first, &second), (b"POST", b"POST /mcp"));
        let mut all = Vec::new();
        while all.len() < 18 {
            let mut some = [0; 5];
            let read = wire.read(&mut some).await.unwrap();
            all.extend_from_slice(&some[..read]);
        }
        assert_eq!(all, b"POST /mcp HTTP/1.1");
        drop(client);
        assert!(wire.try_peek(&mut first).await.is_err(), "nothing more comes");
    }

    #[tokio::test]
    async fn small_pieces_go_out_together() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut wire = Wire::new(listener.accept().await.unwrap().0);
        for piece in ["HTTP/1.1 200 OK\r\n", "\r\n", "{}"] {
            wire.write_all(piece.as_bytes()).await.unwrap();
        }
        wire.flush().await.unwrap();
        let mut came = [0; 64];
        let length = client.read(&mut came).await.unwrap();
        assert_eq!(&came[..length], b"HTTP/1.1 200 OK\r\n\r\n{}");
    }

    #[tokio::test]
    async fn last_words_are_sent_though_nobody_flushes_them() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut wire = Wire::new(listener.accept().await.unwrap().0);
        wire.write_all(b"an alert").await.unwrap();
        drop(wire);
        let mut came = String::new();
        client.read_to_string(&mut came).await.unwrap();
        assert_eq!(came, "an alert");
    }
}
