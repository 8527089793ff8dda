//! Hashes that were computed elsewhere: by the document this follows, and by an independent model of it.

use serde_json::{Value, json};

use super::{Story, example, tick};
use crate::gate::{Digest, GateTime, Spec};

fn hash(value: &Value) -> String {
    Digest::of_json(value).unwrap().hex()
}

/// The first and last four bytes of each log, in the order of the files; then the root.
fn fingerprints(story: &Story) -> Vec<String> {
    let hashes = story.pack(false).manifest.integrity.file_hashes;
    let short = |hex: String| format!("{}..{}", &hex[..8], &hex[60..]);
    hashes.iter().skip(1).map(|file| short(file.hash.hex())).collect()
}

fn assert_roots(story: &Story, seven: &str, eight: &str) {
    assert_eq!(story.root(), seven);
    let whole = story.pack(true);
    assert_eq!(whole.report.as_ref().unwrap().errors, Vec::<String>::new());
    assert_eq!(whole.report.unwrap().checked_files, 7);
    assert_eq!(whole.manifest.integrity.root_hash.hex(), eight);
}

const EMPTY: &str = "4f53cda1..b945";

// acceptance 113 b, 115 c, 119 a, 119 c
#[test]
fn single_values_hash_as_known() {
    let production = "80be2eb0944c0453a6ad339a56e1c8f39f8cc57a4e627758246ccfd274176fd8";
    assert_eq!(hash(&json!("production")), production);
    assert_eq!(hash(&json!([])), "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945");
    assert_eq!(hash(&json!(true)), "b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b");
    let report = json!({ "checked_files": 7, "errors": [], "status": "pass" });
    assert_eq!(hash(&report), "62cf8027f5db7c74963331768ce38fb9684e227460e97adab6d61f21d2cf7a5a");
    let spec = Spec::read(&example("define")["spec"]).unwrap();
    let expected = "e88a1fd1fa430f74620e0cc1a263346fc3a4365bb14e81b5d2dc0a2d0dddbbfe";
    assert_eq!(hash(&spec.written()), expected);
    let mut story = Story::seed(true);
    let packet = &story.run.logs.packets[0];
    assert_eq!(packet.envelope.content_hash.hex(), "f22ddff109d2b24e93cf9a71727b5a04246b9ab28d3d0f2dcce2d6e499623a6e");
    assert_eq!(
        packet.receipts[0].receipt_hash.hex(),
        "274e511010e3a4d2b3fb3cc32a65dae3c682b76eb5d506465e18118ec9f0bad5"
    );
    let record = story.submit(&example("submit")["request"]).unwrap();
    assert_eq!(
        record["record"]["content_hash"]["value"],
        "18f9ba2c589d2d419418149e4255f4bf9556ea88fc2fadbd25f8e9513db3b20f"
    );
    story.next(&example("next")["request"]).unwrap();
    assert_eq!(story.run.logs.gate_evals[0].evidence[0].result.evidence_hash.unwrap().hex(), production);
}

// acceptance 113 b: neither the order of keys nor white space is hashed.
#[test]
fn the_order_of_keys_does_not_matter() {
    fn turned(value: &Value) -> Value {
        match value {
            Value::Object(map) => map.iter().rev().map(|(key, value)| (key.clone(), turned(value))).collect(),
            Value::Array(all) => all.iter().map(turned).collect(),
            other => other.clone(),
        }
    }
    let spec = &example("define")["spec"];
    let other = turned(spec);
    assert_ne!(spec.to_string(), other.to_string());
    let hashed = |value: &Value| hash(&Spec::read(value).unwrap().written());
    assert_eq!(hashed(spec), hashed(&other));
    let read_back = Spec::from_text(&Spec::read(spec).unwrap().text()).unwrap();
    assert_eq!(hash(&read_back.written()), hashed(spec));
}

#[test]
fn run_a_starts_without_packets_and_completes() {
    let mut story = Story::seed(false);
    story.next(&example("next")["request"]).unwrap();
    let expected = ["ea915c9a..06e0", "b6e315be..a17e", "6bab359f..2319", EMPTY, EMPTY, "34dbbaa6..c9ef"];
    assert_eq!(fingerprints(&story), expected);
    let call = &story.run.logs.tool_calls[0];
    assert_eq!(call.request_hash.hex(), "f7b7324b9d7ba303c02007aa98df9379fd23b360d2fae6b5095e4b36e65ec48b");
    assert_eq!(call.response_hash.hex(), "71f5509154d4edbda01993bba0b391d717e79cf1346022a52c0ba73c7c08d673");
    assert_roots(
        &story,
        "9865b98889623711377c9a395fd162a07a8003afa284b6d3d3fd3701d86ee2be",
        "463a67a3446ad90b37e786c6efdac0af807c79bb41fc7a60f94cd040798dc370",
    );
}

#[test]
fn run_b_starts_with_packets_and_completes() {
    let mut story = Story::seed(true);
    story.next(&example("next")["request"]).unwrap();
    let expected = ["ac314010..0aed", "b6e315be..a17e", "be195c8a..6d85", "b0ce1f49..4299", EMPTY, "28a0fc5b..bd2e"];
    assert_eq!(fingerprints(&story), expected);
    let call = &story.run.logs.tool_calls[0];
    assert_eq!(call.response_hash.hex(), "d74f7c8b58c6d2cec3ac272a94a15ccc9b306b1d45bb0d289599d2b04f2a029b");
    assert_roots(
        &story,
        "87e508503f8571ff14bb0482f3097363fae2a85ee5fc30793f58d57d323b0c50",
        "f4fb96d86b98ce5d34c6cfdd472a83d82456a564bebe006eaad82c1ff997bfe0",
    );
}

#[test]
fn run_c_submits_before_it_asks() {
    let mut story = Story::seed(true);
    story.submit(&example("submit")["request"]).unwrap();
    story.next(&example("next")["request"]).unwrap();
    let expected =
        ["ac314010..0aed", "b6e315be..a17e", "be195c8a..6d85", "b0ce1f49..4299", "fbde13b1..b125", "3ff81daf..34b2"];
    assert_eq!(fingerprints(&story), expected);
    let call = &story.run.logs.tool_calls[0];
    assert_eq!(call.request_hash.hex(), "fa7b540a4894ce9b0d497c6cf56325cb99e3c9f8f149ac2ea0e371cf0369f85f");
    assert_eq!(call.response_hash.hex(), "ba0c1a780dda00dc4b66fbe9e3462857b62a2d8204e7e539a5d9bc0898f4e7d4");
    assert_roots(
        &story,
        "accbd0fc17dc4d59ad4b11ce0fb0ce48fab2345b13b0cc28838fae98aaf82113",
        "6e756bfd15cd20526bb4983bc18feb734d66a19d9d5ddaf5878637cbfd16e84d",
    );
}

#[test]
fn run_d_is_only_started() {
    let story = Story::seed(false);
    assert_eq!(fingerprints(&story), [EMPTY; 6]);
    assert_roots(
        &story,
        "4a5da86a12a19fa6e0c9c9de8d469b1653ca30f07e08be3caea6c9f385e14a6b",
        "43cf750d627158c11e648755efd7f37fe169a00fcf907287074f1deb24ac5040",
    );
}

// acceptance 117 b, 118 d
#[test]
fn run_e_holds_while_the_variable_is_unset() {
    let mut story = Story::seed(false);
    story.env.clear();
    story.next(&example("next")["request"]).unwrap();
    let expected = ["ea915c9a..06e0", "2aa6144e..f943", "0769db10..27d2", EMPTY, EMPTY, "7230f903..01a3"];
    assert_eq!(fingerprints(&story), expected);
    assert_roots(
        &story,
        "a752ab8c1c444b54dae4d4868bca7ee8f980979ea2993a226089856fbc34e01b",
        "8c379569979f7a84c0276232cb1d4f7a41c1089b4e385f6e900855ae35bdea03",
    );
}

/// Counted time, a tree, absent params, null expected, a timeout with its flag, bytes, two targets, no gates.
pub fn crossing() -> Story {
    let packet = json!({
        "packet_id": "p1", "schema_id": "s1", "content_type": "application/octet-stream",
        "visibility_labels": ["public"], "policy_tags": ["t"], "expiry": null,
        "payload": { "kind": "bytes", "bytes": [1, 2, 255] },
    });
    let spec = json!({
        "scenario_id": "two", "spec_version": "v1", "default_tenant_id": null, "policies": [], "schemas": [],
        "predicates": [
            { "predicate": "late", "comparator": "equals", "expected": true, "policy_tags": [],
              "query": { "provider_id": "time", "predicate": "after", "params": { "timestamp": 100 } } },
            { "predicate": "b_now", "comparator": "exists", "policy_tags": [],
              "query": { "provider_id": "time", "predicate": "now" } },
        ],
        "stages": [
            { "stage_id": "wait", "entry_packets": [],
              "gates": [{ "gate_id": "g1",
                          "requirement": { "And": [{ "Predicate": "late" }, { "Not": { "Predicate": "b_now" } }] } }],
              "advance_to": { "kind": "linear" }, "timeout": { "timeout_ms": 10, "policy_tags": [] },
              "on_timeout": "advance_with_flag" },
            { "stage_id": "open", "entry_packets": [packet], "gates": [], "advance_to": { "kind": "terminal" },
              "timeout": null, "on_timeout": "fail" },
        ],
    });
    let config = json!({
        "tenant_id": "t", "run_id": "r2", "scenario_id": "two", "policy_tags": [],
        "dispatch_targets": [{ "kind": "channel", "channel": "ops" },
                             { "kind": "external", "system": "x", "target": "y" }],
    });
    let mut story = Story::begin(&spec, &config, tick(1), false);
    let event = |id: &str, kind: &str, at: u64, correlation: Value| {
        json!({ "trigger_id": id, "run_id": "r2", "kind": kind, "time": { "kind": "logical", "value": at },
                "source_id": "s", "payload_ref": null, "correlation_id": correlation })
    };
    story.trigger(&event("t1", "tick", 5, Value::Null)).unwrap();
    story.trigger(&event("t2", "tick", 11, json!("c-1"))).unwrap();
    story.trigger(&event("t3", "external_event", 12, Value::Null)).unwrap();
    story
}

// acceptance 118 f, 118 g
#[test]
fn run_f_crosses_most_of_the_engine() {
    let story = crossing();
    let spec_hash = story.run.head.spec_hash.hex();
    assert_eq!(spec_hash, "be2117baf3ca8eed3adc6de5bc0970dc542bde0b739af5339fbd692c1c4056e4");
    let packet = &story.run.logs.packets[0];
    assert_eq!(packet.envelope.content_hash.hex(), "0526d0e18ea19dfaad9d79166bec1e18d6221ef6b1830385fe9bf67022ed5f96");
    let envelope = Digest::of_json(&packet.envelope).unwrap().hex();
    assert_eq!(envelope, "fcb6ee7ae686871dd9bfa2206b646ae133f7084330ca535bd21bd26db014a28b");
    let expected = ["499d268e..fcd8", "40320ef5..f604", "f612da05..5e8b", "386d08ef..e0af", EMPTY, "7acb5013..9fb3"];
    assert_eq!(fingerprints(&story), expected);
    assert_roots(
        &story,
        "299bdf2814e6eb4a9536015fd623d1b5984e15b8eee175716ad42c964e17912f",
        "7555c55885b0f3c19f803cca0dd5bd95e4c6a535e6d06825bd180768e23bc57a",
    );
    assert_eq!(story.run.head.stage_entered_at, GateTime::Logical(11));
}
