//! What is added to a run without moving it.

use serde_json::json;

use super::{Story, example};
use crate::gate::payload::Payload;
use crate::gate::records::{CallError, Entry, Log};
use crate::gate::{Digest, Refusal, RunStatus, engine};

// acceptance 119 a
#[test]
fn a_submission_is_hashed_and_does_not_advance_the_run() {
    let mut story = Story::seed(false);
    let request = &example("submit")["request"];
    let record = story.submit(request).unwrap()["record"].clone();
    let mut expected = request.clone();
    let hash = "18f9ba2c589d2d419418149e4255f4bf9556ea88fc2fadbd25f8e9513db3b20f";
    expected["content_hash"] = json!({ "algorithm": "sha256", "value": hash });
    assert_eq!(record, expected);
    assert_eq!((story.run.head.status, &story.run.head.last_decision), (RunStatus::Active, &None));
    assert!(story.run.logs.decisions.is_empty() && story.run.logs.triggers.is_empty());
}

// acceptance 119 b
#[test]
fn the_same_again_is_the_same_and_anything_else_a_conflict() {
    let mut story = Story::seed(false);
    let request = example("submit")["request"].clone();
    let first = story.submit(&request).unwrap();
    let after = story.run.clone();
    let mut later = request.clone();
    later["submitted_at"]["value"] = json!(1_710_000_099_000_i64);
    assert_eq!(story.submit(&later).unwrap(), first, "the first record, with its own time");
    for (key, value) in [
        ("content_type", json!("text/plain")),
        ("payload", json!({ "kind": "json", "value": { "artifact": "attestation", "status": "denied" } })),
        ("payload", json!({ "kind": "bytes", "bytes": [1] })),
    ] {
        let mut other = request.clone();
        other[key] = value;
        assert_eq!(story.submit(&other), Err(Refusal::SubmissionConflict("submission-0001".into())));
    }
    assert_eq!(story.run, after, "one entry, one call");
    assert_eq!(story.run.logs.submissions.len(), 1);
}

#[test]
fn a_run_that_is_over_still_takes_submissions() {
    let mut story = Story::seed(false);
    story.next(&example("next")["request"]).unwrap();
    story.submit(&example("submit")["request"]).unwrap();
    assert_eq!((story.run.head.status, story.run.logs.submissions.len()), (RunStatus::Completed, 1));
    assert_eq!(story.run.logs.tool_calls[1].method, "scenario.submit");
}

#[test]
fn payloads_are_hashed_by_what_they_hold() {
    let given = Digest::of_bytes(b"elsewhere");
    for (payload, expected) in [
        (json!({ "kind": "json", "value": [] }), Digest::of_bytes(b"[]")),
        (json!({ "kind": "bytes", "bytes": [1, 2, 255] }), Digest::of_bytes(&[1, 2, 255])),
        (
            json!({ "kind": "external", "content_ref": { "uri": "u", "content_hash": given, "encryption": null } }),
            given,
        ),
    ] {
        let read: Payload = serde_json::from_value(payload.clone()).unwrap();
        assert_eq!(read.measured().unwrap().1, expected);
        assert_eq!(serde_json::to_value(&read).unwrap(), payload);
    }
    for wrong in [
        json!({ "kind": "json", "value": 1, "more": 2 }),
        json!({ "kind": "bytes", "bytes": [256] }),
        json!({ "kind": "external", "content_ref": { "uri": "u" } }),
        json!({ "kind": "paper" }),
        json!({ "kind": "json" }),
    ] {
        assert!(serde_json::from_value::<Payload>(wrong.clone()).is_err(), "{wrong}");
    }
}

/// A call through the gateway is noted in the run it was made under, also when that is over.
#[test]
fn other_calls_are_numbered_with_the_rest() {
    let mut story = Story::seed(false);
    story.next(&example("next")["request"]).unwrap();
    let hashes = (Digest::of_bytes(b"a"), Digest::of_bytes(b"b"));
    let error = CallError { code: "tool_error".into(), message: "no".into(), details: None };
    let at = super::ms(5);
    let entry = engine::noted(&mut story.run.head, "crm/update", hashes, at, None, Some(error)).unwrap();
    let Entry::ToolCall(call) = &entry else { panic!("{entry:?}") };
    assert_eq!((call.call_id.as_str(), call.method.as_str()), ("call-2", "crm/update"));
    story.run.logs.push(entry);
    assert!(story.pack(true).is_sound());
}

/// What the store keeps is what comes back, to the last digit.
#[test]
fn entries_are_read_as_they_were_written() {
    let mut story = super::hashes::crossing();
    let mut request = example("submit")["request"].clone();
    request["run_id"] = json!("r2");
    request["payload"]["value"] = json!({ "big": 9_007_199_254_740_993_u64, "small": 0.1, "half": 1.0 });
    story.submit(&request).unwrap();
    let logs = &story.run.logs;
    let entries = (logs.triggers.iter().cloned().map(Entry::Trigger))
        .chain(logs.gate_evals.iter().cloned().map(Entry::GateEval))
        .chain(logs.decisions.iter().cloned().map(Entry::Decision))
        .chain(logs.packets.iter().cloned().map(Entry::Packet))
        .chain(logs.submissions.iter().cloned().map(Entry::Submission))
        .chain(logs.tool_calls.iter().cloned().map(Entry::ToolCall));
    let mut met = Vec::new();
    for entry in entries {
        let read = Entry::read(entry.log(), &entry.text().unwrap()).unwrap();
        assert_eq!(read, entry);
        met.push(entry.log());
    }
    assert!(Log::ALL.iter().all(|log| met.contains(log) && Log::named(log.as_str()) == Some(*log)));
    let head = serde_json::to_string(&story.run.head).unwrap();
    assert_eq!(serde_json::from_str::<crate::gate::Head>(&head).unwrap(), story.run.head);
}
