//! One thread for a connection and everything done for it, from its first byte to its last.
//!
//! Threads that take work from each other wake each other for nearly every event, and what a call needs is then in another
//! core's cache. Pingora accepts; from there on a connection, its calls and their upstream connections stay where the
//! connection was brought: to each thread in turn. How many a thread has says little of how much it has to do, since most of
//! them are idle.

use std::io;
use std::net::TcpStream as Socket;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// What still blocks a thread that was told to end is left behind after this.
const LAST_TIME: Duration = Duration::from_secs(2);
/// Between two looks at whether a thread has ended.
const GLANCE: Duration = Duration::from_millis(5);

/// A socket with what is to be done over it.
type Guest = (Socket, Box<dyn FnOnce(TcpStream) -> BoxFuture<'static, ()> + Send>);

pub struct Threads {
    doors: Box<[Door]>,
    turn: AtomicUsize,
    ending: CancellationToken,
    running: Mutex<Vec<JoinHandle<()>>>,
}

struct Door {
    guests: UnboundedSender<Guest>,
    /// Its thread has ended, and that was said.
    missed: AtomicBool,
}

impl Threads {
    pub fn start(name: &str, count: usize) -> io::Result<Arc<Self>> {
        let ending = CancellationToken::new();
        let (mut doors, mut running) = (Vec::new(), Vec::new());
        for _ in 0..count.max(1) {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (guests, arriving) = unbounded_channel();
            doors.push(Door { guests, missed: AtomicBool::new(false) });
            let ending = ending.clone();
            let thread = std::thread::Builder::new().name(name.into());
            running.push(thread.spawn(move || work(runtime, arriving, &ending))?);
        }
        Ok(Arc::new(Self { doors: doors.into(), turn: AtomicUsize::new(0), ending, running: Mutex::new(running) }))
    }

    /// Hands a socket to the thread whose turn it is, or to the next one that still works. Once all have ended nobody is served
    /// any more, and the socket is closed.
    pub fn bring(&self, socket: Socket, serve: impl FnOnce(TcpStream) -> BoxFuture<'static, ()> + Send + 'static) {
        let mut guest: Guest = (socket, Box::new(serve));
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.doors.len();
        for door in self.doors.iter().cycle().skip(turn).take(self.doors.len()) {
            match door.guests.send(guest) {
                Ok(()) => return,
                Err(refused) => guest = refused.0,
            }
            if !self.ending.is_cancelled() && !door.missed.swap(true, Ordering::Relaxed) {
                tracing::error!("a thread that served connections is gone, and the others serve without it");
            }
        }
    }

    /// Tells the threads to drop what is under way.
    pub fn end(&self) {
        self.ending.cancel();
    }

    /// Ends them and returns when they are gone. What does not let go of its thread is left behind after `patience`: the process is
    /// about to end, and what was decided must still be written down.
    pub fn stop(&self, patience: Duration) {
        self.end();
        let running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        let began = Instant::now();
        for thread in running {
            while !thread.is_finished() && began.elapsed() < patience {
                std::thread::sleep(GLANCE);
            }
            if !thread.is_finished() {
                tracing::error!("a thread that serves connections is still busy and is left behind");
            } else if thread.join().is_err() {
                tracing::error!("a thread that served connections panicked");
            }
        }
    }
}

fn work(runtime: Runtime, mut arriving: UnboundedReceiver<Guest>, ending: &CancellationToken) {
    let serve = async {
        while let Some((socket, serve)) = arriving.recv().await {
            match TcpStream::from_std(socket) {
                Ok(socket) => drop(tokio::spawn(async move { serve(socket).await })),
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
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use std::net::TcpListener;
    use std::sync::mpsc::channel;
    use std::thread::{self, ThreadId};

    use futures::FutureExt;
    use tokio::io::AsyncReadExt;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Both ends of a connection, ours first.
    fn pair(listener: &TcpListener) -> (Socket, Socket) {
        let client = Socket::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        (socket, client)
    }

    fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn connections_are_spread_and_each_stays_where_it_is() {
        let (threads, listener) = (Threads::start("test", 3).unwrap(), listener());
        let (sender, told) = channel();
        let mut clients = Vec::new();
        for _ in 0..6 {
            let (socket, client) = pair(&listener);
            clients.push(client);
            let sender = sender.clone();
            threads.bring(socket, move |mut socket| {
                async move {
                    let before = thread::current().id();
                    tokio::task::yield_now().await;
                    let inner = tokio::spawn(async { thread::current().id() }).await.unwrap();
                    sender.send((before, thread::current().id(), inner)).unwrap();
                    let _ = socket.read(&mut [0]).await;
                    drop(sender);
                }
                .boxed()
            });
        }
        let served: Vec<(ThreadId, ThreadId, ThreadId)> = told.iter().take(6).collect();
        assert!(served.iter().all(|(before, after, inner)| before == after && before == inner), "{served:?}");
        let on = |thread: ThreadId| served.iter().filter(|one| one.0 == thread).count();
        assert!(served.iter().all(|one| on(one.0) == 2), "two on each of three: {served:?}");
        drop(sender);
        threads.stop(PATIENCE);
        assert!(told.recv().is_err(), "what was under way is gone");
        let (socket, mut client) = pair(&listener);
        threads.bring(socket, |_| async {}.boxed());
        assert_eq!(io::Read::read(&mut client, &mut [0]).unwrap(), 0, "who comes now finds nobody");
    }

    #[test]
    fn connections_that_have_left_make_no_thread_more_welcome() {
        let (threads, listener) = (Threads::start("test", 2).unwrap(), listener());
        let (sender, told) = channel();
        for _ in 0..4 {
            let ((socket, _client), sender) = (pair(&listener), sender.clone());
            threads.bring(socket, move |_| async move { sender.send(thread::current().id()).unwrap() }.boxed());
            thread::sleep(Duration::from_millis(20));
        }
        let served: Vec<ThreadId> = told.iter().take(4).collect();
        assert_ne!(served[0], served[1]);
        assert_eq!(served[..2], served[2..]);
        threads.stop(PATIENCE);
    }

    #[test]
    fn a_thread_that_is_gone_gets_nobody() {
        let mut threads = Arc::into_inner(Threads::start("test", 3).unwrap()).unwrap();
        // Its receiver is dropped with the pair.
        threads.doors[1].guests = unbounded_channel().0;
        let (listener, (sender, told)) = (listener(), channel());
        for _ in 0..6 {
            let ((socket, _client), sender) = (pair(&listener), sender.clone());
            threads.bring(socket, move |_| async move { sender.send(()).unwrap() }.boxed());
        }
        drop(sender);
        assert_eq!(told.iter().take(6).count(), 6, "everybody is served");
        threads.stop(PATIENCE);
    }

    #[test]
    fn a_thread_that_does_not_let_go_holds_nobody_up() {
        let (threads, listener) = (Threads::start("test", 2).unwrap(), listener());
        let (release, held) = channel::<()>();
        let (sender, told) = channel();
        let (socket, _client) = pair(&listener);
        threads.bring(socket, move |_| {
            async move {
                sender.send(()).unwrap();
                // Not a wait that a runtime knows of.
                let _ = held.recv();
            }
            .boxed()
        });
        told.recv().unwrap();
        let began = Instant::now();
        threads.stop(Duration::from_millis(200));
        assert!(began.elapsed() < PATIENCE / 2, "{:?}", began.elapsed());
        drop(release);
    }
}
