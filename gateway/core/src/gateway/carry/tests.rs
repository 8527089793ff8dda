#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::needless_pass_by_value)]
use std::sync::Arc;

use gateway_protocol::Revision;
use gateway_protocol::era::Handshake;
use serde_json::{Value, json};

use super::*;
use crate::crossing::Crossings;
use crate::ports::{Answered, PeerError};
use crate::session::Session;
use crate::testing::bench::{Bench, agent, body, inbound, modern, one, sent, tool_call};
use crate::testing::{FixedClock, PlainSeal};

fn node(number: u128) -> Home {
    Home { node: Uuid::from_u128(number), at: Some(format!("http://node-{number}")) }
}

fn session(home: Home, rebuildable: bool) -> String {
    let said =
        Handshake { revision: Revision::V2025_11_25, capabilities: serde_json::Map::new(), client_info: json!({}) };
    let (owner, route) = (agent("a-1"), Route::One("crm".parse().unwrap()));
    let handshake = rebuildable.then_some(said);
    Session::pinned(&owner, &route, Some(Revision::V2025_11_25), "up".into(), home, handshake).seal(&PlainSeal)
}

fn ask(bench: &Bench, session: &str) -> Answer {
    bench.legacy(&tool_call(json!({ "name": "read" })), Some(session))
}

fn again(carried: Carried) -> Inbound {
    let mut inbound = inbound(Verb::Post(carried.body));
    for (name, value) in carried.headers {
        inbound.headers.insert(&name, value.as_bytes());
        if name == CARRIED {
            inbound.carried.push((name, value));
        }
    }
    inbound
}

#[test]
fn what_lives_elsewhere_is_judged_and_recorded_there_alone() {
    let (here, there) = (Bench::at(node(1)), Arc::new(Bench::at(node(2))));
    let peer = Arc::clone(&there);
    here.carries(move |_, carried| Ok(peer.handle(again(carried))));
    let answer = ask(&here, &session(node(2), true));
    assert_eq!(answer.status, 200);
    assert_eq!((here.calls(), there.calls()), (0, 1));
    assert_eq!((*here.world.taken.lock().unwrap(), *there.world.taken.lock().unwrap()), (0, 1));
    assert!(here.world.traces.lock().unwrap().is_empty() && here.world.rows.lock().unwrap().is_empty());
    assert_eq!(there.world.rows.lock().unwrap().len(), 1);
    assert!(there.world.calls.lock().unwrap()[0].carried.is_empty(), "the label stays among us");
    let traces = there.world.traces.lock().unwrap();
    let context: Value = serde_json::from_str(traces[0].context.as_str()).unwrap();
    let way = [node(2), node(1)].map(|home| json!(home.node));
    assert_eq!([&context["node"], &context["via"]], [&way[0], &way[1]], "the trace names both nodes");
    drop(traces);
    let carried = here.world.carried.lock().unwrap();
    assert_eq!((carried[0].1.method, carried[0].1.path.as_str()), ("POST", "/crm/mcp"));
    drop(carried);
    ask(&here, &session(node(1), true));
    assert_eq!((here.calls(), here.world.carried.lock().unwrap().len()), (1, 1), "what lives here stays here");
}

#[test]
fn what_was_carried_is_not_carried_on() {
    let bench = Bench::at(node(1));
    let labelled = |to: u128, age: i64| {
        let mut inbound = inbound(Verb::Post(body(&tool_call(json!({ "name": "read" })))));
        inbound.headers.session_id = Some(session(node(2), true));
        let then = FixedClock::default();
        then.pass(SignedDuration::from_secs(-age));
        let peer = Crossings::new(Arc::new(PlainSeal), Arc::new(then), node(2).node);
        let mut carried = inbound.to_carried();
        peer.send(&node(to), &inbound.credential, true, &mut carried);
        inbound.carried.push(carried.headers.pop().unwrap());
        bench.handle(inbound).status
    };
    assert_eq!(labelled(3, 0), 421, "meant for another process");
    assert_eq!(bench.calls(), 0);
    assert_eq!((labelled(1, 0), bench.calls()), (200, 1));
    assert!(bench.world.carried.lock().unwrap().is_empty());
    assert_eq!(labelled(3, 60), 200, "an old label means nothing: carried, found gone, rebuilt");
    assert_eq!(bench.world.carried.lock().unwrap().len(), 1);
}

#[test]
fn what_is_gone_is_rebuilt_or_said_to_be_gone() {
    let bench = Bench::at(node(1));
    bench.carries(|_, _| Err(PeerError::Gone));
    assert_eq!((ask(&bench, &session(node(2), true)).status, bench.calls()), (200, 1), "rebuilt");
    assert_eq!((ask(&bench, &session(node(2), false)).status, bench.calls()), (404, 1), "nobody knows how it began");
    assert_eq!(bench.world.carried.lock().unwrap().len(), 1, "a node that was gone is not asked again at once");
    bench.world.clock.pass(GONE_FOR);
    ask(&bench, &session(node(2), true));
    assert_eq!(bench.world.carried.lock().unwrap().len(), 2);
    for unreachable in [Home { at: None, ..node(3) }, Home { at: node(1).at, ..node(3) }] {
        assert_eq!(ask(&bench, &session(unreachable, true)).status, 200);
    }
    assert_eq!(bench.world.carried.lock().unwrap().len(), 2, "there was nobody to ask");
}

#[test]
fn what_may_have_been_done_is_not_done_again() {
    let bench = Bench::at(node(1));
    bench.carries(|_, _| Err(PeerError::Broken("reset".into())));
    for rebuildable in [true, false] {
        let answer = ask(&bench, &session(node(2), rebuildable));
        assert_eq!((answer.status, bench.calls()), (502, 0));
        assert!(one(answer)["error"]["message"].as_str().unwrap().contains("took the request"));
    }
    assert!(bench.world.rows.lock().unwrap().is_empty(), "recorded where it was taken in");
}

#[test]
fn who_asks_is_said_to_nodes_alone() {
    let (here, there) = (Bench::at(node(1)), Arc::new(Bench::at(node(2))));
    let peer = Arc::clone(&there);
    here.carries(move |_, carried| {
        let plain = Inbound { credential: Credential::Key("another".into()), ..again(carried.clone()) };
        assert_eq!(peer.gateway.shown_by(&plain), Credential::Key("prv_a".into()), "no other way to say who asks");
        Ok(peer.handle(plain))
    });
    let mut asked = inbound(Verb::Post(body(&tool_call(json!({ "name": "read" })))));
    asked.credential = Credential::Key("prv_a".into());
    asked.headers.session_id = Some(session(node(2), true));
    assert_eq!((here.handle(asked).status, there.calls()), (200, 1));
    let shown = there.world.shown.lock().unwrap();
    assert_eq!(*shown, [Credential::Key("prv_a".into())], "the one that the caller showed");
    let carried = here.world.carried.lock().unwrap();
    assert!(carried[0].1.headers.iter().all(|(name, value)| name == CARRIED || !value.contains("prv_a")));
}

#[test]
fn an_answer_that_is_no_nodes_is_not_passed_on() {
    let bench = Bench::at(node(1));
    bench.carries(|_, carried| {
        let label = carried.headers.iter().find(|(name, _)| name == CARRIED).map(|(_, value)| value.clone());
        Ok(Answer::empty(200).with(CARRIED, label.unwrap_or_default()))
    });
    assert_eq!((ask(&bench, &session(node(2), true)).status, bench.calls()), (502, 0), "the node may stand behind it");
    assert_eq!((ask(&bench, &session(node(2), true)).status, bench.calls()), (200, 1), "nobody asks there again");
    let mut listening = inbound(Verb::Get);
    listening.headers.session_id = Some(session(node(3), true));
    bench.answers(|_| Answered::nothing(405));
    assert_eq!((bench.handle(listening).status, bench.calls()), (405, 2), "what only listens goes on here");
}

#[test]
fn a_stream_is_resumed_where_it_is_kept() {
    let (here, there) = (Bench::at(node(1)), Arc::new(Bench::at(node(2))));
    let (owner, route) = (agent("a-1"), Route::One("crm".parse().unwrap()));
    let token = Session::new(&owner, &route, Some(Revision::V2025_11_25), "up".into()).seal(&PlainSeal);
    let event = format!("pr.{}.3.{}", Uuid::nil().simple(), resume::mark(&node(2), &PlainSeal).unwrap());
    let get = |last_event_id: &str| {
        let mut inbound = inbound(Verb::Get);
        inbound.headers.session_id = Some(token.clone());
        inbound.headers.last_event_id = Some(last_event_id.into());
        inbound
    };
    for bench in [&here, there.as_ref()] {
        bench.answers(|_| Answered::nothing(405));
    }
    let peer = Arc::clone(&there);
    here.carries(move |_, carried| {
        assert_eq!(carried.method, "GET");
        let mut inbound = again(carried);
        inbound.verb = Verb::Get;
        Ok(peer.handle(inbound))
    });
    here.handle(get(&event));
    assert_eq!((here.calls(), there.calls()), (0, 1));
    here.handle(get("pr.x.3"));
    here.handle(get("17"));
    assert_eq!((here.calls(), there.calls()), (2, 1), "an id that names no node is looked for here, or upstream");
    here.carries(|_, _| Err(PeerError::Gone));
    here.handle(get(&event));
    assert_eq!(here.calls(), 3, "what was kept is lost, but the session goes on");
}

#[test]
fn a_parked_call_is_answered_where_it_waits() {
    let (here, there) = (Bench::at(node(1)), Arc::new(Bench::at(node(2))));
    there.answers(|exchange| {
        let id = exchange.message().unwrap().id().cloned().unwrap();
        let result = json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "portreeve-held:1" });
        Answered::one(200, &Message::result(id, result))
    });
    let asked = one(there.modern("tools/call", json!({ "name": "read" })));
    let retry = json!({ "name": "read", "requestState": asked["result"]["requestState"], "inputResponses": {} });
    let peer = Arc::clone(&there);
    here.carries(move |_, carried| {
        let message: Value = serde_json::from_slice(&carried.body).unwrap();
        let mut inbound = modern("tools/call", message["params"].clone());
        inbound.carried = again(carried).carried;
        Ok(peer.handle(inbound))
    });
    assert_eq!(here.modern("tools/call", retry.clone()).status, 200);
    assert_eq!((here.calls(), there.calls()), (0, 2));
    assert_eq!(sent(&there.world.calls.lock().unwrap()[1])["params"]["requestState"], "portreeve-held:1");
    here.carries(|_, _| Err(PeerError::Gone));
    let lost = here.modern("tools/call", retry);
    assert_eq!((lost.status, one(lost)["error"]["code"].clone(), here.calls()), (400, json!(-32602), 0));
}

#[test]
fn a_filter_travels_in_the_path() {
    let filter = ListFilter { category: Some("a b&c".into()), ..ListFilter::default() };
    assert_eq!(Inbound { filter, ..inbound(Verb::Get) }.to_carried().path, "/crm/mcp?category=a%20b%26c");
}
