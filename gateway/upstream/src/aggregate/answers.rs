//! What the aggregate says for itself, in the shapes of both eras.

use gateway_core::Namespace;
use gateway_core::ports::{Answered, NewSession};
use gateway_protocol::revision::meta;
use gateway_protocol::{Message, Request, Revision, RpcError, code};
use serde_json::{Map, Value, json};

use super::sessions::AggregateSession;

/// How the gateway introduces itself. The name also stands where an error must name an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    pub name: Namespace,
    pub version: String,
}

impl ServerInfo {
    pub fn new(name: Namespace, version: impl Into<String>) -> Self {
        Self { name, version: version.into() }
    }

    fn to_value(&self) -> Value {
        json!({ "name": self.name.as_str(), "version": self.version })
    }
}

pub(super) fn initialized(
    request: &Request,
    session: &AggregateSession,
    mut capabilities: Map<String, Value>,
    server: &ServerInfo,
) -> Answered {
    if session.revision < Revision::V2025_03_26 {
        capabilities.remove("completions");
    }
    let result = json!({
        "protocolVersion": session.revision.as_str(),
        "capabilities": capabilities,
        "serverInfo": server.to_value(),
    });
    Answered { session: Some(NewSession { id: session.id.clone(), pinned: true }), ..answer(request, result) }
}

pub(super) fn discovered(request: &Request, capabilities: Map<String, Value>, server: &ServerInfo) -> Answered {
    let result = Map::from_iter([
        ("supportedVersions".into(), json!(Revision::ALL.map(Revision::as_str))),
        ("capabilities".into(), Value::Object(capabilities)),
    ]);
    cacheable(request, result, true, server)
}

/// A result that the modern era wants marked: complete, never fresh, for this caller alone.
pub(super) fn cacheable(
    request: &Request,
    mut result: Map<String, Value>,
    modern: bool,
    server: &ServerInfo,
) -> Answered {
    if modern {
        result.insert("resultType".into(), json!("complete"));
        result.insert("ttlMs".into(), json!(0));
        result.insert("cacheScope".into(), json!("private"));
        let own = result.entry("_meta").or_insert_with(|| json!({}));
        if let Some(own) = own.as_object_mut() {
            own.insert(meta::SERVER_INFO.into(), server.to_value());
        }
    }
    answer(request, Value::Object(result))
}

pub(super) fn empty(request: &Request) -> Answered {
    answer(request, json!({}))
}

/// A dual-era client takes it as the sign to say `initialize`.
pub(super) fn not_initialized(request: &Request) -> Answered {
    refused(request, 400, RpcError::new(code::NOT_INITIALIZED, "Server not initialized"))
}

/// In a legacy session 404 would mean that the session is gone.
pub(super) fn unknown_method(request: &Request, modern: bool) -> Answered {
    let error = RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {}", request.method));
    refused(request, if modern { 404 } else { 200 }, error)
}

pub(super) fn refused(request: &Request, status: u16, error: RpcError) -> Answered {
    Answered::one(status, &Message::error(Some(request.id.clone()), error))
}

pub(super) fn accepted() -> Answered {
    Answered::nothing(202)
}

pub(super) fn ended() -> Answered {
    Answered::nothing(204)
}

/// There is no stream to listen to outside a session.
pub(super) fn no_stream() -> Answered {
    Answered::nothing(405)
}

fn answer(request: &Request, result: Value) -> Answered {
    Answered::one(200, &Message::result(request.id.clone(), result))
}
