//! A listener that is closed while what came through it is still served. Pingora closes its own with the process, or so long
//! before that an upgrade has its time.

use std::sync::Arc;

use async_trait::async_trait;
use pingora_core::apps::ServerApp;
use pingora_core::server::{ListenFds, ShutdownWatch};
use pingora_core::services::Service;
use pingora_core::services::listening::Service as Listening;
use tokio::sync::watch;

use super::drain::Drain;

pub struct Closing<A> {
    service: Listening<A>,
    drain: Arc<Drain>,
}

impl<A> Closing<A> {
    pub fn new(service: Listening<A>, drain: &Arc<Drain>) -> Self {
        Self { service, drain: Arc::clone(drain) }
    }
}

#[async_trait]
impl<A: ServerApp + Send + Sync + 'static> Service for Closing<A> {
    async fn start_service(&mut self, fds: Option<ListenFds>, mut shutdown: ShutdownWatch, listeners_per_fd: usize) {
        let (close, closed) = watch::channel(false);
        let drain = Arc::clone(&self.drain);
        let told = async move {
            tokio::select! {
                _ = shutdown.wait_for(|stopping| *stopping) => {}
                () = drain.closed() => {}
            }
            close.send_replace(true);
            std::future::pending().await
        };
        tokio::select! {
            () = Service::start_service(&mut self.service, fds, closed, listeners_per_fd) => {}
            () = told => {}
        }
    }

    fn name(&self) -> &str {
        Service::name(&self.service)
    }

    fn threads(&self) -> Option<usize> {
        Service::threads(&self.service)
    }

    fn listen_addresses(&self) -> Option<Vec<String>> {
        Service::listen_addresses(&self.service)
    }
}
