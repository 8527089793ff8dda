//! What a client does before its first call: `initialize` (and its session), then the list of tools. Plain and blocking.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::error::{Context, Failure, Result, check_interrupt};
use crate::request::{Endpoint, Era};
use crate::wire::Response;

const PATIENCE: Duration = Duration::from_secs(10);

/// Greets the target and returns the endpoint with what later requests must carry.
pub fn greet(name: &str, endpoint: &Endpoint) -> Result<Endpoint> {
    let mut known = endpoint.clone();
    if endpoint.era == Era::Legacy {
        let params = format!(
            r#""protocolVersion":"{}","capabilities":{{}},"clientInfo":{{"name":"compare","version":"1"}}"#,
            endpoint.era.version()
        );
        let hello = endpoint.post(&endpoint.path, "initialize", None, Some("1"), &params);
        let answer = exchange(endpoint.addr, &hello).context(|| format!("{name}: initialize"))?;
        expect(name, "initialize", &answer, endpoint.era.version())?;
        if let Some(session) = answer.session {
            known.headers.push(("Mcp-Session-Id".into(), session));
        }
        let ready = known.post(&known.path, "notifications/initialized", None, None, "");
        let answer = exchange(known.addr, &ready).context(|| format!("{name}: notifications/initialized"))?;
        if !(200..300).contains(&answer.status) {
            return Err(Failure::new(format!("{name}: notifications/initialized: HTTP {}", answer.status)));
        }
    }
    let list = known.post(&known.path, "tools/list", None, Some("2"), "");
    let answer = exchange(known.addr, &list).context(|| format!("{name}: tools/list"))?;
    for tool in ["echo_200", "echo_4k", "echo_64k", "stream"] {
        expect(name, "tools/list", &answer, tool)?;
    }
    Ok(known)
}

fn expect(name: &str, method: &str, answer: &Response, needle: &str) -> Result<()> {
    let body = String::from_utf8_lossy(&answer.body);
    if answer.status == 200 && body.contains(needle) {
        return Ok(());
    }
    let shown: String = body.chars().take(300).collect();
    Err(Failure::new(format!("{name}: {method} answered HTTP {} without `{needle}`: {shown}", answer.status)))
}

/// One request on its own connection.
pub fn exchange(addr: SocketAddr, request: &str) -> Result<Response> {
    let mut stream = TcpStream::connect_timeout(&addr, PATIENCE).context(|| format!("connect to {addr}"))?;
    stream.set_read_timeout(Some(PATIENCE)).context(|| "read timeout".into())?;
    stream.write_all(request.as_bytes()).context(|| "write".into())?;
    let mut response = Response::default();
    let mut buffer = [0; 8192];
    while !response.done() {
        let read = stream.read(&mut buffer).context(|| "read".into())?;
        if read == 0 {
            return Err(Failure::new("closed before the answer was complete"));
        }
        response.feed(buffer.get(..read).unwrap_or_default()).context(|| "answer".into())?;
    }
    Ok(response)
}

/// Asks again and again until somebody is there; `alive` ends the wait early when the process has died.
pub fn wait_until(
    what: &str,
    patience: Duration,
    mut alive: impl FnMut() -> Result<()>,
    mut ready: impl FnMut() -> bool,
) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < patience {
        check_interrupt()?;
        if ready() {
            return Ok(());
        }
        alive()?;
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(Failure::new(format!("{what} is not ready after {} s", patience.as_secs())))
}

pub fn accepts(port: u16) -> bool {
    TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_millis(200)).is_ok()
}
