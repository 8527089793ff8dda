//! Connections to one upstream over plain HTTP/1.1, each driven by the call that uses it.
//!
//! A pooled client gives every connection a task of its own, and each call then costs two switches between tasks, often
//! between threads as well. Here the call polls its connection itself: whoever waits for the answer does the reading. Between
//! calls nobody polls, so a connection that the upstream closed in the meantime is noticed when it is about to be used again.

mod idle;

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::future::poll_fn;
use gateway_core::BoxError;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Id};
use tower::ServiceExt;

use super::client::{KEEP_IDLE, Unsent};
use idle::Idle;

/// Connections kept while unused, by all runtimes together; more calls at once than this open and close theirs.
const MOST_IDLE: usize = 1024;

type Asked = Request<Full<Bytes>>;

pub(super) struct Lines {
    connector: HttpConnector,
    peer: Uri,
    idle: Mutex<Idle>,
    sweeping: AtomicBool,
}

impl Lines {
    pub(super) fn new(connector: HttpConnector, peer: Uri) -> Arc<Self> {
        Arc::new(Self { connector, peer, idle: Mutex::new(Idle::keeping(MOST_IDLE)), sweeping: AtomicBool::new(false) })
    }

    pub(super) async fn send(self: &Arc<Self>, mut request: Asked) -> Result<Response<Received>, BoxError> {
        loop {
            let (mut line, reused) = match self.take() {
                Some(line) => (line, true),
                None => (self.open().await.map_err(Unsent)?, false),
            };
            match line.send(request).await {
                Ok(response) => return Ok(response.map(|body| Received::over(body, line, Arc::clone(self)))),
                // Given back means that nothing of it was written, so another connection may have it.
                Err(mut refused) => match refused.take_message() {
                    Some(unsent) if reused => request = unsent,
                    Some(_) => return Err(Unsent(refused.into_error().into()).into()),
                    None => return Err(refused.into_error().into()),
                },
            }
        }
    }

    async fn open(&self) -> Result<Box<Line>, BoxError> {
        let stream = self.connector.clone().oneshot(self.peer.clone()).await?;
        let (sender, connection) = handshake(stream).await?;
        Ok(Box::new(Line { sender, connection: Some(connection), home: Handle::current().id() }))
    }

    /// The youngest connection that is still good.
    fn take(&self) -> Option<Box<Line>> {
        loop {
            let (mut line, since) = self.idle().take(Handle::current().id())?;
            if since.elapsed() < KEEP_IDLE && line.is_good() {
                return Some(line);
            }
        }
    }

    fn give_back(self: &Arc<Self>, line: Box<Line>) {
        // Dropped by a runtime that ends, there is nobody left to sweep, and nothing that needs it.
        let Ok(runtime) = Handle::try_current() else { return };
        let closed = self.idle().put(line.home, line);
        drop(closed);
        if !self.sweeping.swap(true, Ordering::AcqRel) {
            runtime.spawn(sweep(Sweeping(Arc::downgrade(self))));
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody sweeps for as long as this lives: the runtime on which it does may end first, and then another is needed.
struct Sweeping(Weak<Lines>);

impl Drop for Sweeping {
    fn drop(&mut self) {
        if let Some(lines) = self.0.upgrade() {
            lines.sweeping.store(false, Ordering::Release);
        }
    }
}

/// Closes what has been idle for too long, and ends when nothing is.
async fn sweep(sweeping: Sweeping) {
    loop {
        tokio::time::sleep(KEEP_IDLE).await;
        let Some(lines) = sweeping.0.upgrade() else { return };
        let mut idle = lines.idle();
        // Closed once the lock is let go of.
        let _closed = idle.close_old();
        if idle.is_empty() {
            // Before anybody can put something back that nobody would sweep.
            drop(sweeping);
            drop(idle);
            return;
        }
        drop(idle);
    }
}

/// Boxed wherever it is kept: it is large, and handed on several times a call.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    /// Gone once it has ended; dropping it tells whoever still waits.
    connection: Option<Connection<TokioIo<TcpStream>, Full<Bytes>>>,
    home: Id,
}

impl Line {
    fn drive(&mut self, context: &mut Context<'_>) {
        let open = self.connection.as_mut().is_some_and(|connection| Pin::new(connection).poll(context).is_pending());
        if !open {
            self.connection = None;
        }
    }

    fn is_good(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready()
    }

    async fn send(&mut self, request: Asked) -> Result<Response<Incoming>, TrySendError<Asked>> {
        let mut answer = pin!(self.sender.try_send_request(request));
        poll_fn(|context| {
            // Only the connection waits for the world: what it brings for the answer, it brings in this very call.
            self.drive(context);
            answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        })
        .await
    }
}

/// An answer's body, with the connection it comes over.
pub(super) struct Received {
    body: Incoming,
    line: Option<(Box<Line>, Arc<Lines>)>,
}

impl Received {
    fn over(body: Incoming, line: Box<Line>, home: Arc<Lines>) -> Self {
        Self { body, line: Some((line, home)) }
    }

    fn done(&mut self) {
        if let Some((line, home)) = self.line.take() {
            home.give_back(line);
        }
    }
}

impl From<Incoming> for Received {
    /// Over a connection that somebody else drives.
    fn from(body: Incoming) -> Self {
        Self { body, line: None }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let Some((line, _)) = &mut this.line else {
            return Pin::new(&mut this.body).poll_frame(context);
        };
        let quiet = &mut Context::from_waker(Waker::noop());
        let mut frame = Pin::new(&mut this.body).poll_frame(quiet);
        if frame.is_pending() {
            line.drive(context);
            frame = Pin::new(&mut this.body).poll_frame(quiet);
        }
        if matches!(frame, Poll::Ready(None)) {
            this.done();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Received {
    /// Unread to its end, the connection still holds somebody's answer and is closed.
    fn drop(&mut self) {
        if self.is_end_stream() {
            self.done();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::net::TcpListener;
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    pub(super) fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().build().unwrap()
    }

    /// Lines to somebody who accepts and says nothing.
    pub(super) async fn lines() -> (TcpListener, Arc<Lines>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        (listener, Lines::new(HttpConnector::new(), peer))
    }

    #[test]
    fn whoever_sweeps_is_missed_when_its_runtime_ends() {
        let first = runtime();
        let (_listener, lines) = first.block_on(lines());
        let used = || async { lines.give_back(lines.open().await.unwrap()) };
        first.block_on(used());
        assert!(lines.sweeping.load(Ordering::Acquire));
        drop(first);
        assert!(!lines.sweeping.load(Ordering::Acquire), "nobody sweeps, and nobody ever would");
        let second = runtime();
        second.block_on(used());
        assert!(lines.sweeping.load(Ordering::Acquire));
    }
}
