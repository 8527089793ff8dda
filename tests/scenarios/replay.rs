//! Recorded calls under other policies: which would have been decided otherwise, and which cannot be asked again.

use portreeve_tests::{Kind, Stub, World};
use serde_json::{Value, json};

const TOOLS: [(&str, &str); 2] = [("read", "READ_ONLY"), ("write", "LOW_WRITE")];

fn candidate(world: &World, tools: &[(&str, &str)]) -> String {
    let dir = world.directory.path().join("candidate");
    std::fs::create_dir_all(dir.join("manifests")).unwrap();
    let list: Vec<_> = tools.iter().map(|(tool, level)| portreeve_tests::world::manifest("crm", tool, level)).collect();
    std::fs::write(dir.join("manifests/crm.yaml"), json!({ "manifests": list }).to_string()).unwrap();
    dir.display().to_string()
}

fn flips(report: &Value) -> Vec<(String, String, String, i64)> {
    let text = |flip: &Value, key: &str| flip[key].as_str().unwrap_or("-").to_owned();
    let flips = report["flips"].as_array().unwrap_or_else(|| panic!("no flips in {report}")).iter();
    let mut flips: Vec<_> = flips
        .map(|flip| (text(flip, "agent"), text(flip, "from"), text(flip, "to"), flip["count"].as_i64().unwrap()))
        .collect();
    flips.sort();
    flips
}

async fn other_policies_are_tried_on_what_was_done(kind: Kind) {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    let (shadow, partial) = (world.agent("shadow", "A1"), world.agent("partial", "A3"));
    for id in 0..3 {
        assert_eq!(partial.call("crm/write", json!({ "id": id })).await.decision(), "allow");
    }
    assert_eq!(shadow.call("crm/write", json!({ "id": 9 })).await.decision(), "deny");
    assert_eq!(shadow.call("crm/read", json!({ "id": 9 })).await.decision(), "allow");
    let reached = stub.calls();
    world.eventually("SELECT count(*) FROM audit_logs", 5).await;

    // Stricter for one, looser for the other.
    let dir = candidate(&world, &[("read", "READ_ONLY"), ("write", "HIGH_WRITE")]);
    let report = world.cli_json(&["replay", "--policies", &dir]);
    assert_eq!((report["replayed"].as_i64(), report["unchanged"].as_i64()), (Some(5), Some(2)), "{report}");
    let partial_flip = ("partial".to_owned(), "allow".to_owned(), "deny".to_owned(), 3);
    assert_eq!(flips(&report), std::slice::from_ref(&partial_flip));
    assert!(report["flips"][0]["example"].as_str().unwrap().starts_with("trc_"));
    assert!(report["flips"][0]["reasons"][0]["message"].as_str().unwrap().contains("HIGH_WRITE"), "{report}");
    assert_eq!(world.cli(&["replay", "--policies", &dir]).status.code(), Some(0));
    assert_eq!(world.cli(&["replay", "--policies", &dir, "--fail-on-flips"]).status.code(), Some(1));

    let dir = candidate(&world, &[("read", "READ_ONLY"), ("write", "READ_ONLY")]);
    let report = world.cli_json(&["replay", "--policies", &dir]);
    assert_eq!(flips(&report), [("shadow".to_owned(), "deny".to_owned(), "allow".to_owned(), 1)]);

    // Over the API, with the candidate in the question.
    let high = json!({ "manifests": [portreeve_tests::world::manifest("crm", "write", "HIGH_WRITE"), portreeve_tests::world::manifest("crm", "read", "READ_ONLY")] });
    let asked = json!({ "files": { "manifests/crm.yaml": high.to_string() } });
    let answer = world.api("POST", "/api/replay", &world.admin_key, Some(asked)).await;
    assert_eq!((answer.status, flips(&answer.message())), (200, vec![partial_flip]), "{}", answer.text());
    let broken = json!({ "files": { "manifests/crm.yaml": "manifests: [7]", "matrx.yaml": "" } });
    let answer = world.api("POST", "/api/replay", &world.admin_key, Some(broken)).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.message()["errors"].as_array().map(Vec::len), Some(2), "{}", answer.text());

    // What was erased is asked again only where nobody would have looked at it.
    world.database.sql("UPDATE audit_logs SET input_payload = NULL WHERE agent_id = 'partial'");
    assert_eq!(world.cli_json(&["replay", "--policies", &dir])["replayed"], 5);
    let rules = "policies:\n  - { policy_id: P, name: n, severity: high, mode: enforce, rule: { condition: { id: { gt: 1 } }, requirement: prohibited } }";
    std::fs::create_dir_all(world.directory.path().join("candidate/rules")).unwrap();
    std::fs::write(world.directory.path().join("candidate/rules/own.yaml"), rules).unwrap();
    let report = world.cli_json(&["replay", "--policies", &dir]);
    assert_eq!(report["skipped"], json!([{ "why": "its arguments were erased", "count": 3 }]), "{report}");
    let later = world.cli_json(&["replay", "--policies", &dir, "--since", "2100-01-01T00:00:00Z"]);
    assert_eq!(later["replayed"], 0);
    assert_eq!(stub.calls(), reached, "nothing is called again");

    // Nothing runs beside these.
    assert_eq!(world.api("GET", "/api/replay/live", &world.admin_key, None).await.status, 404);
    let none = world.cli(&["replay", "--live"]);
    let told = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(none.status.code() == Some(1) && told.contains("candidate: DIR"), "{told}");
}

#[tokio::test]
async fn other_policies_are_tried_on_sqlite() {
    other_policies_are_tried_on_what_was_done(Kind::Sqlite).await;
}

#[tokio::test]
async fn other_policies_are_tried_on_postgres() {
    other_policies_are_tried_on_what_was_done(Kind::Postgres).await;
}

// A policy in shadow is tried on what was done before anybody enforces it.
#[tokio::test]
async fn what_a_policy_in_shadow_would_come_to_is_told() {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    let new = json!({ "policy_id": "POL-1", "name": "no writing", "severity": "high",
        "rule": { "condition": { "tool": "crm/write" }, "requirement": "prohibited" } });
    assert_eq!(world.api("POST", "/api/policies", &world.admin_key, Some(new)).await.status, 201);
    world.live().await;
    let partial = world.agent("partial", "A3");
    assert_eq!(partial.call("crm/write", json!({})).await.decision(), "allow", "in shadow");
    assert_eq!(partial.call("crm/read", json!({})).await.decision(), "allow");
    world.eventually("SELECT count(*) FROM audit_logs", 2).await;
    let policies = world.directory.path().join("policies").display().to_string();
    let report = |rows: &str| world.cli_json(&["replay", "--policies", &policies, "--rules", rows]);
    assert_eq!(flips(&report("own")), []);
    assert_eq!(flips(&report("none")), []);
    assert_eq!(flips(&report("enforced")), [("partial".to_owned(), "allow".to_owned(), "deny".to_owned(), 1)]);
}

// What enforcing a policy turns is told with it, and only what is this policy's doing.
#[tokio::test]
async fn a_policy_is_tried_before_it_is_enforced() {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    for (id, tool) in [("POL-1", "crm/write"), ("POL-2", "crm/other")] {
        let rule = json!({ "condition": { "tool": tool }, "requirement": "prohibited" });
        let new = json!({ "policy_id": id, "name": id, "severity": "high", "rule": rule });
        assert_eq!(world.api("POST", "/api/policies", &world.admin_key, Some(new)).await.status, 201);
    }
    world.live().await;
    let partial = world.agent("partial", "A3");
    assert_eq!(partial.call("crm/write", json!({})).await.decision(), "allow", "in shadow");
    assert_eq!(partial.call("crm/read", json!({})).await.decision(), "allow");
    world.eventually("SELECT count(*) FROM audit_logs", 2).await;
    let modes = || {
        let listed = world.cli_json(&["policy", "list", "--tenant", "acme"]);
        let mode =
            |id: &str| listed.as_array().unwrap().iter().find(|line| line["policy"] == id).unwrap()["mode"].clone();
        (mode("POL-1"), mode("POL-2"))
    };
    let done = world.cli_json(&["policy", "mode", "POL-2", "enforce", "--tenant", "acme"]);
    assert_eq!((flips(&done["trial"]), done["trial"]["replayed"].as_i64()), (vec![], Some(2)), "{done}");
    let later = ["policy", "mode", "POL-1", "advisory", "--tenant", "acme"];
    assert_eq!(world.cli_json(&later).get("trial"), None);
    let done = world.cli_json(&["policy", "mode", "POL-1", "enforce", "--tenant", "acme", "--yes"]);
    assert_eq!(flips(&done["trial"]), [("partial".to_owned(), "allow".to_owned(), "deny".to_owned(), 1)], "{done}");
    assert_eq!(modes(), (json!("enforce"), json!("enforce")));
    // What another rule refuses already is not this one's doing.
    let rule = json!({ "condition": { "domain": "crm" }, "requirement": "prohibited" });
    let new = json!({ "policy_id": "POL-3", "name": "POL-3", "severity": "high", "rule": rule });
    assert_eq!(world.api("POST", "/api/policies", &world.admin_key, Some(new)).await.status, 201);
    let done = world.cli_json(&["policy", "mode", "POL-3", "enforce", "--tenant", "acme", "--yes"]);
    let tools: Vec<_> = done["trial"]["flips"].as_array().unwrap().iter().map(|flip| flip["tool"].clone()).collect();
    assert_eq!(tools, [json!("crm/read")], "{done}");
}

async fn a_candidate_that_runs_beside_is_heard_and_not_obeyed(kind: Kind) {
    let stub = Stub::start(&["read", "write"]).await;
    let beside = |write: &str| {
        json!({ "manifests": [
            portreeve_tests::world::manifest("crm", "read", "READ_ONLY"),
            portreeve_tests::world::manifest("crm", "write", write),
        ] })
        .to_string()
    };
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &TOOLS)
        .set("candidate", json!("beside"))
        .policy_file("../beside/manifests/crm.yaml", &beside("HIGH_WRITE"))
        .start();
    let partial = world.agent("partial", "A3");
    assert_eq!(partial.call("crm/write", json!({})).await.decision(), "allow", "the candidate is not obeyed");
    for id in 0..2 {
        assert_eq!(partial.call("crm/read", json!({ "id": id })).await.decision(), "allow");
    }
    assert_eq!(stub.calls(), 3);
    world.eventually("SELECT count(*) FROM agent_traces WHERE agent_id = 'partial'", 3).await;
    let report = world.cli_json(&["replay", "--live"]);
    assert_eq!(flips(&report), [("partial".to_owned(), "allow".to_owned(), "deny".to_owned(), 1)], "{report}");
    assert_eq!((report["replayed"].as_i64(), report["unchanged"].as_i64()), (Some(3), Some(2)), "{report}");
    let reason = &report["flips"][0]["reasons"][0];
    assert_eq!((&reason["plugin"], &reason["rule"]), (&json!("manifest"), &json!("mode_x_risk")), "{report}");
    let over_api = world.api("GET", "/api/replay/live", &world.admin_key, None).await;
    assert_eq!((over_api.status, over_api.message()), (200, report.clone()), "{}", over_api.text());
    let later = world.api("GET", "/api/replay/live?since=2100-01-01T00:00:00Z", &world.admin_key, None).await;
    assert_eq!(later.message()["replayed"], 0, "{}", later.text());
    assert_eq!(world.api("GET", "/api/replay/live?until=x", &world.admin_key, None).await.status, 422);
    let theirs = world.cli_json(&["tenant", "add", "omega"])["admin_key"].as_str().unwrap().to_owned();
    let hidden = world.api("GET", "/api/replay/live", &theirs, None).await.message();
    assert_eq!((&hidden["replayed"], &hidden["skipped"]), (&json!(0), &json!([])), "{hidden}");

    // What one candidate said is not told of the next.
    std::fs::write(world.directory.path().join("beside/manifests/crm.yaml"), beside("LOW_WRITE")).unwrap();
    let next = world.cli_json(&["replay", "--live"]);
    assert_ne!(next["candidate"], report["candidate"]);
    assert_eq!((next["replayed"].as_i64(), flips(&next)), (Some(0), vec![]), "{next}");
    assert_eq!(next["skipped"], json!([{ "why": "another candidate ran beside it", "count": 3 }]), "{next}");
}

#[tokio::test]
async fn a_candidate_that_runs_beside_is_heard_on_sqlite() {
    a_candidate_that_runs_beside_is_heard_and_not_obeyed(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_candidate_that_runs_beside_is_heard_on_postgres() {
    a_candidate_that_runs_beside_is_heard_and_not_obeyed(Kind::Postgres).await;
}

// Replayed under the very policies that decided, nothing flips, whatever else has changed since: what no policy did is left
// out by name.
async fn what_no_policy_did_is_left_out(kind: Kind) {
    let schema = json!({ "type": "object", "properties": { "id": { "type": "integer" } } });
    let tool = |name: &str| json!({ "name": name, "description": "A tool.", "inputSchema": schema });
    let stub = Stub::with_definitions(vec![tool("read"), tool("strict"), tool("delete")]).await;
    let level = portreeve_tests::world::manifest;
    let tools = [
        level("crm", "read", "READ_ONLY"),
        level("crm", "strict", "READ_ONLY"),
        level("crm", "peek", "READ_ONLY"),
        level("crm", "delete", "HIGH_WRITE"),
    ];
    let handling = json!({ "crm/strict": { "dlp": { "request": { "payment_card": "block" } } } });
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifest_file("crm", json!({ "manifests": tools, "handling": handling }))
        .set("limits", json!({ "agent_per_minute": 0, "pending_approvals": 1 }))
        .start();
    let (agent, full) = (world.agent("a-3", "A3"), world.agent("a-4", "A4"));
    let decided = async |who: &portreeve_tests::Agent, tool: &str, arguments: Value| {
        let answer = who.call(tool, arguments).await;
        (answer.decision(), answer.denied_by().join(","))
    };
    let denied = |by: &str| ("deny".to_owned(), by.to_owned());
    assert_eq!(decided(&agent, "crm/read", json!({ "id": 1 })).await.0, "allow");
    assert_eq!(decided(&agent, "crm/read", json!({ "id": "x" })).await, denied("schema"));
    assert_eq!(decided(&agent, "crm/strict", json!({ "card": "4111 1111 1111 1111" })).await, denied("dlp"));
    assert_eq!(decided(&agent, "crm/peek", json!({})).await, denied("pins"));
    assert_eq!(decided(&full, "crm/delete", json!({ "id": 1 })).await.0, "approval_required");
    assert_eq!(decided(&full, "crm/delete", json!({ "id": 2 })).await.0, "deny", "one may wait");
    let until = async |decision: &str| {
        for _ in 0..400 {
            let answer = agent.call("crm/read", json!({ "id": 2 })).await;
            let message = answer.message();
            // A call that was under way when its agent was stopped had been allowed: only its answer was kept back.
            if answer.decision() == decision && message["error"].is_null() {
                return message["result"]["_meta"]["io.portreeve/decision"]["trace_id"]
                    .as_str()
                    .unwrap_or("")
                    .to_owned();
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        panic!("crm/read was never decided `{decision}`");
    };
    world.cli_json(&["kill", "agent", "a-3", "--tenant", "acme"]);
    let stopped = until("deny").await;
    world.cli_json(&["restore", "agent", "a-3", "--tenant", "acme"]);
    until("allow").await;

    let policies = world.directory.path().join("policies").display().to_string();
    let nothing_flips = || {
        let report = world.cli_json(&["replay", "--policies", &policies]);
        assert_eq!(flips(&report), [], "{report}");
        let mut whys: Vec<_> = report["skipped"].as_array().unwrap().iter().map(|one| one["why"].clone()).collect();
        // What people did stands in the chain, too.
        whys.retain(|why| why != "not a tool call");
        let expected = [
            "it was stopped by a suspension, which is no policy",
            "its arguments did not fit the schema that its tool had then",
            "its tool was not as it had been accepted, which is no policy",
            "what it held was not let through, and not kept",
        ];
        assert_eq!(whys, expected, "{report}");
        report["unchanged"].as_i64().unwrap()
    };
    let unchanged = nothing_flips();
    assert!(unchanged >= 4, "allowed twice at least, and two that a human was or would have been asked about");
    let traces = "SELECT count(*) FROM agent_traces WHERE agent_id = 'a-3'";
    let before = world.database.count(traces);

    // What was refused because of a suspension is not said to pass under the same rules.
    let explained = world.cli_json(&["explain", &stopped]);
    assert_eq!((&explained["policies"], &explained["again"]), (&json!("in force"), &Value::Null), "{explained}");
    assert_eq!(explained["not_again"], "it was stopped by a suspension, which is no policy");
    world.cli_json(&["kill", "agent", "a-3", "--tenant", "acme"]);
    assert_eq!(nothing_flips(), unchanged, "an agent that is stopped now was none when it called");
    let explained = world.cli_json(&["explain", &stopped]);
    assert_eq!(explained["again"]["decision"], "deny", "and while it stands, it is: {explained}");
    assert_eq!(explained["again"]["would_pass"][0]["changes"], json!(["agent a-3 is restored"]), "{explained}");
    assert_eq!(world.database.count(traces), before + 1, "nothing is called again: the one more is the stop itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_policy_did_is_left_out_on_sqlite() {
    what_no_policy_did_is_left_out(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_policy_did_is_left_out_on_postgres() {
    what_no_policy_did_is_left_out(Kind::Postgres).await;
}
