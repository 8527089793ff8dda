//! What is believed, what is handed out and what is shown.

use serde_json::{Value, json};

use super::{Story, example};
use crate::gate::Tri::{False, Unknown};
use crate::gate::dispatch::DispatchRules;
use crate::gate::evidence::{EvidenceResult, Signature};
use crate::gate::policies::{AnchorRules, Disclosure, Keyring, Trust};
use crate::gate::records::{Envelope, Target};
use crate::gate::verify::ReportStatus;
use crate::gate::{Digest, Refusal, compare};

/// Knows one key, and the one signature of one message by it.
struct OneSignature;

const MESSAGE: &str =
    r#"{"algorithm":"sha256","value":"80be2eb0944c0453a6ad339a56e1c8f39f8cc57a4e627758246ccfd274176fd8"}"#;

impl Keyring for OneSignature {
    fn verifies(&self, key_id: &str, message: &[u8], signature: &[u8]) -> Option<bool> {
        (key_id == "ci-1").then(|| message == MESSAGE.as_bytes() && signature == [7; 64])
    }
}

fn signed(value: &str, key: &str, scheme: &str) -> EvidenceResult {
    let mut result = EvidenceResult::json(value.into(), "text/plain");
    result.evidence_hash = Some(Digest::of_json(&value).unwrap());
    let (scheme, key_id) = (scheme.into(), key.into());
    result.signature = Some(Signature { scheme, key_id, signature: vec![7; 64] });
    result
}

// acceptance 119 f, all but the arithmetic of the signature.
#[test]
fn a_provider_that_must_sign_is_not_believed_otherwise() {
    let unsigned = EvidenceResult { signature: None, ..signed("production", "ci-1", "ed25519") };
    let unhashed = EvidenceResult { evidence_hash: None, ..signed("production", "ci-1", "ed25519") };
    let mut altered = signed("production", "ci-1", "ed25519");
    altered.value = EvidenceResult::json("staging".into(), "").value;
    for (result, code) in [
        (signed("production", "ci-1", "ed25519"), None),
        (unsigned, Some("signature_missing")),
        (unhashed, Some("signature_missing")),
        (EvidenceResult::default(), Some("signature_missing")),
        (signed("production", "other", "ed25519"), Some("signature_key")),
        (signed("production", "ci-1", "rsa"), Some("signature_scheme")),
        (signed("staging", "ci-1", "ed25519"), Some("signature_invalid")),
        (altered, Some("evidence_hash_mismatch")),
        (EvidenceResult::failed("away", "gone"), Some("away")),
    ] {
        let applied = Trust::RequireSignature(&OneSignature).applied(result).unwrap();
        assert_eq!(applied.error.as_ref().map(|error| error.code.as_str()), code);
        assert_eq!(applied.value.is_some(), code.is_none(), "{code:?}");
        assert_eq!(applied.evidence_hash.is_some(), code.is_none(), "{code:?}");
    }
}

#[test]
fn without_signatures_a_wrong_hash_is_still_found() {
    let mut result = EvidenceResult::json(json!(1), "application/json");
    assert_eq!(Trust::Audit.applied(result.clone()).unwrap(), result);
    result.evidence_hash = Some(Digest::of_bytes(b"2"));
    let applied = Trust::Audit.applied(result).unwrap();
    assert_eq!(applied.error.unwrap().code, "evidence_hash_mismatch");
}

fn anchored() -> AnchorRules {
    serde_json::from_value(json!({ "providers": [
        { "provider_id": "json", "anchor_type": "file_path_rooted", "required_fields": ["path", "root_id"] },
        { "provider_id": "env", "anchor_type": "env" },
    ] }))
    .unwrap()
}

#[test]
fn evidence_without_its_anchor_is_emptied() {
    let file = |value: &str| EvidenceResult::json(json!(1), "application/json").anchored("file_path_rooted", value);
    for (provider, result, sound) in [
        ("json", file(r#"{"path":"a","root_id":"r"}"#), true),
        ("json", file(r#"{"path":1,"root_id":"r"}"#), true),
        ("json", file(r#"{"path":"a"}"#), false),
        ("json", file(r#"{"path":["a"],"root_id":"r"}"#), false),
        ("json", file("a"), false),
        ("json", EvidenceResult::json(json!(1), "").anchored("url", "{}"), false),
        ("json", EvidenceResult::json(json!(1), ""), false),
        ("env", EvidenceResult::default().anchored("env", "KEY"), true),
        ("env", EvidenceResult::default(), false),
        ("time", EvidenceResult::json(json!(1), ""), true),
    ] {
        let applied = anchored().applied(provider, result.clone());
        if sound {
            assert_eq!(applied, result);
        } else {
            assert_eq!(applied.error.as_ref().unwrap().code, "anchor_invalid");
            assert_eq!(EvidenceResult { error: None, ..applied }, EvidenceResult::default(), "nothing is left");
        }
    }
}

/// The rules travel with the pack, and whoever checks it applies them again.
#[test]
fn a_pack_carries_its_anchor_rules() {
    let mut story = Story::seed(false);
    story.next(&example("next")["request"]).unwrap();
    story.anchors = anchored();
    assert!(story.pack(true).is_sound(), "env says where from");
    let manifest: Value = serde_json::from_slice(&story.pack(false).manifest_bytes).unwrap();
    let requirement = json!({ "anchor_type": "env", "required_fields": [] });
    assert_eq!(manifest["anchor_policy"]["providers"][1], json!({ "provider_id": "env", "requirement": requirement }));
    story.anchors.providers[1].anchor_type = "url".into();
    let report = story.pack(true).report.unwrap();
    assert_eq!(report.status, ReportStatus::Fail);
    assert_eq!(report.errors, ["anchor invalid for env_is_prod: the anchor must be of type `url`"]);
}

/// In a run: the rule makes the predicate unknown, and the record says why.
#[test]
fn a_broken_anchor_holds_the_gate() {
    let mut story = Story::seed(false);
    story.anchors = anchored();
    story.anchors.providers[1].anchor_type = "vault".into();
    story.next(&example("next")["request"]).unwrap();
    let eval = &story.run.logs.gate_evals[0];
    assert_eq!(eval.evaluation.status, Unknown);
    assert_eq!(eval.evidence[0].result.error.as_ref().unwrap().code, "anchor_invalid");
    assert!(story.pack(true).is_sound(), "an error needs no anchor");
}

// acceptance 119 d
#[test]
fn values_are_shown_only_where_both_agree() {
    let result =
        EvidenceResult::json("production".into(), "text/plain").anchored("env", "DEPLOY_ENV").recorded().unwrap();
    for (allow_raw_values, require_provider_opt_in, provider_allows, shown) in [
        (true, true, true, true),
        (true, true, false, false),
        (true, false, false, true),
        (false, true, true, false),
        (false, false, true, false),
    ] {
        let applied = Disclosure { allow_raw_values, require_provider_opt_in }.applied(result.clone(), provider_allows);
        assert_eq!(applied.value.is_some(), shown);
        assert_eq!(applied.content_type.is_some(), shown);
        assert_eq!(applied.evidence_hash, result.evidence_hash);
        assert_eq!(applied.evidence_anchor, result.evidence_anchor);
    }
    let nothing = Disclosure::default().applied(result, true);
    assert_eq!(nothing.value, None, "closed unless opened");
}

fn envelope() -> Envelope {
    let story = Story::seed(true);
    let mut envelope = story.run.logs.packets[0].envelope.clone();
    envelope.visibility.policy_tags = vec!["internal".into()];
    envelope
}

#[test]
fn dispatch_rules_match_on_everything_they_name() {
    let agent: Target = serde_json::from_value(json!({ "kind": "agent", "agent_id": "a" })).unwrap();
    let outside: Target = serde_json::from_value(json!({ "kind": "external", "system": "s", "target": "t" })).unwrap();
    for (selector, to_agent, to_outside) in [
        (json!({}), true, true),
        (json!({ "target_kinds": ["agent", "channel"] }), true, false),
        (json!({ "targets": [{ "target_kind": "agent", "target_id": "a" }] }), true, false),
        (json!({ "targets": [{ "target_kind": "agent", "target_id": "b" }] }), false, false),
        (json!({ "targets": [{ "target_kind": "external", "system": "s" }] }), false, true),
        (json!({ "targets": [{ "target_kind": "external", "system": "s", "target": "u" }] }), false, false),
        (json!({ "targets": [{ "target_kind": "agent", "system": "s" }] }), false, false),
        (json!({ "require_labels": ["public"] }), true, true),
        (json!({ "require_labels": ["public", "other"] }), false, false),
        (json!({ "forbid_labels": ["public"] }), false, false),
        (json!({ "forbid_labels": ["other"] }), true, true),
        (json!({ "require_policy_tags": ["internal"] }), true, true),
        (json!({ "forbid_policy_tags": ["internal"] }), false, false),
        (json!({ "content_types": ["application/json"] }), true, true),
        (json!({ "content_types": ["text/plain"] }), false, false),
        (json!({ "schema_ids": ["schema-hello"] }), true, true),
        (json!({ "packet_ids": ["other"] }), false, false),
        (json!({ "stage_ids": ["main"], "scenario_ids": ["example-scenario"] }), true, true),
        (json!({ "stage_ids": ["main"], "scenario_ids": ["other"] }), false, false),
    ] {
        let mut rule = selector.clone();
        rule["effect"] = json!("permit");
        let rules: DispatchRules = serde_json::from_value(json!({ "rules": [rule] })).unwrap();
        assert_eq!(rules.permits(&envelope(), &agent), to_agent, "{selector}");
        assert_eq!(rules.permits(&envelope(), &outside), to_outside, "{selector}");
    }
}

#[test]
fn the_first_rule_that_matches_decides() {
    let target: Target = serde_json::from_value(json!({ "kind": "channel", "channel": "c" })).unwrap();
    for (first, second, default, permitted) in
        [("permit", "deny", "deny", true), ("deny", "permit", "permit", false), ("error", "permit", "permit", false)]
    {
        let rules: DispatchRules = serde_json::from_value(json!({
            "default": default, "rules": [{ "effect": first }, { "effect": second }],
        }))
        .unwrap();
        assert_eq!(rules.permits(&envelope(), &target), permitted);
    }
    assert!(
        serde_json::from_value::<DispatchRules>(json!({ "rules": [{ "effect": "permit", "lables": [] }] })).is_err()
    );
}

/// Evidence that nobody fetched is not evidence.
#[test]
fn missing_evidence_is_unknown() {
    let mut story = Story::seed(false);
    let request = crate::gate::requests::NextRequest::read(&example("next")["request"], "").unwrap().request;
    let rules = crate::gate::engine::Rules { dispatch: &story.dispatch, anchors: &story.anchors };
    story.run.next(&story.scenario, &request, |_| Vec::new(), rules).unwrap();
    let statuses: Vec<_> = story.run.logs.gate_evals.iter().map(|eval| eval.evaluation.status).collect();
    assert_eq!(statuses, [Unknown, Unknown]);
    assert_eq!(compare(crate::gate::Comparator::Exists, None, None), False);
}

// acceptance 120 g
#[test]
fn evidence_over_its_limit_refuses_the_call() {
    let mut story = Story::seed(false);
    let before = story.run.clone();
    story.env.insert("DEPLOY_ENV".into(), "x".repeat(1024 * 1024 - 1));
    let refused = story.next(&example("next")["request"]).unwrap_err();
    assert!(matches!(refused, Refusal::TooLarge { limit: 1_048_576, actual: 1_048_577, .. }), "{refused}");
    assert_eq!(story.run, before);
    story.env.insert("DEPLOY_ENV".into(), "x".repeat(1024 * 1024 - 2));
    story.next(&example("next")["request"]).unwrap();
}
