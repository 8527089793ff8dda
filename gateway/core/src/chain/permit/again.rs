//! An admitted call on its later rounds, and the headers that repeat its arguments.

use gateway_protocol::era::{InputKind, Mirrored, up};
use gateway_protocol::headers::{self, derive_mirrored};
use gateway_protocol::{Message, Outcome};
use serde_json::{Value, json};

use super::{Permit, same_question};
use crate::exchange::{Ask, Exchange};

/// What a round adds to the call: the answers that were asked for, and the upstream's own note of where it stands.
const ROUND: [&str; 2] = ["inputResponses", "requestState"];

impl Permit {
    /// The admitted call once more, with what its caller answered meanwhile. `None` unless it is that call, and every answer in
    /// it is the translation of one of the admitted `answers`, or says that nobody answered.
    pub fn with_inputs(&self, message: Message, answers: &[&Self]) -> Option<Self> {
        let mut bare = message.clone();
        if let Some(params) = bare.params_mut() {
            ROUND.iter().for_each(|key| drop(params.shift_remove(*key)));
        }
        same_question(self.exchange.message()?, &bare).then_some(())?;
        let responses = match message.params().and_then(|params| params.get("inputResponses")) {
            None => None,
            Some(responses) => Some(responses.as_object()?),
        };
        let outcomes: Vec<&Outcome> = answers.iter().filter_map(|answer| self.answered_by(answer)).collect();
        let given = |response: &Value| *response == json!({ "action": "cancel" }) || is_one_of(response, &outcomes);
        responses.into_iter().flat_map(|responses| responses.values()).all(given).then_some(())?;
        let exchange = Exchange { ask: Ask::Message(message), ..Exchange::clone(&self.exchange) };
        Some(Self { exchange: Box::new(exchange) })
    }

    /// The same call with copies of its arguments as headers, derived from the body that is sent. Copies that nobody asked for
    /// stay as they came.
    pub fn mirroring(&self, mirrored: &[Mirrored]) -> Self {
        let mut exchange = self.exchange.clone();
        let named = |name: &str| {
            let suffix = name.get(headers::PARAM_PREFIX.len()..).unwrap_or_default();
            let is_param = name.to_ascii_lowercase().starts_with(headers::PARAM_PREFIX);
            is_param && mirrored.iter().any(|one| one.suffix.eq_ignore_ascii_case(suffix))
        };
        exchange.carried.retain(|(name, _)| !named(name));
        let arguments = self.exchange.message().and_then(Message::params).and_then(|params| params.get("arguments"));
        exchange.carried.extend(
            derive_mirrored(mirrored, arguments).into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)),
        );
        Self { exchange }
    }

    /// An answer counts only if the caller itself gave it.
    fn answered_by<'a>(&self, answer: &'a Self) -> Option<&'a Outcome> {
        let same = answer.exchange.principal.binding() == self.exchange.principal.binding();
        match answer.exchange.message() {
            Some(Message::Response(response)) if same => Some(&response.outcome),
            _ => None,
        }
    }
}

fn is_one_of(response: &Value, outcomes: &[&Outcome]) -> bool {
    let says = |kind: InputKind| outcomes.iter().any(|outcome| up::answer(kind, outcome).as_ref() == Ok(response));
    InputKind::ALL.into_iter().any(says)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::sync::Arc;

    use gateway_protocol::{Id, RpcError};

    use super::*;
    use crate::exchange::{Route, Subject};
    use crate::identity::Principal;
    use crate::names::TraceId;

    fn of(agent: &str, message: Message) -> Permit {
        let principal = Arc::new(Principal { agent: agent.parse().unwrap(), ..Principal::anonymous() });
        let trace_id = TraceId::from_uuid(uuid::Uuid::nil());
        let exchange = Exchange::new(trace_id, principal, Route::All, Ask::Message(message), Subject::Act);
        Permit::admitted(Box::new(exchange))
    }

    fn call(params: Value) -> Message {
        let Value::Object(params) = params else { panic!("params are an object") };
        Message::request(7, "tools/call", Some(params))
    }

    #[test]
    fn a_later_round_is_the_same_call_with_the_answers_that_were_given() {
        let admitted = of("a", call(json!({ "name": "drop", "arguments": { "t": 1 }, "_meta": { "old": 1 } })));
        let accepted = json!({ "action": "accept", "content": { "sure": true } });
        let answer = of("a", Message::result(Id::from("q"), accepted.clone()));
        let failed = of("a", Message::error(Some(Id::from("q")), RpcError::new(-1, "no screen")));
        let foreign = of("b", Message::result(Id::from("q"), accepted.clone()));
        let question = of("a", call(json!({ "name": "drop", "arguments": { "t": 1 } })));
        let said = |answer: &Value| json!({ "name": "drop", "arguments": { "t": 1 }, "inputResponses": { "k": answer }, "requestState": "s" });
        let declined = json!({ "action": "decline" });
        for (params, answers, passes) in [
            (said(&accepted), vec![&answer], true),
            (said(&accepted), vec![&failed, &answer], true),
            (said(&json!({ "action": "cancel" })), vec![], true),
            (said(&json!({ "action": "cancel" })), vec![&failed], true),
            (json!({ "name": "drop", "arguments": { "t": 1 }, "requestState": "s" }), vec![], true),
            (said(&accepted), vec![], false),
            (said(&accepted), vec![&foreign], false),
            (said(&accepted), vec![&question], false),
            (said(&declined), vec![&answer], false),
            (json!({ "name": "drop", "arguments": { "t": 1 }, "inputResponses": [accepted] }), vec![&answer], false),
            (json!({ "name": "drop", "arguments": { "t": 2 }, "requestState": "s" }), vec![], false),
            (json!({ "name": "keep", "arguments": { "t": 1 }, "requestState": "s" }), vec![], false),
            (json!({ "name": "drop", "arguments": { "t": 1 }, "more": 1 }), vec![], false),
        ] {
            let again = admitted.with_inputs(call(params.clone()), &answers);
            assert_eq!(again.is_some(), passes, "{params} with {} answers", answers.len());
            assert!(again.is_none_or(|again| again.exchange().has_side_effects()), "it is still the admitted act");
        }
        let other = Message::request(8, "resources/read", None);
        assert!(admitted.with_inputs(other, &[]).is_none());
    }

    #[test]
    fn copies_of_arguments_follow_the_body() {
        let mut admitted = of("a", call(json!({ "name": "t", "arguments": { "region": "eu", "deep": { "n": 4 } } })));
        admitted.exchange.carried = vec![
            ("mcp-param-region".into(), "us".into()),
            ("Mcp-Param-Other".into(), "kept".into()),
            ("traceparent".into(), "00-1".into()),
        ];
        let one = |argument: &[&str], suffix: &str| Mirrored {
            argument: argument.iter().map(ToString::to_string).collect(),
            suffix: suffix.into(),
        };
        let wanted = [one(&["region"], "Region"), one(&["deep", "n"], "N"), one(&["absent"], "Absent")];
        let carried = admitted.mirroring(&wanted).into_exchange().carried;
        let expected =
            [("Mcp-Param-Other", "kept"), ("traceparent", "00-1"), ("mcp-param-region", "eu"), ("mcp-param-n", "4")];
        assert_eq!(carried, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
