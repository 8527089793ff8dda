//! What a legacy client asks, for a modern upstream: each request describes the client anew.

use serde_json::{Map, Value, json};

use super::{Handshake, InputKind, Level, known, set_or_remove, with_meta};
use crate::error::{RpcError, code};
use crate::message::{Id, Outcome, Request};
use crate::revision::{Revision, meta};

/// The request with the handshake's facts in its `_meta`.
pub fn request(request: &Request, id: Id, token: Option<&Id>, handshake: &Handshake, level: Option<Level>) -> Request {
    let mut params = request.params.clone().unwrap_or_default();
    // The tasks of 2025-11-25 are another wire; a server without them would ignore this.
    params.shift_remove("task");
    with_meta(&mut params, |given| {
        given.insert(meta::PROTOCOL_VERSION.into(), Revision::LATEST.as_str().into());
        given.insert(meta::CLIENT_CAPABILITIES.into(), Value::Object(capabilities(handshake)));
        let info = Some(&handshake.client_info).filter(|info| known::is_implementation(info));
        set_or_remove(given, meta::CLIENT_INFO, info.cloned());
        set_or_remove(given, meta::LOG_LEVEL, level.map(|level| level.as_str().into()));
        set_or_remove(given, meta::PROGRESS_TOKEN, token.map(Value::from));
    });
    Request { id, method: request.method.clone(), params: Some(params) }
}

/// What the legacy client can do, as a modern request declares it. What its revision cannot be asked (a URL, tools while
/// sampling) is not promised, so that the server asks in another way; but where it had no word for forms, the server still asks.
pub fn capabilities(handshake: &Handshake) -> Map<String, Value> {
    let mut modern = super::down::capabilities(&handshake.capabilities);
    if handshake.revision < Revision::V2025_11_25 {
        for (capability, parts) in [("elicitation", ["form", "url"]), ("sampling", ["context", "tools"])] {
            if let Some(Value::Object(declared)) = modern.get_mut(capability) {
                parts.iter().for_each(|part| drop(declared.shift_remove(*part)));
            }
        }
    }
    if handshake.predates_forms() {
        modern.insert("elicitation".into(), json!({}));
    }
    modern
}

/// A modern request once more, with the answers the server asked for and its state, under a new id.
pub fn retry(request: &Request, id: Id, answers: Map<String, Value>, state: Option<String>) -> Request {
    let mut params = request.params.clone().unwrap_or_default();
    set_or_remove(&mut params, "inputResponses", Some(answers).filter(|all| !all.is_empty()).map(Value::Object));
    set_or_remove(&mut params, "requestState", state.map(Value::String));
    Request { id, method: request.method.clone(), params: Some(params) }
}

/// A legacy client's answer to a question as one of the `inputResponses`. A form that could not be shown counts as cancelled; a
/// server that needed a model or the roots cannot go on, and the call ends with the client's own error.
pub fn answer(kind: InputKind, outcome: &Outcome) -> Result<Value, RpcError> {
    match outcome {
        Outcome::Result(answer) if kind.is_answered_by(answer) => Ok(super::down::answer(kind, answer)),
        _ if kind == InputKind::Elicitation => Ok(json!({ "action": "cancel" })),
        Outcome::Error(error) => Err(error.clone()),
        Outcome::Result(_) => Err(RpcError::new(
            code::INVALID_PARAMS,
            format!("the client's answer to `{}` is not what that request asks for", kind.method()),
        )),
    }
}
