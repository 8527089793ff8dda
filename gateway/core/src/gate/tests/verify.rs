//! What a verifier finds, in which words; and what an export writes.

use serde_json::{Value, json};

use super::flips::golden_pack;
use super::{Story, example};
use crate::gate::Digest;
use crate::gate::digest::canonical;
use crate::gate::shelf::{MemoryShelf, PackPath};
use crate::gate::verify::{Expected, Report, ReportStatus, verify, verify_against};

fn completed() -> Story {
    let mut story = Story::seed(true);
    story.submit(&example("submit")["request"]).unwrap();
    story.next(&example("next")["request"]).unwrap();
    story
}

fn own() -> MemoryShelf {
    completed().pack(true).shelf("manifest.json")
}

fn manifest(pack: &MemoryShelf) -> Value {
    serde_json::from_slice(&pack.0["manifest.json"]).unwrap()
}

fn with_manifest(change: impl FnOnce(&mut Value)) -> MemoryShelf {
    let mut pack = own();
    let mut manifest = manifest(&pack);
    change(&mut manifest);
    pack.0.insert("manifest.json".into(), canonical(&manifest).unwrap());
    pack
}

/// A pack forged with care: a file is changed and every hash that follows from it made good.
fn forged(name: &str, change: impl FnOnce(&mut Value)) -> MemoryShelf {
    let mut pack = own();
    let path = format!("{name}.json");
    let mut content: Value = serde_json::from_slice(&pack.0[&path]).unwrap();
    change(&mut content);
    let bytes = canonical(&content).unwrap();
    let hash = json!(Digest::of_bytes(&bytes));
    pack.0.insert(path.clone(), bytes);
    let mut manifest = manifest(&pack);
    for list in ["/artifacts", "/integrity/file_hashes"] {
        for entry in manifest.pointer_mut(list).unwrap().as_array_mut().unwrap() {
            if entry["path"] == path.as_str() {
                entry["hash"] = hash.clone();
            }
        }
    }
    manifest["integrity"]["root_hash"] = json!(Digest::of_json(&manifest["integrity"]["file_hashes"]).unwrap());
    if name == "scenario_spec" {
        manifest["spec_hash"] = hash;
    }
    pack.0.insert("manifest.json".into(), canonical(&manifest).unwrap());
    pack
}

fn errors(pack: &MemoryShelf) -> Vec<String> {
    let report = verify(pack, "manifest.json");
    assert_eq!(report.status == ReportStatus::Fail, !report.errors.is_empty());
    report.errors
}

// acceptance 120 a, 120 c, 120 d
#[test]
fn an_export_is_the_same_every_time() {
    let story = completed();
    let (one, two) = (story.pack(true), story.pack(true));
    assert_eq!(one, two);
    let names: Vec<_> = one.files.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "scenario_spec.json",
        "trigger_log.json",
        "gate_eval_log.json",
        "decision_log.json",
        "packet_log.json",
        "submission_log.json",
        "tool_transcript.json",
        "verifier_report.json",
    ];
    assert_eq!(names, expected);
    let without = story.pack(false);
    assert_eq!((without.files.len(), &without.report), (7, &None));
    let manifest: Value = serde_json::from_slice(&without.manifest_bytes).unwrap();
    let mut keys: Vec<_> = manifest.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
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
    assert_eq!(keys, expected);
    assert_eq!(manifest["generated_at"], json!({ "kind": "unix_millis", "value": 1_710_000_000_000_i64 }));
    let decisions = &manifest["artifacts"][3];
    let hash = &manifest["integrity"]["file_hashes"][3]["hash"];
    assert_eq!(
        *decisions,
        json!({ "artifact_id": "decision_log", "content_type": "application/json", "hash": hash,
                "kind": "decision_log", "path": "decision_log.json", "required": true })
    );
    assert_eq!(canonical(&serde_json::to_value(&without.manifest).unwrap()).unwrap(), without.manifest_bytes);
}

// acceptance 120 a: under another name too.
#[test]
fn the_manifest_may_have_another_name() {
    let pack = completed().pack(true);
    let report = verify(&pack.shelf("proof.json"), "proof.json");
    assert_eq!((report.status, report.checked_files), (ReportStatus::Pass, 8));
    let wrong = verify(&pack.shelf("proof.json"), "manifest.json");
    assert_eq!(wrong.errors, ["manifest read failed for manifest.json: no such file"]);
    assert_eq!(verify(&pack.shelf("proof.json"), "../proof.json").errors, ["invalid path ../proof.json"]);
}

// acceptance 120 d, 120 e
#[test]
fn own_and_foreign_packs_pass() {
    let sound = |checked_files| Report { status: ReportStatus::Pass, checked_files, errors: vec![] };
    assert_eq!(completed().pack(true).report, Some(sound(7)));
    assert_eq!(verify(&own(), "manifest.json"), sound(8));
    assert_eq!(verify(&golden_pack(), "manifest.json"), sound(8));
    for story in [Story::seed(false), Story::seed(true), super::hashes::crossing()] {
        assert_eq!(verify(&story.pack(false).shelf("m.json"), "m.json"), sound(7));
    }
}

/// What no pack can say of itself: that it is the one that was made then. A whole other pack, or another time of making, is
/// caught by whoever kept the hash.
#[test]
fn a_pack_is_held_against_what_was_written_down() {
    let pack = completed().pack(true);
    let shelf = pack.shelf("manifest.json");
    let (root, manifest) = (pack.manifest.integrity.root_hash, Digest::of_bytes(&pack.manifest_bytes));
    let own = Expected { root: Some(root), manifest: Some(manifest) };
    assert_eq!(verify_against(&shelf, "manifest.json", own).status, ReportStatus::Pass);
    let later = with_manifest(|manifest| manifest["generated_at"]["value"] = json!(1_710_000_000_001_i64));
    assert_eq!(verify_against(&later, "manifest.json", own).errors, ["manifest is not the expected one"]);
    let other = Story::seed(true).pack(true).shelf("manifest.json");
    let told = verify_against(&other, "manifest.json", Expected { root: Some(root), manifest: None }).errors;
    assert_eq!(told, ["root hash is not the expected one"]);
}

// acceptance 120 f
#[test]
fn tampering_is_told_in_words() {
    let mut flipped = own();
    flipped.0.get_mut("decision_log.json").unwrap()[3] ^= 1;
    assert!(errors(&flipped).contains(&"hash mismatch for decision_log.json".into()));
    let mut missing = own();
    missing.0.remove("packet_log.json");
    assert_eq!(errors(&missing), ["artifact read failed for packet_log.json: no such file"]);
    let mut extra = own();
    extra.0.insert("notes.txt".into(), vec![]);
    assert_eq!(errors(&extra), ["unlisted file notes.txt"]);
    let lenient = with_manifest(|manifest| manifest["verifier_mode"] = json!("offline_with_fetch"));
    let mut lenient_extra = lenient.clone();
    lenient_extra.0.insert("notes.txt".into(), vec![]);
    assert!(errors(&lenient).is_empty() && errors(&lenient_extra).is_empty());
    let other = json!(Digest::of_bytes(b"other"));
    let root = with_manifest(|manifest| manifest["integrity"]["root_hash"] = other.clone());
    assert_eq!(errors(&root), ["root hash mismatch"]);
    let artifact = with_manifest(|manifest| manifest["artifacts"][2]["hash"] = other.clone());
    assert_eq!(errors(&artifact), ["artifact hash differs from file hash for gate_eval_log.json"]);
    let spec = with_manifest(|manifest| manifest["spec_hash"] = other.clone());
    assert_eq!(errors(&spec), ["spec_hash is not that of the scenario_spec artifact"]);
    let version = with_manifest(|manifest| manifest["manifest_version"] = json!("v2"));
    let report = verify(&version, "manifest.json");
    assert_eq!((report.checked_files, report.errors), (0, vec!["unsupported manifest version: v2".to_owned()]));
    let escape = with_manifest(|manifest| {
        manifest["artifacts"][1]["path"] = json!("../trigger_log.json");
        manifest["integrity"]["file_hashes"][1]["path"] = json!("../trigger_log.json");
    });
    assert!(errors(&escape).contains(&"invalid path ../trigger_log.json".into()));
    let mut spaced = own();
    spaced.0.get_mut("manifest.json").unwrap().push(b'\n');
    assert_eq!(errors(&spaced), ["manifest is not canonical JSON"]);
    let mut noise = own();
    noise.0.insert("manifest.json".into(), b"no".to_vec());
    assert!(errors(&noise)[0].starts_with("manifest is not JSON"));
    let gone = with_manifest(|manifest| {
        manifest["artifacts"].as_array_mut().unwrap().remove(4);
    });
    let expected = ["file hash without artifact: packet_log.json", "required artifact missing: packet_log"];
    assert_eq!(errors(&gone), expected);
}

// acceptance 120 f: two decisions for one trigger, with every hash made good again.
#[test]
fn a_forger_must_also_keep_the_logs_in_step() {
    for (name, change, expected) in [
        (
            "decision_log",
            (|log| {
                let mut again = log[1].clone();
                again["seq"] = json!(2);
                again["decision_id"] = json!("decision-0003");
                log.as_array_mut().unwrap().push(again);
            }) as fn(&mut Value),
            "two decisions for trigger trigger-0001",
        ),
        ("decision_log", |log| log[1]["trigger_id"] = json!("other"), "decision_log[1] names no trigger of the log"),
        ("decision_log", |log| log[1]["seq"] = json!(5), "decision_log is not numbered without gaps"),
        (
            "decision_log",
            |log| log[1]["decision_id"] = json!("decision-0009"),
            "decision_log[1] has the wrong decision_id",
        ),
        ("decision_log", |log| log[1] = json!("complete"), "decision_log[1] is not a decision"),
        ("decision_log", |log| *log = json!({}), "decision_log is not a list"),
        ("trigger_log", |log| log[1]["event"]["run_id"] = json!("run-2"), "trigger_log[1] is of another run"),
        ("trigger_log", |log| log[0]["seq"] = json!(7), "trigger_log is not numbered without gaps"),
        ("trigger_log", |log| log[0] = log[1].clone(), "trigger_log[1] repeats trigger trigger-0001"),
        ("gate_eval_log", |log| log[0]["trigger_id"] = json!("x"), "gate_eval_log[0] names no trigger of the log"),
        ("packet_log", |log| log[0]["decision_id"] = json!("x"), "packet_log[0] names no decision of the log"),
        ("packet_log", |log| log[0]["envelope"]["run_id"] = json!("x"), "packet_log[0] is of another run"),
        ("submission_log", |log| log[0]["run_id"] = json!("x"), "submission_log[0] is of another run"),
        ("tool_transcript", |log| *log = json!(null), "tool_transcript is not a list"),
        (
            "scenario_spec",
            |spec| spec["scenario_id"] = json!("x"),
            "scenario_id is not that of the scenario_spec artifact",
        ),
    ] {
        let told = errors(&forged(name, change));
        assert!(told.contains(&expected.into()), "{expected}: {told:?}");
        assert!(!told.iter().any(|error| error.contains("hash mismatch")), "{told:?}");
    }
}

#[test]
fn paths_stay_below_the_pack() {
    let long = format!("{}/x", "a".repeat(256));
    let whole = ["a"; 2049].join("/");
    for wrong in ["", "/etc/passwd", "..", "a/../b", "a//b", "./a", "a/.", "a\\b", "a\0b", "C:x", "a/", &long, &whole] {
        assert!(wrong.parse::<PackPath>().is_err(), "{wrong:?}");
    }
    for fine in ["a", "a/b.json", "..a", "a..b", ".hidden"] {
        assert!(fine.parse::<PackPath>().is_ok(), "{fine:?}");
    }
}
