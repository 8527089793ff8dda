//! The Decision Gate over MCP: the document's examples, on both stores, as an agent of `tenant-001` would call them.

use portreeve_tests::environment::root;
use portreeve_tests::{Agent, Answer, Kind, World};
use serde_json::{Value, json};

const NINE: [&str; 9] = [
    "scenario_define",
    "scenario_start",
    "scenario_status",
    "scenario_next",
    "scenario_submit",
    "scenario_trigger",
    "evidence_query",
    "runpack_export",
    "runpack_verify",
];

pub fn example(name: &str) -> Value {
    let file = root().join("gateway/core/tests/data/gate-examples").join(format!("{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// What the environment says, and who may be told.
fn settings(overrides: &Value, policy: &Value) -> Value {
    json!({
        "runpacks": ["packs"], "evidence": { "allow_raw_values": true, "require_provider_opt_in": true },
        "policy": policy,
        "providers": [
            { "name": "time", "type": "builtin" },
            { "name": "env", "type": "builtin", "allow_raw": true, "config": { "overrides": overrides } },
        ],
    })
}

pub fn world_where(kind: Kind, overrides: &Value, policy: &Value) -> (World, Agent) {
    let world = World::on(kind).set("gate", settings(overrides, policy)).start();
    assert!(world.cli(&["tenant", "add", "tenant-001"]).status.success());
    let options = ["agent", "add", "agent-alpha", "--tenant", "tenant-001", "--autonomy", "A1"];
    let added = world.cli_json(&options);
    let agent = world.agent_with_key("agent-alpha", added["api_key"].as_str().unwrap());
    (world, agent)
}

fn in_production(kind: Kind) -> (World, Agent) {
    world_where(kind, &json!({ "DEPLOY_ENV": "production" }), &json!({ "engine": "permit_all" }))
}

async fn ask(agent: &Agent, tool: &str, arguments: Value) -> Answer {
    agent.call(&format!("gate/{tool}"), arguments).await
}

pub async fn done(agent: &Agent, tool: &str, arguments: Value) -> Value {
    let answer = ask(agent, tool, arguments).await;
    assert!(!answer.is_tool_error(), "{tool}: {}", answer.text());
    answer.tool_json()
}

pub async fn refused(agent: &Agent, tool: &str, arguments: Value) -> String {
    let answer = ask(agent, tool, arguments).await;
    assert!(answer.is_tool_error(), "{tool}: {}", answer.text());
    answer.tool_json().as_str().unwrap().to_owned()
}

fn export(world: &World, directory: &str, verified: bool) -> Value {
    let output = world.directory.path().join("packs").join(directory);
    json!({
        "generated_at": { "kind": "unix_millis", "value": 1_710_000_000_000_i64 }, "include_verification": verified,
        "manifest_name": "manifest.json", "output_dir": output, "run_id": "run-0001", "scenario_id": "example-scenario",
    })
}

pub async fn root_of(world: &World, agent: &Agent, directory: &str, verified: bool) -> String {
    let answer = done(agent, "runpack_export", export(world, directory, verified)).await;
    answer["manifest"]["integrity"]["root_hash"]["value"].as_str().unwrap().to_owned()
}

// acceptance 113 a: listed at both doors, and every example fits its schema.
#[tokio::test]
async fn the_nine_tools_are_offered() {
    let (_world, agent) = in_production(Kind::Sqlite);
    let agent = agent.modern();
    for path in ["/gate/mcp", "/mcp"] {
        let answer = agent.post(path, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await.message();
        let listed = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{path}: {answer}")).clone();
        let named = |name: &str| listed.iter().find(|tool| tool["name"] == name).cloned();
        let names: Vec<&str> = NINE.into_iter().filter(|name| named(name).is_some()).collect();
        assert_eq!(names, NINE, "{path}");
        for (tool, input) in [
            ("scenario_define", "define"),
            ("scenario_start", "start"),
            ("scenario_status", "status"),
            ("scenario_next", "next"),
            ("scenario_submit", "submit"),
            ("scenario_trigger", "trigger"),
            ("evidence_query", "query"),
            ("runpack_export", "export"),
            ("runpack_verify", "verify"),
        ] {
            let schema = named(tool).unwrap()["inputSchema"].clone();
            let validator = jsonschema::validator_for(&schema).unwrap();
            let problems: Vec<String> = validator.iter_errors(&example(input)).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{tool}: {problems:?}");
        }
    }
}

// acceptance 113 a: what is shipped is what the document shows.
#[test]
fn the_examples_are_shipped() {
    let shipped = |name: &str| -> Value {
        let file = root().join("config/examples/gate").join(name);
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    };
    assert_eq!(shipped("scenario.json"), example("define")["spec"]);
    assert_eq!(shipped("start.json"), example("start"));
    assert_eq!(shipped("run-config.json"), example("start")["run_config"]);
    assert_eq!(shipped("next.json"), example("next"));
}

// acceptance 113 b-c, 115 a-c, 116 a-b, 117 a, 117 c, 119 a-c, 120 c-e; the roots are an independent model's.
async fn the_example_runs(kind: Kind) {
    let (world, agent) = in_production(kind);
    let defined = done(&agent, "scenario_define", example("define")).await;
    let hash = "e88a1fd1fa430f74620e0cc1a263346fc3a4365bb14e81b5d2dc0a2d0dddbbfe";
    assert_eq!((&defined["scenario_id"], &defined["spec_hash"]["value"]), (&json!("example-scenario"), &json!(hash)));
    assert!(refused(&agent, "scenario_define", example("define")).await.starts_with("conflict: "));

    let run = done(&agent, "scenario_start", example("start")).await;
    assert_eq!(run.as_object().unwrap().len(), 13);
    assert_eq!((&run["status"], &run["current_stage_id"]), (&json!("active"), &json!("main")));
    assert_eq!(run["packets"][0]["receipts"][0]["target"], json!({ "kind": "agent", "agent_id": "agent-alpha" }));
    assert!(refused(&agent, "scenario_start", example("start")).await.starts_with("conflict: "));

    let evidence = done(&agent, "evidence_query", example("query")).await;
    assert_eq!(evidence["result"]["value"], json!({ "kind": "json", "value": "production" }));
    let submitted = done(&agent, "scenario_submit", example("submit")).await;
    assert_eq!(done(&agent, "scenario_submit", example("submit")).await, submitted);
    let before = root_of(&world, &agent, "polled", false).await;
    for _ in 0..10 {
        let status = done(&agent, "scenario_status", example("status")).await;
        assert_eq!((status.as_object().unwrap().len(), &status["safe_summary"]), (7, &Value::Null));
    }
    assert_eq!(root_of(&world, &agent, "polled", false).await, before);

    let decided = done(&agent, "scenario_next", example("next")).await;
    assert_eq!(decided["decision"]["outcome"], json!({ "kind": "complete", "stage_id": "main" }));
    assert_eq!(decided["status"], "completed");
    assert_eq!(done(&agent, "scenario_trigger", example("trigger")).await, decided);
    let seven = "accbd0fc17dc4d59ad4b11ce0fb0ce48fab2345b13b0cc28838fae98aaf82113";
    assert_eq!(root_of(&world, &agent, "seven", false).await, seven);
    let eight = "6e756bfd15cd20526bb4983bc18feb734d66a19d9d5ddaf5878637cbfd16e84d";
    assert_eq!(root_of(&world, &agent, "eight", true).await, eight);
    let packs = world.directory.path().join("packs");
    let checked = json!({ "runpack_dir": packs.join("eight"), "manifest_path": "manifest.json" });
    let report = json!({ "status": "pass", "checked_files": 8, "errors": [] });
    assert_eq!(done(&agent, "runpack_verify", checked.clone()).await, json!({ "status": "pass", "report": report }));

    // Anybody may check it without a gateway, and sees what was changed.
    let directory = packs.join("eight").display().to_string();
    assert!(world.cli(&["runpack", "verify", &directory]).status.success());
    std::fs::write(packs.join("eight/decision_log.json"), "[]").unwrap();
    assert_eq!(world.cli(&["runpack", "verify", &directory]).status.code(), Some(1));
    assert_eq!(done(&agent, "runpack_verify", checked).await["status"], "fail");
}

#[tokio::test]
async fn the_example_runs_on_sqlite() {
    the_example_runs(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_example_runs_on_postgres() {
    the_example_runs(Kind::Postgres).await;
}

// acceptance 116 c, 117 b: what is not met is named, what was found is not.
#[tokio::test]
async fn a_hold_tells_no_evidence() {
    let overrides = json!({ "DEPLOY_ENV": "canary-7f3a" });
    let (_world, agent) = world_where(Kind::Sqlite, &overrides, &json!({ "engine": "permit_all" }));
    done(&agent, "scenario_define", example("define")).await;
    done(&agent, "scenario_start", example("start")).await;
    let held = ask(&agent, "scenario_next", example("next")).await;
    let status = ask(&agent, "scenario_status", example("status")).await;
    assert_eq!(held.tool_json()["decision"]["outcome"]["summary"]["unmet_gates"], json!(["env_gate"]));
    assert_eq!(status.tool_json()["safe_summary"]["retry_hint"], "await_evidence");
    assert!(!held.text().contains("canary") && !status.text().contains("canary"));
}

// acceptance 115 d
#[tokio::test]
async fn a_denied_packet_leaves_no_run() {
    let rules = json!({ "default": "permit", "rules": [{ "effect": "deny", "require_labels": ["public"] }] });
    let policy = json!({ "engine": "static", "static": rules });
    let (_world, agent) = world_where(Kind::Sqlite, &json!({ "DEPLOY_ENV": "production" }), &policy);
    done(&agent, "scenario_define", example("define")).await;
    assert!(refused(&agent, "scenario_start", example("start")).await.starts_with("policy_denied: "));
    assert!(refused(&agent, "scenario_status", example("status")).await.starts_with("not_found: "));
}

// acceptance 120 h: whatever another tenant asks, the run is not there; and nobody leaves the roots.
async fn runs_are_their_tenants(kind: Kind) {
    let (world, agent) = in_production(kind);
    let stranger = world.agent("agent-alpha", "A1");
    done(&agent, "scenario_define", example("define")).await;
    done(&agent, "scenario_start", example("start")).await;
    done(&stranger, "scenario_define", example("define")).await;
    for (tool, arguments) in [
        ("scenario_status", example("status")),
        ("scenario_next", example("next")),
        ("scenario_trigger", example("trigger")),
        ("scenario_submit", example("submit")),
        ("runpack_export", export(&world, "stolen", false)),
    ] {
        let told = refused(&stranger, tool, arguments).await;
        assert_eq!(told, "not_found: run `run-0001` of scenario `example-scenario`", "{tool}");
    }
    assert_eq!(refused(&stranger, "evidence_query", example("query")).await, "not_found: tenant `tenant-001`");
    root_of(&world, &agent, "own", false).await;
    let checked = json!({ "runpack_dir": "own", "manifest_path": "manifest.json" });
    assert_eq!(done(&agent, "runpack_verify", checked.clone()).await["status"], "pass");
    assert_eq!(refused(&stranger, "runpack_verify", checked).await, "not_found: runpack_dir names no directory");
    for outside in ["../out", "/etc", "own/../../out"] {
        let mut request = export(&world, "own", false);
        request["output_dir"] = json!(outside);
        assert!(refused(&agent, "runpack_export", request).await.starts_with("forbidden_path: "), "{outside}");
    }
}

#[tokio::test]
async fn runs_are_their_tenants_on_sqlite() {
    runs_are_their_tenants(Kind::Sqlite).await;
}

#[tokio::test]
async fn runs_are_their_tenants_on_postgres() {
    runs_are_their_tenants(Kind::Postgres).await;
}

// The same tools at the machine itself.
#[tokio::test]
async fn the_command_line_says_the_same() {
    let (world, _agent) = in_production(Kind::Sqlite);
    let file =
        |name: &str| root().join(format!("gateway/core/tests/data/gate-examples/{name}.json")).display().to_string();
    let cli = |arguments: &[&str]| world.cli_json(&[&["gate"][..], arguments, &["--tenant", "tenant-001"]].concat());
    assert_eq!(cli(&["define", &file("define")])["scenario_id"], "example-scenario");
    assert_eq!(cli(&["start", &file("start")])["status"], "active");
    assert_eq!(cli(&["submit", &file("submit")])["record"]["submission_id"], "submission-0001");
    assert_eq!(cli(&["next", &file("next")])["status"], "completed");
    assert_eq!(cli(&["trigger", &file("trigger")])["decision"]["decision_id"], "decision-0002");
    assert_eq!(cli(&["status", "run-0001", "--scenario", "example-scenario"])["status"], "completed");
    assert_eq!(cli(&["list"])[0]["run_id"], "run-0001");
    let exported =
        cli(&["export", "run-0001", "--scenario", "example-scenario", "--out", "run-0001", "--at", "1710000000000"]);
    assert_eq!(
        exported["manifest"]["integrity"]["root_hash"]["value"],
        "accbd0fc17dc4d59ad4b11ce0fb0ce48fab2345b13b0cc28838fae98aaf82113"
    );
    assert_eq!(cli(&["verify", "run-0001"])["status"], "pass");
    let unknown = world.cli(&["gate", "status", "run-9", "--scenario", "example-scenario", "--tenant", "tenant-001"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("not_found: run `run-9`"));
}
