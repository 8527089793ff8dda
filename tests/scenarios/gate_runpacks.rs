//! Packs of runs: what an export writes, who can check it, and what no change gets past.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use portreeve_tests::environment::{installed, root};
use portreeve_tests::{Agent, Kind, World};
use serde_json::{Value, json};

use super::gate::{done, example, refused, world_where};

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect()
}

/// The document's own call, into a directory of this story.
fn export(world: &World, directory: &str) -> Value {
    let mut export = example("export");
    export["output_dir"] = json!(world.directory.path().join("packs").join(directory));
    export["include_verification"] = json!(true);
    export
}

async fn completed() -> (World, Agent) {
    let overrides = json!({ "DEPLOY_ENV": "production" });
    let (world, agent) = world_where(Kind::Sqlite, &overrides, &json!({ "engine": "permit_all" }));
    for (tool, input) in [
        ("scenario_define", "define"),
        ("scenario_start", "start"),
        ("scenario_submit", "submit"),
        ("scenario_next", "next"),
    ] {
        done(&agent, tool, example(input)).await;
    }
    (world, agent)
}

// acceptance 113 a, 120 a-d: the document's export and verification, its keys and names, and another's arithmetic.
#[tokio::test]
async fn an_export_is_what_the_document_says() {
    let (world, agent) = completed().await;
    let exported = done(&agent, "runpack_export", export(&world, "run-0001")).await;
    let directory = world.directory.path().join("packs/run-0001");
    let manifest: Value = serde_json::from_slice(&std::fs::read(directory.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest, exported["manifest"]);
    let mut keys: Vec<&str> = manifest.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let expected =
        "artifacts generated_at hash_algorithm integrity manifest_version run_id scenario_id spec_hash verifier_mode";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(manifest["generated_at"], example("export")["generated_at"]);
    assert_eq!(exported["report"], json!({ "status": "pass", "checked_files": 7, "errors": [] }));
    let names: Vec<String> = files(&directory).into_keys().collect();
    let logs = "decision_log gate_eval_log manifest packet_log scenario_spec submission_log tool_transcript trigger_log verifier_report";
    assert_eq!(names.join(" ").replace(".json", ""), logs);

    let script = root().join("tests/clients/recompute.py");
    let output = Command::new(installed("python/mcp/bin/python")).arg(script).arg(&directory).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(manifest["integrity"]["root_hash"]["value"], said, "{}", String::from_utf8_lossy(&output.stderr));

    let mut checked = example("verify");
    checked["runpack_dir"] = json!(directory);
    assert_eq!(done(&agent, "runpack_verify", checked).await["status"], "pass");
    done(&agent, "runpack_export", export(&world, "again")).await;
    assert_eq!(files(&directory), files(&world.directory.path().join("packs/again")), "byte for byte");
    let mut named = export(&world, "named");
    named["manifest_name"] = json!("proof.json");
    named["include_verification"] = json!(false);
    assert_eq!(done(&agent, "runpack_export", named).await["report"], Value::Null);
    let named = files(&world.directory.path().join("packs/named"));
    assert!(named.contains_key("proof.json") && !named.contains_key("verifier_report.json"), "{:?}", named.keys());
}

// acceptance 120 e-f: at the command line, with nothing but the files.
#[tokio::test]
async fn anybody_can_check_a_pack() {
    let (world, agent) = completed().await;
    let exported = done(&agent, "runpack_export", export(&world, "run-0001")).await;
    let own = world.directory.path().join("packs/run-0001");
    let golden = root().join("gateway/core/tests/data/runpacks/golden_time_after_pass");
    let verify = |directory: &Path, options: &[&str]| {
        let directory = directory.display().to_string();
        let output = world.cli(&[&["runpack", "verify", &directory, "--json"], options].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output.status.code(), report)
    };
    for pack in [&own, &golden] {
        assert_eq!(verify(pack, &[]), (Some(0), json!({ "status": "pass", "checked_files": 8, "errors": [] })));
    }
    let expected = exported["manifest"]["integrity"]["root_hash"]["value"].as_str().unwrap();
    assert_eq!(verify(&own, &["--root", expected]).0, Some(0));
    let (code, report) = verify(&golden, &["--root", expected]);
    assert_eq!((code, &report["errors"]), (Some(1), &json!(["root hash is not the expected one"])));
    let (code, report) = verify(&own, &["--manifest-sha256", expected]);
    assert_eq!((code, &report["errors"]), (Some(1), &json!(["manifest is not the expected one"])));
    assert_eq!(verify(&own, &["--root", "abc"]).0, Some(2), "that is no hash");

    let whole = files(&own);
    type Change = fn(&Path);
    let changes: [(&str, Change, &str); 5] = [
        ("flipped", |at| flip(&at.join("packet_log.json")), "hash mismatch for packet_log.json"),
        (
            "missing",
            |at| std::fs::remove_file(at.join("trigger_log.json")).unwrap(),
            "artifact read failed for trigger_log.json",
        ),
        ("added", |at| std::fs::write(at.join("notes.txt"), "x").unwrap(), "unlisted file notes.txt"),
        (
            "escaping",
            |at| manifest(at, "\"path\":\"packet_log.json\"", "\"path\":\"../packet_log.json\""),
            "invalid path ../packet_log.json",
        ),
        (
            "version",
            |at| manifest(at, "\"manifest_version\":\"v1\"", "\"manifest_version\":\"v9\""),
            "unsupported manifest version: v9",
        ),
    ];
    for (name, change, told) in changes {
        let copy = world.directory.path().join(name);
        std::fs::create_dir(&copy).unwrap();
        for (file, bytes) in &whole {
            std::fs::write(copy.join(file), bytes).unwrap();
        }
        change(&copy);
        let (code, report) = verify(&copy, &[]);
        let errors = report["errors"].to_string();
        assert!(code == Some(1) && errors.contains(told), "{name}: {errors}");
    }
}

fn flip(file: &Path) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[9] ^= 1;
    std::fs::write(file, bytes).unwrap();
}

fn manifest(directory: &Path, from: &str, to: &str) {
    let file = directory.join("manifest.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(file, text.replace(from, to)).unwrap();
}

// acceptance 120 g: what is too large is refused whole, and the run is as it was.
#[tokio::test]
async fn what_is_too_large_leaves_no_mark() {
    let gate = json!({
        "runpacks": ["packs"],
        "providers": [{ "name": "json", "config": { "root": "evidence", "max_bytes": "4MiB" } }],
    });
    let large = json!({ "text": "x".repeat(1_200_000) }).to_string();
    let world = World::on(Kind::Sqlite).set("gate", gate).file("evidence/large.json", &large).start();
    let agent = world.agent("a-7", "A1");
    let mut define = example("define");
    let query = json!({ "provider_id": "json", "predicate": "path", "params": { "file": "large.json" } });
    let predicate = json!({
        "predicate": "there", "query": query, "comparator": "exists", "expected": null, "policy_tags": [],
    });
    define["spec"]["predicates"] = json!([predicate]);
    define["spec"]["stages"][0]["gates"] = json!([{ "gate_id": "g", "requirement": { "Predicate": "there" } }]);
    done(&agent, "scenario_define", define).await;
    let mut start = example("start");
    start["run_config"]["tenant_id"] = json!("acme");
    done(&agent, "scenario_start", start).await;
    let events = world.database.count("SELECT count(*) FROM run_events");
    let told = refused(&agent, "scenario_next", example("next")).await;
    assert!(told.starts_with("too_large: evidence"), "{told}");
    let mut submit = example("submit");
    submit["request"]["payload"] = json!({ "kind": "json", "value": "x".repeat(2_200_000) });
    let told = refused(&agent, "scenario_submit", submit).await;
    assert!(told.starts_with("too_large: "), "{told}");
    assert_eq!(world.database.count("SELECT count(*) FROM run_events"), events);
}
