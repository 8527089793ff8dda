//! A connection from its opening to its first request. Pingora waits there without a bound: for the bytes that tell HTTP/2
//! from HTTP/1.1, for the preface of HTTP/2, and for its first head.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream, ServerApp};
use pingora_core::protocols::Stream;
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_core::server::ShutdownWatch;
use tokio::time::sleep;

use super::drain::Drain;

/// Stands before a listener's application.
pub struct Doorstep<A> {
    app: Arc<A>,
    /// How long a connection may take to say what it wants.
    patience: Duration,
    drain: Arc<Drain>,
}

impl<A> Doorstep<A> {
    pub fn new(app: A, patience: Duration, drain: &Arc<Drain>) -> Self {
        Self { app: Arc::new(app), patience, drain: Arc::clone(drain) }
    }
}

#[async_trait]
impl<A: HttpServerApp + Send + Sync + 'static> ServerApp for Doorstep<A> {
    async fn process_new(self: &Arc<Self>, stream: Stream, _shutdown: &ShutdownWatch) -> Option<Stream> {
        let connection = Arc::new(Connection { app: Arc::clone(&self.app), begun: AtomicBool::new(false) });
        // Ours, because pingora's tells HTTP/2 clients to go elsewhere only after the last call was to be finished.
        let leaving = self.drain.leaving();
        let mut served = std::pin::pin!(connection.process_new(stream, &leaving));
        tokio::select! {
            biased;
            done = &mut served => return done,
            () = sleep(self.patience) => {}
        }
        if connection.begun.load(Ordering::Acquire) { served.await } else { None }
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
