//! Nothing grows past what can be exported, and what is refused for its size changes nothing.

use serde_json::json;

use super::{Story, asks, config, example, gate, says, spec, stage, tick};
use crate::gate::Tri::False;
use crate::gate::counting::most_bytes;
use crate::gate::digest::canonical;
use crate::gate::{FaultCode, LOG_BYTES, PAYLOAD_BYTES, Refusal, Scenario, Spec, TRIGGERS};

// acceptance 120 g
#[test]
fn a_payload_over_its_limit_is_refused() {
    let mut story = Story::seed(false);
    let before = story.run.clone();
    let mut request = example("submit")["request"].clone();
    let most = usize::try_from(PAYLOAD_BYTES).unwrap();
    for payload in [
        json!({ "kind": "json", "value": "x".repeat(most - 1) }),
        json!({ "kind": "bytes", "bytes": vec![7; most + 1] }),
    ] {
        request["payload"] = payload;
        let refused = story.submit(&request).unwrap_err();
        assert!(matches!(refused, Refusal::TooLarge { limit: PAYLOAD_BYTES, .. }), "{refused}");
        assert_eq!(story.run, before);
    }
    request["payload"] = json!({ "kind": "json", "value": "x".repeat(most - 2) });
    assert!(story.submit(&request).is_ok());
}

// acceptance 120 g
#[test]
fn a_log_over_its_limit_is_refused_before_it_is_written() {
    let mut story = Story::seed(false);
    story.run.head.counts.submissions.bytes = LOG_BYTES - 100;
    let before = story.run.clone();
    let refused = story.submit(&example("submit")["request"]).unwrap_err();
    let words = "too_large: the run's submission log in bytes has ";
    assert!(refused.to_string().starts_with(words), "{refused}");
    assert_eq!(story.run, before);
    story.run.head.counts.submissions.bytes = LOG_BYTES - 1000;
    story.submit(&example("submit")["request"]).unwrap();
}

#[test]
fn a_run_takes_so_many_triggers_and_no_more() {
    let mut story = Story::seed(false);
    story.run.head.counts.triggers.entries = TRIGGERS;
    let before = story.run.clone();
    let refused = story.next(&example("next")["request"]).unwrap_err();
    assert_eq!(refused.to_string(), "too_large: the run's triggers has 10001, at most 10000 are allowed");
    assert_eq!(story.run, before);
}

#[test]
fn a_spec_over_its_limit_is_refused() {
    let mut spec = example("define")["spec"].clone();
    spec["stages"][0]["entry_packets"][0]["payload"]["value"] = json!("x".repeat(1024 * 1024));
    let faults = Spec::read(&spec).unwrap_err();
    assert_eq!(faults[0].code, FaultCode::TooLarge);
}

/// The count may be too high, never too low.
#[test]
fn counted_bytes_are_never_too_few() {
    for text in ["1e20", "-1.7976931348623157e308", "5e-324", "-0.0", "1.0", "18446744073709551615", "0.000001", "1e21"]
    {
        let value: serde_json::Value = serde_json::from_str(&format!("[{text}]")).unwrap();
        assert!(most_bytes(&value) >= canonical(&value).unwrap().len() as u64, "{text}");
    }
    let exact = json!({ "é": "\u{1}\n\"", "b": [true, null, -7], "a": {} });
    assert_eq!(most_bytes(&exact), canonical(&exact).unwrap().len() as u64);
}

/// A run that never opens, for long: the head stays as small as it was.
#[test]
fn the_head_does_not_grow_with_the_run() {
    let spec = spec(
        vec![asks("a")],
        vec![stage("only", vec![gate("g", json!({ "Predicate": "a" }))], json!({ "kind": "terminal" }))],
    );
    let mut story = Story::begin(&spec, &config("s"), tick(0), false);
    story.files.insert("a".into(), says(False));
    let size = |story: &Story| serde_json::to_string(&story.run.head).unwrap().len();
    story.event("t100", "tick", tick(100)).unwrap();
    let first = size(&story);
    for at in 101..400 {
        story.event(&format!("t{at}"), "tick", tick(at)).unwrap();
    }
    assert!(size(&story) < first + 40);
    assert!(Scenario::recompile(Spec::read(&spec).unwrap()).is_ok());
}
