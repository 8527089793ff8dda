//! How a round ends for the client: with the answer, or with the questions that stand between it and the answer.

use std::sync::Arc;

use gateway_core::ports::UpstreamError;
use gateway_protocol::era;
use gateway_protocol::era::up_results::{self, Hints, Told};
use gateway_protocol::{Id, Message, Outcome, Reply, RpcError, code};

use crate::ask;
use crate::bridge::held::{AGAIN, HeldCalls};
use crate::bridge::live::Live;
use crate::bridge::running::{Audience, Heard, Running};

/// The last message of a round.
pub(super) fn conclude(
    held: &Arc<HeldCalls>,
    running: Running,
    audience: &Audience,
    last: Heard,
) -> Result<(u16, Message), UpstreamError> {
    let id = audience.id.clone();
    let live = Arc::clone(running.live());
    match last {
        Heard::Done(reply) => translated(&live, running.method(), id, &reply),
        Heard::Failed(error) => Err(error),
        Heard::Asked => {
            let questions = running.questions();
            Ok(match held.park(running) {
                Some(state) => (200, Message::result(id, era::asking(questions, Some(&state), live.greeting()))),
                None => {
                    let what = "too many calls of this agent wait for an answer; answer those first";
                    (429, Message::error(Some(id), RpcError::new(code::LIMITED, what)))
                }
            })
        }
        Heard::Begun | Heard::Told(_) | Heard::Gone(_) | Heard::Odd(_) => {
            Err(ask::not_mcp(&live.settings().namespace, "an answer that comes too late"))
        }
    }
}

fn translated(live: &Live, method: &str, id: Id, reply: &Reply) -> Result<(u16, Message), UpstreamError> {
    let not_mcp = |what: &str| ask::not_mcp(&live.settings().namespace, what);
    let Message::Response(response) = reply.message().map_err(|refusal| not_mcp(&refusal.message))? else {
        return Err(not_mcp("a question instead of an answer"));
    };
    let error = match response.outcome {
        Outcome::Result(result) => {
            let result = up_results::result(method, result, live.greeting(), Hints::default());
            return Ok((200, Message::result(id, result)));
        }
        Outcome::Error(error) => error,
    };
    Ok(match up_results::error(method, &error) {
        Told::Error { error, status } => (status, Message::error(Some(id), error)),
        Told::Ask(inputs) if inputs.iter().all(|(_, kind, params)| live.may_ask(*kind, params.as_ref())) => {
            (200, Message::result(id, era::asking(inputs, Some(AGAIN), live.greeting())))
        }
        Told::Ask(_) => (200, Message::error(Some(id), RpcError { code: code::INTERNAL, ..error })),
    })
}
