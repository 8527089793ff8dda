//! Frames without a socket: bytes that arrived go in, bytes to be written come out.

use std::io::{self, Read, Write};

use bytes::{Buf, Bytes, BytesMut};
use tungstenite::Message;
use tungstenite::error::{CapacityError, Error};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::frame::{CloseFrame, Utf8Bytes};
use tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};

/// Small, because it is kept for as long as a socket is open, and most are quiet.
const READ_BUFFER: usize = 8 * 1024;
/// More than this is written before more is taken up.
const HEAVY: usize = 64 * 1024;

/// What the client said.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing whole yet.
    Nothing,
    Message(Bytes),
    /// It closed, and has been answered.
    Goodbye,
    /// It must be closed with this code.
    Wrong(CloseCode, &'static str),
}

pub struct Framing {
    context: WebSocketContext,
    pipe: Pipe,
}

impl Framing {
    /// `largest` bounds one message, however many frames it comes in.
    pub fn new(largest: usize) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0)
            .max_message_size(Some(largest))
            .max_frame_size(Some(largest));
        Self { context: WebSocketContext::new(Role::Server, Some(config)), pipe: Pipe::default() }
    }

    pub fn arrived(&mut self, bytes: &[u8]) {
        self.pipe.incoming.extend_from_slice(bytes);
    }

    pub fn next(&mut self) -> Heard {
        loop {
            return match self.context.read(&mut self.pipe) {
                Ok(Message::Text(text)) => Heard::Message(text.into()),
                Ok(Message::Binary(_)) => Heard::Wrong(CloseCode::Unsupported, "messages are text"),
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => continue,
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    // An answer to a ping may still be waiting to be written.
                    let _ = self.context.flush(&mut self.pipe);
                    Heard::Nothing
                }
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => Heard::Goodbye,
                Err(Error::Capacity(CapacityError::MessageTooLong { .. })) => {
                    Heard::Wrong(CloseCode::Size, "the message is too large")
                }
                Err(Error::Utf8(_)) => Heard::Wrong(CloseCode::Invalid, "the text is not UTF-8"),
                Err(_) => Heard::Wrong(CloseCode::Protocol, "this is not how a WebSocket is spoken"),
            };
        }
    }

    pub fn say(&mut self, message: Bytes) {
        // Every message of ours is JSON, and so text; anything else is not worth a broken frame.
        let Ok(text) = Utf8Bytes::try_from(message) else {
            return;
        };
        self.write(Message::Text(text));
    }

    pub fn ping(&mut self) {
        self.write(Message::Ping(Bytes::new()));
    }

    pub fn close(&mut self, code: CloseCode, reason: &'static str) {
        let _ = self.context.close(&mut self.pipe, Some(CloseFrame { code, reason: Utf8Bytes::from_static(reason) }));
    }

    /// After a goodbye there is nobody to write to, and that is the only way in which writing to memory fails.
    fn write(&mut self, message: Message) {
        let _ = self.context.write(&mut self.pipe, message);
        let _ = self.context.flush(&mut self.pipe);
    }

    pub fn is_heavy(&self) -> bool {
        self.pipe.outgoing.len() >= HEAVY
    }

    /// What is to be sent now.
    pub fn written(&mut self) -> Bytes {
        self.pipe.outgoing.split().freeze()
    }
}

#[derive(Default)]
struct Pipe {
    incoming: BytesMut,
    outgoing: BytesMut,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.incoming.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let bytes = self.incoming.len().min(buffer.len());
        if let Some(start) = buffer.get_mut(..bytes) {
            self.incoming.copy_to_slice(start);
        }
        Ok(bytes)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
    use tungstenite::protocol::frame::Frame;
    use tungstenite::protocol::frame::coding::{Data, OpCode};

    use super::*;

    /// What a client's own framing writes.
    fn from_client(messages: impl IntoIterator<Item = Message>) -> Vec<u8> {
        let mut client = WebSocketContext::new(Role::Client, None);
        let mut pipe = Pipe::default();
        for message in messages {
            client.write(&mut pipe, message).unwrap();
            client.flush(&mut pipe).unwrap();
        }
        pipe.outgoing.to_vec()
    }

    fn fragment(text: &'static str, opcode: Data, last: bool) -> Message {
        Message::Frame(Frame::message(text, OpCode::Data(opcode), last))
    }

    fn code(heard: &Heard) -> u16 {
        match heard {
            Heard::Wrong(code, _) => (*code).into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_arrives_whole_however_it_was_cut() {
        let bytes = from_client([
            fragment("{\"a\"", Data::Text, false),
            Message::Ping("in between".into()),
            fragment(":1", Data::Continue, false),
            fragment("}", Data::Continue, true),
            Message::Text("{}".into()),
        ]);
        let mut framing = Framing::new(1024);
        let mut heard = Vec::new();
        for byte in bytes {
            framing.arrived(&[byte]);
            while let Heard::Message(message) = framing.next() {
                heard.push(message);
            }
        }
        assert_eq!(heard, [Bytes::from_static(b"{\"a\":1}"), Bytes::from_static(b"{}")]);
        let answer = framing.written();
        assert_eq!((answer[0], &answer[2..]), (0x8a, &b"in between"[..]), "the ping was answered");
    }

    #[test]
    fn what_is_not_a_message_ends_the_socket_with_its_code() {
        let unmasked = b"\x81\x02{}".to_vec();
        let reserved = b"\xc1\x82\0\0\0\0{}".to_vec();
        let not_text = b"\x81\x82\0\0\0\0\xff\xfe".to_vec();
        let halves = [fragment("123456", Data::Text, false), fragment("789012", Data::Continue, true)];
        for (what, bytes, expected) in [
            ("binary", from_client([Message::Binary("{}".into())]), 1003),
            ("too large", from_client([Message::Text("12345678901".into())]), 1009),
            ("too large in pieces", from_client(halves), 1009),
            ("unmasked", unmasked, 1002),
            ("reserved bits", reserved, 1002),
            ("not UTF-8", not_text, 1007),
        ] {
            let mut framing = Framing::new(10);
            framing.arrived(&bytes);
            let heard = framing.next();
            assert_eq!(code(&heard), expected, "{what}");
            framing.close(CloseCode::from(expected), "why");
            let written = framing.written();
            assert_eq!(written[0], 0x88, "{what}: a close frame");
            assert_eq!(u16::from_be_bytes([written[2], written[3]]), expected, "{what}");
        }
    }

    #[test]
    fn a_goodbye_is_answered() {
        let mut framing = Framing::new(10);
        framing.arrived(&from_client([Message::Close(None)]));
        assert_eq!(framing.next(), Heard::Goodbye);
        assert_eq!(framing.written()[0], 0x88);
        framing.say(Bytes::from_static(b"{}"));
        assert!(framing.written().is_empty(), "nobody is there");
    }
}
