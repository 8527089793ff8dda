//! What must hold for any bytes. A target returns how it took its input, so that the driver can tell new ways from old ones; an
//! error is a promise broken, and so is a panic.

mod dlp;
mod era;
mod header;
mod json;
mod results;
mod session;
mod sql;
mod stream;
mod websocket;

use std::hash::{DefaultHasher, Hash, Hasher};

use gateway_protocol::{Body, Message, Reply, message};

use crate::random::Random;

/// How an input was taken: a number that is the same for inputs that were treated alike.
pub type Taken = u64;
pub type Outcome = Result<Taken, String>;

#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// The folder of `corpus` it starts from.
    pub seeds: &'static str,
    pub check: fn(&[u8]) -> Outcome,
}

/// Where an input has two parts, the first line is the first.
pub const TARGETS: [Target; 16] = [
    Target { name: "parse", seeds: "messages", check: json::parse },
    Target { name: "reply_scan", seeds: "messages", check: json::reply_scan },
    Target { name: "sse", seeds: "streams", check: stream::sse },
    Target { name: "header_value", seeds: "values", check: header::value },
    Target { name: "headers", seeds: "requests", check: header::agreement },
    Target { name: "mirrored", seeds: "tools", check: header::mirrored },
    Target { name: "era_down", seeds: "requests", check: era::down },
    Target { name: "era_up", seeds: "requests", check: era::up },
    Target { name: "era_results", seeds: "results", check: results::results },
    Target { name: "era_inputs", seeds: "results", check: results::inputs },
    Target { name: "websocket", seeds: "frames", check: websocket::messages },
    Target { name: "dlp", seeds: "records", check: dlp::shipped },
    Target { name: "dlp_kinds", seeds: "documents", check: dlp::kinds },
    Target { name: "dlp_stream", seeds: "said", check: dlp::stream },
    Target { name: "session_open", seeds: "sessions", check: session::open },
    Target { name: "sql", seeds: "statements", check: sql::read },
];

/// As deep as a message may be here, and what the gateway may add around it.
const DEPTH: usize = 128;
const ADDED: usize = 16;

fn taken(how: impl Hash) -> Taken {
    let mut hasher = DefaultHasher::new();
    how.hash(&mut hasher);
    hasher.finish()
}

fn ensure(holds: bool, promise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(promise()) }
}

/// What is written must be read back by the strictest reader, or the next gateway refuses what this one sent.
fn reads_back(message: &Message) -> Result<(), String> {
    let bytes = message.to_vec();
    let shown = || String::from_utf8_lossy(&bytes).into_owned();
    match message::parse(&bytes, DEPTH + ADDED) {
        Ok(Body::One(read)) if read == *message => Ok(()),
        Ok(read) => Err(format!("`{}` is read back as {read:?}", shown())),
        Err(refusal) => Err(format!("`{}` is not read back: {refusal}", shown())),
    }
}

/// What goes to a client may hold keys of its server's choice, so it is read as an upstream's message is.
fn heard(message: &Message) -> Result<(), String> {
    let scanned = Reply::scan(message.to_vec().into(), DEPTH + ADDED);
    let reply = scanned.map_err(|refusal| format!("{message:?} is not scanned: {refusal}"))?;
    ensure(reply.message().as_ref() == Ok(message), || format!("{message:?} is not read back"))
}

/// The number that the first line of an input stands for, whatever has become of it.
fn number(line: &[u8]) -> u64 {
    line.iter().fold(0, |sum, byte| sum.wrapping_mul(10).wrapping_add(u64::from(byte & 0xf)))
}

/// The stream in pieces of any size.
fn cut<'a>(stream: &'a [u8], random: &mut Random) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at_checked(1 + random.below(rest.len())).unwrap_or((rest, &[]));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// The first line and what comes after it.
fn two_parts(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    (input.get(..end).unwrap_or_default(), input.get(end + 1..).unwrap_or_default())
}
