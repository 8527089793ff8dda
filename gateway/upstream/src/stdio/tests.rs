//! The stdio adapter with a small program on the other side of the pipes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod elsewhere;
mod standing_still;

use std::time::Instant;

use gateway_core::Route;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::testing::{Client, next, one, space, stream};

/// Says what the tests need to see: its pid, what it was asked, and by which ids.
const PROGRAM: &str = r#"
import json, os, sys
seen, asking, count = [], {}, 0
def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n"); sys.stdout.flush()
def done(id, **result):
    say(id=id, result={"pid": os.getpid(), "content": [], **result})
print("a banner that is not MCP"); print("a word on the side", file=sys.stderr, flush=True)
if os.environ.get("BROKEN"): sys.exit(3)
for line in sys.stdin:
    m = json.loads(line); seen.append(m)
    method, id, params = m.get("method"), m.get("id"), m.get("params") or {}
    name, token = params.get("name"), (params.get("_meta") or {}).get("progressToken")
    if method is None:
        done(asking.pop(id), answer=m)
    elif id is None:
        if method == "notifications/cancelled": say(method="notifications/message", params={"data": m})
    elif method == "initialize":
        if params.get("protocolVersion") == "1999-01-01": say(id=id, error={"code": -32602, "message": "too old"})
        else: say(id=id, result={"protocolVersion": params["protocolVersion"], "capabilities": {}, "serverInfo": {"name": "child", "version": "1"}, "pid": os.getpid()})
    elif method == "server/discover":
        if os.environ.get("MODERN"): say(id=id, result={"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"})
        else: say(id=id, error={"code": -32601, "message": "unknown"})
    elif method != "tools/call": say(id=id, error={"code": -32601, "message": "unknown"})
    elif name == "progress":
        say(method="notifications/progress", params={"progressToken": token, "progress": 1})
        say(method="notifications/message", params={"level": "info", "data": "working"})
        done(id, token=token)
    elif name == "ask":
        count += 1; asking[count] = id
        say(id=count, method="elicitation/create", params={"message": "sure?"})
    elif name == "ping": say(id=99, method="ping"); asking[99] = id
    elif name == "later": done(id); say(method="notifications/tools/list_changed")
    elif name == "never": say(method="notifications/message", params={"data": "started"})
    elif name == "silent": pass
    elif name == "die": os._exit(1)
    elif name == "env": done(id, env=dict(os.environ))
    elif name == "seen": done(id, seen=seen)
    else: done(id, own=id)
"#;

struct Stage {
    upstream: StdioUpstream,
    _directory: TempDir,
}

impl Stage {
    fn new(change: impl FnOnce(&mut StdioConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("child.py");
        std::fs::write(&script, PROGRAM).unwrap();
        let mut config = StdioConfig::new(space("notes"), "python3");
        config.args = vec!["-u".into(), script.to_str().unwrap().into()];
        change(&mut config);
        Self { upstream: StdioUpstream::new(config), _directory: directory }
    }

    async fn initialize(&self, mut client: Client, capabilities: Value) -> (Client, Value) {
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "c" } });
        let answered = self.upstream.call(&client.request("init", "initialize", params)).await.unwrap();
        let greeting = one(&answered);
        assert_eq!(greeting["id"], "init");
        client.session = Some(answered.session.unwrap().id);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.upstream.call(&client.message(&ready)).await.unwrap().status, 202);
        (client, greeting)
    }

    async fn client(&self) -> Client {
        self.initialize(Client::legacy(notes()), json!({})).await.0
    }

    async fn call(
        &self,
        client: &Client,
        id: impl Into<gateway_protocol::Id>,
        tool: &str,
    ) -> Result<Answered, UpstreamError> {
        self.upstream.call(&client.call_tool(id, &format!("notes/{tool}"), json!({}))).await
    }

    async fn pid(&self, client: &Client) -> Value {
        one(&self.call(client, 1, "echo").await.unwrap())["result"]["pid"].clone()
    }

    async fn seen(&self, client: &Client) -> Vec<Value> {
        // What the child still had to say to somebody else may come first.
        let answered = self.call(client, 1, "seen").await.unwrap();
        let mut last = Value::Null;
        match answered.content {
            Content::One(_) => last = one(&answered),
            _ => {
                let mut events = stream(answered);
                while let Some(message) = next(&mut events).await.unwrap() {
                    last = message;
                }
            }
        }
        last["result"]["seen"].as_array().unwrap().clone()
    }
}

fn notes() -> Route {
    Route::One(space("notes"))
}

#[tokio::test]
async fn ids_and_tokens_are_the_clients_outside_and_ours_inside() {
    let stage = Stage::new(|_| {});
    let client = stage.client().await;
    for id in [json!("x"), json!(7), json!(u64::MAX)] {
        let id: gateway_protocol::Id = serde_json::from_value(id).unwrap();
        let answered = one(&stage.call(&client, id.clone(), "echo").await.unwrap());
        assert_eq!(answered["id"], json!(id));
        assert_ne!(answered["result"]["own"], json!(id));
    }
    let permit = client.call_tool("p", "notes/progress", json!({ "_meta": { "progressToken": "tok" } }));
    let mut events = stream(stage.upstream.call(&permit).await.unwrap());
    let progress = next(&mut events).await.unwrap().unwrap();
    assert_eq!(progress["params"]["progressToken"], "tok");
    assert_eq!(next(&mut events).await.unwrap().unwrap()["params"]["data"], "working");
    let last = next(&mut events).await.unwrap().unwrap();
    assert_eq!(last["id"], "p");
    assert!(last["result"]["token"].is_u64(), "{last}");
    assert!(next(&mut events).await.unwrap().is_none());
}

#[tokio::test]
async fn the_handshake_is_said_once_and_swallowed_after() {
    let stage = Stage::new(|_| {});
    let (first, greeting) = stage.initialize(Client::legacy(notes()), json!({ "elicitation": {} })).await;
    let (second, again) = stage.initialize(Client::legacy(notes()), json!({ "elicitation": {} })).await;
    assert_eq!(greeting["result"], again["result"], "one child for the same principal and capabilities");
    assert_ne!(first.session, second.session);
    let (_, other) = stage.initialize(Client::legacy(notes()), json!({})).await;
    assert_ne!(other["result"]["pid"], greeting["result"]["pid"], "other capabilities, another child");
    let (_, other) = stage.initialize(Client::legacy(notes()).of("somebody-else"), json!({ "elicitation": {} })).await;
    assert_ne!(other["result"]["pid"], greeting["result"]["pid"], "another principal, another child");
    let methods: Vec<_> = stage.seen(&first).await.iter().map(|seen| seen["method"].clone()).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"]);
    assert_eq!(stage.seen(&second).await[0]["params"]["clientInfo"]["name"], "c");
}

#[tokio::test]
async fn a_shared_child_serves_everybody_and_knows_nobody() {
    let stage = Stage::new(|config| config.sharing = Sharing::Shared);
    let (first, greeting) = stage.initialize(Client::legacy(notes()).of("a"), json!({ "elicitation": {} })).await;
    let (second, again) = stage.initialize(Client::legacy(notes()).of("b"), json!({})).await;
    assert_eq!(greeting["result"]["pid"], again["result"]["pid"]);
    let hello = &stage.seen(&first).await[0]["params"];
    assert_eq!((&hello["capabilities"], &hello["clientInfo"]["name"]), (&json!({}), &json!("portreeve")));
    let refused = one(&stage.call(&second, 3, "ask").await.unwrap());
    assert_eq!(refused["result"]["answer"]["error"]["code"], -32601, "nobody's client is asked: {refused}");
    let mixed = Client { principal: second.principal.clone(), ..first };
    assert!(
        matches!(stage.call(&mixed, 1, "echo").await, Err(UpstreamError::SessionGone(_))),
        "a session is its owner's"
    );
}

#[tokio::test]
async fn a_childs_question_reaches_the_client_and_the_answer_the_child() {
    let stage = Stage::new(|_| {});
    let client = stage.client().await;
    let mut events = stream(stage.call(&client, "c", "ask").await.unwrap());
    let question = next(&mut events).await.unwrap().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let id = question["id"].as_str().expect("a text id").to_owned();
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept" } });
    let stranger = stage.client().await;
    assert_eq!(stage.upstream.call(&stranger.message(&answer)).await.unwrap().status, 202);
    assert_eq!(stage.upstream.call(&client.message(&answer)).await.unwrap().status, 202);
    let last = next(&mut events).await.unwrap().unwrap();
    assert_eq!(last["id"], "c");
    assert_eq!(last["result"]["answer"], json!({ "jsonrpc": "2.0", "id": 1, "result": { "action": "accept" } }));
    assert_eq!(
        stage.upstream.call(&client.message(&answer)).await.unwrap().status,
        202,
        "a second answer goes nowhere"
    );
    let answers = stage.seen(&client).await.iter().filter(|seen| seen.get("method").is_none()).count();
    assert_eq!(answers, 1);
}

#[tokio::test]
async fn the_gateway_answers_pings_itself() {
    let stage = Stage::new(|_| {});
    let client = stage.client().await;
    let answered = one(&stage.call(&client, 5, "ping").await.unwrap());
    assert_eq!(answered["result"]["answer"], json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
}

#[tokio::test]
async fn what_belongs_to_no_request_is_heard_on_the_listening_stream() {
    let stage = Stage::new(|_| {});
    let client = stage.client().await;
    stage.call(&client, 1, "later").await.unwrap();
    let answered = stage.upstream.call(&client.permit(Ask::Listen { last_event_id: None })).await.unwrap();
    let mut events = stream(answered);
    assert_eq!(next(&mut events).await.unwrap().unwrap()["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_dead_child_is_started_and_greeted_again() {
    let stage = Stage::new(|_| {});
    let client = stage.client().await;
    let before = stage.pid(&client).await;
    assert!(matches!(stage.call(&client, 1, "die").await, Err(UpstreamError::Unreachable(..))));
    let started = Instant::now();
    let after = stage.pid(&client).await;
    assert_ne!(before, after);
    assert!(started.elapsed() >= Duration::from_millis(90), "it paused {:?}", started.elapsed());
    let methods: Vec<_> = stage.seen(&client).await.iter().map(|seen| seen["method"].clone()).collect();
    assert_eq!(methods[..2], ["initialize", "notifications/initialized"]);
}

#[tokio::test]
async fn a_program_that_cannot_start_is_not_started_in_a_hurry() {
    let stage = Stage::new(|config| config.env = vec![("BROKEN".into(), "1".into())]);
    let client = Client::legacy(notes());
    let started = Instant::now();
    for _ in 0..3 {
        let permit = client.request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
        assert!(matches!(stage.upstream.call(&permit).await, Err(UpstreamError::Unreachable(..))));
    }
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
    let missing = StdioUpstream::new(StdioConfig::new(space("notes"), "/nonexistent/program"));
    let permit = client.request(1, "initialize", json!({}));
    assert!(matches!(missing.call(&permit).await, Err(UpstreamError::Unreachable(..))));
}

#[tokio::test]
async fn strangers_are_told_to_initialise() {
    let stage = Stage::new(|_| {});
    let answered = stage.call(&Client::legacy(notes()), 4, "echo").await.unwrap();
    assert_eq!((answered.status, &one(&answered)["error"]["code"]), (400, &json!(-32000)));
    let unknown = Client { session: Some("0.made-up".into()), ..Client::legacy(notes()) };
    assert!(matches!(stage.call(&unknown, 4, "echo").await, Err(UpstreamError::SessionGone(_))));
    let params = json!({ "protocolVersion": "1999-01-01" });
    let refused = stage.upstream.call(&Client::legacy(notes()).request(4, "initialize", params)).await.unwrap();
    assert_eq!(one(&refused)["error"]["message"], "too old");
    assert_eq!(refused.session, None);
}

#[tokio::test]
async fn ending_the_last_session_stops_the_child() {
    let stage = Stage::new(|_| {});
    let (first, second) = (stage.client().await, stage.client().await);
    let pid = stage.pid(&first).await;
    assert_eq!(stage.upstream.call(&first.permit(Ask::EndSession)).await.unwrap().status, 204);
    assert!(matches!(stage.call(&first, 1, "echo").await, Err(UpstreamError::SessionGone(_))));
    assert_eq!(stage.pid(&second).await, pid, "the other session still has its child");
    stage.upstream.call(&second.permit(Ask::EndSession)).await.unwrap();
    let path = format!("/proc/{pid}/cmdline");
    for _ in 0..50 {
        if std::fs::read(&path).map_or(true, |text| text.is_empty()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the child is still there");
}

#[tokio::test]
async fn an_idle_child_is_stopped_and_its_session_stays() {
    let stage = Stage::new(|config| config.idle_timeout = Duration::from_millis(200));
    let client = stage.client().await;
    let before = stage.pid(&client).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_ne!(stage.pid(&client).await, before);
}

#[tokio::test]
async fn the_idlest_child_makes_way() {
    let stage = Stage::new(|config| config.max_children = 1);
    let (first, greeting) = stage.initialize(Client::legacy(notes()).of("a"), json!({})).await;
    let (_, other) = stage.initialize(Client::legacy(notes()).of("b"), json!({})).await;
    assert_ne!(greeting["result"]["pid"], other["result"]["pid"]);
    assert_ne!(stage.pid(&first).await, greeting["result"]["pid"], "started again when needed");
}

#[tokio::test]
async fn the_environment_is_what_the_operator_wrote() {
    let stage = Stage::new(|config| config.env = vec![("TOKEN".into(), "t".into())]);
    let client = stage.client().await;
    let answered = one(&stage.call(&client, 1, "env").await.unwrap());
    let env = answered["result"]["env"].as_object().unwrap();
    assert_eq!(env["TOKEN"], "t");
    assert!(env.contains_key("PATH"));
    assert!(!env.keys().any(|name| name.starts_with("CARGO")), "{env:?}");
}

#[tokio::test]
async fn cancelling_reaches_the_child_under_its_own_id() {
    let stage = Stage::new(|_| {});
    let client = stage.client().await;
    let mut events = stream(stage.call(&client, "n", "never").await.unwrap());
    assert_eq!(next(&mut events).await.unwrap().unwrap()["params"]["data"], "started");
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "n", "reason": "r" } });
    stage.upstream.call(&client.message(&cancel)).await.unwrap();
    let heard = next(&mut events).await.unwrap().unwrap();
    assert!(heard["params"]["data"]["params"]["requestId"].is_u64(), "{heard}");
    drop(events);
    let cancels = stage.seen(&client).await.iter().filter(|seen| seen["method"] == "notifications/cancelled").count();
    assert_eq!(cancels, 1, "a legacy client that goes away cancels nothing");
}

#[tokio::test]
async fn a_modern_program_needs_no_handshake() {
    let stage = Stage::new(|config| config.env = vec![("MODERN".into(), "1".into())]);
    let client = Client::modern(notes());
    assert_eq!(one(&stage.call(&client, "m", "echo").await.unwrap())["id"], "m");
    let unknown = stage.upstream.call(&client.request(1, "nothing/here", json!({}))).await.unwrap();
    assert_eq!((unknown.status, &one(&unknown)["error"]["code"]), (404, &json!(-32601)));
    drop(stage.call(&client, "n", "never").await.unwrap());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let seen = stage.seen(&client).await;
    let cancel = seen.iter().find(|seen| seen["method"] == "notifications/cancelled").expect("going away cancels");
    let call = seen.iter().find(|seen| seen["params"]["name"] == "never").unwrap();
    assert_eq!(cancel["params"]["requestId"], call["id"]);
    assert!(!seen.iter().any(|seen| seen["method"] == "initialize"));
}

#[tokio::test]
async fn a_modern_client_of_a_legacy_program_is_sent_to_the_handshake() {
    let stage = Stage::new(|_| {});
    for _ in 0..2 {
        let answered = stage.call(&Client::modern(notes()), 8, "echo").await.unwrap();
        assert_eq!((answered.status, &one(&answered)["error"]["code"]), (400, &json!(-32000)));
    }
    let client = stage.client().await;
    assert_eq!(one(&stage.call(&client, 1, "echo").await.unwrap())["id"], 1);
}

#[tokio::test]
async fn a_silent_tool_times_out_and_is_cancelled() {
    let stage = Stage::new(|config| config.request_timeout = Duration::from_secs(2));
    let client = stage.client().await;
    assert!(matches!(stage.call(&client, 1, "silent").await, Err(UpstreamError::TimedOut(_))));
    assert!(stage.seen(&client).await.iter().any(|seen| seen["method"] == "notifications/cancelled"));
}
