//! Connections to one upstream over TLS: a pool for each runtime that calls.
//!
//! Over HTTP/2 many calls share a connection, so it is driven by a task of its own, on the runtime where it was opened. In one
//! pool for all, whatever keeps that runtime's thread busy would hold up everybody's calls to the upstream.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use gateway_core::BoxError;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::runtime::{Handle, Id};

use super::client::{KEEP_IDLE, Unsent};

/// Runtimes that have a pool. There are a few more than cores; only a process that starts them again and again has others.
const MOST_HOMES: usize = 256;

type Pool = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

pub(super) struct Pools {
    connector: HttpsConnector<HttpConnector>,
    /// The oldest first.
    homes: Mutex<VecDeque<(Id, Pool)>>,
}

impl Pools {
    pub(super) fn new(connector: HttpsConnector<HttpConnector>) -> Self {
        Self { connector, homes: Mutex::default() }
    }

    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, BoxError> {
        match self.of(Handle::current().id()).request(request).await {
            Ok(response) => Ok(response),
            Err(error) if error.is_connect() => Err(Unsent(error.into()).into()),
            Err(error) => Err(error.into()),
        }
    }

    fn of(&self, home: Id) -> Pool {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = homes.iter().find(|(id, _)| *id == home) {
            return pool.clone();
        }
        let pool = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEEP_IDLE)
            .build(self.connector.clone());
        let gone = if homes.len() < MOST_HOMES { None } else { homes.pop_front() };
        homes.push_back((home, Pool::clone(&pool)));
        drop(homes);
        // Its connections are closed, and not while others wait for theirs.
        drop(gone);
        pool
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::io::{BufRead, BufReader, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::Arc;
    use std::time::Duration;

    use hyper_rustls::HttpsConnectorBuilder;
    use rustls::RootCertStore;
    use tokio::runtime::{Builder, Runtime};

    use super::super::client::{Authorities, tls_config};
    use super::*;

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().build().unwrap()
    }

    /// Says yes to whatever is asked and keeps its connections.
    fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let mut socket = socket.unwrap();
                std::thread::spawn(move || {
                    let lines = BufReader::new(socket.try_clone().unwrap()).lines();
                    for _head in lines.map_while(Result::ok).filter(String::is_empty) {
                        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                    }
                });
            }
        });
        address
    }

    #[test]
    fn a_runtime_that_stands_still_holds_up_no_other() {
        // How connections are driven is the same without TLS.
        let tls = tls_config(&Authorities::These(Arc::new(RootCertStore::empty()))).unwrap();
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_all_versions().build();
        let (pools, address) = (Pools::new(connector), server());
        let ask = || {
            let request = Request::get(format!("http://{address}/")).body(Full::default()).unwrap();
            tokio::time::timeout(Duration::from_secs(5), pools.send(request))
        };
        let (still, lively) = (runtime(), runtime());
        for runtime in [&still, &lively, &lively] {
            let answer = runtime.block_on(async { ask().await }).expect("nobody drives its connection").unwrap();
            assert_eq!(answer.status(), 200);
        }
        assert_eq!(pools.homes.lock().unwrap().len(), 2);
    }
}
