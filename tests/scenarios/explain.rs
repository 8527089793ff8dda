//! Why a call was decided as it was, and what would make it pass.

use std::io::Write;
use std::process::{Command, Stdio};

use portreeve_tests::environment::portreeve;
use portreeve_tests::{Answer, Kind, Stub, World};
use serde_json::{Value, json};

const TOOLS: [(&str, &str); 3] = [("read", "READ_ONLY"), ("write", "LOW_WRITE"), ("destroy", "HIGH_WRITE")];

fn trace_of(answer: &Answer) -> String {
    let message = answer.message();
    let trace = &message["result"]["_meta"]["io.portreeve/decision"]["trace_id"];
    trace.as_str().unwrap_or_else(|| panic!("no trace in {message}")).to_owned()
}

fn judge<'a>(explained: &'a Value, plugin: &str) -> &'a Value {
    let judges = explained["judges"].as_array().unwrap_or_else(|| panic!("no judges in {explained}"));
    judges.iter().find(|judge| judge["plugin"] == plugin).unwrap_or_else(|| panic!("no {plugin} in {explained}"))
}

// acceptance 48: who asks, with tenant and roles, reaches the policies and the record.
// acceptance 107, 108: what a cell of the table says is told, with the rule that says it.
async fn a_refused_call_is_explained(kind: Kind) {
    let stub = Stub::start(&["read", "write", "destroy"]).await;
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    world.cli_json(&["tenant", "add", "zeta"]);
    let shadow = world.agent("shadow", "A1");
    let refused = shadow.call("crm/write", json!({ "id": 7 })).await;
    let trace = trace_of(&refused);
    world.eventually("SELECT count(*) FROM audit_logs", 1).await;
    let row = "SELECT count(*) FROM audit_logs a JOIN tenants t ON t.id = a.tenant_id WHERE a.agent_id = 'shadow' AND t.name = 'acme'";
    assert_eq!(world.database.count(row), 1);

    let explained = world.cli_json(&["explain", &trace]);
    assert_eq!(explained["policies"], "in force", "{explained}");
    assert_eq!(explained["input"], json!({ "id": 7 }));
    assert_eq!(explained["status"], "denied");
    assert_eq!(explained["trace"]["context"]["decision"], "deny");
    let again = &explained["again"];
    assert_eq!(again["decision"], "deny");
    let manifest = judge(again, "manifest");
    assert_eq!((&manifest["verdict"], &manifest["rule"]), (&json!("deny"), &json!("mode_x_risk")));
    assert!(manifest["micros"].is_number(), "each judge is timed: {again}");
    for plugin in ["scopes", "methods", "standing", "pins", "matrix", "access", "rules"] {
        judge(again, plugin);
    }
    let ways = again["would_pass"].as_array().unwrap();
    assert_eq!(ways[0]["changes"], json!(["shadow is promoted to A3 (PARTIAL_AUTO)"]), "{ways:?}");
    assert_eq!(ways[0]["then"], "allow");

    // The same over the API; another tenant's administrator does not see it.
    let over_api = world.api("GET", &format!("/api/explain/{trace}"), &world.admin_key, None).await;
    assert_eq!((over_api.status, &over_api.message()["again"]["decision"]), (200, &json!("deny")));
    let theirs = world.cli_json(&["tenant", "add", "omega"])["admin_key"].as_str().unwrap().to_owned();
    let hidden = world.api("GET", &format!("/api/explain/{trace}"), &theirs, None).await;
    assert_eq!(hidden.status, 404, "{}", hidden.text());

    // A call that nobody made, by an agent with roles.
    world.agent_with("clerk", &["--autonomy", "A4", "--max-risk", "R4", "--role", "clerk"]);
    let asked = json!({ "agent": "clerk", "tool": "crm/destroy", "arguments": { "id": 8 } });
    let imagined = world.api("POST", "/api/explain", &world.admin_key, Some(asked)).await.message();
    assert_eq!(imagined["policy_input"]["principal"]["roles"], json!(["clerk"]), "{imagined}");
    assert_eq!(imagined["policy_input"]["tenant"]["name"], "acme");
    assert_eq!(imagined["policy_input"]["arguments"], json!({ "id": 8 }));
    let same = world.cli_json(&["explain", "--agent", "clerk", "--tenant", "acme", "--tool", "crm/destroy"]);
    assert_eq!(same["decision"], imagined["decision"]);
    let full = world.cli_json(&[
        "explain",
        "--agent",
        "shadow",
        "--tenant",
        "acme",
        "--tool",
        "crm/destroy",
        "--autonomy",
        "A4",
    ]);
    assert_eq!(full["decision"], "approval_required", "{full}");
    assert_eq!(full["would_pass"][0]["changes"], json!(["a human approves this call"]));
    assert_eq!(stub.calls(), 0, "nothing that was explained was called");

    // How agents are promoted judges nobody.
    std::fs::write(world.directory.path().join("policies/promotion.yaml"), "from: {}\ndenials: 0.5").unwrap();
    assert_eq!(world.cli_json(&["explain", &trace])["policies"], "in force");
    // Other rules since: what was said stands, and what is said today is called today's.
    std::fs::write(world.directory.path().join("policies/chain.yaml"), "plugins: { manifest: observe }").unwrap();
    let later = world.cli_json(&["explain", &trace]);
    assert_eq!(later["policies"], "changed since", "which judges are obeyed is part of the rules");
    assert_eq!(later["trace"]["context"]["verdicts"], explained["trace"]["context"]["verdicts"]);
    for plugin in ["scopes", "standing", "pins", "schema", "manifest", "matrix", "access", "rules", "gate"] {
        assert!(judge(&later["again"], plugin)["micros"].is_number(), "{plugin}: {later}");
    }
    assert_eq!(judge(&later["again"], "manifest")["observed"], true, "{later}");
    let told = world.cli(&["explain", &trace]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("the rules have changed since; under today's:"), "{told}");
    assert_eq!(world.cli(&["explain", "trc_absent"]).status.code(), Some(1));
}

#[tokio::test]
async fn a_refused_call_is_explained_on_sqlite() {
    a_refused_call_is_explained(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_refused_call_is_explained_on_postgres() {
    a_refused_call_is_explained(Kind::Postgres).await;
}

// acceptance 107: the sixteen cells, asked of the command that judges one line a call.
#[test]
fn many_calls_are_judged_line_by_line() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("portreeve.yaml");
    std::fs::write(&config, "{}").unwrap();
    let mut lines = String::new();
    let mut expected = Vec::new();
    for (autonomy, cells) in [("A1", "AAXX"), ("A2", "AAXX"), ("A3", "AAAX"), ("A4", "AAAP"), ("A5", "AAAP")] {
        for (level, cell) in ["READ_ONLY", "PROPOSE_ONLY", "LOW_WRITE", "HIGH_WRITE"].iter().zip(cells.chars()) {
            let manifest = portreeve_tests::world::manifest("crm", "tool", level);
            let line = json!({ "id": expected.len(), "autonomy": autonomy, "max_risk": "R4", "tool": { "manifest": manifest } });
            lines.push_str(&format!("{line}\n"));
            expected.push(match cell {
                'A' => "allow",
                'P' => "approval_required",
                _ => "deny",
            });
        }
    }
    lines.push_str("not json\n");
    let mut child = Command::new(portreeve())
        .args(["explain", "--batch", "--config"])
        .arg(&config)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answers: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let decided: Vec<_> = answers.iter().take(20).map(|answer| answer["decision"].as_str().unwrap()).collect();
    assert_eq!(decided, expected);
    assert!(answers[20]["error"].is_string(), "a bad line is answered and the run goes on");
}
