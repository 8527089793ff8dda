//! What becomes of calls and streams whose caller is stopped meanwhile, and of advice and candidates.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt;
use gateway_protocol::{Message, Reply, sse};
use serde_json::json;
use uuid::Uuid;

use crate::chain::{Chain, Judge, Plugin, PluginMode};
use crate::exchange::Exchange;
use crate::live::{Live, LiveHandle, Suspended, Suspension, SuspensionKind};
use crate::matrix::Matrix;
use crate::outcome::Status;
use crate::policies::Policies;
use crate::ports::{Answered, Content, StreamItem};
use crate::testing::bench::{Bench, one};
use crate::verdict::{Opinion, PolicyMode, Verdict};

fn stop(live: &LiveHandle, agent: &str) {
    let stopped = Suspension {
        id: Uuid::nil(),
        tenant: None,
        kind: SuspensionKind::Agent,
        subject: agent.into(),
        reason: None,
        by: "op".into(),
        since: String::new(),
    };
    let (standing, _) = Suspended::new([stopped]);
    live.replace(Live::new(1, HashMap::new(), Arc::default(), standing));
}

#[test]
fn an_answer_for_somebody_who_was_stopped_meanwhile_stays_here() {
    let bench = Bench::new();
    let live = Arc::clone(&bench.world.live);
    bench.answers(move |exchange| {
        stop(&live, "a-1");
        let id = exchange.message().and_then(|message| message.id().cloned()).unwrap();
        Answered::one(200, &Message::result(id, json!({ "secret": true })))
    });
    let answer = one(bench.modern("tools/call", json!({ "name": "read" })));
    assert_eq!(answer["error"]["data"]["reasons"][0]["rule"], "suspended");
    assert!(!answer.to_string().contains("secret"));
    assert_eq!(bench.world.rows.lock().unwrap()[0].status, Status::Denied);
}

#[test]
fn a_stream_ends_when_its_reader_is_stopped_and_not_when_another_is() {
    let bench = Bench::new();
    bench.answers(|_| {
        let said = Message::notification("notifications/progress", json!({ "progressToken": 1 }).as_object().cloned());
        let frame = sse::Event::message(said.to_vec());
        let first = StreamItem::Event { frame, reply: Some(Reply::from_message(&said)) };
        let items = futures::stream::iter([Ok(first)]).chain(futures::stream::pending()).boxed();
        Answered { status: 200, session: None, content: Content::Stream(items) }
    });
    let answer = bench.modern("tools/call", json!({ "name": "read" }));
    let crate::refusal::AnswerBody::Events(mut events) = answer.body else { panic!("expected a stream") };
    let mut next = || futures::FutureExt::now_or_never(events.next());
    assert!(matches!(next(), Some(Some(sse::Frame::Event(_)))));
    stop(&bench.world.live, "a-2");
    assert!(next().is_none(), "it goes on");
    stop(&bench.world.live, "a-1");
    let Some(Some(sse::Frame::Event(last))) = next() else { panic!("expected an error") };
    let last: serde_json::Value = serde_json::from_slice(&last.data).unwrap();
    assert_eq!((&last["id"], &last["error"]["code"]), (&json!(1), &json!(4030)));
    assert!(matches!(next(), Some(None)), "and then it is over");
    assert_eq!(bench.world.rows.lock().unwrap()[0].status, Status::Denied);
}

/// Grants, and has one word more.
struct Advises(PolicyMode);

impl Judge for Advises {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn on_request(&self, _exchange: &Exchange) -> Verdict {
        Verdict::Grant
    }

    fn hear(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        say(Opinion::enforced(self.on_request(exchange)));
        say(Opinion::new(Verdict::deny("P-1", "better not"), self.0));
    }
}

#[test]
fn advice_goes_back_with_the_answer_and_shadow_only_into_the_trace() {
    for (mode, told) in [(PolicyMode::Shadow, 0), (PolicyMode::Advisory, 1)] {
        let bench = Bench::with(vec![(Plugin::Judge(Box::new(Advises(mode))), PluginMode::Enforce)]);
        let answer = one(bench.modern("tools/call", json!({ "name": "read" })));
        let advice = answer["result"]["_meta"]["io.portreeve/advice"].as_array().map_or(0, Vec::len);
        assert_eq!(advice, told, "{mode}: {answer}");
        let trace = bench.world.traces.lock().unwrap()[0].context.as_str().to_owned();
        let context: serde_json::Value = serde_json::from_str(&trace).unwrap();
        assert_eq!(crate::canonical::Canonical::of(&context).unwrap().as_str(), trace, "canonical as written");
        assert_eq!(context["verdicts"][1]["mode"], mode.as_str());
        assert_eq!(context["as"], "A1 R1 ");
    }
}

#[test]
fn a_candidate_is_written_down_where_it_differs_and_never_obeyed() {
    let bench = Bench::new();
    let denies = Chain::new(Vec::new(), Arc::new(Policies::new([], Matrix::standard())));
    let digest = denies.policies().digest.clone();
    bench.gateway.replace_candidate(Some(denies));
    assert!(one(bench.modern("tools/call", json!({ "name": "read" })))["result"].is_object());
    let trace = bench.world.traces.lock().unwrap()[0].context.as_str().to_owned();
    let context: serde_json::Value = serde_json::from_str(&trace).unwrap();
    let reason = json!({ "message": "no plugin grants this", "plugin": "chain", "rule": "no_grant" });
    assert_eq!(context["candidate"], json!({ "decision": "deny", "digest": digest, "reason": reason }));
    bench.gateway.replace_candidate(None);
    one(bench.modern("tools/call", json!({ "name": "read" })));
    assert!(!bench.world.traces.lock().unwrap()[1].context.as_str().contains("candidate"));
}

#[test]
fn an_agents_own_word_on_its_call_must_be_readable() {
    let bench = Bench::new();
    let call = |said: serde_json::Value| {
        let params = json!({ "name": "read", "_meta": { "io.portreeve/classification": said } });
        one(bench.modern("tools/call", params))
    };
    assert_eq!(call(json!({ "risk": "R9" }))["error"]["code"], -32602);
    assert_eq!(call(json!({ "riks": "R1" }))["error"]["code"], -32602);
    assert!(call(json!({ "risk": "R1" }))["result"].is_object());
    let asked = call(json!({ "decision_type": "D4" }));
    assert_eq!(asked["result"]["_meta"]["io.portreeve/decision"]["decision"], "approval_required");
}
