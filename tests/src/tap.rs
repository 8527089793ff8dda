//! A wire that remembers: stands between the gateway and a real server and keeps every byte that went to the server.
//!
//! Real servers do not say what they were sent; a story about what must not reach them asks here.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub struct Tap {
    pub port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    /// Passes everything on to the server on `port`.
    pub fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let own = listener.local_addr().expect("its address").port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&heard);
        // Ends with the story's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", port)) {
                    relay(client, server, &record);
                }
            }
        });
        Self { port: own, heard }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Everything that went to the server so far.
    pub fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().expect("the record")).into_owned()
    }
}

fn relay(client: TcpStream, server: TcpStream, record: &Arc<Mutex<Vec<u8>>>) {
    let (back_from, back_to) =
        (server.try_clone().expect("the server twice"), client.try_clone().expect("the client twice"));
    let record = Arc::clone(record);
    // Written down before it is passed on: what a server answered to is surely on record.
    thread::spawn(move || pass(client, server, |bytes| record.lock().expect("the record").extend_from_slice(bytes)));
    thread::spawn(move || pass(back_from, back_to, |_| ()));
}

fn pass(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        note(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
