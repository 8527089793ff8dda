#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::*;
use crate::ports::{Answered, Content};
use crate::refusal::AnswerBody;
use crate::testing::bench::{Bench, Seen, modern};

/// What happens, what was asked, what breaks, whose chain says so, and what it says if it is not the decision alone.
type Case<'a> = (&'a str, &'a (&'a str, Value), fn(&Bench), &'a str, Option<&'a str>);

/// Whoever takes this lock next panics.
fn broken<T: Send>(lock: &Mutex<T>) {
    std::thread::scope(|scope| {
        let broken = scope.spawn(|| {
            let _held = lock.lock();
            panic!("on purpose");
        });
        assert!(broken.join().is_err());
    });
}

fn chains(seen: &Seen) -> Vec<(String, Option<String>)> {
    let traces = seen.traces.lock().unwrap();
    traces.iter().map(|trace| (trace.agent.to_string(), trace.description.clone())).collect()
}

#[test]
fn a_call_that_makes_the_gateway_fail_is_recorded_once() {
    let call = ("tools/call", json!({ "name": "read", "arguments": { "id": 7 } }));
    let list = ("tools/list", json!({}));
    let failed = Some("refused: gateway_failed");
    let cases: [Case<'_>; 4] = [
        ("nobody knows who asks", &call, |bench| broken(&bench.world.principal), "portreeve", failed),
        ("before it is judged", &call, |bench| broken(&bench.world.taken), "a-1", failed),
        ("while it is carried out", &call, |bench| bench.answers(|_| panic!("on purpose")), "a-1", None),
        ("what leaves no record otherwise", &list, |bench| bench.answers(|_| panic!("on purpose")), "a-1", failed),
    ];
    for (what, (method, params), breaks, chain, description) in cases {
        let bench = Bench::new();
        breaks(&bench);
        let handled = catch_unwind(AssertUnwindSafe(|| bench.handle(modern(method, params.clone()))));
        assert!(handled.is_err(), "{what}");
        let chains = chains(&bench.world);
        assert_eq!(chains.len(), 1, "{what}: {chains:?}");
        assert_eq!(chains[0].0, chain, "{what}");
        assert_eq!(chains[0].1.as_deref() == failed, description == failed, "{what}: {chains:?}");
        let rows = bench.world.rows.lock().unwrap();
        assert_eq!(rows.len(), 1, "{what}");
        assert_eq!((rows[0].status, rows[0].agent.as_str()), (Status::GatewayFailed, chain), "{what}");
        assert_eq!(rows[0].trace_id, bench.world.traces.lock().unwrap()[0].trace_id, "{what}");
        let carried_out = description.is_none();
        assert_eq!((rows[0].tool.is_some(), rows[0].input.is_some()), (carried_out, carried_out), "{what}");
    }
}

#[test]
fn a_stream_that_fails_half_way_is_recorded_as_that() {
    let bench = Bench::new();
    bench.answers(|_| {
        let events = futures::stream::poll_fn(|_| panic!("on purpose"));
        Answered { content: Content::Stream(Box::pin(events)), ..Answered::nothing(200) }
    });
    let answer = bench.modern("tools/call", json!({ "name": "read" }));
    let AnswerBody::Events(mut events) = answer.body else { panic!("a stream") };
    let read = catch_unwind(AssertUnwindSafe(move || {
        while let Some(Some(_)) = futures::StreamExt::next(&mut events).now_or_never() {}
    }));
    assert!(read.is_err());
    let rows = bench.world.rows.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(rows.iter().map(|row| row.status).collect::<Vec<_>>(), [Status::GatewayFailed]);
    assert_eq!(bench.world.traces.lock().unwrap().len(), 1, "the decision alone");
}
