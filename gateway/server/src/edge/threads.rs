//! One thread for a connection and everything done for it, from its first byte to its last.
//!
//! Threads that take work from each other wake each other for nearly every event, and what a call needs is then in another
//! core's cache. Pingora accepts; from there on a connection, its calls and their upstream connections stay where the
//! connection was brought: to the thread with the fewest.

use std::io;
use std::net::TcpStream as Socket;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// What still blocks a thread that was told to end is left behind after this.
const LAST_TIME: Duration = Duration::from_secs(2);

/// A socket with what is to be done over it.
type Guest = (Socket, Box<dyn FnOnce(TcpStream) -> BoxFuture<'static, ()> + Send>);

pub struct Threads {
    doors: Box<[Door]>,
    ending: CancellationToken,
    running: Mutex<Vec<JoinHandle<()>>>,
}

struct Door {
    guests: UnboundedSender<Guest>,
    present: Arc<AtomicUsize>,
}

/// Counted while it is there, however it leaves.
struct Present(Arc<AtomicUsize>);

impl Drop for Present {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Threads {
    pub fn start(name: &str, count: usize) -> io::Result<Arc<Self>> {
        let ending = CancellationToken::new();
        let (mut doors, mut running) = (Vec::new(), Vec::new());
        for _ in 0..count.max(1) {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (guests, arriving) = unbounded_channel();
            let present = Arc::new(AtomicUsize::new(0));
            doors.push(Door { guests, present: Arc::clone(&present) });
            let ending = ending.clone();
            let thread = std::thread::Builder::new().name(name.into());
            running.push(thread.spawn(move || work(runtime, arriving, &present, &ending))?);
        }
        Ok(Arc::new(Self { doors: doors.into(), ending, running: Mutex::new(running) }))
    }

    /// Hands a socket to the thread that has the fewest.
    pub fn bring(&self, socket: Socket, serve: impl FnOnce(TcpStream) -> BoxFuture<'static, ()> + Send + 'static) {
        let emptiest = self.doors.iter().min_by_key(|door| door.present.load(Ordering::Relaxed));
        let Some(door) = emptiest else { return };
        door.present.fetch_add(1, Ordering::Relaxed);
        // Once the threads have ended nobody is served any more, and the socket is closed.
        if door.guests.send((socket, Box::new(serve))).is_err() {
            door.present.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Drops what is still under way and returns when the threads are gone.
    pub fn stop(&self) {
        self.ending.cancel();
        let running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in running {
            if thread.join().is_err() {
                tracing::error!("a thread that served connections panicked");
            }
        }
    }
}

fn work(
    runtime: Runtime,
    mut arriving: UnboundedReceiver<Guest>,
    present: &Arc<AtomicUsize>,
    ending: &CancellationToken,
) {
    let serve = async {
        while let Some((socket, serve)) = arriving.recv().await {
            let present = Present(Arc::clone(present));
            match TcpStream::from_std(socket) {
                Ok(socket) => drop(tokio::spawn(async move {
                    let _present = present;
                    serve(socket).await;
                })),
                Err(error) => tracing::warn!(%error, "a connection cannot be served: {error}"),
            }
        }
    };
    runtime.block_on(async {
        tokio::select! {
            () = serve => {}
            () = ending.cancelled() => {}
        }
    });
    runtime.shutdown_timeout(LAST_TIME);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::net::TcpListener;
    use std::sync::mpsc::channel;
    use std::thread::{self, ThreadId};

    use futures::FutureExt;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn connections_are_spread_and_each_stays_where_it_is() {
        let threads = Threads::start("test", 3).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (sender, told) = channel();
        let mut clients = Vec::new();
        for _ in 0..6 {
            clients.push(std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            let (socket, _) = listener.accept().unwrap();
            socket.set_nonblocking(true).unwrap();
            let sender = sender.clone();
            threads.bring(socket, move |mut socket| {
                async move {
                    let before = thread::current().id();
                    tokio::task::yield_now().await;
                    let inner = tokio::spawn(async { thread::current().id() }).await.unwrap();
                    sender.send((before, thread::current().id(), inner)).unwrap();
                    let _ = socket.read(&mut [0]).await;
                }
                .boxed()
            });
        }
        let served: Vec<(ThreadId, ThreadId, ThreadId)> = told.iter().take(6).collect();
        assert!(served.iter().all(|(before, after, inner)| before == after && before == inner), "{served:?}");
        let on = |thread: ThreadId| served.iter().filter(|one| one.0 == thread).count();
        assert!(served.iter().all(|one| on(one.0) == 2), "two on each of three: {served:?}");
        threads.stop();
        // What was under way is gone, and who comes now finds nobody.
        assert!(threads.doors.iter().all(|door| door.present.load(Ordering::Relaxed) == 0));
        let (socket, _) = (clients.pop().unwrap(), ());
        threads.bring(socket, |_| async {}.boxed());
        assert!(threads.doors.iter().all(|door| door.present.load(Ordering::Relaxed) == 0));
    }
}
