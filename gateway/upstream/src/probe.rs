//! What tools an upstream has, asked by the gateway for nobody: the modern way first, then the handshake of the older eras.

use std::sync::Arc;

use gateway_core::exchange::{Ask, Exchange, Route, Subject};
use gateway_core::ports::{ToolDefinition, Upstream, UpstreamError};
use gateway_core::session::Session;
use gateway_core::{Namespace, Permit, Principal, TraceId};
use gateway_protocol::revision::meta;
use gateway_protocol::{Message, Outcome, Revision};
use serde_json::{Map, Value, json};
use tracing::warn;
use uuid::Uuid;

use crate::ask;

pub async fn list_tools(
    upstream: &dyn Upstream,
    namespace: &Namespace,
    principal: &Arc<Principal>,
) -> Result<Vec<ToolDefinition>, UpstreamError> {
    let probe = Probe { upstream, namespace, principal };
    let tools = match probe.modern().await? {
        Some(tools) => tools,
        None => probe.legacy().await?,
    };
    Ok(definitions(namespace, tools))
}

struct Probe<'a> {
    upstream: &'a dyn Upstream,
    namespace: &'a Namespace,
    principal: &'a Arc<Principal>,
}

impl Probe<'_> {
    /// `None` from an upstream that does not speak the modern revision.
    async fn modern(&self) -> Result<Option<Vec<Value>>, UpstreamError> {
        let described = own_meta();
        let params = Map::from_iter([("_meta".into(), Value::Object(described.clone()))]);
        let message = Message::request(ask::own_id(), "server/discover", Some(params));
        let permit = |message| self.permit(Ask::Message(message), Some(Revision::LATEST), None);
        match ask::question(self.upstream, self.namespace, permit(message)).await {
            Ok((_, Outcome::Result(result))) if speaks_modern(&result) => {
                ask::tools(self.upstream, self.namespace, Some(&described), permit).await.map(Some)
            }
            Err(error @ UpstreamError::Unreachable(..)) => Err(error),
            // Older servers refuse in many ways, and some do not answer at all.
            _ => Ok(None),
        }
    }

    async fn legacy(&self) -> Result<Vec<Value>, UpstreamError> {
        let asked = Revision::LATEST_LEGACY;
        let params = Map::from_iter([
            ("protocolVersion".into(), json!(asked.as_str())),
            ("capabilities".into(), json!({})),
            ("clientInfo".into(), ask::own_client_info()),
        ]);
        let opening = |message| self.permit(Ask::Message(message), Some(asked), None);
        let opened = ask::initialize(self.upstream, self.namespace, params, opening).await?;
        let revision = opened.revision.or(Some(asked));
        let session = Session::new(self.principal, &Route::One(self.namespace.clone()), revision, opened.id);
        let inside = |ask| self.permit(ask, revision, Some(session.clone()));
        if let Some(permit) = inside(Ask::Message(Message::notification("notifications/initialized", None))) {
            self.upstream.call(&permit).await?;
        }
        let tools = ask::tools(self.upstream, self.namespace, None, |message| inside(Ask::Message(message))).await;
        if let Some(permit) = inside(Ask::EndSession) {
            // Many servers do not end sessions on request; nothing depends on it.
            let _ = self.upstream.call(&permit).await;
        }
        tools
    }

    fn permit(&self, ask: Ask, revision: Option<Revision>, session: Option<Session>) -> Option<Permit> {
        let trace_id = TraceId::from_uuid(Uuid::now_v7());
        let route = Route::One(self.namespace.clone());
        let plain = Exchange::new(trace_id, Arc::clone(self.principal), route, ask, Subject::Plain);
        Permit::for_discovery(Exchange { revision, session, ..plain })
    }
}

/// What the gateway says of itself on a modern request of its own.
pub(crate) fn own_meta() -> Map<String, Value> {
    Map::from_iter([
        (meta::PROTOCOL_VERSION.into(), json!(Revision::LATEST.as_str())),
        (meta::CLIENT_CAPABILITIES.into(), json!({})),
        (meta::CLIENT_INFO.into(), ask::own_client_info()),
    ])
}

pub(crate) fn speaks_modern(discovered: &Value) -> bool {
    let versions = discovered.get("supportedVersions").and_then(Value::as_array);
    versions.is_some_and(|versions| versions.iter().any(|version| version == Revision::LATEST.as_str()))
}

fn definitions(namespace: &Namespace, tools: Vec<Value>) -> Vec<ToolDefinition> {
    let mut definitions = Vec::with_capacity(tools.len());
    for definition in tools {
        let name = definition.get("name").and_then(Value::as_str).unwrap_or_default();
        match format!("{namespace}/{name}").parse() {
            Ok(name) => definitions.push(ToolDefinition { name, definition }),
            Err(error) => warn!(namespace = %namespace, "left out a tool of {namespace}: {error}"),
        }
    }
    definitions
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::testing::{FakeUpstream, space};

    async fn names(upstream: &FakeUpstream) -> Vec<String> {
        let principal = Arc::new(Principal::anonymous());
        let tools = list_tools(upstream, &space("notes"), &principal).await.unwrap();
        tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    #[tokio::test]
    async fn asks_a_modern_upstream_without_a_handshake() {
        let upstream = FakeUpstream::modern(&["b", "a"]).paged(1);
        assert_eq!(names(&upstream).await, ["notes/b", "notes/a"]);
        assert_eq!(upstream.methods(), ["server/discover", "tools/list", "tools/list"]);
    }

    #[tokio::test]
    async fn falls_back_to_the_handshake() {
        let upstream = FakeUpstream::legacy(&["a", "b", "c"]).paged(2);
        assert_eq!(names(&upstream).await, ["notes/a", "notes/b", "notes/c"]);
        let expected =
            ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/list", "DELETE"];
        assert_eq!(upstream.methods(), expected);
    }

    #[tokio::test]
    async fn a_dead_upstream_is_an_error() {
        let principal = Arc::new(Principal::anonymous());
        let found = list_tools(&FakeUpstream::dead(), &space("notes"), &principal).await;
        assert!(matches!(found, Err(UpstreamError::Unreachable(..))));
    }
}
