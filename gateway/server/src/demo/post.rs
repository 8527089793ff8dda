//! One MCP request over plain HTTP/1.1 and nothing more: what the tour needs to be a client like any other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);

/// What a client of the stateless era asks.
pub(super) struct Question<'a> {
    pub(super) path: &'a str,
    pub(super) key: &'a str,
    pub(super) method: &'a str,
    /// The tool of a `tools/call`, with its arguments.
    pub(super) tool: Option<(&'a str, Value)>,
}

/// Whether somebody serves there yet.
pub(super) fn is_up(address: SocketAddr) -> bool {
    let head = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    exchange(address, head.as_bytes()).is_ok_and(|(status, _)| status == 200)
}

/// Posts the question and reads the answer as JSON.
pub(super) fn post(address: SocketAddr, question: &Question<'_>) -> io::Result<(u16, Value)> {
    let mut params = json!({
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "portreeve-tour", "version": env!("CARGO_PKG_VERSION") },
        },
    });
    let mut name = String::new();
    if let (Some((tool, arguments)), Some(params)) = (&question.tool, params.as_object_mut()) {
        params.insert("name".into(), json!(tool));
        params.insert("arguments".into(), arguments.clone());
        name = format!("Mcp-Name: {tool}\r\n");
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": question.method, "params": params }).to_string();
    let request = format!(
        "POST {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {}\r\n{name}\
         Content-Length: {}\r\n\r\n{body}",
        question.path,
        question.key,
        question.method,
        body.len(),
    );
    let (status, body) = exchange(address, request.as_bytes())?;
    let answer = serde_json::from_slice(&body).map_err(|_| bad("the answer is not JSON"))?;
    Ok((status, answer))
}

/// Posts a document to the console's API and reads the answer as JSON.
pub(super) fn post_api(address: SocketAddr, path: &str, key: &str, document: &Value) -> io::Result<(u16, Value)> {
    let body = document.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nX-Api-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len(),
    );
    let (status, body) = exchange(address, request.as_bytes())?;
    Ok((status, serde_json::from_slice(&body).map_err(|_| bad("the answer is not JSON"))?))
}

fn exchange(address: SocketAddr, request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    parsed(&answer)
}

fn parsed(answer: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .ok_or_else(|| bad("the answer has no end of headers"))?;
    let (head, body) = answer.split_at(end);
    let body = body.get(4..).unwrap_or_default();
    let head = String::from_utf8_lossy(head).to_lowercase();
    let status =
        head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| bad("the answer has no status"))?;
    let chunked = head.lines().any(|line| line.starts_with("transfer-encoding:") && line.contains("chunked"));
    Ok((status, if chunked { unchunked(body)? } else { body.to_vec() }))
}

fn unchunked(mut rest: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let cut = || bad("a chunk is cut off");
        let end = rest.windows(2).position(|two| two == b"\r\n").ok_or_else(cut)?;
        let (size, after) = rest.split_at(end);
        let size = String::from_utf8_lossy(size);
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16).map_err(|_| cut())?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(after.get(2..2 + size).ok_or_else(cut)?);
        rest = after.get(4 + size..).ok_or_else(cut)?;
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_bodies_whole_and_in_chunks() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", Some((200, "{}"))),
            ("HTTP/1.1 404 Not Found\r\n\r\n", Some((404, ""))),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n3;x=y\r\na\":\r\n0\r\n\r\n",
                Some((200, "{\"a\":")),
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", None),
            ("HTTP/1.1 200 OK\r\n", None),
            ("", None),
        ] {
            let read = parsed(answer.as_bytes()).ok().map(|(status, body)| (status, String::from_utf8(body).unwrap()));
            assert_eq!(read, expected.map(|(status, body)| (status, body.to_owned())), "{answer:?}");
        }
    }
}
