//! What may be sent, and what an admitted message may become on its way.
//!
//! A permit is made by the chain, or by a function here that can show why its message needs no judging of its own: because
//! it was judged in other words, or because it decides nothing.

mod again;

use gateway_protocol::era::{InputKind, down};
use gateway_protocol::{Id, Message, Revision, RpcError, headers};
use serde_json::{Map, Value, json};

use crate::exchange::{Ask, Exchange, Subject};
use crate::session::Session;

/// Proof that the chain admitted this exchange. Only [`super::Chain::admit`] makes one for a client's message, and
/// `Upstream::call` takes nothing else.
pub struct Permit {
    /// Boxed, because it is handed on a dozen times a call.
    exchange: Box<Exchange>,
}

/// What every external provider of evidence is asked by.
pub const EVIDENCE_QUERY: &str = "evidence_query";

/// What the gateway may say by itself to an upstream that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnAnswer {
    Pong,
    /// Nobody answered; the upstream should stop asking.
    Cancel,
    Refuse(RpcError),
}

impl Permit {
    pub(super) fn admitted(exchange: Box<Exchange>) -> Self {
        Self { exchange }
    }

    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Once the upstream has answered, the question itself is all that is still needed.
    pub fn into_exchange(self) -> Box<Exchange> {
        self.exchange
    }

    /// The gateway's own side of a conversation with an upstream, on behalf of the admitted exchange: a handshake or a
    /// list. Never a tool call; asking for one gives `None`.
    pub fn for_own(&self, message: Message, session: Option<Session>) -> Option<Self> {
        own_question(&message).then(|| self.own(Ask::Message(message), session))
    }

    /// The same admitted question in another session with the upstream: the message does not change.
    pub fn in_session(&self, session: Option<Session>) -> Self {
        Self { exchange: Box::new(Exchange { session, ..self.exchange().clone() }) }
    }

    /// The same admitted answer to an upstream's question, under the id that upstream gave it. `None` for anything that is
    /// not an answer.
    pub fn answering(&self, id: Id, session: Option<Session>) -> Option<Self> {
        let mut permit = self.in_session(session);
        match &mut permit.exchange.ask {
            Ask::Message(Message::Response(response)) => response.id = Some(id),
            _ => return None,
        }
        Some(permit)
    }

    /// What this admitted retry answers under `key`, as the answer a legacy upstream waits for. `None` without that key.
    pub fn input_response(
        &self,
        kind: InputKind,
        key: &str,
        id: Id,
        revision: Revision,
        session: Option<Session>,
    ) -> Option<Self> {
        let response = self.exchange.message()?.params()?.get("inputResponses")?.get(key)?;
        let message = Message::result(id, down::answer(kind, response));
        let mut permit = self.own(Ask::Message(message), session);
        permit.exchange.revision = Some(revision);
        // It travels as another message than the one they were sent with.
        permit.exchange.carried.retain(|(name, _)| !name.starts_with(headers::PARAM_PREFIX));
        Some(permit)
    }

    /// The same question in another revision's words. `None` if it asks for anything that was not admitted.
    pub fn in_era(&self, message: Message, revision: Revision, session: Option<Session>) -> Option<Self> {
        same_question(self.exchange.message()?, &message).then_some(())?;
        let mut exchange = Exchange { session, revision: Some(revision), ..self.exchange().clone() };
        // Copies of arguments were made for the client's words; for these they are derived again.
        exchange.carried.retain(|(name, _)| !name.starts_with(headers::PARAM_PREFIX));
        exchange.ask = Ask::Message(message);
        Some(Self { exchange: Box::new(exchange) })
    }

    /// The gateway's own answer to an upstream's question.
    pub fn own_answer(&self, id: Id, outcome: OwnAnswer, session: Option<Session>) -> Self {
        let message = match outcome {
            OwnAnswer::Pong => Message::result(id, json!({})),
            OwnAnswer::Cancel => Message::result(id, json!({ "action": "cancel" })),
            OwnAnswer::Refuse(error) => Message::error(Some(id), error),
        };
        self.own(Ask::Message(message), session)
    }

    /// The GET stream of a session the gateway holds.
    pub fn own_stream(&self, session: Session) -> Self {
        self.own(Ask::Listen { last_event_id: None }, Some(session))
    }

    /// The rest of a stream that the upstream of such a session ended before it was done.
    pub fn own_resumption(&self, session: Session, last_event_id: String) -> Self {
        self.own(Ask::Listen { last_event_id: Some(last_event_id) }, Some(session))
    }

    /// A question the gateway asks for nobody: what tools an upstream has, whether it is there. Ending the session it
    /// asked in is part of it.
    pub fn for_discovery(exchange: Exchange) -> Option<Self> {
        let own = matches!(exchange.ask, Ask::EndSession) || exchange.message().is_some_and(own_question);
        own.then(|| Self { exchange: Box::new(exchange) })
    }

    /// The one tool that the gateway calls for itself: `evidence_query` of a server that an operator named as a provider.
    /// It is nobody's act, carries nobody's headers and no other name.
    pub fn for_evidence(exchange: Exchange) -> Option<Self> {
        let named = |message: &Message| {
            let name = message.params().and_then(|params| params.get("name")).and_then(Value::as_str);
            matches!(message, Message::Request(request) if request.method == "tools/call")
                && name == Some(EVIDENCE_QUERY)
        };
        let own = matches!(exchange.subject, Subject::Plain)
            && exchange.principal.tenant.is_none()
            && exchange.carried.is_empty()
            && exchange.message().is_some_and(named);
        own.then(|| Self { exchange: Box::new(exchange) })
    }

    fn own(&self, ask: Ask, session: Option<Session>) -> Self {
        let exchange = Exchange { ask, session, subject: Subject::Plain, ..self.exchange().clone() };
        Self { exchange: Box::new(exchange) }
    }
}

/// What the gateway may ask an upstream in its own name: nothing that acts.
fn own_question(message: &Message) -> bool {
    const METHODS: [&str; 13] = [
        "initialize",
        "notifications/initialized",
        "notifications/cancelled",
        "ping",
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
    ];
    message.method().is_some_and(|method| METHODS.contains(&method))
}

/// Whether `message` asks what `admitted` asks: the same method and kind, nothing added, and nothing taken away that says
/// what is wanted. `_meta` and the id belong to the wire, and differ between eras.
fn same_question(admitted: &Message, message: &Message) -> bool {
    const WANTED: [&str; 8] = ["name", "uri", "arguments", "ref", "argument", "level", "cursor", "taskId"];
    let kind = match (admitted, message) {
        (Message::Request(one), Message::Request(other)) => one.method == other.method,
        (Message::Notification(one), Message::Notification(other)) => one.method == other.method,
        _ => false,
    };
    let nothing = Map::new();
    let judged = admitted.params().unwrap_or(&nothing);
    let sent = message.params().unwrap_or(&nothing);
    let known = |(key, value): (&String, &Value)| key == "_meta" || judged.get(key) == Some(value);
    kind && WANTED.iter().all(|key| judged.get(*key) == sent.get(*key)) && sent.iter().all(known)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::sync::Arc;

    use super::*;
    use crate::exchange::Route;
    use crate::identity::Principal;
    use crate::names::TraceId;

    const OWN: [&str; 13] = [
        "initialize",
        "logging/setLevel",
        "notifications/cancelled",
        "notifications/initialized",
        "ping",
        "prompts/list",
        "resources/list",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
    ];
    /// Every other method of every revision, and some that nobody knows.
    const NOT_OWN: [&str; 20] = [
        "completion/complete",
        "elicitation/create",
        "notifications/elicitation/complete",
        "notifications/progress",
        "notifications/roots/list_changed",
        "notifications/tools/list_changed",
        "prompts/get",
        "resources/read",
        "roots/list",
        "sampling/createMessage",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/update",
        "tools/call",
        "TOOLS/LIST",
        "tools/list ",
        "vendor/reboot",
        "",
    ];

    fn permit(message: Message) -> Permit {
        let trace_id = TraceId::from_uuid(uuid::Uuid::nil());
        let principal = Arc::new(Principal::anonymous());
        let mut exchange = Exchange::new(trace_id, principal, Route::All, Ask::Message(message), Subject::Act);
        exchange.carried = vec![("mcp-param-region".into(), "eu".into()), ("traceparent".into(), "00-1".into())];
        Permit::admitted(Box::new(exchange))
    }

    fn request(method: &str, params: Value) -> Message {
        let Value::Object(params) = params else { panic!("params are an object") };
        Message::request(7, method, Some(params))
    }

    fn session() -> Session {
        Session::new(&Principal::anonymous(), &Route::All, None, "s".into())
    }

    #[test]
    fn no_act_is_the_gateways_own() {
        let admitted = permit(request("tools/call", json!({ "name": "t" })));
        for (methods, own) in [(OWN.as_slice(), true), (NOT_OWN.as_slice(), false)] {
            for method in methods {
                for message in [request(method, json!({})), Message::notification(*method, None)] {
                    let discovery = Exchange { ask: Ask::Message(message.clone()), ..admitted.exchange().clone() };
                    assert_eq!(Permit::for_discovery(discovery).is_some(), own, "{method}");
                    let permit = admitted.for_own(message, None);
                    assert_eq!(permit.is_some(), own, "{method}");
                    assert!(permit.is_none_or(|permit| !permit.exchange().has_side_effects()), "{method}");
                }
            }
        }
        let answer = Message::result(Id::from(1), json!({}));
        assert!(admitted.for_own(answer, None).is_none(), "an answer is no question");
    }

    #[test]
    fn evidence_is_the_only_tool_that_the_gateway_calls_for_itself() {
        let plain = |message| {
            let (id, nobody) = (TraceId::from_uuid(uuid::Uuid::nil()), Arc::new(Principal::anonymous()));
            Exchange::new(id, nobody, Route::All, Ask::Message(message), Subject::Plain)
        };
        let asked = || request("tools/call", json!({ "name": "evidence_query", "arguments": {} }));
        assert!(Permit::for_evidence(plain(asked())).is_some());
        for message in [
            request("tools/call", json!({ "name": "evidence_query2" })),
            request("tools/call", json!({})),
            request("prompts/get", json!({ "name": "evidence_query" })),
            Message::notification("tools/call", json!({ "name": "evidence_query" }).as_object().cloned()),
        ] {
            assert!(Permit::for_evidence(plain(message.clone())).is_none(), "{message:?}");
        }
        assert!(Permit::for_evidence(Exchange { subject: Subject::Act, ..plain(asked()) }).is_none());
        let carried = vec![("traceparent".into(), "00-1".into())];
        assert!(Permit::for_evidence(Exchange { carried, ..plain(asked()) }).is_none());
        let somebody = Principal { tenant: Some(crate::TenantId(uuid::Uuid::nil())), ..Principal::anonymous() };
        assert!(Permit::for_evidence(Exchange { principal: Arc::new(somebody), ..plain(asked()) }).is_none());
    }

    #[test]
    fn another_era_asks_for_the_same_thing_or_for_nothing() {
        for method in OWN.iter().chain(&NOT_OWN) {
            let admitted = permit(request(method, json!({ "name": "read", "arguments": { "a": 1 } })));
            for other in OWN.iter().chain(&NOT_OWN).filter(|other| *other != method) {
                let message = request(other, json!({ "name": "read", "arguments": { "a": 1 } }));
                assert!(admitted.in_era(message, Revision::LATEST, None).is_none(), "{method} as {other}");
            }
        }
        let said = json!({ "name": "read", "arguments": { "a": 1 }, "requestState": "s", "_meta": { "old": true } });
        let admitted = permit(request("tools/call", said));
        for (params, passes) in [
            (json!({ "name": "read", "arguments": { "a": 1 } }), true),
            (json!({ "name": "read", "arguments": { "a": 1 }, "_meta": { "new": true } }), true),
            (json!({ "name": "read", "arguments": { "a": 1 }, "requestState": "s" }), true),
            (json!({ "name": "read", "arguments": { "a": 1 }, "requestState": "other" }), false),
            (json!({ "name": "read", "arguments": { "a": 1 }, "inputResponses": {} }), false),
            (json!({ "name": "write", "arguments": { "a": 1 } }), false),
            (json!({ "name": "read", "arguments": { "a": 2 } }), false),
            (json!({ "name": "read" }), false),
            (json!({ "name": "read", "arguments": { "a": 1 }, "uri": "x" }), false),
            (json!({}), false),
        ] {
            let permit = admitted.in_era(request("tools/call", params.clone()), Revision::V2025_06_18, None);
            assert_eq!(permit.is_some(), passes, "{params}");
        }
        for (method, key) in [
            ("prompts/get", "name"),
            ("resources/read", "uri"),
            ("completion/complete", "ref"),
            ("completion/complete", "argument"),
            ("logging/setLevel", "level"),
            ("tools/list", "cursor"),
            ("tasks/get", "taskId"),
        ] {
            let admitted = permit(request(method, json!({ key: "one" })));
            assert!(admitted.in_era(request(method, json!({ key: "one" })), Revision::LATEST, None).is_some(), "{key}");
            for other in [json!({ key: "two" }), json!({})] {
                assert!(admitted.in_era(request(method, other), Revision::LATEST, None).is_none(), "{key}");
            }
        }
    }

    #[test]
    fn another_era_is_not_another_kind_of_message() {
        let admitted = permit(request("tools/call", json!({ "name": "t" })));
        let silent = Message::notification("tools/call", json!({ "name": "t" }).as_object().cloned());
        assert!(admitted.in_era(silent, Revision::LATEST, None).is_none());
        let answer = Message::result(Id::from(1), json!({}));
        assert!(admitted.in_era(answer.clone(), Revision::LATEST, None).is_none());
        assert!(permit(answer.clone()).in_era(answer, Revision::LATEST, None).is_none(), "answers have their own way");
        let moved = admitted.in_era(request("tools/call", json!({ "name": "t" })), Revision::LATEST, Some(session()));
        let moved = moved.unwrap().into_exchange();
        assert_eq!((moved.revision, moved.session), (Some(Revision::LATEST), Some(session())));
        assert_eq!(moved.carried, [("traceparent".into(), "00-1".into())], "copies of arguments are derived anew");
    }

    #[test]
    fn a_legacy_upstream_gets_the_answer_that_was_admitted_and_no_other() {
        let said = json!({ "action": "accept", "content": { "name": "Ada" }, "resultType": "complete" });
        let params = json!({ "name": "t", "inputResponses": { "elicitation-1": said, "roots-1": { "roots": [] } } });
        let admitted = permit(request("tools/call", params));
        let answer =
            |kind, key: &str| admitted.input_response(kind, key, Id::from(9), Revision::V2025_06_18, Some(session()));
        let given = answer(InputKind::Elicitation, "elicitation-1").unwrap();
        assert_eq!(
            serde_json::to_value(given.exchange().message().unwrap()).unwrap(),
            json!({ "jsonrpc": "2.0", "id": 9, "result": { "action": "accept", "content": { "name": "Ada" } } })
        );
        assert!(!given.exchange().has_side_effects(), "it decides nothing by itself");
        assert_eq!(given.exchange().revision, Some(Revision::V2025_06_18));
        assert_eq!(given.exchange().carried, [("traceparent".into(), "00-1".into())]);
        assert!(answer(InputKind::Elicitation, "elicitation-2").is_none(), "nobody answered that");
        let other = answer(InputKind::Elicitation, "roots-1").unwrap().into_exchange();
        assert_eq!(other.message(), Some(&Message::result(Id::from(9), json!({ "action": "cancel" }))));
        for message in [request("tools/call", json!({ "name": "t" })), Message::result(Id::from(1), json!({}))] {
            let permit = permit(message);
            let key = "elicitation-1";
            assert!(permit.input_response(InputKind::Elicitation, key, Id::from(9), Revision::LATEST, None).is_none());
        }
    }

    #[test]
    fn the_gateway_answers_for_itself_only_what_gives_nothing_away() {
        let admitted = permit(request("tools/call", json!({ "name": "t" })));
        for (outcome, expected) in [
            (OwnAnswer::Pong, json!({ "jsonrpc": "2.0", "id": 9, "result": {} })),
            (OwnAnswer::Cancel, json!({ "jsonrpc": "2.0", "id": 9, "result": { "action": "cancel" } })),
            (
                OwnAnswer::Refuse(RpcError::new(-32601, "no")),
                json!({ "jsonrpc": "2.0", "id": 9, "error": { "code": -32601, "message": "no" } }),
            ),
        ] {
            let permit = admitted.own_answer(Id::from(9), outcome, Some(session()));
            assert_eq!(serde_json::to_value(permit.exchange().message().unwrap()).unwrap(), expected);
            assert!(!permit.exchange().has_side_effects() && permit.exchange().session.is_some());
        }
        let rest = admitted.own_resumption(session(), "7".into()).into_exchange();
        assert!(matches!(&rest.ask, Ask::Listen { last_event_id: Some(id) } if id == "7") && !rest.has_side_effects());
        let stream = admitted.own_stream(session()).into_exchange();
        assert!(matches!(stream.ask, Ask::Listen { last_event_id: None }) && !stream.has_side_effects());
    }
}
