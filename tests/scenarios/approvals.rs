//! A call that needs a human waits for one: asked for, decided by somebody, run once; on whichever node, in whichever era.

mod in_results;
mod on_streams;

use std::time::Duration;

use portreeve_tests::{Answer, Kind, Stub, World, WorldBuilder};
use serde_json::{Value, json};

use crate::keys::named;

fn staged(kind: Kind, stub: &Stub) -> WorldBuilder {
    World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("find", "READ_ONLY"), ("write", "LOW_WRITE"), ("delete", "HIGH_WRITE")])
}

/// Every write is looked at, and somebody has so long for it.
fn looked_at(time: &str) -> String {
    let rule =
        json!({ "condition": { "tool": "crm/write" }, "requirement": "human_approval", "max_response_time": time });
    let policy = json!({ "policy_id": "POL-LOOK", "name": "writes are looked at", "category": "writes", "severity": "high", "mode": "enforce", "rule": rule });
    json!({ "policies": [policy] }).to_string()
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
    let admin = named(&world, "grace@example.com");
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

// A policy may have people told of a call that nobody has to approve: signed, and without what was asked.
async fn people_are_told_what_a_policy_mentions(kind: Kind) {
    let stub = Stub::start(&["delete"]).await;
    let port = portreeve_tests::environment::free_port();
    let webhook = json!({ "url": format!("http://127.0.0.1:{port}/hook"), "secret": "a secret of the test" });
    let rule = json!({ "condition": { "tool": "crm/delete" }, "requirement": "notify" });
    let policy =
        json!({ "policy_id": "POL-TELL", "name": "Notes", "severity": "low", "mode": "enforce", "rule": rule });
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("delete", "LOW_WRITE")])
        .policy_file("rules/own.yaml", &json!({ "policies": [policy] }).to_string())
        .set("approvals", json!({ "webhook": webhook }))
        .start();
    let taken = world.directory.path().join("taken.json");
    let mut command = std::process::Command::new("python3");
    command.arg("-c").arg(RECEIVER).arg(port.to_string()).arg(&taken);
    let mut receiver = portreeve_tests::process::Process::start(&mut command, &world.directory.path().join("hook.log"));
    receiver.wait_for_port(port);
    let agent = world.agent("a-3", "A3");
    let answer = agent.call("crm/delete", json!({ "about": "something private" })).await;
    assert_eq!((answer.decision().as_str(), stub.calls()), ("allow", 1), "{}", answer.text());
    // The first notice is not taken: it comes again.
    let mut told = Value::Null;
    for _ in 0..100 {
        if let Some(read) = std::fs::read(&taken).ok().and_then(|text| serde_json::from_slice(&text).ok()) {
            told = read;
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!((&told["good"], &told["body"]["type"]), (&json!(true), &json!("call.mentioned")), "{told}");
    assert_eq!((&told["body"]["tool"], &told["body"]["agent"]), (&json!("crm/delete"), &json!("a-3")), "{told}");
    assert_eq!(told["body"]["reasons"][0]["rule"], "POL-TELL", "{told}");
    let traced = told["body"]["trace_id"].as_str().unwrap();
    assert_eq!(world.database.count(&format!("SELECT count(*) FROM agent_traces WHERE trace_id = '{traced}'")), 1);
    assert!(!told.to_string().contains("something private"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_told_what_a_policy_mentions_on_sqlite() {
    people_are_told_what_a_policy_mentions(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_told_what_a_policy_mentions_on_postgres() {
    people_are_told_what_a_policy_mentions(Kind::Postgres).await;
}

// Whom to tell is read again with the rest of the configuration; the sweep that tells goes on all the while.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_receiver_is_told_without_a_restart() {
    let stub = Stub::start(&["delete"]).await;
    let (nobody, port) = (portreeve_tests::environment::free_port(), portreeve_tests::environment::free_port());
    let hook = |port: u16, secret: &str| json!({ "url": format!("http://127.0.0.1:{port}/hook"), "secret": secret });
    let before = hook(nobody, "the secret of nobody");
    let mut world = staged(Kind::Sqlite, &stub).set("approvals", json!({ "webhook": before })).start();
    let pid = world.gateway().pid();
    let taken = world.directory.path().join("taken.json");
    let mut command = std::process::Command::new("python3");
    command.arg("-c").arg(RECEIVER).arg(port.to_string()).arg(&taken);
    let mut receiver = portreeve_tests::process::Process::start(&mut command, &world.directory.path().join("hook.log"));
    receiver.wait_for_port(port);
    let agent = world.agent("a-4", "A4");
    let id = waits(&agent.call("crm/delete", json!({ "id": 1 })).await);
    world.eventually("SELECT count(*) FROM approvals WHERE notify_after > asked_at AND notified_at IS NULL", 1).await;
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["approvals"]["webhook"] = hook(port, "a secret of the test");
    std::fs::write(world.config_path(), config.to_string()).unwrap();
    for _ in 0..100 {
        // Neither the one that was not there nor the one that is not ready yet makes the test wait.
        world.database.sql("UPDATE approvals SET notify_after = asked_at WHERE notified_at IS NULL");
        if world.database.count("SELECT count(*) FROM approvals WHERE notified_at IS NOT NULL") == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    world.eventually("SELECT count(*) FROM approvals WHERE notified_at IS NOT NULL", 1).await;
    let told: Value = serde_json::from_slice(&std::fs::read(&taken).unwrap()).unwrap();
    assert_eq!((&told["good"], &told["body"]["approval_id"]), (&json!(true), &json!(id)), "{told}");
    assert_eq!(world.gateway().pid(), pid, "nothing was restarted");
}
