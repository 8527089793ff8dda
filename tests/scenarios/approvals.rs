//! A call that needs a human waits for one: asked for, decided by somebody, run once; on whichever node, in whichever era.

use std::time::Duration;

use futures::StreamExt;
use portreeve_tests::http::pieces;
use portreeve_tests::{Agent, Answer, Kind, Stub, World, WorldBuilder};
use serde_json::{Value, json};

fn staged(kind: Kind, stub: &Stub) -> WorldBuilder {
    World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("find", "READ_ONLY"), ("write", "LOW_WRITE"), ("delete", "HIGH_WRITE")])
}

/// The approval that an answer says it waits for.
#[track_caller]
fn waits(answer: &Answer) -> String {
    let message = answer.message();
    let object = &message["result"]["_meta"]["io.portreeve/decision"];
    assert_eq!(object["decision"], "approval_required", "{message}");
    let id = object["approval_id"].as_str().unwrap_or_else(|| panic!("no approval in {message}"));
    assert!(message["result"]["content"][0]["text"].as_str().unwrap().contains(id), "{message}");
    id.to_owned()
}

#[track_caller]
fn refused(answer: &Answer, rule: &str) {
    let message = answer.message();
    let object = &message["result"]["_meta"]["io.portreeve/decision"];
    let rules: Vec<_> = object["reasons"].as_array().into_iter().flatten().map(|reason| &reason["rule"]).collect();
    assert!(object["decision"] == "deny" && rules.contains(&&json!(rule)), "{rule}: {message}");
}

fn traces(world: &World, agent: &str, kind: &str) -> i64 {
    let query = format!("SELECT count(*) FROM agent_traces WHERE agent_id = '{agent}' AND event_type = '{kind}'");
    world.database.count(&query)
}

// acceptance 110: six calls. FULL_AUTO and HIGH_WRITE wait; approved, the same call runs exactly once; rejected, expired or
// with other arguments it does not run; the chain holds escalations and approvals.
async fn six_calls(kind: Kind) {
    let stub = Stub::start(&["delete"]).await;
    let world = staged(kind, &stub).start();
    let agent = world.agent("a-4", "A4");
    let delete = |id: u32| agent.call("crm/delete", json!({ "id": id, "api_key": "hush" }));

    let first = waits(&delete(1).await);
    assert_eq!(waits(&delete(1).await), first, "the same question has one row");
    let other = waits(&delete(2).await);
    assert_ne!(other, first);
    assert_eq!(stub.calls(), 0);
    let listed = world.cli_json(&["approval", "list", "--status", "pending"]);
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert!(!listed.to_string().contains("hush"), "what looks like a secret is not shown: {listed}");

    let approved = world.cli_json(&["approval", "approve", &first, "--by", "grace", "--note", "it is a duplicate"]);
    assert_eq!((approved["status"].as_str(), approved["decided_by"].as_str()), (Some("approved"), Some("grace")));
    assert_eq!(world.cli(&["approval", "approve", &first]).status.code(), Some(1), "once");
    assert_eq!(waits(&delete(2).await), other, "other arguments were not approved");
    let ran = delete(1).await;
    assert_eq!((ran.decision().as_str(), stub.calls()), ("allow", 1), "{}", ran.text());
    let third = waits(&delete(1).await);
    assert!(third != first && stub.calls() == 1, "a yes is good for one run");

    world.cli_json(&["approval", "reject", &other, "--note", "not that one"]);
    refused(&delete(2).await, "rejected");
    let late = waits(&delete(3).await);
    let long_ago = "asked_at = '2026-01-01T00:00:00.000000Z', deadline = '2026-01-01T01:00:00.000000Z'";
    world.database.sql(&format!("UPDATE approvals SET {long_ago} WHERE id = '{late}'"));
    let expired = format!(
        "SELECT count(*) FROM approvals WHERE id = '{late}' AND status = 'expired' AND decision_trace IS NOT NULL"
    );
    world.eventually(&expired, 1).await;
    refused(&delete(3).await, "expired");
    assert_eq!(stub.calls(), 1);

    let decided = "SELECT count(*) FROM approvals WHERE status = 'used' AND used_trace IS NOT NULL AND decision_trace IS NOT NULL";
    assert_eq!(world.database.count(decided), 1);
    // Every wait is an escalation; approved, rejected and expired are one approval each; the run is a decision.
    assert_eq!(traces(&world, "a-4", "escalation"), 6);
    assert_eq!(traces(&world, "a-4", "approval"), 3);
    assert_eq!(traces(&world, "a-4", "decision"), 3);
    let linked = format!("SELECT count(*) FROM agent_traces WHERE CAST(context AS TEXT) LIKE '%{first}%'");
    assert_eq!(world.database.count(&linked), 4, "asked twice, approved, run");
    // As after a crash between the row and the trace: it is looked after, and nothing is doubled.
    world
        .database
        .sql("UPDATE approvals SET decision_trace = NULL, decided_at = asked_at WHERE decided_at IS NOT NULL");
    world.eventually("SELECT count(*) FROM approvals WHERE decided_at IS NOT NULL AND decision_trace IS NULL", 0).await;
    assert_eq!(traces(&world, "a-4", "approval"), 3);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_for_a_human_and_runs_once_on_sqlite() {
    six_calls(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_for_a_human_and_runs_once_on_postgres() {
    six_calls(Kind::Postgres).await;
}

// acceptance 72 and 110: asked on A, approved at the command line, and of twenty repeats on both nodes one runs.
#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_repeats_on_two_nodes_one_runs() {
    let stub = Stub::start(&["delete"]).await;
    let world = staged(Kind::Postgres, &stub).start();
    let node = world.second_node();
    let here = world.agent("a-4", "A4");
    let there = here.at(&node);
    let id = waits(&here.call("crm/delete", json!({ "id": 1 })).await);
    assert_eq!(waits(&there.call("crm/delete", json!({ "id": 1 })).await), id, "the other node finds the same row");
    world.cli_json(&["approval", "approve", &id]);
    let calls = (0..20).map(|n| {
        let agent = if n % 2 == 0 { there.clone() } else { here.clone() };
        tokio::spawn(async move { agent.call("crm/delete", json!({ "id": 1 })).await.decision() })
    });
    let decisions = futures::future::join_all(calls.collect::<Vec<_>>()).await;
    let ran = decisions.iter().filter(|decision| decision.as_ref().unwrap() == "allow").count();
    assert_eq!((ran, stub.calls()), (1, 1), "{decisions:?}");
    assert_eq!(world.database.count("SELECT count(*) FROM approvals"), 2, "the others wait for one new yes");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_is_bound_to_what_was_asked_under_which_rules() {
    let stub = Stub::start(&["delete"]).await;
    let world = staged(Kind::Sqlite, &stub).set("approvals", json!({ "deadline_seconds": 600 })).start();
    let agent = world.agent("a-4", "A4");
    let call = || agent.call("crm/delete", json!({ "id": 1 }));
    let id = waits(&call().await);
    world.cli_json(&["approval", "approve", &id]);
    // The manifest says something else now.
    let mut manifest = portreeve_tests::world::manifest("crm", "delete", "HIGH_WRITE");
    manifest["domain"] = json!("billing");
    let file = world.directory.path().join("policies/manifests/crm.yaml");
    std::fs::write(&file, json!({ "manifests": [manifest] }).to_string()).unwrap();
    let digest = "SELECT count(DISTINCT policies_hash) FROM approvals";
    for n in 0..200 {
        agent.call("crm/delete", json!({ "probe": n })).await;
        if world.database.count(digest) > 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_ne!(waits(&call().await), id, "that yes was for other rules");
    // Another agent's is another question.
    let other = world.agent("b-4", "A4");
    assert_ne!(waits(&other.call("crm/delete", json!({ "id": 1 })).await), id);
    assert_eq!(stub.calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_decide_for_their_tenant_with_other_eyes() {
    let stub = Stub::start(&["delete"]).await;
    let world = staged(Kind::Postgres, &stub).start();
    let agent = world.agent_with(
        "a-4",
        &["--autonomy", "A4", "--max-risk", "R4", "--owner-email", "Ada@example.com", "--owner-name", "Ada"],
    );
    let stranger = world.cli_json(&["tenant", "add", "other"])["admin_key"].as_str().unwrap().to_owned();
    let admin = world.admin_key.clone();
    let call = |n: u32| agent.call("crm/delete", json!({ "id": n }));
    let id = waits(&call(1).await);
    let path = format!("/api/approvals/{id}");
    for (key, status) in [("", 401), (agent.key.as_str(), 403), (stranger.as_str(), 404), (admin.as_str(), 200)] {
        assert_eq!(world.api("GET", &path, key, None).await.status, status);
        if status != 200 {
            assert_eq!(world.api("POST", &format!("{path}/approve"), key, None).await.status, status);
        }
    }
    assert_eq!(world.api("GET", "/api/approvals", &stranger, None).await.message()["approvals"], json!([]));
    let listed = world.api("GET", "/api/approvals?status=pending", &admin, None).await.message();
    assert_eq!(listed["approvals"][0]["id"], json!(id), "{listed}");
    assert_eq!(world.api("GET", "/api/approvals?status=lost", &admin, None).await.status, 422);
    assert_eq!(world.api("GET", "/api/approvals/xyz", &admin, None).await.status, 404);
    let odd = world.api("POST", &format!("{path}/approve"), &admin, Some(json!({ "nota": "x" }))).await;
    assert_eq!(odd.status, 422, "{}", odd.text());
    for own in ["ada@example.com", "ADA", "a-4"] {
        let refused = world.cli(&["approval", "approve", &id, "--by", own]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(1) && said.contains("other than"), "{own}: {said}");
    }

    // What is stopped is frozen, and goes on afterwards.
    world.cli_json(&["kill", "tool", "crm/delete"]);
    let frozen = world.api("POST", &format!("{path}/approve"), &admin, None).await;
    assert_eq!(frozen.status, 423, "{}", frozen.text());
    world.cli_json(&["restore", "tool", "crm/delete"]);
    world.live().await;
    let approved = world.api("POST", &format!("{path}/approve"), &admin, Some(json!({ "note": "fine" }))).await;
    assert_eq!(
        (approved.status, approved.message()["status"].as_str()),
        (200, Some("approved")),
        "{}",
        approved.text()
    );
    assert_eq!(world.api("POST", &format!("{path}/reject"), &admin, None).await.status, 409);
    assert_eq!((call(1).await.decision().as_str(), stub.calls()), ("allow", 1));

    let id = waits(&call(2).await);
    let rejected = world.api("POST", &format!("/api/approvals/{id}/reject"), &admin, None).await;
    assert_eq!(rejected.message()["status"], "rejected");
    refused(&call(2).await, "rejected");
    assert_eq!(traces(&world, "a-4", "approval"), 2);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_says_how_long_somebody_has() {
    let stub = Stub::start(&["write"]).await;
    let world = staged(Kind::Sqlite, &stub).policy_file("rules/own.yaml", &looked_at("PT2S")).start();
    let agent = world.agent("a-3", "A3");
    let id = waits(&agent.call("crm/write", json!({ "n": 1 })).await);
    assert_eq!(world.database.count("SELECT count(*) FROM approvals WHERE four_eyes"), 0, "its own user may decide");
    world.eventually(&format!("SELECT count(*) FROM approvals WHERE id = '{id}' AND status = 'expired'"), 1).await;
    assert_eq!(world.cli(&["approval", "approve", &id]).status.code(), Some(1), "too late");
    assert_eq!(stub.calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_may_have_so_many_waiting() {
    let stub = Stub::start(&["delete"]).await;
    let limits = json!({ "agent_per_minute": 0, "pending_approvals": 2 });
    let world = staged(Kind::Sqlite, &stub).set("limits", limits).start();
    let agent = world.agent("a-4", "A4");
    let call = |n: u32| agent.call("crm/delete", json!({ "n": n }));
    let first = waits(&call(1).await);
    waits(&call(2).await);
    refused(&call(3).await, "too_many");
    assert_eq!(waits(&call(1).await), first, "that one waits already");
    world.cli_json(&["approval", "reject", &first]);
    waits(&call(3).await);
}

fn asking(arguments: Value, state: Option<(&str, &str)>, elicitation: Value) -> Value {
    let mut params = json!({ "name": "delete", "arguments": arguments,
        "_meta": { "io.modelcontextprotocol/clientCapabilities": { "elicitation": elicitation } } });
    if let Some((state, action)) = state {
        params["requestState"] = json!(state);
        params["inputResponses"] = json!({ "approval": { "action": action } });
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

#[track_caller]
fn asked(answer: &Answer) -> (String, Value) {
    let result = answer.message()["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{}", answer.text());
    let question = result["inputRequests"]["approval"].clone();
    assert_eq!(question["method"], "elicitation/create");
    (result["requestState"].as_str().unwrap().to_owned(), question["params"].clone())
}

// acceptance 110, asked in the result (2026-07-28): a page, and a state that is good once and on any node.
#[tokio::test(flavor = "multi_thread")]
async fn a_modern_caller_is_sent_to_a_page_and_comes_back() {
    let stub = Stub::start(&["delete"]).await;
    let world = staged(Kind::Postgres, &stub).start();
    let node = world.second_node();
    let agent = world.agent("a-4", "A4").modern();
    let page = json!({ "form": {}, "url": {} });
    let send = |agent: &Agent, message: Value| {
        let agent = agent.clone();
        async move { agent.post("/crm/mcp", &message).await }
    };
    let id_1 = json!({ "id": 1 });
    let (state, question) = asked(&send(&agent, asking(id_1.clone(), None, page.clone())).await);
    assert_eq!(question["mode"], "url", "{question}");
    let url = question["url"].as_str().unwrap().to_owned();
    let id = url.split("/approvals/").nth(1).unwrap().split('?').next().unwrap().to_owned();

    let closed = send(&agent, asking(id_1.clone(), Some((&state, "cancel")), page.clone())).await;
    assert_eq!(waits(&closed), id, "who closes the question is told the id");
    let other = send(&agent, asking(json!({ "id": 2 }), Some((&state, "accept")), page.clone())).await;
    assert_eq!((other.status, other.message()["error"]["code"].clone()), (400, json!(-32602)), "{}", other.text());

    // The page: no link, no look; a wrong key changes nothing; the right one decides.
    let get = |url: String| {
        let client = world.client.clone();
        async move { client.send("GET", &url, &[], "").await }
    };
    let shown = get(url.clone()).await;
    assert!(shown.status == 200 && shown.text().contains("crm/delete"), "{}", shown.text());
    assert!(shown.header("content-security-policy").unwrap().contains("default-src 'none'"));
    assert_eq!(get(url.split("?k=").next().unwrap().to_owned()).await.status, 404);
    let token = url.split("?k=").nth(1).unwrap();
    let answer = |key: &str, verdict: &str| {
        let body = format!("k={token}&key={key}&note=fine&verdict={verdict}");
        let (client, url) = (world.client.clone(), url.split("?k=").next().unwrap().to_owned());
        async move { client.send("POST", &url, &[("content-type", "application/x-www-form-urlencoded")], body).await }
    };
    assert_eq!(answer("pk_nobody", "approve").await.status, 401);
    assert_eq!(answer(&agent.key, "approve").await.status, 403);
    // The caller comes back before anybody has decided, and hears as soon as somebody does.
    let coming_back = tokio::spawn({
        let (agent, message) = (agent.at(&node), asking(id_1.clone(), Some((&state, "accept")), page.clone()));
        async move { agent.post("/crm/mcp", &message).await }
    });
    let decided = answer(&world.admin_key, "approve").await;
    assert!(decided.status == 200 && decided.text().contains("approved"), "{}", decided.text());
    let ran = coming_back.await.unwrap();
    assert_eq!((ran.decision().as_str(), stub.calls()), ("allow", 1), "{}", ran.text());
    let (_, seen) = stub.seen().into_iter().find(|(_, message)| message["method"] == "tools/call").unwrap();
    assert!(seen["params"].get("requestState").is_none() && seen["params"].get("inputResponses").is_none(), "{seen}");

    let replayed = send(&agent, asking(id_1.clone(), Some((&state, "accept")), page)).await;
    assert!(
        replayed.message()["result"]["resultType"] == "input_required" || replayed.status == 400,
        "{}",
        replayed.text()
    );
    assert_eq!(stub.calls(), 1);
    assert_eq!(world.database.count("SELECT count(*) FROM approvals WHERE decided_by IS NOT NULL"), 1);
    assert_eq!(world.verify().0, 0);
}

/// Every write is looked at, and somebody has so long for it.
fn looked_at(time: &str) -> String {
    let rule =
        json!({ "condition": { "tool": "crm/write" }, "requirement": "human_approval", "max_response_time": time });
    let policy = json!({ "policy_id": "POL-LOOK", "name": "writes are looked at", "category": "writes", "severity": "high", "mode": "enforce", "rule": rule });
    json!({ "policies": [policy] }).to_string()
}

fn writing(state: Option<(&str, &str)>) -> Value {
    let mut message = asking(json!({ "n": 1 }), state, json!({}));
    message["params"]["name"] = json!("write");
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_answered_by_the_agents_own_user_where_that_is_enough() {
    let stub = Stub::start(&["write", "delete"]).await;
    let world = staged(Kind::Sqlite, &stub).policy_file("rules/own.yaml", &looked_at("PT10M")).start();
    let agent = world.agent("a-4", "A4").modern();
    let (state, question) = asked(&agent.post("/crm/mcp", &writing(None)).await);
    assert_eq!(question["mode"], "form", "{question}");
    let ran = agent.post("/crm/mcp", &writing(Some((&state, "accept")))).await;
    assert_eq!((ran.decision().as_str(), stub.calls()), ("allow", 1), "{}", ran.text());
    let replayed = agent.post("/crm/mcp", &writing(Some((&state, "accept")))).await;
    assert_eq!(stub.calls(), 1, "{}", replayed.text());
    assert_eq!(traces(&world, "a-4", "approval"), 1);

    // Where four eyes are needed a form is not even shown: the caller is told the id.
    let answer = agent.post("/crm/mcp", &asking(json!({ "id": 1 }), None, json!({}))).await;
    waits(&answer);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_to_a_form_is_no() {
    let stub = Stub::start(&["write"]).await;
    let world = staged(Kind::Sqlite, &stub).policy_file("rules/own.yaml", &looked_at("PT10M")).start();
    let agent = world.agent("a-4", "A4").modern();
    let (state, _) = asked(&agent.post("/crm/mcp", &writing(None)).await);
    refused(&agent.post("/crm/mcp", &writing(Some((&state, "decline")))).await, "rejected");
    assert_eq!(stub.calls(), 0);
    assert_eq!(traces(&world, "a-4", "approval"), 1);
}

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

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_be_asked_nothing_runs() {
    let stub = Stub::start(&["delete"]).await;
    let world = staged(Kind::Postgres, &stub).start();
    let agent = world.agent("a-4", "A4");
    let call = || agent.call("crm/delete", json!({ "id": 1 }));
    let id = waits(&call().await);
    world.cli_json(&["approval", "approve", &id]);
    world.database.sql("ALTER TABLE approvals RENAME TO approvals_elsewhere");
    let answer = call().await;
    assert_eq!((answer.status, answer.message()["error"]["code"].clone()), (503, json!(5030)), "{}", answer.text());
    assert_eq!(stub.calls(), 0);
    world.database.sql("ALTER TABLE approvals_elsewhere RENAME TO approvals");
    assert_eq!((call().await.decision().as_str(), stub.calls()), ("allow", 1), "the yes was not used up");
}

/// Takes one POST and writes down what it was sent, as somebody with a few lines of Python would.
const RECEIVER: &str = r#"
import hmac, http.server, json, sys
class Taker(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        Taker.count += 1
        if Taker.count == 1:
            self.send_response(500); self.end_headers(); return
        parts = dict(part.split("=", 1) for part in self.headers["portreeve-signature"].split(","))
        expected = hmac.new(b"a secret of the test", parts["t"].encode() + b"." + body, "sha256").hexdigest()
        with open(sys.argv[2], "w") as out:
            json.dump({"good": hmac.compare_digest(expected, parts["v1"]), "delivery": self.headers["portreeve-delivery"], "body": json.loads(body)}, out)
        self.send_response(204); self.end_headers()
    def log_message(self, *args): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Taker).serve_forever()
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_notice_leads_people_to_the_page() {
    let stub = Stub::start(&["delete"]).await;
    let port = portreeve_tests::environment::free_port();
    let webhook = json!({ "url": format!("http://127.0.0.1:{port}/hook"), "secret": "a secret of the test" });
    let world = staged(Kind::Sqlite, &stub).set("approvals", json!({ "webhook": webhook })).start();
    let taken = world.directory.path().join("taken.json");
    let mut command = std::process::Command::new("python3");
    command.arg("-c").arg(RECEIVER).arg(port.to_string()).arg(&taken);
    let mut receiver = portreeve_tests::process::Process::start(&mut command, &world.directory.path().join("hook.log"));
    receiver.wait_for_port(port);
    let agent = world.agent("a-4", "A4");
    let id = waits(&agent.call("crm/delete", json!({ "id": 1, "about": "something private" })).await);
    world.eventually("SELECT count(*) FROM approvals WHERE notify_after > asked_at AND notified_at IS NULL", 1).await;
    // The first notice was not taken: it comes again.
    world.database.sql("UPDATE approvals SET notify_after = asked_at");
    world.eventually("SELECT count(*) FROM approvals WHERE notified_at IS NOT NULL", 1).await;
    let told: Value = serde_json::from_slice(&std::fs::read(&taken).unwrap()).unwrap();
    assert_eq!((told["good"].clone(), told["body"]["approval_id"].clone()), (json!(true), json!(id)), "{told}");
    assert_eq!(
        (told["body"]["type"].as_str(), told["body"]["tool"].as_str()),
        (Some("approval.requested"), Some("crm/delete"))
    );
    assert!(!told.to_string().contains("something private"), "{told}");
    let page = world.client.send("GET", told["body"]["url"].as_str().unwrap(), &[], "").await;
    assert!(page.status == 200 && page.text().contains("something private"), "{}", page.text());
}
