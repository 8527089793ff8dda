#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use std::sync::Mutex;
use std::time::SystemTime;

use serde_json::json;

use super::*;
use crate::chain::Judge;
use crate::gateway::{Inbound, Verb};
use crate::identity::Credential;
use crate::ports::{Answered, Content};
use crate::testing::bench::{Bench, inbound, modern};
use crate::verdict::Verdict;

const CALLERS: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Draws what the caller has kept, and whatever begins here.
#[derive(Default)]
struct Drawn(Mutex<Vec<CallSpan>>);

impl Spans for Drawn {
    fn begin(&self, place: &Place) -> Option<SystemTime> {
        place.parent.is_none_or(|parent| parent.sampled).then_some(SystemTime::UNIX_EPOCH)
    }

    fn ended(&self, span: CallSpan) {
        self.0.lock().unwrap().push(span);
    }
}

struct Refuses;

impl Judge for Refuses {
    fn name(&self) -> &'static str {
        "refuses"
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        match exchange.argument("id") {
            Some(id) => Verdict::deny("no_ids", format!("{id} is not yours")),
            None => Verdict::Pass,
        }
    }
}

fn stage() -> (Bench, Arc<Drawn>) {
    let drawn = Arc::new(Drawn::default());
    (Bench::drawn(vec![Box::new(Refuses)], drawn.clone()), drawn)
}

fn traced(inbound: Inbound, traceparent: &str) -> Inbound {
    Inbound { carried: vec![(TRACEPARENT.into(), traceparent.into())], ..inbound }
}

fn only(drawn: &Drawn) -> CallSpan {
    let mut spans = drawn.0.lock().unwrap();
    assert_eq!(spans.len(), 1, "{spans:?}");
    spans.pop().unwrap()
}

#[test]
fn a_call_stands_below_its_caller_and_above_its_tool() {
    let (bench, drawn) = stage();
    let _ = bench.handle(traced(modern("tools/call", json!({ "name": "read" })), CALLERS));
    let span = only(&drawn);
    assert_eq!(hex::encode(span.place.trace), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(hex::encode(span.place.parent.unwrap().span), "b7ad6b7169203331");
    assert_eq!((span.method.as_deref(), span.status), (Some("tools/call"), Status::Ok));
    assert_eq!(span.tool.unwrap().as_str(), "crm/read");
    assert_eq!((span.namespace.unwrap().as_str(), span.agent.as_str()), ("crm", "a-1"));
    assert_eq!((span.decision, span.reason), (Decision::Allow, None));
    assert_eq!(span.audit, bench.world.traces.lock().unwrap()[0].trace_id);
    let told = bench.world.calls.lock().unwrap()[0].carried.clone();
    assert_eq!(told, [(TRACEPARENT.to_owned(), span.place.traceparent())], "the tool goes on below it");
}

#[test]
fn a_refusal_names_its_rule_and_not_what_was_asked() {
    let (bench, drawn) = stage();
    let _ = bench.modern("tools/call", json!({ "name": "read", "arguments": { "id": "s3cret" } }));
    let span = only(&drawn);
    assert_eq!((span.decision, span.status), (Decision::Deny, Status::Denied));
    assert_eq!(span.reason, Some(("refuses".into(), "no_ids".into())));
    assert!(!format!("{span:?}").contains("s3cret"), "{span:?}");
    let ledger = bench.world.traces.lock().unwrap()[0].trace_id.clone();
    assert_eq!(format!("trc_{}", hex::encode(span.place.trace)), ledger.as_str(), "found by the ledger's own id");
}

#[test]
fn what_never_became_a_call_is_drawn_too() {
    for (asked, status, rule, parent) in [
        (traced(inbound(Verb::Post("{".into())), CALLERS), Status::Malformed, "malformed", true),
        // Where a stranger's trace goes on is the stranger's word alone.
        (
            Inbound { credential: Credential::None, ..traced(modern("tools/list", json!({})), CALLERS) },
            Status::Unauthenticated,
            "credential",
            false,
        ),
    ] {
        let (bench, drawn) = stage();
        let _ = bench.handle(asked);
        let span = only(&drawn);
        assert_eq!((span.status, span.decision, span.place.parent.is_some()), (status, Decision::Deny, parent));
        assert_eq!(span.reason.unwrap().1, rule);
        assert_eq!(span.audit, bench.world.traces.lock().unwrap()[0].trace_id);
    }
}

#[test]
fn lists_are_drawn_and_what_nobody_waits_for_is_not() {
    let (bench, drawn) = stage();
    let _ = bench.modern("tools/list", json!({}));
    assert_eq!((only(&drawn).method.as_deref(), bench.world.rows.lock().unwrap().len()), (Some("tools/list"), 0));
    bench.answers(|_| Answered { status: 202, session: None, content: Content::Nothing });
    let _ = bench.legacy(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), None);
    let _ = bench.handle(inbound(Verb::Get));
    assert!(drawn.0.lock().unwrap().is_empty());
}

#[test]
fn what_is_not_drawn_goes_on_as_it_came() {
    let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let (bench, drawn) = stage();
    let _ = bench.handle(traced(modern("tools/call", json!({ "name": "read" })), unsampled));
    assert!(drawn.0.lock().unwrap().is_empty());
    assert_eq!(bench.world.calls.lock().unwrap()[0].carried, [(TRACEPARENT.to_owned(), unsampled.to_owned())]);
}

#[test]
fn a_message_that_names_its_trace_is_believed_and_left_alone() {
    let (bench, drawn) = stage();
    let mut params = json!({ "name": "read" });
    params["_meta"]["traceparent"] = json!(CALLERS);
    let _ = bench.modern("tools/call", params);
    assert_eq!(hex::encode(only(&drawn).place.parent.unwrap().span), "b7ad6b7169203331");
    let call = bench.world.calls.lock().unwrap()[0].clone();
    assert_eq!(call.message().unwrap().meta().unwrap()[TRACEPARENT], CALLERS);
    assert!(call.carried.is_empty(), "{:?}", call.carried);
}
