//! What a legacy upstream returns, for a modern client.

use serde_json::{Value, json};

use super::{Greeting, Input, InputKind, known, may_ask};
use crate::error::{RpcError, code};
use crate::message::Notification;

/// What the gateway knows of a result that its upstream could not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// How long a list may be kept; a legacy server never says, so 0 unless the operator does.
    pub ttl_ms: u64,
}

/// A modern server says of these how long and by whom they may be kept.
pub fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

/// More values than this a modern completion may not have.
const MOST_COMPLETIONS: usize = 100;

/// The result as the modern era writes it: complete, with cache hints where they are due, signed by its server.
pub fn result(method: &str, mut result: Value, server: &Greeting, hints: Hints) -> Value {
    let Value::Object(members) = &mut result else {
        return result;
    };
    // Whatever it says: a legacy server cannot know the other kinds.
    members.insert("resultType".into(), "complete".into());
    if is_cacheable(method) {
        members.insert("ttlMs".into(), hints.ttl_ms.into());
        members.insert("cacheScope".into(), "private".into());
    }
    match method {
        "tools/list" => {
            known::each(members, "tools", |tool| {
                // Promises tasks, which do not cross eras.
                tool.shift_remove("execution");
            });
        }
        "completion/complete" => {
            if let Some(completion) = members.get_mut("completion").and_then(Value::as_object_mut)
                && let Some(Value::Array(values)) = completion.get_mut("values")
                && values.len() > MOST_COMPLETIONS
            {
                values.truncate(MOST_COMPLETIONS);
                completion.insert("hasMore".into(), true.into());
            }
        }
        _ => {}
    }
    server.sign(members);
    result
}

/// What an error of a legacy upstream means to a modern client.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    Error {
        error: RpcError,
        status: u16,
    },
    /// Not an error there: the server wants these pages visited first.
    Ask(Vec<Input>),
}

const RESOURCE_NOT_FOUND: i64 = -32002;
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Two codes are no longer in use: a missing resource is an invalid param now, and required URLs are a question.
pub fn error(method: &str, error: &RpcError) -> Told {
    let error = match error.code {
        RESOURCE_NOT_FOUND => RpcError { code: code::INVALID_PARAMS, ..error.clone() },
        URL_ELICITATION_REQUIRED => match urls(error).filter(|_| may_ask(method)) {
            Some(inputs) => return Told::Ask(inputs),
            None => RpcError { code: code::INTERNAL, ..error.clone() },
        },
        _ => error.clone(),
    };
    Told::Error { status: status(error.code), error }
}

/// The HTTP status that goes with an error's code in the modern era.
pub fn status(error: i64) -> u16 {
    match error {
        code::METHOD_NOT_FOUND => 404,
        code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION => 400,
        _ => 200,
    }
}

fn urls(error: &RpcError) -> Option<Vec<Input>> {
    let wanted = error.data.as_ref()?.get("elicitations")?.as_array()?;
    let inputs: Option<Vec<Input>> = wanted
        .iter()
        .enumerate()
        .map(|(index, asked)| {
            let mut params = asked.as_object()?.clone();
            params.get("url")?.as_str()?;
            params.get("message")?.as_str()?;
            params.insert("mode".into(), json!("url"));
            Some((format!("elicitation-{}", index + 1), InputKind::Elicitation, Some(params)))
        })
        .collect();
    inputs.filter(|inputs| !inputs.is_empty())
}

/// What a modern client may hear of a legacy upstream's notifications. Cancelling a question and reporting its completion have no
/// meaning without requests from the server, and the legacy tasks do not cross.
pub fn notification(notification: Notification) -> Option<Notification> {
    match notification.method.as_str() {
        "notifications/cancelled" | "notifications/elicitation/complete" | "notifications/tasks/status" => None,
        _ => Some(notification),
    }
}
