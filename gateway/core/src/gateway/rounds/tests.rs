#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::needless_pass_by_value)]
use std::sync::Arc;

use gateway_protocol::{Id, Revision};
use jiff::SignedDuration;

use super::*;
use crate::exchange::{Ask, Route, Subject};
use crate::identity::Principal;
use crate::testing::{FixedClock, PlainSeal};

fn asked(params: Value) -> Exchange {
    let message = Message::request(1, "prompts/get", params.as_object().cloned());
    let (trace, somebody) = (TraceId::from_stored("trc_1"), Arc::new(Principal::anonymous()));
    let exchange = Exchange::new(trace, somebody, Route::All, Ask::Message(message), Subject::Read);
    Exchange { revision: Some(Revision::LATEST), ..exchange }
}

fn asking(state: &str) -> Reply {
    let result = json!({ "resultType": "input_required", "inputRequests": {}, "requestState": state });
    Reply::from_message(&Message::result(Id::from(1), result))
}

fn state_of(reply: &Reply) -> String {
    let value: Value = serde_json::from_slice(reply.raw()).unwrap();
    value["result"][STATE].as_str().unwrap_or_else(|| panic!("no state in {value}")).to_owned()
}

struct Desk {
    clock: FixedClock,
    home: Home,
}

impl Desk {
    fn new() -> Self {
        Self { clock: FixedClock::default(), home: Home { node: Uuid::from_u128(9), at: None } }
    }

    fn rounds(&self) -> Rounds<'_> {
        Rounds { seal: &PlainSeal, clock: &self.clock, home: &self.home, hold: Duration::from_secs(300) }
    }

    fn handed_out(&self, params: Value, state: &str) -> String {
        let mut reply = asking(state);
        self.rounds().close(&asked(params), &mut reply);
        state_of(&reply)
    }
}

#[test]
fn a_state_comes_back_as_it_was_for_the_same_question_alone() {
    let desk = Desk::new();
    let token = desk.handed_out(json!({ "name": "p", "arguments": { "a": 1 } }), "s-1");
    let mut retry = asked(json!({ "name": "p", "arguments": { "a": 1 }, "requestState": token, "inputResponses": {} }));
    let spend = desk.rounds().open(&mut retry).unwrap().unwrap();
    assert_eq!(retry.message().unwrap().params().unwrap()[STATE], "s-1", "the server gets its own back");
    assert_eq!(retry.continues.as_ref().map(TraceId::as_str), Some("trc_1"));
    assert_eq!(spend.digest, question(&retry));
    for other in [
        json!({ "name": "q", "arguments": { "a": 1 }, "requestState": token }),
        json!({ "name": "p", "arguments": { "a": 2 }, "requestState": token }),
        json!({ "name": "p", "requestState": token }),
    ] {
        assert_ne!(spend.digest, question(&asked(other.clone())), "{other}");
    }
}

#[test]
fn a_state_that_is_not_this_callers_does_not_open() {
    let desk = Desk::new();
    let token = desk.handed_out(json!({ "name": "p" }), "s-1");
    let retry = || asked(json!({ "name": "p", "requestState": token }));
    let mut other_door = Exchange { route: Route::One("notes".parse().unwrap()), ..retry() };
    assert_eq!(desk.rounds().open(&mut other_door).unwrap_err().code, code::INVALID_PARAMS);
    let stranger = Principal { agent: "a-2".parse().unwrap(), ..Principal::anonymous() };
    let mut stranger = Exchange { principal: Arc::new(stranger), ..retry() };
    assert!(desk.rounds().open(&mut stranger).is_err());
    let mut other_method = retry();
    other_method.ask =
        Ask::Message(Message::request(1, "resources/read", json!({ STATE: token }).as_object().cloned()));
    assert!(desk.rounds().open(&mut other_method).is_err());
    for bad in [json!("s-1"), json!(7), json!(null), json!("")] {
        assert!(desk.rounds().open(&mut asked(json!({ "name": "p", "requestState": bad }))).is_err(), "{bad}");
    }
    desk.clock.pass(SignedDuration::from_secs(299));
    assert!(desk.rounds().open(&mut retry()).is_ok());
    desk.clock.pass(SignedDuration::from_secs(1));
    assert!(desk.rounds().open(&mut retry()).is_err(), "expired");
}

#[test]
fn what_is_no_round_is_left_alone() {
    let desk = Desk::new();
    let mut plain = asked(json!({ "name": "p" }));
    assert!(desk.rounds().open(&mut plain).unwrap().is_none() && plain.continues.is_none());
    let mut legacy = Exchange { revision: Some(Revision::V2025_11_25), ..asked(json!({ STATE: "mine" })) };
    assert!(desk.rounds().open(&mut legacy).unwrap().is_none());
    for result in [
        json!({ "resultType": "complete", "requestState": "s" }),
        json!({ "resultType": "input_required", "inputRequests": {} }),
    ] {
        let mut reply = Reply::from_message(&Message::result(Id::from(1), result));
        let before = reply.clone();
        desk.rounds().close(&plain, &mut reply);
        assert_eq!(reply, before);
    }
}

#[test]
fn a_parked_call_says_where_it_waits_and_a_huge_state_is_refused() {
    let desk = Desk::new();
    let token = desk.handed_out(json!({ "name": "p" }), "portreeve-held:1");
    let mut retry = asked(json!({ "name": "p", "requestState": token }));
    let Some(Message::Request(request)) = retry.message().cloned() else { panic!("a request") };
    let home_of = |request: &Request| desk.rounds().home_of(&Principal::anonymous(), &Route::All, request);
    assert_eq!(home_of(&request), Some(desk.home.clone()));
    let roaming = desk.handed_out(json!({ "name": "p" }), "s-1");
    let params = json!({ "name": "p", "requestState": roaming }).as_object().cloned();
    assert_eq!(home_of(&Request { params, ..request }), None, "its server's state is in it");
    assert!(desk.rounds().open(&mut retry).unwrap().is_some());
    let mut huge = asking(&"x".repeat(LARGEST));
    desk.rounds().close(&retry, &mut huge);
    assert_eq!(huge.kind(), ReplyKind::Error { code: code::INTERNAL });
}
