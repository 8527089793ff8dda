//! What a modern client asks, for a legacy upstream.

use serde_json::{Map, Value, json};

use super::{InputKind, known, set_or_remove, with_meta};
use crate::message::{Id, Request};
use crate::revision::meta;

/// Why a request has no legacy words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// The modern era removed the method, or the gateway answers it itself; a modern client is told that it does not exist.
    NotThere,
}

/// The `_meta` keys with which a modern request describes itself; a legacy session knows all that from its handshake.
const SELF_DESCRIPTION: [&str; 4] =
    [meta::PROTOCOL_VERSION, meta::CLIENT_CAPABILITIES, meta::CLIENT_INFO, meta::LOG_LEVEL];

/// The request under an id and a progress token of the gateway's, since several clients' calls may share one session. What a
/// vendor put into `_meta` travels along, and so do methods nobody here knows.
pub fn request(request: &Request, id: Id, token: Option<&Id>) -> Result<Request, Gone> {
    if is_gone(&request.method) {
        return Err(Gone::NotThere);
    }
    let mut params = request.params.clone().unwrap_or_default();
    // Answers reach a legacy server as responses. `task` would start a task whose result no modern client could fetch.
    for name in ["inputResponses", "requestState", "task"] {
        params.shift_remove(name);
    }
    with_meta(&mut params, |given| {
        for key in SELF_DESCRIPTION {
            given.shift_remove(key);
        }
        set_or_remove(given, meta::PROGRESS_TOKEN, token.map(Value::from));
    });
    Ok(Request { id, method: request.method.clone(), params: Some(params).filter(|params| !params.is_empty()) })
}

fn is_gone(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "server/discover"
            | "subscriptions/listen"
    ) || method.starts_with("tasks/")
}

/// What the modern client can do, as `initialize` declares it. Extensions and tasks do not cross, so they are not promised; a
/// modern client does not report changes of its roots.
pub fn capabilities(modern: &Map<String, Value>) -> Map<String, Value> {
    let mut legacy = known::capabilities(modern, &["elicitation", "sampling", "roots", "experimental"]);
    if let Some(Value::Object(roots)) = legacy.get_mut("roots") {
        roots.shift_remove("listChanged");
    }
    legacy
}

/// One of a modern client's `inputResponses` as the result a legacy server waits for. An elicitation that was not answered in
/// its shape counts as cancelled.
pub fn answer(kind: InputKind, response: &Value) -> Value {
    if kind == InputKind::Elicitation && !kind.is_answered_by(response) {
        return json!({ "action": "cancel" });
    }
    let mut response = response.clone();
    let Value::Object(members) = &mut response else {
        return response;
    };
    members.shift_remove("resultType");
    // A null is no content to the schemas.
    if members.get("content").is_some_and(Value::is_null) {
        members.shift_remove("content");
    }
    // Older servers know one block, not a list; a list of one says the same to all of them.
    if kind == InputKind::Sampling
        && let Some(Value::Array(blocks)) = members.get_mut("content")
        && blocks.len() == 1
        && let Some(block) = blocks.pop_if(|block| block.is_object())
    {
        members.insert("content".into(), block);
    }
    response
}
