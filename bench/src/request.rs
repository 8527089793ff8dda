//! Where calls go, and their bytes: built once per target and payload, then only the id and the seed are overwritten.

use std::net::SocketAddr;

use crate::content::{LEGACY, MODERN, Payload, letters};
use crate::error::{Context, Failure, Result};

/// Ten digits, so that every id has the same length.
pub const FIRST_ID: u64 = 1_000_000_000;
const ID_PLACE: &str = "1000000000";
const SEED_PLACE: &str = "aaaaaaaaaaaaaaaa";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Era {
    /// 2025-11-25: `initialize`, and a session if the other side gives one.
    Legacy,
    /// 2026-07-28: every POST describes itself.
    Modern,
}

impl Era {
    pub fn version(self) -> &'static str {
        match self {
            Self::Legacy => LEGACY,
            Self::Modern => MODERN,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Endpoint {
    pub addr: SocketAddr,
    pub path: String,
    /// nginx needs another location for streams; everybody else has one path.
    pub stream_path: String,
    /// Credentials, and the session once there is one.
    pub headers: Vec<(String, String)>,
    pub era: Era,
}

impl Endpoint {
    pub fn new(port: u16, path: &str, era: Era) -> Self {
        Self {
            addr: SocketAddr::from(([127, 0, 0, 1], port)),
            path: path.into(),
            stream_path: path.into(),
            headers: Vec::new(),
            era,
        }
    }

    /// `http://127.0.0.1:PORT/path`, nothing but loopback.
    pub fn parse(url: &str, era: Era) -> Result<Self> {
        let rest = url.strip_prefix("http://").context(|| format!("`{url}`: only http:// is measured"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let authority = authority.replace("localhost:", "127.0.0.1:");
        let addr: SocketAddr = authority.parse().context(|| format!("`{url}`: need host:port with an address"))?;
        if !addr.ip().is_loopback() {
            return Err(Failure::new(format!("`{url}`: only loopback is measured")));
        }
        Ok(Self { addr, ..Self::new(addr.port(), &format!("/{path}"), era) })
    }

    pub fn tool_call(&self, payload: Payload) -> Template {
        let (arguments, path) = match payload {
            Payload::Json(_) => (format!(r#"{{"seed":"{SEED_PLACE}"}}"#), &self.path),
            Payload::Stream { events, size, burst } => {
                let arguments = format!(r#"{{"seed":"{SEED_PLACE}","events":{events},"size":{size},"burst":{burst}}}"#);
                (arguments, &self.stream_path)
            }
        };
        let name = payload.tool();
        let params = format!(r#""name":"{name}","arguments":{arguments}"#);
        Template::new(self.post(path, "tools/call", Some(name), Some(ID_PLACE), &params), payload)
    }

    /// Any message, whole: `params` is the inside of the object, `id` is missing for a notification.
    pub fn post(&self, path: &str, method: &str, name: Option<&str>, id: Option<&str>, params: &str) -> String {
        let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
        let params = match self.era {
            Era::Legacy => params.to_owned(),
            Era::Modern => {
                let comma = if params.is_empty() { "" } else { "," };
                format!(
                    r#"{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"compare","version":"1"}},"io.modelcontextprotocol/logLevel":"info"}}"#
                )
            }
        };
        let body = format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{{{params}}}}}"#);
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
            self.addr
        );
        if method != "initialize" {
            head += &format!("MCP-Protocol-Version: {}\r\n", self.era.version());
        }
        if self.era == Era::Modern {
            head += &format!("Mcp-Method: {method}\r\n");
            head += &name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
    }
}

/// A request whose id and seed are filled in place.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
    id_at: usize,
    seed_at: usize,
    pub payload: Payload,
}

impl Template {
    fn new(text: String, payload: Payload) -> Self {
        let body = text.find("\r\n\r\n").unwrap_or(0);
        let place = |what: &str| text.get(body..).and_then(|rest| rest.find(what)).map_or(0, |at| body + at);
        let (id_at, seed_at) = (place(ID_PLACE), place(SEED_PLACE));
        Self { bytes: text.into_bytes(), id_at, seed_at, payload }
    }

    pub fn fill(&mut self, id: u64, seed: u64) -> &[u8] {
        let mut rest = id;
        if let Some(digits) = self.bytes.get_mut(self.id_at..self.id_at + ID_PLACE.len()) {
            for slot in digits.iter_mut().rev() {
                *slot = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        let letters = letters(seed);
        if let Some(place) = self.bytes.get_mut(self.seed_at..self.seed_at + letters.len()) {
            place.copy_from_slice(&letters);
        }
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_id_and_seed_change() {
        for era in [Era::Legacy, Era::Modern] {
            let mut template = Endpoint::new(1, "/mcp", era).tool_call(Payload::Json(200));
            let before = template.bytes.len();
            let text = String::from_utf8(template.fill(1_234_567_890, 1).to_vec()).unwrap();
            assert_eq!(text.len(), before);
            let (_, body) = text.split_once("\r\n\r\n").unwrap();
            let value: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(value.get("id"), Some(&1_234_567_890_u64.into()));
            assert_eq!(value.pointer("/params/arguments/seed"), Some(&"aaaaaaaaaaaaaaab".into()));
            assert_eq!(value.pointer("/params/_meta").is_some(), era == Era::Modern);
        }
    }

    #[test]
    fn only_loopback_urls_are_taken() {
        for (url, right) in [
            ("http://127.0.0.1:9000/mcp", true),
            ("http://localhost:9000/mcp", true),
            ("https://127.0.0.1:9000/mcp", false),
            ("http://192.0.2.1:9000/mcp", false),
            ("http://example.test/mcp", false),
        ] {
            assert_eq!(Endpoint::parse(url, Era::Legacy).is_ok(), right, "{url}");
        }
    }
}
