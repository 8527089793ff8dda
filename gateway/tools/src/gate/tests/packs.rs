//! Exported and checked.

use serde_json::{Value, json};

use super::super::fakes::{World, agent, example, export};
use super::keys;

fn check(directory: &str) -> Value {
    json!({ "runpack_dir": directory, "manifest_path": "manifest.json" })
}

// acceptance 120 a, 120 c, 120 d
#[tokio::test]
async fn an_export_is_the_same_whenever_it_is_made() {
    let world = World::new();
    world.started(true).await;
    world.call("scenario_next", example("next")).await.unwrap();
    let plain = world.call("runpack_export", export("packs/one")).await.unwrap();
    let expected = [
        "artifacts",
        "generated_at",
        "hash_algorithm",
        "integrity",
        "manifest_version",
        "run_id",
        "scenario_id",
        "spec_hash",
        "verifier_mode",
    ];
    assert_eq!((keys(&plain["manifest"]), &plain["report"]), (expected.to_vec(), &Value::Null));
    world.call("runpack_export", export("packs/two")).await.unwrap();
    let (mut one, mut two) = (None, None);
    world.shelves.change("packs/one", |files| one = Some(files.clone()));
    world.shelves.change("packs/two", |files| two = Some(files.clone()));
    assert_eq!(one, two);
    assert_eq!(one.unwrap().len(), 8);

    let mut request = export("packs/three");
    request["include_verification"] = json!(true);
    request["manifest_name"] = json!("index.json");
    let checked = world.call("runpack_export", request).await.unwrap();
    assert_eq!(checked["report"], json!({ "status": "pass", "checked_files": 7, "errors": [] }));
    let answer = world
        .call("runpack_verify", json!({ "runpack_dir": "packs/three", "manifest_path": "index.json" }))
        .await
        .unwrap();
    let report = json!({ "status": "pass", "checked_files": 8, "errors": [] });
    assert_eq!(answer, json!({ "status": "pass", "report": report }));
}

// acceptance 120 f
#[tokio::test]
async fn a_changed_byte_is_found() {
    let world = World::new();
    world.started(true).await;
    world.call("runpack_export", export("packs/one")).await.unwrap();
    world.shelves.change("packs/one", |files| files.get_mut("packet_log.json").unwrap()[9] ^= 1);
    let answer = world.call("runpack_verify", check("packs/one")).await.unwrap();
    assert_eq!(answer["status"], "fail");
    let errors = answer["report"]["errors"].to_string();
    assert!(errors.contains("hash mismatch for packet_log.json"), "{errors}");
}

// acceptance 120 h: only below the roots, and only where no other tenant is.
#[tokio::test]
async fn directories_are_their_tenants() {
    let world = World::new();
    world.started(true).await;
    for outside in ["/etc", "../up", "packs/../../up", "", "/roots/"] {
        let told = world.call("runpack_export", export(outside)).await.unwrap_err();
        assert!(told.starts_with("forbidden_path: output_dir") || told.starts_with("Invalid output_dir"), "{told}");
    }
    for name in ["a/b.json", "decision_log.json", "verifier_report.json", ".hidden", "..", ""] {
        let mut request = export("packs/one");
        request["manifest_name"] = json!(name);
        let told = world.call("runpack_export", request).await.unwrap_err();
        assert!(told.starts_with("invalid: manifest_name: "), "{name}: {told}");
    }
    world.call("runpack_export", export("packs/one")).await.unwrap();
    // The other tenant's own run of the same name, into what is not its own.
    let other = agent(2);
    world.call_as(&other, "scenario_define", example("define")).await.unwrap();
    let mut start = example("start");
    start["run_config"]["tenant_id"] = json!("tenant-002");
    world.call_as(&other, "scenario_start", start).await.unwrap();
    for taken in ["packs/one", "packs/one/below"] {
        let told = world.call_as(&other, "runpack_export", export(taken)).await.unwrap_err();
        assert_eq!(told, "not_found: output_dir names no directory");
    }
    let told = world.call_as(&other, "runpack_verify", check("packs/one")).await.unwrap_err();
    assert_eq!(told, "not_found: runpack_dir names no directory");
    let told = world.call_as(&other, "runpack_verify", check("packs/none")).await.unwrap_err();
    assert_eq!(told, "not_found: runpack_dir names no directory");
    world.shelves.change("packs", |_| {});
    let through = json!({ "runpack_dir": "packs", "manifest_path": "one/manifest.json" });
    let told = world.call_as(&other, "runpack_verify", through).await.unwrap_err();
    assert_eq!(told, "not_found: runpack_dir names no directory");
    assert_eq!(world.call("runpack_verify", check("packs/one")).await.unwrap()["status"], "pass");
    world.call_as(&other, "runpack_export", export("packs/two")).await.unwrap();
}
