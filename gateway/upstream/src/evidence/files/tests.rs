#![allow(clippy::unwrap_used)]

use std::fs;

use super::*;
use crate::evidence::testing::{asked, code, contracted, value};

struct Place {
    _directory: tempfile::TempDir,
    files: Files,
}

fn place(max_bytes: u64, allow_yaml: bool) -> Place {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("evidence");
    fs::create_dir_all(root.join("ci")).unwrap();
    fs::write(directory.path().join("secret.json"), "{}").unwrap();
    for (name, text) in [
        ("ci/main.json", r#"{"tests":{"failed":0,"passed":12},"jobs":[{"n":1},{"n":2}]}"#),
        ("ci/main.yaml", "tests:\n  failed: 0\n"),
        ("broken.json", "{\"canary\": "),
        ("broken.yml", "a: [1"),
        ("infinite.yaml", "a: .inf\n"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    let settings = FileSettings { root, root_id: "evidence-root".into(), max_bytes, allow_yaml };
    Place { _directory: directory, files: Files::new(settings, Switches::default()).unwrap() }
}

fn usual() -> Place {
    place(FileSettings::MAX_BYTES, true)
}

// acceptance 119 e: the value, its anchor and its reference.
#[tokio::test]
async fn a_value_out_of_a_file() {
    let place = usual();
    let params = json!({ "file": "ci/main.json", "jsonpath": "$.tests.failed" });
    let result = asked(&place.files, "path", Some(params)).await;
    let anchor = result.evidence_anchor.clone().unwrap();
    assert_eq!(anchor.anchor_type, "file_path_rooted");
    assert_eq!(anchor.anchor_value, r#"{"path":"ci/main.json","root_id":"evidence-root"}"#);
    assert_eq!(result.evidence_ref.clone().unwrap().uri, "dg+file://evidence-root/ci/main.json");
    assert_eq!((value(&result), result.content_type.as_deref()), (Some(json!(0)), Some("application/json")));
    for (params, expected) in [
        (json!({ "file": "ci/main.json", "jsonpath": "$.jobs[*].n" }), json!([1, 2])),
        (json!({ "file": "ci/main.yaml" }), json!({ "tests": { "failed": 0 } })),
        (json!({ "file": "ci/main.yaml", "jsonpath": null }), json!({ "tests": { "failed": 0 } })),
    ] {
        assert_eq!(value(&asked(&place.files, "path", Some(params.clone())).await), Some(expected), "{params}");
    }
}

// acceptance 119 e: every way to go wrong has its code, and none of them a value.
#[tokio::test]
async fn every_failure_has_its_code() {
    let usual = usual();
    for (file, jsonpath, expected) in [
        ("/etc/hostname", None, "absolute_path_forbidden"),
        ("../secret.json", None, "path_outside_root"),
        ("ci/../../secret.json", None, "path_outside_root"),
        ("ci\\..\\..\\secret.json", None, "path_outside_root"),
        ("ci/missing.json", None, "file_not_found"),
        ("ci", None, "file_not_found"),
        ("ci//main.json", None, "file_not_found"),
        ("broken.json", None, "invalid_json"),
        ("broken.yml", None, "invalid_yaml"),
        ("infinite.yaml", None, "invalid_yaml"),
        ("ci/main.json", Some("tests"), "invalid_jsonpath"),
        ("ci/main.json", Some("$.other"), "jsonpath_not_found"),
    ] {
        let result = asked(&usual.files, "path", Some(json!({ "file": file, "jsonpath": jsonpath }))).await;
        assert_eq!((code(&result), value(&result)), (expected, None), "{file}");
        assert!(result.evidence_anchor.is_some() && !result.error.unwrap().message.contains("canary"), "{file}");
    }
    let yaml = asked(&place(1024, false).files, "path", Some(json!({ "file": "ci/main.yaml" }))).await;
    assert_eq!(code(&yaml), "yaml_disabled");
    let large = asked(&place(8, true).files, "path", Some(json!({ "file": "ci/main.json" }))).await;
    assert_eq!(code(&large), "size_limit_exceeded");
}

// acceptance 114
#[test]
fn params_are_held_against_the_contract() {
    let place = usual();
    for (params, fits) in [
        (json!({ "file": "a.json" }), true),
        (json!({ "file": "a.json", "jsonpath": "$.a" }), true),
        (json!({ "file": "a.json", "jsonpath": "a" }), false),
        (json!({ "file": "a.json", "jsonpath": 1 }), false),
        (json!({ "file": "" }), false),
        (json!({ "jsonpath": "$" }), false),
        (json!({ "file": "a.json", "path": "$" }), false),
    ] {
        assert_eq!(contracted(&place.files, "path", &params).is_ok(), fits, "{params}");
    }
    let settings = FileSettings { root: "no/such/root".into(), root_id: "r".into(), max_bytes: 1, allow_yaml: false };
    assert!(Files::new(settings, Switches::default()).err().unwrap().contains("no/such/root"));
}
