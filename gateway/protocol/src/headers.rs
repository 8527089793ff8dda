//! The MCP headers of one HTTP request, and whether they say the same as its body.
//!
//! From 2026-07-28 on a request repeats its version, method and name in headers, so that a load balancer can route without
//! reading the body. A server that does read it must refuse any disagreement; otherwise one part of the network acts on the
//! header and another on the body. Headers are never trusted for a decision: they are compared, and derived anew upstream.

mod param;
mod value;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::error::{Malformed, code};
use crate::message::Message;
use crate::revision::{Revision, meta};

pub use param::{Mirrored, check_mirrored, check_param, derive_mirrored, mirrored, param_value};
pub use value::{ValueError, decode_value, encode_value};

pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub const SESSION_ID: &str = "mcp-session-id";
pub const METHOD: &str = "mcp-method";
pub const NAME: &str = "mcp-name";
pub const LAST_EVENT_ID: &str = "last-event-id";
/// A tool's argument, mirrored because the tool's schema asks for it with `x-mcp-header`.
pub const PARAM_PREFIX: &str = "mcp-param-";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpHeaders {
    pub protocol_version: Option<String>,
    pub session_id: Option<String>,
    pub method: Option<String>,
    pub name: Option<String>,
    pub last_event_id: Option<String>,
    /// The part after `Mcp-Param-`, in lower case, and the value as it came.
    pub params: Vec<(String, String)>,
    /// The first MCP header that came twice.
    pub repeated: Option<String>,
}

impl McpHeaders {
    /// Takes one header of the request; other headers are ignored. A value that is not ASCII is kept as far as it is text and
    /// refused when it is compared.
    pub fn insert(&mut self, name: &str, value: &[u8]) {
        // Most headers are not ours, and copying them would be most of the work.
        let starts = |own: &str| name.get(..own.len()).is_some_and(|start| start.eq_ignore_ascii_case(own));
        if !starts("mcp-") && !name.eq_ignore_ascii_case(LAST_EVENT_ID) {
            return;
        }
        let name = name.to_ascii_lowercase();
        let value = String::from_utf8_lossy(value).trim_matches([' ', '\t']).to_owned();
        let slot = match name.as_str() {
            PROTOCOL_VERSION => &mut self.protocol_version,
            SESSION_ID => &mut self.session_id,
            METHOD => &mut self.method,
            NAME => &mut self.name,
            LAST_EVENT_ID => &mut self.last_event_id,
            other => {
                let Some(suffix) = other.strip_prefix(PARAM_PREFIX) else {
                    return;
                };
                if self.param(suffix).is_some() {
                    self.repeated.get_or_insert(name);
                } else {
                    self.params.push((suffix.to_owned(), value));
                }
                return;
            }
        };
        if slot.is_some() {
            self.repeated.get_or_insert(name);
        } else {
            *slot = Some(value);
        }
    }

    pub fn collect<'a>(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut collected = Self::default();
        for (name, value) in headers {
            collected.insert(name, value);
        }
        collected
    }

    /// The value of `Mcp-Param-{suffix}`, still encoded.
    pub fn param(&self, suffix: &str) -> Option<&str> {
        self.params.iter().find(|(own, _)| own.eq_ignore_ascii_case(suffix)).map(|(_, value)| value.as_str())
    }
}

/// The revision that header and body declare together, if any. Legacy messages declare none in the body, and the first
/// ones none in the header either; the session knows.
pub fn declared_revision(headers: &McpHeaders, message: &Message) -> Result<Option<Revision>, Malformed> {
    let refuse = |refusal: Malformed| refusal.answering(message.id());
    if let Some(name) = &headers.repeated {
        return Err(refuse(mismatch(format!("header `{name}` came more than once"))));
    }
    let body = body_revision(message);
    let header = headers.protocol_version.as_deref();
    let Some(written) = body_version(message) else {
        body?;
        return match header {
            None => Ok(None),
            Some(header) => match header.parse() {
                Ok(revision) => Ok(Some(revision)),
                // A first message may name a version we never heard of: `initialize` negotiates it in its params.
                Err(_) if message.method() == Some("initialize") => Ok(None),
                Err(_) => Err(refuse(unsupported(header))),
            },
        };
    };
    match header {
        Some(header) if header != written => Err(refuse(mismatch(format!(
            "header `MCP-Protocol-Version` is `{}` but the body says `{}`",
            shown(header),
            shown(written)
        )))),
        None if !matches!(body, Ok(Some(revision)) if !revision.is_modern()) => {
            Err(refuse(mismatch("header `MCP-Protocol-Version` is missing")))
        }
        _ => body,
    }
}

/// The revision the body alone declares, for transports without headers.
pub fn body_revision(message: &Message) -> Result<Option<Revision>, Malformed> {
    let refuse = |refusal: Malformed| Err(refusal.answering(message.id()));
    match message.meta().and_then(|meta| meta.get(meta::PROTOCOL_VERSION)) {
        None => Ok(None),
        Some(Value::String(written)) => match written.parse() {
            Ok(revision) => Ok(Some(revision)),
            Err(_) => refuse(unsupported(written)),
        },
        Some(_) => refuse(Malformed::new(
            code::INVALID_PARAMS,
            format!("`_meta` key `{}` must be a string", meta::PROTOCOL_VERSION),
        )),
    }
}

fn body_version(message: &Message) -> Option<&str> {
    message.meta()?.get(meta::PROTOCOL_VERSION)?.as_str()
}

/// Whether a modern request's headers say what its body says. On a notification the headers may be absent, never wrong.
/// `Mcp-Param-*` needs the tool's definition: see `check_mirrored`.
pub fn check_agreement(headers: &McpHeaders, message: &Message) -> Result<(), Malformed> {
    let agreed = match message {
        Message::Request(request) => {
            check_required_meta(message.meta()).and_then(|()| check(headers, &request.method, message, true))
        }
        Message::Notification(notification) => check(headers, &notification.method, message, false),
        Message::Response(_) => Ok(()),
    };
    agreed.map_err(|refusal| refusal.answering(message.id()))
}

fn check(headers: &McpHeaders, method: &str, message: &Message, required: bool) -> Result<(), Malformed> {
    if let Some(name) = &headers.repeated {
        return Err(mismatch(format!("header `{name}` came more than once")));
    }
    match headers.method.as_deref() {
        None if required => return Err(mismatch("header `Mcp-Method` is missing")),
        Some(header) if header != method => {
            let text = format!("header `Mcp-Method` is `{}` but the body says `{}`", shown(header), shown(method));
            return Err(mismatch(text));
        }
        _ => {}
    }
    let Some(source) = name_source(method) else {
        return Ok(());
    };
    let Some(header) = headers.name.as_deref() else {
        return if required { Err(mismatch("header `Mcp-Name` is missing")) } else { Ok(()) };
    };
    let header = decode_value(header).map_err(|error| mismatch(format!("header `Mcp-Name` {error}")))?;
    match message.params().and_then(|params| params.get(source)).and_then(Value::as_str) {
        Some(body) if body == header => Ok(()),
        Some(body) => Err(mismatch(format!(
            "header `Mcp-Name` is `{}` but `params.{source}` is `{}`",
            shown(&header),
            shown(body)
        ))),
        None => {
            Err(mismatch(format!("header `Mcp-Name` is `{}` but the body has no `params.{source}`", shown(&header))))
        }
    }
}

/// Whether a modern request describes itself as it must; for wires without headers, where nothing else is to be compared.
pub fn check_meta(message: &Message) -> Result<(), Malformed> {
    match message {
        Message::Request(_) => check_required_meta(message.meta()).map_err(|refusal| refusal.answering(message.id())),
        Message::Notification(_) | Message::Response(_) => Ok(()),
    }
}

fn check_required_meta(given: Option<&Map<String, Value>>) -> Result<(), Malformed> {
    for (key, fits) in [
        (meta::PROTOCOL_VERSION, Value::is_string as fn(&Value) -> bool),
        (meta::CLIENT_CAPABILITIES, Value::is_object),
    ] {
        if !given.and_then(|given| given.get(key)).is_some_and(fits) {
            return Err(Malformed::new(
                code::INVALID_PARAMS,
                format!("`_meta` key `{key}` is missing or has the wrong type"),
            ));
        }
    }
    Ok(())
}

/// The member of `params` that `Mcp-Name` mirrors, for the methods that have one.
fn name_source(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// The headers for what is really sent upstream: from the message after all changes, never from what the client wrote.
pub fn derive(message: &Message, revision: Revision) -> Vec<(&'static str, String)> {
    let mut headers = Vec::with_capacity(3);
    // A legacy handshake comes before there is a version to declare.
    let opening = !revision.is_modern() && message.method() == Some("initialize");
    if revision.has_version_header() && !opening {
        headers.push(("MCP-Protocol-Version", revision.as_str().to_owned()));
    }
    let Some(method) = message.method().filter(|_| revision.is_modern()) else {
        return headers;
    };
    // The spec has no encoding for a method. One that is no header value is left out, and the upstream refuses the call.
    if encode_value(method) == method {
        headers.push(("Mcp-Method", method.to_owned()));
    }
    let name = name_source(method).and_then(|source| message.params()?.get(source)?.as_str());
    if let Some(name) = name {
        headers.push(("Mcp-Name", encode_value(name)));
    }
    headers
}

fn mismatch(text: impl Into<String>) -> Malformed {
    Malformed::new(code::HEADER_MISMATCH, text)
}

/// Only the stateless revisions are chosen per request; the older ones are negotiated in a handshake.
fn unsupported(requested: &str) -> Malformed {
    let supported: Vec<_> = Revision::ALL.into_iter().filter(|known| known.is_modern()).map(Revision::as_str).collect();
    Malformed::new(code::UNSUPPORTED_VERSION, format!("unsupported protocol version `{}`", shown(requested)))
        .with_data(json!({ "supported": supported, "requested": shown(requested) }))
}

/// A value as an error shows it: the sender chose its length, we choose ours.
fn shown(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(100) {
        Some((end, _)) => Cow::Owned(format!("{}…", value.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(value),
    }
}

#[cfg(test)]
mod tests;
