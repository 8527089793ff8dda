//! Asked on the stream of a session (2025-03-26 to 2025-11-25).

use std::time::Duration;

use futures::StreamExt;
use portreeve_tests::http::pieces;
use portreeve_tests::{Agent, Kind, Stub};
use serde_json::{Value, json};

use super::in_results::{asked, asking};
use super::{looked_at, refused, staged, traces};

/// A client of the session era that can show its user what it is told here.
struct Sitting {
    agent: Agent,
    session: String,
}

impl Sitting {
    async fn begin(agent: &Agent, elicitation: Value) -> Self {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": elicitation }, "clientInfo": { "name": "c", "version": "1" } });
        let opening = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let opened = agent.post("/crm/mcp", &opening).await;
        let session =
            opened.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {}", opened.text())).to_owned();
        Self { agent: agent.clone(), session }
    }

    fn headers(&self) -> [(&str, &str); 5] {
        [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("x-api-key", &self.agent.key),
            ("mcp-protocol-version", "2025-11-25"),
            ("mcp-session-id", &self.session),
        ]
    }

    /// A call whose answer is a stream, and the question that comes first on it.
    async fn ask(
        &self,
        tool: &str,
        arguments: Value,
    ) -> (Value, impl futures::Stream<Item = bytes::Bytes> + Unpin + use<>) {
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        let url = format!("{}/crm/mcp", self.agent.base);
        let response = self.agent.client.open("POST", &url, &self.headers(), call.to_string().into()).await;
        let mut body = pieces(response);
        let first =
            tokio::time::timeout(Duration::from_secs(20), body.next()).await.expect("an event in time").unwrap();
        let first = String::from_utf8(first.to_vec()).unwrap();
        let data = first.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or_else(|| panic!("{first}"));
        (serde_json::from_str(data.trim()).unwrap_or_else(|_| panic!("{first}")), body)
    }

    async fn answer(&self, base: &str, id: &Value, action: &str) -> u16 {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": { "action": action } });
        self.agent.client.send("POST", &format!("{base}/crm/mcp"), &self.headers(), message.to_string()).await.status
    }
}

async fn rest(mut body: impl futures::Stream<Item = bytes::Bytes> + Unpin) -> Vec<Value> {
    let mut text = String::new();
    while let Some(piece) = tokio::time::timeout(Duration::from_secs(30), body.next()).await.expect("the stream ends") {
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| serde_json::from_str(data.trim()).unwrap()).collect()
}

// acceptance 110 and 72, asked on the stream (the session eras): answered on another node than the one that waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_with_a_session_is_asked_on_its_stream() {
    let stub = Stub::scripted(vec![sessions()]).await;
    let world = staged(Kind::Postgres, &stub).policy_file("rules/own.yaml", &looked_at("PT10M")).start();
    let node = world.second_node();
    let there = format!("http://127.0.0.1:{}", node.port);
    let agent = world.agent("a-4", "A4");
    let sitting = Sitting::begin(&agent, json!({ "form": {}, "url": {} })).await;

    // A page: what the client says to it decides nothing, the page does.
    let (question, body) = sitting.ask("delete", json!({ "id": 1 })).await;
    assert_eq!(
        (question["method"].as_str(), question["params"]["mode"].as_str()),
        (Some("elicitation/create"), Some("url")),
        "{question}"
    );
    let id = question["params"]["elicitationId"].as_str().unwrap().to_owned();
    assert_eq!(sitting.answer(&there, &question["id"], "accept").await, 202);
    assert_eq!(stub.calls(), 0);
    world.cli_json(&["approval", "approve", &id]);
    let events = rest(body).await;
    assert_eq!(events[0]["method"], "notifications/elicitation/complete", "{events:?}");
    assert!(events[1]["id"] == 7 && events[1]["result"]["isError"] != json!(true), "{events:?}");
    assert_eq!(stub.calls(), 1);

    // A form, answered on the other node; somebody else's answer is not heard.
    let forms = Sitting::begin(&agent, json!({})).await;
    let (question, body) = forms.ask("write", json!({ "n": 1 })).await;
    assert!(question["params"].get("url").is_none(), "{question}");
    let other = Sitting::begin(&world.agent("b-4", "A4"), json!({})).await;
    other.answer(&there, &question["id"], "accept").await;
    assert_eq!(world.database.count("SELECT count(*) FROM approvals WHERE status = 'pending'"), 1);
    assert_eq!(forms.answer(&there, &question["id"], "accept").await, 202);
    let events = rest(body).await;
    assert!(events[0]["id"] == 7 && events[0].get("result").is_some(), "{events:?}");
    assert_eq!(stub.calls(), 2);

    let (question, body) = forms.ask("write", json!({ "n": 2 })).await;
    assert_eq!(forms.answer(&forms.agent.base, &question["id"], "decline").await, 202);
    let events = rest(body).await;
    assert_eq!(events[0]["result"]["_meta"]["io.portreeve/decision"]["decision"], "deny", "{events:?}");
    assert_eq!(stub.calls(), 2);
    assert_eq!(traces(&world, "a-4", "escalation"), 3);
    assert_eq!(traces(&world, "a-4", "approval"), 3);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sits_before_the_agent_may_still_say_no() {
    let stub = Stub::start(&["delete"]).await;
    let world = staged(Kind::Sqlite, &stub).start();
    let agent = world.agent("a-4", "A4").modern();
    let (id, page) = (json!({ "id": 1 }), json!({ "url": {} }));
    let (state, question) = asked(&agent.post("/crm/mcp", &asking(id.clone(), None, page.clone())).await);
    let url = question["url"].as_str().unwrap();
    let approval = url.split("/approvals/").nth(1).unwrap().split('?').next().unwrap();
    world.cli_json(&["approval", "approve", approval]);
    for word in ["decline", "cancel"] {
        let answer = agent.post("/crm/mcp", &asking(id.clone(), Some((&state, word)), page.clone())).await;
        refused(&answer, "declined");
    }
    assert_eq!(stub.calls(), 0);
    let answer = agent.post("/crm/mcp", &asking(id, Some((&state, "accept")), page)).await;
    assert_eq!((answer.decision().as_str(), stub.calls()), ("allow", 1), "{}", answer.text());
}

fn sessions() -> portreeve_tests::Step {
    let result = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "stub", "version": "1" },
    });
    portreeve_tests::Step::on("initialize").session("s-1").result(result).always()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_does_not_wait_for_ever() {
    let stub = Stub::scripted(vec![sessions()]).await;
    let limits = json!({ "agent_per_minute": 0, "hold_seconds": 1 });
    let world = staged(Kind::Sqlite, &stub).set("limits", limits).start();
    let agent = world.agent("a-4", "A4");
    let sitting = Sitting::begin(&agent, json!({ "url": {} })).await;
    let (question, body) = sitting.ask("delete", json!({ "id": 1 })).await;
    let events = rest(body).await;
    let object = &events[0]["result"]["_meta"]["io.portreeve/decision"];
    assert_eq!(object["decision"], "approval_required", "{events:?}");
    assert_eq!(object["approval_id"], question["params"]["elicitationId"], "{events:?}");
    // The row stays: approved later, the same call runs.
    world.cli_json(&["approval", "approve", object["approval_id"].as_str().unwrap()]);
    assert_eq!(agent.call("crm/delete", json!({ "id": 1 })).await.decision(), "allow");
    assert_eq!((stub.calls(), traces(&world, "a-4", "escalation")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_stopped_while_waiting_waits_no_longer() {
    let stub = Stub::scripted(vec![sessions()]).await;
    let world = staged(Kind::Sqlite, &stub).start();
    let agent = world.agent("a-4", "A4");
    let sitting = Sitting::begin(&agent, json!({ "url": {} })).await;
    let (_, body) = sitting.ask("delete", json!({ "id": 1 })).await;
    world.cli_json(&["kill", "agent", "a-4", "--tenant", "acme"]);
    let events = rest(body).await;
    let last = events.last().map(ToString::to_string).unwrap_or_default();
    assert!(last.is_empty() || last.contains("\"deny\""), "{events:?}");
    assert_eq!(stub.calls(), 0);
}
