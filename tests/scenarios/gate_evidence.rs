//! Where evidence comes from, what is believed of it and what is shown, through the gateway as an agent meets it.

use portreeve_tests::{Agent, Kind, Step, Stub, World};
use serde_json::{Value, json};

use super::gate::{done, refused};

const PRODUCTION: &str = "80be2eb0944c0453a6ad339a56e1c8f39f8cc57a4e627758246ccfd274176fd8";
/// Made with another implementation, over the hash of `"production"`, from the seed 00 01 .. 1f.
const KEY: &str = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
const SIGNATURE: &str = "241350bb5c22aaaa1161932bcf0f5becbc6aa17bebcbb1e951fd183be77570d3381bf44b68176cff40d8f1033b13ef9487adc942da5a434a20e29bb6ec12380a";

/// A look without a run.
async fn look(agent: &Agent, provider: &str, check: &str, params: Value, time: &Value) -> Value {
    let context = json!({
        "tenant_id": "acme", "run_id": "run-1", "scenario_id": "s", "stage_id": "main", "trigger_id": "t",
        "trigger_time": time, "correlation_id": null,
    });
    let query = json!({ "provider_id": provider, "predicate": check, "params": params });
    done(agent, "evidence_query", json!({ "query": query, "context": context })).await["result"].clone()
}

fn unix() -> Value {
    json!({ "kind": "unix_millis", "value": 1_710_000_000_000_i64 })
}

// acceptance 119 e: what each provider gives, and every way out of what the operator opened.
#[tokio::test(flavor = "multi_thread")]
async fn providers_give_what_was_opened_and_nothing_else() {
    let page =
        Stub::scripted(vec![Step::on("GET").status(302).header("location", "http://127.0.0.1:1/").always()]).await;
    let host = format!("127.0.0.1:{}", page.port);
    let gate = json!({
        "evidence": { "allow_raw_values": true, "require_provider_opt_in": false },
        "providers": [
            { "name": "time" },
            { "name": "env", "config": { "allowlist": ["OPEN", "SHUT", "AWAY"], "denylist": ["SHUT"] } },
            { "name": "json", "config": { "root": "evidence" } },
            { "name": "http", "config": { "allowed_hosts": [host], "allow_http": true } },
            { "name": "adp" },
        ],
    });
    let large = json!({ "text": "x".repeat(1 << 20) }).to_string();
    let world = World::on(Kind::Sqlite)
        .set("gate", gate)
        .file("evidence/ok.json", "{\"a\": [1, 2], \"b\": {\"c\": 0.5}}")
        .file("evidence/ok.yaml", "a: 7\n")
        .file("evidence/broken.json", "{")
        .file("evidence/large.json", &large)
        .file("secret.json", "{\"a\": 1}")
        .variable("OPEN", "canary-1")
        .variable("SHUT", "canary-2")
        .variable("OTHER", "canary-3")
        .start();
    let inside = world.directory.path().join("evidence");
    std::os::unix::fs::symlink(world.directory.path().join("secret.json"), inside.join("link.json")).unwrap();
    std::os::unix::fs::symlink(world.directory.path(), inside.join("up")).unwrap();
    let agent = world.agent("a-7", "A1");
    let file = |name: &str| json!({ "file": name });
    let url = |host: &str| json!({ "url": format!("http://{host}/release") });
    let logical = json!({ "kind": "logical", "value": 5 });
    for (provider, check, params, time, expected) in [
        ("env", "get", json!({ "key": "OPEN" }), unix(), Ok(json!("canary-1"))),
        ("env", "get", json!({ "key": "AWAY" }), unix(), Ok(Value::Null)),
        ("env", "get", json!({ "key": "SHUT" }), unix(), Err("key_blocked")),
        ("env", "get", json!({ "key": "OTHER" }), unix(), Err("key_blocked")),
        ("json", "path", json!({ "file": "ok.json", "jsonpath": "$.b.c" }), unix(), Ok(json!(0.5))),
        ("json", "path", json!({ "file": "ok.json", "jsonpath": "$.a[*]" }), unix(), Ok(json!([1, 2]))),
        ("json", "path", json!({ "file": "ok.yaml", "jsonpath": "$.a" }), unix(), Ok(json!(7))),
        ("json", "path", json!({ "file": "ok.json", "jsonpath": "$.z" }), unix(), Err("jsonpath_not_found")),
        ("json", "path", json!({ "file": "ok.json", "jsonpath": "a b" }), unix(), Err("invalid_jsonpath")),
        ("json", "path", file("../secret.json"), unix(), Err("path_outside_root")),
        ("json", "path", file("/etc/passwd"), unix(), Err("absolute_path_forbidden")),
        ("json", "path", file("link.json"), unix(), Err("path_outside_root")),
        ("json", "path", file("up/secret.json"), unix(), Err("path_outside_root")),
        ("json", "path", file("large.json"), unix(), Err("size_limit_exceeded")),
        ("json", "path", file("away.json"), unix(), Err("file_not_found")),
        ("json", "path", file("broken.json"), unix(), Err("invalid_json")),
        ("http", "status", url(&host), unix(), Ok(json!(302))),
        ("http", "status", url("127.0.0.1:1"), unix(), Err("host_not_allowed")),
        ("http", "status", url(&format!("localhost:{}", page.port)), unix(), Err("host_not_allowed")),
        ("http", "status", url(&format!("{host}@127.0.0.1:1")), unix(), Err("params_invalid")),
        ("time", "after", json!({ "timestamp": 5 }), logical.clone(), Ok(json!(true))),
        ("time", "before", json!({ "timestamp": 5 }), logical.clone(), Ok(json!(false))),
        ("time", "now", Value::Null, logical.clone(), Ok(json!(5))),
        ("time", "after", json!({ "timestamp": "2024-03-09T16:00:00Z" }), logical, Err("params_invalid")),
        ("time", "after", json!({ "timestamp": "2024-03-09T16:00:00Z" }), unix(), Ok(json!(true))),
        ("adp", "chain_valid", json!({ "agent_id": "a-7" }), unix(), Ok(json!(true))),
        ("adp", "chain_valid", json!({ "agent_id": "nobody" }), unix(), Err("not_found")),
        ("adp", "approval_granted", json!({}), unix(), Err("run_missing")),
        ("weather", "get", json!({}), unix(), Err("provider_missing")),
        ("env", "set", json!({ "key": "OPEN" }), unix(), Err("check_missing")),
    ] {
        let mut params = params;
        if params.is_null() {
            params = json!({});
        }
        let what = format!("{provider} {check} {params}");
        let result = look(&agent, provider, check, params, &time).await;
        match expected {
            Ok(Value::Null) => {
                assert_eq!((&result["value"], &result["error"]), (&Value::Null, &Value::Null), "{what}: {result}");
            }
            Ok(value) => assert_eq!(result["value"], json!({ "kind": "json", "value": value }), "{what}: {result}"),
            Err(code) => {
                assert_eq!(result["error"]["code"], code, "{what}: {result}");
                let nothing = (&result["value"], &result["evidence_hash"], &result["content_type"]);
                assert_eq!(nothing, (&Value::Null, &Value::Null, &Value::Null), "{what}: {result}");
            }
        }
    }
    assert_eq!(page.asked("GET"), 1, "a redirection is a status, and followed by nobody");
    assert_eq!(world.database.count("SELECT count(*) FROM approvals"), 0, "a look asks no human");
}

// acceptance 119 d: what is not shown is hashed and anchored all the same.
#[tokio::test]
async fn raw_values_are_shown_only_where_both_agree() {
    for (all, opt_in, own, shown) in
        [(false, true, true, false), (true, true, false, false), (true, true, true, true), (true, false, false, true)]
    {
        let gate = json!({
            "evidence": { "allow_raw_values": all, "require_provider_opt_in": opt_in },
            "providers": [{ "name": "env", "allow_raw": own, "config": { "overrides": { "DEPLOY_ENV": "production" } } }],
        });
        let world = World::on(Kind::Sqlite).set("gate", gate).start();
        let agent = world.agent("a-7", "A1");
        let result = look(&agent, "env", "get", json!({ "key": "DEPLOY_ENV" }), &unix()).await;
        assert_eq!(result["evidence_hash"]["value"], PRODUCTION);
        assert_eq!(result["evidence_anchor"], json!({ "anchor_type": "env", "anchor_value": "DEPLOY_ENV" }));
        assert_eq!(!result["value"].is_null(), shown, "{all} {opt_in} {own}: {result}");
        assert_eq!(!result["content_type"].is_null(), shown);
        assert_eq!(result.to_string().contains("production"), shown);
    }
}

fn signed(key: &str, value: &str) -> Value {
    let digits = |at: usize| u8::from_str_radix(&SIGNATURE[2 * at..2 * at + 2], 16).unwrap();
    let signature: Vec<u8> = (0..64).map(digits).collect();
    json!({
        "value": { "kind": "json", "value": value }, "error": null, "content_type": "text/plain", "evidence_ref": null,
        "evidence_hash": { "algorithm": "sha256", "value": PRODUCTION },
        "evidence_anchor": { "anchor_type": "build", "anchor_value": "42" },
        "signature": { "scheme": "ed25519", "key_id": key, "signature": signature },
    })
}

fn scenario() -> Value {
    let query = json!({ "provider_id": "ci", "predicate": "deployed", "params": { "build": 42 } });
    let predicate = json!({
        "predicate": "is_out", "query": query, "comparator": "equals", "expected": "production", "policy_tags": [],
    });
    let gate = json!({ "gate_id": "out", "requirement": { "Predicate": "is_out" } });
    let stage = json!({
        "stage_id": "main", "entry_packets": [], "gates": [gate], "advance_to": { "kind": "terminal" },
        "timeout": null, "on_timeout": "fail",
    });
    json!({
        "scenario_id": "signed", "spec_version": "v1", "default_tenant_id": null, "policies": [], "schemas": [],
        "predicates": [predicate], "stages": [stage],
    })
}

// acceptance 119 f: an MCP server whose word counts only when it is signed.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_must_sign_what_it_says() {
    let mut unsigned = signed("ci-1", "production");
    unsigned["signature"] = Value::Null;
    let mut forged = signed("ci-1", "production");
    forged["signature"]["signature"][0] = json!(0);
    let said =
        [unsigned, signed("ci-2", "production"), signed("ci-1", "staging"), forged, signed("ci-1", "production")];
    let codes = ["signature_missing", "signature_key", "evidence_hash_mismatch", "signature_invalid"];
    let answers = said
        .into_iter()
        .map(|evidence| Step::on("tools/call").result(json!({ "content": [], "structuredContent": evidence })));
    let tools = json!({ "tools": [{ "name": "evidence_query", "inputSchema": { "type": "object" } }] });
    let steps = answers.chain([Step::on("tools/list").result(tools).always()]);
    let ci = Stub::scripted(steps.collect()).await;
    let check = json!({
        "check_id": "deployed", "params_required": true,
        "params_schema": { "type": "object", "properties": { "build": { "type": "integer" } }, "required": ["build"] },
        "result_schema": { "type": "string" }, "allowed_comparators": ["equals"],
    });
    let trust = json!({ "require_signature": { "keys": { "ci-1": "keys/ci.pub" } } });
    let provider = json!({ "name": "ci", "type": "mcp", "url": ci.url(), "capabilities": "ci.json", "trust": trust });
    let world = World::on(Kind::Sqlite)
        .set("gate", json!({ "runpacks": ["packs"], "providers": [provider] }))
        .file("ci.json", &json!({ "checks": [check] }).to_string())
        .file("keys/ci.pub", KEY)
        .start();
    let agent = world.agent("a-7", "A1");
    assert!(!agent.modern().tools("/mcp").await.iter().any(|tool| tool.starts_with("ci")), "nobody is shown its tools");

    let mut wrong = scenario();
    wrong["predicates"][0]["query"]["params"] = json!({ "build": "x" });
    let told = refused(&agent, "scenario_define", json!({ "spec": wrong })).await;
    assert!(told.contains("params_invalid"), "{told}");
    done(&agent, "scenario_define", json!({ "spec": scenario() })).await;
    let config = json!({
        "tenant_id": "acme", "run_id": "r", "scenario_id": "signed", "dispatch_targets": [], "policy_tags": [],
    });
    let start =
        json!({ "scenario_id": "signed", "run_config": config, "started_at": unix(), "issue_entry_packets": false });
    done(&agent, "scenario_start", start).await;
    for number in 0..5 {
        let request = json!({
            "run_id": "r", "trigger_id": format!("t{number}"), "agent_id": "a-7", "time": unix(), "correlation_id": null,
        });
        let answer = done(&agent, "scenario_next", json!({ "scenario_id": "signed", "request": request })).await;
        let kind = if number < 4 { "hold" } else { "complete" };
        assert_eq!(answer["decision"]["outcome"]["kind"], kind, "{number}: {answer}");
    }
    let export = json!({
        "scenario_id": "signed", "run_id": "r", "output_dir": "r", "generated_at": unix(),
        "include_verification": true, "manifest_name": null,
    });
    assert_eq!(done(&agent, "runpack_export", export).await["report"]["status"], "pass");
    let log = std::fs::read_to_string(world.directory.path().join("packs/r/gate_eval_log.json")).unwrap();
    let log: Vec<Value> = serde_json::from_str(&log).unwrap();
    let told: Vec<_> = log.iter().map(|eval| eval["evidence"][0]["result"]["error"]["code"].clone()).collect();
    assert_eq!(told[..4], codes.map(|code| json!(code)));
    assert_eq!((&told[4], &log[4]["evaluation"]["status"]), (&Value::Null, &json!("True")));

    let asked: Vec<Value> = ci.seen().into_iter().map(|(_, message)| message).collect();
    let asked: Vec<&Value> = asked.iter().filter(|message| message["method"] == "tools/call").collect();
    let arguments = &asked[0]["params"]["arguments"];
    assert_eq!((asked.len(), &arguments["query"]["predicate"]), (5, &json!("deployed")), "{arguments}");
    assert_eq!(arguments["context"]["trigger_id"], "t0", "{arguments}");
    let doctor = world.cli_json(&["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    let own = checks.iter().find(|check| check["check"] == "gate evidence ci").unwrap_or_else(|| panic!("{doctor}"));
    assert_eq!(own["verdict"], "ok", "{own}");
}
