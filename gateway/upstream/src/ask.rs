//! Questions the gateway asks an upstream in its own name: a handshake, a list. One question, one final answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use gateway_core::ports::{Answered, Content, StreamItem, Upstream, UpstreamError};
use gateway_core::{Namespace, Permit};
use gateway_protocol::{Id, Message, Outcome, Reply, Revision, RpcError, code};
use serde_json::{Map, Value, json};

/// How long an upstream may take over a question of our own.
const PATIENCE: Duration = Duration::from_secs(60);
/// A member that never stops paging must not keep us for ever.
const MAX_PAGES: usize = 100;
const MAX_ENTRIES: usize = 20_000;

/// An id no client of ours uses in the same session.
pub(crate) fn own_id() -> Id {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Id::Text(format!("portreeve-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

pub(crate) fn own_client_info() -> Value {
    json!({ "name": "portreeve", "version": env!("CARGO_PKG_VERSION") })
}

/// Calls and waits for the final answer; what is said in between is not for us.
pub(crate) async fn question(
    upstream: &dyn Upstream,
    namespace: &Namespace,
    permit: Option<Permit>,
) -> Result<(Option<String>, Outcome), UpstreamError> {
    // `None` only if core stops counting this among the gateway's own questions.
    let permit = permit.ok_or_else(|| not_mcp(namespace, "a question the gateway may not ask"))?;
    match tokio::time::timeout(PATIENCE, answer(upstream, namespace, &permit)).await {
        Ok(answered) => answered,
        Err(_) => Err(UpstreamError::TimedOut(namespace.clone())),
    }
}

async fn answer(
    upstream: &dyn Upstream,
    namespace: &Namespace,
    permit: &Permit,
) -> Result<(Option<String>, Outcome), UpstreamError> {
    let mut answered = upstream.call(permit).await?;
    let session = answered.session.take();
    let outcome = outcome_of(namespace, answered).await?;
    Ok((session.map(|opened| opened.id), outcome))
}

/// The final answer in what an upstream gave back.
pub(crate) async fn outcome_of(namespace: &Namespace, answered: Answered) -> Result<Outcome, UpstreamError> {
    let Answered { status, content, .. } = answered;
    let reply = match content {
        // A challenge is between the upstream and the operator, whatever it says.
        _ if matches!(status, 401 | 403) => return Err(not_mcp(namespace, &format!("HTTP status {status}"))),
        Content::One(reply) => reply,
        Content::Stream(mut stream) => loop {
            match stream.next().await {
                Some(Ok(StreamItem::Event { reply: Some(reply), .. })) if reply.is_final() => break reply,
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Err(not_mcp(namespace, "a stream without an answer")),
            }
        },
        Content::Nothing | Content::Foreign { .. } => return Err(not_mcp(namespace, &format!("HTTP status {status}"))),
    };
    outcome(namespace, &reply)
}

fn outcome(namespace: &Namespace, reply: &Reply) -> Result<Outcome, UpstreamError> {
    match reply.message() {
        Ok(Message::Response(response)) => Ok(response.outcome),
        Ok(_) => Err(not_mcp(namespace, "a question instead of an answer")),
        Err(refusal) => Err(not_mcp(namespace, &refusal.message)),
    }
}

/// Every tool of one upstream, all pages. `permit` turns a message into what may be sent; `meta` goes with every page.
pub(crate) async fn tools(
    upstream: &dyn Upstream,
    namespace: &Namespace,
    meta: Option<&Map<String, Value>>,
    permit: impl Fn(Message) -> Option<Permit>,
) -> Result<Vec<Value>, UpstreamError> {
    let listed = entries(upstream, namespace, ("tools/list", "tools"), meta, permit).await?;
    listed.ok_or_else(|| not_mcp(namespace, &format!("error {}", code::METHOD_NOT_FOUND)))
}

/// Every entry of one list: the method that asks for it, and where its answer has them. `None` if the upstream has no such
/// list.
pub(crate) async fn entries(
    upstream: &dyn Upstream,
    namespace: &Namespace,
    (method, key): (&str, &str),
    meta: Option<&Map<String, Value>>,
    permit: impl Fn(Message) -> Option<Permit>,
) -> Result<Option<Vec<Value>>, UpstreamError> {
    let mut entries = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut params = Map::new();
        if let Some(meta) = meta {
            params.insert("_meta".into(), Value::Object(meta.clone()));
        }
        params.extend(cursor.take().map(|cursor| ("cursor".into(), cursor)));
        let message = Message::request(own_id(), method, (!params.is_empty()).then_some(params));
        let mut result = match question(upstream, namespace, permit(message)).await?.1 {
            Outcome::Result(Value::Object(result)) => result,
            Outcome::Result(_) => return Err(not_mcp(namespace, &format!("a list of {key} that is no object"))),
            Outcome::Error(error) if error.code == code::METHOD_NOT_FOUND => return Ok(None),
            Outcome::Error(error) => return Err(refused(namespace, &error)),
        };
        if let Some(Value::Array(page)) = result.remove(key) {
            entries.extend(page);
        }
        if entries.len() > MAX_ENTRIES {
            return Err(not_mcp(namespace, &format!("more than {MAX_ENTRIES} {key}")));
        }
        match result.remove("nextCursor") {
            Some(next @ Value::String(_)) => cursor = Some(next),
            _ => return Ok(Some(entries)),
        }
    }
    Err(not_mcp(namespace, &format!("more than {MAX_PAGES} pages of {key}")))
}

/// What a legacy handshake left: the upstream's session id, empty if it keeps none, and the revision it settled on.
pub(crate) struct Opened {
    pub(crate) id: String,
    pub(crate) revision: Option<Revision>,
    /// What it says it can do.
    pub(crate) capabilities: Map<String, Value>,
}

/// The first half of a legacy handshake. The caller says `initialized` in the session this gives.
pub(crate) async fn initialize(
    upstream: &dyn Upstream,
    namespace: &Namespace,
    params: Map<String, Value>,
    permit: impl Fn(Message) -> Option<Permit>,
) -> Result<Opened, UpstreamError> {
    let message = Message::request(own_id(), "initialize", Some(params));
    match question(upstream, namespace, permit(message)).await? {
        (session, Outcome::Result(result)) => {
            let revision = result.get("protocolVersion").and_then(Value::as_str).and_then(|text| text.parse().ok());
            let capabilities = result.get("capabilities").and_then(Value::as_object).cloned().unwrap_or_default();
            Ok(Opened { id: session.unwrap_or_default(), revision, capabilities })
        }
        (_, Outcome::Error(error)) => Err(refused(namespace, &error)),
    }
}

pub(crate) fn refused(namespace: &Namespace, error: &RpcError) -> UpstreamError {
    // Its words may hold anything, so that nobody is told more than the number.
    tracing::warn!(%namespace, code = error.code, words = error.message.len(), "an upstream refused the gateway's question");
    not_mcp(namespace, &format!("error {}", error.code))
}

pub(crate) fn not_mcp(namespace: &Namespace, what: &str) -> UpstreamError {
    UpstreamError::NotMcp { namespace: namespace.clone(), what: what.into() }
}
