//! Gates in front of tool calls: the two stages that are shipped as an example, and what nobody gets past them with.

use portreeve_tests::environment::root;
use portreeve_tests::{Agent, Answer, Kind, Stub, World, WorldBuilder};
use serde_json::{Value, json};

use super::gate::{done, refused};

const TOOLS: [&str; 3] = ["search_contacts", "get_contact", "update_contact"];

fn shipped(name: &str) -> String {
    std::fs::read_to_string(root().join("config/examples/gate/two-stage").join(name)).unwrap()
}

/// The example's own files around a stub.
fn two_stages(kind: Kind, stub: &Stub) -> WorldBuilder {
    let providers = json!([{ "name": "adp" }, { "name": "json", "config": { "root": "evidence", "root_id": "ci" } }]);
    World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .policy_file("manifests/crm.yaml", &shipped("policies/manifests/crm.yaml"))
        .policy_file("scenarios/release.json", &shipped("policies/scenarios/release.json"))
        .file("evidence/ci.json", &shipped("evidence/ci.json"))
        .set("gate", json!({ "runpacks": ["runpacks"], "providers": providers }))
}

fn ci_says(world: &World, failed: u32, released: bool) {
    let report = json!({ "tests": { "failed": failed, "passed": 41 }, "released": released });
    std::fs::write(world.directory.path().join("evidence/ci.json"), report.to_string()).unwrap();
}

async fn started(agent: &Agent, run: &str) -> Value {
    let targets = json!([{ "kind": "agent", "agent_id": agent.id }]);
    let config = json!({
        "tenant_id": "acme", "run_id": run, "scenario_id": "release", "dispatch_targets": targets, "policy_tags": [],
    });
    let at = json!({ "kind": "logical", "value": 1 });
    let start = json!({
        "scenario_id": "release", "run_config": config, "started_at": at, "issue_entry_packets": false,
    });
    done(agent, "scenario_start", start).await
}

async fn next(agent: &Agent, run: &str, trigger: &str) -> Value {
    let time = json!({ "kind": "logical", "value": 2 });
    let request = json!({
        "run_id": run, "trigger_id": trigger, "agent_id": agent.id, "time": time, "correlation_id": null,
    });
    done(agent, "scenario_next", json!({ "scenario_id": "release", "request": request })).await["decision"].clone()
}

async fn update(agent: &Agent, run: Option<&str>) -> Answer {
    let meta = run.map_or_else(|| json!({}), |run| json!({ "io.portreeve/run": run }));
    let params = json!({ "name": "update_contact", "arguments": { "id": 7, "name": "Ada" }, "_meta": meta });
    agent.post("/crm/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await
}

/// The rule of the gate that refused, and its words.
#[track_caller]
fn closed(answer: &Answer) -> (String, String) {
    let message = answer.message();
    let object = &message["result"]["_meta"]["io.portreeve/decision"];
    assert_eq!(object["decision"], "deny", "{message}");
    let reasons = object["reasons"].as_array().cloned().unwrap_or_default();
    let own = reasons.iter().find(|reason| reason["plugin"] == "gate");
    let own = own.unwrap_or_else(|| panic!("the gate did not object: {message}"));
    (own["rule"].as_str().unwrap().to_owned(), own["message"].as_str().unwrap().to_owned())
}

fn unmet(decision: &Value) -> &Value {
    assert_eq!(decision["outcome"]["kind"], "hold", "{decision}");
    &decision["outcome"]["summary"]["unmet_gates"]
}

/// The run as it is exported.
async fn transcript(world: &World, agent: &Agent, run: &str) -> Vec<Value> {
    let at = json!({ "kind": "logical", "value": 9 });
    let export = json!({
        "scenario_id": "release", "run_id": run, "output_dir": run, "generated_at": at, "include_verification": true,
        "manifest_name": null,
    });
    let exported = done(agent, "runpack_export", export).await;
    assert_eq!(exported["report"]["status"], "pass", "{exported}");
    let file = world.directory.path().join("runpacks").join(run).join("tool_transcript.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

// Reading is free; writing waits until the tests have passed and a human has said yes, and ends with the run.
async fn read_freely_write_after_tests_and_a_human(kind: Kind) {
    let stub = Stub::start(&TOOLS).await;
    let world = two_stages(kind, &stub).start();
    let agent = world.agent("a-7", "A3");
    assert_eq!(started(&agent, "run-7").await["current_stage_id"], "read");

    assert_eq!(agent.call("crm/search_contacts", json!({ "q": "ada" })).await.decision(), "allow");
    assert_eq!(stub.calls(), 1);
    let (rule, words) = closed(&update(&agent, None).await);
    assert!(rule == "unnamed" && words.contains("io.portreeve/run"), "{rule}: {words}");
    assert_eq!(closed(&update(&agent, Some("run-8")).await).0, "unknown_run");
    assert_eq!(closed(&update(&agent, Some("run-7")).await).0, "stage");

    assert_eq!(unmet(&next(&agent, "run-7", "t-1").await), &json!(["tests", "human"]));
    let (_, words) = closed(&update(&agent, Some("run-7")).await);
    let told = "crm/update_contact waits for run-7 of scenario release to reach `write`; it is at `read` (unmet: tests, human)";
    assert!(words.contains(told), "{words}");
    ci_says(&world, 0, false);
    assert_eq!(unmet(&next(&agent, "run-7", "t-2").await), &json!(["human"]));
    let waiting = world.cli_json(&["approval", "list", "--status", "pending"]);
    let waiting = waiting.as_array().unwrap();
    assert_eq!(waiting.len(), 1, "asked once, however often it was looked at: {waiting:?}");
    assert_eq!(waiting[0]["tool"], "gate/scenario_next", "{waiting:?}");
    let id = waiting[0]["id"].as_str().unwrap();
    world.cli_json(&["approval", "approve", id, "--by", "grace"]);
    assert_eq!(closed(&update(&agent, Some("run-7")).await).0, "stage", "a yes opens nothing before it is asked for");
    let decision = next(&agent, "run-7", "t-3").await;
    assert_eq!(
        decision["outcome"],
        json!({ "kind": "advance", "from_stage": "read", "to_stage": "write", "timeout": false })
    );
    assert_eq!(stub.calls(), 1, "nothing was written so far");

    let answer = update(&agent, Some("run-7")).await;
    assert_eq!((answer.decision().as_str(), stub.calls()), ("allow", 2), "{}", answer.text());
    let traced = "SELECT count(*) FROM agent_traces WHERE CAST(context AS TEXT) LIKE '%decision-0003%' \
                  AND CAST(context AS TEXT) LIKE '%run-7%' AND CAST(context AS TEXT) LIKE '%crm/update_contact%'";
    world.eventually(traced, 1).await;
    let calls = transcript(&world, &agent, "run-7").await;
    let last = calls.last().unwrap();
    assert_eq!((&last["method"], &last["error"]), (&json!("crm/update_contact"), &Value::Null), "{calls:?}");
    assert_eq!(calls.len(), 4, "three steps and one call; what was refused is no part of it: {calls:?}");

    // Whoever the run does not name, and whoever makes a scenario of the same name, opens nothing.
    let other = world.agent("b-7", "A3");
    assert_eq!(closed(&update(&other, Some("run-7")).await).0, "not_yours");
    let own: Value = serde_json::from_str(&shipped("policies/scenarios/release.json")).unwrap();
    let told = refused(&other, "scenario_define", json!({ "spec": own })).await;
    assert!(told.starts_with("conflict: "), "{told}");

    ci_says(&world, 0, true);
    assert_eq!(next(&agent, "run-7", "t-4").await["outcome"], json!({ "kind": "complete", "stage_id": "write" }));
    assert_eq!(closed(&update(&agent, Some("run-7")).await).0, "over");
    assert_eq!((stub.calls(), world.verify().0), (2, 0));

    // Where a run was is not asked again: nothing is said to pass, and what it waited for is told.
    let policies = world.directory.path().join("policies").display().to_string();
    let report = world.cli_json(&["replay", "--policies", &policies]);
    assert_eq!(report["flips"], json!([]), "{report}");
    let closed = "a gate was closed to it, and where its run was then is not kept";
    let whys: Vec<_> = report["skipped"].as_array().unwrap().iter().map(|skipped| skipped["why"].clone()).collect();
    assert!(whys.contains(&json!(closed)), "{report}");
    let refused = update(&agent, Some("run-7")).await.message();
    let trace = refused["result"]["_meta"]["io.portreeve/decision"]["trace_id"].as_str().unwrap().to_owned();
    let explained = world.cli_json(&["explain", &trace]);
    assert_eq!((&explained["again"], &explained["not_again"]), (&Value::Null, &json!(closed)), "{explained}");
    let waits = "an active run of scenario release that names the agent is at `write`";
    assert_eq!(explained["would_pass"], json!([{ "changes": [waits], "then": "allow" }]), "{explained}");
    let asked = json!({ "agent": "a-7", "tool": "crm/update_contact" });
    let imagined = world.api("POST", "/api/explain", &world.admin_key, Some(asked)).await.message();
    assert_eq!(imagined["awaits"], json!([waits]), "{imagined}");
}

#[tokio::test(flavor = "multi_thread")]
async fn read_freely_write_after_tests_and_a_human_on_sqlite() {
    read_freely_write_after_tests_and_a_human(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_freely_write_after_tests_and_a_human_on_postgres() {
    read_freely_write_after_tests_and_a_human(Kind::Postgres).await;
}

// A no stays a no until the stage asks again, and the agent's own people may not say yes.
#[tokio::test(flavor = "multi_thread")]
async fn a_no_holds_and_four_eyes_look() {
    let stub = Stub::start(&TOOLS).await;
    let world = two_stages(Kind::Sqlite, &stub).start();
    let owner = ["--autonomy", "A3", "--max-risk", "R4", "--owner-email", "ada@example.com"];
    let agent = world.agent_with("a-7", &owner);
    ci_says(&world, 0, false);
    started(&agent, "run-7").await;
    assert_eq!(unmet(&next(&agent, "run-7", "t-1").await), &json!(["human"]));
    let waiting = world.cli_json(&["approval", "list", "--status", "pending"]);
    let id = waiting[0]["id"].as_str().unwrap();
    assert_eq!(world.cli(&["approval", "approve", id, "--by", "ada@example.com"]).status.code(), Some(1));
    world.cli_json(&["approval", "reject", id, "--by", "grace"]);
    assert_eq!(unmet(&next(&agent, "run-7", "t-2").await), &json!(["human"]));
    assert_eq!(closed(&update(&agent, Some("run-7")).await).0, "stage");
    assert_eq!(stub.calls(), 0);
}

/// A rule stands for itself, so it names its scenario by hash.
const RELEASE: &str = "65c3f7fdd0880c00768ab7550b16444eca5ce299e9a5b164b17d3a91b3deac21";

fn rule(mode: &str) -> String {
    let gate = json!({ "scenario": "release", "run_from": "agent", "stage": "write", "spec_hash": RELEASE });
    let rule = json!({ "condition": { "tool": "crm/get_contact" }, "requirement": { "gate": gate } });
    let policy = json!({
        "policy_id": "POL-GATE", "name": "looked at", "category": "reads", "severity": "high", "mode": mode,
        "rule": rule,
    });
    json!({ "policies": [policy] }).to_string()
}

// A rule puts a gate before tools that have none; in shadow it is only told.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_may_put_a_gate_before_a_tool() {
    for (mode, decision) in [("enforce", "deny"), ("shadow", "allow")] {
        let stub = Stub::start(&TOOLS).await;
        let world = two_stages(Kind::Sqlite, &stub).policy_file("rules/own.yaml", &rule(mode)).start();
        let agent = world.agent("a-7", "A3");
        let read = || agent.call("crm/get_contact", json!({ "id": 7 }));
        assert_eq!(read().await.decision(), decision, "no run yet, {mode}");
        assert_eq!(started(&agent, "run-7").await["spec_hash"]["value"], RELEASE);
        let answer = read().await;
        assert_eq!(answer.decision(), decision, "{mode}: {}", answer.text());
        let told = answer.text().contains("run-7");
        assert_eq!(told, mode == "enforce", "{mode}: {}", answer.text());
        assert_eq!(stub.calls(), if mode == "enforce" { 0 } else { 2 });
    }
}

// What binds a tool to a scenario that is not there is told before anything is served.
#[test]
fn a_gate_without_its_scenario_is_no_policy() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = home.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let check = || {
        let mut command = std::process::Command::new(portreeve_tests::environment::portreeve());
        let output = command.arg("check").arg("--config").arg(home.path().join("portreeve.yaml")).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for name in ["portreeve.yaml", "evidence/ci.json", "policies/manifests/crm.yaml", "policies/scenarios/release.json"]
    {
        write(name, &shipped(name));
    }
    let (code, said) = check();
    assert_eq!(code, Some(0), "the example as it is shipped: {said}");
    let manifests = shipped("policies/manifests/crm.yaml");
    for (from, to) in [("scenario: release", "scenario: nothing"), ("stage: write", "stage: nowhere")] {
        write("policies/manifests/crm.yaml", &manifests.replace(from, to));
        let (code, said) = check();
        assert!(code == Some(1) && said.contains("crm/update_contact"), "{to}: {said}");
    }
}
