//! Reads a JSON-RPC envelope, refusing whatever another parser could read as something else.
//!
//! Go's `encoding/json` matches keys without regard to case (and folds `ſ` to `s`, the Kelvin sign to `k`), so a second
//! `Name` beside `name` would name another tool than the one that was judged. Such keys are refused at the envelope and at the
//! top of `params`; the keys inside `arguments` belong to the tool.

use serde_json::{Map, Value};

use super::{Body, Id, Message, Notification, Outcome, Request, Response};
use crate::error::{Malformed, RpcError, code};
use crate::json;

/// More members than this in a batch are refused: each of them is judged and recorded on its own.
pub const MAX_BATCH: usize = 64;

const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The params that say what a call is about; no server may read one of them from a key we did not look at.
const WELL_KNOWN_PARAMS: [&str; 9] =
    ["_meta", "name", "arguments", "uri", "cursor", "task", "taskId", "requestState", "inputResponses"];

/// Who wrote the message. An upstream may add members we do not know; a client may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Client,
    Upstream,
}

/// Reads what a client sent.
pub fn parse(bytes: &[u8], max_depth: usize) -> Result<Body, Malformed> {
    match json::parse_strict(bytes, max_depth)? {
        Value::Array(members) if members.is_empty() => Err(invalid("a batch must not be empty")),
        Value::Array(members) if members.len() > MAX_BATCH => {
            Err(invalid(format!("a batch of {} messages is larger than {MAX_BATCH}", members.len())))
        }
        Value::Array(members) => members
            .into_iter()
            .map(|member| envelope(member, Origin::Client))
            .collect::<Result<_, _>>()
            .map(Body::Batch),
        value => envelope(value, Origin::Client).map(Body::One),
    }
}

pub(crate) fn envelope(value: Value, origin: Origin) -> Result<Message, Malformed> {
    let Value::Object(mut members) = value else {
        return Err(invalid("a message must be an object"));
    };
    // Read first, so that every later refusal can name the request it answers.
    let id = match members.remove("id") {
        None => GivenId::Absent,
        Some(Value::Null) => GivenId::Null,
        Some(value) => Id::try_from(value).map_or(GivenId::Invalid, GivenId::Valid),
    };
    let known = match &id {
        GivenId::Valid(id) => Some(id.clone()),
        _ => None,
    };
    message(members, id, origin).map_err(|refusal| refusal.answering(known.as_ref()))
}

enum GivenId {
    Absent,
    Null,
    Invalid,
    Valid(Id),
}

fn message(mut members: Map<String, Value>, id: GivenId, origin: Origin) -> Result<Message, Malformed> {
    check_members(&members, origin)?;
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    let params = members.remove("params");
    let outcome = match (members.remove("method"), members.remove("result"), members.remove("error")) {
        (Some(method), None, None) => return call(method, params, id, origin),
        (None, Some(result), None) => Outcome::Result(result),
        (None, None, Some(error)) => Outcome::Error(rpc_error(error)?),
        (None, Some(_), Some(_)) => return Err(invalid("`result` and `error` exclude each other")),
        (Some(_), _, _) => return Err(invalid("`method` excludes `result` and `error`")),
        (None, None, None) => {
            return Err(invalid("one of `method`, `result` and `error` is needed"));
        }
    };
    if params.is_some() {
        return Err(invalid("a response has no `params`"));
    }
    let id = match (id, &outcome) {
        (GivenId::Valid(id), _) => Some(id),
        // An error may answer a request whose id nobody could read.
        (GivenId::Absent | GivenId::Null, Outcome::Error(_)) => None,
        (GivenId::Absent, Outcome::Result(_)) => {
            return Err(invalid("a result must carry the id it answers"));
        }
        (GivenId::Null | GivenId::Invalid, _) => return Err(invalid_id()),
    };
    Ok(Message::Response(Response { id, outcome }))
}

fn call(method: Value, params: Option<Value>, id: GivenId, origin: Origin) -> Result<Message, Malformed> {
    let Value::String(method) = method else {
        return Err(invalid("`method` must be a string"));
    };
    let id = match id {
        GivenId::Valid(id) => Some(id),
        GivenId::Absent => None,
        GivenId::Null | GivenId::Invalid => return Err(invalid_id()),
    };
    let params = match params {
        None => None,
        Some(Value::Object(params)) => Some(params),
        Some(_) => {
            return Err(Malformed::new(code::INVALID_PARAMS, "`params` must be an object"));
        }
    };
    if let (Origin::Client, Some(params)) = (origin, &params) {
        check_params(params)?;
    }
    Ok(match id {
        Some(id) => Message::Request(Request { id, method, params }),
        None => Message::Notification(Notification { method, params }),
    })
}

/// The names of all members but the id, which is read already.
fn check_members(members: &Map<String, Value>, origin: Origin) -> Result<(), Malformed> {
    for key in members.keys() {
        check_member(key, origin)?;
    }
    Ok(())
}

pub(crate) fn check_member(key: &str, origin: Origin) -> Result<(), Malformed> {
    if ENVELOPE.contains(&key) {
        return Ok(());
    }
    if let Some(known) = ENVELOPE.into_iter().find(|known| known.eq_ignore_ascii_case(&folded(key))) {
        return Err(invalid(format!("member `{}` differs from `{known}` only in case", shown(key))));
    }
    match origin {
        Origin::Client => Err(invalid(format!("unknown member `{}`", shown(key)))),
        Origin::Upstream => Ok(()),
    }
}

fn check_params(params: &Map<String, Value>) -> Result<(), Malformed> {
    let refused = |text: String| Err(Malformed::new(code::INVALID_PARAMS, text));
    let mut seen: Vec<(String, &str)> = Vec::with_capacity(params.len());
    for key in params.keys() {
        let fold = folded(key);
        let known = WELL_KNOWN_PARAMS.into_iter().find(|known| *known != key && known.eq_ignore_ascii_case(&fold));
        if let Some(known) = known {
            return refused(format!("`params.{}` differs from `{known}` only in case", shown(key)));
        }
        seen.push((fold, key));
    }
    // Sorted, because a client may send thousands of params and comparing every pair would be a gift to it.
    seen.sort_unstable();
    for pair in seen.windows(2) {
        if let [(one, first), (other, second)] = pair
            && one == other
        {
            return refused(format!("`params.{}` and `params.{}` differ only in case", shown(first), shown(second)));
        }
    }
    Ok(())
}

/// One form for all spellings that some parser takes for the same key. Up and down again, because `ſ` has no lower case.
fn folded(key: &str) -> String {
    if key.is_ascii() {
        return key.to_ascii_lowercase();
    }
    key.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

fn rpc_error(value: Value) -> Result<RpcError, Malformed> {
    let refused = || invalid("`error` must be an object with an integer `code` and a string `message`");
    let Value::Object(mut error) = value else {
        return Err(refused());
    };
    let code = error.get("code").and_then(Value::as_i64).ok_or_else(refused)?;
    let Some(Value::String(message)) = error.remove("message") else {
        return Err(refused());
    };
    Ok(RpcError { code, message, data: error.remove("data") })
}

fn invalid(message: impl Into<String>) -> Malformed {
    Malformed::new(code::INVALID_REQUEST, message)
}

fn invalid_id() -> Malformed {
    invalid(super::InvalidId.to_string())
}

/// A key as an error shows it: the sender chose its length, we choose ours.
fn shown(key: &str) -> String {
    key.chars().take(100).collect()
}

#[cfg(test)]
mod tests;
