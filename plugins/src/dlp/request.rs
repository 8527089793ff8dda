//! What a client sends: arguments, answers to a server's questions, and copies of arguments in headers.

use gateway_core::Ask;
use gateway_core::exchange::Exchange;
use gateway_core::verdict::Verdict;
use gateway_dlp::{Blocked, Counts};
use gateway_protocol::{Message, Outcome, headers};
use serde_json::{Map, Value};

use super::scope::{Scope, Way};
use super::{Inner, objection, tell};

impl Inner {
    pub(super) fn request(&self, exchange: &mut Exchange) -> Verdict {
        if self.is_idle(exchange) || !says_something(exchange) || self.is_exempt(exchange) {
            return Verdict::Pass;
        }
        if self.is_plain(exchange) {
            exchange.content.found.nothing_here();
            return Verdict::Pass;
        }
        let egress = self.handled(exchange).is_some_and(|tool| tool.handling.dlp.egress);
        let scope = self.scope(exchange, if egress { Way::Egress } else { Way::Request });
        let mut counts = Counts::default();
        let done = self.body(&scope, exchange, &mut counts).and_then(|()| self.copies(&scope, exchange, &mut counts));
        tell(&counts, &mut exchange.content.found);
        match done {
            Ok(()) => Verdict::Pass,
            Err(blocked) => Verdict::Deny(objection(&blocked, &mut exchange.content.found)),
        }
    }

    /// Most of what is asked is plain words, and a skim over it as it will be sent is all that it costs. Copies in headers
    /// are few, and always looked at.
    fn is_plain(&self, exchange: &Exchange) -> bool {
        let copied = exchange.carried.iter().any(|(name, _)| name.starts_with(headers::PARAM_PREFIX));
        let Some(params) = exchange.message().filter(|_| !copied).and_then(Message::params) else { return false };
        serde_json::to_vec(params).is_ok_and(|sent| !self.suspects(&exchange.rules, &sent))
    }

    fn body(&self, scope: &Scope, exchange: &mut Exchange, counts: &mut Counts) -> Result<(), Blocked> {
        let Ask::Message(message) = &mut exchange.ask else { return Ok(()) };
        let places = &self.rules.places;
        match message {
            Message::Response(response) => {
                let redaction = scope.redaction(&self.rules, &scope.actions, &places.answer);
                match &mut response.outcome {
                    Outcome::Result(result) => redaction.value(result, counts).map(drop),
                    Outcome::Error(error) => {
                        if let Some(edited) = redaction.text(&error.message, counts)? {
                            error.message = edited;
                        }
                        error.data.as_mut().map_or(Ok(()), |data| redaction.value(data, counts).map(drop))
                    }
                }
            }
            asked => {
                let Some(params) = asked.params_mut() else { return Ok(()) };
                let redaction = scope.redaction(&self.rules, &scope.actions, &places.request);
                let mut whole = Value::Object(std::mem::take(params));
                let done = redaction.value(&mut whole, counts);
                *params = match whole {
                    Value::Object(params) => params,
                    _ => Map::new(),
                };
                done.map(drop)
            }
        }
    }

    /// Copies of arguments that the tool's definition names are made anew from the body; these are the others.
    fn copies(&self, scope: &Scope, exchange: &mut Exchange, counts: &mut Counts) -> Result<(), Blocked> {
        let copies = exchange.carried.iter_mut().filter(|(name, _)| name.starts_with(headers::PARAM_PREFIX));
        for (name, value) in copies {
            let redaction = scope.redaction(&self.rules, &scope.actions, &self.rules.places.request);
            // What nobody can decode, nobody can read either.
            let Ok(said) = headers::decode_value(value) else { continue };
            let edited = redaction.text(&said, counts).map_err(|blocked| Blocked { path: name.clone(), ..blocked })?;
            if let Some(edited) = edited {
                *value = headers::encode_value(&edited);
            }
        }
        Ok(())
    }
}

/// Handshakes and lists say who asks, not what.
fn says_something(exchange: &Exchange) -> bool {
    match &exchange.ask {
        Ask::Message(Message::Response(_)) => true,
        Ask::Message(message) => !matches!(
            message.method(),
            Some(
                "initialize"
                    | "server/discover"
                    | "ping"
                    | "notifications/initialized"
                    | "tools/list"
                    | "prompts/list"
                    | "resources/list"
                    | "resources/templates/list"
                    | "tasks/list"
            )
        ),
        _ => false,
    }
}
