//! A connection from its opening to its first request: it is brought to the thread that will serve it, greeted with TLS where
//! the listener speaks it, and must then say what it wants. Pingora would wait there without a bound: for the bytes that tell
//! HTTP/2 from HTTP/1.1, for the preface of HTTP/2, and for its first head.

use std::net::TcpStream as Socket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use filedescriptor::OwnedHandle;
use futures::FutureExt;
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream, ServerApp};
use pingora_core::listeners::tls::Acceptor;
use pingora_core::protocols::Stream;
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_core::protocols::l4::stream::Stream as Accepted;
use pingora_core::server::ShutdownWatch;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::drain::Drain;
use super::threads::Threads;
use super::wire::Wire;

/// Stands before a listener's application.
pub struct Doorstep<A> {
    app: Arc<A>,
    threads: Arc<Threads>,
    tls: Option<Acceptor>,
    /// How long a connection may take for its greeting, and then to say what it wants.
    patience: Duration,
    drain: Arc<Drain>,
}

impl<A: HttpServerApp + Send + Sync + 'static> Doorstep<A> {
    pub fn new(app: A, threads: &Arc<Threads>, tls: Option<Acceptor>, patience: Duration, drain: &Arc<Drain>) -> Self {
        Self { app: Arc::new(app), threads: Arc::clone(threads), tls, patience, drain: Arc::clone(drain) }
    }

    async fn serve(self: Arc<Self>, socket: TcpStream) {
        let Some(stream) = self.greet(socket).await else { return };
        let connection = Arc::new(Connection { app: Arc::clone(&self.app), begun: AtomicBool::new(false) });
        // Ours, because pingora's tells HTTP/2 clients to go elsewhere only after the last call was to be finished.
        let leaving = self.drain.leaving();
        let mut served = std::pin::pin!(connection.process_new(stream, &leaving));
        tokio::select! {
            biased;
            _ = &mut served => return,
            () = sleep(self.patience) => {}
        }
        if connection.begun.load(Ordering::Acquire) {
            served.await;
        }
    }

    /// Whoever is not let in finds out from TLS itself; the log says who it was, since no request ever will.
    async fn greet(&self, socket: TcpStream) -> Option<Stream> {
        let Some(tls) = &self.tls else {
            return Some(Box::new(Wire::new(socket)));
        };
        // Asked for now: a socket that has failed no longer says whose it was.
        let peer = socket.peer_addr().map_or_else(|_| "somebody".to_owned(), |address| address.to_string());
        match timeout(self.patience, tls.tls_handshake(Wire::new(socket))).await {
            Ok(Ok(stream)) => Some(Box::new(stream)),
            Ok(Err(error)) => {
                tracing::info!(peer, "{peer} did not agree on TLS: {error}");
                None
            }
            Err(_) => {
                tracing::info!(peer, "{peer} took too long to agree on TLS");
                None
            }
        }
    }
}

#[async_trait]
impl<A: HttpServerApp + Send + Sync + 'static> ServerApp for Doorstep<A> {
    /// The socket is known to the thread that accepted it and cannot be taken from there, but a second handle to it can.
    async fn process_new(self: &Arc<Self>, stream: Stream, _shutdown: &ShutdownWatch) -> Option<Stream> {
        let accepted = stream.as_any().downcast_ref::<Accepted>()?;
        let second = OwnedHandle::dup(accepted).map_err(|error| error.to_string());
        match second.and_then(|handle| handle.as_fd().try_clone_to_owned().map_err(|error| error.to_string())) {
            Ok(handle) => {
                let this = Arc::clone(self);
                self.threads.bring(Socket::from(handle), move |socket| this.serve(socket).boxed());
            }
            Err(error) => tracing::warn!(error, "a connection cannot be served: {error}"),
        }
        None
    }
}

struct Connection<A> {
    app: Arc<A>,
    /// Its first request is there, or in HTTP/1.1 is being read: from here on the application has bounds of its own.
    begun: AtomicBool,
}

#[async_trait]
impl<A: HttpServerApp + Send + Sync + 'static> HttpServerApp for Connection<A> {
    async fn process_new_http(
        self: &Arc<Self>,
        session: ServerSession,
        shutdown: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        self.begun.store(true, Ordering::Release);
        self.app.process_new_http(session, shutdown).await
    }

    fn h2_options(&self) -> Option<H2Options> {
        self.app.h2_options()
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        self.app.server_options()
    }
}
