//! A legacy client that says which node it speaks to, and a program behind the gateway that remembers.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use portreeve_tests::http::pieces;
use portreeve_tests::{Agent, Answer, Client, Node};
use serde_json::{Value, json};

/// Tells its pid and how often it was called, asks, brings news, and one tool begins and never ends.
const CHILD: &str = r#"
import json, os, sys
calls, waiting = 0, {}
def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n"); sys.stdout.flush()
def done(id, text):
    say(id=id, result={"content": [{"type": "text", "text": text}]})
for line in sys.stdin:
    m = json.loads(line)
    method, id, params = m.get("method"), m.get("id"), m.get("params") or {}
    if method is None:
        done(waiting.pop(id), "Hello " + m["result"]["content"]["name"])
    elif id is None: pass
    elif method == "initialize":
        say(id=id, result={"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
                           "serverInfo": {"name": "child", "version": "1"}})
    elif method == "tools/list":
        say(id=id, result={"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("ask", "count", "hang", "news")]})
    elif method != "tools/call": say(id=id, error={"code": -32601, "message": "unknown"})
    else:
        calls += 1
        if params["name"] == "count": done(id, "%d %d" % (os.getpid(), calls))
        elif params["name"] == "news": done(id, ""); say(method="notifications/tools/list_changed")
        elif params["name"] == "ask":
            waiting["q"] = id
            say(id="q", method="elicitation/create", params={"message": "who?", "requestedSchema": {"type": "object",
                "properties": {"name": {"type": "string"}}}})
        elif params["name"] == "hang":
            with open(os.environ["BEGUN"], "a") as begun: begun.write("begun\n")
"#;

/// The program as an upstream; what it began is written into `begun`.
pub fn child(directory: &std::path::Path) -> Value {
    let script = directory.join("child.py");
    std::fs::write(&script, CHILD).unwrap();
    json!({ "command": "python3", "args": ["-u", script], "env": { "BEGUN": directory.join("begun") } })
}

pub const TOOLS: [(&str, &str); 4] =
    [("count", "READ_ONLY"), ("news", "READ_ONLY"), ("ask", "READ_ONLY"), ("hang", "LOW_WRITE")];

#[derive(Clone)]
pub struct Talk {
    pub agent: Agent,
    pub path: &'static str,
    pub session: String,
}

pub type Pieces = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

impl Talk {
    pub async fn open(agent: &Agent, path: &'static str, capabilities: Value) -> Self {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "c", "version": "1" } });
        let opening = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = agent.post(path, &opening).await;
        let session = answer.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {}", answer.text()));
        let talk = Self { agent: agent.clone(), path, session: session.to_owned() };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(talk.post(&ready, &[]).await.status, 202);
        talk
    }

    /// The same session at another node.
    pub fn at(&self, node: &Node) -> Self {
        Self { agent: self.agent.at(node), ..self.clone() }
    }

    fn headers<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("x-api-key", self.agent.key.as_str()),
            ("mcp-protocol-version", "2025-11-25"),
            ("mcp-session-id", self.session.as_str()),
        ];
        own.into_iter().chain(more.iter().copied()).collect()
    }

    fn url(&self) -> String {
        format!("{}{}", self.agent.base, self.path)
    }

    pub async fn post(&self, message: &Value, more: &[(&str, &str)]) -> Answer {
        self.agent.client.send("POST", &self.url(), &self.headers(more), message.to_string()).await
    }

    pub async fn send(&self, method: &str, more: &[(&str, &str)]) -> Answer {
        self.agent.client.send(method, &self.url(), &self.headers(more), Bytes::new()).await
    }

    /// A stream, read piece by piece. A client of its own: the connection ends with it.
    pub async fn stream(&self, method: &str, body: Option<&Value>) -> (Client, Pieces) {
        let client = Client::default();
        let body = body.map(|message| message.to_string().into()).unwrap_or_default();
        let response = client.open(method, &self.url(), &self.headers(&[]), body).await;
        assert_eq!(response.status(), 200);
        (client, Box::pin(pieces(response)))
    }

    pub async fn call(&self, tool: &str) -> Answer {
        self.post(&call(tool), &[]).await
    }

    /// What the program says of itself: its pid and the number of this call.
    pub async fn count(&self) -> (String, String) {
        let answer = self.call("count").await;
        let said = answer.message()["result"]["content"][0]["text"].clone();
        let said = said.as_str().unwrap_or_else(|| panic!("{}: {}", answer.status, answer.text())).to_owned();
        let (pid, number) = said.split_once(' ').unwrap();
        (pid.to_owned(), number.to_owned())
    }

    /// The answer to a question, told to this node.
    pub async fn tell(&self, question: &Value, name: &str) -> u16 {
        let result = json!({ "action": "accept", "content": { "name": name } });
        self.post(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }), &[]).await.status
    }
}

pub fn call(tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": {}, "_meta": { "progressToken": "p" } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// The next message of a stream, and the id of its event.
pub async fn next(pieces: &mut Pieces) -> (Value, Option<String>) {
    let mut read = String::new();
    loop {
        let piece = tokio::time::timeout(Duration::from_secs(20), pieces.next()).await.expect("an event in time");
        read.push_str(std::str::from_utf8(&piece.unwrap_or_else(|| panic!("it ended after {read}"))).unwrap());
        let field = |name: &str| read.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let message = field("data: ").and_then(|data| serde_json::from_str(&data).ok());
        if let Some(message) = message.filter(|_| read.ends_with("\n\n")) {
            return (message, field("id: "));
        }
    }
}
