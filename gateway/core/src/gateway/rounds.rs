//! The rounds of one call: the state a server hands out with its question is sealed for the caller, and good once.
//!
//! A server of the stateless era keeps nothing between two rounds: what it needs it gives the client and gets back. Sealed,
//! that state opens only for the caller it was made for, with the same question, for a while, and the ledger shows which
//! round followed which.

use std::time::Duration;

use gateway_protocol::era::may_ask;
use gateway_protocol::{Malformed, Message, Outcome, Reply, ReplyKind, Request, ResultKind, RpcError, code};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::asking::{self, Question};
use super::record::Story;
use super::{Gateway, Ports};
use crate::approvals::Granted;
use crate::chain::Ruling;
use crate::digest;
use crate::exchange::{ApprovalShown, Exchange, Route, Said};
use crate::home::Home;
use crate::identity::Principal;
use crate::names::TraceId;
use crate::outcome::Status;
use crate::ports::{Clock, Seal};
use crate::refusal::{self, Answer};
use crate::session::route_key;

const STATE: &str = "requestState";
const ANSWERS: &str = "inputResponses";
/// What a seal can open again, with room for the rest of the round and for the seal itself.
const LARGEST: usize = 128 * 1024;
/// States that stand for a call parked in this process.
const PARKED: &str = "portreeve-held:";

/// What a state says once opened.
#[derive(Serialize, Deserialize)]
struct Round {
    id: Uuid,
    binding: String,
    route: String,
    method: String,
    /// Of the question as it was sent: no other may be asked with this state.
    digest: String,
    until: Timestamp,
    /// The round that handed it out.
    trace: TraceId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home: Option<Home>,
    #[serde(flatten)]
    marks: Marks,
    /// The server's own; of no meaning where the question is ours.
    state: String,
}

/// What of an approval goes on with a round. Only the gateway sets these: no server's state can.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Marks {
    /// The round is part of a call that was approved: it needs no second yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approved: Option<Approved>,
    /// The question is the gateway's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asks: Option<Question>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Approved {
    pub(super) id: Uuid,
    pub(super) binding: String,
}

/// A state that was opened and is not used up yet.
#[derive(Debug)]
pub(super) struct Spend {
    id: Uuid,
    until: Timestamp,
    digest: String,
    approved: Option<Approved>,
}

impl Spend {
    /// The right to go on with an approved call, if it is still the same one. It is used up with the state.
    pub(super) fn continuing(&self, bound: &str) -> Option<Granted> {
        let approved = self.approved.as_ref().filter(|approved| approved.binding == bound)?;
        Some(Granted::used(approved.id, approved.binding.clone()))
    }

    pub(super) fn fits(&self, exchange: &Exchange) -> bool {
        self.digest == question(exchange)
    }
}

pub(super) struct Rounds<'a> {
    seal: &'a dyn Seal,
    clock: &'a dyn Clock,
    home: &'a Home,
    hold: Duration,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(ports: &'a Ports, hold: Duration) -> Self {
        Self { seal: ports.seal.as_ref(), clock: ports.clock.as_ref(), home: &ports.home, hold }
    }

    /// Puts the server's own state back where the client showed a sealed one: what is judged is what is sent.
    pub(super) fn open(&self, exchange: &mut Exchange) -> Result<Option<Spend>, Malformed> {
        let Some(method) = exchange.method().filter(|method| exchange.is_modern() && may_ask(method)) else {
            return Ok(None);
        };
        let Some(shown) = exchange.message().and_then(Message::params).and_then(|params| params.get(STATE)) else {
            return Ok(None);
        };
        let Some(round) =
            shown.as_str().and_then(|token| self.unseal(&exchange.principal, &exchange.route, method, token))
        else {
            return Err(invalid().answering(exchange.message().and_then(Message::id)));
        };
        let Round { id, until, digest, trace, state, marks, .. } = round;
        if let Some(asked) = marks.asks {
            let answered = exchange.params_mut().and_then(take_answer);
            exchange.approval = Some(ApprovalShown { id: asked.approval, form: asked.form, answered });
        } else if let Some(params) = exchange.params_mut() {
            params.insert(STATE.into(), Value::String(state));
        }
        exchange.continues = Some(trace);
        Ok(Some(Spend { id, until, digest, approved: marks.approved }))
    }

    /// Where the call waits that this request goes on with, if it waits in a process.
    pub(super) fn home_of(&self, principal: &Principal, route: &Route, request: &Request) -> Option<Home> {
        let token = request.params.as_ref()?.get(STATE)?.as_str()?;
        self.unseal(principal, route, &request.method, token)?.home
    }

    /// `None` for what is forged, expired, another caller's, or for another door or method.
    fn unseal(&self, principal: &Principal, route: &Route, method: &str, token: &str) -> Option<Round> {
        let round: Round = serde_json::from_slice(&self.seal.open(token)?).ok()?;
        let fits = round.binding == principal.binding()
            && round.route == route_key(route)
            && round.method == method
            && self.clock.now() < round.until;
        fits.then_some(round)
    }

    /// Seals the state of a reply that asks; every other reply is only looked at.
    #[cfg(test)]
    fn close(&self, exchange: &Exchange, reply: &mut Reply) {
        self.close_with(exchange, Marks::default(), reply);
    }

    /// The same, with what of an approval goes on.
    pub(super) fn close_with(&self, exchange: &Exchange, marks: Marks, reply: &mut Reply) {
        if !matches!(reply.kind(), ReplyKind::Result { kind: ResultKind::InputRequired, .. }) || !exchange.is_modern() {
            return;
        }
        let Some(method) = exchange.method().filter(|method| may_ask(method)) else {
            return;
        };
        let Ok(Message::Response(mut response)) = reply.message() else {
            return;
        };
        let Outcome::Result(result) = &mut response.outcome else {
            return;
        };
        let Some(Value::String(state)) = result.get_mut(STATE) else {
            return;
        };
        let round = Round {
            id: self.clock.fresh_id(),
            binding: exchange.principal.binding(),
            route: route_key(&exchange.route),
            method: method.into(),
            digest: question(exchange),
            until: self.clock.now().checked_add(self.hold).unwrap_or(Timestamp::MAX),
            trace: exchange.trace_id.clone(),
            home: state.starts_with(PARKED).then(|| self.home.clone()),
            marks,
            state: std::mem::take(state),
        };
        // Plain data: serialising it cannot fail.
        let plain = serde_json::to_vec(&round).unwrap_or_default();
        if plain.len() > LARGEST {
            tracing::warn!(bytes = plain.len(), "an upstream asked with a state that is too large to be sealed");
            let error = RpcError::new(code::INTERNAL, "the server asked with a `requestState` larger than 128 KiB");
            *reply = Reply::from_message(&Message::error(response.id, error));
            return;
        }
        *state = self.seal.seal(&plain);
        *reply = Reply::from_message(&Message::Response(response));
    }
}

impl Gateway {
    /// Uses the state up, once the chain has admitted the round and before anything is sent: a round that was refused may
    /// be tried again. An `Err` is the refusal, recorded.
    pub(super) async fn spend(
        &self,
        spend: &Spend,
        exchange: &Exchange,
        ruling: &mut Ruling,
        story: &mut Story,
    ) -> Result<(), Answer> {
        let id = exchange.message().and_then(Message::id);
        let (rule, why) = if spend.fits(exchange) {
            match self.ports.once.spend(spend.id, spend.until).await {
                Ok(true) => return Ok(()),
                Ok(false) => ("replayed", "this `requestState` was used before"),
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "a state could not be marked as used: {error}"
                    );
                    story.forget();
                    return Err(refusal::unrecorded(&exchange.trace_id, id.cloned()));
                }
            }
        } else {
            ("changed", "this `requestState` was made for another question")
        };
        ruling.deny("rounds", rule, why);
        story.ends_as(Status::Denied);
        if story.decide(exchange, ruling, true).await.is_err() {
            return Err(refusal::unrecorded(&exchange.trace_id, id.cloned()));
        }
        story.close(Status::Denied, None);
        Err(refusal::malformed(&invalid().answering(id)))
    }
}

/// Our own question and its answer are no part of the call: what is judged is what is sent.
fn take_answer(params: &mut Map<String, Value>) -> Option<Said> {
    params.shift_remove(STATE);
    let answers = params.get_mut(ANSWERS)?.as_object_mut()?;
    let answer = answers.shift_remove(asking::KEY);
    if answers.is_empty() {
        params.shift_remove(ANSWERS);
    }
    asking::said(&answer?)
}

/// One text for every way a state can be bad: a forger learns nothing from it.
pub(super) fn invalid() -> Malformed {
    Malformed::new(code::INVALID_PARAMS, "Invalid or expired requestState: make the call again from the start")
}

/// The digest of what is asked, after every change that was made to it on the way.
fn question(exchange: &Exchange) -> String {
    let params = exchange.message().and_then(Message::params);
    let of = |key: &str| params.and_then(|params| params.get(key)).unwrap_or(&Value::Null);
    let asked = json!([of("name"), of("uri"), of("arguments"), exchange.tool().map(|tool| tool.name.as_str())]);
    digest::hex(&serde_json_canonicalizer::to_vec(&asked).unwrap_or_else(|_| asked.to_string().into_bytes()))
}

#[cfg(test)]
mod tests;
