//! Messages on a WebSocket: however the network cuts the frames, the same messages come out, within their limit, and what is written in
//! return is what a client reads.

// The binary has no library to take it from, and the frames must be read by the very code that serves.
#[path = "../../../gateway/server/src/edge/websocket/pipe.rs"]
#[allow(dead_code, reason = "a socket also pings and is told when to stop")]
mod pipe;

use bytes::Bytes;
use gateway_protocol::{Body, message};
use tungstenite::protocol::{Role, WebSocket};
use tungstenite::{Error, Message};

use pipe::{Framing, Heard};

use super::{DEPTH, Outcome, cut, ensure, number, taken, two_parts};
use crate::random::Random;

/// What the gateway says in between, to see whether it arrives.
const SAID: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// The first line is a number that decides the limit and the cuts; the rest is what a client sends after its handshake.
pub fn messages(input: &[u8]) -> Outcome {
    let (first, sent) = two_parts(input);
    let mut random = Random::new(number(first));
    let limit = if random.one_in(2) { 1 << 20 } else { 4 + random.below(60) };

    let (whole, written) = conversation(&[sent], limit);
    let bytes: Vec<&[u8]> = sent.chunks(1).collect();
    ensure(conversation(&bytes, limit).0 == whole, || format!("byte by byte it is not {whole:?}"))?;
    let chunks = cut(sent, &mut random);
    ensure(conversation(&chunks, limit).0 == whole, || format!("in {} chunks it is not {whole:?}", chunks.len()))?;

    let mut kinds = Vec::new();
    for heard in &whole {
        kinds.push(match heard {
            Heard::Message(text) => {
                ensure(text.len() <= limit, || format!("{} bytes within a limit of {limit}", text.len()))?;
                ensure(std::str::from_utf8(text).is_ok(), || format!("{text:?} is no text"))?;
                match message::parse(text, DEPTH) {
                    Ok(Body::One(_)) => 1,
                    Ok(Body::Batch(_)) => 2,
                    Err(_) => 3,
                }
            }
            Heard::Goodbye => 4,
            Heard::Wrong(code, _) => u16::from(*code),
            Heard::Nothing => 0,
        });
    }
    ensure(read_by_a_client(&written)?, || format!("a client does not find `{SAID}` in {written:?}"))?;
    kinds.truncate(6);
    Ok(taken((kinds, whole.len().min(8), written.len().min(64))))
}

/// What is heard until the socket ends or the bytes do, and all that is written meanwhile.
fn conversation(chunks: &[&[u8]], limit: usize) -> (Vec<Heard>, Vec<u8>) {
    let mut framing = Framing::new(limit);
    framing.say(Bytes::from_static(SAID.as_bytes()));
    let mut written = framing.written().to_vec();
    let mut heard = Vec::new();
    for chunk in chunks {
        framing.arrived(chunk);
        loop {
            let next = framing.next();
            let over = match &next {
                Heard::Nothing => break,
                Heard::Message(_) => false,
                Heard::Goodbye => true,
                Heard::Wrong(code, reason) => {
                    framing.close(*code, reason);
                    true
                }
            };
            heard.push(next);
            if over {
                written.extend_from_slice(&framing.written());
                return (heard, written);
            }
        }
        written.extend_from_slice(&framing.written());
    }
    (heard, written)
}

/// True if the message is there, first of all; an error where any of the rest is no frame a client accepts.
fn read_by_a_client(written: &[u8]) -> Result<bool, String> {
    let mut client = WebSocket::from_raw_socket(OneWay(written), Role::Client, None);
    let mut found = false;
    loop {
        match client.read() {
            Ok(Message::Text(text)) => found |= text.as_str() == SAID,
            Ok(_) => {}
            // The end of what was written, or a close that nobody will confirm.
            Err(Error::Io(_) | Error::ConnectionClosed | Error::AlreadyClosed) => return Ok(found),
            Err(Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)) => return Ok(found),
            Err(error) => return Err(format!("a client cannot read {written:?}: {error}")),
        }
    }
}

/// What the gateway wrote; whatever the client answers is nobody's concern.
struct OneWay<'a>(&'a [u8]);

impl std::io::Read for OneWay<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        std::io::Read::read(&mut self.0, buffer)
    }
}

impl std::io::Write for OneWay<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
